// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: the contract. What the program and the tests expect of vector_add.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::vector_add {

/// Six ways to add two vectors, in the order in which they are written.
enum class step {
  cpu,                   ///< a loop on the host
  one_thread_per_block,  ///< n blocks of one thread; n up to the device's largest grid
  one_block,             ///< one block of n threads; n up to the device's largest block
  ceil_division,         ///< as many blocks of 256 threads as n needs
  grid_stride,           ///< a grid as large as the device, whose threads walk through any n
  vectorized,            ///< four elements per thread, moved by loads and stores of 16 bytes
};

struct result {
  std::vector<float> sum;  ///< as long as a and b
  float kernel_ms = 0;     ///< the time of the kernel alone; for step cpu, of the loop
};

/// sum[i] = a[i] + b[i] for every i.
///
/// One rounding per element, so the result is the same bit for bit whoever computes it. Empty
/// vectors have an empty sum.
///
/// Throws lab::invalid_input when the lengths differ, or when there are more elements than the
/// step can handle on the current device; lab::cuda_error when CUDA reports an error. Neither
/// leaves device memory behind.
///
/// Requires: the grid that each step is named for, and in it a thread for each element
/// (grid_stride: a grid that fills the device, whose threads share any number; vectorized: a thread
/// for each four elements, which it loads and stores 16 bytes at a time); step cpu launches
/// nothing.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 4.2.1 and 5.2.1. The step vectorized is ours.
result add(step version, std::span<const float> a, std::span<const float> b);

}  // namespace lab::vector_add
