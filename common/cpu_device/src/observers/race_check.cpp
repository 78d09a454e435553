// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The race check: what it says, and when.

#include "observers/race_check.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "base/report.hpp"

namespace cpu_device::check {

constinit std::atomic<std::uint32_t> clock_now{1};
constinit block_times times_of_blocks[std::size_t{1} << 16];

namespace {

std::string access_text(const access& a, const running_launch& launch, bool with_block,
                        const std::string& where) {
  std::string text = "thread " + coordinates(a.thread(), launch.block.x, launch.block.y);
  if (with_block)
    text += " of block " + coordinates(a.block - launch.first_serial, launch.grid.x, launch.grid.y);
  const bool atomic = a.atomic() && !a.is_volatile();
  text += a.writes() ? (atomic ? " updates it atomically" : " writes")
                     : (atomic ? " reads it atomically" : " reads");
  if (atomic && a.of_block_scope()) text += ", for its block only,";
  if (a.is_volatile()) text += " (volatile)";
  return text + (where.empty() ? "" : " at " + where);
}

const char* advice(bool shared, bool same_block, bool same_warp, bool same_line_writes,
                   excuse why) {
  switch (why) {
    case excuse::stale_texture:
      return "A texture may still give what the memory held before this launch, even to the "
             "thread that wrote. Try: fetch in a later kernel, or read the memory without the "
             "texture.";
    case excuse::stale_load:
      return "__ldg() reads through a cache for memory that nobody writes while the kernel runs: "
             "it may still give what the memory held before, even to the thread that wrote, and "
             "after any barrier. Try: an ordinary load.";
    case excuse::atomics_without_fences:
      return "Both used atomics in between, but an atomic function orders nothing around it: what "
             "was written before it may arrive after it. Try: __threadfence() before the atomic "
             "that gives the data away (unlock, count), and after the one that takes it (lock).";
    case excuse::volatile_without_fences:
      return "volatile makes the compiler access the memory right there, but it orders nothing: "
             "what was written before a flag may arrive after it. Try: __threadfence() before the "
             "flag is set and after it was seen, or a cuda::atomic_ref of the flag with "
             "memory_order_release and memory_order_acquire. In one block, __syncthreads() does.";
    case excuse::volatile_update:
      return "volatile does not make a read and a write one step: another thread may come in "
             "between, and one of the updates gets lost. Try: an atomic function.";
    case excuse::volatile_in_warp:
      return "The lanes of a warp need not run in step, and volatile does not make them. Try: a "
             "__syncwarp() between the two that every lane reaches.";
    case excuse::block_scope_fence:
      return "There is a fence or an atomic in between, but one of block scope: "
             "__threadfence_block(), atomic functions with _block and cuda::thread_scope_block "
             "order accesses for the threads of one block; another block may see them the other "
             "way around. Try: __threadfence(), the atomic function without _block, or "
             "cuda::thread_scope_device.";
    case excuse::block_scope_atomic:
      return "An atomic of block scope (a function with _block, cuda::thread_scope_block) is one "
             "step for the threads of its own block only: another block may come in between, and "
             "an update gets lost. Try: the function without _block, or "
             "cuda::thread_scope_device.";
    default:
      if (shared && !same_block)
        return "The blocks are of one cluster, and no barrier of the cluster lies between the two "
               "(__syncthreads() joins the threads of one block only). Try: this_cluster().sync() "
               "between them, which every thread of the cluster reaches, or an atomic function.";
      if (same_line_writes)
        return same_block
                   ? "Two threads write the same element there, and either value may remain. Try: "
                     "look at how the index is calculated (a thread past the end of a row writes "
                     "into the next one: is there a guard?), or an atomic function."
                   : "Threads of two blocks write the same element there, and either value may "
                     "remain. Try: look at how the index is calculated (does it use blockIdx? a "
                     "thread past the end of a row writes into the next one: is there a guard?), "
                     "or an atomic function.";
      if (same_warp)
        return "Nothing orders the two, so either may come first. Try: a __syncthreads() between "
               "them that every thread reaches (a __syncwarp() where only lanes of one warp meet, "
               "as these two do), or an atomic function.";
      return same_block
                 ? "Nothing orders the two, so either may come first. Try: a __syncthreads() "
                   "between them that every thread reaches, or an atomic function."
                 : "Blocks run concurrently and in any order, and no barrier waits for them all. "
                   "Try: "
                   "an atomic function, a place of its own for each block, or a second kernel.";
  }
}

/// The races of the running launches, each pair of lines once.
class race_reporter final : public observer {
 public:
  race_reporter() { add_observer(*this, static_cast<event_set>(event_kind::launch)); }

  /// Of several races between two lines one is reported: the first, but the read and the write in
  /// `sum += x` rather than two of these writes, whichever worker comes first.
  void note(places which, std::string line, std::string other, bool two_writes, std::string text) {
    const std::lock_guard lock(mutex_);
    if (other < line) std::swap(line, other);
    race found{which, std::move(line), std::move(other), two_writes, std::move(text)};
    for (race& r : waiting_)
      if (!found.line.empty() && r.line == found.line && r.other == found.other) {
        if (r.two_writes && !two_writes) r = std::move(found);
        return;
      }
    waiting_.push_back(std::move(found));
  }

 private:
  struct race {
    places which;
    std::string line, other;
    bool two_writes = false;  // of one line, neither of them atomic
    std::string text;
  };

  void launch_ends(const launch_event& launch) override {
    std::vector<race> races;
    {
      const std::lock_guard lock(mutex_);
      races.swap(waiting_);
    }
    if (launch.status == cudaErrorIllegalAddress) {
      // It has been said what to mend first. Whatever is left is found again then.
      for (const race& r : races) forget_spoken(r.which);
      return;
    }
    for (const race& r : races) report(r.text);
  }

  std::mutex mutex_;
  std::vector<race> waiting_;
};
race_reporter& reporter = *new race_reporter;  // until the very end

}  // namespace

void note_race(worker& w, const access& now, const access& before, bool shared, excuse why) {
  const engine_work work(w);
  const places which = std::minmax(now.place, before.place);
  if (!speaks_first(which)) return;
  const running_launch& launch = *w.launch;
  const bool same_block = now.block == before.block;
  const bool same_warp = same_block && now.thread() / 32 == before.thread() / 32;
  const bool texture = why == excuse::stale_texture, by_ldg = why == excuse::stale_load;
  const std::string here = place_text(now.place), there = place_text(before.place);
  const bool same_line_writes =
      now.writes() && before.writes() && here == there && !now.atomic() && !before.atomic();
  const char* kind = texture  ? "texture of memory that changes"
                     : by_ldg ? "__ldg() of memory that changes"
                     : why == excuse::block_scope_fence || why == excuse::block_scope_atomic
                         ? (shared ? "scope too narrow: race on shared memory"
                                   : "scope too narrow: race on global memory")
                     : shared && !same_block ? "race on distributed shared memory"
                     : shared                ? "race on shared memory"
                                             : "race on global memory";
  reporter.note(which, here, there, same_line_writes,
                std::string(kind) + " in " + describe_block(w) + ":\n  " +
                    access_text(now, launch, !same_block, here) +
                    (texture  ? " through a texture"
                     : by_ldg ? " by __ldg()"
                              : "") +
                    "\n  " + access_text(before, launch, !same_block, there) +
                    " (the same word)\n  " +
                    advice(shared, same_block, same_warp, same_line_writes, why));
}

}  // namespace cpu_device::check
