// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Clusters: blocks that run at the same time, each on an OS thread of its own, and reach each
// other's shared memory. Workers take the blocks of a launch with clusters one by one and in order,
// and there are at least as many workers as a cluster has blocks. So the first cluster that has not
// ended is always complete, or about to be.
//
// Their barrier is a meeting of blocks, as a grid's is (grid.cpp); how the threads of a block wait
// for it is in engine.cpp.

#include "cpu_device/clusters.h"

#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <string>

#include "base/report.hpp"
#include "cpu_device/kernel_functions.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

uint3 coordinates_in(dim3 extent, std::uint64_t number) {
  return {static_cast<unsigned>(number % extent.x),
          static_cast<unsigned>(number / extent.x % extent.y),
          static_cast<unsigned>(number / extent.x / extent.y)};
}

/// Where the program's thread-local variables begin, from the thread pointer, and their bytes:
/// static __shared__ variables are among them.
struct static_shared {
  std::ptrdiff_t begin = 0;
  std::size_t bytes = 0;
};
const static_shared& where_static_shared_is() {
  static const static_shared found = [] {
    static_shared s;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* raw) {
          auto& out = *static_cast<static_shared*>(raw);
          for (int h = 0; h < info->dlpi_phnum; ++h)
            if (info->dlpi_phdr[h].p_type == PT_TLS && info->dlpi_tls_data != nullptr) {
              out.begin = static_cast<const char*>(info->dlpi_tls_data) -
                          static_cast<const char*>(__builtin_thread_pointer());
              out.bytes = info->dlpi_phdr[h].p_memsz;
            }
          return 1;  // the first one is the program
        },
        &s);
    return s;
  }();
  return found;
}

/// Dynamic shared memory, with the page behind it that nobody can touch.
std::uintptr_t dynamic_room(const worker& w) {
  return static_cast<std::uintptr_t>(w.shared_end - w.shared_low) + kSharedGuard;
}

/// The place of an address in the worker's shared memory, which is the same number in all blocks.
bool find_shared(const worker& w, const void* address, std::uintptr_t& offset) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const static_shared& s = where_static_shared_is();
  const std::uintptr_t in_static = at - reinterpret_cast<std::uintptr_t>(w.thread_pointer) -
                                   static_cast<std::uintptr_t>(s.begin);
  const std::uintptr_t room = dynamic_room(w);
  const std::uintptr_t in_dynamic = at - reinterpret_cast<std::uintptr_t>(w.shared_low);
  offset = in_dynamic < room ? in_dynamic : room + in_static;
  return in_dynamic < room || in_static < s.bytes;
}

void wake_waiters(std::atomic<std::uint32_t>& number) {
  number.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &number, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// Who runs the block of this rank; waits until it has begun.
worker& runner_of(worker& w, running_cluster& cluster, unsigned rank) {
  for (;;) {
    const std::uint32_t begun = cluster.begun.load(std::memory_order_acquire);
    if (worker* there = cluster.members[rank].load(std::memory_order_acquire)) return *there;
    if (cluster.meeting.broken.load()) {
      w.problem.what = failure::kind::abandoned;
      give_up_block(w);
    }
    w.waits_for_blocks.store(true, std::memory_order_release);
    syscall(SYS_futex, &cluster.begun, FUTEX_WAIT_PRIVATE, begun, nullptr, nullptr, 0);
    w.waits_for_blocks.store(false, std::memory_order_release);
  }
}

worker& calling_worker(const char* what) {
  if (inside_kernel()) return *current_worker();
  report(std::string(what) + " was called by host code. It belongs into a kernel.");
  std::abort();
}

[[noreturn]] void refuse_rank(worker& w, unsigned rank, const char* why, const char* file,
                              int line) {
  w.problem.what = failure::kind::misuse;
  w.problem.text = "map_shared_rank() at " + place(file, line) + " was called with the rank " +
                   std::to_string(rank) + why;
  give_up_block(w);
}

}  // namespace

std::uintptr_t own_shared(const worker& w, std::uintptr_t offset) {
  const std::uintptr_t room = dynamic_room(w);
  if (offset < room) return reinterpret_cast<std::uintptr_t>(w.shared_low) + offset;
  return reinterpret_cast<std::uintptr_t>(w.thread_pointer) +
         static_cast<std::uintptr_t>(where_static_shared_is().begin) + (offset - room);
}

uint3 block_of_cluster(const launch_clusters& clusters, std::uint64_t i) {
  const uint3 cluster = coordinates_in(clusters.count, i / clusters.size);
  const uint3 block = coordinates_in(clusters.dim, i % clusters.size);
  return {cluster.x * clusters.dim.x + block.x, cluster.y * clusters.dim.y + block.y,
          cluster.z * clusters.dim.z + block.z};
}

std::uint64_t cluster_of_block(const running_launch& launch, std::uint64_t block) {
  const launch_clusters& c = *launch.clusters;
  const uint3 at = coordinates_in(launch.grid, block);
  return (std::uint64_t{at.z / c.dim.z} * c.count.y + at.y / c.dim.y) * c.count.x + at.x / c.dim.x;
}

void join_cluster(worker& w, std::uint64_t i) {
  const engine_work work(w);
  launch_clusters& clusters = *w.launch->clusters;
  w.cluster = std::make_unique<cluster_member>();
  cluster_member& c = *w.cluster;
  c.cluster = i / clusters.size;
  c.rank = static_cast<unsigned>(i % clusters.size);
  c.at.resize(progress.count);
  c.since_epoch = w.block_epoch;
  {
    const std::lock_guard lock(clusters.mutex);
    std::shared_ptr<running_cluster>& all = clusters.running[c.cluster];
    if (all == nullptr) {
      all = std::make_shared<running_cluster>(clusters.size);
      all->meeting.broken.store(clusters.broken);
      if (hooks.cluster_begins != nullptr) hooks.cluster_begins(*all);
    }
    c.all = all;
  }
  c.all->members[c.rank].store(&w, std::memory_order_release);
  wake_waiters(c.all->begun);
}

void leave_cluster(worker& w) {
  cluster_member& c = *w.cluster;
  running_cluster& all = *c.all;
  // Others may count on a barrier that its threads have arrived at and not waited for.
  if (c.barrier > 1) wait_at(w, all.meeting, c.barrier - 1, failure::kind::stuck_cluster);
  const engine_work work(w);
  if (hooks.cluster_met != nullptr) {
    if (c.passed + 1 != c.barrier) {
      hooks.cluster_met(w, false);
      c.passed = c.barrier - 1;
      c.since_epoch = ++w.block_epoch;
    }
    hooks.cluster_met(w, true);
  }
  all.left.fetch_or(1U << c.rank);
  leave_meeting(all.meeting, c.rank);
  if (static_cast<unsigned>(__builtin_popcount(all.left.load())) == all.meeting.blocks) {
    launch_clusters& clusters = *w.launch->clusters;
    const std::lock_guard lock(clusters.mutex);
    clusters.running.erase(c.cluster);
  }
  w.cluster.reset();
}

void break_clusters(running_launch& launch) {
  const std::lock_guard lock(launch.clusters->mutex);
  launch.clusters->broken = true;
  for (const auto& [number, all] : launch.clusters->running) {
    break_meeting(all->meeting);
    wake_waiters(all->begun);
  }
}

bool find_remote(const worker& w, const void* address, remote_shared& found) {
  const running_cluster& all = *w.cluster->all;
  // A worker whose block has left may run another one of the cluster: the one that is there counts.
  for (const bool has_left : {false, true})
    for (unsigned rank = 0; rank < all.meeting.blocks; ++rank) {
      const worker* there = all.members[rank].load(std::memory_order_acquire);
      if (there == nullptr || there == &w || (all.left.load() >> rank & 1U) != has_left) continue;
      if (!find_shared(*there, address, found.offset)) continue;
      found.rank = rank;
      found.own = own_shared(w, found.offset);
      return true;
    }
  return false;
}

cluster_place place_in_cluster() {
  const worker& w = calling_worker("this_cluster()");
  if (w.cluster == nullptr) return {{0, 0, 0}, {1, 1, 1}, 0, 1, blockIdx};
  const launch_clusters& clusters = *w.launch->clusters;
  return {coordinates_in(clusters.dim, w.cluster->rank), clusters.dim, w.cluster->rank,
          clusters.size, coordinates_in(clusters.count, w.cluster->cluster)};
}

void* map_shared(const void* address, unsigned rank, const char* file, int line) {
  worker& w = calling_worker("map_shared_rank()");
  const cluster_member* c = w.cluster.get();
  std::uintptr_t offset = 0;
  if (!find_shared(w, address, offset))
    refuse(
        "map_shared_rank() wants the address of a variable in the calling block's own shared "
        "memory, and this is none.",
        file, line);
  if (rank >= (c != nullptr ? c->all->meeting.blocks : 1))
    refuse_rank(w, rank, ", but ranks count from 0 to this_cluster().num_blocks() - 1.", file,
                line);
  if (c == nullptr || rank == c->rank) return const_cast<void*>(address);
  const worker& there = runner_of(w, *c->all, rank);
  if ((c->all->left.load() >> rank & 1U) != 0)
    refuse_rank(w, rank,
                ", but that block has left the kernel, and its shared memory with it. Try: a "
                "this_cluster().sync() at the end of the kernel, so that no block leaves while "
                "others use its memory.",
                file, line);
  return reinterpret_cast<void*>(own_shared(there, offset));
}

unsigned rank_of_shared(const void* address, const char* file, int line) {
  const worker& w = calling_worker("query_shared_rank()");
  std::uintptr_t offset = 0;
  if (find_shared(w, address, offset)) return w.cluster != nullptr ? w.cluster->rank : 0;
  remote_shared found{};
  if (w.cluster == nullptr || !find_remote(w, address, found))
    refuse(
        "query_shared_rank() wants an address in the shared memory of a block of the cluster, "
        "and this is none.",
        file, line);
  return found.rank;
}

void require_clusters(dim3 cluster) {
  worker& w = calling_worker("a kernel with __cluster_dims__");
  if (w.launch->clusters != nullptr || cluster.x * cluster.y * cluster.z == 1) return;
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorInvalidClusterSize;
  w.problem.text =
      "the kernel has __cluster_dims__, which this launch could not know of. Try: all of the "
      "template's arguments in the launch, kernel<T, N><<<...>>>.";
  give_up_block(w);
}

}  // namespace cpu_device
