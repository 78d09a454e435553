// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.2 lost_update: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lost_update.hpp"
#include "reference.hpp"

namespace {

using lab::lost_update::moment;
using lab::lost_update::operation;
using lab::lost_update::replay;
using lab::lost_update::turn;

constexpr std::int32_t kStart = 7;  // the book's

constexpr auto kRead = operation::read;
constexpr auto kAdd = operation::add;
constexpr auto kWrite = operation::write;

/// The book's two tables.
const std::vector<turn> kOneAfterTheOther = {{0, kRead}, {0, kAdd}, {0, kWrite},
                                             {1, kRead}, {1, kAdd}, {1, kWrite}};
const std::vector<turn> kInterleaved = {{0, kRead}, {1, kRead},  {0, kAdd},
                                        {1, kAdd},  {0, kWrite}, {1, kWrite}};

std::string sentence(const turn& now, const moment& after) {
  const std::string name(1, static_cast<char>('A' + now.thread));
  if (now.op == kRead) return name + " reads " + std::to_string(after.own);
  if (now.op == kAdd) return name + " adds 1 and has " + std::to_string(after.own);
  return name + " writes " + std::to_string(after.own);
}

/// Prints what happens in a schedule; returns whether it is what has to happen.
bool show(const char* title, const std::vector<turn>& schedule) {
  const std::vector<moment> moments = replay(schedule, 2, kStart);
  const bool right = moments == lab::lost_update::reference(schedule, 2, kStart);
  std::printf("%s: x is %d\n", title, kStart);
  for (std::size_t i = 0; right && i < schedule.size(); ++i)
    std::printf("  %-18s  x is %d\n", sentence(schedule[i], moments[i]).c_str(), moments[i].x);
  return right;
}

/// Replays all orders of so many threads; prints how often x becomes what.
bool show_all_orders(unsigned threads) {
  std::map<std::int32_t, std::size_t> how_often;
  const auto all = lab::lost_update::all_interleavings(threads);
  for (const std::vector<turn>& schedule : all) {
    const std::vector<moment> moments = replay(schedule, threads, kStart);
    if (moments != lab::lost_update::reference(schedule, threads, kStart)) return false;
    ++how_often[moments.back().x];
  }
  std::printf("%u threads, all %zu orders:", threads, all.size());
  for (const auto& [x, times] : how_often) std::printf("  x is %d after %zu", x, times);
  std::printf("\n");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("10.2_lost_update",
                       "Threads that do x++ at the same time, in slow motion and at full speed.");
  std::size_t size = lab::lost_update::kDefaultBlocks;
  std::size_t threads = lab::lost_update::kDefaultThreads;
  std::size_t rounds = lab::lost_update::kDefaultRounds;
  constexpr std::size_t kMost = 0xFFFF'FFFF;  // what an unsigned holds; the device says the rest
  program.add_size("--size", size, "number of blocks").at_most(kMost);
  program.add_size("--threads", threads, "threads of a block").at_most(kMost);
  program.add_size("--rounds", rounds, "how often each thread counts itself").at_most(kMost);
  bool only_count = false;
  program.add_flag("--only-count", only_count, "no slow motion");

  return program.run(argc, argv, [&] {
    if (!only_count) {
      const bool replayed = show("one after the other", kOneAfterTheOther) &&
                            show("interleaved", kInterleaved) && show_all_orders(2) &&
                            show_all_orders(3);
      if (!program.verdict(
              replayed, replayed ? "every turn was as scheduled" : "a turn was not as scheduled"))
        return false;
    }

    const auto run_once = [&] {
      return lab::lost_update::count(static_cast<unsigned>(size), static_cast<unsigned>(threads),
                                     static_cast<unsigned>(rounds));
    };
    const std::uint64_t expected = std::uint64_t{size} * threads * rounds;
    const auto result = run_once();
    std::printf("%zu blocks of %zu threads, each %zu times: %llu, counted %llu\n", size, threads,
                rounds, static_cast<unsigned long long>(expected),
                static_cast<unsigned long long>(result.count));
    if (result.count < expected)
      std::printf("lost: %llu of %llu\n", static_cast<unsigned long long>(expected - result.count),
                  static_cast<unsigned long long>(expected));
    if (!program.verdict(result.count == expected, result.count == expected
                                                       ? "no increment is lost"
                                                       : "the count is not what it has to be"))
      return false;
    if (expected != 0)
      program.report_kernel([&] { return run_once().kernel_ms; },
                            {.items = static_cast<double>(expected), .item_name = "increments"});
    return true;
  });
}
