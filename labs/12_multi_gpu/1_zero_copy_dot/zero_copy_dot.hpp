// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.1 zero_copy_dot: the contract. What the program and the tests expect of zero_copy_dot.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::zero_copy_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 33 * 1024 * 1024;

enum class step {
  copies,     ///< the vectors are copied into device memory, and the partial sums back
  zero_copy,  ///< the kernel reads the vectors, and stores its sums, in the host's own memory
  staged,     ///< host threads move the vectors through pinned buffers, piece by piece
};

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone; staged, where kernels run between
                        ///< copies: the same as total_ms
  float total_ms = 0;   ///< from vectors in host memory to the sum on the host: copies, kernel and
                        ///< the last additions. Neither allocations, nor (for zero_copy) putting
                        ///< the vectors into mapped memory, where a program that uses it would have
                        ///< made them in the first place.
};

/// a[0] * b[0] + a[1] * b[1] + … . The dot product of empty vectors is 0.
///
/// Accuracy: at most dot_error_bound(a, b) (lab/dot_reference.hpp) from the exact sum. Where
/// products and sums are whole numbers below 2^24, nothing is rounded and the result is exact.
///
/// copies takes device memory for both vectors, and for a partial sum for each block. zero_copy
/// takes none for the vectors: it works when they would not fit there. staged takes at most 200 MiB
/// of pinned memory, and at most 200 MiB of device memory plus the partial sums of all pieces.
///
/// Throws lab::invalid_input when the lengths differ; lab::not_possible when the device cannot
/// reach host memory (zero_copy); lab::cuda_error when CUDA reports an error. None of them leaves
/// device or pinned memory behind.
///
/// Requires: a kernel whose threads share the sum; in step zero_copy it reads the vectors in mapped
/// host memory, and nothing of them is copied to the device. In step staged pieces of both vectors
/// are copied from pinned memory, asynchronously, in at least two streams.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 11.2.1. staged: CUDA C++ Best Practices Guide,
/// NVIDIA, "Asynchronous and Overlapping Transfers with Computation".
result dot(step version, std::span<const float> a, std::span<const float> b);

}  // namespace lab::zero_copy_dot
