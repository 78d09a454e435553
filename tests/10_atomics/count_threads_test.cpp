// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "count_threads.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::device_limit;
using lab::count_threads::closed_form;
using lab::count_threads::columns_of;
using lab::count_threads::condition;
using lab::count_threads::count;
using lab::count_threads::extent;
using lab::count_threads::kDefaultGrid;
using lab::count_threads::rows_of;
using lab::count_threads::shape;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::timed;
using lab::testing::work_of;

struct named_condition {
  condition value;
  const char* name;
};
constexpr named_condition kConditions[] = {
    {condition::every_thread, "every_thread"},
    {condition::on_or_below_diagonal, "on_or_below_diagonal"},
    {condition::on_diagonal, "on_diagonal"},
    {condition::chessboard, "chessboard"}};

std::string name_of(const shape& grid) {
  return "grid" + std::to_string(grid.blocks.x) + "x" + std::to_string(grid.blocks.y) + "_block" +
         std::to_string(grid.threads.x) + "x" + std::to_string(grid.threads.y);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(ThreadsThatCountThemselves) {
  const shape grid{{3, 2}, {5, 7}};
  for (const auto& [criterion, name] : kConditions) {
    const auto is_right = [criterion = criterion](const shape& launched) {
      return count(criterion, launched).count == closed_form(criterion, launched);
    };
    const lab::testing::work done = work_of([&] { return is_right(grid); });
    EXPECT_TRUE(as_required(
        done, {.threads = 2, .blocks = 2, .fetched = sizeof(std::uint64_t), .atomics = true}))
        << name;
    EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost), sizeof(std::uint64_t))
        << name << ": one counter comes back, not several that the host adds up";
    EXPECT_TRUE(at_other_sizes([&](unsigned n) { return is_right({{n, n + 1}, {1, 2}}); })) << name;
    EXPECT_TRUE(at_other_sizes([&](unsigned n) { return is_right({{1, 1}, {1, n}}); })) << name;
  }
}

REQUIRED_WORK(AGridOfTheShapeThatWasAskedFor) {
  // Also where the threads of whole rows or columns of blocks cannot fulfil the condition.
  for (const auto& [criterion, name] : kConditions)
    for (const shape& grid :
         {shape{{3, 2}, {5, 7}}, shape{{1, 6}, {2, 3}}, shape{{6, 1}, {2, 3}},
          shape{{50, 1}, {1, 1}}, shape{{1, 50}, {1, 1}}, shape{{1, 1}, {1, 1}},
          shape{{1, 1}, {31, 1}}, shape{{40, 33}, {4, 8}}, shape{{70'000, 1}, {1, 1}}}) {
      const lab::testing::work done = work_of([&, criterion = criterion] {
        return count(criterion, grid).count == closed_form(criterion, grid);
      });
      EXPECT_TRUE(as_required(done, {.threads = 1, .fetched = sizeof(std::uint64_t)})) << name;
      EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost), sizeof(std::uint64_t))
          << name << ", " << name_of(grid) << ": one counter comes back";
      std::size_t in_this_shape = 0;
      for (const auto& k : done.kernels) {
        const bool has_it =
            std::tuple(k.grid_x, k.grid_y, k.block_x, k.block_y) ==
            std::tuple(grid.blocks.x, grid.blocks.y, grid.threads.x, grid.threads.y);
        if (has_it) ++in_this_shape;
        // (One that counts nobody may set the counter to 0.)
        EXPECT_TRUE(has_it || k.atomics == 0)
            << name << ", " << name_of(grid) << ": " << k.name << " has another shape";
      }
      EXPECT_GE(in_this_shape, 1U) << name << ", " << name_of(grid) << ": launches in this shape";
    }
}

REQUIRED_WORK(EachThreadForItself) {
  // Threads may first agree on a number in their warp or block, and one of them adds it. But if
  // threads neither add nor share anything, another thread has counted them. (In the second grid
  // each thread is a block; after that, one block has them all; the last two have many of both, or
  // thousands of blocks.)
  for (const shape& grid :
       {shape{{3, 2}, {5, 7}}, shape{{7, 5}, {1, 1}}, shape{{1, 1}, {1, 1}}, shape{{1, 1}, {7, 1}},
        shape{{1, 1}, {32, 8}}, shape{{40, 33}, {16, 8}}, shape{{5003, 1}, {2, 1}}}) {
    const lab::testing::work done = work_of([&] {
#ifdef __CPU_DEVICE__
      cpu_device::set_lanes_apart(true);  // coalesced_threads() shares nothing that is counted
#endif
      return count(condition::every_thread, grid).count ==
             closed_form(condition::every_thread, grid);
    });
    const bool one_block = grid.blocks.x * grid.blocks.y == 1;
    EXPECT_TRUE(as_required(
        done, {.threads = one_block ? 1U : 2U, .fetched = sizeof(std::uint64_t), .atomics = true}))
        << name_of(grid);
    if (!done.watched) continue;
    for (const auto& k : done.kernels) {
      if (k.atomics == 0) continue;  // (it may set the counter to 0)
      EXPECT_EQ(k.atomic_places, 1U) << name_of(grid) << ": one counter, not several";
      // (Not all have written: an atomicCAS may have to be repeated.)
      EXPECT_GT(k.writes - k.plain_writes, 4 * k.atomics)
          << "bytes, by " << k.atomics
          << " atomic functions: four bytes are too few for a counter of 64 bits";
      EXPECT_TRUE(k.atomic_threads == k.all_threads() || k.barriers > 0 || k.warp_functions > 0)
          << k.atomic_threads << " of " << k.all_threads()
          << " threads add to the counter, and the others tell them nothing";
    }
  }
}

// --- the closed form -----------------------------------------------------------------------------

TEST(ClosedForm, IsWhatLookingAtEachThreadGives) {
  for (const auto& [criterion, name] : kConditions)
    for (unsigned rows = 0; rows < 12; ++rows)
      for (unsigned columns = 0; columns < 12; ++columns) {
        std::uint64_t expected = 0;
        for (unsigned i = 0; i < rows; ++i)
          for (unsigned j = 0; j < columns; ++j)
            expected += lab::count_threads::fulfils(criterion, i, j) ? 1 : 0;
        EXPECT_EQ(closed_form(criterion, {{columns, rows}, {1, 1}}), expected)
            << name << ", " << rows << " rows, " << columns << " columns";
      }
}

// --- every condition, every shape ----------------------------------------------------------------

class Count : public ::testing::TestWithParam<std::tuple<named_condition, shape>> {};

TEST_P(Count, IsTheClosedForm) {
  const auto& [criterion, grid] = GetParam();
  EXPECT_EQ(count(criterion.value, grid).count, closed_form(criterion.value, grid));
}

// One thread; one row and one column; around a warp; blocks that are tall, wide, odd, full; grids
// that are tall, wide, odd; primes. In most of them x and y cannot be swapped unnoticed.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Count,
    ::testing::Combine(::testing::ValuesIn(kConditions),
                       ::testing::Values(shape{{1, 1}, {1, 1}}, shape{{1, 1}, {31, 1}},
                                         shape{{1, 1}, {32, 1}}, shape{{1, 1}, {33, 1}},
                                         shape{{1, 1}, {1, 33}}, shape{{1, 1}, {32, 32}},
                                         shape{{1, 1}, {1024, 1}}, shape{{1, 1}, {1, 1024}},
                                         shape{{1, 1}, {7, 5}}, shape{{7, 5}, {1, 1}},
                                         shape{{3, 2}, {5, 7}}, shape{{2, 3}, {32, 8}},
                                         shape{{5, 1}, {16, 16}}, shape{{1, 5}, {16, 16}},
                                         shape{{13, 11}, {17, 19}}, shape{{100, 1}, {3, 1}},
                                         shape{{1, 100}, {1, 3}}, shape{{4, 60}, {33, 3}})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
    });

class EachCondition : public ::testing::TestWithParam<named_condition> {
 protected:
  condition criterion() const { return GetParam().value; }
};
INSTANTIATE_TEST_SUITE_P(Conditions, EachCondition, ::testing::ValuesIn(kConditions),
                         [](const auto& info) { return info.param.name; });

TEST_P(EachCondition, LosesNoneOfAMillionThreads) {
  const shape grid{{67, 61}, {16, 16}};
  EXPECT_EQ(count(criterion(), grid).count, closed_form(criterion(), grid));
}

TEST(CountThreads, IsNotLostIfOtherThreadsComeBetween) {
  // They have counted 1000 before a second atomic access, if the thread makes one.
  const lab::testing::detail::others_come_between meanwhile(std::uint64_t{0}, {0, 1000});
  const std::uint64_t counted = count(condition::every_thread, {{1, 1}, {1, 1}}).count;
  EXPECT_EQ(counted, meanwhile.came() < 2 ? 1U : 1001U);
}

TEST_P(EachCondition, BeginsAtZeroEveryTime) {
  // Counts that are left in memory that is allocated again would add up.
  for (const shape& grid : {shape{{9, 4}, {8, 8}}, shape{{9, 4}, {8, 8}}, shape{{1, 2}, {3, 1}}})
    EXPECT_EQ(count(criterion(), grid).count, closed_form(criterion(), grid)) << name_of(grid);
}

TEST_P(EachCondition, BeginsAtZeroWhenItsKernelIsRepeated) {
  // As a program repeats it to measure its time: with the counter of the previous launch.
  const lab::repeated_timing samples(3);
  const shape grid{{9, 4}, {8, 8}};
  EXPECT_EQ(count(criterion(), grid).count, closed_form(criterion(), grid));
}

TEST_P(EachCondition, CountsAsManyRowsAndColumnsAsAGridCanHave) {
  const shape tall{{1, device_limit(cudaDevAttrMaxGridDimY)}, {1, 2}};
  const shape wide{{300'000, 1}, {2, 1}};  // more than fit into 16 bits
  EXPECT_EQ(count(criterion(), tall).count, closed_form(criterion(), tall));
  EXPECT_EQ(count(criterion(), wide).count, closed_form(criterion(), wide));
}

TEST_P(EachCondition, CountsMoreColumnsThanAFloatCan) {
  // Above 2^24 not every whole number is a float, so a column's number is no longer odd or even.
  const shape grid{{(1 << 14) + 5, 1}, {1024, 1}};
  lab::testing::expect_at_full_size(
      [&] { EXPECT_EQ(count(criterion(), grid).count, closed_form(criterion(), grid)); });
}

TEST_P(EachCondition, CountsNobodyInAGridWithoutThreads) {
  for (const shape& grid : {shape{{0, 4}, {8, 8}}, shape{{4, 0}, {8, 8}}, shape{{4, 4}, {0, 8}},
                            shape{{4, 4}, {8, 0}}, shape{}}) {
    const auto result = count(criterion(), grid);
    EXPECT_EQ(result.count, 0U) << name_of(grid);
    EXPECT_EQ(result.kernel_ms, 0.0F) << "there is nothing to launch: " << name_of(grid);
  }
}

TEST_P(EachCondition, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return count(criterion(), {{10, 10}, {16, 16}}).kernel_ms;
  }));
}

// --- shapes that no device can launch ------------------------------------------------------------

TEST(CountThreads, RefusesWhatTheDeviceCannotLaunchAndNamesTheLimit) {
  constexpr unsigned kHuge = std::numeric_limits<unsigned>::max();
  const unsigned block = device_limit(cudaDevAttrMaxThreadsPerBlock);
  const struct {
    shape grid;
    unsigned limit;
  } impossible[] = {
      {{{1, 1}, {device_limit(cudaDevAttrMaxBlockDimX) + 1, 1}},
       device_limit(cudaDevAttrMaxBlockDimX)},
      {{{1, 1}, {1, device_limit(cudaDevAttrMaxBlockDimY) + 1}},
       device_limit(cudaDevAttrMaxBlockDimY)},
      {{{1, 1}, {2, block / 2 + 1}}, block},
      {{{kHuge, 1}, {1, 1}}, device_limit(cudaDevAttrMaxGridDimX)},
      {{{1, device_limit(cudaDevAttrMaxGridDimY) + 1}, {1, 1}},
       device_limit(cudaDevAttrMaxGridDimY)},
      {{{0, 0}, {kHuge, kHuge}}, device_limit(cudaDevAttrMaxBlockDimX)},
  };
  for (const auto& [grid, limit] : impossible) {
    try {
      count(condition::every_thread, grid);
      ADD_FAILURE() << name_of(grid) << " was not refused";
    } catch (const lab::invalid_input& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(limit)), std::string::npos)
          << error.what();
    }
  }
  EXPECT_EQ(count(condition::every_thread, {{1, 1}, {block, 1}}).count, block)
      << "a later valid call must work";
}

FAULT_TEST_P(EachCondition, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return count(GetParam().value, {{3, 2}, {5, 7}}).count; });
}

TEST_P(EachCondition, CountsTheProgramsGrid) {
  expect_at_full_size([&] {
    const auto is_right = [&] {
      return count(criterion(), kDefaultGrid).count == closed_form(criterion(), kDefaultGrid);
    };
    const std::size_t threads = rows_of(kDefaultGrid) * columns_of(kDefaultGrid);
    return lab::testing::is_true_without_the_host(
        is_right, {.threads = threads, .fetched = sizeof(std::uint64_t)});
  });
}

}  // namespace
