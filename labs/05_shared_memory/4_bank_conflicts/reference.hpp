// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: what the results are compared with. All of them are whole numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "bank_conflicts.hpp"

namespace lab::bank_conflicts {

/// wavefronts(), by playing it through: in each pass every bank picks the word of the first lane
/// that still waits at it, and serves all lanes that want this word.
inline int reference_wavefronts(std::size_t element_bytes, std::size_t stride, std::size_t first) {
  std::vector<std::size_t> waiting;  // the words that lanes still wait for
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    waiting.push_back((first + lane * stride) * element_bytes / kWordBytes);
  int passes = 0;
  for (; !waiting.empty(); ++passes) {
    std::array<const std::size_t*, kBanks> picked{};
    const std::vector<std::size_t> words = waiting;
    for (const std::size_t& word : words)
      if (picked[word % kBanks] == nullptr) picked[word % kBanks] = &word;
    std::erase_if(waiting, [&](std::size_t word) { return *picked[word % kBanks] == word; });
  }
  return passes;
}

/// conflict_free_pitch(), by trying. There always is one: if a row takes an odd number of whole
/// words, 32 rows begin in 32 different banks.
inline std::size_t reference_pitch(std::size_t element_bytes, std::size_t columns) {
  for (std::size_t pitch = columns;; ++pitch) {
    std::size_t column = 0;
    while (column < columns && reference_wavefronts(element_bytes, pitch, column) == 1) ++column;
    if (column == columns) return pitch;
  }
}

/// The sum of each row, times `rounds`, in double.
template <class T>
std::vector<double> reference_sums(std::span<const T> table, std::size_t columns, unsigned rounds) {
  std::vector<double> sums(table.size() / columns);
  for (std::size_t i = 0; i < table.size(); ++i)
    sums[i / columns] += static_cast<double>(table[i]) * rounds;
  return sums;
}

}  // namespace lab::bank_conflicts
