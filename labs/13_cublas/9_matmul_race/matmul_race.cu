// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: one product, four ways to make it, and what each of them takes.
// Edit:  this file, from TODO(1) to TODO(5). matmul_race.hpp says what is asked for.
// Run:   scripts/lab run 13.9
// Test:  scripts/lab test 13.9
// Hints: scripts/lab hint 13.9             Chapter: docs/13_cublas.md

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matmul_race {
namespace {

// --- the clocks ----------------------------------------------------------------------------------

/// One lap of a racer that works in device memory: `product(a, b, c)` puts it into the default
/// stream.
template <class Product>
void lap_on_device(std::span<const float> a, std::span<const float> b, shape size, result& out,
                   const Product& product) {
  // TODO(1): memory of the device for a and b (with their values) and c (of m * n elements), the
  //          product between the two marks of an event_timer, and c back into out.c. Add a time to
  //          out.product_ms and one to out.total_ms, which is a host_timer's, over all of that.
  //          Invariant: when the host's clock is read, C is there.
  throw not_written("lap_on_device", 1);
}

/// One lap of a racer that works in host memory: `product(c)` comes back when c is there.
template <class Product>
void lap_on_host(shape size, result& out, const Product& product) {
  // TODO(2): c in host memory, filled with NaN, so that an unwritten element shows. The
  //          product, timed by a host_timer. There is no product_ms.
  throw not_written("lap_on_host", 2);
}

// --- the racers ----------------------------------------------------------------------------------

/// c = a · b, in device memory, by `tiled`. Does not wait for it.
void own_product(const float* a, const float* b, float* c, shape size) {
  // TODO(3): a block for each tile of C, those that stick out included. x goes along the rows.
  throw not_written("own_product", 3);
}

/// c = a · b, in device memory, by cuBLAS. Does not wait for it.
void cublas_product(const cublas_handle& handle, const float* a, const float* b, float* c,
                    shape size) {
  // TODO(4): cublasSgemm. To the library, all three matrices are transposed (13.3).
  throw not_written("cublas_product", 4);
}

/// c = a · b, in host memory, by cuBLAS-Xt, which has been told who works.
void xt_product(const cublasxt_handle& handle, std::span<const float> a, std::span<const float> b,
                std::span<float> c, shape size) {
  // TODO(5): cublasXtSgemm (13.7). Its sizes are std::size_t.
  throw not_written("xt_product", 5);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result race(racer who, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps) {
  require_sensible(a, b, size, laps);
  result out;
  if (size.m == 0 || size.n == 0 || size.k == 0) {
    out.c.assign(size.m * size.n, 0.0F);
    return out;
  }
  if (who == racer::own_kernel) {
    for (std::size_t lap = 0; lap < laps; ++lap)
      lap_on_device(a, b, size, out, [&](const float* da, const float* db, float* dc) {
        own_product(da, db, dc, size);
      });
  } else if (who == racer::cublas) {
    const cublas_handle handle;
    for (std::size_t lap = 0; lap < laps; ++lap)
      lap_on_device(a, b, size, out, [&](const float* da, const float* db, float* dc) {
        cublas_product(handle, da, db, dc, size);
      });
  } else if (who == racer::cublas_xt) {
    const cublasxt_handle handle;
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUBLAS_CHECK(cublasXtDeviceSelect(handle, 1, &device));
    for (std::size_t lap = 0; lap < laps; ++lap)
      lap_on_host(size, out, [&](std::span<float> c) { xt_product(handle, a, b, c, size); });
  } else {
    for (std::size_t lap = 0; lap < laps; ++lap)
      lap_on_host(size, out,
                  [&](std::span<float> c) { host_matmul(a, b, c, size.m, size.n, size.k); });
  }
  return out;
}

}  // namespace lab::matmul_race
