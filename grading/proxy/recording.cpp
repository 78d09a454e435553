// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tests' own means that stand beside the device: what a call gave it to do is written down in
// the worker. stub/recording.cpp has the other end.

#include "recording.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <map>
#include <utility>
#include <vector>

#include "../wire/work.hpp"
#include "fault_tests.hpp"
#include "faults.hpp"
#include "worker.hpp"

namespace grading {
namespace {

/// Says that something has ended. If the worker is gone, it has ended with it.
void tell(const char* what) noexcept {
  try {
    (void)wire::call<bool>(function(what));
  } catch (const std::exception&) {
  }
}

}  // namespace
}  // namespace grading

namespace lab::testing::detail {

struct recording::recorder {
  recorder(const std::vector<double>& kernel_ms, const std::vector<double>& copy_ms,
           double memset_ms) {
    grading::go_on();
    (void)wire::call<bool, const std::vector<double>&, const std::vector<double>&, double>(
        grading::function("begin_recording"), kernel_ms, copy_ms, memset_ms);
  }
};
recording::recording(std::vector<double> kernel_ms, std::vector<double> copy_ms, double memset_ms)
    : recorder_(std::make_unique<recorder>(kernel_ms, copy_ms, memset_ms)) {}
recording::~recording() = default;  // the worker ends it when the next one begins
recorded_work recording::finish() {
  return wire::call<recorded_work>(grading::function("finish_recording"));
}

struct nothing_comes_back::eraser {
  explicit eraser(except kept) {
    grading::go_on();
    (void)wire::call<bool, bool>(grading::function("begin_with_nothing_back"),
                                 kept == except::what_was_sent);
  }
  ~eraser() { grading::tell("end_with_nothing_back"); }
};
nothing_comes_back::nothing_comes_back(except kept) : eraser_(std::make_unique<eraser>(kept)) {}
nothing_comes_back::~nothing_comes_back() = default;
bool nothing_comes_back::made_a_difference() const {
  return wire::call<bool>(grading::function("nothing_back_made_a_difference"));
}

pretended_cuda_support::pretended_cuda_support(bool compiled, bool running) {
  (void)wire::call<bool, bool, bool>(grading::function("begin_cuda_support"), compiled, running);
}
pretended_cuda_support::~pretended_cuda_support() { grading::tell("end_cuda_support"); }

struct others_come_between::intruder {};
others_come_between::others_come_between(std::uint32_t before,
                                         const std::vector<std::uint32_t>& values) {
  (void)wire::call<bool, std::uint32_t, const std::vector<std::uint32_t>&>(
      grading::function("others_come_between_32"), before, values);
}
others_come_between::others_come_between(std::uint64_t before,
                                         const std::vector<std::uint64_t>& values) {
  (void)wire::call<bool, std::uint64_t, const std::vector<std::uint64_t>&>(
      grading::function("others_come_between_64"), before, values);
}
others_come_between::~others_come_between() { grading::tell("others_are_gone"); }
std::size_t others_come_between::came() const {
  return wire::call<std::uint64_t>(grading::function("others_came"));
}

struct other_input::changer {};
other_input::other_input(std::vector<std::uint32_t> before, std::vector<std::uint32_t> after) {
  (void)wire::call<bool, const std::vector<std::uint32_t>&, const std::vector<std::uint32_t>&>(
      grading::function("begin_other_input"), before, after);
}
other_input::~other_input() { grading::tell("end_other_input"); }
bool other_input::came() const { return wire::call<bool>(grading::function("other_input_came")); }

/// Nothing is done before a call: cases that need that ask has_the_device().
struct before_call::waiter {};
before_call::before_call(std::string, unsigned, std::function<void()>) {}
before_call::~before_call() = default;

bool has_the_device() { return false; }

// Calls fail over there, and what was called is asked for. Who is not there to answer has called
// nothing: the running test has failed.
struct fault::watcher {};
fault::fault(std::size_t fails) {
  grading::go_on();
  (void)wire::call<bool, std::uint64_t>(grading::function("begin_fault"), fails);
}
fault::~fault() { grading::tell("end_fault"); }
fault_report fault::report() const {
  return wire::call<fault_report>(grading::function("report_of_fault"));
}

struct fault_of_a_thread::watcher {};
fault_of_a_thread::fault_of_a_thread(const std::string& function, int device, bool others_wait) {
  grading::go_on();
  (void)wire::call<bool, const std::string&, int, bool>(
      grading::function("begin_fault_of_a_thread"), function, device, others_wait);
}
fault_of_a_thread::~fault_of_a_thread() { grading::tell("end_fault_of_a_thread"); }
bool fault_of_a_thread::fired() const {
  return wire::call<bool>(grading::function("fault_of_a_thread_fired"));
}

rank_fault::rank_fault(std::size_t number, int rank) : number_(number), rank_(rank) {
  (void)wire::call<bool, std::uint64_t, int>(grading::function("begin_rank_fault"), number, rank);
}
rank_fault::~rank_fault() { grading::tell("end_rank_fault"); }
std::map<int, std::vector<rank_call>> rank_fault::calls() const {
  const auto all = wire::call<std::vector<std::pair<int, std::vector<rank_call>>>>(
      grading::function("calls_of_ranks"));
  return {all.begin(), all.end()};
}

/// Only cases that ask has_the_device() need it.
next_call_fails::next_call_fails(const std::string&, cudaError_t) : before_(0) {}
next_call_fails::~next_call_fails() = default;
bool next_call_fails::has_failed() const { return before_ != 0; }

}  // namespace lab::testing::detail
