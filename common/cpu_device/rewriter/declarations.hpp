// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Declarations of variables, taken apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "walking.hpp"

namespace rewriter {

/// What the `__constant__` variables of a file may have together, in bytes.
inline constexpr std::uint64_t kConstantMemory = 65536;

/// A declaration taken apart: `specifiers declarator, declarator;`.
struct declaration {
  struct declarator {
    std::size_t begin, name, end;  // end: the comma or semicolon after it
    std::size_t extents = kNone;   // the first `[`
    bool initialised = false;
  };
  std::size_t begin = 0, end = 0;  // end: the semicolon, or where the tokens end
  bool understood = false;
  std::vector<declarator> declarators;
  std::vector<std::pair<std::size_t, std::size_t>> alignments;  // [first, last)
  std::vector<std::pair<std::size_t, std::size_t>> attributes;  // alignments are among them
};

/// Takes apart the declaration that the specifier at `at` is part of (`__shared__`, say).
declaration read_declaration(const tokens& ts, std::size_t at);

}  // namespace rewriter
