// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "euclidean_norm.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::euclidean_norm::as_float;
using lab::euclidean_norm::error_bound;
using lab::euclidean_norm::kDefaultSize;
using lab::euclidean_norm::norm;
using lab::euclidean_norm::reference;
using lab::euclidean_norm::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kSmallest = std::numeric_limits<float>::denorm_min();

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::by_dot_product, "by_dot_product"},
                                 {step::scaled_by_max, "scaled_by_max"},
                                 {step::one_pass, "one_pass"}};
constexpr named_step kSafeSteps[] = {kSteps[1], kSteps[2]};

::testing::AssertionResult is_within_the_bound(step version, const vector& x) {
  return matches(lab::compare(norm(version, x).value, reference(x), {.absolute = error_bound(x)}));
}

/// n numbers, plus or minus 2^exponent: the root alone is rounded, so the norm has one right value.
vector powers_of_two(std::size_t n, int exponent) {
  vector x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = std::ldexp(i % 3 == 1 ? -1.0F : 1.0F, exponent);
  return x;
}

// Around a warp, a block of 256, and 1024 blocks of 256, where threads begin to stride; primes.
const auto kSizes =
    ::testing::Values(1, 2, 31, 32, 33, 255, 256, 257, 1021, 10 * 256 + 1, 262'144, 300'007);

std::string name_of(const named_step& version, std::size_t n) {
  return std::string(version.name) + "_n" + std::to_string(n);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(ReductionsInSharedMemory) {
  const vector x = powers_of_two(20'011, 3);
  for (const auto& [version, name] : kSteps) {
    const std::size_t passes = version == step::scaled_by_max ? 2 : 1;
    EXPECT_TRUE(
        as_required(work_of([&, version = version] { return is_within_the_bound(version, x); }),
                    {.threads = 1024,
                     .blocks = 4,
                     .kernels = passes,
                     .sent = bytes_of(x),
                     .reads = passes * bytes_of(x),
                     // In scaled_by_max each thread of the second pass may read the scale, too.
                     .reads_at_most = passes == 1 ? bytes_of(x) * 3 / 2 : 0,
                     .shared_memory = true}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_within_the_bound(version, powers_of_two(n, 3));
    })) << name;
    for (const std::size_t n : {7, 31, 40, 255, 1000})  // few are shared like many
      EXPECT_TRUE(as_required(work_of([&, version = version] {
                                return is_within_the_bound(version, powers_of_two(n, 3));
                              }),
                              {.threads = std::max<std::size_t>(n / 4, 2),
                               .kernels = passes,
                               .reads = passes * n * sizeof(float),
                               .loading_threads = std::max<std::size_t>(n / 4, 2),
                               .shared_memory = true}))
          << name << " of " << n << " elements";
  }
}

// --- all steps, where squares are floats ---------------------------------------------------------

using Norm = lab::testing::each_step_and<named_step, std::size_t>;
INSTANTIATE_TEST_SUITE_P(Steps, Norm, ::testing::Combine(::testing::ValuesIn(kSteps), kSizes),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param), std::get<1>(test.param));
                         });

TEST_P(Norm, CountsEveryElementOnce) {
  const auto& [version, n] = GetParam();
  const vector x = powers_of_two(n, 3);
  EXPECT_EQ(norm(version.value, x).value, as_float(reference(x)));
}

TEST_P(Norm, IsWithinTheBoundForRandomNumbers) {
  const auto& [version, n] = GetParam();
  EXPECT_TRUE(is_within_the_bound(version.value, lab::random_floats(n, n, -300, 100)));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsFiveForThreeAndFour) {
  EXPECT_EQ(norm(version(), vector{3, -4}).value, 5.0F);
  EXPECT_EQ(norm(version(), vector{-4, 3}).value, 5.0F);
}

TEST_P(EachStep, IsZeroForEmptyVectors) { EXPECT_EQ(norm(version(), {}).value, 0.0F); }

TEST_P(EachStep, IsZeroForZeros) {
  for (const std::size_t n : {1, 256, 1000}) {
    EXPECT_EQ(norm(version(), vector(n, 0.0F)).value, 0.0F) << n << " zeros";
    EXPECT_EQ(norm(version(), vector(n, -0.0F)).value, 0.0F) << n << " times -0";
  }
}

TEST_P(EachStep, SeesASingleElementAnywhere) {
  for (const std::size_t position : {0, 1, 31, 32, 255, 256, 511, 512, 1000}) {
    vector x(1001, 0.0F);
    x[position] = -17;
    EXPECT_EQ(norm(version(), x).value, 17.0F) << "the element is at " << position;
  }
}

TEST_P(EachStep, SeesASingleElementWhereThreadsBeginToStride) {
  vector x(262'144 + 300, 0.0F);
  for (const std::size_t position : {262'143, 262'144, 262'443}) {
    x[position] = -17;
    EXPECT_EQ(norm(version(), x).value, 17.0F) << "the element is at " << position;
    x[position] = 0;
  }
}

TEST_P(EachStep, IsInfiniteWithAnInfinity) {
  for (const float infinity : {kInfinity, -kInfinity})
    for (const std::size_t position : {0, 300, 999}) {
      vector x = lab::random_floats(1000, position, -5, 5);
      x[position] = infinity;
      EXPECT_EQ(norm(version(), x).value, kInfinity) << "at " << position;
      x[500] = kInfinity;  // two of them: infinity / infinity is NaN
      EXPECT_EQ(norm(version(), x).value, kInfinity) << "at " << position << " and 500";
    }
}

TEST_P(EachStep, IsNaNWithANaN) {
  for (const std::size_t position : {0, 1, 255, 256, 300, 999}) {
    vector x = lab::random_floats(1000, position, -5, 5);
    x[position] = kNaN;
    EXPECT_TRUE(std::isnan(norm(version(), x).value)) << "at " << position;
    // An infinity in the same thread, the same block or another block does not hide it.
    for (const std::size_t other : {2, 257, 998}) {
      vector both = x;
      both[other] = kInfinity;
      EXPECT_TRUE(std::isnan(norm(version(), both).value))
          << "at " << position << ", inf at " << other;
    }
  }
  EXPECT_TRUE(std::isnan(norm(version(), vector{kNaN}).value));
  vector zeros(600, 0.0F);
  zeros[400] = kNaN;
  EXPECT_TRUE(std::isnan(norm(version(), zeros).value)) << "among zeros";
}

TEST_P(EachStep, KeepsNaNAndInfinityThatOneThreadMeetsOneAfterTheOther) {
  vector x(2 * 262'144 + 300, 1.0F);
  x[7] = kNaN, x[7 + 262'144] = kInfinity, x[7 + 2 * 262'144] = 3;
  EXPECT_TRUE(std::isnan(norm(version(), x).value));
  std::swap(x[7], x[7 + 262'144]);
  EXPECT_TRUE(std::isnan(norm(version(), x).value));
}

TEST_P(EachStep, CountsManySmallElementsBesideALargeOne) {
  vector x(256, 0x1p-11F);  // their squares add 3e-5 to the norm, 14 times the bound
  x[100] = 1;
  EXPECT_TRUE(is_within_the_bound(version(), x));
}

TEST_P(EachStep, JoinsSmallElementsBeforeTheyMeetALargeOne) {
  // Each square is 2^-25 of the large one, and rounded away where it meets that alone. In a tree,
  // most of them have been joined by then.
  for (const std::size_t position : {0, 255}) {
    vector x(256, 0x1.6a09e6p-13F);
    x[position] = 1;
    EXPECT_TRUE(is_within_the_bound(version(), x)) << "the large one is at " << position;
  }
}

TEST_P(EachStep, RoundsTheRootOnce) {
  for (std::size_t n = 2; n <= 20; ++n)
    EXPECT_EQ(norm(version(), vector(n, 1.0F)).value, as_float(std::sqrt(static_cast<double>(n))))
        << n << " ones";
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  EXPECT_EQ(norm(version(), powers_of_two(4096, 4)).value, 1024.0F);
  EXPECT_EQ(norm(version(), vector{1}).value, 1.0F);
  EXPECT_EQ(norm(version(), powers_of_two(4096, 4)).value, 1024.0F);
}

TEST_P(EachStep, IsTheSameNormWhereItsKernelsAreRepeated) {
  // As a program repeats it to measure its time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  EXPECT_EQ(norm(version(), powers_of_two(4096, 4)).value, 1024.0F);
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernels,
                         [&] { return norm(version(), powers_of_two(1000, 0)).kernel_ms; }));
}

// --- where squares leave the range of floats -----------------------------------------------------

TEST(ByDotProduct, OverflowsForHugeElements) {
  // 2^64 is a float, its square, 2^128, is not; and 2^63 squared, 2^126, is one, but four are not:
  // of 10,000, some block has four. (Sums of different blocks are added up in double.)
  EXPECT_EQ(norm(step::by_dot_product, vector{0x1p64F}).value, kInfinity);
  EXPECT_EQ(norm(step::by_dot_product, vector{0x1p63F}).value, 0x1p63F);
  EXPECT_EQ(norm(step::by_dot_product, powers_of_two(10'000, 63)).value, kInfinity);
}

TEST(ByDotProduct, UnderflowsForTinyElements) {
  EXPECT_EQ(norm(step::by_dot_product, powers_of_two(1000, -80)).value, 0.0F);
  EXPECT_EQ(norm(step::by_dot_product, vector{0x1p-60F}).value, 0x1p-60F);
}

using SafeNorm = lab::testing::each_step_and<named_step, std::size_t>;
INSTANTIATE_TEST_SUITE_P(Steps, SafeNorm,
                         ::testing::Combine(::testing::ValuesIn(kSafeSteps),
                                            ::testing::Values(1, 2, 33, 257, 1021, 4096)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param), std::get<1>(test.param));
                         });

TEST_P(SafeNorm, IsExactForPowersOfTwoFromTheSmallestToTheLargest) {
  // -149: the smallest float. 127: the largest power of two, of which two have a norm of 2^127.5,
  // and four or more have one that is no float.
  const auto& [version, n] = GetParam();
  for (const int exponent : {-149, -148, -140, -127, -126, -75, -74, 0, 63, 64, 100, 117, 127}) {
    const vector x = powers_of_two(n, exponent);
    EXPECT_EQ(norm(version.value, x).value, as_float(reference(x))) << "2^" << exponent;
  }
}

TEST_P(SafeNorm, IsWithinTheBoundWhateverTheRange) {
  const auto& [version, n] = GetParam();
  for (const int exponent : {-148, -130, -100, 60, 100, 110}) {
    vector x = lab::random_floats(n, n + 5, -1, 1);
    for (float& value : x) value = std::ldexp(value, exponent);
    EXPECT_TRUE(is_within_the_bound(version.value, x)) << "times 2^" << exponent;
  }
}

class SafeStep : public EachStep {};
INSTANTIATE_TEST_SUITE_P(Steps, SafeStep, ::testing::ValuesIn(kSafeSteps),
                         [](const auto& test) { return test.param.name; });

TEST_P(SafeStep, MixesHugeAndTinyElements) {
  vector x(5000);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(static_cast<float>(i % 7) - 3, static_cast<int>(i * 37 % 231) - 120);
  EXPECT_TRUE(is_within_the_bound(version(), x));
}

TEST_P(SafeStep, MeetsEverLargerAndEverSmallerElements) {
  // One thread's elements are 262144 apart. Growing ones change its scale each time.
  constexpr std::size_t kApart = 262'144;
  vector x(2 * kApart + 700, 0.0F);
  for (std::size_t i = 0; i < 700; ++i)
    for (std::size_t round = 0; round < 3; ++round)
      x[round * kApart + i] =
          std::ldexp(1.0F + static_cast<float>(i) / 1024, static_cast<int>(round + i % 5) + 90);
  EXPECT_TRUE(is_within_the_bound(version(), x));
  std::ranges::reverse(x);
  EXPECT_TRUE(is_within_the_bound(version(), x));
}

TEST_P(SafeStep, AddsSmallElementsToALargeOneWithoutLosingThem) {
  // 2^14 elements that are 2^7 times smaller than the one: as much again as the one itself.
  constexpr std::size_t kSmaller = 1 << 14;
  for (const std::size_t position : {std::size_t{0}, kSmaller / 2, kSmaller}) {
    vector x(kSmaller + 1, 0x1p80F);
    x[position] = 0x1p87F;
    EXPECT_TRUE(is_within_the_bound(version(), x)) << "the large one is at " << position;
    EXPECT_GT(norm(version(), x).value, 1.41F * 0x1p87F);
  }
}

TEST_P(SafeStep, RoundsASubnormalNormOnce) {
  // A little less than 4095.5 times the smallest float. √4095 rounded to a float makes it exactly
  // that, and a second rounding 4096.
  const vector x(4095, 0x1p-143F);
  EXPECT_EQ(norm(version(), x).value, as_float(reference(x)));
}

TEST_P(SafeStep, IsInfiniteOnlyWhereTheNormIsNoFloat) {
  EXPECT_EQ(norm(version(), vector{kLargest}).value, kLargest);
  EXPECT_EQ(norm(version(), vector{-kLargest, kSmallest}).value, kLargest);
  EXPECT_EQ(norm(version(), vector{kLargest, kLargest}).value, kInfinity);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector x = lab::random_floats(1000, 1, -1, 1);
  expect_failures_reported([&] { return is_within_the_bound(version(), x); }, x);
}

TEST_P(EachStep, CountsEveryElementOnceAtTheProgramsSize) {
  expect_at_full_size([&] {
    const vector x = powers_of_two(kDefaultSize, 3);  // one less, and the norm is another float
    return matches(
        lab::compare(norm(version(), x).value, as_float(reference(x)), lab::tolerance{}));
  });
}

}  // namespace
