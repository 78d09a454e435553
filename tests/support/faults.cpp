// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "faults.hpp"

#include "fault_tests.hpp"

#ifdef __CPU_DEVICE__

#include <cpu_device.h>
#include <cpu_device/events.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

namespace lab::testing::detail {

struct fault::watcher final : cpu_device::observer {
  explicit watcher(std::size_t which) : fails(which) {
    using cpu_device::event_kind;
    cpu_device::add_observer(*this, event_kind::call | event_kind::mark);
  }
  ~watcher() override { cpu_device::remove_observer(*this); }

  int call_begins(const cpu_device::call_event& event) override {
    const std::string_view name = event.function;
    if (name == "cudaGetLastError" || name == "cudaPeekAtLastError") return 0;
    const std::lock_guard lock(mutex);
    seen.calls.push_back({event.function, event.number == 0,
                          std::hash<std::thread::id>()(std::this_thread::get_id())});
    return seen.calls.size() - 1 == fails ? status_of_fault(name) : 0;
  }

  void marked(const cpu_device::mark_event& event) override {
    const std::lock_guard lock(mutex);
    if (event.kind == cpu_device::mark_event::what::push) ++seen.open_ranges;
    if (event.kind == cpu_device::mark_event::what::pop) --seen.open_ranges;
  }

  const std::size_t fails;
  std::mutex mutex;
  fault_report seen;
};

fault::fault(std::size_t fails) : watcher_(std::make_unique<watcher>(fails)) {}
fault::~fault() = default;
fault_report fault::report() const {
  const std::lock_guard lock(watcher_->mutex);
  return watcher_->seen;
}

struct fault_of_a_thread::watcher final : cpu_device::observer {
  watcher(std::string name, int device_of_it, bool others_have_to)
      : function(std::move(name)), device(device_of_it), others_wait(others_have_to) {
    cpu_device::add_observer(*this,
                             static_cast<cpu_device::event_set>(cpu_device::event_kind::call));
  }
  ~watcher() override { cpu_device::remove_observer(*this); }

  int call_begins(const cpu_device::call_event& event) override {
    const std::string_view name = event.function;
    const bool asks = others_wait && (name == "cudaStreamQuery" || name == "cudaEventQuery");
    if ((name != function && !asks) || std::this_thread::get_id() == own) return 0;
    int now = kAnyDevice;
    if (device != kAnyDevice && (cudaGetDevice(&now) != cudaSuccess || now != device))
      return !asks ? 0 : patience_is_over() ? cudaErrorLaunchTimeout : cudaErrorNotReady;
    if (fired.exchange(true)) return 0;
    fired_at = clock::now().time_since_epoch().count();
    return status_of_fault(function);
  }

  const std::string function;
  const int device;
  /// Who has not given up by now will not.
  bool patience_is_over() const {
    constexpr auto kPatience = std::chrono::seconds(10);
    const clock::time_point since{clock::duration(fired_at)};
    return fired_at != 0 && clock::now() - since > kPatience;
  }

  using clock = std::chrono::steady_clock;
  const bool others_wait;
  const std::thread::id own = std::this_thread::get_id();
  std::atomic<bool> fired = false;
  std::atomic<clock::rep> fired_at = 0;
};

fault_of_a_thread::fault_of_a_thread(const std::string& function, int device, bool others_wait)
    : watcher_(std::make_unique<watcher>(function, device, others_wait)) {}
fault_of_a_thread::~fault_of_a_thread() = default;
bool fault_of_a_thread::fired() const { return watcher_->fired; }

next_call_fails::next_call_fails(const std::string& function, cudaError_t status)
    : before_(cpu_device::faults_fired()) {
  cpu_device::fail_call(function, 1, status);
}
next_call_fails::~next_call_fails() { cpu_device::clear_faults(); }
bool next_call_fails::has_failed() const { return cpu_device::faults_fired() != before_; }

bool has_the_device() { return true; }

}  // namespace lab::testing::detail

#else

namespace lab::testing::detail {

struct fault_of_a_thread::watcher {};
fault_of_a_thread::fault_of_a_thread(const std::string&, int, bool) {}
fault_of_a_thread::~fault_of_a_thread() = default;
bool fault_of_a_thread::fired() const { return watcher_ != nullptr; }

next_call_fails::next_call_fails(const std::string&, cudaError_t) : before_(0) {}
next_call_fails::~next_call_fails() = default;
bool next_call_fails::has_failed() const { return before_ != 0; }

bool has_the_device() { return false; }

}  // namespace lab::testing::detail

#endif
