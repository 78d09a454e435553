// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "base/memory.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "base/hashing.hpp"
#include "base/report.hpp"
#include "cpu_device.h"

namespace cpu_device {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kAlignment = 256;  // what cudaMalloc promises
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// What cannot be touched before and behind an allocation. Arrays of the same size, a power of two
// mostly, follow one another in the address space, and a kernel goes through all of them at the
// same pace. Some processors (AMD's) guess which way of the first cache holds a line from a hash of
// the address, bit 12 + i with a bit further up. With nine pages between such arrays their hashes
// differ, whatever the size; with two pages they were the same for arrays of 64 MB, each access
// threw out another array's line, and a vector addition took one and a half times as long.
constexpr std::size_t kGuardBefore = kPage, kGuardBehind = 8 * kPage;
constexpr std::size_t kMaxFreed = 256;
std::atomic<int> poison_byte{0xFF};
std::atomic<bool> leaks_are_excused = false;

std::shared_mutex table_mutex;
std::atomic<pid_t> owner{0};  // the process that allocated last: not the parent of a forked one
// Never destroyed: static objects may free their memory when the program ends.
std::map<std::uintptr_t, allocation>& allocations() {  // by begin
  static auto* all = new std::map<std::uintptr_t, allocation>;
  return *all;
}
std::deque<allocation>& freed_ones() {  // address space kept, not memory
  static auto* all = new std::deque<allocation>;
  return *all;
}
std::map<int, std::size_t>& bytes_in_use() {  // device memory by device
  static auto* all = new std::map<int, std::size_t>;
  return *all;
}

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

std::size_t slack_of(const allocation& a) {
  return static_cast<std::size_t>(static_cast<char*>(a.mapping) + a.mapping_bytes - kGuardBehind -
                                  (a.begin + a.bytes));
}

/// What a byte of the slack holds as long as nobody writes there. Not the poison: that is a NaN,
/// and what is calculated from it is the same NaN, written unseen. Different at each address, too,
/// so that what is copied from one allocation's slack to another's is seen. Always one of the odd
/// bytes from 0xA1 to 0xDF: what kernels write most (small numbers, 255, the low bytes of a whole
/// number as a float) is none of them, wherever the system puts the allocation.
char canary(std::uintptr_t address) {
  return static_cast<char>(0xA1U + 2 * ((address * 0x9E3779B97F4A7C15U) >> 59));
}

/// What it is at `end[i]`. Processes that share an allocation have it at different addresses.
char canary_behind(const allocation& a, std::size_t i) {
  return canary((a.imported ? a.home : number(a.begin)) + a.bytes + i);
}

void fill_slack(const allocation& a) {
  char* end = a.begin + a.bytes;
  const std::size_t n = slack_of(a);
  for (std::size_t i = 0; i < n; ++i) end[i] = canary_behind(a, i);
}

/// The first byte of the slack that somebody has written; null if nobody has.
const char* touched_slack(const allocation& a) {
  const char* end = a.begin + a.bytes;
  const std::size_t n = slack_of(a);
  for (std::size_t i = 0; i < n; ++i)
    if (end[i] != canary_behind(a, i)) return end + i;
  return nullptr;
}

/// Not under the table's lock: observers ask for allocations.
void publish_allocation(void (observer::*what)(const allocation_event&), const allocation& a) {
  if (listening(event_kind::allocation))
    publish(event_kind::allocation, what, {a.begin, a.bytes, a.kind, a.device, nullptr});
}

}  // namespace

void fill_new_memory_with(unsigned char byte) {
  poison_byte.store(byte, std::memory_order_relaxed);
}

void excuse_leaks() { leaks_are_excused.store(true, std::memory_order_relaxed); }
bool leaks_excused() { return leaks_are_excused.load(std::memory_order_relaxed); }

/// After the last static object is gone, so that those may free what they hold.
__attribute__((destructor)) void report_leaks() {
  if (owner != getpid() || leaks_excused()) return;
  const std::shared_lock lock(table_mutex);
  std::size_t bytes = 0, count = 0, open = 0;
  const allocation *first = nullptr, *first_open = nullptr;
  for (const auto& [begin, a] : allocations()) {
    if (a.imported && ++open == 1) first_open = &a;
    if (!a.ours()) continue;
    ++count;
    bytes += a.bytes;
    if (first == nullptr) first = &a;
  }
  if (open != 0)
    explain(std::to_string(open) + (open == 1 ? " allocation" : " allocations") +
            " of other processes never closed; one of them is " + describe(*first_open) +
            ". Each cudaIpcOpenMemHandle needs its cudaIpcCloseMemHandle.");
  if (count == 0) return;
  explain(std::to_string(count) + (count == 1 ? " allocation (" : " allocations (") +
          human_bytes(bytes) + ") never freed; one of them is " + describe(*first) +
          ". Each cudaMalloc needs its cudaFree, also on the way out of an error.");
}

std::size_t device_capacity() {
  static const std::size_t bytes = [] {
    if (const char* text = std::getenv("CPU_DEVICE_MEMORY_MB")) {
      const unsigned long long mb = std::strtoull(text, nullptr, 10);
      if (mb > 0) return static_cast<std::size_t>(mb) << 20;
    }
    // A quarter of the machine's memory: two devices and their host copies must fit.
    const long pages = sysconf(_SC_PHYS_PAGES);
    return static_cast<std::size_t>(pages > 0 ? pages : 1L << 18) * kPage / 4;
  }();
  return bytes;
}

std::size_t device_bytes_in_use(int device) {
  const std::shared_lock lock(table_mutex);
  const auto it = bytes_in_use().find(device);
  return it == bytes_in_use().end() ? 0 : it->second;
}

namespace {

char* low_of(const allocation& a) { return static_cast<char*>(a.mapping) + kGuardBefore; }
std::size_t room_of(const allocation& a) { return a.mapping_bytes - kGuardBefore - kGuardBehind; }

/// Finds a place for `bytes` bytes and the guard pages: pages of `file`, or new ones (-1).
bool map_pages(allocation& a, std::size_t bytes, int file) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const std::size_t room = (rounded + kPage - 1) / kPage * kPage;
  const std::size_t total = kGuardBefore + room + kGuardBehind;
  void* map = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  char* low = static_cast<char*>(map) + kGuardBefore;
  if (file < 0 ? mprotect(low, room, PROT_READ | PROT_WRITE) != 0
               : mmap(low, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
                     MAP_FAILED) {
    munmap(map, total);
    return false;
  }
  a.begin = low + room - rounded;
  a.bytes = bytes;
  a.mapping = map;
  a.mapping_bytes = total;
  return true;
}

/// From now on it is found by its addresses.
void enter(const allocation& a) {
  {
    static std::uint64_t entered = 0;
    const std::unique_lock lock(table_mutex);
    allocation& there = allocations()[number(a.begin)] = a;
    there.number = ++entered;
  }
  publish_allocation(&observer::allocated, a);
}

}  // namespace

void* allocate(std::size_t bytes, memory_kind kind, int device, unsigned flags,
               const void* made_at) {
  owner = getpid();
  if (bytes > device_capacity() * 8) return nullptr;  // also keeps the arithmetic from wrapping
  const bool counts = kind == memory_kind::device || kind == memory_kind::managed;
  {
    const std::unique_lock lock(table_mutex);
    std::size_t& used = bytes_in_use()[device];
    if (counts) {
      if (bytes > device_capacity() - std::min(used, device_capacity())) return nullptr;
      used += bytes;
    }
  }
  allocation a;
  if (!map_pages(a, bytes, -1)) {
    const std::unique_lock lock(table_mutex);
    if (counts) bytes_in_use()[device] -= bytes;
    return nullptr;
  }
  if (room_of(a) >= 2 * kHugePage) madvise(low_of(a), room_of(a), MADV_HUGEPAGE);
  std::memset(low_of(a), poison_byte.load(std::memory_order_relaxed), room_of(a));
  a.kind = kind;
  a.device = device;
  a.flags = flags;
  a.made_at = made_at;
  fill_slack(a);
  enter(a);
  return a.begin;
}

namespace {

/// Takes the allocation out of the table.
std::optional<allocation> take(void* pointer, bool device_memory, std::string* why_not) {
  const std::unique_lock lock(table_mutex);
  const auto it = allocations().find(number(pointer));
  const auto fits = [&](const allocation& a) {
    return device_memory ? a.kind == memory_kind::device || a.kind == memory_kind::managed
                         : a.kind == memory_kind::pinned;
  };
  if (it == allocations().end() || it->second.imported || !fits(it->second)) {
    if (it != allocations().end() && it->second.imported) {
      *why_not =
          "the pointer came from cudaIpcOpenMemHandle, and cudaIpcCloseMemHandle gives it back";
      return std::nullopt;
    }
    if (it != allocations().end()) {
      *why_not = device_memory ? "the pointer came from cudaMallocHost or cudaHostAlloc, which "
                                 "cudaFreeHost frees"
                               : "the pointer came from cudaMalloc, which cudaFree frees";
      return std::nullopt;
    }
    for (const allocation& a : freed_ones())
      if (a.begin == pointer) {
        *why_not = "this memory was freed before (a double free)";
        return std::nullopt;
      }
    for (const auto& [begin, a] : allocations())
      if (number(pointer) > begin && number(pointer) < begin + a.bytes) {
        *why_not = "the pointer points into an allocation, not to its begin";
        return std::nullopt;
      }
    *why_not = "the pointer is not device memory: free() and delete are for host memory";
    return std::nullopt;
  }
  const allocation a = it->second;
  allocations().erase(it);
  if (a.kind != memory_kind::pinned) bytes_in_use()[a.device] -= a.bytes;
  return a;
}

/// What becomes of one that is in the table no more. Keeps the addresses, gives the memory back: a
/// later use faults and can be explained.
void retire(allocation a) {
  publish_allocation(&observer::freed, a);
  const std::unique_lock lock(table_mutex);
  if (mmap(a.mapping, a.mapping_bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    munmap(a.mapping, a.mapping_bytes);
    return;
  }
  a.freed = true;
  a.file.reset();
  freed_ones().push_back(std::move(a));
  if (freed_ones().size() > kMaxFreed) {
    munmap(freed_ones().front().mapping, freed_ones().front().mapping_bytes);
    freed_ones().pop_front();
  }
}

}  // namespace

bool release(void* pointer, bool device_memory, std::string* why_not) {
  std::optional<allocation> taken = take(pointer, device_memory, why_not);
  if (!taken) return false;
  retire(*std::move(taken));
  return true;
}

// --- memory of several processes ----------------------------------------------------------------

std::shared_ptr<const shared_file> share(void* pointer, std::string* why) {
  const std::unique_lock lock(table_mutex);
  allocation& a = allocations().at(number(pointer));
  if (a.file != nullptr) return a.file;
  const auto file = shared_file::make(room_of(a), why);
  if (file == nullptr) return nullptr;
  void* copy = mmap(nullptr, room_of(a), PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor(), 0);
  if (copy != MAP_FAILED) {
    std::memcpy(copy, low_of(a), room_of(a));
    if (mremap(copy, room_of(a), room_of(a), MREMAP_MAYMOVE | MREMAP_FIXED, low_of(a)) !=
        MAP_FAILED)
      return a.file = file;
    *why = std::strerror(errno);
    munmap(copy, room_of(a));
  } else {
    *why = std::strerror(errno);
  }
  return nullptr;
}

void* open_shared(const shared_file& file, std::size_t bytes, std::uintptr_t home, int device,
                  const void* made_at, std::string* why) {
  owner = getpid();
  {
    const std::unique_lock lock(table_mutex);
    for (auto& [begin, a] : allocations()) {
      if (!a.imported || a.token != file.token() || a.device != device) continue;
      ++a.opened;
      return a.begin;
    }
  }
  allocation a;
  struct stat status {};
  const bool fits =
      fstat(file.descriptor(), &status) == 0 && bytes <= static_cast<std::size_t>(status.st_size);
  const bool mapped = fits && map_pages(a, bytes, file.descriptor());
  if (!mapped) {
    *why = fits ? std::strerror(errno) : "the handle has been changed";
    return nullptr;
  }
  a.device = device;
  a.made_at = made_at;
  a.imported = true;
  a.opened = 1;
  a.token = file.token();
  a.home = home;
  enter(a);
  return a.begin;
}

bool close_shared(void* pointer) {
  allocation a;
  {
    const std::unique_lock lock(table_mutex);
    const auto it = allocations().find(number(pointer));
    if (it == allocations().end() || !it->second.imported) return false;
    if (--it->second.opened != 0) return true;
    a = std::move(it->second);
    allocations().erase(it);
  }
  retire(std::move(a));
  return true;
}

std::size_t live_openings() {
  const std::shared_lock lock(table_mutex);
  std::size_t count = 0;
  for (const auto& [begin, a] : allocations()) count += static_cast<std::size_t>(a.opened);
  return count;
}

namespace {
void set_closed(void* pointer, bool closed, bool of_graph) {
  const std::unique_lock lock(table_mutex);
  const auto it = allocations().find(number(pointer));
  if (it == allocations().end()) return;
  it->second.of_graph |= of_graph;
  if (it->second.closed == closed) return;
  it->second.closed = closed;
  mprotect(low_of(it->second), room_of(it->second), closed ? PROT_NONE : PROT_READ | PROT_WRITE);
}
}  // namespace

void close_memory(void* pointer, bool of_graph) { set_closed(pointer, true, of_graph); }
void open_memory(void* pointer) { set_closed(pointer, false, false); }

void set_access(void* pointer, device_set devices) {
  const std::unique_lock lock(table_mutex);
  allocations().at(number(pointer)).reached_by = std::move(devices);
}

std::optional<allocation> find_allocation(const void* address) {
  const std::shared_lock lock(table_mutex);
  auto it = allocations().upper_bound(number(address));
  if (it == allocations().begin()) return std::nullopt;
  --it;
  const allocation& a = it->second;
  // One past the end still names the allocation: an empty range may stand there.
  if (number(address) >= number(a.begin) + std::max<std::size_t>(a.bytes, 1)) return std::nullopt;
  return a;
}

std::optional<allocation> find_freed(const void* address) {
  const std::shared_lock lock(table_mutex);
  for (auto it = freed_ones().rbegin(); it != freed_ones().rend(); ++it)
    if (number(address) >= number(it->begin) && number(address) < number(it->begin) + it->bytes)
      return *it;
  return std::nullopt;
}

std::optional<allocation> find_near(const void* address) {
  const auto inside = [&](const allocation& a) {
    return number(address) >= number(a.mapping) &&
           number(address) < number(a.mapping) + a.mapping_bytes;
  };
  const std::shared_lock lock(table_mutex);
  for (const auto& [begin, a] : allocations())
    if (inside(a)) return a;
  for (auto it = freed_ones().rbegin(); it != freed_ones().rend(); ++it)
    if (inside(*it)) return *it;
  return std::nullopt;
}

bool check_slack(const char* after_what) {
  std::vector<std::string> found;
  {
    const std::shared_lock lock(table_mutex);
    for (const auto& [begin, a] : allocations()) {
      if (!a.has_slack() || a.closed || slack_of(a) == 0) continue;
      const char* touched = touched_slack(a);
      if (touched == nullptr) continue;
      const auto past = static_cast<std::size_t>(touched - (a.begin + a.bytes));
      found.push_back("kernel " + std::string(after_what) +
                      " wrote outside an allocation: " + past_the_end_of(past) + describe(a) +
                      ".\n  On a GPU this destroys other data without a word. Try: compare the "
                      "thread's index with the length before the access.");
      fill_slack(a);
    }
  }
  for (const std::string& text : found) report(text);
  return !found.empty();
}

std::optional<std::uint64_t> memory_reading::go_on(std::size_t bytes) {
  // Whoever watches kernels must not wait for one that was interrupted with the lock.
  const std::shared_lock lock(table_mutex, std::try_to_lock);
  if (!lock) return std::nullopt;
  auto it = allocations().upper_bound(next_);
  if (it != allocations().begin()) --it;
  for (; it != allocations().end(); ++it) {
    const allocation& a = it->second;
    const std::uintptr_t end = number(a.begin) + a.bytes;
    if (a.closed || !a.has_slack() || end <= next_) continue;
    const std::uintptr_t from = std::max(number(a.begin), next_);
    const std::size_t piece = std::min<std::size_t>(end - from, bytes);
    hash_ = hash_bytes(hash_, reinterpret_cast<const void*>(from), piece);
    next_ = from + piece;
    bytes -= piece;
    if (bytes == 0) return std::nullopt;
  }
  const std::uint64_t hash = hash_;
  *this = {};
  return hash;
}

void release_device(int device) {
  std::vector<void*> mine;
  {
    const std::shared_lock lock(table_mutex);
    for (const auto& [begin, a] : allocations())
      if (a.device == device && (a.kind == memory_kind::device || a.kind == memory_kind::managed))
        mine.push_back(a.begin);
  }
  std::string ignored;
  for (void* p : mine)
    if (!release(p, true, &ignored))
      while (close_shared(p)) continue;
}

cudaError_t register_host(void* pointer, std::size_t bytes, unsigned flags) {
  std::unique_lock lock(table_mutex);
  const auto next = allocations().lower_bound(number(pointer));
  const bool overlaps_next = next != allocations().end() && next->first < number(pointer) + bytes;
  bool overlaps_previous = false;
  if (next != allocations().begin()) {
    const auto previous = std::prev(next);
    overlaps_previous = previous->first + previous->second.bytes > number(pointer);
  }
  if (overlaps_next || overlaps_previous) return cudaErrorHostMemoryAlreadyRegistered;
  allocation a;
  a.begin = static_cast<char*>(pointer);
  a.bytes = bytes;
  a.kind = memory_kind::registered;
  a.flags = flags;
  allocations()[number(pointer)] = a;
  lock.unlock();
  publish_allocation(&observer::allocated, a);
  return cudaSuccess;
}

void note_symbol(void* pointer, std::size_t bytes) {
  const std::unique_lock lock(table_mutex);
  allocation& a = allocations()[number(pointer)];
  a.begin = static_cast<char*>(pointer);
  a.bytes = bytes;
  a.kind = memory_kind::symbol;
}

bool unregister_host(void* pointer) {
  std::unique_lock lock(table_mutex);
  const auto it = allocations().find(number(pointer));
  if (it == allocations().end() || it->second.kind != memory_kind::registered) return false;
  const allocation a = it->second;
  allocations().erase(it);
  lock.unlock();
  publish_allocation(&observer::freed, a);
  return true;
}

std::string describe(const allocation& a) {
  static constexpr const char* kNames[] = {"device memory", "managed memory", "pinned host memory",
                                           "registered host memory", "a __device__ variable"};
  std::string text = kNames[static_cast<int>(a.kind)];
  text += (a.imported ? " of another process (" : " (") + human_bytes(a.bytes);
  const std::string place = source_place(a.made_at);
  if (!place.empty()) text += (a.imported ? ", opened at " : ", allocated at ") + place;
  return text + (!a.freed ? ")" : a.imported ? ", already closed)" : ", already freed)");
}

const char* pitch_advice(const allocation& a) {
  if (a.kind != memory_kind::device || (a.flags & kPitchedRows) == 0) return "";
  return " A pitch counts bytes: is it added to a char*, and not to a pointer to the elements?";
}

std::size_t live_allocations() {
  const std::shared_lock lock(table_mutex);
  return static_cast<std::size_t>(
      std::count_if(allocations().begin(), allocations().end(),
                    [](const auto& entry) { return entry.second.ours(); }));
}

std::string newest_allocation() {
  const std::shared_lock lock(table_mutex);
  const allocation* newest = nullptr;
  for (const auto& [begin, a] : allocations())
    if (a.ours() && (newest == nullptr || a.number > newest->number)) newest = &a;
  return newest == nullptr ? std::string() : describe(*newest);
}

std::size_t live_registrations() {
  const std::shared_lock lock(table_mutex);
  return static_cast<std::size_t>(std::count_if(
      allocations().begin(), allocations().end(),
      [](const auto& entry) { return entry.second.kind == memory_kind::registered; }));
}

std::size_t live_bytes() {
  const std::shared_lock lock(table_mutex);
  std::size_t bytes = 0;
  for (const auto& [begin, a] : allocations())
    if (a.ours()) bytes += a.bytes;
  return bytes;
}

}  // namespace cpu_device
