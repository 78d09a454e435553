// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Injected faults: an observer of calls that answers for some of them.

#include "api/faults.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "api/calls.hpp"
#include "context/device.hpp"
#include "cpu_device.h"
#include "cpu_device/events.h"

namespace cpu_device {
namespace {

struct fault {
  const char* function;  // as call_info names it; null: any
  std::uint64_t left;    // calls, with the one that fails
  int status;            // 0: the function's usual error
};

class fault_injection : public observer {
 public:
  void add(const fault& f) {
    if (faults_.empty()) add_observer(*this, static_cast<event_set>(event_kind::call));
    faults_.push_back(f);
  }
  void clear() {
    faults_.clear();
    remove_observer(*this);
  }
  std::size_t fired() const { return fired_; }

  int call_begins(const call_event& event) override {
    int answer = 0;
    std::erase_if(faults_, [&](fault& f) {
      const bool meant = f.function != nullptr ? f.function == event.function : event.number != 0;
      if (!meant || --f.left != 0) return false;
      ++fired_;
      if (answer == 0) answer = f.status != 0 ? f.status : event.usual_error;
      return true;
    });
    return answer;
  }

 private:
  std::vector<fault> faults_;
  std::size_t fired_ = 0;
};

// Never destroyed: static objects may use the device when the program ends.
fault_injection& injection() {
  static auto* all = new fault_injection;
  return *all;
}

template <class Number>
bool read_number(std::string_view text, Number& number) {
  const char* end = text.data() + text.size();
  return std::from_chars(text.data(), end, number) == std::from_chars_result{end, std::errc{}};
}

/// The part of the text before the next separator, which goes.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

/// One "function:n:error" of CPU_DEVICE_FAIL.
void add_from_text(std::string_view text) {
  const std::string function(take(text, ':'));
  const std::string_view count = take(text, ':');
  std::uint64_t n = 0;
  if (!read_number(count, n))
    throw std::invalid_argument("'" + std::string(count) + "' is no number of a call");
  if (function == "any" && text.empty()) return fail_any_call(n);
  const std::string error(text);
  int status = 0;
  if (const call_info* info = find_call(function.c_str()); info != nullptr)
    if (!read_number(error, status)) status = info->family->status_named(error.c_str());
  if (status == -1 || error.empty())
    throw std::invalid_argument("'" + error + "' is no error that " + function + " could give");
  fail_call(function, n, status);
}

}  // namespace

void fail_call(const std::string& function, std::uint64_t n, int status) {
  const call_info* info = find_call(function.c_str());
  if (info == nullptr)
    throw std::invalid_argument("'" + function +
                                "' is no function of the API, or of a library that this program "
                                "is linked with (launches by <<<>>> are cudaLaunchKernel)");
  if (n == 0) throw std::invalid_argument("calls are counted from 1: call 0 cannot fail");
  if (status == 0) throw std::invalid_argument("status 0 is success, and no fault");
  const std::lock_guard lock(api_mutex());
  injection().add({info->name, n, status});
}

void fail_any_call(std::uint64_t n) {
  if (n == 0) throw std::invalid_argument("calls are counted from 1: call 0 cannot fail");
  const std::lock_guard lock(api_mutex());
  injection().add({nullptr, n, 0});
}

void clear_faults() {
  const std::lock_guard lock(api_mutex());
  injection().clear();
}

std::size_t faults_fired() {
  const std::lock_guard lock(api_mutex());
  return injection().fired();
}

void read_faults_of_environment() {
  static bool read = false;
  if (read) return;
  read = true;
  const char* value = std::getenv("CPU_DEVICE_FAIL");
  if (value == nullptr) return;
  std::string_view rest = value;
  try {
    while (!rest.empty()) add_from_text(take(rest, ','));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr,
                 "CPU device: CPU_DEVICE_FAIL=%s: %s. Try: cudaMalloc:3:cudaErrorMemoryAllocation, "
                 "or any:5.\n",
                 value, error.what());
    std::_Exit(2);
  }
}

}  // namespace cpu_device
