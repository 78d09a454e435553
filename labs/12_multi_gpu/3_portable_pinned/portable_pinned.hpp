// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: the contract. What the program and the tests expect of portable_pinned.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::portable_pinned {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 33 * 1024 * 1024;

enum class step {
  zero_copy,  ///< all devices' kernels read the same host memory, each its part; a host thread for
              ///< each device
  copies,     ///< each device fetches its part from that memory (cudaMemcpyAsync); one host thread,
              ///< which waits for none before all of them have their work
};

/// For whom the host memory is pinned.
enum class pinning {
  all_devices,  ///< with cudaHostAllocPortable
  one_device,   ///< without: for the device that is current when it is allocated. With unified
                ///< addressing, which every 64-bit system has, for the others as well.
};

/// What one device saw of the memory that `a` was put into, and did with its part.
struct device_report {
  std::size_t elements = 0;   ///< of its part; all the rest is 0 where it has none
  unsigned flags = 0;         ///< cudaHostGetFlags: a sum of cudaHostAllocPortable, …Mapped, …
  bool pinned = false;        ///< whether cudaPointerGetAttributes says cudaMemoryTypeHost
  bool same_address = false;  ///< whether its kernels reach the memory by the host's own pointer
  float kernel_ms = 0;        ///< the time of its kernel
};

struct result {
  float value = 0;
  std::vector<device_report> devices;  ///< of device 0, 1, … as many as work
  float total_ms = 0;  ///< from vectors in pinned memory to the sum on the host: host threads or
                       ///< copies, kernels, the last additions. Neither allocations, nor putting
                       ///< the vectors into pinned memory, where a program that uses it would have
                       ///< made them in the first place.
};

/// a[0] * b[0] + a[1] * b[1] + … , by `devices` devices, from device 0 on; 0 means all that there
/// are. Of n elements, part k goes from n * k / devices to n * (k + 1) / devices, rounded down, and
/// belongs to device k. A device without elements is left alone.
///
/// The vectors are put into write-combined memory of cudaHostAlloc, which the calling thread
/// allocates on its current device: once for all devices. Step zero_copy takes no device memory; in
/// step copies each device has its part of both vectors, and a partial sum for each block. The
/// pinned memory holds both vectors and all partial sums, and all of it is mapped and pinned as
/// `mode` says.
///
/// Accuracy: at most dot_error_bound(a, b) (lab/dot_reference.hpp) from the exact sum. Where
/// products and sums are whole numbers below 2^24, nothing is rounded and the result is exact.
///
/// The calling thread's current device is the same afterwards, also after an exception.
///
/// Throws lab::invalid_input when the lengths differ, or when there are not so many devices;
/// lab::cuda_error when CUDA reports an error, in whichever thread. None of them leaves device or
/// pinned memory behind.
///
/// Requires: a kernel on each of the devices, for its own part of one pinned memory: read in place
/// (a host thread for each device), or fetched by cudaMemcpyAsync (one host thread).
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 11.4.
result dot(step version, pinning mode, std::span<const float> a, std::span<const float> b,
           int devices = 0);

}  // namespace lab::portable_pinned
