// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA_CHECK: no CUDA error goes unnoticed.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace lab {

/// A CUDA call that failed. what() is a sentence with the place, the call and the error's name:
/// `vector_add.cu:41: cudaMalloc(&a, bytes) failed: cudaErrorMemoryAllocation (out of memory)`,
/// and where something can be done about it, what to try.
class cuda_error : public std::runtime_error {
 public:
  cuda_error(cudaError_t code, const char* expression, const char* file, int line);

  cudaError_t code() const noexcept { return code_; }
  /// The call as it is written in the source.
  const std::string& expression() const noexcept { return expression_; }
  /// The source file's name, without its folder.
  const std::string& file() const noexcept { return file_; }
  int line() const noexcept { return line_; }

 private:
  cudaError_t code_;
  std::string expression_;
  std::string file_;
  int line_;
};

namespace detail {

[[noreturn]] void throw_cuda_error(cudaError_t code, const char* expression, const char* file,
                                   int line);
void print_cuda_error(cudaError_t code, const char* expression, const char* file,
                      int line) noexcept;

inline void cuda_check(cudaError_t status, const char* expression, const char* file, int line) {
  if (status != cudaSuccess) throw_cuda_error(status, expression, file, line);
}

inline void cuda_check_nothrow(cudaError_t status, const char* expression, const char* file,
                               int line) noexcept {
  if (status != cudaSuccess) print_cuda_error(status, expression, file, line);
}

}  // namespace detail
}  // namespace lab

/// Throws lab::cuda_error unless the call returns cudaSuccess. The error is also cleared (unless
/// it is a sticky one, which only the end of the process clears), so that the next
/// cudaGetLastError() does not report it a second time. After a kernel launch:
/// `CUDA_CHECK(cudaGetLastError());`
///
/// The macro is one function call: it declares no variable that could hide one of the caller's, and
/// it works wherever a statement may be, also in an `if … else` without braces. It takes `...` so
/// that a comma inside template arguments does no harm.
#define CUDA_CHECK(...) ::lab::detail::cuda_check(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)

/// CUDA_CHECK for destructors: prints the sentence to stderr instead of throwing it.
#define CUDA_CHECK_NOTHROW(...) \
  ::lab::detail::cuda_check_nothrow(__VA_ARGS__, #__VA_ARGS__, __FILE__, __LINE__)
