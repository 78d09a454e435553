// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: the contract. What the program and the tests expect of
// odd_even_merge_sort.cu.
#pragma once

#include <cstdint>
#include <span>

#include "lab/key_value.hpp"

namespace lab::odd_even_merge_sort {

enum class step {
  shared_tiles,         ///< arrays up to 1024 elements in shared memory, blocks of 512 threads; a
                        ///< launch for every stage of the levels above
  columns_and_windows,  ///< two launches per level: its first stages in columns, the others in
                        ///< tiles that see beyond their edges
};

struct result {
  key_values sorted;
  float kernel_ms = 0;    ///< all launches together
  unsigned launches = 0;  ///< how many there were
};

/// Sorts each of arrays.count arrays of arrays.length elements by its keys, in the direction
/// `order`. The arrays are one after the other in `keys`. A value goes where its key goes; `values`
/// is as long as `keys`, or empty where only keys are to be sorted.
///
/// The sort is not stable: pairs with equal keys may change places.
///
/// A length is a power of two from 1 to 2^31. Throws lab::invalid_input for another length, when
/// there are not arrays.count * arrays.length keys, and when there are values, but not as many.
/// Throws lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: kernels that compare and exchange in the direction that was asked for, first in tiles
/// in shared memory, in columns_and_windows without bank conflicts; no library sorts.
///
/// From: the UVT report on data parallelism, which sorts batches of 1,048,576 pairs in all, in
/// arrays of 64 to 1,048,576, with at most 1024 elements in shared memory and 512 threads per
/// block. The network is K. E. Batcher's (1968). The step columns_and_windows is ours.
result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays,
            direction order = direction::ascending);

}  // namespace lab::odd_even_merge_sort
