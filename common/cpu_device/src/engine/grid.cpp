// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The barrier of a grid, for cooperative launches: each block has an OS thread, and waits with it.
// The wait is a bare futex, not a condition variable, because a block may be given up in it.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

#include "base/report.hpp"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

constexpr std::uint64_t kOneLeft = std::uint64_t{1} << 32;

std::uint32_t waiting(std::uint64_t counts) { return static_cast<std::uint32_t>(counts); }
std::uint32_t left(std::uint64_t counts) { return static_cast<std::uint32_t>(counts >> 32); }

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "the kernel waits on the number itself");

void wake_all(grid_meeting& m) {
  m.generation.fetch_add(1, std::memory_order_acq_rel);
  syscall(SYS_futex, &m.generation, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

/// The ones that wait would do so for ever.
void give_up_meeting(grid_meeting& m) {
  m.incomplete.store(true);
  m.broken.store(true);
  wake_all(m);
}

std::uint32_t block_number() {
  return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

/// What they do: `one` if it is one block, `many` if there are more.
std::string blocks_that(const std::vector<unsigned>& blocks, const char* one, const char* many) {
  const bool single = blocks.size() == 1;
  return std::to_string(blocks.size()) + (single ? " block (" : " blocks (") + ranges(blocks) +
         ") " + (single ? one : many);
}

}  // namespace

std::uint32_t come_to(grid_meeting& m, std::uint32_t block, const char* file, int line) {
  const std::uint32_t generation = m.generation.load(std::memory_order_acquire);
  if (m.broken.load()) return generation;
  m.places[block] = {file, line, generation, false};
  const std::uint64_t counts = m.counts.fetch_add(1) + 1;
  if (waiting(counts) == m.blocks) {
    m.counts.store(0);
    if (hooks.new_time != nullptr) m.checked_at.store(hooks.new_time());
    wake_all(m);
  } else if (waiting(counts) + left(counts) == m.blocks) {
    give_up_meeting(m);
  }
  return generation;
}

void wait_at(worker& w, grid_meeting& m, std::uint32_t generation, failure::kind incomplete) {
  if (!m.broken.load()) {
    w.waits_for_blocks.store(true, std::memory_order_release);
    while (m.generation.load(std::memory_order_acquire) == generation)
      syscall(SYS_futex, &m.generation, FUTEX_WAIT_PRIVATE, generation, nullptr, nullptr, 0);
    w.waits_for_blocks.store(false, std::memory_order_release);
  }
  if (!m.broken.load()) return;
  w.problem.what = m.incomplete.load() ? incomplete : failure::kind::abandoned;
  give_up_block(w);
}

void meet_other_blocks(worker& w, const char* file, int line) {
  grid_meeting& m = *w.launch->meeting;
  wait_at(w, m, come_to(m, block_number(), file, line), failure::kind::stuck_grid);
}

void leave_meeting(grid_meeting& m, std::uint32_t block) {
  m.places[block].left = true;
  const std::uint64_t counts = m.counts.fetch_add(kOneLeft) + kOneLeft;
  if (waiting(counts) != 0 && waiting(counts) + left(counts) == m.blocks) give_up_meeting(m);
}
void leave_grid(worker& w) { leave_meeting(*w.launch->meeting, block_number()); }

void break_meeting(grid_meeting& m) {
  m.broken.store(true);
  wake_all(m);
}
void break_grid(running_launch& launch) { break_meeting(*launch.meeting); }

namespace {
/// `number_of`: of a block of the meeting, in the grid.
template <class Number>
[[gnu::cold]] std::string describe_meeting(worker& w, const grid_meeting& m, const char* whose,
                                           const char* barrier, const char* everyone,
                                           Number number_of) {
  std::map<std::pair<std::string, int>, std::vector<unsigned>> places;
  std::vector<unsigned> gone;
  for (std::uint32_t b = 0; b < m.blocks; ++b) {
    if (m.places[b].left)
      gone.push_back(number_of(b));
    else
      places[{short_name(m.places[b].file), m.places[b].line}].push_back(number_of(b));
  }
  std::string text = whose + std::string(" barrier that some blocks never reach, in kernel ") +
                     std::string(w.launch->site.kernel) + " (launched at " +
                     short_name(w.launch->site.file) + ":" + std::to_string(w.launch->site.line) +
                     "):";
  for (const auto& [where, blocks] : places)
    text += "\n  " + blocks_that(blocks, "waits", "wait") + " in " + barrier + " at " +
            where.first + ":" + std::to_string(where.second);
  text += "\n  " + blocks_that(gone, "has left", "have left") + " the kernel";
  return text + "\n  Every thread of " + everyone + " must reach every " + barrier +
         ". Try: move it out of the if or the loop, and put the condition around the work only.";
}
}  // namespace

std::string describe_stuck_grid(worker& w) {
  return describe_meeting(w, *w.launch->meeting, "grid", kGridBarrier, "every block",
                          [](unsigned block) { return block; });
}

std::string describe_stuck_cluster(worker& w) {
  const launch_clusters& clusters = *w.launch->clusters;
  const dim3 grid = w.launch->grid;
  return describe_meeting(w, w.cluster->all->meeting, "cluster", "this_cluster().sync()",
                          "every block of a cluster", [&](unsigned rank) {
                            const uint3 b = block_of_cluster(
                                clusters, w.cluster->cluster * clusters.size + rank);
                            return (b.z * grid.y + b.y) * grid.x + b.x;
                          });
}

}  // namespace cpu_device
