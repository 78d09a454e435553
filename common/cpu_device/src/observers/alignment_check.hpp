// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The alignment check: an address that is no multiple of its type's alignment ends the kernel, as
// on a GPU. Internal to the CPU device; linked only into programs whose kernels are watched.
#pragma once

#include <cstddef>
#include <cstdint>

#include "observers/watched_code.hpp"

namespace cpu_device::check {

/// A kernel's access to an address that is no multiple of `alignment`: gives the block up. `does`
/// and `what` are as in "reads" "4 bytes", or "uses" "'const struct float4'".
[[noreturn]] void refuse_misaligned(std::uintptr_t address, std::size_t alignment, const char* does,
                                    const char* what, const void* pc);
/// The same for an access of `size` bytes.
[[noreturn]] void refuse_misaligned(std::uintptr_t address, std::size_t alignment, std::size_t size,
                                    std::uint8_t flags, const void* pc);

/// Looks at every access of kernels, also to a thread's own variables.
template <std::size_t kAlignment>
[[gnu::always_inline]] inline void check_alignment(const void* pointer, std::size_t size,
                                                   std::uint8_t flags, const void* pc) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % kAlignment != 0 && progress.watching) [[unlikely]]
    refuse_misaligned(address, kAlignment, size, flags, pc);
}

}  // namespace cpu_device::check
