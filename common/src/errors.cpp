// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/errors.hpp"

#include <string>

namespace lab {
namespace {

/// The path below the repository, "labs/…"; elsewhere the file's name alone.
std::string_view short_path(std::string_view path) {
  constexpr std::string_view kFolder = "labs/";
  for (std::size_t at = path.rfind(kFolder); at != std::string_view::npos;
       at = path.rfind(kFolder, at - 1)) {
    if (at == 0 || path[at - 1] == '/') return path.substr(at);
  }
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

not_written::not_written(std::string_view what, int todo, const char* file)
    : std::logic_error(std::string(what) + " is not written yet: TODO(" + std::to_string(todo) +
                       ") in " + std::string(short_path(file))) {}

}  // namespace lab
