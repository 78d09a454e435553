// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread has a run of four or more neighbouring cells. All vectors are in one allocation, and
// block 0 adds up the parts.

#include <cooperative_groups/reduce.h>
#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::grid_sync {
namespace {

constexpr unsigned kBlock = 128;

struct free_memory {
  void operator()(double* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};
using memory_owner = std::unique_ptr<double, free_memory>;

memory_owner new_memory(std::size_t doubles) {
  double* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, doubles * sizeof(double)));
  return memory_owner(memory);
}

struct unknowns {
  std::size_t width, n;
  double *b, *x, *r, *p, *q, *parts;
  double* sums;  // p·q and r·r
};

struct run_of_cells {
  std::size_t begin, end;
};

__device__ run_of_cells mine_of(std::size_t n) {
  const auto grid = cg::this_grid();
  const std::size_t each = (n + grid.size() - 1) / grid.size();
  const std::size_t begin = grid.thread_rank() * each;
  return {begin < n ? begin : n, begin + each < n ? begin + each : n};
}

__device__ double sum_over_block(double mine) {
  __shared__ double of_warp[kBlock / 32];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const double sum = cg::reduce(warp, mine, cg::plus<double>());
  block.sync();
  if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = sum;
  block.sync();
  double all = of_warp[0];
  for (unsigned w = 1; w < kBlock / 32; ++w) all += of_warp[w];
  return all;
}

__device__ void give(const unknowns& u, double mine) {
  const double sum = sum_over_block(mine);
  if (threadIdx.x == 0) u.parts[blockIdx.x] = sum;
}

__device__ void add_up(const double* parts, unsigned blocks, double* to) {
  double mine = 0;
  const unsigned each = (blocks + kBlock - 1) / kBlock;
  for (unsigned i = threadIdx.x * each; i < blocks && i < (threadIdx.x + 1) * each; ++i)
    mine += parts[i];
  const double sum = sum_over_block(mine);
  if (threadIdx.x == 0) *to = sum;
}

__device__ void set_up(const unknowns& u) {
  double mine = 0;
  const auto run = mine_of(u.n);
  for (std::size_t i = run.begin; i < run.end; ++i) {
    u.x[i] = 0;
    u.p[i] = u.r[i] = u.b[i];
    mine += u.b[i] * u.b[i];
  }
  give(u, mine);
}

__device__ void apply(const unknowns& u) {
  double mine = 0;
  const auto run = mine_of(u.n);
  std::size_t column = run.begin % u.width;
  for (std::size_t i = run.begin; i < run.end; ++i) {
    const double left = column == 0 ? 0 : u.p[i - 1];
    const double right = column + 1 == u.width ? 0 : u.p[i + 1];
    const double above = i < u.width ? 0 : u.p[i - u.width];
    const double below = i + u.width >= u.n ? 0 : u.p[i + u.width];
    u.q[i] = 4 * u.p[i] - above - below - left - right;
    mine += u.p[i] * u.q[i];
    column = column + 1 == u.width ? 0 : column + 1;
  }
  give(u, mine);
}

__device__ void go(const unknowns& u, double alpha) {
  double mine = 0;
  const auto run = mine_of(u.n);
  for (std::size_t i = run.begin; i < run.end; ++i) {
    u.x[i] += alpha * u.p[i];
    u.r[i] -= alpha * u.q[i];
    mine += u.r[i] * u.r[i];
  }
  give(u, mine);
}

__device__ void change_direction(const unknowns& u, double beta) {
  const auto run = mine_of(u.n);
  for (std::size_t i = run.begin; i < run.end; ++i) u.p[i] = u.r[i] + beta * u.p[i];
}

__global__ void set_up_kernel(unknowns u) { set_up(u); }
__global__ void apply_kernel(unknowns u) { apply(u); }
__global__ void go_kernel(unknowns u, double alpha) { go(u, alpha); }
__global__ void turn_kernel(unknowns u, double beta) { change_direction(u, beta); }
__global__ void add_up_kernel(const double* parts, unsigned blocks, double* to) {
  add_up(parts, blocks, to);
}

__global__ void solver_kernel(unknowns u, double tolerance, std::size_t most, outcome* done) {
  const auto grid = cg::this_grid();
  const auto total = [&](unsigned index) {
    grid.sync();  // all parts are there
    if (blockIdx.x == 0) add_up(u.parts, gridDim.x, &u.sums[index]);
    grid.sync();  // the sum is
    return u.sums[index];
  };
  set_up(u);
  double rr = total(1);
  const double enough = tolerance * tolerance * rr;
  std::size_t count = 0;
  for (; count < most && !(rr <= enough); ++count) {
    apply(u);
    const double pq = total(0);
    go(u, rr / pq);
    const double now = total(1);
    change_direction(u, now / rr);
    rr = now;
    grid.sync();  // before anybody reads a neighbour's direction
  }
  if (grid.thread_rank() == 0) {
    done->iterations = count;
    done->rr = rr;
    done->enough = enough;
  }
}

outcome by_launches(const unknowns& u, unsigned blocks, double tolerance, std::size_t most) {
  const auto total = [&] {
    CUDA_CHECK(cudaGetLastError());
    add_up_kernel<<<1, kBlock>>>(u.parts, blocks, u.sums);
    CUDA_CHECK(cudaGetLastError());
    double sum = 0;
    CUDA_CHECK(cudaMemcpy(&sum, u.sums, sizeof sum, cudaMemcpyDeviceToHost));
    return sum;
  };
  set_up_kernel<<<blocks, kBlock>>>(u);
  double rr = total();
  const double enough = tolerance * tolerance * rr;
  std::size_t count = 0;
  while (rr > enough && count < most) {
    apply_kernel<<<blocks, kBlock>>>(u);
    const double alpha = rr / total();
    go_kernel<<<blocks, kBlock>>>(u, alpha);
    const double now = total();
    turn_kernel<<<blocks, kBlock>>>(u, now / rr);
    CUDA_CHECK(cudaGetLastError());
    rr = now;
    ++count;
  }
  return {count, rr, enough};
}

}  // namespace

result solve(step version, std::span<const double> b, std::size_t width, std::size_t height,
             double tolerance, std::size_t most_iterations) {
  check(b, width, height, tolerance);
  const std::size_t n = b.size();
  result made;
  made.converged = true;
  if (n == 0) return made;
  auto blocks = static_cast<unsigned>(
      std::min<std::size_t>((n + 4 * kBlock - 1) / (4 * kBlock), std::size_t{512}));
  if (version == step::one_launch) {
    int resident = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, solver_kernel,
                                                             static_cast<int>(kBlock), 0));
    blocks = std::min(
        blocks, static_cast<unsigned>(resident) * device_limit(cudaDevAttrMultiProcessorCount));
  }
  const memory_owner memory = new_memory(5 * n + blocks + 2);
  device_buffer<outcome> on_device(1);
  double* const m = memory.get();
  unknowns u{width, n, m, m + n, m + 2 * n, m + 3 * n, m + 4 * n, m + 5 * n, m + 5 * n + blocks};
  CUDA_CHECK(cudaMemcpy(u.b, b.data(), b.size_bytes(), cudaMemcpyHostToDevice));
  outcome done{};
  made.kernel_ms = time_kernel([&] {
    if (version == step::many_launches) {
      done = by_launches(u, blocks, tolerance, most_iterations);
      return;
    }
    outcome* to = on_device.data();
    void* arguments[] = {&u, &tolerance, &most_iterations, &to};
    CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(solver_kernel),
                                           dim3(blocks), dim3(kBlock), arguments, 0, nullptr));
  });
  if (version == step::one_launch) on_device.copy_to({&done, 1});
  made.x.resize(n);
  CUDA_CHECK(cudaMemcpy(made.x.data(), u.x, n * sizeof(double), cudaMemcpyDeviceToHost));
  made.iterations = done.iterations;
  made.residual = std::sqrt(done.rr);
  made.converged = done.rr <= done.enough;
  return made;
}

}  // namespace lab::grid_sync
