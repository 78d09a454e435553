// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: the PTX and the SASS of the program that is running.
#pragma once

#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "lab/device_limits.hpp"

namespace lab::ptx_and_sass {

/// What cuobjdump finds in this program, or why there is nothing.
struct own_code {
  std::string ptx, sass;
  std::string missing;  ///< a sentence; empty if both are there
};

inline std::string output_of(const std::string& command) {
  std::string text;
  if (std::FILE* pipe = ::popen(command.c_str(), "r")) {
    std::array<char, 4096> part{};
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe))
      text.append(part.data(), n);
    ::pclose(pipe);
  }
  return text;
}

inline own_code read_own_code() {
  if (on_cpu_device())
    return {{}, {}, "this program was built for the CPU device: its kernels are code of the host"};
  std::array<char, 4096> path{};
  if (::readlink("/proc/self/exe", path.data(), path.size() - 1) <= 0)
    return {{}, {}, "this program cannot find its own file"};
  const std::string self(path.data());
  if (self.find('\'') != std::string::npos)
    return {{}, {}, "the path of this program has a quotation mark in it"};

  const std::string tool = "PATH=\"$PATH:/usr/local/cuda/bin\" cuobjdump ";
  const std::string file = " '" + self + "' 2>/dev/null";
  own_code found{output_of(tool + "-ptx" + file), output_of(tool + "-sass" + file), {}};
  if (found.ptx.find(".entry ptx_add") == std::string::npos ||
      found.sass.find("Function : ptx_add") == std::string::npos)
    found.missing =
        "cuobjdump, a tool of the CUDA toolkit, is not here or found no PTX and SASS of both "
        "kernels";
  return found;
}

}  // namespace lab::ptx_and_sass
