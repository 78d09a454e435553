// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One kernel computes the next direction and multiplies it, from one copy of p to another, so an
// iteration is two kernels and a sum, or two barriers. Tiles of 32 x 8 cells; warps add up by
// shuffles.

#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::grid_sync {
namespace {

constexpr int kAcross = 32, kDown = 8;

struct state {
  double rr, last, pq, first;
};

/// The sum of all parts, added in the same order in all blocks.
__device__ double all_of(const double* parts, unsigned count) {
  __shared__ double of_warp[kDown];
  double mine = 0;
  for (unsigned i = threadIdx.y * kAcross + threadIdx.x; i < count; i += kAcross * kDown)
    mine += parts[i];
  for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(0xffffffff, mine, d);
  __syncthreads();
  if (threadIdx.x == 0) of_warp[threadIdx.y] = mine;
  __syncthreads();
  double sum = 0;
  for (const double one : of_warp) sum += one;
  return sum;
}

__device__ void publish(double* parts, double mine) {
  __shared__ double of_warp[kDown];
  for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(0xffffffff, mine, d);
  if (threadIdx.x == 0) of_warp[threadIdx.y] = mine;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    double sum = 0;
    for (const double one : of_warp) sum += one;
    parts[blockIdx.y * gridDim.x + blockIdx.x] = sum;
  }
  __syncthreads();
}

struct grid2 {
  std::size_t width, height;
  const double* b;
  double *x, *r, *q;
  double *pq, *rr, *fresh;
};

template <class F>
__device__ void each_cell(const grid2& g, F f) {
  for (std::size_t y = blockIdx.y * kDown + threadIdx.y; y < g.height; y += gridDim.y * kDown)
    for (std::size_t x = blockIdx.x * kAcross + threadIdx.x; x < g.width; x += gridDim.x * kAcross)
      f(y, x, y * g.width + x);
}

__device__ double start(const grid2& g, double* p) {
  double mine = 0;
  each_cell(g, [&](std::size_t, std::size_t, std::size_t i) {
    g.x[i] = 0;
    g.r[i] = g.b[i];
    p[i] = 0;
    mine += g.b[i] * g.b[i];
  });
  return mine;
}

__device__ double turned(const grid2& g, const double* from, double* to, double beta) {
  double mine = 0;
  const auto p = [&](std::size_t i) { return fma(beta, from[i], g.r[i]); };
  each_cell(g, [&](std::size_t y, std::size_t x, std::size_t i) {
    const double here = to[i] = p(i);
    const double left = x ? p(i - 1) : 0, right = x + 1 < g.width ? p(i + 1) : 0;
    const double above = y ? p(i - g.width) : 0, below = y + 1 < g.height ? p(i + g.width) : 0;
    g.q[i] = 4 * here - ((left + right) + (above + below));
    mine += here * g.q[i];
  });
  return mine;
}

__device__ double stepped(const grid2& g, const double* p, double alpha) {
  double mine = 0;
  each_cell(g, [&](std::size_t, std::size_t, std::size_t i) {
    g.x[i] = fma(alpha, p[i], g.x[i]);
    const double r = g.r[i] = fma(-alpha, g.q[i], g.r[i]);
    mine += r * r;
  });
  return mine;
}

__global__ void k_start(grid2 g, double* p) { publish(g.rr, start(g, p)); }
__global__ void k_turn(grid2 g, const double* from, double* to, double beta) {
  publish(g.pq, turned(g, from, to, beta));
}
__global__ void k_step(grid2 g, const double* p, double rr) {
  const double alpha = rr / all_of(g.pq, gridDim.x * gridDim.y);
  publish(g.rr, stepped(g, p, alpha));
}
__global__ void k_sum(const double* parts, unsigned count, double* sum) {
  const double all = all_of(parts, count);
  if (threadIdx.x == 0 && threadIdx.y == 0) *sum = all;
}

__global__ void k_all(grid2 g, double* p, double* other, double tolerance, std::size_t most,
                      outcome* done) {
  const auto grid = cg::this_grid();
  const unsigned blocks = gridDim.x * gridDim.y;
  publish(g.rr, start(g, p));
  grid.sync();
  double rr = all_of(g.rr, blocks), beta = 0;
  const double enough = tolerance * tolerance * rr;
  std::size_t count = 0;
  while (rr > enough && count < most) {
    publish(g.pq, turned(g, p, other, beta));
    grid.sync();
    publish(count % 2 ? g.rr : g.fresh, stepped(g, other, rr / all_of(g.pq, blocks)));
    grid.sync();
    const double next = all_of(count % 2 ? g.rr : g.fresh, blocks);
    beta = next / rr;
    rr = next;
    double* const t = p;
    p = other;
    other = t;
    ++count;
  }
  if (grid.thread_rank() == 0) *done = {count, rr, enough};
}

}  // namespace

result solve(step version, std::span<const double> b, std::size_t width, std::size_t height,
             double tolerance, std::size_t most) {
  check(b, width, height, tolerance);
  const std::size_t n = b.size();
  if (n == 0) return {{}, 0, 0, true, 0};
  const auto ceil = [](std::size_t a, std::size_t c, std::size_t cap) {
    return static_cast<unsigned>(std::min((a + c - 1) / c, cap));
  };
  dim3 grid(ceil(width, kAcross, 32), ceil(height, kDown, 32));
  const dim3 threads(kAcross, kDown);
  if (version == step::one_launch) {
    int each = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, k_all, kAcross * kDown, 0));
    const unsigned fits =
        static_cast<unsigned>(each) * device_limit(cudaDevAttrMultiProcessorCount);
    while (grid.x * grid.y > fits) (grid.y > 1 ? grid.y : grid.x) -= 1;
  }
  const unsigned blocks = grid.x * grid.y;
  const device_buffer<double> db(b);
  device_buffer<double> x(n), r(n), q(n), p(n), other(n), pq(blocks), rr(blocks), fresh(blocks),
      s(1);
  device_buffer<outcome> out(1);
  grid2 g{width,    height,    db.data(), x.data(),    r.data(),
          q.data(), pq.data(), rr.data(), fresh.data()};
  outcome done{};
  const float ms = time_kernel([&] {
    double *from = p.data(), *to = other.data();
    if (version == step::one_launch) {
      outcome* result_there = out.data();
      void* args[] = {&g, &from, &to, &tolerance, &most, &result_there};
      CUDA_CHECK(cudaLaunchCooperativeKernel(k_all, grid, threads, args));
      return;
    }
    const auto squares = [&] {
      double sum = 0;
      k_sum<<<1, threads>>>(g.rr, blocks, s.data());
      CUDA_CHECK(cudaGetLastError());
      CUDA_CHECK(cudaMemcpy(&sum, s.data(), sizeof sum, cudaMemcpyDeviceToHost));
      return sum;
    };
    k_start<<<grid, threads>>>(g, from);
    CUDA_CHECK(cudaGetLastError());
    double now = squares(), beta = 0;
    done = {0, now, tolerance * tolerance * now};
    for (; done.rr > done.enough && done.iterations < most; ++done.iterations) {
      k_turn<<<grid, threads>>>(g, from, to, beta);
      k_step<<<grid, threads>>>(g, to, done.rr);
      CUDA_CHECK(cudaGetLastError());
      const double next = squares();
      beta = next / done.rr;
      done.rr = next;
      std::swap(from, to);
    }
  });
  if (version == step::one_launch) out.copy_to({&done, 1});
  return {x.to_vector(), done.iterations, std::sqrt(done.rr), done.rr <= done.enough, ms};
}

}  // namespace lab::grid_sync
