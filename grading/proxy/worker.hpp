// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The grader's view of the process that has the student's code.
//
// It is started when something is first asked of it, by the command in the file that the variable
// LAB_GRADING_WORKER names, an argument a line. What it prints is this process's output. A worker
// that dies, takes too long, prints without end or sends what it was not asked for is lost: it is
// killed, the running test fails with the reason, whatever it makes of the exceptions, and the next
// test gets a new worker.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../wire/call.hpp"

namespace grading {

class worker_lost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Carries the arguments of a function of this name. Throws worker_lost, or what the function has
/// thrown.
wire::carrier function(const char* name);

/// Has the worker call back. Returns the number that stands for `callback` over there; it is called
/// at most once.
std::uint64_t add_callback(std::function<void()> callback);

/// Is called with each new worker, before anything else is asked of it: sets up what the last one
/// had been told.
void on_new_worker(std::function<void()> set_up);

/// Ends the worker of the running test, which fails with this reason. Throws nothing.
void give_up(const std::string& how) noexcept;

/// Ends the worker, which is nobody's fault: what follows has a new one. Throws nothing.
void renew() noexcept;

/// Why the worker of the running test is lost; empty while it is not.
const std::string& loss();

/// What follows in the running test has a new worker if the last one is lost. The test fails in any
/// case, but so its steps can be told apart.
void go_on();

}  // namespace grading
