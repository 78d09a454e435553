// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lu_solve.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "library_calls.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::lu_solve::check;
using lab::lu_solve::eliminate;
using lab::lu_solve::kDefaultShape;
using lab::lu_solve::make_right_hand_side;
using lab::lu_solve::random_numbers;
using lab::lu_solve::shape;
using lab::lu_solve::solution;
using lab::lu_solve::solve;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<double>;

void append(vector& to, const vector& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Whole numbers whose diagonal exceeds the rest of its row by at least `n`, and then the rows
/// moved up by one, so that no row is where it is the pivot.
///
/// Before the move, the inverse's rows add up to 1 / n at most (in absolute values); exchanging
/// rows only exchanges the columns of the inverse.
vector shifted_dominant(std::size_t n, std::uint64_t seed) {
  const auto whole = lab::random_ints(n * n, seed, -8, 8);
  vector a(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    double rest = 0;
    double* to = a.data() + (row + n - 1) % n * n;
    for (std::size_t column = 0; column < n; ++column) {
      to[column] = whole[row * n + column];
      if (column != row) rest += std::fabs(to[column]);
    }
    to[row] = (row % 2 == 0 ? 1 : -1) * (rest + static_cast<double>(n));
  }
  return a;
}

/// A batch is solved, and each solution has small residuals.
::testing::AssertionResult is_solved(const vector& a, const vector& b, shape size) {
  const auto result = solve(a, b, size);
  if (result.solutions.size() != size.systems)
    return ::testing::AssertionFailure() << result.solutions.size() << " solutions";
  const std::size_t of_a = size.n * size.n, of_b = size.n * size.right_sides;
  for (std::size_t k = 0; k < size.systems; ++k)
    if (const auto right =
            matches(check(result.solutions[k], std::span(a).subspan(k * of_a, of_a),
                          std::span(b).subspan(k * of_b, of_b), size.n, size.right_sides));
        !right)
      return ::testing::AssertionFailure() << "system " << k << ": " << right.message();
  return ::testing::AssertionSuccess();
}
void expect_solved(const vector& a, const vector& b, shape size) {
  EXPECT_TRUE(is_solved(a, b, size));
}

// --- who does the work ---------------------------------------------------------------------------

/// The bytes that move when matrices are transposed. In place, a square one's diagonal stays where
/// it is; a row or a column has nothing to transpose.
std::size_t bytes_turned(std::size_t count, std::size_t rows, std::size_t columns) {
  if (rows == 1 || columns == 1) return 0;
  return count * rows * (rows == columns ? columns - 1 : columns) * sizeof(double);
}

REQUIRED_WORK(TheBatchInCublasAndAKernelThatTransposes) {
  const vector a = random_numbers(5 * 33 * 33, 1), b = random_numbers(5 * 33 * 3, 2);
  const lab::testing::work done = work_of([&] { return is_solved(a, b, {5, 33, 3}); });
  const std::size_t turned = bytes_turned(5, 33, 33) + 2 * bytes_turned(5, 33, 3);
  EXPECT_TRUE(as_required(done, {.threads = 5 * 32,
                                 .blocks = 2,
                                 .sent = bytes_of(a) + bytes_of(b),
                                 .fetched = bytes_of(b),
                                 .calls = {"cublasDgetrfBatched", "cublasDgetrsBatched"},
                                 .library = true,
                                 .reads = turned,
                                 .writes = turned}))
      << "A, B and X are transposed";
  for (const char* name : {"cublasDgetrfBatched", "cublasDgetrsBatched"})
    EXPECT_EQ(done.calls.contains(name) ? done.calls.at(name) : 0, 1U)
        << "calls of " << name << ", for five systems";
  EXPECT_TRUE(at_other_sizes(
      [](std::size_t n) {
        return is_solved(random_numbers(n * n * n, n), random_numbers(n * n * 2, n + 1), {n, n, 2});
      },
      {.threads = 1,
       .fetched = 1,
       .calls = {"cublasDgetrfBatched", "cublasDgetrsBatched"},
       .library = true},
      {1, 3, 20}));
  // One right-hand side, too: then there is nothing to transpose, but still something to solve.
  EXPECT_TRUE(at_other_sizes(
      [](std::size_t n) {
        return is_solved(random_numbers(n * n, n), random_numbers(n, n + 1), {1, n, 1});
      },
      {.threads = 1,
       .fetched = 1,
       .calls = {"cublasDgetrfBatched", "cublasDgetrsBatched"},
       .library = true},
      {1, 2, 3}));
}

const lab::testing::required kBatched = {.threads = 1,
                                         .fetched = 1,
                                         .calls = {"cublasDgetrfBatched", "cublasDgetrsBatched"},
                                         .library = true};

REQUIRED_WORK(TheBatchInCublasHoweverSmallItIs) {
  for (const std::size_t systems : {1, 2, 5})
    for (const std::size_t right_sides : {1, 2, 3})
      EXPECT_TRUE(at_other_sizes(
          [&](std::size_t n) {
            return is_solved(random_numbers(systems * n * n, n),
                             random_numbers(systems * n * right_sides, n + 1),
                             {systems, n, right_sides});
          },
          kBatched, {1, 2, 3, 4}))
          << systems << " systems with " << right_sides << " right-hand sides";
}

REQUIRED_WORK(AKernelThatTransposesHoweverSmallOrLargeTheMatricesAre) {
  for (const shape size :
       {shape{1, 2, 1}, {1, 2, 2}, {2, 3, 2}, {1, 33, 1}, {40, 7, 3}, {700, 2, 2}, {2, 100, 5}}) {
    const vector a = random_numbers(size.systems * size.n * size.n, 3),
                 b = random_numbers(size.systems * size.n * size.right_sides, 4);
    const std::size_t turned = bytes_turned(size.systems, size.n, size.n) +
                               2 * bytes_turned(size.systems, size.n, size.right_sides);
    EXPECT_TRUE(as_required(work_of([&] { return is_solved(a, b, size); }),
                            {.threads = 2,
                             .sent = bytes_of(a) + bytes_of(b),
                             .fetched = bytes_of(b),
                             .calls = kBatched.calls,
                             .library = true,
                             .reads = turned,
                             .writes = turned}))
        << size.systems << " systems with n = " << size.n << " and " << size.right_sides
        << " right-hand sides";
  }
}

REQUIRED_WORK(TheBatchInCublasHoweverSimpleTheMatricesAre) {
  struct form {
    const char* name;
    int (*element)(int row, int column, int n);
  };
  constexpr form kForms[] = {
      {"identities", [](int i, int j, int) { return i == j ? 1 : 0; }},
      {"diagonal", [](int i, int j, int) { return i == j ? 3 : 0; }},
      {"exchanges", [](int i, int j, int n) { return i + j + 1 == n ? 1 : 0; }},
      {"upper triangular", [](int i, int j, int) { return 4 * (i == j) + (i < j); }},
      {"lower triangular", [](int i, int j, int) { return 4 * (i == j) + (i > j); }}};
  for (const form& each : kForms)
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t n) {
          const int size = static_cast<int>(n);
          vector a;
          for (int i = 0; i < 2 * size * size; ++i)
            a.push_back(each.element(i / size % size, i % size, size));
          return is_solved(a, random_numbers(2 * n * 2, n), {2, n, 2});
        },
        kBatched))
        << "the two matrices are " << each.name;
}

REQUIRED_WORK(OneCallForTheWholeBatch) {
  // More systems than fill a device; systems that are larger than the program's; more right-hand
  // sides than equations. And some without a solution among them.
  for (const shape size : {shape{1500, 3, 2}, {3, 65, 2}, {2, 300, 1}, {3, 5, 200}})
    for (const bool some_are_singular : {false, true}) {
      const auto [systems, n, right_sides] = size;
      vector a = random_numbers(systems * n * n, 5);
      const vector b = random_numbers(systems * n * right_sides, 6);
      for (std::size_t k = 0; some_are_singular && k < systems; k += 7)
        for (std::size_t row = 0; row < n; ++row) a[(k * n + row) * n + k % n] = 0;
      const lab::testing::work done = work_of([&] { return is_solved(a, b, size); });
      EXPECT_TRUE(as_required(done, kBatched));
      if (done.values && !*done.values) continue;  // that has been said
      EXPECT_EQ(lab::testing::calculated(done), "1 cublasDgetrfBatched 1 cublasDgetrsBatched ")
          << systems << " systems of " << n << " equations"
          << (some_are_singular ? ", some of them singular" : "");
    }
}

// --- sizes ---------------------------------------------------------------------------------------

class Sizes : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(N, Sizes, ::testing::Values(1, 2, 3, 5, 16, 31, 32, 33, 61),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Sizes, SolvesABatchOfRandomSystems) {
  const std::size_t n = GetParam(), systems = 5, right_sides = 3;
  expect_solved(random_numbers(systems * n * n, n),
                random_numbers(systems * n * right_sides, n + 1), {systems, n, right_sides});
}

TEST_P(Sizes, FindsTheWholeNumbersThatTheRightHandSideWasMadeOf) {
  const std::size_t n = GetParam(), right_sides = 2;
  const vector a = shifted_dominant(n, 7 * n);
  const auto right = make_right_hand_side(a, n, right_sides, 7 * n + 1);
  const auto result = solve(a, right.b, {1, n, right_sides});
  ASSERT_EQ(result.solutions.size(), 1U);
  const solution& got = result.solutions[0];
  ASSERT_EQ(got.zero_pivot, 0);
  // The error is the inverse times the residual: see shifted_dominant().
  double largest_a = 0, largest_b = 0;
  for (const double each : a) largest_a = std::fmax(largest_a, std::fabs(each));
  for (const double each : right.b) largest_b = std::fmax(largest_b, std::fabs(each));
  const auto size = static_cast<double>(n);
  const double residual =
      lab::lu_solve::residual_bound(eliminate(a, n).growth, largest_a, 10 * size, largest_b, n);
  ASSERT_LT(residual / size, 1e-8) << "with such a bound this test would show little";
  EXPECT_TRUE(matches(lab::compare(got.x, right.x, {.absolute = residual / size})));
}

TEST(Solve, TakesOneOrManyRightHandSides) {
  for (const std::size_t right_sides : {1, 2, 17, 40})
    expect_solved(random_numbers(3 * 12 * 12, right_sides),
                  random_numbers(3 * 12 * right_sides, right_sides + 1), {3, 12, right_sides});
}

TEST(Solve, TakesOneOrManySystems) {
  for (const std::size_t systems : {1, 2, 33, 257})
    expect_solved(random_numbers(systems * 7 * 7, systems),
                  random_numbers(systems * 7, systems + 1), {systems, 7, 1});
}

TEST(Solve, TakesMoreSystemsThan16BitsCanCount) {
  expect_at_full_size([] {
    const std::size_t systems = 70'001;
    expect_solved(random_numbers(systems, 3), random_numbers(systems * 2, 4), {systems, 1, 2});
  });
}

TEST(Solve, TakesMoreElementsThanAGridHasThreads) {
  expect_at_full_size([] {
    const std::size_t right_sides = 65'536 * 256 + 1000;
    vector b(right_sides);
    for (std::size_t i = 0; i < right_sides; ++i) b[i] = static_cast<double>(2 * i);
    const auto result = solve(vector{2}, b, {1, 1, right_sides});
    ASSERT_EQ(result.solutions.size(), 1U);
    const vector& x = result.solutions[0].x;
    ASSERT_EQ(x.size(), right_sides);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < right_sides; ++i)
      if (x[i] != static_cast<double>(i)) ++wrong;
    EXPECT_EQ(wrong, 0U);
  });
}

TEST(Solve, KeepsSymmetricMatricesAndOthersApart) {
  // The identity, a symmetric matrix, and two that are not: each is transposed, or none is.
  const vector a{1, 0, 0, 1, 4, 2, 2, 5, 4, 8, 2, 8, 4, 0, 2, 2};
  const vector b{3, -7, 8, 12, 16, 14, 12, 10};
  const auto result = solve(a, b, {4, 2, 1});
  const vector expected[] = {{3, -7}, {1, 2}, {1, 1.5}, {3, 2}};
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_EQ(result.solutions.at(k).x, expected[k]) << "system " << k;
}

TEST(Solve, NeedsAllTheBitsOfADouble) {
  // Powers of two but for t, of which a float has no more than 1: 2^-40 would be left of it.
  const double t = 1 + 0x1p-40;
  EXPECT_EQ(solve(vector{2}, vector{t}, {1, 1, 1}).solutions[0].x, vector{t / 2});
  EXPECT_EQ(solve(vector{2, 0, t, 1}, vector{2, t}, {1, 2, 1}).solutions[0].x, (vector{1, 0}));
}

TEST(Solve, KeepsApartSystemsOfVeryDifferentSize) {
  // Each system has numbers a thousand times those of the one before.
  vector a = random_numbers(4 * 9 * 9, 3), b = random_numbers(4 * 9, 4);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] *= std::pow(1000, static_cast<double>(i / 81));
  expect_solved(a, b, {4, 9, 1});
}

// --- exactly -------------------------------------------------------------------------------------

TEST(Solve, IsExactWhereNothingIsRounded) {
  // Pivots 4 and 4, factor 1/2. Not symmetric: column after column it is another system.
  const auto result = solve(vector{4, 8, 2, 8}, vector{16, 4, 14, -6}, {1, 2, 2});
  EXPECT_EQ(result.solutions[0].x, (vector{1, 5, 1.5, -2}));
  const auto other = solve(vector{2, 6, 1, 5}, vector{10, 7}, {1, 2, 1});
  EXPECT_EQ(other.solutions[0].x, (vector{2, 1}));
}

TEST(Solve, ExchangesRowsWhereTheFirstElementIsZero) {
  // x1 = 3, x0 + 2 x1 = 4: it has a solution, whatever the first pivot says.
  const auto result = solve(vector{0, 1, 1, 2}, vector{3, 4}, {1, 2, 1});
  ASSERT_EQ(result.solutions[0].zero_pivot, 0);
  EXPECT_EQ(result.solutions[0].x, (vector{-2, 3}));
}

TEST(Solve, ExchangesRowsWhereTheFirstElementIsTiny) {
  // Without an exchange, 1 - 2^60 swallows the 1, and x0 comes out as 0.
  const auto result = solve(vector{0x1p-60, 1, 1, 1}, vector{1, 2}, {1, 2, 1});
  ASSERT_EQ(result.solutions[0].zero_pivot, 0);
  EXPECT_TRUE(matches(lab::compare(result.solutions[0].x, vector{1, 1}, {.absolute = 0x1p-50})));
}

TEST(Solve, OnlyReordersForAPermutation) {
  // Row r of A picks x[(3 r + 1) % 7]: every step of the elimination has to exchange rows.
  vector a(49), b(7), expected(7);
  for (std::size_t row = 0; row < 7; ++row) {
    a[row * 7 + (3 * row + 1) % 7] = 1;
    b[row] = static_cast<double>(row) - 2.5;
    expected[(3 * row + 1) % 7] = b[row];
  }
  EXPECT_EQ(solve(a, b, {1, 7, 1}).solutions[0].x, expected);
}

// --- singular matrices ---------------------------------------------------------------------------

TEST(Singular, ZeroMatrixHasItsFirstPivotZero) {
  for (const std::size_t n : {1, 2, 33}) {
    const auto result = solve(vector(n * n), vector(n, 1.0), {1, n, 1});
    EXPECT_EQ(result.solutions[0].zero_pivot, 1);
    EXPECT_TRUE(result.solutions[0].x.empty());
  }
}

TEST(Singular, ReportsWhichColumnIsZero) {
  for (const std::size_t n : {2, 5, 33})
    for (const std::size_t column : {std::size_t{0}, n / 2, n - 1}) {
      vector a = random_numbers(n * n, 10 * n + column);
      for (std::size_t row = 0; row < n; ++row) a[row * n + column] = 0;
      const auto result = solve(a, vector(n, 1.0), {1, n, 1});
      EXPECT_EQ(result.solutions[0].zero_pivot, static_cast<int>(column) + 1) << "n = " << n;
      EXPECT_TRUE(result.solutions[0].x.empty());
    }
}

TEST(Singular, ReportsRowsThatAreMultiplesOfEachOther) {
  // Powers of two: 4 - 2 * 2 is exactly 0. The right-hand side is one that has solutions: there
  // are many, and none of them is *the* solution.
  const auto result = solve(vector{2, 1, 4, 2}, vector{1, 2}, {1, 2, 1});
  EXPECT_EQ(result.solutions[0].zero_pivot, 2);
  EXPECT_TRUE(result.solutions[0].x.empty());
}

TEST(Singular, LeavesTheOtherSystemsOfTheBatchAlone) {
  const std::size_t n = 6, systems = 5;
  vector a, b = random_numbers(systems * n * 2, 21);
  for (std::size_t k = 0; k < systems; ++k) {
    vector matrix = random_numbers(n * n, 20 + k);
    if (k == 1 || k == 4)  // in the middle, and the last one
      for (std::size_t row = 0; row < n; ++row) matrix[row * n + k] = 0;
    append(a, matrix);
  }
  const auto result = solve(a, b, {systems, n, 2});
  ASSERT_EQ(result.solutions.size(), systems);
  EXPECT_EQ(result.solutions[1].zero_pivot, 2);
  EXPECT_EQ(result.solutions[4].zero_pivot, 5);
  expect_solved(a, b, {systems, n, 2});
}

TEST(Singular, AlmostSingularIsSolved) {
  // Only an exact 0 is a zero pivot. These are tiny: the solutions are large, and right.
  for (const double tiny : {0x1p-40, 0x1p-52}) {
    const auto result = solve(vector{1, 1, 1, 1 + tiny}, vector{0, 1}, {1, 2, 1});
    ASSERT_EQ(result.solutions[0].zero_pivot, 0);
    EXPECT_EQ(result.solutions[0].x, (vector{-1 / tiny, 1 / tiny}));
  }
}

// --- nothing to do, and nothing to be done -------------------------------------------------------

TEST(Empty, HasNothingToDo) {
  EXPECT_TRUE(solve({}, {}, {0, 0, 0}).solutions.empty());
  EXPECT_TRUE(solve({}, {}, {0, 5, 2}).solutions.empty());
  const auto none = solve({}, {}, {3, 0, 2});
  ASSERT_EQ(none.solutions.size(), 3U);
  for (const solution& each : none.solutions) {
    EXPECT_EQ(each.zero_pivot, 0);
    EXPECT_TRUE(each.x.empty());
  }
}

TEST(Empty, WithoutRightHandSidesTellsWhichMatricesAreSingular) {
  const auto result = solve(vector{1, 2, 3, 4, /* and */ 1, 0, 3, 0}, {}, {2, 2, 0});
  ASSERT_EQ(result.solutions.size(), 2U);
  EXPECT_EQ(result.solutions[0].zero_pivot, 0);
  EXPECT_EQ(result.solutions[1].zero_pivot, 2);
}

TEST(Refuses, LengthsThatAreNotTheShapes) {
  const vector four(4, 1.0), two(2, 1.0), three(3, 1.0);
  EXPECT_THROW(solve(three, two, {1, 2, 1}), lab::invalid_input);
  EXPECT_THROW(solve(four, three, {1, 2, 1}), lab::invalid_input);
  EXPECT_THROW(solve(four, two, {1, 2, 2}), lab::invalid_input);
  EXPECT_THROW(solve(four, two, {2, 2, 1}), lab::invalid_input);
  EXPECT_THROW(solve({}, two, {0, 2, 1}), lab::invalid_input);
  EXPECT_THROW(solve(four, {}, {1, 2, 1}), lab::invalid_input);
}

TEST(Refuses, SizesThatCublasCannotCount) {
  constexpr std::size_t kHuge = std::size_t{1} << 31;
  EXPECT_THROW(solve({}, {}, {1, kHuge, 0}), lab::invalid_input);
  EXPECT_THROW(solve({}, {}, {0, kHuge, 0}), lab::invalid_input);
  EXPECT_THROW(solve({}, {}, {kHuge, 0, 0}), lab::invalid_input);
  EXPECT_THROW(solve({}, {}, {0, 1, kHuge}), lab::invalid_input);
  EXPECT_THROW(solve({}, {}, {std::size_t{1} << 16, std::size_t{1} << 16, 0}), lab::invalid_input);
  EXPECT_THROW(solve({}, {}, {std::size_t{1} << 32, std::size_t{1} << 32, 0}), lab::invalid_input);
  // 2^4 matrices of 2^60 elements are 2^64, which is 0 again. Their pivots are 2^34.
  EXPECT_THROW(solve({}, {}, {16, std::size_t{1} << 30, 0}), lab::invalid_input);
}

TEST(Refuses, NoSizeThatCublasCanCountForItself) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  EXPECT_NO_THROW(solve({}, {}, {0, kMost, 0}));
  EXPECT_NO_THROW(solve({}, {}, {0, 1, kMost}));
  try {  // for these there is no memory: it must be the length of a that is refused
    solve({}, {}, {kMost, 1, 0});
    ADD_FAILURE() << "no exception was thrown";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find("a has 0"), std::string::npos) << error.what();
  }
}

TEST(Solve, PassesNaNOnToItsOwnSystemOnly) {
  vector a = random_numbers(2 * 16, 5), b = random_numbers(2 * 4, 6);
  b[2] = std::numeric_limits<double>::quiet_NaN();
  const auto result = solve(a, b, {2, 4, 1});
  ASSERT_EQ(result.solutions[0].x.size(), 4U) << "no pivot is 0";
  EXPECT_TRUE(std::isnan(result.solutions[0].x[3]));
  EXPECT_TRUE(
      matches(check(result.solutions[1], std::span(a).subspan(16), std::span(b).subspan(4), 4, 1)));
}

TEST(Solve, ForgetsThePreviousCall) {
  const auto first = solve(vector(9), vector(3, 1.0), {1, 3, 1});
  EXPECT_EQ(first.solutions[0].zero_pivot, 1);
  EXPECT_EQ(solve(vector{2}, vector{6}, {1, 1, 1}).solutions[0].x, vector{3});
  EXPECT_EQ(solve(vector{4}, vector{2}, {1, 1, 1}).solutions[0].x, vector{0.5});
}

TEST(Solve, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return solve(random_numbers(64, 1), random_numbers(8, 2), {1, 8, 1}).solve_ms;
  }));
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, RejectsWhatIsNoSolution) {
  const std::size_t n = 20;
  const vector a = random_numbers(n * n, 31), b = random_numbers(n * 2, 32);
  const solution right = solve(a, b, {1, n, 2}).solutions.at(0);
  ASSERT_TRUE(matches(check(right, a, b, n, 2)));
  for (const double wrong :
       {0.0, right.x[7] * (1 + 0x1p-20), -right.x[7], std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()}) {
    solution changed = right;
    changed.x[7] = wrong;
    EXPECT_FALSE(check(changed, a, b, n, 2).ok) << wrong;
  }
  solution other = right;
  other.x.pop_back();
  EXPECT_FALSE(check(other, a, b, n, 2).ok);
  other = right;
  other.zero_pivot = 3;
  EXPECT_FALSE(check(other, a, b, n, 2).ok);
  EXPECT_FALSE(check({0, vector(2 * n)}, a, b, n, 2).ok);
}

FAULT_TEST(Solve, ReportsEveryCallThatFails) {
  const vector a = random_numbers(2 * 9, 1), b = random_numbers(2 * 6, 2);
  expect_failures_reported(
      [&] {
        const auto result = solve(a, b, {2, 3, 2});
        return std::pair(result.solutions[0].x, result.solutions[1].x);
      },
      a, b);
}

TEST(Solve, SolvesTheProgramsBatch) {
  expect_at_full_size([] {
    const auto [systems, n, right_sides] = kDefaultShape;
    expect_solved(random_numbers(systems * n * n, 1), random_numbers(systems * n * right_sides, 2),
                  kDefaultShape);
  });
}

}  // namespace
