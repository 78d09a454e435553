// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: the contract. What the program and the tests expect of bank_conflicts.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::bank_conflicts {

constexpr std::size_t kLanes = 32;          ///< threads of a warp
constexpr std::size_t kBanks = 32;          ///< of shared memory
constexpr std::size_t kWordBytes = 4;       ///< neighbouring words lie in neighbouring banks
constexpr std::size_t kMostColumns = 64;    ///< of a table, so that a block's part of it fits
constexpr unsigned kMostRounds = 1000;      ///< so that sums of small types stay exact
constexpr std::size_t kDefaultRows = 2048;  ///< of the program's tables unless it is told otherwise

/// How many passes over the banks (wavefronts) it takes when lane i of a full warp reads the
/// element first + i * stride of an array that begins in bank 0. The bank of a byte is (its address
/// / kWordBytes) % kBanks. In one pass each bank serves one word, to all lanes that want this word,
/// or a part of it. So 1 is a read without a conflict, and 32 the worst.
///
/// `element_bytes` is 1, 2 or 4, else this throws lab::invalid_input. `stride` and `first` are
/// below 2^32; a stride of 0 has all lanes read one element. Runs on the host: no device is used.
int wavefronts(std::size_t element_bytes, std::size_t stride, std::size_t first = 0);

/// The least pitch, from `columns` on, with which lane i can read element i * pitch + c without a
/// conflict for *each* column c of the `columns`. (If each lane walks along a row of its own, the
/// rows of the table should begin this many elements apart.) For `columns` from 1 to kMostColumns;
/// throws lab::invalid_input otherwise, and for element sizes as above.
std::size_t conflict_free_pitch(std::size_t element_bytes, std::size_t columns);

enum class layout {
  packed,  ///< in shared memory row r begins at element r * columns
  padded,  ///< … at element r * conflict_free_pitch()
};

struct result {
  std::vector<float> sums;  ///< one per row
  float kernel_ms = 0;      ///< the time of the kernel alone
};

/// The sum of each row of a table, times `rounds`. Row r of the table is the elements r * columns
/// to (r + 1) * columns - 1. Each thread reads a row of its own from shared memory, `rounds` times,
/// so that this is what takes the time. Whole numbers are added up exactly as long as every sum on
/// the way is below 2^24. A table without elements has no sums.
///
/// Throws lab::invalid_input unless `columns` is from 1 to kMostColumns, `rounds` from 1 to
/// kMostRounds, the table's length a multiple of `columns`, and its rows few enough for the blocks
/// of one grid; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: in row_sums() a kernel that reads the rows from shared memory, a thread for each; in
/// layout padded without bank conflicts.
///
/// From: the Kazan course on CUDA programming technology, chapter 7.
result row_sums(layout tile_layout, std::span<const signed char> table, std::size_t columns,
                unsigned rounds = 1);
result row_sums(layout tile_layout, std::span<const short> table, std::size_t columns,
                unsigned rounds = 1);
result row_sums(layout tile_layout, std::span<const float> table, std::size_t columns,
                unsigned rounds = 1);

}  // namespace lab::bank_conflicts
