// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Code that nvcc refuses and a C++ compiler takes, since for the latter all code runs in one place:
// kernels that call or read what only the host has, host code that calls what only a device has.
//
// nvcc knows types. Here names have to do, so what two things share a name with is let through: a
// right program that is refused would be worse than a wrong one that is not.
#pragma once

#include <string>
#include <vector>

#include "functions.hpp"
#include "rewriter.hpp"
#include "source_file.hpp"

namespace rewriter {

struct listed_file {
  const source_file* file;
  std::string name;  // in problems
};

/// Who calls and reads what, across the files of a program. In no particular order.
/// `relaxed_constexpr`: device code may call what is constexpr, as with nvcc's option.
std::vector<problem> check_spaces(const std::vector<listed_file>& files, bool relaxed_constexpr);

/// Whether what is called at i, in the first value of a variable, runs when the program begins.
bool is_run_time_function(const declared& all, const tokens& ts, std::size_t i);

/// The constructor that must run to make the variable `name` of the class `type` (tokens of `ts`);
/// none if that is not certain, or the variable is a constant.
const function* constructor_at_run_time(const std::vector<listed_file>& files, const declared& all,
                                        const tokens& ts, std::size_t type, std::size_t name);

/// variable_declarations.cpp, kernel_declarations.cpp, overrides.cpp: parts of it.
void check_overrides(const std::vector<listed_file>& files, const declared& all,
                     std::vector<problem>& problems);
void check_variable_declarations(const std::vector<listed_file>& files, const declared& all,
                                 std::vector<problem>& problems);
void check_kernel_declarations(const std::vector<listed_file>& files, const declared& all,
                               std::vector<problem>& problems);

}  // namespace rewriter
