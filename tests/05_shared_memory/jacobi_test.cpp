// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "jacobi.hpp"

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

const lab::testing::timed_once kInPlace;  // a launch relaxes the matrix where it is

using lab::jacobi::kMaxSide;
using lab::jacobi::reference;
using lab::jacobi::relax;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using matrix = std::vector<float>;

std::size_t elements(std::size_t side) { return (side + 2) * (side + 2); }

/// Different in every cell, border and interior, with negatives.
matrix random_matrix(std::size_t side, std::uint64_t seed) {
  return lab::random_floats(elements(side), seed, -50, 100);
}

/// A value for each cell, from its row and its column.
template <class Function>
matrix filled(std::size_t side, Function value) {
  matrix cells;
  for (std::size_t row = 0; row < side + 2; ++row)
    for (std::size_t column = 0; column < side + 2; ++column)
      cells.push_back(static_cast<float>(value(static_cast<int>(row), static_cast<int>(column))));
  return cells;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AThreadForEachCellAndTheMatrixInSharedMemory) {
  const auto is_right = [](const matrix& start, std::size_t side) {
    return matches(lab::compare_exact(relax(start, side, 60).matrix, reference(start, side, 60)));
  };
  const matrix start = random_matrix(22, 1);
  const lab::testing::work done = work_of([&] { return is_right(start, 22); });
  EXPECT_EQ(done.kernels.size(), 1U) << "the matrix stays in shared memory from sweep to sweep";
  EXPECT_TRUE(as_required(done, {.threads = 22 * 22,
                                 .sent = bytes_of(start),
                                 .fetched = 22 * 22 * sizeof(float),  // the border stays as it is
                                 .reads = 22 * 22 * sizeof(float),
                                 .writes = 22 * 22 * sizeof(float),
                                 .reads_at_most = 3 * bytes_of(start),  // in 60 sweeps
                                 .shared_memory = true}));
  expect_at_full_size([] {
    const matrix cell = random_matrix(1, 1);
    const lab::testing::work many = work_of([&] {
      return matches(lab::compare_exact(relax(cell, 1, 65'537).matrix, reference(cell, 1, 65'537)));
    });
    EXPECT_EQ(many.kernels.size(), 1U) << "and for as many sweeps as are asked for";
  });
  for (const std::size_t side : {std::size_t{1}, std::size_t{3}, std::size_t{21}, kMaxSide})
    EXPECT_TRUE(
        as_required(work_of([&] { return is_right(random_matrix(side, side), side); }),
                    {.threads = side * side, .fetched = 1, .writes = side * side * sizeof(float)}))
        << "side " << side;
}

class Jacobi : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::size_t side() const { return GetParam(); }
};

// The source's 16 and 22; one cell; fewer threads than the border has cells; a block of one warp's
// width and its neighbours, where rows and warps do not agree; the largest block.
INSTANTIATE_TEST_SUITE_P(Sides, Jacobi,
                         ::testing::Values(1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 22, 31, 32));

TEST_P(Jacobi, IsTheHostsMatrixAfterEverySweep) {
  const matrix start = random_matrix(side(), side());
  matrix expected = start;
  for (std::size_t sweeps = 1; sweeps <= 6; ++sweeps) {
    expected = lab::jacobi::sweep(expected, side());
    EXPECT_TRUE(matches(lab::compare_exact(relax(start, side(), sweeps).matrix, expected)))
        << "sweeps: " << sweeps;
  }
}

TEST_P(Jacobi, IsTheHostsMatrixAfterManySweeps) {
  const matrix start = random_matrix(side(), 100 + side());
  for (const std::size_t sweeps : {50, 101})
    EXPECT_TRUE(matches(
        lab::compare_exact(relax(start, side(), sweeps).matrix, reference(start, side(), sweeps))))
        << "sweeps: " << sweeps;
}

TEST_P(Jacobi, GivesTheMatrixBackAfterNoSweeps) {
  const matrix start = random_matrix(side(), 200 + side());
  EXPECT_TRUE(matches(lab::compare_exact(relax(start, side(), 0).matrix, start)));
}

TEST_P(Jacobi, LeavesAPlaneAsItIs) {
  // Where every cell already is the mean of its neighbours, nothing changes. Small whole numbers:
  // nothing is rounded.
  const matrix plane = filled(side(), [](int row, int column) { return 7 * row - 3 * column + 5; });
  EXPECT_TRUE(matches(lab::compare_exact(relax(plane, side(), 20).matrix, plane)));
}

TEST_P(Jacobi, SpreadsByOneCellASweep) {
  // A sweep that used new values of neighbours would be faster than that.
  const int middle = static_cast<int>(side() + 1) / 2;
  const matrix spot = filled(
      side(), [&](int row, int column) { return row == middle && column == middle ? 1 : 0; });
  for (const int sweeps : {1, 2, 3, 4}) {
    const matrix after = relax(spot, side(), static_cast<std::size_t>(sweeps)).matrix;
    const matrix too_far = filled(side(), [&](int row, int column) {
      const std::size_t here =
          static_cast<std::size_t>(row) * (side() + 2) + static_cast<std::size_t>(column);
      const bool in_reach = std::abs(row - middle) + std::abs(column - middle) <= sweeps;
      return in_reach ? 0 : after[here];
    });
    EXPECT_TRUE(matches(lab::compare_exact(too_far, matrix(elements(side()), 0.0F))))
        << "sweeps: " << sweeps;
  }
}

TEST_P(Jacobi, HasNoUseForTheCorners) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  const int last = static_cast<int>(side()) + 1;
  const auto is_corner = [last](int row, int column) {
    return row % last == 0 && column % last == 0;
  };
  const matrix with_nan = filled(side(), [&](int row, int column) {
    return is_corner(row, column) ? kNaN : static_cast<float>(row * row + column);
  });
  const matrix with_zero = filled(side(), [&](int row, int column) {
    return is_corner(row, column) ? 0.0F : static_cast<float>(row * row + column);
  });
  matrix after = relax(with_nan, side(), 40).matrix;
  const std::size_t width = side() + 2;
  ASSERT_EQ(after.size(), elements(side()));
  for (const std::size_t corner :
       {std::size_t{0}, width - 1, width * (width - 1), width * width - 1}) {
    EXPECT_TRUE(std::isnan(after[corner])) << "the corners are border: they stay as they are";
    after[corner] = 0;
  }
  EXPECT_TRUE(matches(lab::compare_exact(after, reference(with_zero, side(), 40))));
}

TEST(JacobiBlock, TellsRowsFromColumns) {
  // One edge after the other is hot: four different pictures.
  constexpr std::size_t kSide = 6;
  constexpr int kLast = 7;
  const matrix edges[] = {filled(kSide, [](int row, int) { return row == 0 ? 64 : 0; }),
                          filled(kSide, [](int row, int) { return row == kLast ? 64 : 0; }),
                          filled(kSide, [](int, int column) { return column == 0 ? 64 : 0; }),
                          filled(kSide, [](int, int column) { return column == kLast ? 64 : 0; })};
  for (const matrix& edge : edges)
    EXPECT_TRUE(
        matches(lab::compare_exact(relax(edge, kSide, 9).matrix, reference(edge, kSide, 9))));
}

TEST(JacobiBlock, TakesTheSmallestNumbersAndInfinities) {
  // Odd multiples of the smallest float: each mean is rounded.
  const matrix small = filled(6, [](int row, int column) {
    return static_cast<float>(6 * row * row + 5 * column + 1) *
           std::numeric_limits<float>::denorm_min();
  });
  matrix infinite = random_matrix(6, 1);
  infinite[3] = -std::numeric_limits<float>::infinity();
  for (const matrix& start : {small, infinite})
    EXPECT_TRUE(matches(lab::compare_exact(relax(start, 6, 9).matrix, reference(start, 6, 9))));
}

TEST(JacobiBlock, TellsZerosFromNegativeZeros) {
  // A cell of 0 between four of -0 becomes -0: equal numbers, and not the same bits.
  for (const std::size_t side : {std::size_t{1}, std::size_t{3}}) {
    matrix start(elements(side), -0.0F);
    start[start.size() / 2] = 0;
    for (const std::size_t sweeps : {1, 2, 5}) {
      const matrix after = relax(start, side, sweeps).matrix;
      const matrix expected = reference(start, side, sweeps);
      ASSERT_EQ(after.size(), expected.size());
      for (std::size_t i = 0; i < after.size(); ++i)
        EXPECT_TRUE(after[i] == 0 && std::signbit(after[i]) == std::signbit(expected[i]))
            << "[" << i << "] is " << after[i] << " after " << sweeps << " sweeps, expected "
            << expected[i];
    }
  }
}

TEST(JacobiBlock, CoolsUntilNothingIsLeft) {
  // Between edges of 0 the matrix loses the same part in each sweep, from 7e37 to the smallest
  // float: none of these sweeps leaves it as it is. After 65,537 nothing is left of a small one.
  const auto hot = [](std::size_t side) {
    const int last = static_cast<int>(side) + 1;
    return filled(side, [&](int row, int column) {
      return row % last == 0 || column % last == 0
                 ? 0.0F
                 : 2e37F + 1e36F * static_cast<float>(row + 2 * column);
    });
  };
  expect_at_full_size([&] {
    for (const auto& [side, sweeps] : {std::pair<std::size_t, std::size_t>{16, 9001}, {3, 65'537}})
      EXPECT_TRUE(matches(lab::compare_exact(relax(hot(side), side, sweeps).matrix,
                                             reference(hot(side), side, sweeps))))
          << "side " << side << ", " << sweeps << " sweeps";
  });
}

TEST(JacobiBlock, DoesEverySweepOfMany) {
  // In so large a matrix thousands of them still change it.
  const matrix start = random_matrix(kMaxSide, 1);
  expect_at_full_size([&] {
    return matches(
        lab::compare_exact(relax(start, kMaxSide, 2501).matrix, reference(start, kMaxSide, 2501)));
  });
}

TEST(JacobiBlock, RefusesSidesThatNoBlockHas) {
  for (const std::size_t side : {std::size_t{0}, kMaxSide + 1, std::size_t{100}})
    EXPECT_THROW(relax(matrix(elements(side)), side, 1), lab::invalid_input) << side;
  EXPECT_THROW(relax({}, std::numeric_limits<std::size_t>::max() - 1, 1), lab::invalid_input);
  EXPECT_THROW(relax(matrix(elements(0)), 0, 0), lab::invalid_input) << "no sweeps, no side either";
}

TEST(JacobiBlock, RefusesAMatrixOfAnotherSize) {
  EXPECT_THROW(relax({}, 16, 1), lab::invalid_input);
  EXPECT_THROW(relax(matrix(16 * 16), 16, 1), lab::invalid_input);
  EXPECT_THROW(relax(matrix(elements(16) - 1), 16, 1), lab::invalid_input);
  EXPECT_THROW(relax(matrix(elements(16) + 1), 16, 1), lab::invalid_input);
  EXPECT_THROW(relax(matrix(elements(16) + 1), 16, 0), lab::invalid_input) << "no sweeps";
}

TEST(JacobiBlock, ForgetsThePreviousCall) {
  const matrix large = random_matrix(32, 1), small = random_matrix(5, 2);
  const matrix first = relax(large, 32, 10).matrix;
  EXPECT_TRUE(matches(lab::compare_exact(relax(small, 5, 10).matrix, reference(small, 5, 10))));
  EXPECT_TRUE(matches(lab::compare_exact(relax(large, 32, 10).matrix, first)));
}

TEST(JacobiBlock, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return relax(random_matrix(8, 3), 8, 10).kernel_ms; }));
}

FAULT_TEST(JacobiBlock, ReportsEveryCallThatFails) {
  const matrix cells = random_matrix(5, 1);
  expect_failures_reported([&] { return relax(cells, 5, 3).matrix; }, cells);
}

}  // namespace
