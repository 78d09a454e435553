// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Barriers as compute capability 7.0 and later has them (barrier_mode::hardware), as far as they
// differ from strict ones: threads that have left the kernel are not waited for, and a block's
// barrier counts arrivals, at whichever __syncthreads() they are. Nothing here runs before threads
// of a block would be stuck, or spin.
//
// CUDA documents the first: barriers and warp functions wait for all threads that have not exited.
// It leaves undefined what a barrier does that threads reach at different places.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

std::atomic<barrier_mode>& mode_now() {
  static std::atomic<barrier_mode> mode = [] {
    const char* text = std::getenv("CPU_DEVICE_BARRIERS");
    if (text == nullptr || *text == '\0' || std::strcmp(text, "strict") == 0)
      return barrier_mode::strict;
    if (std::strcmp(text, "hardware") == 0) return barrier_mode::hardware;
    std::fprintf(
        stderr, "CPU device: CPU_DEVICE_BARRIERS=%s is ignored: it is strict or hardware.\n", text);
    return barrier_mode::strict;
  }();
  return mode;
}

/// A warning for each set of places, once.
void warn_once(worker& w, const std::string& places, const std::string& text) {
  const engine_work work(w);
  static std::mutex mutex;
  static auto* warned = new std::set<std::string>;
  {
    const std::lock_guard lock(mutex);
    if (!warned->insert(places).second) return;
  }
  explain("warning: " + text);
}

unsigned lanes_in(const warp_group& group) {
  unsigned lanes = 0;
  for (unsigned i = 0; i < group.count; ++i)
    lanes |= 1U << (group.waiting[i]->position().linear % 32);
  return lanes;
}

/// The lanes of a warp that have not left the kernel. `running` is null if no thread runs.
unsigned live_lanes(const worker& w, unsigned warp, const fiber* running) {
  unsigned lanes = 0;
  const auto add = [&](const thread_position& thread) {
    if (thread.linear / 32 == warp) lanes |= 1U << (thread.linear % 32);
  };
  if (running != nullptr) add(running->position());
  for (unsigned i = 0; i < w.arrived; ++i) add(w.waiting[i]->position());
  for (unsigned i = w.head; i != w.tail; ++i) add(w.ready[i % kMaxThreads]->position());
  for (const fiber* f : w.at_active_mask) add(f->position());
  if (w.cluster != nullptr)
    for (const fiber* f : w.cluster->waiting) add(f->position());
  for (const warp_group* g = w.open_groups[warp]; g != nullptr; g = g->next) lanes |= lanes_in(*g);
  for (const thread_position* t = progress.next; t != progress.end; ++t) add(*t);
  return lanes;
}

[[gnu::cold]] void warn_of_group(worker& w, unsigned warp, const warp_group& group, unsigned here) {
  std::vector<unsigned> gone;
  for (unsigned lane = 0; lane < 32; ++lane)
    if (((group.mask & ~here) >> lane & 1U) != 0) gone.push_back(warp * 32 + lane);
  const fiber& last = *group.waiting[group.count - 1];
  const std::string where = std::string(group.what) + " at " + place(last.file, last.line);
  char mask[16];
  std::snprintf(mask, sizeof mask, "0x%08x", group.mask);
  warn_once(w, where,
            where + " names lanes that have left the kernel (mask " + mask + ", threads " +
                ranges(gone) + "), in " + describe_block(w) +
                ".\n  The others go on, as on a GPU since compute capability 7.0 "
                "(CPU_DEVICE_BARRIERS=hardware).");
}

/// Lets the lanes go on that wait only for lanes that have left the kernel.
bool release_groups(worker& w, const fiber* running) {
  bool released = false;
  for (unsigned warp = 0; warp < 32; ++warp) {
    for (warp_group *group = w.open_groups[warp], *next = nullptr; group != nullptr; group = next) {
      next = group->next;
      const unsigned here = lanes_in(*group);
      if (group->mixed || (group->mask & ~here & live_lanes(w, warp, running)) != 0) continue;
      warn_of_group(w, warp, *group, here);
      group->mask = here;
      group->expected = group->count;
      let_group_go(w, warp, group);
      released = true;
    }
  }
  return released;
}

}  // namespace

void set_barrier_mode(barrier_mode mode) { mode_now().store(mode); }
bool hardware_barriers() { return mode_now().load() == barrier_mode::hardware; }

bool meets_as_hardware(worker& w) {
  for (unsigned i = 1; i < w.arrived; ++i)
    if (w.waiting[i]->what != w.waiting[0]->what) return false;  // a grid's barrier, a vote
  std::set<std::string> places;
  for (unsigned i = 0; i < w.arrived; ++i)
    places.insert(place(w.waiting[i]->file, w.waiting[i]->line));
  std::string key;
  for (const std::string& p : places) key += p + " ";
  warn_once(
      w, key,
      describe_divergence(w) +
          (places.size() > 1
               ? "\n  They go on, since arrivals are counted wherever they are, as GPUs do; CUDA "
                 "leaves undefined what happens then (CPU_DEVICE_BARRIERS=hardware)."
               : "\n  Those that wait go on, as on a GPU since compute capability 7.0 "
                 "(CPU_DEVICE_BARRIERS=hardware)."));
  return true;
}

void release_while_spinning(worker& w, const fiber& running) {
  if (w.cluster != nullptr) release_cluster_while_spinning(w);
  if (!w.launch->hardware_barriers) return;
  for (const warp_group* group : w.open_groups)
    if (group != nullptr) {
      release_groups(w, &running);
      return;
    }
}

bool release_stuck(worker& w) {
  if (release_groups(w, nullptr)) return true;
  for (const warp_group* group : w.open_groups)
    if (group != nullptr) return false;  // of lanes that wait for lanes at the block's barrier
  if (w.arrived == 0 || w.waiting[0]->what == kGridBarrier || !meets_as_hardware(w)) return false;
  w.mixed = false;
  for (unsigned i = 0; i < w.arrived; ++i) w.stacks[w.waiting[i]->stack].result = w.vote_result;
  let_block_go(w);
  return true;
}

}  // namespace cpu_device
