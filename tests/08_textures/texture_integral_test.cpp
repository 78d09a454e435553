// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "texture_integral.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "samples.hpp"

namespace {

using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::texture_integral::exact;
using lab::texture_integral::integrand;
using lab::texture_integral::integrate;
using lab::texture_integral::kDefaultSize;
using lab::texture_integral::reference;
using lab::texture_integral::samples_of;
using vector = std::vector<float>;

::testing::AssertionResult is_the_rule(const vector& samples, double from, double to) {
  const auto expected = reference(samples, from, to);
  return matches(lab::compare(integrate(samples, from, to).value, expected.value,
                              {.absolute = expected.bound}));
}

/// How far the rule with n samples is from the integral, and how much of that is due to floats.
struct error {
  double value, noise;
};
error error_of(integrand f, double from, double to, std::size_t n) {
  const vector samples = samples_of(f, from, to, n);
  const auto expected = reference(samples, from, to);
  return {integrate(samples, from, to).value - exact(f, from, to),
          expected.sampling + expected.bound};
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatReadsATexture) {
  // One sample, some for one block, thousands, and more than 1024 blocks of 256 threads take in a
  // round. All come through the texture: what kernels read besides are sums of blocks.
  for (const std::size_t n : {1U, 33U, 100U, 5003U, 300'007U}) {
    const vector samples = lab::random_floats(n, 1, -1, 3);
    const auto done = work_of([&] { return is_the_rule(samples, -0.7, 2.9); });
    EXPECT_TRUE(
        as_required(done, {.threads = n == 1     ? 1U
                                      : n < 1024 ? 2U
                                                 : 512U,
                           .blocks = n < 1024 ? 1U : 4U,
                           .sent = bytes_of(samples),
                           .fetched = (n < 1024 ? 1 : 4) * sizeof(double),  // the host adds these
                           .calls = {"cudaCreateTextureObject"},
                           .not_called = {"cudaMallocArray"},
                           .writes = sizeof(double),
                           .reads_at_most = std::max<std::size_t>(n / 256 * sizeof(double), 8),
                           .texels = bytes_of(samples)}))
        << n << " samples";
    std::uint64_t read = 0;
    for (const auto& k : done.kernels) read += k.reads;
    EXPECT_EQ(read % sizeof(double), 0U)
        << n << " samples: a kernel reads floats that do not come through the texture";
  }
}

// --- any samples ---------------------------------------------------------------------------------

class Samples : public ::testing::TestWithParam<std::size_t> {};
// Around a warp and blocks of 256; a prime; around 1024 blocks of 256, where threads stride.
INSTANTIATE_TEST_SUITE_P(Integral, Samples,
                         ::testing::Values(1, 2, 31, 32, 33, 255, 256, 257, 512, 1021, 10'241,
                                           262'144, 262'145, 300'007),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Samples, AreAddedExactlyWhereTheyAreWholeNumbers) {
  const std::size_t n = GetParam();
  const std::vector<int> whole = lab::random_ints(n, n, -9'000'000, 12'000'000);
  const vector samples(whole.begin(), whole.end());  // below 2^24: each is a float
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  EXPECT_EQ(integrate(samples, 0, static_cast<double>(n)).value, sum);
  EXPECT_EQ(integrate(samples, static_cast<double>(n), 0).value, -sum);
}

TEST_P(Samples, AreAddedWithinTheBoundForRandomNumbers) {
  const std::size_t n = GetParam();
  EXPECT_TRUE(is_the_rule(lab::random_floats(n, n + 1, -1, 3), -0.7, 2.9));
}

TEST(Integral, GetsEachSampleBitByBit) {
  // All samples are 0 but one, and h is 1: the result is that sample, if no filter, no rounding and
  // no neighbour was involved.
  const std::size_t n = 1000;
  lab::random_source random(5);
  using limits = std::numeric_limits<float>;
  for (const std::size_t position : {0, 1, 31, 32, 255, 256, 511, 998, 999})
    for (const float sample : {random.real(-1, 1) * 1e-3F, limits::denorm_min(), -limits::min(),
                               limits::max(), limits::infinity(), -limits::infinity()}) {
      vector samples(n, 0.0F);
      samples[position] = sample;
      EXPECT_EQ(integrate(samples, 0, 1000).value, sample) << "at " << position;
    }
}

TEST(Integral, KeepsWhatAFloatWouldLose) {
  EXPECT_EQ(integrate(vector{1e9F, 1, -1e9F, 0.0625F}, 0, 4).value, 1.0625);
  vector samples(20'000, 1.0F);  // 2^30 and 19 999 ones
  samples[0] = 0x1p30F;
  EXPECT_EQ(integrate(samples, 0, 20'000).value, 0x1p30 + 19'999);
}

TEST(Integral, KnowsTheWidthOfAPanelAnywhere) {
  // Far from 0, where neighbouring doubles are far apart; and where all panels together times all
  // samples would be more than a double can be.
  EXPECT_TRUE(is_the_rule(lab::random_floats(1021, 3, -1, 3), 1e9, 1e9 + 1));
  EXPECT_TRUE(is_the_rule(vector(1000, 1e5F), 0, 1e301));
}

TEST(Integral, IsZeroWhereNothingIsBetweenTheLimits) {
  EXPECT_EQ(integrate(vector{1, 2, 3}, 0.25, 0.25).value, 0.0);
}

TEST(Integral, IsNoNumberWhereASampleIsNone) {
  vector samples(700, 1.0F);
  samples[300] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(integrate(samples, 0, 1).value));
}

TEST(Integral, ForgetsThePreviousCall) {
  const vector many = lab::random_floats(5000, 9, -1, 1), few = {1, 2, 4};
  // (The last bits may depend on the order in which threads add.)
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(is_the_rule(many, 0, 1)) << "call " << call;
    EXPECT_EQ(integrate(few, 0, 3).value, 7.0) << "call " << call;
  }
}

TEST(Integral, IsTheSameWhereItsKernelIsRepeated) {
  // As a program repeats it to measure its time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  const vector samples_of_one(5001, 1);
  EXPECT_EQ(integrate(samples_of_one, 0, 5000).value, 5000);
}

TEST(Integral, RefusesNoSamplesAndTooMany) {
  EXPECT_THROW(integrate({}, 0, 1), lab::invalid_input);
  // This many floats need not exist, since they are refused before one is read.
  const vector one(1);
  const std::span<const float> claimed(one.data(), lab::most_texels_in_linear_memory() + 1);
  EXPECT_THROW(integrate(claimed, 0, 1), lab::invalid_input);
}

TEST(Integral, RefusesLimitsThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kHuge = std::numeric_limits<double>::max();
  for (const double wrong : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(integrate(vector{1}, wrong, 1), lab::invalid_input) << wrong;
    EXPECT_THROW(integrate(vector{1}, 1, wrong), lab::invalid_input) << wrong;
    EXPECT_THROW(integrate(vector{1}, wrong, wrong), lab::invalid_input) << wrong;
  }
  EXPECT_THROW(integrate(vector{1}, -kHuge, kHuge), lab::invalid_input);
}

TEST(Integral, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return integrate(vector(1000, 1.0F), 0, 1).kernel_ms; }));
}

// --- samples of functions ------------------------------------------------------------------------

TEST(Midpoint, FindsPi) {
  // The rule's own error for 4 / (1 + x²) from 0 to 1 is h²/12, and less than 1 % more: the next
  // term has h^4 more and a small factor.
  const auto [value, noise] = error_of(integrand::bell, 0, 1, 100);
  EXPECT_NEAR(value, 1e-4 / 12, 1e-6 / 12 + noise);
  EXPECT_NEAR(integrate(samples_of(integrand::bell, 0, 1, 100), 0, 1).value, std::numbers::pi,
              1e-5);
}

TEST(Midpoint, IsOfOrderTwoForSmoothFunctions) {
  // The error is c * h² * (1 + 7/240 * h² * s) and terms of h^4 more; s = 1 for sin, -1 for e^x
  // (see 05.5). Half the width: 4 * (1 + t) / (1 + t/4), t = 7/240 * h² * s: 4 * (1 + 3/4 t), and
  // less than t/4 more or less.
  struct smooth {
    integrand f;
    double from, to, sign;
  };
  for (const auto& [f, from, to, sign] :
       {smooth{integrand::sine, 0, 2, 1}, smooth{integrand::exponential, -1, 1, -1}})
    for (const std::size_t n : {4, 8, 16, 32}) {
      const double h = (to - from) / static_cast<double>(n);
      const auto coarse = error_of(f, from, to, n), fine = error_of(f, from, to, 2 * n);
      // The floats' part in both errors, relative to them (and a little for its square).
      const double noise =
          1.1 * (coarse.noise / std::fabs(coarse.value) + fine.noise / std::fabs(fine.value));
      ASSERT_LT(noise, 0.01) << "n = " << n;
      const double beyond = (coarse.value / fine.value / 4 - 1) * sign;
      EXPECT_GT(beyond, 0.5 * 7 / 240 * h * h - noise) << "n = " << n;
      EXPECT_LT(beyond, 1.0 * 7 / 240 * h * h + noise) << "n = " << n;
    }
}

TEST(Midpoint, DropsToOneAndAHalfAtAnInfiniteSlope) {
  // As in 05.5: the ratio is 2^1.5 * (1 + c * h / 2) with |c| below 0.07, to first order.
  for (const std::size_t n : {8, 16, 32, 64}) {
    const double h = 1.0 / static_cast<double>(n);
    const auto coarse = error_of(integrand::half_circle, 0, 1, n),
               fine = error_of(integrand::half_circle, 0, 1, 2 * n);
    const double noise =
        1.1 * (coarse.noise / std::fabs(coarse.value) + fine.noise / std::fabs(fine.value));
    ASSERT_LT(noise, 0.01) << "n = " << n;
    EXPECT_NEAR(coarse.value / fine.value / std::exp2(1.5), 1, 0.07 * h + noise) << "n = " << n;
  }
}

TEST(Midpoint, IsAsGoodAsItsSamplesInTheEnd) {
  // With h = 1/100003 the rule's own error is about 10^-11: what is left is the floats' part.
  for (const auto f : {integrand::bell, integrand::sine, integrand::exponential}) {
    const auto [value, noise] = error_of(f, 0, 1, 100'003);
    EXPECT_LE(std::fabs(value), noise + 2e-11);
  }
}

FAULT_TEST(Integral, ReportsEveryCallThatFails) {
  const vector samples = lab::random_floats(1000, 1, -1, 1);
  expect_failures_reported([&] { return is_the_rule(samples, 0, 1); }, samples);
}

/// n whole numbers, with panels of width 1.
::testing::AssertionResult adds_every_sample_once(std::size_t n) {
  const std::vector<int> whole = lab::random_ints(10'007, 1, -9'000'000, 12'000'000);
  const vector samples = lab::testing::repeated(vector(whole.begin(), whole.end()), n);
  const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
  return matches(
      lab::compare(integrate(samples, 0, static_cast<double>(n)).value, sum, lab::tolerance{}));
}

TEST(Integral, AddsEverySampleOnceAtTheProgramsSize) {
  expect_at_full_size([] { return adds_every_sample_once(kDefaultSize); });
}

TEST(Integral, AddsEverySampleOnceBeyondWhatAFloatCanCount) {
  expect_at_full_size([] { return adds_every_sample_once((std::size_t{1} << 24) + 3); });
}

}  // namespace
