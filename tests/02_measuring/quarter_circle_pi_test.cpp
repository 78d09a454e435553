// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "quarter_circle_pi.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::quarter_circle_pi::error_bound;
using lab::quarter_circle_pi::estimate;
using lab::quarter_circle_pi::kDefaultStrips;
using lab::quarter_circle_pi::kMostStrips;
using lab::quarter_circle_pi::kPartialSums;
using lab::quarter_circle_pi::precision;
using lab::quarter_circle_pi::reference;
using lab::quarter_circle_pi::rounding_bound;
using lab::quarter_circle_pi::truncation_bound;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
constexpr double kPi = std::numbers::pi;

constexpr precision kTypes[] = {precision::in_float, precision::in_double};
std::string name_of(precision type) {
  return type == precision::in_float ? "in_float" : "in_double";
}

::testing::AssertionResult follows_the_formula(precision type, std::size_t n) {
  return matches(
      lab::compare(estimate(type, n).pi, reference(n), {.absolute = rounding_bound(type, n)}));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsShareTheStrips) {
  for (const precision type : kTypes) {
    const lab::testing::work done = work_of([&] { return follows_the_formula(type, 100'003); });
    EXPECT_TRUE(as_required(done, {.threads = kPartialSums,
                                   .blocks = lab::quarter_circle_pi::kBlocks,
                                   .fetched = kPartialSums * sizeof(float),
                                   .writes = kPartialSums * sizeof(float)}))
        << name_of(type);
    const std::size_t back = done.bytes_copied(cudaMemcpyDeviceToHost);
    EXPECT_LE(back, kPartialSums * (type == precision::in_float ? sizeof(float) : sizeof(double)))
        << name_of(type) << ": more comes back than partial sums of that type";
    // There are six strips for each thread. If threads take as many as possible, some get none.
    std::size_t zeros = 0;
    for (const auto& c : done.copies) zeros += c.zeros;
    EXPECT_LE(zeros, back / 8 / 2) << name_of(type) << ": so many partial sums are 0, or pairs of "
                                   << "them: most threads have no strips of their own";
    // Few strips, too, are shared by the threads of that grid, although some then have none.
    for (const std::size_t n : {1, 3, 40, 1000}) {
      const lab::testing::work few = work_of([&] { return follows_the_formula(type, n); });
      EXPECT_TRUE(as_required(few, {.threads = kPartialSums,
                                    .blocks = lab::quarter_circle_pi::kBlocks,
                                    .fetched = 1,
                                    .only_shape = true}))
          << name_of(type) << ", " << n << " strips";
      std::size_t all = few.bytes_copied(cudaMemcpyDeviceToHost) / 8;
      for (const auto& c : few.copies) all -= c.zeros;
      // (A thread may have eight neighbours, and not every second thread.)
      EXPECT_GE(all, n / 16) << name_of(type) << ", " << n
                             << " strips: most partial sums, or pairs "
                             << "of them, are 0: a few threads have all the strips";
    }
  }
}

// --- what the reference says ---------------------------------------------------------------------

TEST(Reference, IsTheFormula) {
  EXPECT_DOUBLE_EQ(reference(1), 4 * std::sqrt(0.75));
  EXPECT_DOUBLE_EQ(reference(2), 2 * (std::sqrt(15.0 / 16) + std::sqrt(7.0 / 16)));
}

TEST(Reference, IsAbovePiByLessThanTheBound) {
  for (std::size_t n = 1; n < 100'000; n = n * 3 / 2 + 1) {
    EXPECT_GT(reference(n), kPi) << n;
    EXPECT_LT(reference(n) - kPi, truncation_bound(n)) << n;
  }
}

TEST(Reference, LeavesABoundThatNoticesTheLastStrip) {
  // Its height is about sqrt(1 / n). A bound above that would let a lost strip pass.
  for (const double n : {1.0, 16'384.0, 1'000'003.0, double{kDefaultStrips}})
    EXPECT_LT(rounding_bound(precision::in_double, static_cast<std::size_t>(n)),
              4 * std::sqrt(1 / n) / n);
}

// --- every number of strips ----------------------------------------------------------------------

class Estimate : public ::testing::TestWithParam<std::tuple<precision, std::size_t>> {};
// Fewer strips than threads, as many, more; around a warp and a block; a prime.
INSTANTIATE_TEST_SUITE_P(Strips, Estimate,
                         ::testing::Combine(::testing::ValuesIn(kTypes),
                                            ::testing::Values(1, 2, 3, 31, 32, 33, 255, 256, 257,
                                                              1021, 16383, 16384, 16385, 32767,
                                                              32768, 32769, 100'003, 1'000'003)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) + "_n" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Estimate, FollowsTheFormula) {
  const auto& [type, n] = GetParam();
  EXPECT_TRUE(follows_the_formula(type, n));
}

TEST_P(Estimate, IsAsNearToPiAsItMustBe) {
  const auto& [type, n] = GetParam();
  EXPECT_TRUE(matches(lab::compare(estimate(type, n).pi, kPi, {.absolute = error_bound(type, n)})));
}

TEST(EstimateInDouble, ComesNearerWithMoreStrips) {
  // Four times as many strips make the error 8 times smaller, in the long run.
  double before = std::fabs(estimate(precision::in_double, 1).pi - kPi);
  for (std::size_t n = 4; n <= 1 << 20; n *= 4) {
    const double pi = estimate(precision::in_double, n).pi, now = std::fabs(pi - kPi);
    EXPECT_TRUE(now < before / 7) << n << " strips: pi is " << pi << ", off by " << now
                                  << "; with a quarter of the strips it was off by " << before
                                  << ", and now the error should be less than a seventh of that";
    before = now;
  }
}

TEST(EstimateInDouble, HasMoreDigitsThanAFloat) {
  const double off = std::fabs(estimate(precision::in_double, 1 << 20).pi - kPi);
  EXPECT_LT(off, truncation_bound(1 << 20) + 1e-11)
      << "estimate(in_double, 1048576).pi is that far from pi"
      << (off < 1e-3 ? ": a float has 7 digits" : "");
}

TEST(EstimateInFloat, IsCalculatedInFloats) {
  // A strip for each thread, at most. Calculated in doubles, each height would be rounded once, or
  // not at all. In floats x and 1 - x² are rounded as well: that moves pi by 2e-9 or more.
  for (const std::size_t n : {10'007U, 16'384U}) {
    double once = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
      once += static_cast<double>(static_cast<float>(std::sqrt((1 - x) * (1 + x))));
    }
    const double pi = estimate(precision::in_float, n).pi;
    EXPECT_GT(std::fabs(pi - 4 * once / static_cast<double>(n)), 1e-10) << n << " strips";
    EXPECT_GT(std::fabs(pi - reference(n)), 1e-10) << n << " strips";
  }
}

TEST(EstimateInDouble, MoreStripsThanAnIntCounts) {
  if (lab::on_cpu_device()) GTEST_SKIP() << "4 billion square roots take the CPU device too long";
  constexpr std::size_t kStrips = (std::size_t{1} << 32) + 12'345;
  EXPECT_TRUE(matches(lab::compare(estimate(precision::in_double, kStrips).pi, kPi,
                                   {.absolute = error_bound(precision::in_double, kStrips)})));
}

TEST(EstimateInFloat, MoreStripsThan32BitsCount) {
  // 2^32 is 0 in 32 bits. One block of 64 runs here, on the CPU device: whichever strips it has, a
  // 64th of them all, their part of pi lies between that of the lowest 64th and of the highest.
  expect_at_full_size([] {
    const lab::testing::few_blocks last(lab::quarter_circle_pi::kBlocks - 1);
    const double value = estimate(precision::in_float, std::size_t{1} << 32).pi;
    EXPECT_GT(value, 0.005);
    EXPECT_LT(value, lab::on_cpu_device() ? 4.0 / 64 + 1e-3 : 3.2);
  });
}

class EachType : public ::testing::TestWithParam<precision> {};
INSTANTIATE_TEST_SUITE_P(Types, EachType, ::testing::ValuesIn(kTypes),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(EachType, RefusesNumbersOfStripsThatMakeNoSense) {
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  for (const std::size_t n : {std::size_t{0}, kMostStrips + 1, kLargest})
    EXPECT_THROW((void)estimate(GetParam(), n), lab::invalid_input) << n;
  EXPECT_TRUE(follows_the_formula(GetParam(), 1));  // and goes on
}

TEST_P(EachType, FollowsTheFormulaAtTheProgramsSize) {
  expect_at_full_size([] { return follows_the_formula(GetParam(), kDefaultStrips); });
}

TEST_P(EachType, FollowsTheFormulaWithMoreStripsThanAFloatCanCount) {
  constexpr std::size_t kStrips = (std::size_t{1} << 24) + 100'003;  // 2^24 + 1 is no float
  expect_at_full_size([] { return follows_the_formula(GetParam(), kStrips); });
}

TEST_P(EachType, ForgetsThePreviousCall) {
  for (const std::size_t n : {50'000UL, 3UL, 70'001UL, 1UL})
    EXPECT_TRUE(follows_the_formula(GetParam(), n)) << n;
}

TEST_P(EachType, FollowsTheFormulaWhereItsKernelIsRepeated) {
  // As a program repeats it to measure its time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  EXPECT_TRUE(follows_the_formula(GetParam(), 50'000));
}

TEST_P(EachType, SaysTheSameTwice) {
  EXPECT_EQ(estimate(GetParam(), 77'777).pi, estimate(GetParam(), 77'777).pi);
}

TEST_P(EachType, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return estimate(GetParam(), 1000).kernel_ms; }));
}

FAULT_TEST_P(EachType, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return estimate(GetParam(), 1000).pi; });
}

}  // namespace
