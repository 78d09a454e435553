// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every dot product must do: the tests that the exercises with one have in common. The file
// that includes this one has declared, in its anonymous namespace, the fixture EachStep (a
// TestWithParam) with
//
//   float sum(const vector& a, const vector& b) const;     what the contract returns
//   double bound(const vector& a, const vector& b) const;  how far that may be from the exact sum
//   std::size_t most() const;                              elements that it takes, at least 100,000
//   std::size_t full_size() const;                         the program's size, where it has room
//   required full_work() const;                            what the device has to do at that size
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"

namespace {

TEST_P(EachStep, CountsEveryProductOnce) {
  // Around a warp, blocks of 256, 512 and 1024, what a grid of 32 blocks of 256 does in a round
  // (8192), what constant memory holds (16384), the book's 33 * 1024; primes.
  std::vector<std::size_t> sizes = {
      1,      2,      3,      4,      5,      31,     32,     33,     63,     65,     127,
      255,    256,    257,    511,    512,    513,    1021,   1023,   1024,   1025,   2047,
      2048,   2049,   4095,   4096,   4097,   8191,   8192,   8193,   16'383, 16'384, 16'385,
      20'011, 32'767, 32'768, 32'769, 33'792, 33'793, 49'929, 100'000};
  // One round of the largest grid that the device runs at once, and several.
  const std::size_t resident = std::size_t{lab::device_limit(cudaDevAttrMultiProcessorCount)} *
                               lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  sizes.insert(sizes.end(), {resident + 1, 3 * resident + 7});
  for (const std::size_t n : sizes)
    if (n <= most() && !HasFailure()) {  // the smallest failure says most
      EXPECT_TRUE(lab::testing::matches(
          lab::check_exact_dot(n, n, [&](const vector& a, const vector& b) { return sum(a, b); })));
    }
}

TEST_P(EachStep, CountsEveryProductOnceAtTheProgramsSize) {
  lab::testing::expect_at_full_size([&] {
    static lab::exact_vectors vectors;  // of all steps: creating them takes as long as adding them
    if (vectors.a.size() != full_size()) vectors = lab::make_exact_vectors(full_size(), 1);
    const auto is_exact_dot = [&] {
      return lab::testing::matches(lab::check_exact_dot(
          vectors, [&](const vector& a, const vector& b) { return sum(a, b); }));
    };
    return lab::testing::is_true_without_the_host(is_exact_dot, full_work());
  });
}

TEST_P(EachStep, CountsEveryProductOnceWhereItsKernelsAreRepeated) {
  // As a program repeats them to measure their time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  EXPECT_TRUE(lab::testing::matches(lab::check_exact_dot(
      20'011, 20'011, [&](const vector& a, const vector& b) { return sum(a, b); })));
}

TEST_P(EachStep, IsWithinTheBoundForRandomNumbers) {
  for (const std::size_t n : {1, 31, 33, 257, 1021, 8193, 33 * 1024}) {
    const vector a = lab::random_floats(n, n, -1, 1), b = lab::random_floats(n, n + 1, -100, 300);
    EXPECT_TRUE(lab::testing::matches(
        lab::compare(sum(a, b), lab::dot_in_double(a, b), {.absolute = bound(a, b)})));
  }
}

TEST_P(EachStep, LosesLessThanOneThreadWould) {
  // 2^25 and then ones: adding them to it one by one, in float, gives 2^25. The bound grows with
  // the number of ones, so more of them would not show the difference any better.
  vector a(std::min<std::size_t>(most(), 100'000), 1.0F), b(a);
  a[0] = b[0] = 0x1p12F;
  a[0] *= 2;
  float one_by_one = 0;
  for (std::size_t i = 0; i < a.size(); ++i) one_by_one += a[i] * b[i];
  const double exact = lab::dot_in_double(a, b);
  ASSERT_GT(std::fabs(static_cast<double>(one_by_one) - exact), 100 * bound(a, b))
      << "the bound does not distinguish many threads from one";
  EXPECT_TRUE(lab::testing::matches(lab::compare(sum(a, b), exact, {.absolute = bound(a, b)})))
      << "a single thread that adds all products gets " << one_by_one;
}

TEST_P(EachStep, KeepsSmallSumsBesideALargeOne) {
  // 2^25, and a 1 for every 256 elements: adding the blocks' sums to it one by one, in float, gives
  // 2^25.
  vector a(std::min<std::size_t>(most(), 100'000)), b(a.size(), 1.0F);
  for (std::size_t i = 0; i < a.size(); i += 256) a[i] = i == 0 ? 0x1p25F : 1.0F;
  EXPECT_TRUE(lab::testing::matches(
      lab::compare(sum(a, b), lab::dot_in_double(a, b), {.absolute = bound(a, b)})));
}

TEST_P(EachStep, KeepsSmallProductsWhereThereAreNoOthers) {
  // Whole numbers times a power of two: still nothing is rounded, and no product is denormal.
  for (const std::size_t n : {1, 1000, 33 * 1024}) {
    vector a(n), b(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = std::ldexp(static_cast<float>(i % 5 + 1), -40);
      b[i] = std::ldexp(static_cast<float>(i % 3 + 1), -30);
    }
    EXPECT_EQ(static_cast<double>(sum(a, b)), lab::dot_in_double(a, b)) << n << " elements";
  }
}

TEST_P(EachStep, KeepsSmallProductsBesideALargeOneInABlock) {
  // If one thread adds up a block's products, the result is 2^25 here, too.
  for (const std::size_t n : {256, 512, 1024}) {
    vector a(n, 1.0F);
    a[0] = 0x1p25F;
    const vector ones(n, 1.0F);
    EXPECT_TRUE(lab::testing::matches(
        lab::compare(sum(a, ones), lab::dot_in_double(a, ones), {.absolute = bound(a, ones)})))
        << n << " elements";
  }
}

TEST_P(EachStep, IsZeroForEmptyVectors) { EXPECT_EQ(sum({}, {}), 0.0F); }

TEST_P(EachStep, RefusesVectorsOfDifferentLengths) {
  const vector three(3, 1.0F), four(4, 1.0F), none;
  EXPECT_THROW(sum(three, four), lab::invalid_input);
  EXPECT_THROW(sum(four, three), lab::invalid_input);
  EXPECT_THROW(sum(none, four), lab::invalid_input);
}

TEST_P(EachStep, PassesNaNAndInfinityOn) {
  vector a(1000, 1.0F), b(1000, 1.0F);
  a[999] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum(a, b), std::numeric_limits<float>::infinity());
  b[500] = std::numeric_limits<float>::quiet_NaN();
  const float nan = sum(a, b);
  EXPECT_TRUE(std::isnan(nan)) << "got " << nan
                               << ", expected NaN, since one of the products is NaN";
}

TEST_P(EachStep, LeavesOutNoZeros) {
  // A product with a zero is 0, unless the other factor is no finite number.
  for (const float factor :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const vector zeros(1000, 0.0F);
    vector others(1000, 1.0F);
    others[500] = factor;
    for (const float nan : {sum(zeros, others), sum(others, zeros)})
      EXPECT_TRUE(std::isnan(nan))
          << "got " << nan << ", expected NaN, which is 0 times " << factor;
  }
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector ones(5000, 1.0F), few(3, 2.0F);
  EXPECT_EQ(sum(ones, ones), 5000.0F);
  EXPECT_EQ(sum(few, few), 12.0F);
  EXPECT_EQ(sum(ones, ones), 5000.0F);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const lab::exact_vectors v = lab::make_exact_vectors(1000, 1);
  lab::testing::expect_failures_reported([&] { return sum(v.a, v.b); }, v.a, v.b);
}

}  // namespace
