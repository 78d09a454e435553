// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Which device is used, and what it can do at best.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace lab {

/// True where kernels run on host threads, and times say nothing about a GPU.
bool on_cpu_device();

/// How many devices there are. Throws not_possible, with the reason, when CUDA cannot be used.
int device_count();

/// Makes device `id` the current one. Throws invalid_input, naming how many there are, when there
/// is no such device.
void select_device(int id);

/// `device 0: NVIDIA H200`, or `device 0: CPU device, 2 workers: no GPU is used, times are not GPU
/// times`.
std::string describe_device(int id);

/// Bytes read plus bytes written per second by a copy within the current device's memory, measured
/// now: the median of 20 copies, after a warm-up. The practical limit of a kernel that does little
/// more than move data.
double copy_bandwidth();

/// Bytes per second of a copy from pinned host memory to the current device, measured now: the
/// median of 10 copies, after a warm-up. The practical limit of what gets to this device over the
/// bus, by a copy or by a kernel that reads mapped host memory.
double pinned_copy_bandwidth();

/// The median time of cuBLAS's dot product of two vectors of equal length that are in device memory
/// already: a time to compare with. Nothing on the CPU device, which has no such time.
std::optional<float> library_dot_milliseconds(std::span<const float> a, std::span<const float> b);

/// Throws invalid_input, with what is needed and what is free, unless this many bytes fit into the
/// host's and the current device's memory. (On the CPU device both come out of the host's.)
void require_memory(std::size_t host_bytes, std::size_t device_bytes);

}  // namespace lab
