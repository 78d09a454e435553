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

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cublasxt_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/host_matmul.hpp"
#include "lab/timer.hpp"
#include "matmul_race.hpp"

namespace lab::matmul_race {
namespace {

constexpr unsigned kTile = 16;

// --- given: a kernel, as in 06.5. Put your own in its place, once everything else is right. ------

/// Requires blocks of kTile x kTile threads, one for each element of the block's tile of C.
__global__ void tiled(const float* a, const float* b, float* c, shape size) {
  __shared__ float tile_a[kTile][kTile];  // [row of C][i]
  __shared__ float tile_b[kTile][kTile];  // [i][column of C]
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t row = std::size_t{blockIdx.y} * kTile + y;
  const std::size_t column = std::size_t{blockIdx.x} * kTile + x;
  float sum = 0;
  for (std::size_t first = 0; first < size.k; first += kTile) {
    tile_a[y][x] = row < size.m && first + x < size.k ? a[row * size.k + first + x] : 0.0F;
    tile_b[y][x] = column < size.n && first + y < size.k ? b[(first + y) * size.n + column] : 0.0F;
    __syncthreads();  // both tiles are complete
    for (unsigned i = 0; i < kTile; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();  // all have read them: the next ones may come
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

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
  // TODO(2): c in host memory, filled with NaN, so that an element nobody writes is seen. The
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

// --- given ---------------------------------------------------------------------------------------

void require_sensible(std::span<const float> a, std::span<const float> b, shape size,
                      std::size_t laps) {
  const auto [m, n, k] = size;
  if (laps == 0) throw invalid_input("matmul_race: a race has one lap at least");
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  constexpr std::size_t kMostRows = std::size_t{65535} * kTile;  // of a grid
  if (m > kMostRows || n > kMost || k > kMost)
    throw invalid_input("matmul_race: A has at most " + std::to_string(kMostRows) +
                        " rows, and no side more elements than an int can count");
  const auto require = [](const char* name, std::size_t have, std::size_t rows, std::size_t cols) {
    if (have != rows * cols)
      throw invalid_input("matmul_race: " + std::string(name) + " has " + std::to_string(have) +
                          " elements, expected " + std::to_string(rows) + " x " +
                          std::to_string(cols));
  };
  require("A", a.size(), m, k);
  require("B", b.size(), k, n);
}

}  // namespace

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
