// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "library_memory.hpp"

#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"

namespace cpu_device {

bool usable_on_device(int device, const char* call, const char* argument, const void* pointer,
                      std::size_t bytes, std::size_t swapped) {
  if (bytes == 0) return true;
  const auto wrong = [&](const std::string& what) {
    report(std::string(call) + ": " + argument + " " + what);
    break_device(device, cudaErrorIllegalAddress);
    return false;
  };
  if (const auto a = find_allocation(pointer)) {
    if (!may_use(device, *a))
      return wrong("points into memory of device " + std::to_string(a->device) +
                   ", but the call runs on device " + std::to_string(device) + ".");
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - a->begin);
    const std::size_t left = a->bytes - offset;
    if (bytes > left)
      return wrong("has only " + std::to_string(left) + " bytes left of " + describe(*a) +
                   ", and the call needs " + std::to_string(bytes) + ".\n  Try: " +
                   (swapped != 0 && swapped <= left
                        ? "swap its numbers of rows and columns; then it would need " +
                              std::to_string(swapped) + ". Or "
                        : std::string()) +
                   "compare the sizes, the increment or the leading dimension with what was "
                   "allocated.");
    return true;
  }
  if (pointer == nullptr) return wrong("is a null pointer.");
  if (const auto a = find_freed(pointer))
    return wrong("points into " + describe(*a) + ".\n  Try: free memory only after its last use.");
  if (const auto a = find_near(pointer)) return wrong("points outside of " + describe(*a) + ".");
  return wrong(
      "is a host pointer, which the device cannot follow.\n  Try: cudaMalloc memory on the device, "
      "copy the data there, and pass that pointer.");
}

bool is_device_only(const void* pointer) {
  const auto a = find_allocation(pointer);
  return a && a->kind == memory_kind::device;
}

}  // namespace cpu_device
