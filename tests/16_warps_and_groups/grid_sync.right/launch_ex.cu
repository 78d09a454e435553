// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the cooperative launch is made by cudaLaunchKernelEx, with at most two
// blocks for each multiprocessor, and a function returns the value of a cell, also outside the
// grid.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::grid_sync {
namespace {

// --- the parts of an iteration -------------------------------------------------------------------
// All threads of the grid call these. Each computes its own cells, and returns its part of a sum.

/// x = 0, so r = b, and the first direction is p = r. Returns this thread's part of r·r.
__device__ double begin(const vectors& v) {
  double mine = 0;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    v.x[i] = 0;
    v.r[i] = v.p[i] = v.b[i];
    mine += v.b[i] * v.b[i];
  }
  return mine;
}

/// q = A p. Returns this thread's part of p·q.
__device__ double multiply(const vectors& v) {
  double mine = 0;
  const std::size_t height = v.n / v.width;
  const auto at = [&](std::size_t row, std::size_t column) {  // a cell before 0 is a huge one
    return row < height && column < v.width ? v.p[row * v.width + column] : 0;
  };
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    const std::size_t row = i / v.width, column = i - row * v.width;
    v.q[i] = 4 * v.p[i] - at(row - 1, column) - at(row + 1, column) - at(row, column - 1) -
             at(row, column + 1);
    mine += v.p[i] * v.q[i];
  }
  return mine;
}

/// A step along p. Returns this thread's part of r·r.
__device__ double advance(const vectors& v, double alpha) {
  double mine = 0;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    v.x[i] += alpha * v.p[i];
    v.r[i] -= alpha * v.q[i];
    mine += v.r[i] * v.r[i];
  }
  return mine;
}

/// The next direction: p = r + beta p.
__device__ void turn(const vectors& v, double beta) {
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) v.p[i] = v.r[i] + beta * v.p[i];
}

// --- many_launches: where all blocks must wait, a kernel ends ------------------------------------

__global__ void begin_all(vectors v) { store_part(v.rr, begin(v)); }
__global__ void multiply_all(vectors v) { store_part(v.pq, multiply(v)); }

/// Before this step, r·r is `rr`.
__global__ void advance_all(vectors v, double rr) {
  const double alpha = rr / sum_of_parts(v.pq, gridDim.x);
  store_part(v.rr, advance(v, alpha));
}

__global__ void turn_all(vectors v, double beta) { turn(v, beta); }

__global__ void add_parts(const double* parts, unsigned blocks, double* sum) {
  const double all = sum_of_parts(parts, blocks);
  if (threadIdx.x == 0) *sum = all;
}

/// The sum of the parts of r·r, for the host. `sum` is an element on the device.
double fetch_rr(const vectors& v, unsigned blocks, double* sum) {
  double rr = 0;
  add_parts<<<1, kThreads>>>(v.rr, blocks, sum);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaMemcpy(&rr, sum, sizeof rr, cudaMemcpyDeviceToHost));
  return rr;
}

/// Solves with `blocks` blocks. `sum` is an element on the device.
outcome solve_by_launches(const vectors& v, unsigned blocks, double tolerance, std::size_t most,
                          double* sum) {
  begin_all<<<blocks, kThreads>>>(v);
  double rr = fetch_rr(v, blocks, sum);
  const double enough = tolerance * tolerance * rr;
  std::size_t iterations = 0;
  while (!(rr <= enough) && iterations < most) {
    multiply_all<<<blocks, kThreads>>>(v);
    CUDA_CHECK(cudaGetLastError());
    advance_all<<<blocks, kThreads>>>(v, rr);
    CUDA_CHECK(cudaGetLastError());
    const double next = fetch_rr(v, blocks, sum);
    turn_all<<<blocks, kThreads>>>(v, next / rr);
    CUDA_CHECK(cudaGetLastError());
    rr = next;
    ++iterations;
  }
  return {iterations, rr, enough};
}

// --- one_launch: a grid barrier in place of each launch ------------------------------------------

__global__ void solve_all(vectors v, double tolerance, std::size_t most, outcome* done) {
  const cg::grid_group grid = cg::this_grid();
  const unsigned blocks = gridDim.x;
  store_part(v.rr, begin(v));
  grid.sync();
  double rr = sum_of_parts(v.rr, blocks);
  const double enough = tolerance * tolerance * rr;
  std::size_t iterations = 0;
  while (!(rr <= enough) && iterations < most) {
    store_part(v.pq, multiply(v));
    grid.sync();
    const double alpha = rr / sum_of_parts(v.pq, blocks);
    store_part(v.rr, advance(v, alpha));
    grid.sync();
    const double next = sum_of_parts(v.rr, blocks);
    turn(v, next / rr);
    rr = next;
    ++iterations;
    grid.sync();
  }
  if (grid.thread_rank() == 0) *done = {iterations, rr, enough};
}

/// Launches solve_all() with at most `blocks` blocks.
void solve_by_one_launch(vectors v, unsigned blocks, double tolerance, std::size_t most,
                         outcome* done) {
  int per_multiprocessor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_multiprocessor, solve_all,
                                                           static_cast<int>(kThreads), 0));
  // Two blocks on each multiprocessor are enough.
  blocks = std::min(blocks, std::min(2U, static_cast<unsigned>(per_multiprocessor)) *
                                device_limit(cudaDevAttrMultiProcessorCount));
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = kThreads;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CUDA_CHECK(cudaLaunchKernelEx(&config, solve_all, v, tolerance, most, done));
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result solve(step version, std::span<const double> b, std::size_t width, std::size_t height,
             double tolerance, std::size_t most_iterations) {
  check(b, width, height, tolerance);
  const std::size_t n = b.size();
  if (n == 0) return {{}, 0, 0, true};
  const unsigned blocks = blocks_for(n);
  const device_buffer device_b(b);
  device_buffer<double> x(n), r(n), p(n), q(n), pq(blocks), rr(blocks), sum(1);
  device_buffer<outcome> device_outcome(1);
  const vectors v{width,    n,        device_b.data(), x.data(), r.data(),
                  p.data(), q.data(), pq.data(),       rr.data()};
  outcome done{};
  const float kernel_ms = time_kernel([&] {
    if (version == step::many_launches)
      done = solve_by_launches(v, blocks, tolerance, most_iterations, sum.data());
    else
      solve_by_one_launch(v, blocks, tolerance, most_iterations, device_outcome.data());
  });
  if (version == step::one_launch) device_outcome.copy_to({&done, 1});
  return {x.to_vector(), done.iterations, std::sqrt(done.rr), done.rr <= done.enough, kernel_ms};
}

}  // namespace lab::grid_sync
