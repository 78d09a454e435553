// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Whether memory is what it was before, without a copy of it. Internal to the CPU device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cpu_device {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

/// Reads stacks, too, whatever a sanitizer thinks of the places between variables.
__attribute__((no_sanitize("address"))) inline std::uint64_t hash_words(std::uint64_t hash,
                                                                        const char* low,
                                                                        const char* high) {
  for (; high - low >= 8; low += 8)
    hash = mix(hash, *reinterpret_cast<const volatile std::uint64_t*>(low));
  return hash;
}

inline std::uint64_t hash_bytes(std::uint64_t hash, const void* memory, std::size_t bytes) {
  const auto* begin = static_cast<const char*>(memory);
  hash = hash_words(hash, begin, begin + bytes);
  std::uint64_t rest = 0;
  std::memcpy(&rest, begin + bytes / 8 * 8, bytes % 8);
  return mix(hash, rest);
}

}  // namespace cpu_device
