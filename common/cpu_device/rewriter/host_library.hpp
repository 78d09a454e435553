// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What of the C and C++ libraries and of CUDA runs only on one side, and what to write instead.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rewriter {

enum class library_kind { function, object, type, functor };

struct library_name {
  library_kind kind;
  std::string_view advice;  // continues "...: "; never empty
  bool is_constexpr;        // in C++20
  bool is_common;           // a word that other things are called, too: only behind `std::`
};

/// A name of namespace std that device code cannot use, or nothing.
std::optional<library_name> host_only_std(std::string_view name);

/// A function of the C library or of CUDA's runtime that device code cannot call: the advice, or
/// an empty text.
std::string_view host_only_function(std::string_view name);

/// Whether this is a function of CUDA and of the C library that both sides can call.
bool is_math_function(std::string_view name);

/// Whether this gives a group of threads (cooperative_groups), which host code has none of.
bool is_group_function(std::string_view name);

/// Whether this is a function of CUDA that host code cannot call.
bool is_device_function(std::string_view name);

}  // namespace rewriter
