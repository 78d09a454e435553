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

void meet_other_blocks(worker& w, const char* file, int line) {
  grid_meeting& m = *w.launch->meeting;
  const std::uint32_t generation = m.generation.load(std::memory_order_acquire);
  if (!m.broken.load()) {
    m.places[block_number()] = {file, line, generation, false};
    const std::uint64_t counts = m.counts.fetch_add(1) + 1;
    if (waiting(counts) == m.blocks) {
      m.counts.store(0);
      if (hooks.new_time != nullptr) m.checked_at.store(hooks.new_time());
      wake_all(m);
      return;
    }
    if (waiting(counts) + left(counts) == m.blocks) give_up_meeting(m);
    w.waits_for_blocks.store(true, std::memory_order_release);
    while (m.generation.load(std::memory_order_acquire) == generation)
      syscall(SYS_futex, &m.generation, FUTEX_WAIT_PRIVATE, generation, nullptr, nullptr, 0);
    w.waits_for_blocks.store(false, std::memory_order_release);
  }
  if (!m.broken.load()) return;
  w.problem.what = m.incomplete.load() ? failure::kind::stuck_grid : failure::kind::abandoned;
  give_up_block(w);
}

void leave_grid(worker& w) {
  grid_meeting& m = *w.launch->meeting;
  m.places[block_number()].left = true;
  const std::uint64_t counts = m.counts.fetch_add(kOneLeft) + kOneLeft;
  if (waiting(counts) != 0 && waiting(counts) + left(counts) == m.blocks) give_up_meeting(m);
}

void break_grid(running_launch& launch) {
  launch.meeting->broken.store(true);
  wake_all(*launch.meeting);
}

std::string describe_stuck_grid(worker& w) {
  const grid_meeting& m = *w.launch->meeting;
  std::map<std::pair<std::string, int>, std::vector<unsigned>> places;
  std::vector<unsigned> gone;
  for (std::uint32_t b = 0; b < m.blocks; ++b) {
    if (m.places[b].left)
      gone.push_back(b);
    else
      places[{short_name(m.places[b].file), m.places[b].line}].push_back(b);
  }
  std::string text = "grid barrier that some blocks never reach, in kernel " +
                     std::string(w.launch->site.kernel) + " (launched at " +
                     short_name(w.launch->site.file) + ":" + std::to_string(w.launch->site.line) +
                     "):";
  for (const auto& [where, blocks] : places)
    text += "\n  " + blocks_that(blocks, "waits", "wait") + " in this_grid().sync() at " +
            where.first + ":" + std::to_string(where.second);
  text += "\n  " + blocks_that(gone, "has left", "have left") + " the kernel";
  return text +
         "\n  Every thread of every block must reach every this_grid().sync(). Try: move it out of "
         "the if or the loop, and put the condition around the work only.";
}

}  // namespace cpu_device
