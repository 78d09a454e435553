// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.6 grid_sync: a solver whose blocks wait for each other, between launches or in one kernel.
// Edit:  this file, from TODO(1) to TODO(4); TODO(5) and TODO(6) are a bonus. grid_sync.hpp has
//        the contract.
// Run:   scripts/lab run 16.6 -- --step many_launches     (then one_launch)
// Test:  scripts/lab test 16.6
// Hints: scripts/lab hint 16.6                  Chapter: docs/16_warps_and_groups.md

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
  // TODO(1): the loop is that of begin(). Cell i is in row i / width and column i % width. It has
  //          up to four neighbours: the cells before and after it in its own row, and those one
  //          row before and after it. Neighbours outside the grid are 0.
  // BEGIN SOLUTION
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    const std::size_t column = i % v.width;
    double sum = 4 * v.p[i];
    if (column > 0) sum -= v.p[i - 1];
    if (column + 1 < v.width) sum -= v.p[i + 1];
    if (i >= v.width) sum -= v.p[i - v.width];
    if (i + v.width < v.n) sum -= v.p[i + v.width];
    v.q[i] = sum;
    mine += v.p[i] * sum;
  }
  // END SOLUTION
  return mine;
}

/// A step along p. Returns this thread's part of r·r.
__device__ double advance(const vectors& v, double alpha) {
  double mine = 0;
  // TODO(2): x changes by alpha p. Invariant: r = b - A x. How does r change, if q = A p?
  // BEGIN SOLUTION
  // STUB: mine = alpha;
  for (std::size_t i = first_cell(); i < v.n; i += cells_apart()) {
    v.x[i] += alpha * v.p[i];
    v.r[i] -= alpha * v.q[i];
    mine += v.r[i] * v.r[i];
  }
  // END SOLUTION
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
  // TODO(3): alpha = r·r / p·q, the second one from the parts of all blocks (sum_of_parts). Store
  //          this block's part of the new r·r.
  // BEGIN SOLUTION
  const double alpha = rr / sum_of_parts(v.pq, gridDim.x);
  store_part(v.rr, advance(v, alpha));
  // END SOLUTION
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
  // TODO(4): iterate until r·r is at most `enough`, or there have been `most` iterations: multiply,
  //          advance, and turn with beta = new r·r / old r·r. fetch_rr() gives you the new one.
  // BEGIN SOLUTION
  // STUB: throw not_written("step many_launches", 1);  // 1 to 4
  for (; rr > enough && iterations < most; ++iterations) {
    multiply_all<<<blocks, kThreads>>>(v);
    advance_all<<<blocks, kThreads>>>(v, rr);
    const double next = fetch_rr(v, blocks, sum);
    turn_all<<<blocks, kThreads>>>(v, next / rr);
    rr = next;
  }
  // END SOLUTION
  return {iterations, rr, enough};
}

// --- one_launch: a grid barrier in place of each launch ------------------------------------------

__global__ void solve_all(vectors v, double tolerance, std::size_t most, outcome* done) {
  // TODO(5, bonus): the same in one kernel. Every thread keeps r·r and the number of iterations in
  //          local variables. cg::this_grid().sync() is the barrier of the grid. Invariants:
  //          no block reads what another may not have written yet, and none overwrites what
  //          another may still have to read. All threads of the grid reach every barrier: why do
  //          they agree on when to stop? One thread stores the outcome.
  // BEGIN SOLUTION
  const cg::grid_group grid = cg::this_grid();
  store_part(v.rr, begin(v));
  grid.sync();  // p and all parts of r·r are complete
  double rr = sum_of_parts(v.rr, gridDim.x);
  const double enough = tolerance * tolerance * rr;
  std::size_t iterations = 0;
  for (; rr > enough && iterations < most; ++iterations) {  // the same for all threads
    store_part(v.pq, multiply(v));
    grid.sync();  // all parts of p·q are complete, and all threads have read p
    store_part(v.rr, advance(v, rr / sum_of_parts(v.pq, gridDim.x)));
    grid.sync();  // all parts of r·r are complete
    const double next = sum_of_parts(v.rr, gridDim.x);
    turn(v, next / rr);
    rr = next;
    grid.sync();  // p is complete, and all threads have read the parts
  }
  if (grid.thread_rank() == 0) *done = {iterations, rr, enough};
  // END SOLUTION
}

/// Launches solve_all() with at most `blocks` blocks.
void solve_by_one_launch(vectors v, unsigned blocks, double tolerance, std::size_t most,
                         outcome* done) {
  // TODO(6, bonus): all blocks have to be resident at the same time. How many can be, on all
  //          multiprocessors (cudaOccupancyMaxActiveBlocksPerMultiprocessor,
  //          device_limit(cudaDevAttrMultiProcessorCount))? Launch no more than that, with
  //          cudaLaunchCooperativeKernel, which takes the addresses of the arguments.
  // BEGIN SOLUTION
  // STUB: throw not_written("step one_launch", 5);  // 5 and 6
  int each = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, solve_all, kThreads, 0));
  const unsigned resident =
      static_cast<unsigned>(each) * device_limit(cudaDevAttrMultiProcessorCount);
  void* arguments[] = {&v, &tolerance, &most, &done};
  CUDA_CHECK(
      cudaLaunchCooperativeKernel(solve_all, std::min(blocks, resident), kThreads, arguments));
  // END SOLUTION
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
