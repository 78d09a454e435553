// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: what matmul_race.cu starts from. There is nothing to do in here.
#pragma once

#include <cublasXt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cublasxt_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/host_matmul.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"
#include "matmul_race.hpp"

namespace lab::matmul_race {

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
    __syncthreads();  // all threads have read them: the next tiles may be loaded
  }
  if (row < size.m && column < size.n) c[row * size.n + column] = sum;
}

inline void require_sensible(std::span<const float> a, std::span<const float> b, shape size,
                             std::size_t laps) {
  const auto [m, n, k] = size;
  refuse_if(laps == 0, "matmul_race: a race has one lap at least");
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  constexpr std::size_t kMostRows = std::size_t{65535} * kTile;  // of a grid
  refuse_if(m > kMostRows || n > kMost || k > kMost, "matmul_race: A has at most ", kMostRows,
            " rows, and no side more elements than an int can count");
  const auto require = [](const char* name, std::size_t have, std::size_t rows, std::size_t cols) {
    refuse_if(have != rows * cols, "matmul_race: ", name, " has ", have, " elements, expected ",
              rows, " x ", cols);
  };
  require("A", a.size(), m, k);
  require("B", b.size(), k, n);
}

template <class Handle>
using lap = void (*)(std::span<const float> a, std::span<const float> b, shape size,
                     const Handle* handle, result& out);

/// race(), with the laps of matmul_race.cu.
inline result host_part_of_race(lap<cublas_handle> lap_on_device, lap<cublasxt_handle> lap_on_host,
                                racer contender, std::span<const float> a, std::span<const float> b,
                                shape size, std::size_t laps) {
  require_sensible(a, b, size, laps);
  result out;
  if (size.m == 0 || size.n == 0 || size.k == 0) {
    out.c.assign(size.m * size.n, 0.0F);
    return out;
  }
  std::optional<cublas_handle> cublas;
  std::optional<cublasxt_handle> xt;
  if (contender == racer::cublas) cublas.emplace();
  if (contender == racer::cublas_xt) {
    int device = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUBLAS_CHECK(cublasXtDeviceSelect(xt.emplace(), 1, &device));
  }
  for (std::size_t i = 0; i < laps; ++i) {
    if (contender == racer::own_kernel || contender == racer::cublas)
      lap_on_device(a, b, size, cublas ? &*cublas : nullptr, out);
    else
      lap_on_host(a, b, size, xt ? &*xt : nullptr, out);
  }
  return out;
}

}  // namespace lab::matmul_race
