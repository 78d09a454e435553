// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/errors.hpp"

#include <string>

namespace lab {
namespace {

/// The path below the repository, "labs/03_vectors/…"; elsewhere the file's name alone, also where
/// the repository is in a folder that is called labs.
std::string_view short_path(std::string_view path) {
  constexpr std::string_view kFolder = "labs/";
  for (std::size_t at = path.rfind(kFolder); at != std::string_view::npos;
       at = at == 0 ? at - 1 : path.rfind(kFolder, at - 1)) {
    const std::string_view chapter = path.substr(at + kFolder.size());
    const bool has_number = chapter.find_first_not_of("0123456789") == 2 && chapter[2] == '_';
    if (has_number && (at == 0 || path[at - 1] == '/')) return path.substr(at);
  }
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

not_written::not_written(std::string_view what, int todo, const char* file)
    : std::logic_error(std::string(what) + " is not written yet: TODO(" + std::to_string(todo) +
                       ") in " + std::string(short_path(file))) {}

}  // namespace lab
