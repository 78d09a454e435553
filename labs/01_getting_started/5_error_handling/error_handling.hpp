// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.5 error_handling: the contract. What the program and the tests expect of error_handling.cu.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lab::error_handling {

/// What is known about a CUDA call that failed.
struct failure {
  std::string name;  ///< CUDA's name of the error: cudaErrorInvalidValue
  std::string text;  ///< CUDA's words for it: invalid argument
  std::string call;  ///< the call as it is in the source: cudaFree(&number)
  std::string file;  ///< __FILE__ of that place
  int line = 0;      ///< … and its __LINE__
};

/// What CHECK throws.
class failed_call : public std::runtime_error {
 public:
  explicit failed_call(const failure& what_failed)
      : std::runtime_error(what_failed.file + ":" + std::to_string(what_failed.line) + ": " +
                           what_failed.call + " failed: " + what_failed.name + " (" +
                           what_failed.text + ")"),
        why(what_failed) {}
  failure why;
};

// --- the macro -----------------------------------------------------------------------------------

struct checked {
  std::optional<failure> thrown;  ///< what the macro threw, if it did
  int calls = 0;                  ///< how often it made the call
};

/// Puts a call that returns the cudaError_t with this number into CHECK(…), in an if and in an
/// else.
///
/// CHECK makes the call once. Where that returns cudaSuccess (0), nothing else happens. Where it
/// returns an error, CHECK throws failed_call with all five facts, and it has taken the error out
/// of the runtime, so that the next cudaGetLastError() does not find it again.
checked check_code(int code);

// --- mistakes ------------------------------------------------------------------------------------

enum class mistake {
  invalid_value,      ///< a null pointer where cudaMalloc is to put its result
  invalid_pointer,    ///< cudaFree of memory that is the host's
  bad_direction,      ///< a cudaMemcpy whose direction is none of those that there are
  bad_configuration,  ///< a block of more threads than a block may have
  out_of_memory,      ///< more memory than any device has
  illegal_address,    ///< a kernel that follows a null pointer: the device is lost after that
};

/// Makes this mistake, with CHECK around it, and returns what CHECK has thrown. Empty where nothing
/// was thrown. No memory is left allocated.
std::optional<failure> provoke(mistake kind);

/// Takes the last error out of the runtime and returns whether there is an error all the same: a
/// sticky one, which every further call returns, whatever it does.
bool is_lost();

// --- recovery ------------------------------------------------------------------------------------

/// Whether a launch's error of this name says that there can be no such grid or block. CUDA 12 had
/// a name for just that; CUDA 13 calls it an invalid value, like many other things.
inline bool is_refused_launch(const std::string& name) {
  return name == "cudaErrorInvalidValue" || name == "cudaErrorInvalidConfiguration";
}

/// As many blocks of one thread fit in a grid, so blocks can always be made small enough.
inline constexpr std::size_t kMostNumbers = 2147483647;

struct numbering {
  std::vector<unsigned> values;  ///< 0, 1, 2, …
  unsigned threads = 0;  ///< of each block, in the launch that has done it; 0 where there was none
  std::vector<failure> refused;  ///< what the launches before that one said
};

/// Has a kernel write 0, 1, 2, … n - 1, in blocks of `threads` threads. When CUDA refuses such a
/// launch (is_refused_launch), tries half as many threads (rounded down), and so on.
/// Nothing is launched for n = 0.
///
/// Throws lab::invalid_input for 0 threads and for more than kMostNumbers numbers; failed_call or
/// lab::cuda_error for every error that smaller blocks do not help against. Neither leaves device
/// memory behind.
///
/// Requires: the real calls: provoke() makes each mistake, and a kernel writes the numbers, in the
/// launch that was not refused.
///
/// From: the Kazan course on CUDA programming technology, chapter 3.
numbering number(std::size_t n, unsigned threads);

}  // namespace lab::error_handling
