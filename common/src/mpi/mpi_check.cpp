// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/mpi_check.hpp"

#include <atomic>
#include <string>
#include <string_view>

#include "lab/mpi_companion.hpp"
#include "place.hpp"

namespace lab::mpi::detail {
namespace {

// Read by another thread, when this one has not answered in time. Its texts are literals.
std::atomic<const char*> current_expression = nullptr;
std::atomic<const char*> current_file = nullptr;
std::atomic<int> current_line = 0;

std::string in_words(const char* file, int line, const char* expression) {
  const std::string_view path = file == nullptr ? "" : file;
  return std::string(path.substr(path.find_last_of('/') + 1)) + ":" + std::to_string(line) + ": " +
         expression;
}

}  // namespace

void enter(const call_site& where) noexcept {
  current_file = where.file;
  current_line = where.line;
  current_expression = where.expression;
  const std::string_view call = where.expression;
  if (companion* const beside = the_companion(); beside != nullptr && call.starts_with("MPI_"))
    beside->mpi_call(call.substr(0, call.find('(')));
}

void leave() noexcept { current_expression = nullptr; }

std::string current_place() {
  const char* const expression = current_expression;
  return expression == nullptr ? "" : in_words(current_file, current_line, expression);
}

void check(int status, const call_site& where) {
  leave();
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(status, text, &length) != MPI_SUCCESS) length = 0;
  throw mpi_error(in_words(where.file, where.line, where.expression) + " failed" +
                  (length > 0 ? ": " + std::string(text, static_cast<std::size_t>(length)) : ""));
}

}  // namespace lab::mpi::detail
