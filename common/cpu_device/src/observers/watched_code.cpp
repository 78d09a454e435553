// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: how its reports name places and threads.

#include "observers/watched_code.hpp"

#include <mutex>
#include <set>

#include "base/report.hpp"

namespace cpu_device::check {
namespace {

// Calls of functions that say what they access, found by hashing.
constexpr std::uint32_t kCalls = 1U << 12;
constexpr std::uint32_t kInstruction = (1U << 29) - 1;  // above are race_check.hpp's bits
struct call_site {
  std::atomic<int> line;
  std::atomic<const char*> file;
};
constinit call_site call_sites[kCalls];

struct mistakes {
  std::mutex mutex;
  std::set<places> spoken;
  unsigned round = 0;
};
mistakes& known() {
  static auto* all = new mistakes;  // until the very end
  return *all;
}

}  // namespace

std::uint32_t place_of_call(const char* file, int line) {
  auto slot = static_cast<std::uint32_t>(line) * 31U;
  for (std::uint32_t tries = 0; tries < kCalls; ++tries, ++slot) {
    call_site& site = call_sites[slot % kCalls];
    int there = site.line.load(std::memory_order_acquire);
    if (there == 0 && site.line.compare_exchange_strong(there, line)) {
      site.file.store(file, std::memory_order_release);
      return kCall | slot % kCalls;
    }
    if (there != line) continue;
    const char* name = nullptr;  // whoever took the slot is about to write it
    while (name == nullptr) name = site.file.load(std::memory_order_acquire);
    if (name == file) return kCall | slot % kCalls;
  }
  return 0;
}

std::string call_text(std::uint32_t place) {
  if ((place & kCall) == 0) return {};
  const call_site& site = call_sites[place % kCalls];
  return std::string(site.file) + ":" + std::to_string(site.line);
}

std::string place_text(std::uint32_t place) {
  const std::string call = call_text(place);
  return call.empty() ? source_place(instruction_at(place & kInstruction))
                      : short_name(call.c_str());
}

std::string coordinates(std::uint64_t linear, std::uint64_t x, std::uint64_t y) {
  return "(" + std::to_string(linear % x) + "," + std::to_string(linear / x % y) + "," +
         std::to_string(linear / x / y) + ")";
}

std::string this_thread_text(const worker& w) {
  return "thread " + coordinates(progress.position->linear, w.launch->block.x, w.launch->block.y);
}

bool speaks_first(places which) {
  mistakes& all = known();
  const std::lock_guard lock(all.mutex);
  if (const unsigned now = report_rounds(); now != all.round) {
    all.spoken.clear();
    all.round = now;
  }
  return all.spoken.insert(which).second;
}

void forget_spoken(places which) {
  const std::lock_guard lock(known().mutex);
  known().spoken.erase(which);
}

}  // namespace cpu_device::check
