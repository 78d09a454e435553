// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of this repository have in common. Every test program links the main function
// beside this file, which adds to GoogleTest:
//
// - CPU device: all tests run three times, with the threads of a block in forward, reverse and
//   random order. CPU_DEVICE_ORDER in the environment asks for one order, and one run. In the first
//   run asynchronous work is done at once, in the second as late as CUDA allows, and in the third
//   late and interleaved with that of other streams, unless CPU_DEVICE_STREAMS asks for one of
//   them.
// - CPU device: a test that leaves device memory allocated, or a stream, an event or a handle of
//   cuBLAS that nobody destroys, or a buffer of OpenGL registered, fails, and so does one during
//   which the CPU device reported a mistake.
// - GPU: without a usable device nothing runs and the program exits 77 (skipped), or 1 where
//   LAB_REQUIRE_GPU=1 is set.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <ostream>

#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

/// How GoogleTest shows an error: by its name, and not by a number.
inline void PrintTo(cudaError_t error, std::ostream* out) { *out << cudaGetErrorName(error); }

namespace lab::testing {

/// For `EXPECT_TRUE(matches(compare(…)))`: a failure prints the comparison's sentence.
::testing::AssertionResult matches(const comparison& result);

/// What all tests of a program need beyond a device, as a variable outside of all functions. `make`
/// runs once, before the first test (not where tests are only listed). It throws not_possible if
/// this machine lacks it: then no test runs, and the program exits 77 (skipped).
struct needs {
  explicit needs(std::function<void()> make);
};

/// A variable of the environment that all tests of a program run with, as a variable outside of all
/// functions. (A setenv() there would be forgotten: test_events.hpp.)
struct setting {
  enum class when { always, unless_given };  ///< unless_given: the user's own value comes first
  setting(const char* name, const char* value, when set = when::always);
};

/// Announces that the running test makes the CPU device report a mistake. Without a report, the
/// test then fails. On a GPU, where there are no reports, it changes nothing.
void expect_reports();

/// A variable outside of all functions, where the contract says that a call changes the current
/// device. Elsewhere a test fails if another device is current after it.
struct device_may_change {
  device_may_change();
};

/// A variable outside of all functions, where what is timed works in place, and a second launch
/// would go on from what the first one has left. Elsewhere time_kernel() launches twice in one of
/// the thread orders, and on a GPU.
struct timed_once {
  timed_once();
};

/// Whether this error means that there can be no such grid or block. CUDA 12 had a name for it;
/// CUDA 13 calls it an invalid value.
inline bool is_refused_launch(cudaError_t code) {
  return code == cudaErrorInvalidValue || code == cudaErrorInvalidConfiguration;
}

/// The same as a sentence. `code`: what was thrown, or cudaSuccess.
inline ::testing::AssertionResult reports_refused_launch(cudaError_t code) {
  if (is_refused_launch(code)) return ::testing::AssertionSuccess();
  if (code == cudaSuccess)
    return ::testing::AssertionFailure()
           << "CUDA refused the launch, but no exception was thrown: is cudaGetLastError() checked "
              "right after the launch?";
  return ::testing::AssertionFailure()
         << "CUDA refused the launch; the exception says " << cudaGetErrorName(code);
}

/// Whether `call(n)` refuses n elements if, and only if, they need more blocks than a grid can have
/// along x: blocks of `step` elements or of any multiple of it up to 1024. All others must be
/// refused by the memory they need.
template <class Call>
::testing::AssertionResult refuses_what_needs_too_many_blocks(std::size_t step, const Call& call) {
  const auto refuses = [&](std::size_t count) {
    try {
      call(count);
      ADD_FAILURE() << "a call with " << count << " came back";
    } catch (const invalid_input&) {
      return true;
    } catch (const cuda_error&) {
    } catch (const std::bad_alloc&) {
    }
    return false;
  };
  constexpr std::size_t kMostBlocks = 0x7FFF'FFFF;
  for (std::size_t of_block = step; of_block <= 1024; of_block += step)
    if (!refuses(kMostBlocks * of_block) && refuses(kMostBlocks * of_block + 1) &&
        refuses((kMostBlocks + 1) * 2 * of_block + 1))  // of more than 32 bits
      return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "an input must be refused if, and only if, it needs more "
                                          "than 2^31 - 1 blocks";
}

/// Whether there is not enough memory for what `call` is to do: CUDA says so, or the host, where
/// the result gets its memory first.
template <class Call>
::testing::AssertionResult runs_out_of_memory(const Call& call) {
  try {
    call();
  } catch (const cuda_error&) {
    return ::testing::AssertionSuccess();
  } catch (const std::bad_alloc&) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "it came to an end, where no memory is large enough";
}

}  // namespace lab::testing
