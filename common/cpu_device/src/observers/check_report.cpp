// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: what it says.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "observers/check.hpp"

namespace cpu_device::check {
namespace {

std::mutex spoken_mutex;

/// True the first time: a mistake at some place seldom happens once.
bool speaks_first(std::uint32_t place, std::uint32_t other_place) {
  const std::lock_guard lock(spoken_mutex);
  static auto* spoken = new std::set<std::pair<std::uint32_t, std::uint32_t>>;
  return spoken->insert(std::minmax(place, other_place)).second;
}

std::string coordinates(std::uint64_t linear, std::uint64_t x, std::uint64_t y) {
  return "(" + std::to_string(linear % x) + "," + std::to_string(linear / x % y) + "," +
         std::to_string(linear / x / y) + ")";
}

std::string access_text(const access& a, const running_launch& launch, bool with_block) {
  std::string text = "thread " + coordinates(a.thread(), launch.block.x, launch.block.y);
  if (with_block)
    text += " of block " + coordinates(a.block - launch.first_serial, launch.grid.x, launch.grid.y);
  text += a.atomic() ? " updates it atomically" : a.writes() ? " writes" : " reads";
  const std::string where = place_text(a.place);
  return text + (where.empty() ? "" : " at " + where);
}

const char* advice(bool same_block, excuse why) {
  switch (why) {
    case excuse::stale_texture:
      return "A texture may still give what the memory held before this launch, even to the "
             "thread that wrote. Try: fetch in a later kernel, or read the memory without the "
             "texture.";
    case excuse::atomics_without_fences:
      return "Both used atomics in between, but an atomic function orders nothing around it: what "
             "was written before it may arrive after it. Try: __threadfence() before the atomic "
             "that gives the data away (unlock, count), and after the one that takes it (lock).";
    default:
      return same_block
                 ? "Nothing orders the two, so which comes first is luck. Try: a __syncthreads() "
                   "between them that every thread reaches, or an atomic function."
                 : "Blocks run in any order and at the same time, and no barrier joins them. Try: "
                   "an atomic function, a place of its own for each block, or a second kernel.";
  }
}

/// A line of /proc/self/maps: what kind of memory an address lies in.
enum class mapping { unknown, unreachable, stack, anonymous, file };
mapping find_mapping(std::uintptr_t address, bool write) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return mapping::unknown;
  mapping found = mapping::unreachable;
  char line[512];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char mode[8] = "", name[256] = "";
    if (std::sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &begin, &end, mode, name) < 3) continue;
    if (address < begin || address >= end) continue;
    if (mode[write ? 1 : 0] == '-')
      found = mapping::unreachable;
    else if (std::strcmp(name, "[stack]") == 0)
      found = mapping::stack;
    else if (name[0] == '\0' || std::strcmp(name, "[heap]") == 0 ||
             std::strncmp(name, "[anon", 5) == 0)
      found = mapping::anonymous;
    else
      found = mapping::file;
    break;
  }
  std::fclose(maps);
  return found;
}

bool in_stack(const fiber& f, std::uintptr_t address) {
  return address >= reinterpret_cast<std::uintptr_t>(f.low) &&
         address < reinterpret_cast<std::uintptr_t>(f.top);
}

/// "a float4" for 'const struct float4'; other texts as they are.
std::string type_text(const char* what) {
  std::string name = what;
  if (!name.starts_with('\'')) return name;
  name = name.substr(1, name.size() - 2);
  for (const std::string word : {"const ", "volatile ", "struct "})
    if (name.starts_with(word)) name.erase(0, word.size());
  return (std::strchr("aeiou", name[0]) != nullptr ? "an " : "a ") + name;
}

void describe_misaligned(worker& w, std::uintptr_t address, std::size_t alignment, const char* does,
                         const char* what, const void* pc) {
  const std::string where = place_text(
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_begin()));
  const std::string multiple = std::to_string(alignment);
  const std::size_t past = address % alignment;
  const auto a = find_allocation(reinterpret_cast<const void*>(address));
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorMisalignedAddress;
  w.problem.text =
      "misaligned access: thread " +
      coordinates(progress.position->linear, w.launch->block.x, w.launch->block.y) + " " + does +
      " " + type_text(what) + (where.empty() ? "" : " at " + where) + ", " + std::to_string(past) +
      (past == 1 ? " byte" : " bytes") + " past a multiple of " + multiple +
      (a ? ", in " + describe(*a) : "") +
      ".\n  A GPU ends the kernel there: an address must be a multiple of its type's alignment (" +
      multiple + " bytes). Try: an offset that is a multiple of " + multiple +
      " bytes, or the elements one by one.";
}

void describe_unknown(worker& w, std::uint8_t flags, const void* pc, const char* kind,
                      const char* why) {
  const std::string where = place_text(
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_begin()));
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorIllegalAddress;
  w.problem.text = "thread " +
                   coordinates(progress.position->linear, w.launch->block.x, w.launch->block.y) +
                   ((flags & kWrite) != 0 ? " writes to " : " reads ") + kind +
                   (where.empty() ? "" : " at " + where) + why;
}

// Calls of texture functions, found by hashing; a place of theirs has the highest bit.
constexpr std::uint32_t kCall = 1U << 31, kCalls = 1U << 12;
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
  if ((place & kCall) == 0)
    return source_place(reinterpret_cast<const void*>(program_begin() + place));
  const call_site& site = call_sites[place % kCalls];
  return std::string(short_name(site.file)) + ":" + std::to_string(site.line);
}

void report_race(worker& w, const access& now, const access& before, bool shared, excuse why) {
  const engine_work work(w);
  if (!speaks_first(now.place, before.place)) return;
  const running_launch& launch = *w.launch;
  const bool same_block = now.block == before.block;
  report(std::string(why == excuse::stale_texture ? "texture of memory that changes" : "race on ") +
         (why == excuse::stale_texture ? ""
          : shared                     ? "shared memory"
                                       : "global memory") +
         " in " + describe_block(w) + ":\n  " + access_text(now, launch, !same_block) +
         (why == excuse::stale_texture ? " through a texture" : "") + "\n  " +
         access_text(before, launch, !same_block) + " (the same word)\n  " +
         advice(same_block, why));
}

void refuse_misaligned(std::uintptr_t address, std::size_t alignment, const char* does,
                       const char* what, const void* pc) {
  worker& w = *progress.self;
  {
    const engine_work work(w);
    describe_misaligned(w, address, alignment, does, what, pc);
  }
  give_up_block(w);
}

void look_at_unknown(worker& w, std::uintptr_t address, std::uint8_t flags, const void* pc) {
  if (address < 4096) return;  // a null pointer: it faults
  if (const page* p = find_page(address);
      p != nullptr && (p->ignored.load(std::memory_order_relaxed) & part_of(address)) != 0)
    return;
  // The engine's own: positions of threads, and what lanes exchange in warp functions. Functions in
  // our headers read them.
  if (address - reinterpret_cast<std::uintptr_t>(w.order.data()) <
      w.order.size() * sizeof(thread_position))
    return;
  for (const auto& group : w.all_groups)
    if (address - reinterpret_cast<std::uintptr_t>(group.get()) < sizeof(warp_group)) return;
  const bool write = (flags & kWrite) != 0;
  bool give_up = false;
  {
    const engine_work work(w);
    const mapping kind = find_mapping(address, write);
    const bool of_another_thread =
        std::any_of(w.all_stacks.begin(), w.all_stacks.end(),
                    [&](const fiber* f) { return in_stack(*f, address); }) ||
        (address >= reinterpret_cast<std::uintptr_t>(w.base.low) &&
         address < reinterpret_cast<std::uintptr_t>(w.base.own_top));
    if (kind == mapping::file) {
      ignore(address, address + 1);
    } else if (kind != mapping::unreachable && kind != mapping::unknown) {
      give_up = true;
      if (of_another_thread)
        describe_unknown(w, flags, pc, "a local variable of another thread",
                         ".\n  Local variables belong to one thread; on a GPU their addresses mean "
                         "nothing to others. Try: __shared__ memory.");
      else
        describe_unknown(
            w, flags, pc,
            kind == mapping::stack || in_stack(w.base, address)
                ? "host memory (a local variable of the host)"
                : "host memory (malloc, new, std::vector or a local variable of the host)",
            ".\n  A kernel cannot follow the host's pointers. Try: cudaMalloc memory on the device "
            "and cudaMemcpy the data there, or allocate it with cudaMallocManaged or cudaHostAlloc "
            "(mapped), which both sides reach.");
    }
  }
  if (give_up) give_up_block(w);
}

void report_host_access(std::uintptr_t address, std::uint8_t flags, const void* pc) {
  const auto place =
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_begin());
  if (!speaks_first(place, place)) return;
  // Only the program's own lines: libraries that do the device's work may be watched with them.
  const std::string where = own_source_place(pc);
  if (where.empty()) return;
  const auto a = find_allocation(reinterpret_cast<const void*>(address));
  report("host code " + std::string((flags & kWrite) != 0 ? "writes to " : "reads ") +
         (a ? describe(*a) : "device memory") + " at " + where +
         ".\n  The host cannot follow the device's pointers: with a GPU the program crashes here. "
         "Try: cudaMemcpy between the host's memory and the device's, or cudaMallocManaged, which "
         "both sides reach.");
}

}  // namespace cpu_device::check
