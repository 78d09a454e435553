// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "recording.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#include <cpu_device/events.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>

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

}  // namespace

struct recording::recorder final : cpu_device::observer {
  recorder() {
    using cpu_device::event_kind;
    cpu_device::reset_counters();
    cpu_device::count_accesses(true);
    cpu_device::add_observer(*this, event_kind::launch | event_kind::allocation | event_kind::copy |
                                        event_kind::call | event_kind::access |
                                        event_kind::barrier | event_kind::async_copy);
  }
  ~recorder() override {
    cpu_device::remove_observer(*this);
    cpu_device::count_accesses(false);
  }

  void launch_begins(const cpu_device::launch_event& e) override {
    const std::lock_guard lock(mutex);
    recorded_work::kernel k;
    k.name = e.kernel;
    k.blocks = std::uint64_t{e.grid.x} * e.grid.y * e.grid.z;
    k.threads_per_block = std::uint64_t{e.block.x} * e.block.y * e.block.z;
    k.block_x = e.block.x;
    k.block_y = e.block.y;
    k.shared_bytes = e.shared_bytes;
    k.device = e.device;
    k.stream = e.stream;
    k.of_library = starts_a_library(e.kernel);
    done.kernels.push_back(k);
    by_thread.clear();
    barriers.clear();
    places.clear();
    under_way.clear();
  }
  void barrier_passed(const cpu_device::barrier_event& e) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    if (e.scope == cpu_device::event_scope::warp) {
      ++k.warp_functions;
      return;
    }
    counted& of_block = barriers[e.block];
    k.barriers = std::max(k.barriers, ++of_block.all);
    if (e.scope == cpu_device::event_scope::device)
      k.grid_barriers = std::max(k.grid_barriers, ++of_block.of_grid);
  }
  void launch_ends(const cpu_device::launch_event&) override {
    const std::lock_guard lock(mutex);
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    std::unordered_map<std::uint64_t, std::uint64_t> busiest_of, busiest_shared;  // by block
    for (const auto& [thread, its_own] : by_thread) {
      k.accesses += its_own.accesses;
      k.busiest = std::max(k.busiest, its_own.accesses);
      k.plain += its_own.plain;
      if (its_own.accesses > its_own.plain) ++k.atomic_threads;
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
    by_thread.clear();
    places.clear();
  }
  void accessed(const cpu_device::access_event& e) override {
    const std::lock_guard lock(mutex);
    done.watched = true;
    if (done.kernels.empty()) return;
    recorded_work::kernel& k = done.kernels.back();
    of_thread& its_own = by_thread[std::uint64_t{e.block} << 32 | e.thread];
    if (e.shared) {
      ++k.shared;
      ++its_own.shared;
      if (const auto copies = under_way.find(std::uint64_t{e.block} << 32 | e.thread);
          !e.writes && copies != under_way.end())  // (what is copied is written)
        k.copies_under_way = std::max(k.copies_under_way, copies->second);
    } else {
      // (Whoever asks a lock again and again waits, and does not work.)
      if (!e.atomic || its_own.last_atomic != e.address) ++its_own.accesses;
      if (e.atomic) its_own.last_atomic = e.address;
      if (!e.atomic) ++its_own.plain;
      (e.writes ? k.writes : k.reads) += e.bytes;
      if (e.writes && !e.atomic) k.plain_writes += e.bytes;
      if (!e.writes && !e.in_parts)
        k.bytes_a_load = std::max<std::uint64_t>(k.bytes_a_load, e.bytes);
    }
    if (e.atomic) ++(e.shared ? k.shared_atomics : k.atomics);
    if (e.atomic && !e.shared) places.insert(e.address);
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
  void allocated(const cpu_device::allocation_event& e) override {
    const std::lock_guard lock(mutex);
    const bool of_host =
        e.kind != cpu_device::memory_kind::device && e.kind != cpu_device::memory_kind::symbol;
    (of_host ? done.host_memory : done.device_memory).push_back(e.bytes);
  }
  void copied(const cpu_device::copy_event& e) override {
    const std::lock_guard lock(mutex);
    if (e.from != nullptr) done.copies.push_back({e.bytes, e.kind, e.stream});
    if (e.kind == cudaMemcpyDeviceToHost && !done.sequence.empty() &&
        done.sequence.back() == "cudaMemcpy")
      done.sequence.back() += " to the host";
  }
  int call_begins(const cpu_device::call_event& e) override {
    const std::lock_guard lock(mutex);
    ++done.calls[e.function];
    done.sequence.emplace_back(e.function);
    callers.insert(std::this_thread::get_id());
    return 0;
  }

  std::mutex mutex;
  recorded_work done;
  std::set<std::thread::id> callers;
  struct of_thread {
    std::uint64_t accesses = 0, plain = 0;  // to global memory
    std::uintptr_t last_atomic = 0;
    std::uint64_t shared = 0;
  };
  std::unordered_map<std::uint64_t, of_thread> by_thread;  // block << 32 | thread
  struct counted {
    std::uint64_t all = 0, of_grid = 0;
  };
  std::unordered_map<std::uint32_t, counted> barriers;         // that a block has passed
  std::set<std::uintptr_t> places;                             // of atomics
  std::unordered_map<std::uint64_t, std::uint64_t> under_way;  // copies of a thread, as above
};

recorded_work recording::finish() {
  recorded_work done = recorder_->done;
  done.host_threads = recorder_->callers.size();
  recorder_.reset();
  bool complete = true;
  done.costs = read_costs(complete);
  if (!complete) done.costs.clear();
  return done;
}

struct nothing_comes_back::eraser final : cpu_device::observer {
  eraser() {
    using cpu_device::event_kind;
    cpu_device::add_observer(*this, event_kind::copy | event_kind::allocation | event_kind::launch);
  }
  ~eraser() override { cpu_device::remove_observer(*this); }

  void copied(const cpu_device::copy_event& e) override {
    if (e.kind != cudaMemcpyDeviceToHost || e.from == nullptr) return;
    auto* bytes = static_cast<char*>(const_cast<void*>(e.from));  // about to be copied
    if (std::all_of(bytes, bytes + e.bytes, [](char byte) { return byte == 0; })) return;
    std::memset(bytes, 0, e.bytes);
    made_a_difference = true;
  }

  // Nothing is copied back from memory that both sides reach: there a kernel leaves no trace.
  void allocated(const cpu_device::allocation_event& e) override {
    using cpu_device::memory_kind;
    if (e.kind == memory_kind::device || e.kind == memory_kind::symbol) return;
    before[const_cast<void*>(e.address)].resize(e.bytes);
  }
  void freed(const cpu_device::allocation_event& e) override {
    before.erase(const_cast<void*>(e.address));
  }
  void launch_begins(const cpu_device::launch_event&) override {
    if (under_way++ != 0) return;
    for (auto& [address, bytes] : before) std::memcpy(bytes.data(), address, bytes.size());
  }
  void launch_ends(const cpu_device::launch_event&) override {
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
};
bool nothing_comes_back::made_a_difference() const { return eraser_->made_a_difference; }

#else

struct recording::recorder {};
recorded_work recording::finish() { return {}; }
struct nothing_comes_back::eraser {};
bool nothing_comes_back::made_a_difference() const { return false; }

#endif

recording::recording() : recorder_(std::make_unique<recorder>()) {}
recording::~recording() = default;
nothing_comes_back::nothing_comes_back() : eraser_(std::make_unique<eraser>()) {}
nothing_comes_back::~nothing_comes_back() = default;

}  // namespace detail
}  // namespace lab::testing
