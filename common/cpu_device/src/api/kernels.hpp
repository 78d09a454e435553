// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What is known of kernels. Internal to the CPU device; under api_mutex().
#pragma once

#include <cstddef>

#include "cpu_device/runtime_api.h"
#include "cpu_device/vector_types.h"

namespace cpu_device {

// launch.cpp
/// The dynamic shared memory that a kernel may ask for.
std::size_t shared_limit_of(const void* kernel);
/// The threads that a block of it may have, by its __launch_bounds__.
unsigned thread_limit_of(const void* kernel);

/// The blocks of a cluster by its __cluster_dims__; (0, 0, 0) without.
dim3 cluster_dims_of(const void* kernel);
/// The blocks that a cluster may have on every device that has clusters, and here.
constexpr unsigned kPortableCluster = 8, kLargestCluster = 16;
unsigned cluster_limit_of(const void* kernel);

/// Whether it can be launched by its address.
bool is_known_kernel(const void* kernel);
struct kernel_node;
struct launch_shape;
/// The same kernel with other arguments, whatever is known of it.
cudaError_t launch_again(const kernel_node& like, const launch_shape& shape, void** arguments);

// properties.cpp
/// How many blocks of this size one multiprocessor can hold at a time.
int blocks_that_fit(unsigned block_size, std::size_t dynamic_shared_bytes);

}  // namespace cpu_device
