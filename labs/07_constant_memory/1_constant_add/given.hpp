// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.1 constant_add: what constant_add.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

#include "constant_add.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::constant_add {

inline void require_equal_lengths(std::span<const int> a, std::span<const int> b) {
  refuse_if(a.size() != b.size(), "constant_add: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
}

}  // namespace lab::constant_add
