// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "commuting_matrices.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "examples.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::commuting_matrices::check;
using lab::commuting_matrices::compare_products;
using lab::commuting_matrices::expectation;
using lab::commuting_matrices::kDefaultSize;
using lab::commuting_matrices::kExact;
using lab::commuting_matrices::polynomial;
using lab::commuting_matrices::reference;
using lab::commuting_matrices::rounding_allowance;
using lab::commuting_matrices::whole_numbers;
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
constexpr float kLargest = std::numeric_limits<float>::max();

/// A block is 16 x 16: on both sides of it, several of them, and a prime.
constexpr std::size_t kSizes[] = {1, 2, 15, 16, 17, 31, 32, 33, 48, 61};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsShareTheEntries) {
  const auto is_right = [](const auto& a, const auto& b, std::size_t n) {
    const expectation expected = reference(a, b, n, kExact);
    return matches(check(compare_products(a, b, n, kExact).differing, expected));
  };
  const auto a = whole_numbers(61, 1), b = whole_numbers(61, 2);
  const lab::testing::work done = work_of([&] { return is_right(a, b, 61); });
  EXPECT_TRUE(as_required(
      done,
      {.threads = 61 * 61 / 8, .blocks = 4, .sent = 2 * bytes_of(a), .reads = 2 * bytes_of(a)}));
  EXPECT_TRUE(at_other_sizes([&](std::size_t n) {
    return is_right(whole_numbers(n + 1, 1), whole_numbers(n + 1, 2), n + 1);
  }));
  // One by one all commute, unless one is a NaN; and so do A and A.
  EXPECT_TRUE(at_other_sizes([&](std::size_t n) {
    std::vector<float> with_nan = whole_numbers(n, 1);
    with_nan[0] = kNan;
    return is_right(with_nan, with_nan, n);
  }));
  expect_at_full_size([&] {
    const auto large = whole_numbers(kDefaultSize, 1), other = whole_numbers(kDefaultSize, 2);
    const auto all = work_of([&] { return is_right(large, other, kDefaultSize); });
    EXPECT_LE(std::ranges::count_if(all.device_memory,
                                    [&](std::size_t bytes) { return bytes >= bytes_of(large); }),
              2)
        << "neither product is stored, nor anything else with a float for each entry";
    return as_required(all, {.threads = 1024, .blocks = 4, .sent = 2 * bytes_of(large)});
  });
}

class EachSize : public ::testing::TestWithParam<std::size_t> {
 protected:
  std::size_t n() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Sizes, EachSize, ::testing::ValuesIn(kSizes),
                         [](const auto& info) { return "n" + std::to_string(info.param); });

// --- whole numbers: exactly ----------------------------------------------------------------------

TEST_P(EachSize, APolynomialOfAMatrixCommutesWithIt) {
  for (const std::uint64_t seed : {1U, 2U}) {
    const auto a = whole_numbers(n(), seed);
    const auto b = polynomial(a, n());
    EXPECT_EQ(compare_products(a, b, n(), kExact).differing, 0U) << "seed " << seed;
    EXPECT_EQ(compare_products(b, a, n(), kExact).differing, 0U) << "seed " << seed;
  }
}

TEST_P(EachSize, CountsWhereRandomMatricesDiffer) {
  const auto a = whole_numbers(n(), 3), b = whole_numbers(n(), 4);
  const expectation expected = reference(a, b, n(), kExact);
  ASSERT_EQ(expected.least, expected.most);
  if (n() > 1) {
    EXPECT_GT(expected.least, 0U) << "random matrices should not commute";
  }
  EXPECT_EQ(compare_products(a, b, n(), kExact).differing, expected.least);
}

TEST_P(EachSize, SeesASingleEntry) {
  // A has its only 1 in row r, column k, and B in row k, column c: A · B has a 1 in row r, column
  // c, and B · A is zero, since c is not r. With k = r, or k = c, too.
  for (const std::size_t r : {std::size_t{0}, n() / 2, n() - 1}) {
    for (const std::size_t c : {std::size_t{0}, n() / 3, n() - 1}) {
      if (r == c) continue;
      for (const std::size_t k : {std::size_t{0}, n() / 2, n() - 1}) {
        std::vector<float> a(n() * n()), b(n() * n());
        a[r * n() + k] = 1;
        b[k * n() + c] = -1;
        EXPECT_EQ(compare_products(a, b, n(), kExact).differing, 1U)
            << "row " << r << ", column " << c << ", by way of " << k;
        EXPECT_EQ(compare_products(b, a, n(), kExact).differing, 1U);
      }
    }
  }
}

TEST_P(EachSize, SeesThatOneElementWasChanged) {
  const auto a = whole_numbers(n(), 5);
  for (const std::size_t index : {std::size_t{0}, n() * n() / 3, n() * n() - 1}) {
    auto b = polynomial(a, n());
    b[index] += 1;
    EXPECT_EQ(compare_products(a, b, n(), kExact).differing, reference(a, b, n(), kExact).most);
  }
}

TEST_P(EachSize, EverythingCommutesWithTheIdentity) {
  std::vector<float> seven_times_identity(n() * n());
  for (std::size_t i = 0; i < n(); ++i) seven_times_identity[i * n() + i] = 7;
  const auto a = whole_numbers(n(), 6);
  EXPECT_EQ(compare_products(a, seven_times_identity, n(), kExact).differing, 0U);
}

// --- other numbers: within what roundings can do -------------------------------------------------

TEST_P(EachSize, APolynomialOfRealNumbersCommutesWithinRoundings) {
  for (const std::uint64_t seed : {7U, 8U}) {
    const auto a = lab::random_floats(n() * n(), seed, -1, 1);
    const auto b = polynomial(a, n());
    EXPECT_EQ(compare_products(a, b, n(), rounding_allowance(n())).differing, 0U)
        << "seed " << seed;
  }
}

TEST_P(EachSize, RandomRealNumbersDoNot) {
  const auto a = lab::random_floats(n() * n(), 9, -1, 1),
             b = lab::random_floats(n() * n(), 10, -1, 1);
  const float relative = rounding_allowance(n());
  EXPECT_TRUE(matches(
      check(compare_products(a, b, n(), relative).differing, reference(a, b, n(), relative))));
}

TEST(CommutingMatrices, TheAllowanceIsAPartOfTheMagnitudesOfBothProducts) {
  // A · B and B · A differ in one entry only, where they are 1000 - 999 and 0: the magnitude is
  // 1999, the difference 1.
  const std::vector<float> a = {0, 1000, 999, 0, 0, 0, 0, 0, 0};
  const std::vector<float> b = {0, 0, 0, 0, 0, 1, 0, 0, -1};
  // B · A is zero: B's columns 0 and 1 are, and A's row 2 is.
  EXPECT_EQ(compare_products(a, b, 3, kExact).differing, 1U);
  EXPECT_EQ(compare_products(a, b, 3, 0.9F / 1999).differing, 1U);
  EXPECT_EQ(compare_products(a, b, 3, 1.1F / 1999).differing, 0U);
  EXPECT_EQ(compare_products(b, a, 3, 0.9F / 1999).differing, 1U);
  EXPECT_EQ(compare_products(b, a, 3, 1.1F / 1999).differing, 0U);
}

// --- what is no number ---------------------------------------------------------------------------

TEST(CommutingMatrices, WholeNumbersDifferByOneBesideLargeSums) {
  // (2^22 + 1, 0; 0, 0) and (2^22, 2048; 2048, 1)
  const std::vector<float> a = {2048, 1, 0, 0}, b = {2048, 0, 1, 0};
  EXPECT_EQ(compare_products(a, b, 2, kExact).differing, 4U);
}

TEST(CommutingMatrices, CountsAgainWhereTheKernelIsRepeated) {
  // As a program repeats it to measure its time: with the counter of the previous launch.
  const auto a = whole_numbers(33, 1), b = whole_numbers(33, 2);
  const lab::repeated_timing samples(3);
  EXPECT_EQ(compare_products(a, b, 33, kExact).differing, reference(a, b, 33, kExact).least);
}

TEST_P(EachSize, ANanNeverCommutes) {
  // In row r and column c of A: row r of A · B, column c of B · A are NaN, and for the other
  // product's sake nothing else.
  for (const float bad : {kNan, kInfinity}) {
    for (const std::size_t r : {std::size_t{0}, n() - 1}) {
      auto a = lab::random_floats(n() * n(), 11, 1, 2);
      const std::size_t c = n() / 2;
      a[r * n() + c] = bad;
      std::vector<float> identity(n() * n());
      for (std::size_t i = 0; i < n(); ++i) identity[i * n() + i] = 1;
      for (const float relative : {kExact, rounding_allowance(n()), 0.5F}) {
        const std::size_t expected = 2 * n() - 1;  // a row and a column, which meet in one entry
        EXPECT_EQ(compare_products(a, identity, n(), relative).differing, expected);
        EXPECT_EQ(compare_products(identity, a, n(), relative).differing, expected);
      }
    }
  }
}

TEST(CommutingMatrices, OneNanIsEnoughWhateverTheOtherMatrixIs) {
  // The NaN is in row 1 of A and in column 0: of 3 x 3 entries, 5 are no number. And those of A
  // and A itself are none either, nor where the other one is zero.
  std::vector<float> a = whole_numbers(3, 1);
  a[3] = kNan;
  const std::vector<float> same = a, zeros(9);
  EXPECT_EQ(compare_products(a, same, 3, kExact).differing, 5U);
  EXPECT_EQ(compare_products(a, a, 3, kExact).differing, 5U);
  EXPECT_EQ(compare_products(a, zeros, 3, kExact).differing, 5U);
  EXPECT_EQ(compare_products(zeros, a, 3, kExact).differing, 5U);
}

TEST(CommutingMatrices, TinyNumbersDiffer) {
  // A · B is zero but for 2^-140 in [0][1], and B · A is zero.
  const std::vector<float> a = {0x1p-70F, 0, 0, 0}, b = {0, 0x1p-70F, 0, 0};
  EXPECT_EQ(compare_products(a, b, 2, kExact).differing, 1U);
  EXPECT_EQ(compare_products(b, a, 2, kExact).differing, 1U);
  EXPECT_EQ(compare_products(a, b, 2, -0.0F).differing, 1U) << "-0 is not less than 0";
}

TEST(CommutingMatrices, ASumOfMagnitudesBeyondTheLargestFloatDiffers) {
  // The sums of A · B and B · A are all finite; those of the magnitudes are not, in one entry.
  const float large = 0.75F * kLargest;
  const std::vector<float> a = {large, large, 0, 0}, b = {0, 1, 0, -1};
  EXPECT_EQ(compare_products(a, b, 2, 1.0F).differing, 1U);
  // Nor need those of either product be: it is the sum of both that counts.
  const std::vector<float> one = {large}, other = {1};
  EXPECT_EQ(compare_products(one, other, 1, 1.0F).differing, 1U);
  EXPECT_EQ(compare_products(one, other, 1, kExact).differing, 1U);
}

TEST(CommutingMatrices, WhatIsBeyondTheLargestFloatDiffers) {
  // One entry of A · B, [0][1], is infinite, B · A is zero: and infinity <= 1 * infinity.
  const std::vector<float> a = {kLargest, 0, 0, 0}, b = {0, kLargest, 0, 0};
  EXPECT_EQ(compare_products(a, b, 2, 1.0F).differing, 1U);
  EXPECT_EQ(compare_products(a, b, 2, kExact).differing, 1U);
}

// --- edges, refusals, and more than once ---------------------------------------------------------

TEST(CommutingMatrices, MatricesWithoutRowsCommute) {
  EXPECT_EQ(compare_products({}, {}, 0, kExact).differing, 0U);
}

TEST(CommutingMatrices, RefusesMatricesOfOtherSizes) {
  const std::vector<float> four(4), six(6), nine(9);
  EXPECT_NO_THROW(compare_products(four, four, 2, kExact));
  EXPECT_THROW(compare_products(four, six, 2, kExact), lab::invalid_input);
  EXPECT_THROW(compare_products(six, four, 2, kExact), lab::invalid_input);
  EXPECT_THROW(compare_products(four, nine, 3, kExact), lab::invalid_input);
  EXPECT_THROW(compare_products(nine, nine, 2, kExact), lab::invalid_input);
  EXPECT_THROW(compare_products(four, four, 0, kExact), lab::invalid_input);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(compare_products({}, {}, kHuge, kExact), lab::invalid_input);
}

TEST(CommutingMatrices, RefusesAToleranceThatIsNone) {
  const std::vector<float> four(4);
  for (const float relative : {-0.1F, kNan, kInfinity})
    EXPECT_THROW(compare_products(four, four, 2, relative), lab::invalid_input);
}

TEST(CommutingMatrices, AnswersForTheMatricesThatAreThereNow) {
  const auto a = whole_numbers(33, 12), b = whole_numbers(33, 13);
  EXPECT_GT(compare_products(a, b, 33, kExact).differing, 0U);
  EXPECT_EQ(compare_products(a, a, 33, kExact).differing, 0U);
}

TEST(CommutingMatrices, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return compare_products(a, a, 40, kExact).kernel_ms; }));
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, TakesWhatIsWithinTheExpectationOnly) {
  EXPECT_TRUE(check(5, {5, 5}));
  EXPECT_FALSE(check(4, {5, 5}));
  EXPECT_FALSE(check(6, {5, 5}));
  EXPECT_TRUE(check(6, {5, 7}));
  EXPECT_FALSE(check(8, {5, 7}));
}

TEST(Check, ExpectsFewDoubtfulEntriesOfRealNumbers) {
  const auto a = lab::random_floats(61 * 61, 9, -1, 1), b = lab::random_floats(61 * 61, 10, -1, 1);
  const expectation expected = reference(a, b, 61, rounding_allowance(61));
  EXPECT_GT(expected.least, 3700U);
  EXPECT_LE(expected.most, 61U * 61U);
}

FAULT_TEST(CommutingMatrices, ReportsEveryCallThatFails) {
  const auto a = whole_numbers(17, 1), b = whole_numbers(17, 2);
  expect_failures_reported([&] { return compare_products(a, b, 17, kExact).differing; }, a, b);
}

TEST(CommutingMatrices, CountsEveryEntryAtTheProgramsSize) {
  expect_at_full_size([] {
    const auto a = whole_numbers(kDefaultSize, 1), b = whole_numbers(kDefaultSize, 2);
    return matches(check(compare_products(a, b, kDefaultSize, kExact).differing,
                         reference(a, b, kDefaultSize, kExact)));
  });
}

TEST(CommutingMatrices, CountsMoreThan16BitsCan) {
  expect_at_full_size([] {  // a column of NaNs in A: no entry of A · B is a number
    auto a = whole_numbers(kDefaultSize, 1);
    for (std::size_t row = 0; row < kDefaultSize; ++row) a[row * kDefaultSize] = kNan;
    const auto b = whole_numbers(kDefaultSize, 2);
    EXPECT_EQ(compare_products(a, b, kDefaultSize, kExact).differing, kDefaultSize * kDefaultSize);
  });
}

}  // namespace
