// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: events and a median of its own; a round of samples for each number of
// launches ends with the first one that is too short.

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

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

  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kBlock + ty;
  const std::size_t column = std::size_t{blockIdx.x} * kBlock + tx;
  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kBlock) {
    tile_a[ty][tx] = element(a, size.m, size.k, row, first + tx);
    tile_b[ty][tx] = element(b, size.k, size.n, first + ty, column);
    __syncthreads();
#pragma unroll
    for (unsigned i = 0; i < kBlock; ++i) sum += tile_a[ty][i] * tile_b[i][tx];
    __syncthreads();
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

template <unsigned kBlock>
void launch_tiled(on_device& matrices) {
  const auto [m, n, k] = matrices.size;
  const dim3 grid(static_cast<unsigned>((n + kBlock - 1) / kBlock),
                  static_cast<unsigned>((m + kBlock - 1) / kBlock));
  tiled<kBlock><<<grid, dim3(kBlock, kBlock)>>>(matrices.a.data(), matrices.b.data(),
                                                matrices.c.data(), matrices.size);
  CUDA_CHECK(cudaGetLastError());
}

/// Launches the kernel for blocks of `block` x `block` threads once.
void launch(unsigned block, on_device& matrices) {
  switch (block) {
    case 4:
      return launch_tiled<4>(matrices);
    case 8:
      return launch_tiled<8>(matrices);
    case 16:
      return launch_tiled<16>(matrices);
    case 32:
      return launch_tiled<32>(matrices);
  }
  throw invalid_input("scaling_study: there is no kernel for this block size");
}

// --- the study -----------------------------------------------------------------------------------

/// Launches once, and throws wrong_product unless C is the expected result of the problem.
void verify(const problem& product, unsigned block, on_device& matrices) {
  launch(block, matrices);
  const comparison same = compare_exact(matrices.c.to_vector(), product.c);
  if (same) return;
  const auto [m, n, k] = product.size;
  const std::string side = std::to_string(block);
  throw wrong_product("scaling_study: C = A(" + std::to_string(m) + " x " + std::to_string(k) +
                      ") B(" + std::to_string(k) + " x " + std::to_string(n) + ") with blocks of " +
                      side + " x " + side + " is wrong: " + same.message);
}

/// The time of one sample, in milliseconds: all its launches together.
float time_sample(unsigned block, on_device& matrices, unsigned launches) {
  const auto make = [] {
    cudaEvent_t made = nullptr;
    CUDA_CHECK(cudaEventCreate(&made));
    return made;
  };
  struct destroy {
    void operator()(cudaEvent_t event) const noexcept {
      CUDA_CHECK_NOTHROW(cudaEventDestroy(event));
    }
  };
  using owner = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;
  const owner begin(make()), end(make());
  CUDA_CHECK(cudaEventRecord(begin.get()));
  for (; launches != 0; --launches) launch(block, matrices);
  CUDA_CHECK(cudaEventRecord(end.get()));
  CUDA_CHECK(cudaEventSynchronize(end.get()));
  float ms = 0;
  CUDA_CHECK(cudaEventElapsedTime(&ms, begin.get(), end.get()));
  return ms;
}

/// Measures one problem with one block size.
row measure(const problem& product, unsigned block, plan options) {
  on_device matrices(product);
  verify(product, block, matrices);
  const auto [m, n, k] = product.size;
  std::vector<float> samples;
  unsigned launches = 1;
  for (bool enough = false; !enough; launches *= enough ? 1 : 2) {
    samples.clear();
    enough = true;
    while (enough && samples.size() < options.samples) {
      samples.push_back(time_sample(block, matrices, launches));
      enough = !(samples.back() < options.sample_ms);
    }
  }
  std::vector<float> sorted(samples);
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  const double median = sorted.size() % 2 == 1
                            ? double{sorted[half]}
                            : (double{sorted[half - 1]} + double{sorted[half]}) / 2;
  const double operations =
      static_cast<double>(m) * static_cast<double>(n) * 2.0 * static_cast<double>(k);
  const double ms = median / launches;
  return {product.size, block, operations, launches, std::move(samples), ms, operations / ms / 1e6};
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options) {
  require_sensible(problems, blocks, options);
  std::vector<row> rows;
  for (const problem& product : problems)
    for (const unsigned block : blocks) rows.push_back(measure(product, block, options));
  return rows;
}

}  // namespace lab::scaling_study
