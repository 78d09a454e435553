// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// NCCL_CHECK: no failure of NCCL goes unnoticed. Like CUDA_CHECK.
#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace lab {

/// A call of NCCL that failed. what() is a sentence with the place, the call, the result's name,
/// and what it means:
/// `nccl_sum.cu:41: ncclAllReduce(own, …) failed: ncclInvalidArgument (an argument …)`.
class nccl_error : public std::runtime_error {
 public:
  nccl_error(ncclResult_t result, const char* expression, const char* file, int line);

  ncclResult_t result() const noexcept { return result_; }
  /// The call as it is written in the source.
  const std::string& expression() const noexcept { return expression_; }
  /// The source file's name, without its folder.
  const std::string& file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  ncclResult_t result_;
  std::string expression_;
  std::string file_;
  int line_;
};

/// `ncclInvalidArgument`; for a number that is no result, `unknown NCCL result`.
const char* nccl_result_name(ncclResult_t result) noexcept;
/// What the result means and what to check, in a few words without a full stop.
const char* nccl_result_words(ncclResult_t result) noexcept;

namespace detail {

[[noreturn]] void throw_nccl_error(ncclResult_t result, const char* expression, const char* file,
                                   int line);
void print_nccl_error(ncclResult_t result, const char* expression, const char* file,
                      int line) noexcept;

inline void nccl_check(ncclResult_t result, const char* expression, const char* file, int line) {
  if (result != ncclSuccess) throw_nccl_error(result, expression, file, line);
}

inline void nccl_check_nothrow(ncclResult_t result, const char* expression, const char* file,
                               int line) noexcept {
  if (result != ncclSuccess) print_nccl_error(result, expression, file, line);
}

}  // namespace detail
}  // namespace lab

/// Throws lab::nccl_error unless the call returns ncclSuccess.
///
/// NCCL's calls return before their work is done. ncclSuccess says only that the work is in the
/// stream; what fails later is found out with ncclCommGetAsyncError, and a rank that never makes
/// its call with neither.
///
/// Like CUDA_CHECK it is one function call, and allows commas inside template arguments.
#define NCCL_CHECK(...) ::lab::detail::nccl_check(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

/// NCCL_CHECK for destructors: prints the sentence to stderr instead of throwing it.
#define NCCL_CHECK_NOTHROW(...) \
  ::lab::detail::nccl_check_nothrow(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)
