// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the CPU device's libraries (cuBLAS, cuRAND, NCCL) ask of the pointers that they are given.
#pragma once

#include <cstddef>
#include <string>

namespace cpu_device {

/// True if `bytes` bytes at `pointer` are memory that `device` can use. If not, the mistake is
/// reported and the device is broken, as it is when a kernel of a GPU's library follows such a
/// pointer. `call` and `argument` name the place: "cublasSgemm", "A". `swapped`: what it would need
/// if rows and columns were swapped, if it is a matrix.
bool usable_on_device(int device, const char* call, const char* argument, const void* pointer,
                      std::size_t bytes, std::size_t swapped = 0);

/// True if the host cannot read this memory: only a device can.
bool is_device_only(const void* pointer);

}  // namespace cpu_device
