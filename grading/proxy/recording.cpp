// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tests' own means that stand beside the device: what a call gave it to do is written down in
// the worker. stub/recording.cpp has the other end.

#include "recording.hpp"

#include <gtest/gtest.h>

#include <exception>

#include "../wire/work.hpp"
#include "fault_tests.hpp"
#include "worker.hpp"

namespace lab::testing::detail {

struct recording::recorder {
  recorder(const std::vector<double>& kernel_ms, const std::vector<double>& copy_ms) {
    grading::go_on();
    (void)wire::call<bool, const std::vector<double>&, const std::vector<double>&>(
        grading::function("begin_recording"), kernel_ms, copy_ms);
  }
};
recording::recording(std::vector<double> kernel_ms, std::vector<double> copy_ms)
    : recorder_(std::make_unique<recorder>(kernel_ms, copy_ms)) {}
recording::~recording() = default;  // the worker ends it when the next one begins
recorded_work recording::finish() {
  return wire::call<recorded_work>(grading::function("finish_recording"));
}

struct nothing_comes_back::eraser {
  eraser() {
    grading::go_on();
    (void)wire::call<bool>(grading::function("begin_with_nothing_back"));
  }
  ~eraser() {
    try {
      (void)wire::call<bool>(grading::function("end_with_nothing_back"));
    } catch (const std::exception&) {  // the worker is gone, and what it erased with it
    }
  }
};
nothing_comes_back::nothing_comes_back() : eraser_(std::make_unique<eraser>()) {}
nothing_comes_back::~nothing_comes_back() = default;
bool nothing_comes_back::made_a_difference() const {
  return wire::call<bool>(grading::function("nothing_back_made_a_difference"));
}

pretended_cuda_support::pretended_cuda_support(bool compiled, bool running) {
  (void)wire::call<bool, bool, bool>(grading::function("begin_cuda_support"), compiled, running);
}
pretended_cuda_support::~pretended_cuda_support() {
  try {
    (void)wire::call<bool>(grading::function("end_cuda_support"));
  } catch (const std::exception&) {  // the worker is gone, and its ranks with it
  }
}

/// An observer of the device does not cross: nobody comes between.
struct others_come_between::intruder {};
others_come_between::others_come_between(std::uint32_t, const std::vector<std::uint32_t>&) {}
others_come_between::others_come_between(std::uint64_t, const std::vector<std::uint64_t>&) {}
others_come_between::~others_come_between() = default;
std::size_t others_come_between::came() const { return 0; }

/// Nor is anything done before a call: cases that need that ask has_the_device().
struct before_call::waiter {};
before_call::before_call(std::string, unsigned, std::function<void()>) {}
before_call::~before_call() = default;

/// Nor do faults in the ranks: none of their calls fails, and none is recorded.
rank_fault::rank_fault(std::size_t number, int rank) : number_(number), rank_(rank) {}
rank_fault::~rank_fault() = default;

/// Calls fail where an observer of the device says so, and that does not cross: such cases are
/// skipped, and take no part in grading.
next_call_fails::next_call_fails(const std::string&, cudaError_t) : before_(0) {}
next_call_fails::~next_call_fails() = default;
bool next_call_fails::has_failed() const { return before_ != 0; }
bool has_the_device() { return false; }
void fail_each_call(const fault_subject&) {}
void fail_a_call_of_a_thread(const fault_subject&, const std::string&) {}

}  // namespace lab::testing::detail
