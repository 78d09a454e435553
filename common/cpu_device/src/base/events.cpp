// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "base/events.hpp"

#include <algorithm>
#include <mutex>

#include "cpu_device.h"

namespace cpu_device {

constinit std::atomic<event_set> wanted_events{0};
constinit bool accesses_are_published = false;
bool is_check_build() { return accesses_are_published; }

// Never destroyed: static objects may use the device when the program ends.
std::vector<listener>& listeners() {
  static auto* all = new std::vector<listener>;
  return *all;
}

namespace {

std::mutex wanted_mutex;
event_set listened = 0, wanted_anyway = 0;

void count_wanted() {
  event_set wanted = 0;
  for (const listener& l : listeners()) wanted |= l.kinds;
  const std::lock_guard lock(wanted_mutex);
  listened = wanted;
  wanted_events.store(listened | wanted_anyway, std::memory_order_relaxed);
}

}  // namespace

void add_observer(observer& who, event_set kinds) {
  remove_observer(who);
  listeners().push_back({&who, kinds});
  count_wanted();
}

void remove_observer(observer& who) {
  std::erase_if(listeners(), [&](const listener& l) { return l.who == &who; });
  count_wanted();
}

void want_events(event_set kinds) {
  const std::lock_guard lock(wanted_mutex);
  wanted_anyway = kinds;
  wanted_events.store(listened | wanted_anyway, std::memory_order_relaxed);
}

int publish_call(const call_event& event) {
  int answer = 0;
  for (const listener& l : listeners()) {
    if ((l.kinds & static_cast<event_set>(event_kind::call)) == 0) continue;
    const int status = l.who->call_begins(event);
    if (answer == 0) answer = status;
  }
  return answer;
}

}  // namespace cpu_device
