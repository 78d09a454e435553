// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a table of functions and cudaLaunchKernel, A transposed in shared
// memory, and what is verified is in other memory than what is timed.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_study {
namespace {

// --- the kernel ----------------------------------------------------------------------------------

/// Requires blocks of kBlock x kBlock threads, one for each element of the block's tile of C.
template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock* kBlock)
    tiled(const float* a, const float* b, float* c, shape size) {
  __shared__ float tile_a[kBlock][kBlock + 1];  // [i][row of C]
  __shared__ float tile_b[kBlock][kBlock];      // [i][column of C]

  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kBlock + ty;
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + tx;
  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kBlock) {
    tile_a[tx][ty] = element(a, size.m, size.k, row, first + tx);
    tile_b[ty][tx] = element(b, size.k, size.n, first + ty, column);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kBlock; ++i) sum = fmaf(tile_b[i][tx], tile_a[i][ty], sum);
    __syncthreads();
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

template <unsigned kBlock>
void launch_tiled(on_device& matrices) {
  const auto [m, n, k] = matrices.size;
  const dim3 grid(static_cast<unsigned>((n + kBlock - 1) / kBlock),
                  static_cast<unsigned>((m + kBlock - 1) / kBlock));
  const float* a = matrices.a.data();
  const float* b = matrices.b.data();
  float* c = matrices.c.data();
  void* arguments[] = {&a, &b, &c, &matrices.size};
  CUDA_CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(tiled<kBlock>), grid,
                              dim3(kBlock, kBlock), arguments, 0, nullptr));
}

/// Launches the kernel for blocks of `block` x `block` threads once.
void launch(unsigned block, on_device& matrices) {
  using launcher = void (*)(on_device&);
  constexpr launcher kLaunchers[] = {launch_tiled<kBlocks[0]>, launch_tiled<kBlocks[1]>,
                                     launch_tiled<kBlocks[2]>, launch_tiled<kBlocks[3]>};
  const auto* const found = std::find(std::begin(kBlocks), std::end(kBlocks), block);
  kLaunchers[found - std::begin(kBlocks)](matrices);
}

// --- the study -----------------------------------------------------------------------------------

/// Launches once, and throws wrong_product unless C is the expected result of the problem.
void verify(const problem& product, unsigned block, on_device& matrices) {
  launch(block, matrices);
  std::vector<float> got(product.c.size());
  matrices.c.copy_to(got);
  if (std::equal(got.begin(), got.end(), product.c.begin())) return;
  const comparison same = compare_exact(got, product.c);
  const auto [m, n, k] = product.size;
  const std::string side = std::to_string(block);
  throw wrong_product("scaling_study: C = A(" + std::to_string(m) + " x " + std::to_string(k) +
                      ") B(" + std::to_string(k) + " x " + std::to_string(n) + ") with blocks of " +
                      side + " x " + side + " is wrong: " + same.message);
}

/// The time of one sample, in milliseconds: all its launches together.
float time_sample(unsigned block, on_device& matrices, unsigned launches) {
  event_timer timer;
  timer.start();
  for (unsigned i = 0; i < launches; ++i) launch(block, matrices);
  timer.stop();
  return timer.milliseconds();
}

/// Measures one problem with one block size.
row measure(const problem& product, unsigned block, plan options) {
  {
    on_device fresh(product);
    verify(product, block, fresh);
  }
  on_device matrices(product);
  row out;
  out.size = product.size;
  out.block = block;
  out.launches = 1;
  while (out.sample_ms.size() < options.samples) {
    const float ms = time_sample(block, matrices, out.launches);
    if (ms >= options.sample_ms) {
      out.sample_ms.push_back(ms);
    } else {
      out.launches *= 2;
      out.sample_ms.clear();
    }
  }
  const auto [m, n, k] = product.size;
  out.operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  out.ms = summarize(out.sample_ms).median_ms / out.launches;
  out.gflops = out.operations / (out.ms * 1e6);
  return out;
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options) {
  require_sensible(problems, blocks, options);
  std::vector<row> rows(problems.size() * blocks.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = measure(problems[i / blocks.size()], blocks[i % blocks.size()], options);
  return rows;
}

}  // namespace lab::scaling_study
