// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.2 multi_gpu_dot: the contract. What the program and the tests expect of multi_gpu_dot.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::multi_gpu_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 33 * 1024 * 1024;

enum class step {
  thread_per_device,  ///< a host thread for each device, which does what one device needs
  one_thread,         ///< one host thread gives all devices their work, each in a stream
  staged,             ///< several host threads for each device, through rings of pinned buffers
};

struct result {
  float value = 0;
  float kernel_ms = 0;  ///< the time of the slowest device's kernel; staged, where kernels run
                        ///< between copies: the same as total_ms
  float total_ms = 0;   ///< from the vectors to the sum: copies, kernels and additions, without
                        ///< allocations; of the slowest device, where each has a thread
};

/// Where n elements are cut so that part k, the elements from cuts[k] to cuts[k + 1] - 1 of the
/// returned cuts, is proportional to shares[k]. The first cut is 0, the last is n, and no part
/// differs by 1 or more from its exact share. A share of 0 gets no elements.
///
/// Throws lab::invalid_input unless the shares and their sum are finite, none is negative, and one
/// is above 0.
std::vector<std::size_t> split(std::size_t n, std::span<const double> shares);

/// a[0] * b[0] + a[1] * b[1] + … . Device k works on part k of split(n, shares): the shares are
/// the devices' relative speeds. Without shares, all devices get equal parts. A device without
/// elements (a share of 0, no share at all, or fewer elements than devices) is left alone.
///
/// Accuracy: at most dot_error_bound(a, b) (lab/dot_reference.hpp) from the exact sum. Where
/// products and sums are whole numbers below 2^24, nothing is rounded and the result is exact.
///
/// The calling thread's current device is the same afterwards, also after an exception.
///
/// Throws lab::invalid_input when the lengths differ, when there are more shares than devices, or
/// when split() does; lab::cuda_error when CUDA reports an error, in whichever thread. None of
/// them leaves device memory behind.
///
/// Memory of a device: its part of both vectors, and a partial sum for each block; in step staged,
/// whose parts may be larger than the device, 2 MiB for each of at most eight host threads, and the
/// sums of all pieces' blocks. These threads have 4 MiB of pinned memory each.
///
/// Requires: a kernel on every device that has a share, for its own part; from a host thread for
/// each device, or from one that gives each its work in a stream of its own before it waits. In
/// step staged each device's part comes in pieces from pinned memory, asynchronously, in at least
/// two streams where it has more than one piece.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 11.3; shares are the exercise that it suggests.
result dot(step version, std::span<const float> a, std::span<const float> b,
           std::span<const double> shares = {});

}  // namespace lab::multi_gpu_dot
