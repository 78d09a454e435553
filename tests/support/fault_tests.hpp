// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every contract promises about errors, as one test: whichever call of CUDA or of a library
// fails, the caller hears of it, nothing is left behind, and the next call works.
//
//     FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
//       const std::vector<float> a = …, b = …;
//       expect_failures_reported([&] { return dot(version(), a, b).value; }, a, b);
//     }
//
// Calls can be made to fail on the CPU device only. On a GPU these cases are compiled, so that they
// stay correct, but they do not exist: nothing is skipped, and nothing passes without having run.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "lab_testing.hpp"

#ifdef __CPU_DEVICE__
#define FAULT_TEST(suite, name) TEST(suite, name)
#define FAULT_TEST_P(suite, name) TEST_P(suite, name)
#else
#define FAULT_TEST(suite, name) [[maybe_unused]] static void suite##_##name()
#define FAULT_TEST_P(suite, name)       \
  struct suite##_##name : suite {       \
    [[maybe_unused]] void fault_test(); \
  };                                    \
  void suite##_##name::fault_test()
#endif

namespace lab::testing {
namespace detail {

/// A contract and good input for it. Both functions may throw what the contract throws.
struct fault_subject {
  std::function<bool()> is_right;          ///< calls the contract; whether its result is right
  std::function<bool()> inputs_unchanged;  ///< compares the input with what it was
};
void fail_each_call(const fault_subject& subject);
void fail_a_call_of_a_thread(const fault_subject& subject, const std::string& function);

/// While one lives, the next call of a function fails with `status`; later ones do not.
class next_call_fails {
 public:
  next_call_fails(const std::string& function, cudaError_t status);
  next_call_fails(const next_call_fails&) = delete;
  next_call_fails& operator=(const next_call_fails&) = delete;
  ~next_call_fails();
  bool has_failed() const;

 private:
  std::size_t before_;
};

/// Whether this process has the device, so that it can step in while it works. A grader's has not.
bool has_the_device();

}  // namespace detail

/// Runs `call`, which uses the contract once with good input. It returns whether the result is
/// right (as matches() does), or something that can be compared with `==`: then the first result is
/// what all others must equal. Runs it again and again, while the first call that it makes of CUDA,
/// cuBLAS, cuRAND or NCCL fails, then the second, and so on (of more than 40, a part). Each time:
///
/// - lab::cuda_error (lab::cublas_error, lab::nccl_error) with the code of the failed call comes
/// out of it;
/// - device memory, streams, events, handles … are as many as before, and so is the current device,
/// which has not been reset;
/// - each range of NVTX that was begun has been ended;
/// - `inputs`, what `call` reads, are what they were;
/// - cudaGetLastError() has nothing to report (but for what failed to give something back);
/// - the next run gives the right result.
///
/// Where an MPI job does the work (lab/mpi_job.hpp), calls of its ranks fail: of all of them, and
/// then a few calls of the last rank only, while the others wait for it.
///
/// Copies and kernels run as late as CUDA allows, so that a wait that has failed unnoticed leaves
/// a wrong result. fault_tests.cpp decides which failures need not be reported if the result is
/// right: those of calls that clean up.
template <class Call, class... Inputs>
void expect_failures_reported(const Call& call, const Inputs&... inputs) {
  using result = std::decay_t<decltype(call())>;
  const std::tuple<Inputs...> before(inputs...);
  [[maybe_unused]] std::optional<result> first;
  detail::fail_each_call({.is_right =
                              [&] {
                                auto now = call();
                                if constexpr (std::is_same_v<result, ::testing::AssertionResult>) {
                                  return static_cast<bool>(now);
                                } else {
                                  if (!first) first = now;
                                  return now == *first;
                                }
                              },
                          .inputs_unchanged = [&] { return before == std::tie(inputs...); }});
}

/// The same for a contract that starts threads of its own. Their calls come in another order each
/// time, so they are named: of each function that threads of the contract call, the first such call
/// fails. Which thread that is depends on chance; the others must not wait for it forever.
template <class Call>
void expect_failures_of_threads_reported(const Call& call,
                                         std::initializer_list<const char*> functions) {
  for (const char* function : functions)
    detail::fail_a_call_of_a_thread({.is_right = [&] { return static_cast<bool>(call()); },
                                     .inputs_unchanged = [] { return true; }},
                                    function);
}

}  // namespace lab::testing
