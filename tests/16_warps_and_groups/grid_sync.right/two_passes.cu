// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The next direction is computed where it is multiplied, so an iteration has two passes over the
// cells, with two vectors for p that take turns. A warp adds up the sums of the blocks.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::grid_sync {
namespace {

/// p_new = r + beta p_old, q = A p_new. Returns this thread's part of p_new · q.
__device__ double turn_and_multiply(const vectors& v, const double* p_old, double* p_new,
                                    double beta) {
  const auto p = [&](std::size_t i) { return v.r[i] + beta * p_old[i]; };
  double mine = 0;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    const std::size_t x = i % v.width;
    const double here = p(i);
    double q = 4 * here;
    if (x > 0) q -= p(i - 1);
    if (x + 1 < v.width) q -= p(i + 1);
    if (i >= v.width) q -= p(i - v.width);
    if (i + v.width < v.n) q -= p(i + v.width);
    p_new[i] = here;
    v.q[i] = q;
    mine += here * q;
  }
  return mine;
}

/// Returns this thread's part of r·r.
__device__ double advance(const vectors& v, const double* p, double alpha) {
  double mine = 0;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    const double r = v.r[i] - alpha * v.q[i];
    v.x[i] += alpha * p[i];
    v.r[i] = r;
    mine += r * r;
  }
  return mine;
}

/// Both vectors for p are 0. Returns this thread's part of r·r.
__device__ double begin(const vectors& v, double* other_p) {
  double mine = 0;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    v.x[i] = v.p[i] = other_p[i] = 0;
    v.r[i] = v.b[i];
    mine += v.r[i] * v.r[i];
  }
  return mine;
}

// --- many_launches -------------------------------------------------------------------------------

__global__ void begin_all(vectors v, double* other_p) { store_part(v.rr, begin(v, other_p)); }

__global__ void turn_and_multiply_all(vectors v, const double* p_old, double* p_new, double beta) {
  store_part(v.pq, turn_and_multiply(v, p_old, p_new, beta));
}

__global__ void advance_all(vectors v, const double* p, double rr) {
  store_part(v.rr, advance(v, p, rr / sum_of_parts(v.pq, gridDim.x)));
}

__global__ void add_up(const double* parts, unsigned blocks, double* sum) {
  double mine = 0;
  for (unsigned i = threadIdx.x; i < blocks; i += 32) mine += parts[i];
  for (int bit = 16; bit > 0; bit /= 2) mine += __shfl_xor_sync(0xFFFFFFFF, mine, bit);
  if (threadIdx.x == 0) *sum = mine;
}

outcome solve_by_launches(const vectors& v, double* other_p, unsigned blocks, double tolerance,
                          std::size_t most) {
  device_buffer<double> sum(1);
  const auto fetch_rr = [&] {
    CUDA_CHECK(cudaGetLastError());
    add_up<<<1, 32>>>(v.rr, blocks, sum.data());
    CUDA_CHECK(cudaGetLastError());
    return sum.to_vector()[0];
  };
  begin_all<<<blocks, kThreads>>>(v, other_p);
  double rr = fetch_rr(), beta = 0;
  const double enough = tolerance * tolerance * rr;
  double *p = v.p, *next = other_p;
  std::size_t done = 0;
  for (; rr > enough && done < most; ++done) {
    turn_and_multiply_all<<<blocks, kThreads>>>(v, p, next, beta);
    CUDA_CHECK(cudaGetLastError());
    std::swap(p, next);
    advance_all<<<blocks, kThreads>>>(v, p, rr);
    const double before = std::exchange(rr, fetch_rr());
    beta = rr / before;
  }
  return {done, rr, enough};
}

// --- one_launch ----------------------------------------------------------------------------------

__global__ void solve_all(vectors v, double* other_p, double tolerance, std::size_t most,
                          outcome* to) {
  const cg::grid_group grid = cg::this_grid();
  double *p = v.p, *next = other_p;
  store_part(v.rr, begin(v, other_p));
  grid.sync();
  double rr = sum_of_parts(v.rr, gridDim.x), beta = 0;
  const double enough = tolerance * tolerance * rr;
  std::size_t done = 0;
  while (rr > enough && done < most) {
    store_part(v.pq, turn_and_multiply(v, p, next, beta));
    grid.sync();  // q and the parts are complete, and all threads have read r
    double* const spare = p;
    p = next;
    next = spare;
    store_part(v.rr, advance(v, p, rr / sum_of_parts(v.pq, gridDim.x)));
    grid.sync();  // r is complete, and all threads have read the parts of p·q
    const double now = sum_of_parts(v.rr, gridDim.x);
    beta = now / rr;
    rr = now;
    ++done;
  }
  if (grid.thread_rank() == 0) *to = {done, rr, enough};
}

outcome solve_by_one_launch(const vectors& v, double* other_p, unsigned blocks, double tolerance,
                            std::size_t most) {
  int resident = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, solve_all, kThreads, 0));
  blocks = std::min(blocks,
                    static_cast<unsigned>(resident) * device_limit(cudaDevAttrMultiProcessorCount));
  device_buffer<outcome> done(1);
  outcome* to = done.data();
  vectors copy = v;
  void* arguments[] = {&copy, &other_p, &tolerance, &most, &to};
  CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(solve_all), dim3(blocks),
                                         dim3(kThreads), arguments, 0, nullptr));
  return done.to_vector()[0];
}

}  // namespace

result solve(step version, std::span<const double> b, std::size_t width, std::size_t height,
             double tolerance, std::size_t most_iterations) {
  check(b, width, height, tolerance);
  const std::size_t n = b.size();
  if (n == 0) return {{}, 0, 0, true};
  const unsigned blocks = blocks_for(n);
  const device_buffer device_b(b);
  device_buffer<double> x(n), r(n), p(n), other_p(n), q(n), pq(blocks), rr(blocks);
  const vectors v{width,    n,        device_b.data(), x.data(), r.data(),
                  p.data(), q.data(), pq.data(),       rr.data()};
  const auto run = version == step::many_launches ? solve_by_launches : solve_by_one_launch;
  outcome done{};
  const float ms =
      time_kernel([&] { done = run(v, other_p.data(), blocks, tolerance, most_iterations); });
  return {x.to_vector(), done.iterations, std::sqrt(done.rr), done.rr <= done.enough, ms};
}

}  // namespace lab::grid_sync
