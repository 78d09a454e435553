// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "matrix_equation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "library_calls.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::matrix_equation::check;
using lab::matrix_equation::factor;
using lab::matrix_equation::kDefaultShape;
using lab::matrix_equation::left_side;
using lab::matrix_equation::make_problem;
using lab::matrix_equation::problem;
using lab::matrix_equation::shape;
using lab::matrix_equation::solve;
using lab::matrix_equation::zero;
using lab::testing::at_other_sizes;
using lab::testing::by_library;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<double>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The text's matrices.
const vector kA{1, 1, 0, 1}, kC{1, -1, 0, 1}, kB{12, 10, 6, 8};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheRoutinesOfCublas) {
  const auto is_right = [](shape size) {
    const problem p = make_problem(2, size, 1);
    return matches(check(solve(2, p.a, p.c, p.b, size).x, 2, p.a, p.c, p.b, size));
  };
  lab::testing::required all = by_library({"cublasDgeam", "cublasDtrsm"});
  all.sent = (2 * 33 + 7) * 33 * sizeof(double), all.fetched = 33 * 7 * sizeof(double);
  const lab::testing::work done = work_of([&] { return is_right({33, 7}); });
  EXPECT_TRUE(as_required(done, all));
  const auto divisions = done.calls.find("cublasDtrsm");
  EXPECT_TRUE(divisions != done.calls.end() && divisions->second == 2) << "one for each";
  EXPECT_TRUE(at_other_sizes(
      [&](std::size_t n) {
        return is_right({n, n + 1});
      },
      by_library({"cublasDgeam", "cublasDtrsm"})));
  // Small systems and single columns are the library's, too, as are large ones.
  for (const std::size_t n : {1, 2, 32})
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t columns) {
          return is_right({n, columns});
        },
        by_library({"cublasDgeam", "cublasDtrsm"})))
        << "n = " << n;
  for (const shape size :
       {shape{1, 1}, {7, 7}, {7, 8}, {3, 40}, {40, 1}, {3, 1100}, {300, 5}, {300, 270}}) {
    const lab::testing::work some = work_of([&] { return is_right(size); });
    if (!as_required(some, by_library({"cublasDgeam", "cublasDtrsm"}))) continue;  // said above
    EXPECT_EQ(lab::testing::times_called(some, "cublasDtrsm"), 2U)
        << "one for each division; n = " << size.n << ", columns = " << size.columns;
  }
  expect_at_full_size([&] {
    return as_required(work_of([&] { return is_right(kDefaultShape); }),
                       by_library({"cublasDgeam", "cublasDtrsm"}));
  });
}

REQUIRED_WORK(TheRoutinesOfCublasHoweverSimpleTheMatricesAre) {
  for (const std::size_t n : {1, 2, 5}) {
    const shape size{n, 3};
    problem of_zeros = make_problem(2, size, 1), of_units = of_zeros;
    std::ranges::fill(of_zeros.b, 0.0);
    std::ranges::fill(of_units.a, 0.0);
    for (std::size_t i = 0; i < n * n; ++i) of_units.c[i] = i % (n + 1) == 0 ? 1 : 0;
    for (const auto& [p, name] : {std::pair{of_zeros, "B is 0"}, {of_units, "A is 0, C is 1"}}) {
      const auto done = work_of([&, &p = p] {
        return matches(check(solve(2, p.a, p.c, p.b, size).x, 2, p.a, p.c, p.b, size));
      });
      lab::testing::required all = by_library({"cublasDgeam", "cublasDtrsm"});
      if (p.b == of_zeros.b) all.fetched = 0;  // only zeros come back
      EXPECT_TRUE(as_required(done, all)) << name << ", n = " << n;
      EXPECT_EQ(lab::testing::times_called(done, "cublasDtrsm"), 2U) << name << ", n = " << n;
    }
  }
}

TEST(TheText, HasThisSolution) {
  const auto result = solve(1, kA, kC, kB, {2, 2});
  EXPECT_FALSE(result.singular);
  EXPECT_EQ(result.x, (vector{9, 9, 3, 4}));
  EXPECT_EQ(left_side(1, kA, kC, result.x, {2, 2}), kB);
}

TEST(TheText, IsDividedByAlpha) {
  EXPECT_EQ(solve(2, kA, kC, kB, {2, 2}).x, (vector{4.5, 4.5, 1.5, 2}));
  EXPECT_EQ(solve(-0.5, kA, kC, kB, {2, 2}).x, (vector{-18, -18, -6, -8}));
}

TEST(TheText, IsDividedByAnyAlpha) {
  EXPECT_EQ(solve(0x1p-1000, vector{3}, vector{1}, vector{0x1p-996}, {1, 1}).x, vector{4});
  EXPECT_EQ(solve(-0x1p900, vector{3}, vector{1}, vector{0x1p904}, {1, 1}).x, vector{-4});
  // Nearly the smallest one whose reciprocal is finite, and the largest power of two.
  EXPECT_EQ(solve(-0x1p-1023, vector{3}, vector{1}, vector{0x1p-1019}, {1, 1}).x, vector{-4});
  EXPECT_EQ(solve(0x1p1023, vector{0.5}, vector{0.5}, vector{0x1p1000}, {1, 1}).x, vector{0x1p-22});
  // One with bits that a float has not.
  const double alpha = 1 + 0x1p-40;
  EXPECT_NEAR(solve(alpha, vector{3}, vector{1}, vector{4 * alpha}, {1, 1}).x.at(0), 1, 0x1p-50);
}

TEST(ByHand, DividesByTheSumFirst) {
  // A + C = ((2, 4), (0, 1)) and C = ((1, 0), (0, 4)): in the other order X would be another one.
  const vector a{1, 4, 0, -3}, c{1, 0, 0, 4};
  EXPECT_EQ(solve(1, a, c, vector{10, 2}, {2, 1}).x, (vector{1, 0.5}));
  // B has more columns than rows, and none is like another.
  EXPECT_EQ(solve(1, a, c, vector{10, 2, 4, 2, 0, -1}, {2, 3}).x, (vector{1, 1, 4, 0.5, 0, -0.25}));
}

TEST(ByHand, KeepsWhatIsAlmostWhole) {
  // The matrices of the case before. Nothing is rounded on the way.
  const vector a{1, 4, 0, -3}, c{1, 0, 0, 4};
  EXPECT_EQ(solve(1, a, c, vector{6 - 0x1p-44 + 0x1p-46, 2 + 0x1p-51, 0x1p-48, 0}, {2, 2}).x,
            (vector{3 - 0x1p-45, 1 + 0x1p-52, 0x1p-50, 0}));
  EXPECT_EQ(solve(1, vector{3}, vector{1}, vector{-4 - 0x1p-38}, {1, 1}).x, vector{-1 - 0x1p-40});
}

TEST(ByHand, TakesOneByOne) {
  EXPECT_EQ(solve(2, vector{3}, vector{1}, vector{16, -4}, {1, 2}).x, (vector{2, -0.5}));
}

// --- sizes ---------------------------------------------------------------------------------------

class Sizes : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(NAndColumns, Sizes,
                         ::testing::Combine(::testing::Values(1, 2, 3, 7, 31, 32, 33, 40, 65, 101),
                                            ::testing::Values(1, 2, 7, 40)),
                         [](const auto& test) {
                           return "n" + std::to_string(std::get<0>(test.param)) + "_columns" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Sizes, SolvesTheEquation) {
  const auto [n, columns] = GetParam();
  const shape size{n, columns};
  const double alpha = 3;  // 1/3 is rounded
  const problem given = make_problem(alpha, size, 10 * n + columns);
  const auto result = solve(alpha, given.a, given.c, given.b, size);
  EXPECT_FALSE(result.singular);
  EXPECT_TRUE(matches(check(result.x, alpha, given.a, given.c, given.b, size)));
}

TEST_P(Sizes, FindsTheWholeNumbersThatBWasMadeOf) {
  const auto [n, columns] = GetParam();
  const shape size{n, columns};
  const problem given = make_problem(-2, size, 10 * n + columns + 1);
  const auto result = solve(-2, given.a, given.c, given.b, size);
  // The error is at most what is left over, divided by alpha, A + C and C. In both matrices the
  // diagonal elements are at least 2 and twice the rest of their row: an inverse adds up to 1 in a
  // row at most, so nothing grows.
  double largest_b = 0;
  for (const double each : given.b) largest_b = std::fmax(largest_b, std::fabs(each));
  using namespace lab::matrix_equation;
  const double allowed = residual_bound(-2, norm(sum_of(given.a, given.c), n, n, true),
                                        norm(given.c, n, n, true), 10, largest_b, n) /
                         2;
  ASSERT_LT(allowed, 1e-6) << "with such a bound this test would show little";
  EXPECT_TRUE(matches(lab::compare(result.x, given.x, {.absolute = allowed})));
}

TEST_P(Sizes, DoesNotLookBelowTheDiagonals) {
  const auto [n, columns] = GetParam();
  const shape size{n, columns};
  const problem clean = make_problem(1, size, 5 * n + columns);
  const problem dirty = make_problem(1, size, 5 * n + columns, kNaN);
  EXPECT_EQ(solve(1, dirty.a, dirty.c, clean.b, size).x,
            solve(1, clean.a, clean.c, clean.b, size).x);
}

TEST(Solve, SolvesTheProgramsRandomEquation) {
  expect_at_full_size([] {
    const problem p = make_problem(3, kDefaultShape, 78);
    return matches(
        check(solve(3, p.a, p.c, p.b, kDefaultShape).x, 3, p.a, p.c, p.b, kDefaultShape));
  });
}

TEST(Solve, LosesNothingWhereAAndCNearlyCancel) {
  // Both are 2^30 times as large as their sum, whose roundings are therefore much smaller.
  const shape size{3, 2};
  problem given = make_problem(0.3, size, 5);
  for (std::size_t i = 0; i < 9; ++i) {
    const double sum = given.a[i] + given.c[i], large = (i == 4 ? -1 : 1) * (0x1p36 + 1);
    given.c[i] = i % 4 == 0 ? large : 0;
    given.a[i] = sum - given.c[i];
  }
  given.b = left_side(0.3, given.a, given.c, given.x, size);
  EXPECT_TRUE(matches(
      check(solve(0.3, given.a, given.c, given.b, size).x, 0.3, given.a, given.c, given.b, size)));
}

TEST(Solve, KeepsTheColumnsApart) {
  const shape size{20, 5};
  problem given = make_problem(1, size, 77);
  const auto before = solve(1, given.a, given.c, given.b, size).x;
  given.b[7 * 5 + 3] = kNaN;  // row 7, column 3: row 7 and those above it depend on it
  const auto after = solve(1, given.a, given.c, given.b, size).x;
  ASSERT_EQ(after.size(), before.size());
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (i % 5 != 3) {
      EXPECT_EQ(after[i], before[i]) << "row " << i / 5 << ", column " << i % 5;
    }
  }
  EXPECT_TRUE(std::isnan(after[7 * 5 + 3]));
}

// --- zeros ---------------------------------------------------------------------------------------

TEST(Zero, OfTheSumIsReportedWhereItStands) {
  for (const std::size_t n : {1, 2, 33})
    for (const std::size_t row : {std::size_t{0}, n / 2, n - 1}) {
      problem given = make_problem(1, {n, 2}, n);
      given.a[row * n + row] = -given.c[row * n + row];  // neither A nor C has a zero there
      const auto result = solve(1, given.a, given.c, given.b, {n, 2});
      EXPECT_EQ(result.singular, (zero{factor::sum, row})) << "n = " << n;
      EXPECT_TRUE(result.x.empty());
    }
}

TEST(Zero, OfCIsReportedWhereItStands) {
  for (const std::size_t n : {1, 2, 33})
    for (const std::size_t row : {std::size_t{0}, n / 2, n - 1}) {
      problem given = make_problem(1, {n, 2}, n + 1);
      given.a[row * n + row] = 5, given.c[row * n + row] = 0;
      const auto result = solve(1, given.a, given.c, given.b, {n, 2});
      EXPECT_EQ(result.singular, (zero{factor::c, row})) << "n = " << n;
      EXPECT_TRUE(result.x.empty());
    }
}

TEST(Zero, OfTheSumComesBeforeThatOfC) {
  // Row 0 of C, row 1 of A + C.
  const auto result = solve(1, vector{1, 1, 0, -2}, vector{0, 1, 0, 2}, vector{1, 1}, {2, 1});
  EXPECT_EQ(result.singular, (zero{factor::sum, 1}));
  const auto both = solve(1, vector{0, 1, 0, 0}, vector{0, 1, 0, 0}, vector{1, 1}, {2, 1});
  EXPECT_EQ(both.singular, (zero{factor::sum, 0}));
}

TEST(Zero, OfAAloneIsNone) {
  EXPECT_EQ(solve(1, vector{0, 1, 0, 0}, vector{1, 0, 0, 2}, vector{4, 4}, {2, 1}).x,
            (vector{2, 1}));
}

TEST(Zero, IsReportedWithoutColumnsToSolveFor) {
  EXPECT_EQ(solve(1, vector{0}, vector{0}, {}, {1, 0}).singular, (zero{factor::sum, 0}));
}

TEST(Zero, IsReportedInTheRowsOfLargeMatricesAndBesideLargeNumbers) {
  constexpr std::size_t kN = 1100;
  vector a(kN * kN), c(kN * kN);
  for (std::size_t i = 0; i < kN; ++i) a[i * kN + i] = c[i * kN + i] = 1e200;
  a[1050 * kN + 1050] = -1e200;
  EXPECT_EQ(solve(1, a, c, {}, {kN, 0}).singular, (zero{factor::sum, 1050}));
}

TEST(Zero, IsNotWhatIsOnlySmall) {
  const auto result = solve(1, vector{1}, vector{-1 + 0x1p-50}, vector{0x1p-50}, {1, 1});
  EXPECT_FALSE(result.singular);
  EXPECT_NEAR(result.x.at(0), -1, 1e-12);
  const auto tiny_c = solve(1, vector{1}, vector{0x1p-900}, vector{0x1p-898}, {1, 1});
  EXPECT_FALSE(tiny_c.singular);
  EXPECT_EQ(tiny_c.x, vector{4});
}

TEST(Zero, IsNotTheSmallestNumber) {
  // (X is another matter: a library may multiply by the reciprocal, which is infinite.)
  for (const double tiny : {0x1p-1074, -0x1p-1074, 0x1p-1030}) {
    EXPECT_FALSE(solve(1, vector{1}, vector{tiny}, vector{1}, {1, 1}).singular) << "C: " << tiny;
    EXPECT_FALSE(solve(1, vector{tiny - 0x1p-1030}, vector{0x1p-1030}, vector{1}, {1, 1}).singular)
        << "A + C: " << tiny;
  }
}

TEST(Zero, IsNotWhatIsNoNumber) {
  for (const double other : {kNaN, kInfinity, -kInfinity}) {
    const auto of_c = solve(1, vector{1, 2, 0, 1}, vector{4, 3, 0, other}, kB, {2, 2});
    EXPECT_FALSE(of_c.singular) << "C: " << other;
    EXPECT_EQ(of_c.x.size(), 4U) << "C: " << other;
    const auto of_sum = solve(1, vector{1, 2, 0, other}, vector{4, 3, 0, 1}, kB, {2, 2});
    EXPECT_FALSE(of_sum.singular) << "A + C: " << other;
    EXPECT_EQ(of_sum.x.size(), 4U) << "A + C: " << other;
  }
  const auto nan = solve(1, vector{1}, vector{kNaN}, vector{1}, {1, 1});
  ASSERT_EQ(nan.x.size(), 1U);
  EXPECT_TRUE(std::isnan(nan.x[0]));
}

// --- nothing to do, and nothing to be done -------------------------------------------------------

TEST(Solve, HasNothingToDoForNothing) {
  for (const shape size : {shape{0, 0}, shape{0, 3}}) {
    const auto result = solve(1, {}, {}, {}, size);
    EXPECT_FALSE(result.singular);
    EXPECT_TRUE(result.x.empty());
  }
  EXPECT_TRUE(solve(1, kA, kC, {}, {2, 0}).x.empty());
}

TEST(Refuses, AnAlphaThatSaysNothing) {
  for (const double alpha : {0.0, -0.0, kNaN, kInfinity})
    EXPECT_THROW(solve(alpha, kA, kC, kB, {2, 2}), lab::invalid_input) << alpha;
}

TEST(Refuses, LengthsThatAreNotTheShapes) {
  const vector three(3, 1.0);
  EXPECT_THROW(solve(1, three, kC, kB, {2, 2}), lab::invalid_input);
  EXPECT_THROW(solve(1, kA, three, kB, {2, 2}), lab::invalid_input);
  EXPECT_THROW(solve(1, kA, kC, three, {2, 2}), lab::invalid_input);
  EXPECT_THROW(solve(1, kA, kC, kB, {2, 3}), lab::invalid_input);
  EXPECT_THROW(solve(1, kA, kC, {}, {2, 2}), lab::invalid_input);
}

TEST(Refuses, SizesThatCublasCannotCount) {
  EXPECT_THROW(solve(1, {}, {}, {}, {std::size_t{1} << 32, 0}), lab::invalid_input);
  EXPECT_THROW(solve(1, {}, {}, {}, {0, std::size_t{1} << 31}), lab::invalid_input);
}

TEST(Refuses, NoSizeThatCublasCanCountForItself) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  EXPECT_NO_THROW(solve(1, {}, {}, {}, {0, kMost}));
  try {  // for this one there is no memory: it must be the length of A that is refused
    solve(1, {}, {}, {}, {kMost, 0});
    ADD_FAILURE() << "no exception was thrown";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find("A has 0"), std::string::npos) << error.what();
  }
}

TEST(Solve, ForgetsThePreviousCall) {
  const problem large = make_problem(1, {40, 10}, 3);
  (void)solve(1, large.a, large.c, large.b, {40, 10});
  EXPECT_EQ(solve(1, kA, kC, kB, {2, 2}).x, (vector{9, 9, 3, 4}));
}

TEST(Solve, BeginsWithBWhenItIsRepeated) {
  // As a program repeats it to measure its time: the previous run has left X where B was.
  const lab::repeated_timing samples(3);
  const problem p = make_problem(2, {33, 7}, 4);
  EXPECT_TRUE(matches(check(solve(2, p.a, p.c, p.b, {33, 7}).x, 2, p.a, p.c, p.b, {33, 7})));
}

TEST(Solve, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernels, [&] { return solve(1, kA, kC, kB, {2, 2}).solve_ms; }));
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, RejectsWhatIsNoSolution) {
  const shape size{20, 3};
  const problem given = make_problem(2, size, 9);
  ASSERT_TRUE(matches(check(given.x, 2, given.a, given.c, given.b, size)));
  for (const double wrong : {0.5, given.x[31] + 0x1p-20, kNaN, kInfinity}) {
    vector changed = given.x;
    changed[31] = wrong;
    EXPECT_FALSE(check(changed, 2, given.a, given.c, given.b, size).ok) << wrong;
  }
  EXPECT_FALSE(check(vector(60), 2, given.a, given.c, given.b, size).ok);
  EXPECT_FALSE(check(vector(59), 2, given.a, given.c, given.b, size).ok);
}

FAULT_TEST(Solve, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return solve(1, kA, kC, kB, {2, 2}).x; }, kA, kB, kC);
}

}  // namespace
