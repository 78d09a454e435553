// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.1 event_timing: how long does a kernel run, given that its launch does not wait for it?
// Edit:  this file, from TODO(1) to TODO(6). event_timing.hpp has the contract.
// Run:   scripts/lab run 02.1
// Test:  scripts/lab test 02.1
// Hints: scripts/lab hint 02.1                     Chapter: docs/02_measuring.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::event_timing {
namespace {

// --- an event: a mark in the device's queue ------------------------------------------------------

class event {
 public:
  event() {
    // TODO(1): create event_.
    // BEGIN SOLUTION
    // STUB: throw not_written("creating an event", 1);
    CUDA_CHECK(cudaEventCreate(&event_));
    // END SOLUTION
  }
  ~event() {
    // TODO(1): destroy it. A destructor also runs when an exception leaves a function, so it must
    //          not throw itself: CUDA_CHECK_NOTHROW.
    // BEGIN SOLUTION
    CUDA_CHECK_NOTHROW(cudaEventDestroy(event_));
    // END SOLUTION
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  void record() {
    // TODO(2): record event_, after everything that has been submitted to the device so far. The
    //          device records the time when it gets there; the host continues immediately.
    // BEGIN SOLUTION
    // STUB: throw not_written("recording an event", 2);
    CUDA_CHECK(cudaEventRecord(event_));
    // END SOLUTION
  }

  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// --- the time between two events -----------------------------------------------------------------

float milliseconds_between(const event& start, const event& stop) {
  // TODO(3): wait until the device has reached the *later* event, then query the time between.
  // BEGIN SOLUTION
  // STUB: throw not_written("the time between two events", 3);
  float milliseconds = 0;
  CUDA_CHECK(cudaEventSynchronize(stop.get()));
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return milliseconds;
  // END SOLUTION
}

/// Queries without waiting. True if CUDA answers that it does not know yet.
bool is_too_early(const event& start, const event& stop) {
  // TODO(4): query the time between, but do not wait first. cudaErrorNotReady is an answer here,
  //          not a failure. Invariant: the next cudaGetLastError() does not return it, because
  //          that would blame a launch for it. Any other error is a failure.
  // BEGIN SOLUTION
  // STUB: throw not_written("asking too early", 4);
  float unknown = 0;
  const cudaError_t answer = cudaEventElapsedTime(&unknown, start.get(), stop.get());
  if (answer == cudaErrorNotReady) {
    (void)cudaGetLastError();  // clears the error
    return true;
  }
  CUDA_CHECK(answer);
  return false;
  // END SOLUTION
}

}  // namespace

times measure(long long first_cycles, long long second_cycles, unsigned threads) {
  require_possible(first_cycles);
  require_possible(second_cycles);
  device_buffer<long long> counted(2);  // one number for each kernel
  event before, between, after;
  const host_timer host;  // the host's clock, from here on
  // TODO(5): submit five operations, in this order: an event, the first kernel, an event, the
  //          second kernel, an event. Both kernels are let_pass(cycles, pointer) in one block of
  //          `threads` threads; each stores the cycles that it has counted in its own element of
  //          `counted`. After each launch, check whether CUDA has accepted it.
  // BEGIN SOLUTION
  // STUB: before.record();
  // STUB: throw not_written("three marks around two kernels", 5);
  before.record();
  let_pass<<<1, threads>>>(first_cycles, counted.data());
  CUDA_CHECK(cudaGetLastError());
  between.record();
  let_pass<<<1, threads>>>(second_cycles, counted.data() + 1);
  CUDA_CHECK(cudaGetLastError());
  after.record();
  // END SOLUTION

  // TODO(6): fill in a `times` and return it; host.milliseconds() is the host's time so far. Before
  //          anything waits: launched_ms, then the early query, from the first event to the last,
  //          and asked_ms. both_ms waits for the last event: read waited_ms right after it. Finally
  //          the times of each kernel, and the cycles that it counted.
  // BEGIN SOLUTION
  // STUB: throw not_written("the times", 6);
  times t;
  t.launched_ms = host.milliseconds();
  t.too_early = is_too_early(before, after);
  t.asked_ms = host.milliseconds();
  t.both_ms = milliseconds_between(before, after);
  t.waited_ms = host.milliseconds();
  t.first_ms = milliseconds_between(before, between);
  t.second_ms = milliseconds_between(between, after);

  const auto cycles = counted.to_vector();
  t.first_cycles = cycles[0];
  t.second_cycles = cycles[1];
  return t;
  // END SOLUTION
}

}  // namespace lab::event_timing
