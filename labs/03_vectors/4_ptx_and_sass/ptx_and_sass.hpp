// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: the contract. What the program and the tests expect of ptx_and_sass.cu.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace lab::ptx_and_sass {

/// How many instructions of these kinds a kernel has, wherever they stand and whoever executes
/// them.
struct counts {
  int global_loads = 0;   ///< that read the device's memory (not the kernel's parameters)
  int global_stores = 0;  ///< that write it
  int float_additions = 0;
  int float_fused = 0;  ///< a * b + c of floats, rounded once: fused multiply-adds
};

/// What you have counted in the listings (listings.hpp).
counts add_in_ptx();
counts saxpy_in_ptx();
counts add_in_sass();
counts saxpy_in_sass();

/// What you have found out about ptx_add in PTX. Registers are named as they stand there, with %.
struct roles {
  std::string index;  ///< the register with i
  std::string guard;  ///< the predicate register with the answer to `i < n`, or to its opposite
  bool guard_leaves = false;  ///< do the threads leave for which the predicate is true?
  std::string sum_address;    ///< the register with the address of sum[i]
  int element_bytes = 0;      ///< what i is multiplied by, to get from sum to sum[i]
};
roles roles_in_add();

/// a[i] + b[i], and s * x[i] + y[i]: the kernels of the listings, to see them run. As there, they
/// compute in float, and on a GPU s * x[i] + y[i] is rounded once. (On the CPU device its product
/// may be rounded, too.) Empty vectors have empty results.
///
/// Throws lab::invalid_input when the lengths differ or are more than an int can count;
/// lab::cuda_error when CUDA reports an error.
///
/// Requires: the two kernels of the listings, with a thread for each element.
///
/// From: A. F. Borchert, Parallel Programming with C++ (Ulm), the part on CUDA.
std::vector<float> add(std::span<const float> a, std::span<const float> b);
std::vector<float> saxpy(float s, std::span<const float> x, std::span<const float> y);

}  // namespace lab::ptx_and_sass
