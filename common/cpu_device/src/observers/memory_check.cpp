// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "observers/memory_check.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/memory.hpp"
#include "base/report.hpp"

namespace cpu_device::check {
namespace {

constexpr std::uintptr_t kPage = 4096;

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

bool in_stack(const fiber_stack& s, std::uintptr_t address) {
  return address >= reinterpret_cast<std::uintptr_t>(s.low) &&
         address < reinterpret_cast<std::uintptr_t>(s.top);
}

}  // namespace

void describe_unknown(worker& w, std::uint8_t flags, const void* pc, const char* kind,
                      const char* why) {
  const std::string where = place_text(place_of(pc));
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorIllegalAddress;
  w.problem.text = this_thread_text(w) + ((flags & kWrite) != 0 ? " writes to " : " reads ") +
                   kind + (where.empty() ? "" : " at " + where) + why;
}

// --- past the end -------------------------------------------------------------------------------

std::string element_text(std::ptrdiff_t offset, std::size_t size, std::size_t bytes) {
  const auto wide = static_cast<std::ptrdiff_t>(size);
  if (offset % wide == 0 && bytes % size == 0)
    return "element " + std::to_string(offset / wide) + " of " + std::to_string(bytes / size);
  return "bytes " + std::to_string(offset) + " to " + std::to_string(offset + wide - 1) + " of " +
         std::to_string(bytes);
}

void describe_elements(worker& w, std::ptrdiff_t offset, std::size_t size, std::size_t bytes,
                       const std::string& of_what, std::uint8_t flags, const void* pc) {
  const std::string where = place_text(place_of(pc));
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorIllegalAddress;
  w.problem.text = std::string(offset < 0 ? "before the begin" : "past the end") + ": " +
                   this_thread_text(w) +
                   ((flags & kAtomic) != 0  ? " updates "
                    : (flags & kWrite) != 0 ? " writes "
                                            : " reads ") +
                   element_text(offset, size, bytes) + (where.empty() ? "" : " at " + where) +
                   ", of " + of_what + ".\n  ";
  if (bytes >= size)
    w.problem.text += "The elements (" + std::to_string(size) + (size == 1 ? " byte" : " bytes") +
                      " each) are numbered from 0 to " + std::to_string(bytes / size - 1) + ". ";
  w.problem.text += offset < 0 ? "Try: look for an index that becomes negative."
                               : "Try: compare the index with the number of elements before the "
                                 "access, as in if (i < n). If you do, make sure that it is this "
                                 "index: rows and columns may be swapped.";
}

namespace {

/// The allocation that an access means which is not inside of one.
std::optional<allocation> allocation_near(std::uintptr_t address, std::size_t size) {
  const auto* at = reinterpret_cast<const char*>(address);
  if (auto a = find_near(at)) return a;
  return find_near(at + size - 1);
}

void describe_outside(worker& w, const allocation& a, std::uintptr_t address, std::size_t size,
                      std::uint8_t flags, const void* pc) {
  describe_elements(w, reinterpret_cast<const char*>(address) - a.begin, size, a.bytes, describe(a),
                    flags, pc);
  if (address >= reinterpret_cast<std::uintptr_t>(a.begin)) w.problem.text += pitch_advice(a);
}

void describe_shared(worker& w, std::uintptr_t address, std::size_t size, std::uint8_t flags,
                     const void* pc) {
  const std::size_t bytes = w.launch->shared_bytes;
  describe_elements(
      w, reinterpret_cast<const char*>(address) - static_cast<const char*>(progress.dynamic_shared),
      size, bytes,
      "the dynamic shared memory (" + std::to_string(bytes) + " bytes: the third launch argument)",
      flags, pc);
}

void report_host_access(std::uintptr_t address, std::uint8_t flags, const void* pc) {
  if (!speaks_first({0, place_of(pc)})) return;
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

[[noreturn]] void give_up_outside(worker& w, std::uintptr_t address, std::size_t size,
                                  std::uint8_t flags, const void* pc) {
  {
    const engine_work work(w);
    if (const auto a = allocation_near(address, size))
      describe_outside(w, *a, address, size, flags, pc);
    else
      describe_unknown(w, flags, pc, "memory that is no longer there", ".");
  }
  give_up_block(w);
}

}  // namespace

void refuse_shared(worker& w, std::uintptr_t address, std::size_t size, std::uint8_t flags,
                   const void* pc) {
  {
    const engine_work work(w);
    describe_shared(w, address, size, flags, pc);
  }
  give_up_block(w);
}

void check_host_access(std::uintptr_t address, std::uint8_t flags, const void* pc) {
  const page* p = find_page(address);
  if (p == nullptr || inside_kernel()) return;
  if ((p->device.load(std::memory_order_relaxed) & part_of(address)) != 0)
    return report_host_access(address, flags, pc);
  // (Not what else is in its page: an observer's own memory, perhaps, while it holds its lock.)
  if (!listening(event_kind::by_host) || !is_watched(p, address, 1)) [[likely]]
    return;
  static thread_local bool publishes = false;  // an observer's code may be watched, too
  if (publishes) return;
  publishes = true;
  publish(event_kind::by_host, &observer::host_accessed,
          {address, (flags & kWrite) != 0, (flags & kAtomic) != 0});
  publishes = false;
}

void look_at_unknown(worker& w, const page* p, std::uintptr_t address, std::size_t size,
                     std::uint8_t flags, const void* pc) {
  if (address < 4096) return;  // a null pointer: it faults
  if (p != nullptr && (p->watched.load(std::memory_order_relaxed) & part_of(address)) != 0)
    give_up_outside(w, address, size, flags, pc);
  if (p != nullptr && (p->ignored.load(std::memory_order_relaxed) & part_of(address)) != 0) return;
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
    if (kind == mapping::unreachable) {
      if (address - reinterpret_cast<std::uintptr_t>(w.shared_end) < kPage) {
        describe_shared(w, address, size, flags, pc);
        give_up = true;
      } else if (const auto a = allocation_near(address, size); a && !a->freed) {
        describe_outside(w, *a, address, size, flags, pc);
        give_up = true;
      }
    }
    const bool of_another_thread =
        std::any_of(w.stacks.begin(), w.stacks.end(), [&](const fiber_stack& s) {
          return in_stack(s, address) && address < reinterpret_cast<std::uintptr_t>(s.own_top);
        });
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
            kind == mapping::stack || in_stack(w.stacks[0], address)
                ? "host memory (a local variable of the host)"
                : "host memory (malloc, new, std::vector or a local variable of the host)",
            ".\n  A kernel cannot follow the host's pointers, nor references to the host's "
            "variables: "
            "it takes values and pointers. Try: cudaMalloc memory on the device and cudaMemcpy the "
            "data there, or allocate it with cudaMallocManaged or cudaHostAlloc (mapped), which "
            "both "
            "sides reach.");
    }
  }
  if (give_up) give_up_block(w);
}

}  // namespace cpu_device::check

// -fsanitize=bounds: the compiler calls this where it indexes an array whose length it knows, with
// an index that is too large or negative. It sees what addresses do not tell: arrays in static
// shared memory, local ones, and rows of arrays.
struct cpu_device_type {
  std::uint16_t kind, info;  // of an integer: 0, and its logarithmic size in bits times 2 + signed
  char name[1];              // 'float [256]'
};
struct cpu_device_out_of_bounds {
  const char* file;
  std::uint32_t line, column;
  const cpu_device_type *array, *index;
};
extern "C" void __ubsan_handle_out_of_bounds(const cpu_device_out_of_bounds* what,
                                             std::uintptr_t index) {
  namespace check = cpu_device::check;
  const void* pc = __builtin_return_address(0);
  const std::string type(what->array->name);
  const std::size_t bracket = type.find('[');
  const std::string count =
      bracket == std::string::npos ? "?" : std::to_string(std::atoll(type.c_str() + bracket + 1));
  const unsigned bits = 1U << (what->index->info >> 1);
  auto number = static_cast<std::int64_t>(index);
  if ((what->index->info & 1) != 0 && bits < 64)
    number =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(index) << (64 - bits)) >> (64 - bits);
  const auto text = [&](const std::string& who) {
    return std::string(number < 0 ? "before the begin" : "past the end") + ": " + who +
           " uses element " + std::to_string(number) + " of " + count + " at " +
           cpu_device::short_name(what->file) + ":" + std::to_string(what->line) +
           ", of an array " + type + ".\n  The elements are numbered from 0. Try: " +
           (number < 0 ? "look for an index that becomes negative."
                       : "compare the index with the number of elements before the access, or "
                         "give the array more.");
  };
  if (!cpu_device::progress.watching) {
    if (!cpu_device::inside_kernel() && check::speaks_first({0, check::place_of(pc)}))
      cpu_device::report(text("host code"));
    return;
  }
  cpu_device::worker& w = *cpu_device::progress.self;
  {
    const cpu_device::engine_work work(w);
    w.problem.what = cpu_device::failure::kind::misuse;
    w.problem.error = cudaErrorIllegalAddress;
    w.problem.text = text(check::this_thread_text(w));
  }
  give_up_block(w);
}
