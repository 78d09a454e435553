// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a program does, as ranges in a timeline (Nsight Systems, or the CPU device's trace).
#pragma once

#include <string>

namespace lab {

/// A range of NVTX from here to the end of the scope, if LAB_NVTX=1 is in the environment;
/// otherwise, and where NVTX is not installed, nothing. So a timeline has names for the parts of a
/// program, at no cost without it:
///
///     LAB_NVTX=1 nsys profile build/gpu/bin/solutions/05.1_dot_product
///
/// lab::program and lab::time_kernel() have such ranges.
class nvtx_range {
 public:
  explicit nvtx_range(const std::string& name);
  ~nvtx_range();
  nvtx_range(const nvtx_range&) = delete;
  nvtx_range& operator=(const nvtx_range&) = delete;

 private:
  bool begun_;
};

}  // namespace lab
