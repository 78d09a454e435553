// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "orthogonal_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "examples.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace lab::orthogonal_matrix {

void PrintTo(const result& value, std::ostream* out) {
  *out << (value.orthogonal ? "orthogonal" : "not orthogonal") << ", row " << value.row
       << ", column " << value.column << " is off by " << value.deviation;
}

/// For whole numbers: nothing is rounded, so everything but the time is the same.
bool operator==(const result& a, const result& b) {
  return a.orthogonal == b.orthogonal && a.deviation == b.deviation && a.row == b.row &&
         a.column == b.column;
}

}  // namespace lab::orthogonal_matrix

namespace {

using lab::orthogonal_matrix::check;
using lab::orthogonal_matrix::examine;
using lab::orthogonal_matrix::identity;
using lab::orthogonal_matrix::kDefaultSize;
using lab::orthogonal_matrix::permutation;
using lab::orthogonal_matrix::reference_result;
using lab::orthogonal_matrix::reflection;
using lab::orthogonal_matrix::result;
using lab::orthogonal_matrix::rotation;
using lab::orthogonal_matrix::tolerance;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// A block is 16 x 16: on both sides of it, several of them, and a prime.
constexpr std::size_t kSizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 48, 61};

// --- who does the work ---------------------------------------------------------------------------

/// At least as many threads as `threads`, and A as the only matrix on the device.
void expect_threads_that_share_the_entries(std::size_t n, std::size_t threads, std::size_t blocks,
                                           float change = 1) {
  SCOPED_TRACE(std::to_string(n) + " rows");
  auto a = rotation(n, 1);
  a[5 * n + 6] += change;  // so that something has to be found
  const lab::testing::work done = work_of([&] { return matches(check(examine(a, n, n), a, n)); });
  EXPECT_TRUE(as_required(
      done, {.threads = threads, .blocks = blocks, .sent = bytes_of(a), .reads = bytes_of(a)}));
  if (n < 40) return;  // the candidates of the blocks may take as much memory
  EXPECT_LE(std::ranges::count_if(done.device_memory,
                                  [&](std::size_t bytes) { return bytes >= bytes_of(a); }),
            1)
      << "neither the transpose nor the product is stored";
}
REQUIRED_WORK(AKernelWhoseThreadsShareTheEntries) {
  for (const std::size_t n : {7, 31, 40}) expect_threads_that_share_the_entries(n, n * n / 8, 1);
  for (const float change : {1.0F, kNan, kInfinity})
    expect_threads_that_share_the_entries(61, 61 * 61 / 8, 4, change);
  lab::testing::expect_at_full_size([] { expect_threads_that_share_the_entries(521, 128, 4); });
  EXPECT_TRUE(at_other_sizes([](std::size_t n) {
    auto small = rotation(n, 1);
    small[0] += 1;
    return matches(check(examine(small, n, n), small, n));
  }));
}

class EachSize : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::size_t n() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, EachSize, ::testing::ValuesIn(kSizes),
                         [](const auto& info) { return "n" + std::to_string(info.param); });

// --- yes -----------------------------------------------------------------------------------------

TEST_P(EachSize, SaysYesToTheIdentityAndToPermutations) {
  EXPECT_EQ(examine(identity(n()), n(), n()), result{});
  EXPECT_EQ(examine(permutation(n(), 1), n(), n()), result{});
}

TEST_P(EachSize, SaysYesToRotations) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto a = rotation(n(), seed);
    const result got = examine(a, n(), n());
    EXPECT_TRUE(matches(check(got, a, n())));
    EXPECT_TRUE(got.orthogonal) << ::testing::PrintToString(got) << ", seed " << seed;
  }
}

TEST_P(EachSize, SaysYesToReflections) {
  const auto a = reflection(n(), 4);
  const result got = examine(a, n(), n());
  EXPECT_TRUE(matches(check(got, a, n())));
  EXPECT_TRUE(got.orthogonal) << ::testing::PrintToString(got);
}

TEST(OrthogonalMatrix, SaysYesToTheMatrixWithoutRows) { EXPECT_EQ(examine({}, 0, 0), result{}); }

TEST_P(EachSize, TakesExactlyTheToleranceForOrthogonalAndTheNextFloatNot) {
  // One more number in the identity: it is the only entry of the product that is off, and by just
  // as much. (The square of it is so small that the 1 it is added to does not change.)
  if (n() == 1) return;  // no room beside the diagonal
  auto a = identity(n());
  float& corner = a[n() - 1];
  corner = tolerance(n());
  EXPECT_EQ(examine(a, n(), n()), (result{true, corner, 0, n() - 1}));
  corner = std::nextafter(corner, 1.0F);
  EXPECT_EQ(examine(a, n(), n()), (result{false, corner, 0, n() - 1}));
}

// --- no ------------------------------------------------------------------------------------------

TEST_P(EachSize, FindsTheFarthestEntryOfWholeNumbersToTheLastBit) {
  // Not symmetric, different everywhere; the largest entry is mostly in the diagonal.
  const auto ints = lab::random_ints(n() * n(), 5, -9, 7);
  const std::vector<float> a(ints.begin(), ints.end());
  EXPECT_EQ(examine(a, n(), n()), reference_result(a, n()));
}

TEST_P(EachSize, FindsAnEntryOutsideOfTheDiagonal) {
  // Rows `one` and `other` of a permutation get a 0.5 in each other's column: their product is 1,
  // their squares are 1.25. The entry and its mirror image are equally far: the first is named.
  for (std::size_t one = 0; one + 1 < n(); one += one < 14 ? 7 : 5) {
    const std::size_t other = n() - 1 - (one < n() / 2 ? 0 : (n() - 2 - one) % 3);
    auto a = permutation(n(), 6);
    std::size_t column_of_one = 0, column_of_other = 0;
    while (a[one * n() + column_of_one] == 0) ++column_of_one;
    while (a[other * n() + column_of_other] == 0) ++column_of_other;
    a[one * n() + column_of_other] = 0.5F;
    a[other * n() + column_of_one] = 0.5F;
    const result got = examine(a, n(), n());
    EXPECT_EQ(got, reference_result(a, n()));
    EXPECT_EQ(got.deviation, 1.0F);
    EXPECT_EQ(got.row, one);
    EXPECT_EQ(got.column, other);
  }
}

TEST_P(EachSize, FindsTheFarthestRowWhereverItStands) {
  // The last rows and columns are in blocks that extend past the edge.
  for (const std::size_t row : {std::size_t{0}, n() / 2, n() - 1}) {
    auto a = permutation(n(), 7);
    for (std::size_t i = 0; i < n(); ++i) a[row * n() + i] *= 3;
    const result got = examine(a, n(), n());
    EXPECT_EQ(got, reference_result(a, n()));
    EXPECT_EQ(got.deviation, 8.0F);
    EXPECT_EQ(got.row, row);
  }
}

TEST_P(EachSize, SaysNoWhenOneEntryOfARotationIsPerturbed) {
  // A change by d of A[r][c] changes the products of row r by d * A[j][c]. Column c has length 1,
  // so one of its n numbers is 1/√n or more: the deviation there is d/√n, give or take tolerance().
  const auto rotated = rotation(n(), 8);
  const float change = 4 * tolerance(n()) * std::sqrt(static_cast<float>(n()));
  for (const std::size_t index : {std::size_t{0}, n() * n() / 3, n() * n() - 1}) {
    for (const float d : {change, -change, 0.01F}) {
      auto a = rotated;
      a[index] += d;
      const result got = examine(a, n(), n());
      EXPECT_TRUE(matches(check(got, a, n())));
      EXPECT_FALSE(got.orthogonal) << ::testing::PrintToString(got) << ", changed at " << index;
    }
  }
}

TEST_P(EachSize, SaysNoToOrthogonalRowsOfAnotherLength) {
  for (const float length : {2.0F, 0.5F, -1.01F, 0.0F}) {
    auto a = rotation(n(), 9);
    for (float& x : a) x *= length;
    const result got = examine(a, n(), n());
    EXPECT_TRUE(matches(check(got, a, n())));
    EXPECT_FALSE(got.orthogonal) << ::testing::PrintToString(got);
  }
  std::vector<float> zeros(n() * n());
  EXPECT_EQ(examine(zeros, n(), n()).deviation, 1.0F);
}

TEST_P(EachSize, SaysNoToRandomNumbers) {
  const auto a = lab::random_floats(n() * n(), 10, -1, 1);
  const result got = examine(a, n(), n());
  EXPECT_TRUE(matches(check(got, a, n())));
  EXPECT_FALSE(got.orthogonal);
}

TEST_P(EachSize, SaysNoToANanAndToAnInfinityWhereverItStands) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    for (const std::size_t row : {std::size_t{0}, n() / 2, n() - 1}) {
      auto a = rotation(n(), 11);
      a[row * n() + n() / 3] = bad;
      const result got = examine(a, n(), n());
      EXPECT_FALSE(got.orthogonal);
      EXPECT_EQ(got.deviation, kInfinity);
      EXPECT_EQ(got.row, 0U) << "the first entry that row " << row << " is part of";
      EXPECT_EQ(got.column, row);
    }
  }
}

TEST_P(EachSize, TakesANanAndAnyInfinityForEquallyFarAndNamesTheFirst) {
  if (n() == 1) return;
  const std::size_t last = n() - 1;
  auto a = identity(n());
  a[0] = kInfinity;  // so is (0, 0); its product with another row is a NaN, as 0 times infinity is
  EXPECT_EQ(examine(a, n(), n()), (result{false, kInfinity, 0, 0}));
  a[0] = 1, a[last * n() + last] = -kInfinity;  // (0, last) is a NaN, (last, last) is infinite
  EXPECT_EQ(examine(a, n(), n()), (result{false, kInfinity, 0, last}));
}

TEST_P(EachSize, TakesWhatIsBeyondTheLargestFloatForInfinitelyFarAndNamesTheFirst) {
  auto a = identity(n());
  a[0] = 1e20F;
  EXPECT_EQ(examine(a, n(), n()), (result{false, kInfinity, 0, 0}));
  a.back() = -1e30F;  // its square is larger, and not a float either
  EXPECT_EQ(examine(a, n(), n()), (result{false, kInfinity, 0, 0}));
  if (n() == 1) return;
  a[0] = 1e19F;  // 1e38 is a float
  EXPECT_EQ(examine(a, n(), n()), (result{false, kInfinity, n() - 1, n() - 1}));
}

TEST(OrthogonalMatrix, LooksAtRowsAndNotAtColumns) {
  // A · Aᵀ and Aᵀ · A: off by 3 and 1 in the first, by 1 and 1 and 2 in the other.
  const std::vector<float> a = {0, 0, 2,  //
                                0, 1, 1,  //
                                1, 0, 0};
  const result got = examine(a, 3, 3);
  EXPECT_EQ(got, reference_result(a, 3));
  EXPECT_EQ(got.deviation, 3.0F);
  EXPECT_EQ(got.row, 0U);
}

// --- refusals, and more than once ----------------------------------------------------------------

TEST(OrthogonalMatrix, NamesTheFirstOfEqualEntriesRowAfterRowAndNotBlockAfterBlock) {
  constexpr std::size_t kN = 18;
  std::vector<float> a(kN * kN);
  for (std::size_t i = 0; i < kN; ++i) a[i * kN + i] = 1;
  a[16 * kN] = 1;      // so rows 0 and 16 have a product of 1,
  a[1 * kN + 17] = 1;  // and rows 1 and 17, and each of the two is one too long
  const result found = examine(a, kN, kN);
  EXPECT_EQ(found.deviation, 1.0F);
  EXPECT_EQ(found.row, 0U);
  EXPECT_EQ(found.column, 16U);
}

TEST(OrthogonalMatrix, NamesTheFirstOfInfiniteEntriesRowAfterRowToo) {
  constexpr std::size_t kN = 18;
  auto a = identity(kN);
  a[0] = 1e10F, a[16 * kN] = 1e30F;  // rows 0 and 16 have a product of 1e40,
  a[1 * kN + 1] = 1e20F;             // and so has row 1 with itself
  EXPECT_EQ(examine(a, kN, kN), (result{false, kInfinity, 0, 16}));
}

TEST(OrthogonalMatrix, RefusesWhatIsNotSquareEvenWithOrthogonalRows) {
  const std::vector<float> wide = {1, 0, 0, 0, 1, 0};  // A · Aᵀ is the identity, Aᵀ · A is not
  EXPECT_THROW(examine(wide, 2, 3), lab::invalid_input);
  EXPECT_THROW(examine(wide, 3, 2), lab::invalid_input);
  EXPECT_THROW(examine({}, 0, 3), lab::invalid_input);
}

TEST(OrthogonalMatrix, RefusesTheWrongNumberOfElements) {
  const std::vector<float> six(6);
  EXPECT_THROW(examine(six, 2, 2), lab::invalid_input);
  EXPECT_THROW(examine(six, 3, 3), lab::invalid_input);
  EXPECT_THROW(examine(six, 0, 0), lab::invalid_input);
  EXPECT_THROW(examine(std::vector<float>(5), 2, 2), lab::invalid_input) << "more than two rows";
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(examine({}, kHuge, kHuge), lab::invalid_input);
}

TEST(OrthogonalMatrix, AnswersForTheMatrixThatIsThereNow) {
  EXPECT_FALSE(examine(std::vector<float>(33 * 33), 33, 33).orthogonal);
  EXPECT_TRUE(examine(identity(33), 33, 33).orthogonal);
}

TEST(OrthogonalMatrix, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return examine(identity(40), 40, 40).kernel_ms; }));
}

// --- the examples and the check themselves -------------------------------------------------------

TEST(Examples, RotationsMoveEveryAxisAndAreNotSymmetric) {
  const std::size_t n = 33;
  const auto a = rotation(n, 1);
  std::size_t zeros = 0, symmetric = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      zeros += a[i * n + j] == 0;
      symmetric += i != j && a[i * n + j] == a[j * n + i];
    }
    EXPECT_LT(std::fabs(a[i * n + i]), 0.999F);
  }
  EXPECT_LT(zeros, n * n / 4);
  EXPECT_LT(symmetric, n * n / 4);
}

TEST(Check, SeesWrongResults) {
  const std::vector<float> a = {3, 0, 0, 2};  // off by 8 and by 3
  const result right{false, 8, 0, 0};
  EXPECT_TRUE(check(right, a, 2));
  EXPECT_FALSE(check({true, 8, 0, 0}, a, 2));
  EXPECT_FALSE(check({false, 3, 1, 1}, a, 2)) << "row 0 is farther";
  EXPECT_FALSE(check({false, 8, 1, 1}, a, 2));
  EXPECT_FALSE(check({false, 8.001F, 0, 0}, a, 2));
  EXPECT_FALSE(check({false, 8, 0, 2}, a, 2));
  EXPECT_FALSE(check({false, kNan, 0, 0}, a, 2));
  EXPECT_FALSE(check({true, 0, 0, 1}, a, 2));
}

FAULT_TEST(OrthogonalMatrix, ReportsEveryCallThatFails) {
  const auto a = permutation(17, 1);
  expect_failures_reported([&] { return examine(a, 17, 17); }, a);
}

TEST(OrthogonalMatrix, IsExactAtTheProgramsSize) {
  constexpr std::size_t n = kDefaultSize;
  expect_at_full_size([] {
    EXPECT_EQ(examine(permutation(n, 1), n, n), (result{true, 0, 0, 0}));
    for (const std::size_t row : {std::size_t{0}, n / 2, n - 1}) {
      auto a = permutation(n, 2);
      for (std::size_t i = 0; i < n; ++i) a[row * n + i] *= 3;
      EXPECT_EQ(examine(a, n, n), (result{false, 8, row, row}));
    }
  });
}

}  // namespace
