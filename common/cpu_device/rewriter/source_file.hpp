// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a source says before anything is changed in it: where each token stands, and which names are
// kernels.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace rewriter {

enum class scope_kind { outer, type, block };  // namespace, class, function

/// What is known of a place in the code.
struct place {
  scope_kind kind;
  bool device, device_only;  // the function can run on a device; … and only there
  std::string_view space;    // the innermost named namespace
};

/// What the files together say of kernels.
struct kernel_names {
  std::map<std::string_view, std::set<std::string_view>> spaces;  // kernel -> its namespaces
  std::set<std::string_view> ordinary;  // names that something else has, too
};

/// A source, cut and read once.
struct source_file {
  explicit source_file(std::string_view text);

  std::string_view source;
  source_tokens parts;
  std::vector<place> places;                  // of each token of the code
  std::set<std::size_t> kernel_declarations;  // which tokens of the code
};

/// Adds the kernels that a file declares.
void collect_kernels(source_file& file, kernel_names& names);

/// Adds those of the kernels' names that a file gives to something else. After collect_kernels() of
/// all files.
void collect_ordinary(const source_file& file, kernel_names& names);

}  // namespace rewriter
