// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a warp for each dot product, whose sum and coefficient are in double
// and stay on the device; a grid-stride loop over all components of all later vectors. With so many
// digits the classical step loses nothing of nearly parallel vectors.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::gram_schmidt {
namespace {

constexpr unsigned kThreads = 256;

// Vectors are stored one after the other: component i of vector k is rows[k * length + i].

// --- both steps: dot products --------------------------------------------------------------------

/// A warp for each row: sums[k] = (rows_k, v).
__global__ void dots(const float* rows, std::size_t count, const float* v, double* sums,
                     std::size_t length) {
  const std::size_t k = std::size_t{blockIdx.x} * (blockDim.x / 32) + threadIdx.x / 32;
  if (k >= count) return;  // a whole warp
  double sum = 0;
  for (std::size_t i = threadIdx.x % 32; i < length; i += 32)
    sum += static_cast<double>(rows[k * length + i]) * static_cast<double>(v[i]);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xFFFF'FFFF, sum, d);
  if (threadIdx.x % 32 == 0) sums[k] = sum;
}

void enqueue_dots(const float* rows, std::size_t count, const float* v, std::size_t length,
                  double* sums) {
  if (count == 0) return;
  dots<<<static_cast<unsigned>((count + 7) / 8), 256>>>(rows, count, v, sums, length);
  CUDA_CHECK(cudaGetLastError());
}

// --- given: what the host keeps track of ---------------------------------------------------------

struct workspace {
  device_buffer<float> b;
  device_buffer<double> products, squares;  // (b_k, b_k) of the finished vectors
  std::span<const float> a;
  std::size_t count, length;

  float* vector(std::size_t k) { return b.data() + k * length; }

  /// Call it when b_k is finished: appends (b_k, b_k) to `squares`. Throws invalid_input if almost
  /// nothing is left of a_k.
  void finish(std::size_t k) {
    enqueue_dots(vector(k), 1, vector(k), length, squares.data() + k);
    double square = 0;
    CUDA_CHECK(cudaMemcpy(&square, squares.data() + k, sizeof square, cudaMemcpyDeviceToHost));
    double before = 0;
    for (const float component : a.subspan(k * length, length))
      before += static_cast<double>(component) * static_cast<double>(component);
    const double least = static_cast<double>(count) * 0x1p-20;
    refuse_if(!(square > std::max(least * least * before, kLeastLength * kLeastLength)),
              "gram_schmidt: the vectors are linearly dependent: nothing is left of vector ", k,
              " without its projections on those before it");
  }
};

// --- step classical ------------------------------------------------------------------------------

__global__ void subtract_all_from_one(float* v, const float* rows, const double* products,
                                      const double* squares, std::size_t count,
                                      std::size_t length) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= length) return;
  double mine = v[i];
  for (std::size_t k = 0; k < count; ++k)
    mine -= products[k] / squares[k] * static_cast<double>(rows[k * length + i]);
  v[i] = static_cast<float>(mine);
}

void classical(workspace& w) {
  for (std::size_t i = 0; i < w.count; ++i) {
    enqueue_dots(w.vector(0), i, w.vector(i), w.length, w.products.data());
    subtract_all_from_one<<<static_cast<unsigned>((w.length + 63) / 64), 64>>>(
        w.vector(i), w.vector(0), w.products.data(), w.squares.data(), i, w.length);
    CUDA_CHECK(cudaGetLastError());
    w.finish(i);
  }
}

// --- step modified -------------------------------------------------------------------------------

/// One thread for each component of each row.
__global__ void subtract_one_from_all(float* rows, std::size_t count, const float* v,
                                      const double* products, const double* square,
                                      std::size_t length) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count * length;
       i += stride)
    rows[i] -= static_cast<float>(products[i / length] / *square) * v[i % length];
}

void modified(workspace& w) {
  for (std::size_t k = 0; k < w.count; ++k) {
    w.finish(k);
    const std::size_t behind = w.count - k - 1;
    if (behind == 0) break;
    enqueue_dots(w.vector(k + 1), behind, w.vector(k), w.length, w.products.data());
    const auto blocks = static_cast<unsigned>(
        std::min<std::size_t>((behind * w.length + kThreads - 1) / kThreads, 1024));
    subtract_one_from_all<<<blocks, kThreads>>>(w.vector(k + 1), behind, w.vector(k),
                                                w.products.data(), w.squares.data() + k, w.length);
    CUDA_CHECK(cudaGetLastError());
  }
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result orthogonalize(step version, std::span<const float> a, std::size_t count,
                     std::size_t length) {
  require_sensible(a, count, length);
  if (count == 0) return {};
  workspace w{device_buffer<float>(a.size()),
              device_buffer<double>(count),
              device_buffer<double>(count),
              a,
              count,
              length};
  const float kernel_ms = time_kernel(
      [&] {
        if (version == step::classical)
          classical(w);
        else
          modified(w);
      },
      [&] { w.b.copy_from(a); });
  return {w.b.to_vector(), kernel_ms};
}

}  // namespace lab::gram_schmidt
