// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: blocks of 96 threads; each warp copies its own rows and waits for its
// own lanes only; the last column comes first; the last row of the tile has no padding.

#include <cuda_runtime.h>

#include <type_traits>

#include "given.hpp"

namespace lab::bank_conflicts {
// --- predictions: plain functions of the host ----------------------------------------------------

int wavefronts(std::size_t element_bytes, std::size_t stride, std::size_t first) {
  require_element(element_bytes);
  std::array<std::set<std::size_t>, kBanks> words;  // that each bank has to deliver
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t word = (first + lane * stride) * element_bytes / kWordBytes;
    words[word % kBanks].insert(word);
  }
  std::size_t most = 0;
  for (const auto& bank : words) most = std::max(most, bank.size());
  return static_cast<int>(most);
}

std::size_t conflict_free_pitch(std::size_t element_bytes, std::size_t columns) {
  require_element(element_bytes);
  require_columns(columns);
  const auto is_free = [&](std::size_t pitch) {
    for (std::size_t column = 0; column < columns; ++column)
      if (wavefronts(element_bytes, pitch, column) != 1) return false;
    return true;
  };
  std::size_t pitch = columns;
  while (!is_free(pitch)) ++pitch;
  return pitch;
}

namespace {

// --- the kernel: each thread adds up a row of its own --------------------------------------------
// Requires blocks of kThreads threads, and shared memory for kThreads * pitch elements.

constexpr unsigned kThreads = 96;  // a block: three warps, each with its own conflicts

template <class T>
__global__ void add_rows(const T* table, float* sums, std::size_t rows, unsigned columns,
                         unsigned pitch, unsigned rounds) {
  extern __shared__ float memory[];  // all types share one name, so it has one type
  T* const tile = reinterpret_cast<T*>(memory);
  const std::size_t first = std::size_t{blockIdx.x} * kThreads;  // the block's first row
  const unsigned rows_here =
      static_cast<unsigned>(rows - first < kThreads ? rows - first : kThreads);
  const T* const part = table + first * columns;  // rows_here * columns elements without gaps

  const unsigned warp_row = threadIdx.x / 32 * 32;
  const unsigned warp_rows = rows_here > warp_row ? min(rows_here - warp_row, 32U) : 0;
  for (unsigned i = threadIdx.x % 32; i < warp_rows * columns; i += 32)
    tile[(warp_row + i / columns) * pitch + i % columns] = part[warp_row * columns + i];
  __syncwarp();
  if (threadIdx.x >= rows_here) return;
  using number = std::conditional_t<sizeof(T) == 4, float, int>;
  number sum = 0;
  while (rounds-- != 0)
    for (unsigned column = columns; column-- != 0;)
      sum += static_cast<number>(tile[threadIdx.x * pitch + column]);
  sums[first + threadIdx.x] = static_cast<float>(sum);
}

struct tile_shape {
  std::size_t pitch;  // from the beginning of a row to that of the next, in elements
  std::size_t bytes;  // of shared memory that a block needs
};

tile_shape shape_of_tile(layout tile_layout, std::size_t element_bytes, std::size_t columns) {
  const std::size_t pitch =
      tile_layout == layout::packed ? columns : conflict_free_pitch(element_bytes, columns);
  return {pitch, ((kThreads - 1) * pitch + columns) * element_bytes};
}

// --- given: the launch ---------------------------------------------------------------------------

template <class T>
result launch(layout tile_layout, std::span<const T> table, std::size_t columns, unsigned rounds) {
  require_columns(columns);
  refuse_if(rounds < 1 || rounds > kMostRounds, "bank_conflicts: ", rounds,
            " rounds; there must be 1 to ", kMostRounds);
  refuse_if(table.size() % columns != 0, "bank_conflicts: a table of ", table.size(),
            " elements cannot have rows of ", columns);
  const std::size_t rows = table.size() / columns;
  const std::size_t blocks = (rows + kThreads - 1) / kThreads;
  refuse_if(blocks > 0x7FFF'FFFF, "bank_conflicts: too many rows for one grid");
  if (rows == 0) return {};  // a grid of no blocks would be an error

  const tile_shape shape = shape_of_tile(tile_layout, sizeof(T), columns);
  const device_buffer device_table(table);
  device_buffer<float> device_sums(rows);
  const float kernel_ms = time_kernel([&] {
    add_rows<T><<<static_cast<unsigned>(blocks), kThreads, shape.bytes>>>(
        device_table.data(), device_sums.data(), rows, static_cast<unsigned>(columns),
        static_cast<unsigned>(shape.pitch), rounds);
  });
  return {device_sums.to_vector(), kernel_ms};
}

}  // namespace

// --- given: the three types ----------------------------------------------------------------------

result row_sums(layout tile_layout, std::span<const signed char> table, std::size_t columns,
                unsigned rounds) {
  return launch(tile_layout, table, columns, rounds);
}
result row_sums(layout tile_layout, std::span<const short> table, std::size_t columns,
                unsigned rounds) {
  return launch(tile_layout, table, columns, rounds);
}
result row_sums(layout tile_layout, std::span<const float> table, std::size_t columns,
                unsigned rounds) {
  return launch(tile_layout, table, columns, rounds);
}

}  // namespace lab::bank_conflicts
