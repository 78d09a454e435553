// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: shared memory has 32 banks. Predict where a warp conflicts, and prevent it.
// Edit:  this file, from TODO(1) to TODO(4). bank_conflicts.hpp has the contract.
// Run:   scripts/lab run 05.4           (on the CPU device also: scripts/lab profile 05.4)
// Test:  scripts/lab test 05.4
// Hints: scripts/lab hint 05.4          Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::bank_conflicts {
// --- predictions: plain functions of the host ----------------------------------------------------

int wavefronts(std::size_t element_bytes, std::size_t stride, std::size_t first) {
  require_element(element_bytes);
  // TODO(1): which word does each of the kLanes lanes request, and which bank holds it? The bank
  //          with the most *different* requested words determines how long all of them take.
  // BEGIN SOLUTION
  // STUB: throw not_written("wavefronts()", 1);
  std::array<std::set<std::size_t>, kBanks> asked_for;  // the words of each bank
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::size_t word = (first + lane * stride) * element_bytes / kWordBytes;
    asked_for[word % kBanks].insert(word);  // a set: the same word once more changes nothing
  }
  std::size_t most = 0;
  for (const std::set<std::size_t>& words : asked_for) most = std::max(most, words.size());
  return static_cast<int>(most);
  // END SOLUTION
}

std::size_t conflict_free_pitch(std::size_t element_bytes, std::size_t columns) {
  require_element(element_bytes);
  require_columns(columns);
  // TODO(2): the smallest pitch >= columns for which wavefronts() is 1, whichever column the lanes
  //          are in.
  // BEGIN SOLUTION
  // STUB: throw not_written("conflict_free_pitch()", 2);
  const auto is_free = [&](std::size_t pitch) {
    for (std::size_t column = 0; column < columns; ++column)
      if (wavefronts(element_bytes, pitch, column) != 1) return false;
    return true;
  };
  std::size_t pitch = columns;
  while (!is_free(pitch)) ++pitch;  // ends: an odd number of whole words is always good
  return pitch;
  // END SOLUTION
}

namespace {

// --- the kernel: each thread adds up a row of its own --------------------------------------------
// Requires blocks of kThreads threads, and shared memory for kThreads * pitch elements.

constexpr unsigned kThreads = 128;  // a block: four warps, each with its own conflicts

template <class T>
__global__ void add_rows(const T* table, float* sums, std::size_t rows, unsigned columns,
                         unsigned pitch, unsigned rounds) {
  extern __shared__ float memory[];  // all types share one name, so it has one type
  T* const tile = reinterpret_cast<T*>(memory);
  const std::size_t first = std::size_t{blockIdx.x} * kThreads;  // the block's first row
  const unsigned rows_here =
      static_cast<unsigned>(rows - first < kThreads ? rows - first : kThreads);
  const T* const part = table + first * columns;  // rows_here * columns elements without gaps

  // TODO(3): all threads of the block together copy `part` into `tile`, in strides of kThreads
  //          elements: neighbours in a warp copy neighbours. Row r of the block begins at
  //          tile[r * pitch]. Then thread r, if there is such a row, adds up row r, `rounds` times,
  //          and stores the sum in sums[first + r].
  //          Invariant: no thread reads the tile before it is complete.
  // BEGIN SOLUTION
  for (unsigned i = threadIdx.x; i < rows_here * columns; i += kThreads)
    tile[i / columns * pitch + i % columns] = part[i];
  __syncthreads();  // the rows are complete: many threads copied each of them

  if (threadIdx.x < rows_here) {
    const T* const row = tile + threadIdx.x * pitch;
    auto sum = T{} + T{};  // a float, or an int for the small types
    for (unsigned round = 0; round < rounds; ++round)
      for (unsigned column = 0; column < columns; ++column) sum += row[column];
    sums[first + threadIdx.x] = static_cast<float>(sum);
  }
  // END SOLUTION
}

struct tile_shape {
  std::size_t pitch;  // from the beginning of a row to that of the next, in elements
  std::size_t bytes;  // of shared memory that a block needs
};

tile_shape shape_of_tile(layout tile_layout, std::size_t element_bytes, std::size_t columns) {
  // TODO(4): the pitch of each of the two layouts, and the bytes that a block's kThreads rows take.
  // BEGIN SOLUTION
  // STUB: throw not_written("adding up the rows", 3);  // 3 and 4 are one step
  const std::size_t pitch =
      tile_layout == layout::padded ? conflict_free_pitch(element_bytes, columns) : columns;
  return {pitch, kThreads * pitch * element_bytes};
  // END SOLUTION
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
