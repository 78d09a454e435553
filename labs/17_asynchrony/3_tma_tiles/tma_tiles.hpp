// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.3 tma_tiles: the contract. What the program and the tests expect of tma_tiles.cu.
//
// Needs compute capability 9.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::tma_tiles {

/// The program's matrix on the CPU device, unless it is told otherwise.
inline constexpr std::size_t kDefaultWidth = 500, kDefaultHeight = 300;

enum class step {
  loads,        ///< a tile with its halo goes through registers into shared memory
  row_copies,   ///< each row of it is a bulk copy
  tensor_copy,  ///< all of it is one bulk copy with a tensor map
  two_stages,   ///< a block takes many tiles, and the next one is copied while this one is used
};

struct result {
  std::vector<std::uint32_t> values;  ///< value (x, y) is [y * width + x]
  float kernel_ms = 0;                ///< the time of the kernel
};

inline constexpr int kReach = 4;  ///< how far away a value's neighbours are, at most
inline constexpr std::size_t kLongestSide = std::size_t{1} << 20;
inline constexpr unsigned kMostBlocks = 1U << 20;

/// A stencil in the form of a cross, for all values of a matrix at the same time:
///
///     new(x, y) = sum for d from -4 to 4 of (d + 5) * old(x + d, y) + (2 d + 11) * old(x, y + d)
///
/// modulo 2^32. old is 0 outside of the matrix. All steps give the same result; a matrix without
/// values has none.
///
/// `blocks` is for two_stages: so many blocks share all tiles, each of 32 x 32 values, but no block
/// is without one. 0 stands for as many as the device can run at the same time. The other steps
/// have a block for each tile.
///
/// Throws lab::invalid_input when values does not have width * height elements, when a side is more
/// than kLongestSide or blocks more than kMostBlocks; lab::not_possible when the device has no bulk
/// copies, which came with compute capability 9.0; lab::cuda_error when CUDA reports an error.
///
/// Requires: kernels whose blocks take tiles of 32 x 32 values, with their halo, into shared
/// memory. row_copies: by bulk copies without a tensor map. tensor_copy and two_stages: by one bulk
/// copy with a tensor map for each tile. two_stages: no more blocks than were asked for, and the
/// copy of a block's next tile is under way while this one is used.
///
/// From: Asynchronous Data Copies using the Tensor Memory Accelerator, in NVIDIA's CUDA C++
/// Programming Guide; the shape is that of finite differences of high order: P. Micikevicius, 3D
/// Finite Difference Computation on GPUs using CUDA, GPGPU-2, 2009.
result apply(step version, std::span<const std::uint32_t> values, std::size_t width,
             std::size_t height, unsigned blocks);

}  // namespace lab::tma_tiles
