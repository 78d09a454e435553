// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUBLAS_CHECK: no failure of cuBLAS goes unnoticed. Like CUDA_CHECK.
#pragma once

#include <cublas_v2.h>

#include <stdexcept>
#include <string>

namespace lab {

/// A call of cuBLAS that failed. what() is a sentence with the place, the call, the status's name,
/// and what it means:
/// `gemv.cu:41: cublasSgemv(handle, …) failed: CUBLAS_STATUS_INVALID_VALUE (an argument …)`.
class cublas_error : public std::runtime_error {
 public:
  cublas_error(cublasStatus_t status, const char* expression, const char* file, int line);

  cublasStatus_t status() const noexcept { return status_; }
  /// The call as it is written in the source.
  const std::string& expression() const noexcept { return expression_; }
  /// The source file's name, without its folder.
  const std::string& file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  cublasStatus_t status_;
  std::string expression_;
  std::string file_;
  int line_;
};

/// `CUBLAS_STATUS_INVALID_VALUE`; for a number that is no status, `unknown cuBLAS status`.
const char* cublas_status_name(cublasStatus_t status) noexcept;
/// What the status means and what to check, in a few words without a full stop.
const char* cublas_status_words(cublasStatus_t status) noexcept;

namespace detail {

[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* expression,
                                     const char* file, int line);
void print_cublas_error(cublasStatus_t status, const char* expression, const char* file,
                        int line) noexcept;

inline void cublas_check(cublasStatus_t status, const char* expression, const char* file,
                         int line) {
  if (status != CUBLAS_STATUS_SUCCESS) throw_cublas_error(status, expression, file, line);
}

inline void cublas_check_nothrow(cublasStatus_t status, const char* expression, const char* file,
                                 int line) noexcept {
  if (status != CUBLAS_STATUS_SUCCESS) print_cublas_error(status, expression, file, line);
}

}  // namespace detail
}  // namespace lab

/// Throws lab::cublas_error unless the call returns CUBLAS_STATUS_SUCCESS.
///
/// cuBLAS keeps no last error: a status that is not checked is lost. And it says only that the call
/// was valid and its work is in the stream; an error while the work runs is reported by CUDA, to
/// the call that waits for it.
///
/// Like CUDA_CHECK it is one function call, and allows commas inside template arguments.
#define CUBLAS_CHECK(...) ::lab::detail::cublas_check(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

/// CUBLAS_CHECK for destructors: prints the sentence to stderr instead of throwing it.
#define CUBLAS_CHECK_NOTHROW(...) \
  ::lab::detail::cublas_check_nothrow(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)
