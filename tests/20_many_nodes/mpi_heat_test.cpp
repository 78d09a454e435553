// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_heat.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::mpi_heat::choose_grid;
using lab::mpi_heat::kLongestSide;
using lab::mpi_heat::kMostRanks;
using lab::mpi_heat::process_grid;
using lab::mpi_heat::reference;
using lab::mpi_heat::result;
using lab::mpi_heat::simulate;
using lab::mpi_heat::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::matches;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::blocking, "blocking"}, {step::overlap, "overlap"}};

const lab::testing::setting three_devices("CPU_DEVICE_COUNT", "3");

struct plate {
  int width, height;
  std::vector<float> initial, heaters;
};

plate random_plate(int width, int height, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  plate p{width, height, lab::random_floats(count, seed, -3, 5), std::vector<float>(count)};
  const auto heaters = lab::random_floats(count, seed + 1, -9, 9);
  for (std::size_t i = seed % 5; i < count; i += 5) p.heaters[i] = heaters[i];
  return p;
}

result run(step version, const plate& p, int steps, int ranks) {
  return simulate(version, p.width, p.height, p.initial, p.heaters, steps, ranks);
}

/// Whether the bits are those of one process.
::testing::AssertionResult is_right(step version, const plate& p, int steps, int ranks) {
  return matches(lab::compare_exact(run(version, p, steps, ranks).cells,
                                    reference(p.width, p.height, p.initial, p.heaters, steps)));
}

// --- who does the work ---------------------------------------------------------------------------

/// Bytes that each rank's kernels have written outside of the stream in which it writes most.
std::uint64_t written_in_other_streams(const lab::testing::work& done) {
  std::map<int, std::map<const void*, std::uint64_t>> by_rank;
  for (const auto& k : done.kernels) by_rank[k.device / 64][k.stream] += k.writes;
  std::uint64_t all = 0;
  for (const auto& [rank, streams] : by_rank) {
    std::uint64_t most = 0;
    for (const auto& [stream, writes] : streams) {
      all += writes;
      most = std::max(most, writes);
    }
    all -= most;
  }
  return all;
}

/// Whether work of a stream begins when it is queued: in the first run only (lab_testing.hpp).
bool streams_are_eager() {
  return lab::detail::new_memory_byte == 0xFF && std::getenv("CPU_DEVICE_STREAMS") == nullptr;
}

/// The ranks whose last large kernel was launched when no message was left to wait for. Kernels run
/// in the order of their launches only where streams are eager.
std::set<int> ranks_that_wait_first(const lab::testing::work& done, std::uint64_t large) {
  std::set<int> found;
  int rank = -1;
  std::size_t launches = 0;
  for (const std::string& call : done.sequence) {
    if (call.starts_with("rank ")) rank = std::stoi(call.substr(5));
    if (call.starts_with("MPI_")) found.erase(rank);
    if (call != "cudaLaunchKernel" || launches == done.kernels.size()) continue;
    if (done.kernels[launches++].writes >= large) found.insert(rank);
  }
  return found;
}

REQUIRED_WORK(KernelsOnEveryRankAndOnlyBordersBetweenThem) {
  constexpr int kTimes = 6, kRanks = 4;
  struct shape {
    int width, height, rows, columns;
  };
  // 2 x 2 parts: of many cells, of hardly more inside than along the borders, and of fewer. Then
  // parts that lie side by side, or one above the other.
  for (const auto& [width, height, rows, columns] :
       {shape{96, 80, 2, 2}, {26, 24, 2, 2}, {10, 8, 2, 2}, {80, 3, 1, 4}, {3, 80, 4, 1}}) {
    const plate p = random_plate(width, height, 1);
    const std::size_t bytes = bytes_of(p.initial);
    const auto across = static_cast<std::size_t>(width / columns),
               down = static_cast<std::size_t>(height / rows);
    // What is packed, and what is computed, where a corner counts once, by all ranks.
    constexpr std::size_t kAll = kRanks * kTimes * sizeof(float);
    const std::size_t borders = kAll * 2 * (across + down), outermost = borders - kAll * 4;
    // What the neighbours need.
    const std::size_t sent = kTimes * sizeof(float) * 2 *
                             static_cast<std::size_t>((rows - 1) * width + (columns - 1) * height);
    const std::size_t inside = kAll * (across - 2) * (down - 2);
    for (const auto& [version, name] : kSteps) {
      const bool overlaps = version == step::overlap;
      const std::string step_and_size =
          std::string(name) + ", " + std::to_string(width) + " x " + std::to_string(height);
      const lab::testing::work done =
          work_of([&, version = version] { return is_right(version, p, kTimes, kRanks); });
      EXPECT_TRUE(as_required(done, {.threads = p.initial.size() / kRanks / 8,
                                     .kernels = kRanks * kTimes,
                                     .sent = 2 * bytes + sent,
                                     .fetched = bytes + sent,
                                     .streams = overlaps ? 2U * kRanks : 1U,
                                     .devices = kRanks,
                                     .reads = 2 * bytes * kTimes,
                                     .writes = bytes * kTimes}))
          << step_and_size;
      EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost), bytes + borders)
          << step_and_size << ": more than the borders is copied to the host";
      EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes + borders)
          << step_and_size << ": more than the borders is copied to the device";
      std::uint64_t written = 0;
      for (const auto& k : done.kernels) written += k.writes;
      EXPECT_LE(written, bytes * kTimes + borders) << step_and_size << ": cells are computed twice";
      // As required_work.hpp numbers them: 64 for each rank.
      std::set<int> devices;
      for (const auto& k : done.kernels) devices.insert(k.device);
      EXPECT_EQ(devices, (std::set<int>{0, 64 + 1, 128 + 2, 192 + 0})) << step_and_size;
      if (!overlaps || !done.watched) continue;
      EXPECT_GE(written_in_other_streams(done), std::min(inside, outermost))
          << step_and_size << ": inner cells and borders are computed in one stream";
      EXPECT_LE(written_in_other_streams(done), outermost + borders)
          << step_and_size << ": inner cells are computed in the stream of the borders";
      if (streams_are_eager() && inside > outermost + borders) {
        EXPECT_EQ(ranks_that_wait_first(done, inside / kRanks / kTimes / 2), std::set<int>())
            << step_and_size
            << ": these ranks launch the kernel of the inner cells after they have waited "
               "for the borders: then nothing overlaps";
      }
    }
  }
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(at_other_sizes(
        [version = version](int n) { return is_right(version, random_plate(n, n + 1, 1), 3, 2); },
        {.threads = 1, .kernels = 2 * 3, .fetched = 1, .devices = 2, .writes = 1}))
        << name << ", two ranks";
    EXPECT_TRUE(at_other_sizes([version = version](int n) {
      return is_right(version, random_plate(n, n, 2), 3, 1);
    })) << name
        << ", one rank";
  }
}

// --- the grid ------------------------------------------------------------------------------------

TEST(Grid, UsesAsManyRanksAsThereIsWorkFor) {
  for (const int width : {1, 2, 3, 5, 16, 100})
    for (const int height : {1, 2, 3, 7, 16, 90})
      for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 36, kMostRanks}) {
        // All grids there are, in the order of their rows.
        process_grid best;
        long used = 0, shortest = 0;
        for (int rows = 1; rows <= std::min(height, ranks); ++rows)
          for (int columns = 1; columns <= std::min(width, ranks / rows); ++columns) {
            const long borders = (rows - 1L) * width + (columns - 1L) * height;
            if (rows * columns < used || (rows * columns == used && borders >= shortest)) continue;
            best = {rows, columns};
            used = rows * columns;
            shortest = borders;
          }
        const process_grid got = choose_grid(width, height, ranks);
        EXPECT_EQ(got, best) << width << " x " << height << " cells, " << ranks
                             << " ranks: " << got.rows << " x " << got.columns << ", and not "
                             << best.rows << " x " << best.columns;
      }
}

TEST(Grid, CutsTheLongerSide) {
  EXPECT_EQ(choose_grid(1000, 10, 4), (process_grid{1, 4}));
  EXPECT_EQ(choose_grid(10, 1000, 4), (process_grid{4, 1}));
  EXPECT_EQ(choose_grid(100, 100, 4), (process_grid{2, 2}));
  EXPECT_EQ(choose_grid(100, 100, 2), (process_grid{1, 2})) << "the fewest rows of two as good";
  EXPECT_EQ(choose_grid(kLongestSide, kLongestSide, 64), (process_grid{8, 8}));
  EXPECT_EQ(choose_grid(3, 2, 7), (process_grid{2, 3})) << "a rank has nothing to do";
}

TEST(Grid, RefusesWhatCannotBe) {
  EXPECT_THROW(choose_grid(0, 5, 1), lab::invalid_input);
  EXPECT_THROW(choose_grid(5, -1, 1), lab::invalid_input);
  EXPECT_THROW(choose_grid(kLongestSide + 1, 5, 1), lab::invalid_input);
  EXPECT_THROW(choose_grid(5, 5, 0), lab::invalid_input);
  EXPECT_THROW(choose_grid(5, 5, kMostRanks + 1), lab::invalid_input);
}

// --- the temperatures ----------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, HasTheSameBitsOnAnyNumberOfRanks) {
  // One cell, rows, columns, fewer cells than ranks, uneven parts, parts of one row or column,
  // parts around a tile of 32 x 8 cells.
  struct size {
    int width, height;
  };
  for (const int ranks : {1, 2, 4, 6, 7})
    for (const auto& [width, height] :
         {size{1, 1}, size{2, 1}, size{1, 5}, size{3, 2}, size{5, 7}, size{9, 2}, size{2, 11},
          size{17, 16}, size{33, 31}, size{67, 35}, size{35, 66}}) {
      const plate p = random_plate(width, height, 1);
      for (const int steps : {1, 4})
        ASSERT_TRUE(is_right(version(), p, steps, ranks))
            << width << " x " << height << " cells, " << steps << " time steps, " << ranks
            << " ranks";
    }
}

TEST_P(EachStep, TakesManyTimeStepsEvenAndOdd) {
  const plate p = random_plate(19, 17, 2);
  EXPECT_TRUE(is_right(version(), p, 60, 4));
  EXPECT_TRUE(is_right(version(), p, 61, 6));
}

TEST_P(EachStep, SendsBordersThatNoBufferOfMpiHolds) {
  // Short messages are on their way when MPI_Send returns, and long ones are not: then two ranks
  // that both send first wait for each other.
  // Borders of 1535 cells: columns, and rows. A part has 4606 border cells, which is just less than
  // 18 blocks of 256 threads have: with one thread fewer in each, some cells would be left out.
  for (const auto& [width, height] : {std::pair(1536, 1535), std::pair(1535, 1536)})
    lab::testing::expect_at_full_size([&, &wide = width, &high = height] {
      return is_right(version(), random_plate(wide, high, 3), 2, 2);
    });
}

TEST_P(EachStep, LeavesThePlateAloneInNoSteps) {
  const plate p = random_plate(9, 7, 5);
  EXPECT_EQ(run(version(), p, 0, 4).cells, p.initial);
}

TEST_P(EachStep, CarriesHeatAcrossCorners) {
  // A single hot cell next to where four parts meet: after two steps it has reached all of them.
  plate p{8, 8, std::vector<float>(64), std::vector<float>(64)};
  p.initial[3 * 8 + 3] = 1024;
  const result got = run(version(), p, 2, 4);
  EXPECT_EQ(got.grid, (process_grid{2, 2}));
  EXPECT_EQ(got.cells[4 * 8 + 4], 128.0F);
  EXPECT_TRUE(is_right(version(), p, 7, 4));
}

TEST_P(EachStep, SaysWhichGridAndHowLongItTook) {
  const plate p = random_plate(64, 48, 6);
  const result got = run(version(), p, 5, 6);
  EXPECT_EQ(got.grid, choose_grid(64, 48, 6));
  EXPECT_GT(got.total_ms, 0.0F);
  EXPECT_LT(got.total_ms, 20'000.0F);
  EXPECT_GT(got.exchange_ms, 0.0F);
  EXPECT_LE(got.exchange_ms, 1.1F * got.total_ms + 1);
}

#ifdef __CPU_DEVICE__

TEST_P(EachStep, CountsTheWaitForMessagesInTheExchange) {
  const plate p = random_plate(16, 12, 6);
  EXPECT_TRUE(lab::testing::is_time_with(
      "MPI_Wait|MPI_Waitall|MPI_Waitany|MPI_Waitsome|MPI_Recv|MPI_Sendrecv|MPI_Neighbor_alltoallv",
      [&] { return run(version(), p, 3, 4).exchange_ms; }));
}

#endif

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  using namespace lab::mpi_heat;
  lab::testing::expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device(
        [&] {
          return is_right(version(), random_plate(kDefaultWidth, kDefaultHeight, 7), kDefaultSteps,
                          kDefaultRanks);
        },
        {.threads = 32,
         .kernels = kDefaultRanks * kDefaultSteps,
         .fetched = 1,
         .devices = kDefaultRanks});
  });
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const plate large = random_plate(40, 30, 8), small = random_plate(5, 4, 9);
  for (const plate* p : {&large, &small, &large}) EXPECT_TRUE(is_right(version(), *p, 3, 4));
}

TEST_P(EachStep, ReportsWithinSecondsWhichRankHasDied) {
  const plate p = random_plate(16, 12, 10);
  const auto begin = std::chrono::steady_clock::now();
  std::string sentence;
  try {
    (void)simulate(version(), p.width, p.height, p.initial, p.heaters, 4, 4, 2);
  } catch (const std::exception& error) {
    sentence = error.what();
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_NE(sentence.find("rank 2 of 4 was ended by SIGKILL"), std::string::npos) << sentence;
  EXPECT_LT(std::chrono::duration<double>(took).count(), 10.0);
  EXPECT_TRUE(is_right(version(), p, 4, 4)) << "afterwards";
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesWhatCannotBeSimulated) {
  const std::vector<float> none, ten(10), eleven(11);
  EXPECT_THROW(simulate(version(), 0, 5, none, none, 1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, -2, none, none, 1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, eleven, ten, 1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, eleven, 1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, none, 1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, ten, -1, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, ten, 1, 0), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, ten, 1, kMostRanks + 1), lab::invalid_input);
  const float beyond = std::nextafter(lab::mpi_heat::kHottest, std::numeric_limits<float>::max());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), beyond, -beyond}) {
    std::vector<float> cells = ten;
    cells[9] = bad;
    EXPECT_THROW(simulate(version(), 5, 2, cells, ten, 1, 1), lab::invalid_input) << bad;
    EXPECT_THROW(simulate(version(), 5, 2, ten, cells, 1, 1), lab::invalid_input) << bad;
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const plate p = random_plate(17, 5, 1);
  for (const int ranks : {1, 4})
    lab::testing::expect_failures_reported([&] { return run(version(), p, 2, ranks).cells; },
                                           p.initial, p.heaters);
}

}  // namespace
