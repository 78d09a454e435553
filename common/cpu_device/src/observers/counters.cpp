// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A GPU executes a memory instruction for the lanes of a warp together, as one request. Here the
// threads of a warp run one after the other, so requests are put together again: the n-th time that
// one lane executes an instruction belongs to the n-th time that the others do. Counting begins
// anew at every barrier of the block, since no request reaches across one.
//
// That is what a GPU does where the lanes of a warp take the same way, or differ in whether or how
// often they go through a loop. It is a guess where they pass an instruction in different rounds of
// a loop: lane 0 in the first round and lane 1 in the second become one request here.
//
// A request waits for the missing lanes until the next barrier. Requests that wait take memory, of
// which each worker has a fixed amount. When it is used up, executions behind that one are not
// counted, for any lane of the warp, until the next barrier; how many is counted.

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "base/report.hpp"
#include "cpu_device.h"
#include "engine/engine.hpp"
#include "observers/watched_code.hpp"

namespace cpu_device {
namespace {

constexpr unsigned kLanes = 32;
constexpr std::uint32_t kNever = 0xFFFFFFFF;
constexpr unsigned kMostInstructions = 4096;      // in one kernel; a power of two
constexpr std::size_t kArenaBytes = 64ULL << 20;  // of requests that wait, for each worker

struct request {
  std::uint32_t lanes;  // that have come, a bit each
  std::uint64_t address[kLanes];
};

/// The request of an instruction, and later of a line, that cost most; the first of those.
struct example {
  std::uint64_t cost = 0;  // sectors, wavefronts or turns; 0: none yet
  request what{};

  void consider(std::uint64_t other_cost, const request& other) {
    if (other_cost <= cost) return;
    cost = other_cost;
    what = other;
  }
};

/// What is added up for an instruction, and later for a line.
struct sums {
  std::uint64_t requests = 0, lanes = 0, lanes_of_warps = 0;
  std::uint64_t sectors = 0, ideal_sectors = 0, bytes_used = 0;
  std::uint64_t wavefronts = 0, ideal_wavefronts = 0;
  std::uint64_t turns = 0, same_address = 0;
  std::uint64_t not_counted = 0;
  example worst;

  void add(const sums& s) {
    requests += s.requests, lanes += s.lanes, lanes_of_warps += s.lanes_of_warps;
    sectors += s.sectors, ideal_sectors += s.ideal_sectors, bytes_used += s.bytes_used;
    wavefronts += s.wavefronts, ideal_wavefronts += s.ideal_wavefronts;
    turns += s.turns, same_address += s.same_address;
    not_counted += s.not_counted;
    worst.consider(s.worst.cost, s.worst.what);
  }
};

/// An instruction as one warp executes it: requests number first .. first + capacity - 1 wait.
struct stream {
  std::uint32_t executed[kLanes];  // how often each lane has, since the last barrier
  std::uint32_t first;
  std::uint32_t capacity;  // of the ring: 0 or a power of two
  std::uint32_t limit;     // executions from this one on are not counted; 0: never set
  request* ring;           // request n is at n % capacity
};

struct instruction {
  std::uint32_t place;
  access_kind kind;
  std::uint8_t bytes;
  bool used;
  std::uint32_t touched;  // warps, a bit each: their streams are not empty
  sums sum;
  stream warp[kLanes];
};

/// The memory of a worker; all of it is mapped at the first access and freed never: workers live
/// as long as the program. Zero bytes are an empty state.
struct tables {
  instruction* all = nullptr;  // a hash table
  char* arena = nullptr;
  std::size_t arena_used = 0;
  unsigned used[kMostInstructions];  // the slots of `all` that are in use
  unsigned used_count = 0;
  unsigned touched[kMostInstructions];  // those with a stream that is not empty
  unsigned touched_count = 0;
  unsigned epoch = 0;  // of the block's barriers: whose requests wait
  unsigned block_threads = 0;
  std::uint64_t no_room = 0;  // accesses by more instructions than the table has room for
};
thread_local constinit tables* tls_tables = nullptr;

void* map_zeroed(std::size_t bytes) {
  void* map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) {
    std::fprintf(stderr, "CPU device: no memory left to count accesses. Try a smaller size.\n");
    std::abort();
  }
  return map;
}

tables& tables_of_worker() {
  if (tls_tables == nullptr) {
    auto* t = static_cast<tables*>(map_zeroed(sizeof(tables)));
    t->all = static_cast<instruction*>(map_zeroed(sizeof(instruction) * kMostInstructions));
    t->arena = static_cast<char*>(map_zeroed(kArenaBytes));
    tls_tables = t;
  }
  return *tls_tables;
}

// --- what a request costs -----------------------------------------------------------------------

/// Sectors are the aligned 32 bytes in which global memory is moved. An access is aligned to its
/// size, so it lies in one of them.
void count_sectors(const request& r, unsigned bytes, sums& s) {
  std::uint64_t sector[kLanes];
  std::uint32_t used[kLanes];  // bytes of it, a bit each
  unsigned count = 0;
  for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const std::uint64_t address = r.address[std::countr_zero(left)];
    unsigned i = count;
    while (i > 0 && sector[i - 1] != address / 32) --i;
    if (i == 0) {
      sector[count] = address / 32;
      used[count] = 0;
      i = ++count;
    }
    used[i - 1] |= ((1U << bytes) - 1U) << (address % 32);
  }
  unsigned bytes_used = 0;
  for (unsigned i = 0; i < count; ++i) bytes_used += static_cast<unsigned>(std::popcount(used[i]));
  s.sectors += count;
  s.bytes_used += bytes_used;
  s.ideal_sectors += (bytes_used + 31) / 32;
}

/// Shared memory has 32 banks of 4-byte words. A wavefront gets one word from each bank, for as
/// many lanes as want it. Accesses of 8 bytes are done for half a warp at a time, those of 16 for
/// a quarter.
void count_wavefronts(const request& r, unsigned bytes, sums& s) {
  const unsigned together = bytes <= 4 ? 32 : 128 / bytes;  // lanes
  for (unsigned begin = 0; begin < kLanes; begin += together) {
    const std::uint32_t part = together == 32 ? kNever : ((1U << together) - 1U) << begin;
    if ((r.lanes & part) == 0) continue;
    std::uint64_t words[kLanes];  // distinct ones: an access has bytes / 4, a part 32
    unsigned count = 0, most = 0;
    unsigned in_bank[kLanes] = {};
    for (std::uint32_t left = r.lanes & part; left != 0; left &= left - 1) {
      const std::uint64_t first = r.address[std::countr_zero(left)] / 4;
      for (std::uint64_t word = first; word < first + (bytes + 3) / 4; ++word) {
        unsigned i = count;
        while (i > 0 && words[i - 1] != word) --i;
        if (i > 0) continue;
        words[count++] = word;
        most = std::max(most, ++in_bank[word % 32]);
      }
    }
    s.wavefronts += most;
    s.ideal_wavefronts += 1;
  }
}

/// How often each address comes up. `turns`: for atomics, updates of one word (of one bank, in
/// shared memory) are done one after the other; for loads of variables, the distinct words.
void count_addresses(const request& r, access_kind kind, sums& s) {
  std::uint64_t word[kLanes];
  unsigned times[kLanes], count = 0, most = 0;
  unsigned in_bank[kLanes] = {};
  for (std::uint32_t left = r.lanes; left != 0; left &= left - 1) {
    const std::uint64_t at = r.address[std::countr_zero(left)] / 4;
    unsigned i = count;
    while (i > 0 && word[i - 1] != at) --i;
    if (i == 0) {
      word[count] = at;
      times[count] = 0;
      i = ++count;
    }
    most = std::max(most, ++times[i - 1]);
    ++in_bank[at % 32];
  }
  if (kind == access_kind::variable_load)
    s.turns += count;
  else if (kind == access_kind::shared_atomic)
    s.turns += *std::max_element(in_bank, in_bank + kLanes);
  else
    s.turns += most;
  s.same_address += static_cast<unsigned>(std::popcount(r.lanes)) - count;
}

void finish(const request& r, instruction& i, unsigned lanes_of_warp) {
  sums& s = i.sum;
  const std::uint64_t before = s.sectors + s.wavefronts + s.turns;
  ++s.requests;
  s.lanes += static_cast<unsigned>(std::popcount(r.lanes));
  s.lanes_of_warps += lanes_of_warp;
  switch (i.kind) {
    case access_kind::shared_load:
    case access_kind::shared_store:
      count_wavefronts(r, i.bytes, s);
      break;
    case access_kind::shared_atomic:
      count_addresses(r, i.kind, s);
      break;
    case access_kind::global_atomic:
    case access_kind::variable_load:
      count_addresses(r, i.kind, s);
      count_sectors(r, i.bytes, s);
      break;
    default:
      count_sectors(r, i.bytes, s);
      break;
  }
  s.worst.consider(s.sectors + s.wavefronts + s.turns - before, r);
}

// --- putting requests together ------------------------------------------------------------------

unsigned lanes_of_warp(unsigned warp, unsigned threads) {
  return std::min(kLanes, threads - warp * kLanes);
}

/// The lanes that a request has not seen by now will not come: a barrier, or the block's end.
void finish_all(tables& t) {
  for (unsigned k = 0; k < t.touched_count; ++k) {
    instruction& i = t.all[t.touched[k]];
    for (; i.touched != 0; i.touched &= i.touched - 1) {
      const auto warp = static_cast<unsigned>(std::countr_zero(i.touched));
      stream& s = i.warp[warp];
      for (std::uint32_t n = s.first; n != s.first + s.capacity; ++n) {
        const request& r = s.ring[n & (s.capacity - 1)];
        if (r.lanes != 0) finish(r, i, lanes_of_warp(warp, t.block_threads));
      }
      s = {};
    }
  }
  t.touched_count = 0;
  t.arena_used = 0;
}

/// Room for request n; false where the memory is used up.
bool grow(tables& t, stream& s, std::uint32_t n) {
  const std::uint32_t capacity = std::bit_ceil(n - s.first + 1);
  const std::size_t bytes = sizeof(request) * capacity;
  if (bytes > kArenaBytes - t.arena_used) return false;
  auto* ring = reinterpret_cast<request*>(t.arena + t.arena_used);
  t.arena_used += bytes;
  for (std::uint32_t k = 0; k < capacity; ++k) ring[k].lanes = 0;
  for (std::uint32_t k = s.first; k != s.first + s.capacity; ++k)
    ring[k & (capacity - 1)] = s.ring[k & (s.capacity - 1)];
  s.ring = ring;
  s.capacity = capacity;
  return true;
}

/// Null where the table is full.
instruction* find_instruction(tables& t, std::uint32_t place, access_kind kind, unsigned bytes) {
  std::uint32_t slot = place * 0x9E3779B1U + static_cast<unsigned>(kind) * 0x85EBCA6BU + bytes;
  slot ^= slot >> 15;
  for (unsigned tries = 0; tries < 64; ++tries, ++slot) {
    instruction& i = t.all[slot & (kMostInstructions - 1)];
    if (i.used && i.place == place && i.kind == kind && i.bytes == bytes) return &i;
    if (i.used) continue;
    t.used[t.used_count++] = slot & (kMostInstructions - 1);
    i.place = place;
    i.kind = kind;
    i.bytes = static_cast<std::uint8_t>(bytes);
    i.used = true;
    return &i;
  }
  return nullptr;
}

void count_part(tables& t, std::uintptr_t address, unsigned bytes, access_kind kind,
                std::uint32_t place, unsigned linear) {
  instruction* i = find_instruction(t, place, kind, bytes);
  if (i == nullptr) {
    ++t.no_room;
    return;
  }
  const unsigned warp = linear / kLanes, lane = linear % kLanes;
  stream& s = i->warp[warp];
  if ((i->touched >> warp & 1U) == 0) {
    if (i->touched == 0) t.touched[t.touched_count++] = static_cast<unsigned>(i - t.all);
    i->touched |= 1U << warp;
    s.limit = kNever;
  }
  const std::uint32_t n = s.executed[lane]++;
  if (n >= s.limit || (n - s.first >= s.capacity && !grow(t, s, n))) {
    s.limit = std::min(s.limit, n);
    ++i->sum.not_counted;
    return;
  }
  request& r = s.ring[n & (s.capacity - 1)];
  r.address[lane] = address;
  r.lanes |= 1U << lane;
  // Requests are complete in order, where they are complete at all.
  const unsigned lanes = lanes_of_warp(warp, t.block_threads);
  const std::uint32_t all = lanes == kLanes ? kNever : (1U << lanes) - 1U;
  while (s.capacity != 0) {
    request& oldest = s.ring[s.first & (s.capacity - 1)];
    if (oldest.lanes != all) break;
    finish(oldest, *i, lanes);
    oldest.lanes = 0;
    ++s.first;
  }
}

// --- totals -------------------------------------------------------------------------------------

using total_key = std::tuple<std::string, std::uint32_t, access_kind, unsigned>;
struct totals {
  std::mutex mutex;
  std::map<total_key, sums> all;
  std::map<std::uint32_t, std::string> source;  // places that have been looked up: that is slow
  std::uint64_t no_room = 0;
};
totals& all_totals() {
  static auto* t = new totals;  // never destroyed: read when the program ends
  return *t;
}

struct program_range {
  std::uintptr_t begin = 0, low = 0, high = 0;  // where it is mapped, and its variables
};

/// The program's own variables. (It is the first that is found.)
const program_range& program() {
  static const program_range found = [] {
    program_range range;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          auto& r = *static_cast<program_range*>(out);
          r.begin = info->dlpi_addr;
          for (int h = 0; h < info->dlpi_phnum; ++h) {
            const auto& part = info->dlpi_phdr[h];
            if (part.p_type != PT_LOAD || (part.p_flags & PF_W) == 0) continue;
            r.low = info->dlpi_addr + part.p_vaddr;
            r.high = r.low + part.p_memsz;
          }
          return 1;
        },
        &range);
    return range;
  }();
  return found;
}

access_kind kind_of(std::uintptr_t address, bool write, bool atomic, bool shared) {
  if (shared)
    return atomic && write ? access_kind::shared_atomic
           : write         ? access_kind::shared_store
                           : access_kind::shared_load;
  if (write) return atomic ? access_kind::global_atomic : access_kind::global_store;
  const program_range& p = program();
  return address >= p.low && address < p.high ? access_kind::variable_load
                                              : access_kind::global_load;
}

/// Allocates nothing and locks nothing, as the block may be given up at any moment.
class access_counter final : public observer {
  void accessed(const access_event& e) override {
    tables& t = tables_of_worker();
    const worker& w = *progress.self;
    if (t.epoch != w.block_epoch || t.block_threads != progress.count) {
      finish_all(t);
      t.epoch = w.block_epoch;
      t.block_threads = progress.count;
    }
    const access_kind kind = kind_of(e.address, e.writes, e.atomic, e.shared);
    // A GPU's accesses are aligned to their size. Others (structures) become several.
    std::size_t part = e.bytes;
    if (e.in_parts || !std::has_single_bit(part) || part > 16 || e.address % part != 0)
      part = (e.address | part) % 4 == 0 ? 4 : (e.address | part) % 2 == 0 ? 2 : 1;
    const auto place =
        static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(e.pc) - program().begin);
    for (std::size_t done = 0; done < e.bytes; done += part)
      count_part(t, e.address + done, static_cast<unsigned>(part), kind, place, e.thread);
  }
};
access_counter& counter() {
  static auto* one = new access_counter;
  return *one;
}
bool counting = false;

/// A worker has done its share of a launch: adds what it counted to the totals.
void add_to_totals(const worker& w) {
  if (tls_tables == nullptr) return;
  tables& t = *tls_tables;
  finish_all(t);
  totals& total = all_totals();
  const std::lock_guard lock(total.mutex);
  std::string kernel = w.launch->site.kernel;  // as the program has it, perhaps over several lines
  std::replace_if(
      kernel.begin(), kernel.end(), [](char c) { return c < ' '; }, ' ');
  for (unsigned k = 0; k < t.used_count; ++k) {
    instruction& i = t.all[t.used[k]];
    total.all[{kernel, i.place, i.kind, i.bytes}].add(i.sum);
    i.sum = {};
    i.used = false;
  }
  total.no_room += t.no_room;
  t.no_room = 0;
  t.used_count = 0;
}

}  // namespace

void count_accesses(bool on) {
  program();
  counting = on && accesses_are_published;
  hooks.share_ends = counting ? add_to_totals : nullptr;
  if (counting)
    add_observer(counter(), static_cast<event_set>(event_kind::access));
  else
    remove_observer(counter());
}

void reset_counters() {
  totals& total = all_totals();
  const std::lock_guard lock(total.mutex);
  total.all.clear();
  total.no_room = 0;
}

namespace {

struct counted_line {
  access_counters counters;
  example worst;
};

/// Sorted by kernel, file, line and kind.
std::vector<counted_line> counted_lines() {
  totals& total = all_totals();
  const std::lock_guard lock(total.mutex);
  std::vector<std::uint32_t> unknown;
  std::vector<const void*> instructions;
  for (const auto& [key, sum] : total.all) {
    const auto [source, is_new] = total.source.try_emplace(std::get<1>(key));
    if (is_new) source->second = check::call_text(source->first);
    if (!source->second.empty() || !is_new) continue;
    unknown.push_back(std::get<1>(key));
    instructions.push_back(reinterpret_cast<const void*>(program().begin + unknown.back()));
  }
  std::size_t number = 0;
  for (std::string& place : source_places(instructions))
    total.source[unknown[number++]] = std::move(place);

  // Several instructions of one line are one row where they do the same kind of access.
  std::map<std::tuple<std::string, std::string, int, access_kind, unsigned>, sums> rows;
  for (const auto& [key, sum] : total.all) {
    const std::string& place = total.source[std::get<1>(key)];
    const std::size_t colon = place.rfind(':');
    const bool known = colon != std::string::npos;
    rows[{std::get<0>(key), known ? place.substr(0, colon) : "",
          known ? std::atoi(place.c_str() + colon + 1) : 0, std::get<2>(key), std::get<3>(key)}]
        .add(sum);
  }
  std::vector<counted_line> result;
  for (const auto& [key, s] : rows) {
    const auto& [kernel, file, line, kind, bytes] = key;
    result.push_back({{kernel, file, line, kind, bytes, s.requests, s.lanes, s.lanes_of_warps,
                       s.sectors, s.ideal_sectors, s.bytes_used, s.wavefronts, s.ideal_wavefronts,
                       s.turns, s.same_address, s.not_counted},
                      s.worst});
  }
  if (total.no_room != 0)
    explain("the counters are incomplete: a kernel has too many instructions that use memory. " +
            std::to_string(total.no_room) + " accesses are not counted.");
  return result;
}

/// "0 4 - 12 …": the bytes that each lane's address lies behind the lowest one, or behind the
/// multiple of 128 before that: so sectors and banks stay what they are.
std::string written(const example& e) {
  if (e.cost == 0) return "-";
  std::uint64_t lowest = UINT64_MAX;
  for (std::uint32_t left = e.what.lanes; left != 0; left &= left - 1)
    lowest = std::min(lowest, e.what.address[std::countr_zero(left)]);
  std::string text;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (lane != 0) text += ' ';
    text += (e.what.lanes >> lane & 1U) == 0
                ? "-"
                : std::to_string(e.what.address[lane] - lowest / 128 * 128);
  }
  return text;
}

}  // namespace

std::vector<access_counters> read_counters() {
  std::vector<access_counters> result;
  for (counted_line& line : counted_lines()) result.push_back(std::move(line.counters));
  return result;
}

const char* name_of(access_kind kind) {
  switch (kind) {
    case access_kind::global_load:
      return "global load";
    case access_kind::global_store:
      return "global store";
    case access_kind::global_atomic:
      return "global atomic";
    case access_kind::shared_load:
      return "shared load";
    case access_kind::shared_store:
      return "shared store";
    case access_kind::shared_atomic:
      return "shared atomic";
    default:
      return "variable load";
  }
}

namespace {

/// CPU_DEVICE_COUNTERS=FILE: counts from the start, and writes a table when the program ends.
void write_counters(const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    explain("CPU_DEVICE_COUNTERS: cannot write " + std::string(path) + ": " + std::strerror(errno));
    return;
  }
  std::fprintf(file,
               "kernel\tfile\tline\taccess\tbytes\trequests\tlanes\tlanes_of_warps\tsectors\t"
               "ideal_sectors\tbytes_used\twavefronts\tideal_wavefronts\tturns\tsame_address\t"
               "not_counted\tworst\n");
  for (const auto& [c, worst] : counted_lines()) {
    std::fprintf(file, "%s\t%s\t%d\t%s\t%u", c.kernel.c_str(), c.file.c_str(), c.line,
                 name_of(c.kind), c.bytes);
    for (const std::uint64_t value :
         {c.requests, c.lanes, c.lanes_of_warps, c.sectors, c.ideal_sectors, c.bytes_used,
          c.wavefronts, c.ideal_wavefronts, c.turns, c.same_address, c.not_counted})
      std::fprintf(file, "\t%llu", static_cast<unsigned long long>(value));
    std::fprintf(file, "\t%s\n", written(worst).c_str());
  }
  if (std::fclose(file) != 0)
    explain("CPU_DEVICE_COUNTERS: cannot write " + std::string(path) + ": " + std::strerror(errno));
}

[[maybe_unused]] const bool started = [] {
  const char* path = std::getenv("CPU_DEVICE_COUNTERS");
  if (path == nullptr || *path == '\0') return false;
  count_accesses(true);
  if (!counting) {
    explain(
        "CPU_DEVICE_COUNTERS is ignored: only a program whose kernels were compiled with "
        "-fsanitize=thread (the check build) can count.");
    return false;
  }
  std::atexit([] { write_counters(std::getenv("CPU_DEVICE_COUNTERS")); });
  return true;
}();

}  // namespace
}  // namespace cpu_device
