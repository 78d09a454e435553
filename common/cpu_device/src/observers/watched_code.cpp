// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: how its reports name places and threads.

#include "observers/watched_code.hpp"

#include <mutex>
#include <set>

#include "base/report.hpp"

namespace cpu_device::check {
namespace {

// Calls of texture functions, found by hashing; a place of theirs has the highest bit.
constexpr std::uint32_t kCall = 1U << 31, kCalls = 1U << 12;
constexpr std::uint32_t kInstruction = (1U << 29) - 1;  // above are race_check.hpp's bits
struct call_site {
  std::atomic<int> line;
  std::atomic<const char*> file;
};
constinit call_site call_sites[kCalls];

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

std::string place_text(std::uint32_t place) {
  if ((place & kCall) == 0) return source_place(instruction_at(place & kInstruction));
  const call_site& site = call_sites[place % kCalls];
  return std::string(short_name(site.file)) + ":" + std::to_string(site.line);
}

std::string coordinates(std::uint64_t linear, std::uint64_t x, std::uint64_t y) {
  return "(" + std::to_string(linear % x) + "," + std::to_string(linear / x % y) + "," +
         std::to_string(linear / x / y) + ")";
}

std::string this_thread_text(const worker& w) {
  return "thread " + coordinates(progress.position->linear, w.launch->block.x, w.launch->block.y);
}

bool speaks_first(std::uint32_t place) {
  static std::mutex mutex;
  static auto* spoken = new std::set<std::uint32_t>;
  const std::lock_guard lock(mutex);
  return spoken->insert(place).second;
}

}  // namespace cpu_device::check
