// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.3 block_scan: the contract. What the program and the tests expect of block_scan.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::block_scan {

/// Rows of the program's matrix, values of a row, and threads of a block, unless it is told
/// otherwise.
inline constexpr std::size_t kDefaultRows = 1000, kDefaultLength = 1000;
inline constexpr unsigned kDefaultThreads = 256;

/// How the threads of a block scan as many values as there are threads.
enum class step {
  hillis_steele,  ///< every thread adds the sum that is 1, 2, 4, … elements before its own: few
                  ///< levels, n log n additions
  blelloch,       ///< up a tree of sums and down again: twice the levels, 2 n additions
  warps,          ///< each warp scans by shuffles; then one of them scans the sums of the warps
};

enum class kind {
  inclusive,  ///< element i is the sum of the values 0 to i
  exclusive,  ///< element i is the sum of the values 0 to i - 1; element 0 is 0
};

struct result {
  std::vector<std::uint32_t> values;  ///< as many as there were
  float kernel_ms = 0;                ///< the time of the kernel alone
};

/// Scans each row of a matrix by itself. `values` has the rows one after the other, each of
/// `row_length` elements; so has the result. All sums are modulo 2^32, and exact.
///
/// One block scans one row. A row may be shorter or longer than the block: a longer one is scanned
/// in tiles of as many elements as the block has threads, and each tile begins with the sum of the
/// tiles before it.
///
/// Without values the result is empty, whatever the length of a row.
///
/// Throws lab::invalid_input when `values` is not a whole number of rows, when `threads`, those of
/// a block, is not a power of two from 32 to 1024, and when the device allows no such block or
/// grid; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel that reads each value once and writes each result once, and whose threads
/// share the sums of a row: by shared memory, and in the step `warps` mostly by shuffles. With
/// `hillis_steele` each level goes through shared memory; with `blelloch`, too, but the number of
/// accesses for each value does not grow with the block; with `warps` there are at most four.
///
/// From: W. D. Hillis, G. L. Steele, Data Parallel Algorithms, 1986; G. E. Blelloch, Prefix Sums
/// and Their Applications, 1990; both for CUDA in M. Harris, S. Sengupta, J. D. Owens, Parallel
/// Prefix Sum (Scan) with CUDA, GPU Gems 3, chapter 39, 2007; the step warps from S. Sengupta,
/// M. Harris, M. Garland, Efficient Parallel Scan Algorithms for GPUs, 2008.
result scan(step version, kind mode, std::span<const std::uint32_t> values, std::size_t row_length,
            unsigned threads = 256);

}  // namespace lab::block_scan
