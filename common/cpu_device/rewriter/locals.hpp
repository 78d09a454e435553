// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The names that a function's parameters and statements declare, with their types as far as a name
// tells.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>

#include "walking.hpp"

namespace rewriter {

struct local {
  std::string_view space;  // the type's qualifier, if it has one: "std"
  std::string_view type;   // the last word of its name; empty if it is not known
  bool pointer = false, array = false;
  bool fixed = false;  // const or constexpr
  bool parameter = false;
};

using locals = std::map<std::string_view, local>;

/// Of the function whose declaration begins at `begin`, with the parameters that open at
/// `parameters` and the body that opens at `body`. A name that is declared with two types has none.
locals read_locals(const tokens& ts, std::size_t begin, std::size_t parameters, std::size_t body);

/// Whether a statement can begin at i.
bool begins_statement(const tokens& ts, std::size_t i);

}  // namespace rewriter
