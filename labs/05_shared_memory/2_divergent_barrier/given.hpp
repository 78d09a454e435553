// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: what divergent_barrier.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>

#include "divergent_barrier.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::divergent_barrier {

/// How many blocks of `size` things n things need, rounded up.
inline unsigned blocks_for(std::size_t n, std::size_t size) {
  constexpr std::size_t kMost = 0x7FFF'FFFF;  // blocks in a grid
  const std::size_t blocks = n / size + (n % size != 0 ? 1 : 0);
  refuse_if(blocks > kMost, "divergent_barrier: ", blocks,
            " blocks are needed, and a grid has at most ", kMost);
  return static_cast<unsigned>(blocks);
}

constexpr unsigned kColumns = 32;  // of a block: a row of its threads is a warp

/// sums_of_blocks() and minus_column_means(), which launch their kernels by `launch`.
template <class Launch>
result host_part_of_sums(std::span<const float> values, const Launch& launch) {
  const unsigned blocks = blocks_for(values.size(), kBlock);
  if (blocks == 0) return {};  // a grid of no blocks would be an error
  const device_buffer device_values(values);
  device_buffer<float> sums(blocks);
  const float kernel_ms =
      time_kernel([&] { launch(blocks, device_values.data(), sums.data(), values.size()); });
  return {sums.to_vector(), kernel_ms};
}

template <class Launch>
result host_part_of_means(std::span<const float> table, const Launch& launch) {
  refuse_if(table.size() % kRows != 0, "divergent_barrier: a table of ", table.size(),
            " numbers cannot have ", kRows, " rows of equal length");
  const std::size_t columns = table.size() / kRows;
  const unsigned blocks = blocks_for(columns, kColumns);
  if (blocks == 0) return {};
  const device_buffer device_table(table);
  device_buffer<float> less(table.size());
  const float kernel_ms =
      time_kernel([&] { launch(blocks, device_table.data(), less.data(), columns); });
  return {less.to_vector(), kernel_ms};
}

}  // namespace lab::divergent_barrier
