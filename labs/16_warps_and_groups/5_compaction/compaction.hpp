// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.5 compaction: the contract. What the program and the tests expect of compaction.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::compaction {

enum class step {
  any_order,  ///< one atomic addition reserves space for what a warp keeps of 32 elements
  in_order,   ///< count, scan the counts, and write: the elements stay in their order (stable)
  partition,  ///< as in_order, and the other elements follow, also in their order
};

struct result {
  std::vector<std::int32_t> values;  ///< the elements that are kept; partition: all of them
  std::size_t kept = 0;              ///< how many elements are kept
  float kernel_ms = 0;               ///< the time of the kernels alone
};

/// Keeps the elements that are less than `limit`. With any_order they may come in any order, and
/// in another one each time; with the other steps they come in the order of `values`. An element is
/// kept or not by its own value alone, so equal elements are kept as often as they occur.
///
/// With std::numeric_limits<std::int32_t>::min() as the limit nothing is kept. Without values the
/// result is empty.
///
/// Throws lab::cuda_error when CUDA reports an error, and leaves no device memory behind.
///
/// Requires: kernels in which each warp finds out by votes of its lanes where its elements go; any
/// sums over warps are made on the device as well. With any_order at most one atomic addition for
/// 32 elements, and only partition writes elements that are not kept. The host only copies.
///
/// From: G. E. Blelloch, Prefix Sums and Their Applications, 1990 (pack, split); M. Billeter,
/// O. Olsson, U. Assarsson, Efficient Stream Compaction on Wide SIMD Many-Core Architectures, 2009
/// (votes); A. Adinetz, Optimized Filtering with Warp-Aggregated Atomics, NVIDIA Technical Blog,
/// 2014 (any_order).
result compact(step version, std::span<const std::int32_t> values, std::int32_t limit);

}  // namespace lab::compaction
