// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What has to be changed in a source for a compiler that knows no CUDA.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rewriter.hpp"
#include "source_file.hpp"

namespace rewriter {

struct edit {
  std::size_t begin, end;  // what is replaced in the source
  std::string text;
};

struct findings {
  std::vector<edit> edits;
  std::vector<problem> problems;  // in the order of their lines
  bool uses_ptx = false;          // an edit calls <cpu_device/ptx.h>
};

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The line that says of a rewritten text which file it comes from.
std::string marker(const std::string& file);

/// Finds what has to be changed in a file, its macros included, and what cannot be. `name` is what
/// problems call the file. `pasted`: it is included in the middle of a function or a class.
findings examine(const source_file& file, const kernel_names& names, const std::string& name,
                 bool whole_program, bool pasted = false);

/// The source with the edits made. No two of them touch.
std::string apply(std::string_view source, std::vector<edit> edits);

}  // namespace rewriter
