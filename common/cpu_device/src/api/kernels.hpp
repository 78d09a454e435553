// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What is known of kernels. Internal to the CPU device; under api_mutex().
#pragma once

#include <cstddef>

namespace cpu_device {

// launch.cpp
/// The dynamic shared memory that a kernel may ask for.
std::size_t shared_limit_of(const void* kernel);
/// The threads that a block of it may have, by its __launch_bounds__.
unsigned thread_limit_of(const void* kernel);

// properties.cpp
/// How many blocks of this size one multiprocessor can hold at a time.
int blocks_that_fit(unsigned block_size, std::size_t dynamic_shared_bytes);

}  // namespace cpu_device
