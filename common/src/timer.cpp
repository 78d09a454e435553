// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/timer.hpp"

#include <stdexcept>
#include <utility>

#include "lab/cuda_check.hpp"

namespace lab {
namespace {

void destroy(cudaEvent_t event) noexcept {
  if (event != nullptr) CUDA_CHECK_NOTHROW(cudaEventDestroy(event));
}

}  // namespace

event_timer::event_timer() {
  CUDA_CHECK(cudaEventCreate(&start_));
  try {
    CUDA_CHECK(cudaEventCreate(&stop_));
  } catch (...) {
    destroy(start_);  // the destructor does not run for an object that was never complete
    throw;
  }
}

event_timer::~event_timer() {
  destroy(stop_);
  destroy(start_);
}

event_timer::event_timer(event_timer&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      stop_(std::exchange(other.stop_, nullptr)),
      stream_(other.stream_),
      state_(std::exchange(other.state_, state::idle)) {}

event_timer& event_timer::operator=(event_timer&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(stop_, other.stop_);
  std::swap(stream_, other.stream_);
  std::swap(state_, other.state_);
  return *this;
}

void event_timer::start(cudaStream_t stream) {
  if (start_ == nullptr) throw std::logic_error("event_timer::start() on a moved-from timer");
  stream_ = stream;
  CUDA_CHECK(cudaEventRecord(start_, stream_));
  state_ = state::started;
}

void event_timer::stop() {
  if (state_ != state::started) throw std::logic_error("event_timer::stop() without start()");
  CUDA_CHECK(cudaEventRecord(stop_, stream_));
  state_ = state::stopped;
}

float event_timer::milliseconds() const {
  if (state_ != state::stopped)
    throw std::logic_error("event_timer::milliseconds() before start() and stop()");
  CUDA_CHECK(cudaEventSynchronize(stop_));
  float elapsed = 0;
  CUDA_CHECK(cudaEventElapsedTime(&elapsed, start_, stop_));
  return elapsed;
}

}  // namespace lab
