// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "recording.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#include <cpu_device/events.h>
#include <nccl.h>
#endif

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lab/mpi_companion.hpp"

namespace lab::testing {
namespace detail {

#ifdef __CPU_DEVICE__

namespace {

constexpr bool starts_a_library(std::string_view name) {
  return name.starts_with("cub::") || name.starts_with("thrust::");
}

/// All counters, by kind; `complete` is false when some accesses found no room.
std::map<std::string, recorded_work::cost> read_costs(bool& complete) {
  std::map<std::string, recorded_work::cost> costs;
  for (const cpu_device::access_counters& row : cpu_device::read_counters()) {
    recorded_work::cost& sum = costs[cpu_device::name_of(row.kind)];
    sum.requests += row.requests;
    sum.sectors += row.sectors;
    sum.ideal_sectors += row.ideal_sectors;
    sum.wavefronts += row.wavefronts;
    sum.ideal_wavefronts += row.ideal_wavefronts;
    sum.turns += row.turns;
    if (row.not_counted != 0) complete = false;
  }
  return costs;
}

void add(recorded_work::cost& sum, const recorded_work::cost& more) {
  sum.requests += more.requests;
  sum.sectors += more.sectors;
  sum.ideal_sectors += more.ideal_sectors;
  sum.wavefronts += more.wavefronts;
  sum.ideal_wavefronts += more.ideal_wavefronts;
  sum.turns += more.turns;
}

/// A block's bulk copies to shared memory, and the reads that go on meanwhile: those by a thread
/// that has not come to the copy's bytes yet, and that the start of the copy has not waited for.
/// Which of the two the device happens to run first makes no difference. A copy gives each thread
/// the time of one visit to the bytes of another copy, and not more.
class overlap {
 public:
  /// Returns how many reads before it are meanwhile, too.
  std::uint64_t started(std::uint32_t by, const void* to, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(to);
    place& here = places_[first];
    here.end = std::max(here.end, first + bytes);
    here.copy = ++copies_;
    std::uint64_t reads = 0;
    reader& starts = of(by);
    // The order of its own reads and of the copy is known. If it visits these bytes no more, the
    // copy is late.
    if (starts.place != 0 && starts.place != first && !starts.overlaps &&
        starts.reads > starts.visit)
      starts.late = here.copy;
    const clock& known = starts.known;
    for (std::uint32_t t = 0; t < threads_.size(); ++t) {
      reader& r = threads_[t];
      if (t == by || r.overlaps || r.place == first || r.place == 0) continue;
      const std::uint64_t from = std::max(r.visit, t < known.size() ? known[t] : 0);
      if (from >= r.reads) continue;
      reads += r.reads - from;
      r.overlaps = true;
      meanwhile_.insert(here.copy);
      r.used[first] = here.copy;
    }
    return reads;
  }
  /// Returns whether it is meanwhile.
  bool read(std::uint32_t by, std::uintptr_t address) {
    reader& r = of(by);
    if (auto at = places_.upper_bound(address); at != places_.begin()) {
      --at;
      const bool inside = address < at->second.end;
      if (inside && r.place == at->first && r.copy == at->second.copy) {
        r.late = 0;  // its visit goes on
      } else if (inside) {
        if (r.late != 0) late_.insert(r.late);
        r.late = 0;
        r.place = at->first;
        r.copy = r.used[at->first] = at->second.copy;  // its time is over
        r.visit = r.reads;
        r.overlaps = false;
      }
    }
    ++r.reads;
    if (r.overlaps || r.place == 0) return r.overlaps;
    std::uint64_t oldest = ~std::uint64_t{0};
    std::uintptr_t its_place = 0;
    for (const auto& [first, other] : places_)
      if (first != r.place && other.copy > r.used[first] && other.copy < oldest) {
        oldest = other.copy;
        its_place = first;
      }
    if (its_place == 0) return false;
    r.used[its_place] = oldest;
    r.overlaps = true;
    meanwhile_.insert(oldest);
    return true;
  }
  /// An atomic: who reads it knows what had been done before those who wrote it did so.
  void met_at(std::uint32_t by, std::uintptr_t address, bool writes) {
    reader& r = of(by);
    clock& there = words_[address];
    join(r.known, there);
    if (r.known.size() <= by) r.known.resize(by + 1);
    r.known[by] = r.reads;
    if (writes) join(there, r.known);
  }
  /// How many copies there are with reads that go on meanwhile, without those that a thread starts
  /// after its own visit to the bytes of another copy.
  std::uint64_t copies() const {
    return static_cast<std::uint64_t>(std::count_if(
        meanwhile_.begin(), meanwhile_.end(), [&](auto copy) { return !late_.contains(copy); }));
  }
  /// A barrier of the block.
  void all_met() {
    clock all(threads_.size());
    for (std::size_t t = 0; t < all.size(); ++t) all[t] = threads_[t].reads;
    for (reader& r : threads_) r.known = all;
  }

 private:
  using clock = std::vector<std::uint64_t>;  // the number of reads, by thread
  struct place {
    std::uintptr_t end = 0;
    std::uint64_t copy = 0;  // the last one to it
  };
  struct reader {
    std::uint64_t reads = 0;
    std::uintptr_t place = 0;  // whose bytes are visited
    std::uint64_t copy = 0;    // that has brought them
    std::uint64_t visit = 0;   // `reads` when it began
    bool overlaps = false;     // with another copy
    std::uint64_t late = 0;    // a copy that it has started since its last read
    std::map<std::uintptr_t, std::uint64_t>
        used;     // the last copies that it has no time of any more
    clock known;  // what has been read before this thread goes on
  };
  reader& of(std::uint32_t thread) {
    if (threads_.size() <= thread) threads_.resize(thread + 1);
    return threads_[thread];
  }
  static void join(clock& to, const clock& from) {
    if (to.size() < from.size()) to.resize(from.size());
    for (std::size_t t = 0; t < from.size(); ++t) to[t] = std::max(to[t], from[t]);
  }

  std::map<std::uintptr_t, place> places_;
  std::uint64_t copies_ = 0;
  std::set<std::uint64_t> meanwhile_, late_;
  std::vector<reader> threads_;
  std::unordered_map<std::uintptr_t, clock> words_;
};

/// Calls visit(begin, bytes) with what is copied, row by row: what lies between two rows is not.
template <class Visit>
void for_each_row(const cpu_device::copy_event& e, const Visit& visit) {
  auto* const from = static_cast<char*>(const_cast<void*>(e.from));
  for (std::size_t z = 0; z < e.rows.depth; ++z)
    for (std::size_t y = 0; y < e.rows.height; ++y)
      visit(from + z * e.rows.slice + y * e.rows.pitch, e.rows.width_bytes);
}

/// FNV-1a, of eight bytes at a time; and how many of these are 0.
std::pair<std::uint64_t, std::size_t> hash_of(const cpu_device::copy_event& e) {
  std::uint64_t hash = 0xCBF29CE484222325 ^ e.bytes;
  std::size_t zeros = 0;
  for_each_row(e, [&](const char* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, from + i, std::min<std::size_t>(8, bytes - i));
      if (word == 0) ++zeros;
      hash = (hash ^ word) * 0x100000001B3;
      hash ^= hash >> 32;
    }
  });
  return {hash == 0 ? 1 : hash, zeros};
}

/// Ranges of memory that do not overlap.
class ranges {
 public:
  void add(const void* begin, std::size_t bytes) {
    if (bytes != 0) ends_[address(begin)] = address(begin) + bytes;
  }
  bool remove(const void* begin) { return ends_.erase(address(begin)) != 0; }
  void erase_if_inside(std::uintptr_t where) {
    const auto after = ends_.upper_bound(where);
    if (after != ends_.begin() && where < std::prev(after)->second) ends_.erase(std::prev(after));
  }
  bool contain(std::uintptr_t where) const {
    const auto after = ends_.upper_bound(where);
    return after != ends_.begin() && where < std::prev(after)->second;
  }
  std::size_t count() const { return ends_.size(); }
  /// The size of the range that this address is in, or 0.
  std::size_t bytes_at(std::uintptr_t where) const {
    const auto after = ends_.upper_bound(where);
    if (after == ends_.begin() || where >= std::prev(after)->second) return 0;
    return std::prev(after)->second - std::prev(after)->first;
  }
  std::size_t largest() const {
    std::size_t most = 0;
    for (const auto& [begin, end] : ends_) most = std::max(most, end - begin);
    return most;
  }

 private:
  static std::uintptr_t address(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }
  std::map<std::uintptr_t, std::uintptr_t> ends_;
};

/// How many units of 8 bytes are addresses in these ranges.
std::size_t addresses_of(const cpu_device::copy_event& e, const ranges& memory) {
  std::size_t found = 0;
  for_each_row(e, [&](const char* from, std::size_t bytes) {
    for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
      std::uintptr_t word = 0;
      std::memcpy(&word, from + i, sizeof word);
      if (memory.contain(word)) ++found;
    }
  });
  return found;
}

}  // namespace

/// Whether work is that of a library. Its copies are not: what the host sends stays.
static bool is_routine(std::string_view name) {
  if (name.starts_with("cublasSet") || name.starts_with("cublasGet")) return false;
  return name.starts_with("cublas") || name.starts_with("curand");
}

struct recording::recorder final : cpu_device::observer {
  recorder(std::vector<double> kernels_take, std::vector<double> copies_take, double memset_takes)
      : pretends(!kernels_take.empty()),
        kernel_ms(std::move(kernels_take)),
        copy_ms(std::move(copies_take)),
        memset_ms(memset_takes) {
    using cpu_device::event_kind;
    if (pretends) cpu_device::set_event_clock([] { return now.load(); });
    were_apart = cpu_device::set_lanes_apart(false);  // what lanes do together is counted
    cpu_device::reset_counters();
    cpu_device::count_accesses(true);
    active = this;
    cpu_device::add_observer(
        *this, event_kind::launch | event_kind::allocation | event_kind::copy | event_kind::call |
                   event_kind::access | event_kind::barrier | event_kind::async_copy |
                   event_kind::block | event_kind::mark | event_kind::work | event_kind::fence |
                   event_kind::fetch | event_kind::by_host);
  }
  ~recorder() override {
    cpu_device::remove_observer(*this);
    cpu_device::set_event_clock(nullptr);
    cpu_device::set_lanes_apart(were_apart);
    // Whoever asked for the program's counters wants those of the cases that follow, too.
    if (std::getenv("CPU_DEVICE_COUNTERS") == nullptr) cpu_device::count_accesses(false);
    active = nullptr;
  }
  static inline recorder* active = nullptr;

  void has_taken(double ms) { now += static_cast<std::int64_t>(1e6 * ms); }
  void kernel_has_run() {
    if (!pretends) return;
    has_taken(kernel_ms[std::min<std::uint64_t>(done.pretended_kernels, kernel_ms.size() - 1)]);
    if (done.pretended_kernels++ >= kSlowKernels) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }

  void launch_begins(const cpu_device::launch_event& e) override {
    const std::lock_guard lock(mutex);
    recorded_work::kernel k;
    k.name = e.kernel;
    k.blocks = std::uint64_t{e.grid.x} * e.grid.y * e.grid.z;
    k.threads_per_block = std::uint64_t{e.block.x} * e.block.y * e.block.z;
    k.grid_x = e.grid.x;
    k.grid_y = e.grid.y;
    k.block_x = e.block.x;
    k.block_y = e.block.y;
    k.shared_bytes = e.shared_bytes;
    k.device = e.device;
    k.stream = e.stream;
    k.host_thread =
        launchers.try_emplace(std::this_thread::get_id(), launchers.size()).first->second;
    k.of_library = starts_a_library(e.kernel);
    done.kernels.push_back(k);
    largest = of_devices.largest();
    by_thread.clear();
    barriers.clear();
    places.clear();
    first_block.reset();
    its_reads_by_then.clear();
    its_reads = 0;
    under_way.clear();
    overlaps.clear();
    writers.clear();
  }
  void barrier_passed(const cpu_device::barrier_event& e) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    if (e.scope == cpu_device::event_scope::warp) {
      ++k.warp_functions;
      const std::string_view function = e.function;
      if (function == "__syncwarp" || function.ends_with("sync()")) ++k.warp_barriers;
      if (function == "reduce()") ++k.reductions;
      if (function == "wmma::load_matrix_sync") ++k.fragment_loads;
      if (function == "wmma::mma_sync") ++k.multiplications;
      if (e.warp == 0 && e.block == first_block) its_reads_by_then.push_back(its_reads);
      for (const char* vote :
           {"__ballot_sync", "__any_sync", "__all_sync", "ballot()", "any()", "all()"})
        if (function == vote) ++k.votes;
      return;
    }
    if (const auto copies = overlaps.find(e.block); copies != overlaps.end())
      copies->second.all_met();
    ++k.barriers_of_all;
    counted& of_block = barriers[e.block];
    k.barriers = std::max(k.barriers, ++of_block.all);
    if (e.scope == cpu_device::event_scope::device)
      k.grid_barriers = std::max(k.grid_barriers, ++of_block.of_grid);
  }
  void launch_ends(const cpu_device::launch_event&) override {
    const std::lock_guard lock(mutex);
    kernel_has_run();
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    std::unordered_map<std::uint64_t, std::uint64_t> busiest_of, busiest_shared;  // by block
    for (const auto& [thread, its_own] : by_thread) {
      k.accesses += its_own.accesses;
      k.busiest = std::max(k.busiest, its_own.accesses);
      k.plain += its_own.plain;
      if (its_own.accesses > its_own.plain) ++k.atomic_threads;
      if (its_own.writes) ++k.writing_threads;
      if (its_own.has_loaded) ++k.loading_threads;
      std::uint64_t& most = busiest_of[thread >> 32];
      most = std::max(most, its_own.plain);
      std::uint64_t& most_shared = busiest_shared[thread >> 32];
      most_shared = std::max(most_shared, its_own.shared);
    }
    for (const auto& [block, most] : busiest_of) k.busiest_of_blocks += most;
    for (const auto& [block, most] : busiest_shared) k.shared_of_busiest += most;
    k.threads = by_thread.size();
    k.busy_blocks = busiest_of.size();
    k.atomic_places = places.size();
    if (const std::size_t n = its_reads_by_then.size(); n > 1) {
      k.reads_of_warp = its_reads_by_then[n - 1];
      k.reads_of_warp_early = its_reads_by_then[n / 2 - 1];
    }
    k.fetching_threads = fetching.size();
    fetching.clear();
    by_thread.clear();
    places.clear();
  }
  void accessed(const cpu_device::access_event& e) override {
    const std::lock_guard lock(mutex);
    done.watched = true;
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    of_thread& its_own = by_thread[std::uint64_t{e.block} << 32 | e.thread];
    k.last_thread = std::max<std::uint64_t>(k.last_thread, e.thread);
    constexpr std::uint32_t kLanes = 32;
    if (!first_block) first_block = e.block;
    if (e.writes) its_own.writes = true;
    if (e.shared && !e.writes && e.thread < kLanes && e.block == first_block) ++its_reads;
    if (e.shared) {
      ++k.shared;
      ++its_own.shared;
      if (e.writes) ++its_own.stored;
      if (e.writes)
        its_own.loading = false;
      else if (its_own.loading)
        ++k.reads_while_loading;
      if (!e.writes && !e.atomic && !e.in_parts)
        k.bytes_a_shared_load = std::max<std::uint64_t>(k.bytes_a_shared_load, e.bytes);
      if (exchanged(e)) ++k.exchanges;
      if (const auto copies = under_way.find(std::uint64_t{e.block} << 32 | e.thread);
          !e.writes && copies != under_way.end())  // (what is copied is written)
        k.copies_under_way = std::max(k.copies_under_way, copies->second);
      if (const auto copies = overlaps.find(e.block); !e.writes && !e.atomic &&
                                                      copies != overlaps.end() &&
                                                      copies->second.read(e.thread, e.address))
        ++k.shared_meanwhile;
    } else {
      // (Whoever asks a lock again and again waits, and does not work.)
      if (!e.atomic || its_own.last_atomic != e.address) ++its_own.accesses;
      if (e.atomic) its_own.last_atomic = e.address;
      if (!e.atomic) {
        ++its_own.plain;
        if (!e.writes) its_own.loading = its_own.has_loaded = true;
        if (!e.writes)
          k.loads_ahead = std::max(k.loads_ahead, its_own.one_more_load(barriers[e.block].all));
        else if (its_own.ahead > 0)
          --its_own.ahead;
      }
      (e.writes ? k.writes : k.reads) += e.bytes;
      if (e.writes && !e.atomic) k.plain_writes += e.bytes;
      if (!e.writes && !e.atomic && 4 * of_devices.bytes_at(e.address) > 3 * largest)
        k.reads_of_data += e.bytes;
      untouched.erase_if_inside(e.address);
      if (!e.writes && !e.in_parts)
        k.bytes_a_load = std::max<std::uint64_t>(k.bytes_a_load, e.bytes);
    }
    if (const auto copies = overlaps.find(e.block); e.atomic && copies != overlaps.end())
      copies->second.met_at(e.thread, e.address, e.writes);
    if (e.atomic) ++(e.shared ? k.shared_atomics : k.atomics);
    if (e.atomic && !e.shared && e.scope == cpu_device::event_scope::system) ++k.system_atomics;
    if (e.atomic && !e.shared) places.insert(e.address);
  }
  /// Remembers who has written what is in shared memory. Whether this access reads something that
  /// another thread has written, or an atomic function adds to it.
  bool exchanged(const cpu_device::access_event& e) {
    constexpr std::uintptr_t kUnit = 4;  // bytes; smaller accesses have entries of their own
    auto& of_block = writers[e.block];
    bool of_another = false;
    for (std::uintptr_t at = e.address; at < e.address + e.bytes; at += kUnit) {
      if (!e.writes || e.atomic) {
        auto writer = of_block.find(at);
        if (writer == of_block.end()) writer = of_block.find(at / kUnit * kUnit);
        if (writer != of_block.end() && writer->second != e.thread) of_another = true;
      }
      if (e.writes) of_block[at] = e.thread;
    }
    return of_another;
  }
  void fetched(const cpu_device::fetch_event& e) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty()) return;
    done.kernels.back().fetches += e.bytes;
    fetching.insert(std::uint64_t{e.block} << 32 | e.thread);
  }
  void host_accessed(const cpu_device::host_access_event& e) override {
    const std::lock_guard lock(mutex);
    if (!of_both.contain(e.address)) return;
    const bool by_another = launcher != std::thread::id() && launcher != std::this_thread::get_id();
    if (may_run || by_another) ++(e.atomic ? done.host_atomics : done.host_plain);
  }
  void fenced(const cpu_device::fence_event&) override {
    const std::lock_guard lock(mutex);
    if (!done.kernels.empty()) ++done.kernels.back().fences;
  }
  void async_copy_started(const cpu_device::async_copy_event& e) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty()) return;
    done.kernels.back().async_bytes += e.bytes;
    ++under_way[std::uint64_t{e.block} << 32 | e.thread];
  }
  void async_copy_done(const cpu_device::async_copy_event& e) override {
    const std::lock_guard lock(mutex);
    --under_way[std::uint64_t{e.block} << 32 | e.thread];
  }
  void bulk_copy_started(const cpu_device::bulk_copy_event& e) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty() || e.to_global) return;
    recorded_work::kernel& k = done.kernels.back();
    (e.dimensions != 0 ? k.tensor_bytes : k.bulk_bytes) += e.bytes;
    if (e.dimensions != 0) ++k.tensor_copies;
    const auto [copies, first] = overlaps.try_emplace(e.block);
    if (first) ++k.copying_blocks;
    k.shared_meanwhile += copies->second.started(e.thread, e.shared, e.bytes);
  }
  void block_ends(const cpu_device::block_event& e) override {
    const std::lock_guard lock(mutex);
    writers.erase(e.serial);
    const auto copies = overlaps.find(e.serial);
    if (copies == overlaps.end()) return;
    if (!done.kernels.empty()) done.kernels.back().copies_meanwhile += copies->second.copies();
    overlaps.erase(copies);
  }
  void allocated(const cpu_device::allocation_event& e) override {
    const bool pinned = e.kind == cpu_device::memory_kind::pinned;
    unsigned flags = 0;
    if (pinned) {
      asks = true;
      (void)cudaHostGetFlags(&flags, const_cast<void*>(e.address));
      asks = false;
    }
    const std::lock_guard lock(mutex);
    if (pinned) done.pinned.push_back({e.bytes, flags, e.device});
    const bool of_host =
        e.kind != cpu_device::memory_kind::device && e.kind != cpu_device::memory_kind::symbol;
    (of_host ? done.host_memory : done.device_memory).push_back(e.bytes);
    if (e.kind == cpu_device::memory_kind::managed) of_both.add(e.address, e.bytes);
    if (of_host) return;
    untouched.add(e.address, e.bytes);
    of_devices.add(e.address, e.bytes);
  }
  void freed(const cpu_device::allocation_event& e) override {
    const std::lock_guard lock(mutex);
    if (untouched.remove(e.address)) ++done.not_accessed;
    of_devices.remove(e.address);
    of_both.remove(e.address);
  }
  void work_begins(const cpu_device::work_event& e) override {
    const std::string_view name = e.name;
    const std::lock_guard lock(mutex);
    if (name == "cudaMallocAsync" || name == "cudaMallocFromPoolAsync")
      done.stream_ordered = std::max(done.stream_ordered, ++stream_ordered);
    if (name == "cudaFreeAsync" && stream_ordered != 0) --stream_ordered;
    done.in_streams.emplace_back(name, e.stream);
    if (is_routine(name)) ++routines;
  }
  void work_ends(const cpu_device::work_event& e) override {
    const std::lock_guard lock(mutex);
    if (!is_routine(e.name)) return;
    --routines;
    kernel_has_run();
  }
  void copied(const cpu_device::copy_event& e) override {
    cudaPointerAttributes of_host{}, from{}, to{};
    if (e.from != nullptr) {
      // Where the copy runs in no call of the runtime (NCCL waits for its stream), this one counts
      // as the program's own, and call_begins() would wait for the lock.
      const bool to_device = e.kind == cudaMemcpyHostToDevice;
      asks = true;
      (void)cudaPointerGetAttributes(&of_host, to_device ? e.from : e.to);
      if (e.kind == cudaMemcpyDeviceToDevice) {
        (void)cudaPointerGetAttributes(&from, e.from);
        (void)cudaPointerGetAttributes(&to, e.to);
      }
      asks = false;
    }
    const bool comes_back = e.kind == cudaMemcpyDeviceToHost && e.from != nullptr;
    const bool goes =
        e.kind == cudaMemcpyHostToDevice && e.from != nullptr && e.bytes <= (std::size_t{1} << 20);
    const auto [content, zeros] =
        comes_back || goes ? hash_of(e) : std::pair(std::uint64_t{0}, std::size_t{0});
    const std::lock_guard lock(mutex);
    const bool between = e.kind == cudaMemcpyHostToDevice || e.kind == cudaMemcpyDeviceToHost;
    if (pretends && between && e.from != nullptr && routines == 0) {
      has_taken(copy_ms[std::min<std::uint64_t>(copies_of[e.kind]++, copy_ms.size() - 1)]);
      ++done.pretended_copies;
    }
    if (pretends && e.from == nullptr && routines == 0) {
      has_taken(memset_ms);
      ++done.pretended_memsets;
    }
    if (e.from != nullptr)
      done.copies.push_back({e.bytes, e.kind, e.stream, done.kernels.size(),
                             of_host.type == cudaMemoryTypeHost, content, comes_back ? zeros : 0,
                             comes_back ? addresses_of(e, of_devices) : 0, from.device, to.device});
    if (e.kind == cudaMemcpyDeviceToHost && !done.sequence.empty() &&
        done.sequence.back() == "cudaMemcpy")
      done.sequence.back() += " to the host";
  }
  int call_begins(const cpu_device::call_event& e) override {
    if (asks) return 0;
    const std::lock_guard lock(mutex);
    ++done.calls[e.function];
    done.sequence.emplace_back(e.function);
    callers.insert(std::this_thread::get_id());
    if (e.function == std::string_view("cudaLaunchKernel")) {
      may_run = true;
      launcher = std::this_thread::get_id();
    }
    // A number of our own: a new thread may have the id of one that has ended.
    static std::atomic<int> threads = 0;
    thread_local const int number = threads++;
    callers_of[e.function].insert(number);
    return 0;
  }

  void call_ends(const cpu_device::call_event& e) override {
    if (asks) return;
    const std::string_view name = e.function;
    const std::lock_guard lock(mutex);
    if (name.ends_with("Synchronize") || name == "cudaMemcpy" ||
        (name.ends_with("Query") && e.status == cudaSuccess))
      may_run = false;
  }

  void marked(const cpu_device::mark_event& e) override {
    using what = cpu_device::mark_event::what;
    const std::lock_guard lock(mutex);
    if (e.kind == what::push) done.sequence.push_back(std::string("[ ") + e.text);
    if (e.kind == what::pop) done.sequence.emplace_back("]");
    if (e.kind != what::name_stream) return;
    done.named_streams[e.text] = e.number;
    done.sequence.emplace_back("nvtxNameCudaStream");
  }

  static inline thread_local bool asks = false;     // this thread, for itself
  static inline std::atomic<std::int64_t> now = 0;  // as events are told
  const bool pretends;
  bool were_apart = false;
  const std::vector<double> kernel_ms, copy_ms;
  const double memset_ms;
  std::map<int, std::uint64_t> copies_of;  // each kind, that took their time
  int routines = 0;                        // of libraries, that run
  std::mutex mutex;
  recorded_work done;
  std::set<std::thread::id> callers;
  std::map<std::string, std::set<int>> callers_of;
  std::map<std::thread::id, std::size_t> launchers;
  struct of_thread {
    std::uint64_t accesses = 0, plain = 0;  // to global memory
    std::uint64_t ahead = 0;                // of `plain`: loads less stores
    std::uintptr_t last_atomic = 0;
    bool has_loaded = false;  // from global memory, and not by an atomic function
    std::uint64_t shared = 0;
    std::uint64_t stored = 0;    // of `shared`: stores, since the barrier before the last load
    std::uint64_t barriers = 0;  // of its block, before the last load
    bool loading = false;        // since its last store to shared memory
    bool writes = false;         // to any memory

    /// How many it has ahead with this one. What it stored in shared memory before a barrier has
    /// arrived: no compiler can bring a load after the barrier forward.
    std::uint64_t one_more_load(std::uint64_t barriers_passed) {
      if (barriers_passed != barriers) {
        ahead -= std::min(ahead, stored);
        stored = 0;
        barriers = barriers_passed;
      }
      return ++ahead;
    }
  };
  std::unordered_map<std::uint64_t, of_thread> by_thread;  // block << 32 | thread
  std::unordered_set<std::uint64_t> fetching;              // threads that read a texture, likewise
  struct counted {
    std::uint64_t all = 0, of_grid = 0;
  };
  std::unordered_map<std::uint32_t, counted> barriers;  // that a block has passed
  std::set<std::uintptr_t> places;                      // of atomics
  std::optional<std::uint32_t> first_block;             // of a kernel that accesses memory
  std::uint64_t its_reads = 0;                          // of shared memory, by its first warp
  std::vector<std::uint64_t> its_reads_by_then;         // before each warp function of that
  std::unordered_map<std::uint64_t, std::uint64_t> under_way;  // copies of a thread, as above
  std::unordered_map<std::uint32_t, overlap> overlaps;         // of a block
  std::unordered_map<std::uint32_t, std::unordered_map<std::uintptr_t, std::uint32_t>>
      writers;                       // of shared memory: the thread, by block and address
  std::uint64_t stream_ordered = 0;  // allocations that exist now
  ranges untouched;                  // allocations that no kernel has accessed
  ranges of_devices;                 // allocations in memory of a device
  std::size_t largest = 0;           // bytes of one of them, when the last launch began
  ranges of_both;                    // managed ones
  std::thread::id launcher;          // of the last kernel
  bool may_run = false;              // that kernel, while the host goes on
};

recorded_work recording::finish() {
  recorded_work done = recorder_->done;
  done.host_threads += recorder_->callers.size();
  for (const auto& [name, threads] : recorder_->callers_of) done.threads_of[name] = threads.size();
  done.not_accessed = done.watched ? done.not_accessed + recorder_->untouched.count() : 0;
  recorder_.reset();
  bool complete = true;
  for (const auto& [kind, cost] : read_costs(complete)) add(done.costs[kind], cost);
  if (!complete) done.costs.clear();
  return done;
}

struct nothing_comes_back::eraser final : cpu_device::observer {
  explicit eraser(except kept_) : kept(kept_) {
    using cpu_device::event_kind;
    active = this;
    cpu_device::add_observer(
        *this, event_kind::copy | event_kind::allocation | event_kind::launch | event_kind::work);
  }
  ~eraser() override {
    cpu_device::remove_observer(*this);
    active = nullptr;
  }
  static inline eraser* active = nullptr;

  void copied(const cpu_device::copy_event& e) override {
    if (e.from == nullptr) return;
    if (kept == except::what_was_sent) return keep_what_was_sent(e);
    if (e.kind != cudaMemcpyDeviceToHost) return;
    for_each_row(e, [this](char* row, std::size_t bytes) {  // about to be copied
      if (std::all_of(row, row + bytes, [](char byte) { return byte == 0; })) return;
      std::memset(row, 0, bytes);
      made_a_difference = true;
    });
  }

  void keep_what_was_sent(const cpu_device::copy_event& e) {
    if (e.kind != cudaMemcpyHostToDevice && e.kind != cudaMemcpyDeviceToHost) return;
    const std::lock_guard lock(mutex);
    for_each_row(e, [&](char* row, std::size_t bytes) {
      for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
        std::uint32_t unit = 0;
        std::memcpy(&unit, row + i, sizeof unit);
        if (e.kind == cudaMemcpyHostToDevice) {
          sent.insert(unit);
        } else if (unit != 0 && !sent.contains(unit)) {
          std::memset(row + i, 0, sizeof unit);
          made_a_difference = true;
        }
      }
    });
  }

  // Nothing is copied back from memory that both sides reach: there a kernel leaves no trace, nor a
  // routine of a library, which launches none here.
  void allocated(const cpu_device::allocation_event& e) override {
    using cpu_device::memory_kind;
    if (e.kind == memory_kind::device || e.kind == memory_kind::symbol) return;
    if (kept == except::what_was_sent) return;
    before[const_cast<void*>(e.address)].resize(e.bytes);
  }
  void freed(const cpu_device::allocation_event& e) override {
    before.erase(const_cast<void*>(e.address));
  }
  void launch_begins(const cpu_device::launch_event&) override { device_begins(); }
  void launch_ends(const cpu_device::launch_event&) override { device_ends(); }
  void work_begins(const cpu_device::work_event& e) override {
    if (is_routine(e.name)) device_begins();
  }
  void work_ends(const cpu_device::work_event& e) override {
    if (is_routine(e.name)) device_ends();
  }
  void device_begins() {
    if (under_way++ != 0) return;
    for (auto& [address, bytes] : before) std::memcpy(bytes.data(), address, bytes.size());
  }
  void device_ends() {
    --under_way;
    for (auto& [address, bytes] : before) {
      if (std::memcmp(address, bytes.data(), bytes.size()) == 0) continue;
      std::memcpy(address, bytes.data(), bytes.size());
      made_a_difference = true;
    }
  }

  std::atomic<bool> made_a_difference = false;
  std::map<void*, std::vector<char>> before;  // a launch
  int under_way = 0;
  const except kept;
  std::mutex mutex;
  std::set<std::uint32_t> sent;
};
bool nothing_comes_back::made_a_difference() const { return eraser_->made_a_difference; }

struct others_come_between::intruder final : cpu_device::observer {
  template <class Word>
  intruder(Word first, const std::vector<Word>& those)
      : bytes(sizeof first), before(first), values(those.begin(), those.end()) {
    cpu_device::add_observer(*this,
                             static_cast<cpu_device::event_set>(cpu_device::event_kind::access));
  }
  ~intruder() override { cpu_device::remove_observer(*this); }

  void accessed(const cpu_device::access_event& e) override {
    if (!e.atomic || e.shared || e.bytes != bytes) return;
    const std::lock_guard lock(mutex);
    if (came == values.size()) return;
    std::uint64_t word = 0;  // its lower half, if there are 32 bits
    std::memcpy(&word, reinterpret_cast<const void*>(e.address), bytes);
    if (word != before) return;
    before = values[came++];
    std::memcpy(reinterpret_cast<void*>(e.address), &before, bytes);
  }

  std::mutex mutex;
  const std::size_t bytes;
  std::uint64_t before;
  const std::vector<std::uint64_t> values;
  std::size_t came = 0;
};
std::size_t others_come_between::came() const { return intruder_->came; }
others_come_between::others_come_between(std::uint32_t before,
                                         const std::vector<std::uint32_t>& values)
    : intruder_(std::make_unique<intruder>(before, values)) {}
others_come_between::others_come_between(std::uint64_t before,
                                         const std::vector<std::uint64_t>& values)
    : intruder_(std::make_unique<intruder>(before, values)) {}

struct other_input::changer final : cpu_device::observer {
  changer(std::vector<std::uint32_t> first, std::vector<std::uint32_t> later)
      : before(std::move(first)), after(std::move(later)) {
    using cpu_device::event_kind;
    cpu_device::add_observer(*this, event_kind::copy | event_kind::allocation | event_kind::launch);
  }
  ~changer() override { cpu_device::remove_observer(*this); }

  void copied(const cpu_device::copy_event& e) override {
    if (e.kind == cudaMemcpyHostToDevice && e.bytes == before.size() * sizeof before[0] &&
        std::memcmp(e.from, before.data(), e.bytes) == 0)
      place = const_cast<void*>(e.to);
  }
  void freed(const cpu_device::allocation_event& e) override {
    if (e.address == place) place = nullptr;
  }
  void launch_begins(const cpu_device::launch_event&) override {
    if (++launches == 1 || place == nullptr) return;
    std::memcpy(place, after.data(), after.size() * sizeof after[0]);
    came = true;
  }

  const std::vector<std::uint32_t> before, after;
  void* place = nullptr;
  int launches = 0;
  bool came = false;
};
other_input::other_input(std::vector<std::uint32_t> before, std::vector<std::uint32_t> after)
    : changer_(std::make_unique<changer>(std::move(before), std::move(after))) {}
bool other_input::came() const { return changer_->came; }

namespace {

/// Whether a function is one of "a|b".
bool is_among(std::string_view function, const std::string& functions) {
  return ('|' + functions + '|').find('|' + std::string(function) + '|') != std::string::npos;
}

}  // namespace

struct before_call::waiter final : cpu_device::observer {
  waiter(const std::string& names, unsigned number, std::function<void()> what)
      : functions(names), n(number), does(std::move(what)) {
    cpu_device::add_observer(*this,
                             static_cast<cpu_device::event_set>(cpu_device::event_kind::call));
  }
  ~waiter() override { cpu_device::remove_observer(*this); }

  int call_begins(const cpu_device::call_event& e) override {
    if (!is_among(e.function, functions)) return 0;
    if (++count == n || n == kEachTime) does();
    return 0;
  }

  const std::string functions;
  const unsigned n;
  const std::function<void()> does;
  std::atomic<unsigned> count = 0;
};
before_call::before_call(std::string function, unsigned n, std::function<void()> does)
    : waiter_(std::make_unique<waiter>(std::move(function), n, std::move(does))) {}

// --- the ranks of MPI jobs -----------------------------------------------------------------------

namespace {

rank_fault* the_rank_fault = nullptr;
std::optional<std::pair<bool, bool>> the_cuda_support;

template <class Visit>
void visit_parts(recorded_work::kernel& k, const Visit& visit) {
  visit(k.name), visit(k.blocks), visit(k.threads_per_block), visit(k.shared_bytes);
  visit(k.grid_x), visit(k.grid_y), visit(k.block_x), visit(k.block_y), visit(k.device),
      visit(k.stream), visit(k.of_library);
  visit(k.barriers), visit(k.barriers_of_all), visit(k.grid_barriers);
  visit(k.warp_functions), visit(k.warp_barriers), visit(k.votes), visit(k.reductions),
      visit(k.async_bytes);
  visit(k.fragment_loads), visit(k.multiplications);
  visit(k.reads), visit(k.writes), visit(k.plain_writes), visit(k.shared), visit(k.atomics);
  visit(k.shared_atomics), visit(k.bytes_a_load), visit(k.atomic_places), visit(k.accesses);
  visit(k.busiest), visit(k.plain), visit(k.busiest_of_blocks), visit(k.threads),
      visit(k.last_thread);
  visit(k.busy_blocks), visit(k.atomic_threads), visit(k.shared_of_busiest), visit(k.exchanges);
  visit(k.copies_under_way), visit(k.fences), visit(k.fetches), visit(k.fetching_threads),
      visit(k.loading_threads);
}

template <class Visit>
void visit_parts(recorded_work& w, const Visit& visit) {
  visit(w.copies), visit(w.device_memory), visit(w.host_memory), visit(w.pinned);
  visit(w.host_threads), visit(w.received_by_mpi), visit(w.watched);
}

/// Lists the calls that are made, and has one of them fail.
class rank_calls final : public cpu_device::observer {
 public:
  explicit rank_calls(std::size_t fails) : fails_(fails) {
    cpu_device::add_observer(*this,
                             static_cast<cpu_device::event_set>(cpu_device::event_kind::call));
  }
  ~rank_calls() override { cpu_device::remove_observer(*this); }
  int call_begins(const cpu_device::call_event& event) override {
    const std::string_view name = event.function;
    if (name == "cudaGetLastError" || name == "cudaPeekAtLastError") return 0;
    made.push_back({event.function, event.number == 0});
    if (made.size() - 1 != fails_) return 0;
    return made.back().name.starts_with("nccl") ? static_cast<int>(ncclInternalError)
                                                : static_cast<int>(cudaErrorOperatingSystem);
  }
  std::vector<rank_call> made;

 private:
  std::size_t fails_;
};

class companion_of_tests final : public lab::mpi::companion {
  using bytes = lab::mpi::bytes;

 public:
  companion_of_tests() { lab::mpi::the_companion() = this; }
  ~companion_of_tests() override { lab::mpi::the_companion() = nullptr; }

  bytes before(int rank) override {
    lab::mpi::detail::packer to;
    to.put(recording::recorder::active != nullptr);
    to.put(nothing_comes_back::eraser::active != nullptr);
    to.put(nothing_comes_back::eraser::active != nullptr &&
           nothing_comes_back::eraser::active->kept == nothing_comes_back::except::what_was_sent);
    to.put(the_rank_fault != nullptr);
    const bool here =
        the_rank_fault != nullptr &&
        (the_rank_fault->rank() == rank || the_rank_fault->rank() == rank_fault::kEachRank);
    to.put(here ? the_rank_fault->number() : rank_fault::kNone);
    to.put(the_cuda_support.has_value());
    to.put(the_cuda_support.value_or(std::pair(false, false)).first);
    to.put(the_cuda_support.value_or(std::pair(false, false)).second);
    to.put(slow_calls::active == nullptr ? std::string() : slow_calls::active->functions());
    return to.take();
  }

  void work_begins(std::span<const std::byte> told) override {
    if (told.empty()) return;
    lab::mpi::detail::unpacker from(told);
    if (from.get<bool>()) recording_.emplace();
    received_before_ = lab::mpi::received_bytes();
    using except = nothing_comes_back::except;
    const bool erases = from.get<bool>(), keeps = from.get<bool>();
    if (erases) erasing_.emplace(keeps ? except::what_was_sent : except::nothing);
    const bool lists_calls = from.get<bool>();
    const auto fails = from.get<std::size_t>();
    if (lists_calls) calls_.emplace(fails);
    if (fails != rank_fault::kNone) keep_quiet();
    const bool pretends = from.get<bool>(), compiled = from.get<bool>(), running = from.get<bool>();
    lab::mpi::said_of_cuda_support().reset();
    if (pretends) lab::mpi::said_of_cuda_support().emplace(compiled, running);
    if (const auto slow = from.get<std::string>(); !slow.empty()) slow_.emplace(slow);
  }

  void mpi_call(std::string_view function) override {
    if (slow_ && is_among(function, slow_->functions())) slow_->wait();
    recording::recorder* const here = recording::recorder::active;
    if (!recording_ || here == nullptr) return;
    const std::lock_guard lock(here->mutex);
    here->done.sequence.emplace_back(function);
  }

  bytes work_ends() override {
    lab::mpi::detail::packer to;
    to.put(calls_ ? calls_->made.size() : 0);
    if (calls_)
      for (const rank_call& call : calls_->made) to.put(call.name), to.put(call.releases);
    calls_.reset();
    to.put(slow_ ? slow_->milliseconds() : 0.0);
    slow_.reset();
    if (quiet_ >= 0) {
      std::fflush(stderr);
      ::dup2(quiet_, STDERR_FILENO);
      ::close(std::exchange(quiet_, -1));
    }
    to.put(erasing_ && erasing_->made_a_difference());
    erasing_.reset();
    to.put(recording_.has_value());
    if (recording_) {
      recorded_work done = recording_->finish();
      done.received_by_mpi = lab::mpi::received_bytes() - received_before_;
      const auto put = [&](const auto& part) { to.put(part); };
      visit_parts(done, put);
      to.put(done.kernels.size());
      for (recorded_work::kernel& k : done.kernels) visit_parts(k, put);
      to.put(done.sequence.size());
      for (const std::string& name : done.sequence) to.put(name);
      to.put(done.costs.size());
      for (const auto& [kind, cost] : done.costs) to.put(kind), to.put(cost);
    }
    recording_.reset();
    return to.take();
  }

  void after(int rank, std::span<const std::byte> heard) override {
    if (heard.empty()) return;
    lab::mpi::detail::unpacker from(heard);
    std::vector<rank_call> calls(from.get<std::size_t>());
    for (rank_call& call : calls) {
      call.name = from.get<std::string>();
      call.releases = from.get<bool>();
    }
    if (the_rank_fault != nullptr) the_rank_fault->has_called(rank, std::move(calls));
    const auto milliseconds = from.get<double>();
    if (slow_calls::active != nullptr) slow_calls::active->rank_has_waited(milliseconds);
    if (from.get<bool>() && nothing_comes_back::eraser::active != nullptr)
      nothing_comes_back::eraser::active->made_a_difference = true;
    if (!from.get<bool>() || recording::recorder::active == nullptr) return;
    recorded_work work;
    const auto get = [&](auto& part) { part = from.get<std::remove_cvref_t<decltype(part)>>(); };
    visit_parts(work, get);
    recorded_work& all = recording::recorder::active->done;
    const auto append = [](auto& to, const auto& more) {
      to.insert(to.end(), more.begin(), more.end());
    };
    append(all.copies, work.copies);
    append(all.device_memory, work.device_memory);
    append(all.host_memory, work.host_memory);
    append(all.pinned, work.pinned);
    all.host_threads += work.host_threads;
    all.received_by_mpi += work.received_by_mpi;
    all.watched = all.watched || work.watched;
    for (auto count = from.get<std::size_t>(); count != 0; --count) {
      recorded_work::kernel k;
      visit_parts(k, get);
      k.device += 64 * rank;
      // A stream of another process: not one of those that have the same address elsewhere.
      if (k.stream != nullptr) k.stream = static_cast<const char*>(k.stream) + rank;
      all.kernels.push_back(k);
    }
    all.sequence.push_back("rank " + std::to_string(rank));
    for (auto count = from.get<std::size_t>(); count != 0; --count) {
      all.sequence.push_back(from.get<std::string>());
      std::string_view name = all.sequence.back();
      ++all.calls[std::string(name.substr(0, name.find(' ')))];
    }
    for (auto count = from.get<std::size_t>(); count != 0; --count) {
      const auto kind = from.get<std::string>();
      add(all.costs[kind], from.get<recorded_work::cost>());
    }
  }

 private:
  std::optional<recording> recording_;
  std::size_t received_before_ = 0;
  std::optional<nothing_comes_back> erasing_;
  std::optional<rank_calls> calls_;
  std::optional<slow_calls> slow_;
  /// Destructors that cannot throw print, and that is right.
  void keep_quiet() {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere < 0) return;
    quiet_ = ::dup(STDERR_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
  }

  int quiet_ = -1;  // where errors are usually printed
} the_companion_of_tests;

}  // namespace

pretended_cuda_support::pretended_cuda_support(bool compiled, bool running) {
  the_cuda_support.emplace(compiled, running);
}
pretended_cuda_support::~pretended_cuda_support() { the_cuda_support.reset(); }

rank_fault::rank_fault(std::size_t number, int rank) : number_(number), rank_(rank) {
  the_rank_fault = this;
}
rank_fault::~rank_fault() { the_rank_fault = nullptr; }
std::map<int, std::vector<rank_call>> rank_fault::calls() const { return calls_; }

#else

rank_fault::rank_fault(std::size_t number, int rank) : number_(number), rank_(rank) {}
rank_fault::~rank_fault() = default;
std::map<int, std::vector<rank_call>> rank_fault::calls() const { return {}; }

pretended_cuda_support::pretended_cuda_support(bool, bool) {}
pretended_cuda_support::~pretended_cuda_support() = default;

struct recording::recorder {
  recorder(const std::vector<double>&, const std::vector<double>&, double) {}
};
recorded_work recording::finish() { return {}; }
struct nothing_comes_back::eraser {
  explicit eraser(except) {}
};
bool nothing_comes_back::made_a_difference() const { return false; }
struct others_come_between::intruder {};
std::size_t others_come_between::came() const { return 0; }
others_come_between::others_come_between(std::uint32_t, const std::vector<std::uint32_t>&) {}
others_come_between::others_come_between(std::uint64_t, const std::vector<std::uint64_t>&) {}
struct other_input::changer {};
other_input::other_input(std::vector<std::uint32_t>, std::vector<std::uint32_t>) {}
bool other_input::came() const { return false; }
struct before_call::waiter {};
before_call::before_call(std::string, unsigned, std::function<void()>) {}

#endif

recording::recording(std::vector<double> kernel_ms, std::vector<double> copy_ms, double memset_ms)
    : recorder_(std::make_unique<recorder>(std::move(kernel_ms), std::move(copy_ms), memset_ms)) {}
recording::~recording() = default;
nothing_comes_back::nothing_comes_back(except kept) : eraser_(std::make_unique<eraser>(kept)) {}
nothing_comes_back::~nothing_comes_back() = default;
others_come_between::~others_come_between() = default;
other_input::~other_input() = default;
before_call::~before_call() = default;

}  // namespace detail
}  // namespace lab::testing
