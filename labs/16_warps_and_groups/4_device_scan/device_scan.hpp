// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: the contract. What the program and the tests expect of device_scan.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::device_scan {

/// How the blocks learn the sum of all tiles before their own.
enum class step {
  three_launches,       ///< scan each tile, scan the sums of the tiles, add these to the elements
  decoupled_look_back,  ///< in one launch: blocks publish their sums and read those of others
  vectorized,           ///< the same, with 16-byte accesses and neighbouring elements per thread
};

enum class kind {
  inclusive,  ///< element i is the sum of the values 0 to i
  exclusive,  ///< element i is the sum of the values 0 to i - 1; element 0 is 0
};

struct result {
  std::vector<std::uint32_t> values;  ///< as many as there were
  float kernel_ms = 0;  ///< the time of the kernels, and of what prepares their memory
};

/// Scans an array of any length. All sums are modulo 2^32, and exact.
///
/// The array is divided into tiles of sixteen elements for each of the `threads` of a block, with
/// vectorized of 44. The last tile may be shorter. One block scans one tile.
///
/// The block of tile number `late` pauses for about a third of a second before it scans its tile.
/// That changes nothing in the result. By default there is no such tile.
///
/// Without values the result is empty.
///
/// Throws lab::invalid_input when `threads` is not a power of two from 32 to 1024, and when the
/// device allows no such block or grid; lab::cuda_error when CUDA reports an error. Neither leaves
/// device memory behind.
///
/// Requires: kernels whose blocks share the array, and in which the lanes of a warp load and store
/// neighbouring elements. With three_launches, three launches, of which the second scans the sums
/// of the tiles and leaves the array alone. With decoupled_look_back, one launch that reads each
/// value once and writes each result once; at most one warp of each block looks back, by atomic
/// loads, and one thread publishes: the sum of each tile but the first before the block looks back,
/// and afterwards that of all tiles up to it. No block waits for one that may not have begun. With
/// vectorized, all of that, by loads and stores of 16 bytes, where a thread adds up neighbours by
/// itself: its warp shuffles one sum for them, and not each element.
///
/// From: S. Sengupta, M. Harris, Y. Zhang, J. D. Owens, Scan Primitives for GPU Computing, 2007,
/// and M. Harris, S. Sengupta, J. D. Owens, Parallel Prefix Sum (Scan) with CUDA, GPU Gems 3,
/// chapter 39, 2007 (three launches); D. Merrill, M. Garland, Single-pass Parallel Prefix Scan with
/// Decoupled Look-back, NVIDIA Technical Report NVR-2016-002, 2016.
result scan(step version, kind mode, std::span<const std::uint32_t> values, unsigned threads = 256,
            unsigned late = 0xFFFF'FFFF);

}  // namespace lab::device_scan
