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
  // BEGIN SOLUTION
  // STUB: throw not_written("own_product", 1);
  const dim3 block(kTile, kTile);
  const dim3 grid(static_cast<unsigned>((size.n + kTile - 1) / kTile),
                  static_cast<unsigned>((size.m + kTile - 1) / kTile));
  tiled<<<grid, block>>>(a, b, c, size);
  CUDA_CHECK(cudaGetLastError());
  // END SOLUTION
}

/// c = a · b, in device memory, with cuBLAS. Does not wait for it.
void cublas_product(const cublas_handle& handle, const float* a, const float* b, float* c,
                    shape size) {
  // TODO(2): cublasSgemm. To the library, all three matrices are transposed (13.3).
  // BEGIN SOLUTION
  // STUB: throw not_written("cublas_product", 2);
  const int m = static_cast<int>(size.m), n = static_cast<int>(size.n),
            k = static_cast<int>(size.k);
  const float one = 1, zero = 0;
  CUBLAS_CHECK(
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n));
  // END SOLUTION
}

/// c = a · b, in host memory, with cuBLAS-Xt, whose devices have been selected.
void xt_product(const cublasxt_handle& handle, std::span<const float> a, std::span<const float> b,
                std::span<float> c, shape size) {
  // TODO(3): cublasXtSgemm (13.7). Its sizes are std::size_t.
  // BEGIN SOLUTION
  // STUB: throw not_written("xt_product", 3);
  const float one = 1, zero = 0;
  CUBLAS_CHECK(cublasXtSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size.n, size.m, size.k, &one,
                             b.data(), size.n, a.data(), size.k, &zero, c.data(), size.n));
  // END SOLUTION
}

// --- the laps ------------------------------------------------------------------------------------

/// One lap in device memory: with cuBLAS, or with own_product() if `handle` is null.
void lap_on_device(std::span<const float> a, std::span<const float> b, shape size,
                   const cublas_handle* handle, result& out) {
  // TODO(4): device memory for a and b (with their values) and c (of m * n elements), the product
  //          between start() and stop() of an event_timer, and c back into out.c. Add a time to
  //          out.product_ms and one to out.total_ms, which a host_timer measures over all of that.
  //          Invariant: when the host's clock is read, C is complete.
  // BEGIN SOLUTION
  // STUB: throw not_written("lap_on_device", 1);  // 1, 2 and 4
  const host_timer total;
  const device_buffer device_a(a), device_b(b);
  device_buffer<float> device_c(size.m * size.n);
  event_timer timer;
  timer.start();
  if (handle != nullptr)
    cublas_product(*handle, device_a.data(), device_b.data(), device_c.data(), size);
  else
    own_product(device_a.data(), device_b.data(), device_c.data(), size);
  timer.stop();
  out.c = device_c.to_vector();  // waits for the product
  out.total_ms.push_back(static_cast<float>(total.milliseconds()));
  out.product_ms.push_back(timer.milliseconds());
  // END SOLUTION
}

/// One lap in host memory: with cuBLAS-Xt, or with host_matmul() if `handle` is null.
void lap_on_host(std::span<const float> a, std::span<const float> b, shape size,
                 const cublasxt_handle* handle, result& out) {
  // TODO(5): c in host memory, filled with NaN, so that an unwritten element is noticed. The
  //          product, timed with a host_timer. There is no product_ms.
  // BEGIN SOLUTION
  // STUB: throw not_written("lap_on_host", 3);  // 3 and 5
  out.c.assign(size.m * size.n, std::numeric_limits<float>::quiet_NaN());
  const host_timer total;
  if (handle != nullptr)
    xt_product(*handle, a, b, out.c, size);
  else
    host_matmul(a, b, out.c, size.m, size.n, size.k);
  out.total_ms.push_back(static_cast<float>(total.milliseconds()));
  // END SOLUTION
}

}  // namespace

result race(racer contender, std::span<const float> a, std::span<const float> b, shape size,
            std::size_t laps) {
  return host_part_of_race(lap_on_device, lap_on_host, contender, a, b, size, laps);
}

}  // namespace lab::matmul_race
