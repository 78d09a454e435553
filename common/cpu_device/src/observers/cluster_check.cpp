// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "observers/cluster_check.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/report.hpp"

namespace cpu_device::check {
namespace {

/// What other blocks did to a block's shared memory since a barrier of the cluster.
struct remote_words {
  std::uint32_t passed = 0;  // the barriers that they had passed
  std::unordered_map<std::uintptr_t, cell> words;
};
/// The blocks of a cluster are at most one barrier apart.
struct home {
  std::mutex mutex;
  remote_words since[2];
};
struct cluster_notes {
  explicit cluster_notes(unsigned blocks) : homes(blocks) {}
  std::vector<home> homes;  // by rank
};

home& home_of(const running_cluster& all, unsigned rank) {
  return static_cast<cluster_notes*>(all.watch.get())->homes[rank];
}

[[maybe_unused]] const bool notes_are_hooked = [] {
  hooks.cluster_begins = [](running_cluster& all) {
    all.watch = std::make_shared<cluster_notes>(all.meeting.blocks);
  };
  return true;
}();

struct pair_of_accesses {
  access now, before;
  excuse why;
};

std::string block_text(const running_launch& launch, std::uint32_t serial) {
  return "block " + coordinates(serial - launch.first_serial, launch.grid.x, launch.grid.y);
}

/// `owner` is the serial number of the block whose memory it is.
void report_lifetime(worker& w, const access& a, std::uint32_t owner, const char* what,
                     const char* advice) {
  const engine_work work(w);
  if (!speaks_first({0, a.place})) return;
  const running_launch& launch = *w.launch;
  const std::string where = place_text(a.place);
  report("shared memory of a block that " + std::string(what) + ", in kernel " +
         launch.site.kernel + " (launched at " + place(launch.site.file, launch.site.line) +
         "):\n  thread " + coordinates(a.thread(), launch.block.x, launch.block.y) + " of " +
         block_text(launch, a.block) + (a.writes() ? " writes to" : " reads") +
         " the shared memory of " + block_text(launch, owner) +
         (where.empty() ? "" : " at " + where) + "\n  " + advice);
}
void report_begin(worker& w, const access& a, std::uint32_t owner) {
  report_lifetime(
      w, a, owner, "may not have begun",
      "No barrier of the cluster lies before that, and a block's shared memory is there "
      "when the block has begun. Try: this_cluster().sync() before the first access.");
}
void report_end(worker& w, const access& a, std::uint32_t owner) {
  report_lifetime(w, a, owner, "may have left",
                  "No barrier of the cluster lies between that and the end of the other block, and "
                  "its shared memory ends with it. Try: this_cluster().sync() at the end of the "
                  "kernel, so that no block leaves while others use its memory.");
}

std::uint32_t serial_of(const worker& w, unsigned rank) {
  const launch_clusters& clusters = *w.launch->clusters;
  const uint3 b = block_of_cluster(clusters, w.cluster->cluster * clusters.size + rank);
  return w.launch->first_serial + (b.z * w.launch->grid.y + b.y) * w.launch->grid.x + b.x;
}

/// Is one of them ordered before the other, by atomics and fences or the grid's barrier? `own` is
/// the running block's, and nothing says which one came first.
bool ordered_either_way(worker& w, thread_times& times, const access& own, const access& remote,
                        excuse& why) {
  if (ordered_by_atomics(times, w, remote, own, why)) return true;
  const std::uint32_t released = times_of(w.serial).published.load(std::memory_order_relaxed);
  const std::uint32_t acquired = times_of(remote.block).last_atomic.load(std::memory_order_relaxed);
  return later(released, own.time) && later(acquired, own.time);
}

void compare(worker& w, thread_times& times, const access& own, const access& remote,
             std::vector<pair_of_accesses>& races) {
  const unsigned both = own.who & remote.who;
  if (remote.block == 0 || (!own.writes() && !remote.writes()) || (both & 0x3C00U) == 0) return;
  excuse why = excuse::none, reason = excuse::none;
  if ((both & 0x4000U) != 0 && !not_atomic_together(remote, own, reason)) return;
  if (!ordered_either_way(w, times, own, remote, why))
    races.push_back({own, remote, reason != excuse::none ? reason : why});
}

}  // namespace

bool find_remote_access(const worker& w, std::uintptr_t address, remote_shared& found) {
  return w.cluster != nullptr && find_remote(w, reinterpret_cast<const void*>(address), found);
}

void look_at_remote(worker& w, thread_times& times, const remote_shared& where, std::size_t size,
                    access now, std::uint8_t flags) {
  const cluster_member& c = *w.cluster;
  const std::uint32_t owner = serial_of(w, where.rank);
  if (c.passed == 0 && times.acquired_by_block == 0) report_begin(w, now, owner);
  if ((c.all->left.load() >> where.rank & 1U) != 0) return report_end(w, now, owner);
  std::vector<pair_of_accesses> races;
  {
    const engine_work work(w);
    home& there = home_of(*c.all, where.rank);
    const std::lock_guard lock(there.mutex);
    remote_words& since = there.since[c.passed % 2];
    if (since.passed != c.passed) {
      if (later(since.passed, c.passed)) return;  // the thread has arrived and not waited
      since.words.clear();
      since.passed = c.passed;
    }
    const std::uint16_t base = now.who;
    for (std::uintptr_t at = where.offset, end = at + size; at < end;) {
      const std::size_t in_word = std::min<std::size_t>(end - at, 4 - at % 4);
      now.who = static_cast<std::uint16_t>(base | ((1U << in_word) - 1U) << (10 + at % 4));
      access culprit;
      excuse why = excuse::none;
      if (look_at_word<false>(w, times, since.words[at / 4], now, flags, culprit, why))
        races.push_back({now, culprit, why});
      at += in_word;
    }
  }
  for (const pair_of_accesses& race : races) note_race(w, race.now, race.before, true, race.why);
}

void compare_with_remote(worker& w, thread_times& times, bool leaves,
                         const std::function<const cell&(std::uintptr_t)>& own_cell) {
  const cluster_member& c = *w.cluster;
  std::vector<pair_of_accesses> races;
  std::vector<access> late;
  {
    home& mine = home_of(*c.all, c.rank);
    const std::lock_guard lock(mine.mutex);
    remote_words& since = mine.since[c.passed % 2];
    if (since.passed != c.passed) return;
    for (const auto& [word, remote] : since.words) {
      const cell& own = own_cell(own_shared(w, word * 4));
      for (const access& r : {remote.write, remote.reader[0], remote.reader[1]}) {
        if (r.block == 0) continue;
        for (const access& o : {own.write, own.reader[0], own.reader[1]})
          if (o.block == w.serial && static_cast<std::int32_t>(o.epoch - c.since_epoch) >= 0)
            compare(w, times, o, r, races);
        const std::uint32_t released = times_of(r.block).published.load(std::memory_order_relaxed);
        const auto& grid = w.launch->meeting;
        if (leaves && !later(released, r.time) &&
            !(grid != nullptr && later(grid->checked_at.load(), r.time)))
          late.push_back(r);
      }
    }
    since.words.clear();
  }
  for (const pair_of_accesses& race : races) note_race(w, race.now, race.before, true, race.why);
  for (const access& r : late) report_end(w, r, w.serial);
}

}  // namespace cpu_device::check
