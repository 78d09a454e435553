// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For contracts that ask for one call of cuBLAS where several would do, too.
#pragma once

#include <cstddef>
#include <string>

#include "required_work.hpp"

namespace lab::testing {

/// What cuBLAS was asked to compute: all calls except those that prepare or copy, as
/// "1 cublasDgeam 2 cublasDtrsm ".
inline std::string calculated(const work& done) {
  std::string names;
  for (const auto& [name, times] : done.calls) {
    bool prepares = !name.starts_with("cublas");
    for (const char* prefix : {"Create", "Destroy", "Set", "Get", "Logger"})
      prepares = prepares || name.starts_with(std::string("cublas") + prefix);
    if (!prepares) names += std::to_string(times) + " " + name + " ";
  }
  return names;
}

/// How often a function was called.
inline unsigned times_called(const work& done, const std::string& function) {
  const auto found = done.calls.find(function);
  return found == done.calls.end() ? 0 : found->second;
}

/// The memory that a device can reach, as far as it was allocated meanwhile.
inline std::size_t allocated_bytes(const work& done) {
  std::size_t bytes = 0;
  for (const auto& all : {done.device_memory, done.host_memory})
    for (const std::size_t each : all) bytes += each;
  return bytes;
}

}  // namespace lab::testing
