// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: how the rate of a matrix product depends on its size and on the block's.
// Edit:  this file, from TODO(1) to TODO(6). scaling_study.hpp has the contract.
// Run:   scripts/lab run 06.8
// Test:  scripts/lab test 06.8
// Hints: scripts/lab hint 06.8                   Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_study {
namespace {

// --- the kernel ----------------------------------------------------------------------------------

/// Requires blocks of kBlock x kBlock threads, one for each element of the block's tile of C.
template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock* kBlock)
    tiled(const float* a, const float* b, float* c, shape size) {
  __shared__ float tile_a[kBlock][kBlock];  // [row of C][i]
  __shared__ float tile_b[kBlock][kBlock];  // [i][column of C]

  // TODO(1): the product in tiles, as in 06.5: in slices of kBlock along k the block fills both
  //          tiles, then each thread adds the slice's products to its sum. element() is 0 where a
  //          tile extends beyond its matrix; all threads reach all barriers.
  // BEGIN SOLUTION
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kBlock + y;
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + x;

  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kBlock) {
    tile_a[y][x] = element(a, size.m, size.k, row, first + x);
    tile_b[y][x] = element(b, size.k, size.n, first + y, column);
    __syncthreads();  // both tiles are complete
#pragma unroll
    for (unsigned i = 0; i < kBlock; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
  // END SOLUTION
}

template <unsigned kBlock>
void launch_tiled(on_device& matrices) {
  // TODO(1): launch tiled<kBlock> with a block for each tile of C, including those at the edges.
  //          Check that the launch was accepted, but do not wait for the kernel.
  // BEGIN SOLUTION
  const shape size = matrices.size;
  const dim3 block(kBlock, kBlock);
  const dim3 grid(static_cast<unsigned>((size.n + kBlock - 1) / kBlock),
                  static_cast<unsigned>((size.m + kBlock - 1) / kBlock));
  tiled<kBlock><<<grid, block>>>(matrices.a.data(), matrices.b.data(), matrices.c.data(), size);
  CUDA_CHECK(cudaGetLastError());
  // END SOLUTION
}

/// Launches the kernel for blocks of `block` x `block` threads once.
void launch(unsigned block, on_device& matrices) {
  // TODO(2): `block` is known when the program runs, a template's argument when it is compiled. So
  //          there is a launch_tiled<…> for each of kBlocks, and one of them is chosen here.
  // BEGIN SOLUTION
  // STUB: throw not_written("the kernel", 1);  // 1 and 2
  switch (block) {
    case 4:
      return launch_tiled<4>(matrices);
    case 8:
      return launch_tiled<8>(matrices);
    case 16:
      return launch_tiled<16>(matrices);
    case 32:
      return launch_tiled<32>(matrices);
    default:
      throw invalid_input("scaling_study: there is no kernel for this block size");
  }
  // END SOLUTION
}

// --- the study -----------------------------------------------------------------------------------

/// Launches once, and throws wrong_product unless C is the expected result of the problem.
void verify(const problem& product, unsigned block, on_device& matrices) {
  // TODO(3): compare_exact() (lab/closeness.hpp) compares all elements, and has a message.
  //          matrices.c must not hold an older result.
  // BEGIN SOLUTION
  // STUB: throw not_written("the verification", 3);
  launch(block, matrices);
  const comparison result = compare_exact(matrices.c.to_vector(), product.c);
  if (!result)
    throw wrong_product("scaling_study: " + std::to_string(product.size.m) + " x " +
                        std::to_string(product.size.n) + " x " + std::to_string(product.size.k) +
                        " with blocks of " + std::to_string(block) + " x " + std::to_string(block) +
                        ": " + result.message);
  // END SOLUTION
}

/// The time of one sample, in milliseconds: all its launches together.
float time_sample(unsigned block, on_device& matrices, unsigned launches) {
  // TODO(4): one event_timer around all of them: an event's clock ticks about every half a
  //          microsecond, so a short kernel alone says little.
  // BEGIN SOLUTION
  // STUB: throw not_written("the time of a sample", 4);
  event_timer timer;
  timer.start();
  for (unsigned i = 0; i < launches; ++i) launch(block, matrices);
  timer.stop();
  return timer.milliseconds();  // waits for the last launch
  // END SOLUTION
}

/// Measures one problem with one block size.
row measure(const problem& product, unsigned block, plan options) {
  // TODO(5): copy the matrices to the device and verify(). Then take samples. Invariant: all that
  //          are kept have the same number of launches, and took sample_ms or longer. One that is
  //          too short doubles the number, and the samples kept so far are discarded. Then the
  //          rest of the row: scaling_study.hpp has the formulas, lab/report.hpp a median.
  // BEGIN SOLUTION
  // STUB: throw not_written("the measurement", 3);  // 3, 4 and 5
  row out;
  out.size = product.size;
  out.block = block;
  on_device matrices(product);
  verify(product, block, matrices);

  out.launches = 1;
  while (out.sample_ms.size() < options.samples) {
    const float ms = time_sample(block, matrices, out.launches);
    if (ms < options.sample_ms) {
      out.launches *= 2;
      out.sample_ms.clear();
    } else {
      out.sample_ms.push_back(ms);
    }
  }
  out.operations = 2.0 * static_cast<double>(product.size.m) * static_cast<double>(product.size.n) *
                   static_cast<double>(product.size.k);
  out.ms = summarize(out.sample_ms).median_ms / out.launches;
  out.gflops = out.operations / (out.ms * 1e6);  // 10⁹ per second are 10⁶ per millisecond
  return out;
  // END SOLUTION
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options) {
  require_sensible(problems, blocks, options);
  // TODO(6): measure() every problem with every block size, in the order of scaling_study.hpp.
  // BEGIN SOLUTION
  // STUB: throw not_written("the study", 1);  // begin at the beginning
  std::vector<row> rows;
  for (const problem& each : problems)
    for (const unsigned block : blocks) rows.push_back(measure(each, block, options));
  return rows;
  // END SOLUTION
}

}  // namespace lab::scaling_study
