// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: one product, four ways to compute it, and the time of each.
// Edit:  this file, from TODO(1) to TODO(5). matmul_race.hpp has the contract.
// Run:   scripts/lab run 13.9
// Test:  scripts/lab test 13.9
// Hints: scripts/lab hint 13.9             Chapter: docs/13_cublas.md

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matmul_race {
namespace {

// --- the products --------------------------------------------------------------------------------

/// c = a · b, in device memory, with `tiled`. Does not wait for it.
void own_product(const float* a, const float* b, float* c, shape size) {
  // TODO(1): a block for each tile of C, including those at the edges. x goes along the rows.
  throw not_written("own_product", 1);
}

/// c = a · b, in device memory, with cuBLAS. Does not wait for it.
void cublas_product(const cublas_handle& handle, const float* a, const float* b, float* c,
                    shape size) {
  // TODO(2): cublasSgemm. To the library, all three matrices are transposed (13.3).
  throw not_written("cublas_product", 2);
}

/// c = a · b, in host memory, with cuBLAS-Xt, whose devices have been selected.
void xt_product(const cublasxt_handle& handle, std::span<const float> a, std::span<const float> b,
                std::span<float> c, shape size) {
  // TODO(3): cublasXtSgemm (13.7). Its sizes are std::size_t.
  throw not_written("xt_product", 3);
}

// --- the laps ------------------------------------------------------------------------------------

/// One lap in device memory: with cuBLAS, or with own_product() if `handle` is null.
void lap_on_device(std::span<const float> a, std::span<const float> b, shape size,
                   const cublas_handle* handle, result& out) {
  // TODO(4): device memory for a and b (with their values) and c (of m * n elements), the product
  //          between start() and stop() of an event_timer, and c back into out.c. Add a time to
  //          out.product_ms and one to out.total_ms, which a host_timer measures over all of that.
  //          Invariant: when the host's clock is read, C is complete.
  throw not_written("lap_on_device", 1);  // 1, 2 and 4
}

/// One lap in host memory: with cuBLAS-Xt, or with host_matmul() if `handle` is null.
void lap_on_host(std::span<const float> a, std::span<const float> b, shape size,
                 const cublasxt_handle* handle, result& out) {
  // TODO(5): c in host memory, filled with NaN, so that an unwritten element is noticed. The
  //          product, timed with a host_timer. There is no product_ms.
  throw not_written("lap_on_host", 3);  // 3 and 5
}

}  // namespace

result race(racer contender, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps) {
  return host_part_of_race(lap_on_device, lap_on_host, contender, a, b, size, laps);
}

}  // namespace lab::matmul_race
