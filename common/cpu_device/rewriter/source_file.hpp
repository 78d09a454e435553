// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a source says before anything is changed in it: where each token stands, and which names are
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace rewriter {

enum class scope_kind { outer, type, block };  // namespace, class, function

/// What stands between two braces.
struct scope {
  scope_kind kind = scope_kind::outer;
  bool device = false;       // the function can run on a device
  bool device_only = false;  // ... and only there
  bool local_type = false;   // in a class that is defined in a function
  std::string_view name;     // the innermost named namespace
  std::string_view own;      // this namespace's own name
  std::uint32_t parent = 0;
  std::uint32_t marked_lambda = 0;  // the innermost one that says where it runs, or 0
  std::size_t header = 0;           // where the declaration that owns the braces starts
  std::size_t brace = 0;
  int parentheses = 0;  // how many were open before the braces
};

/// What the files together say of kernels.
struct kernel_names {
  std::map<std::string_view, std::set<std::string_view>> spaces;  // kernel -> its namespaces
  std::set<std::string_view> ordinary;  // names that something else has, too
};

/// A source, cut and read once.
struct source_file {
  explicit source_file(std::string_view text);

  const scope& scope_of(std::size_t i) const { return scopes[places[i]]; }

  std::string_view source;
  source_tokens parts;
  std::map<std::string_view, std::string> unmatched;  // see braces_of()
  std::vector<scope> scopes;                          // the first is the file
  std::vector<std::uint32_t> places;                  // the scope of each token of the code
  std::set<std::size_t> kernel_declarations;          // which tokens of the code
};

/// The braces that the token i of a file's code stands for: its own one, or those of a macro of the
/// file that opens what it does not close, or closes what it did not open. `unmatched`: these
/// macros, each with its braces in their order.
std::string_view braces_of(const std::vector<token>& code, std::size_t i,
                           const std::map<std::string_view, std::string>& unmatched);

/// Adds the kernels that a file declares.
void collect_kernels(source_file& file, kernel_names& names);

/// Adds those of the kernels' names that a file gives to something else. After collect_kernels() of
/// all files.
void collect_ordinary(const source_file& file, kernel_names& names);

}  // namespace rewriter
