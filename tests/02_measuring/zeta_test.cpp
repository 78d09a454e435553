// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "zeta.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::few_blocks;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::zeta::error_bound;
using lab::zeta::exact;
using lab::zeta::kLargestExponent;
using lab::zeta::kMostTerms;
using lab::zeta::precision;
using lab::zeta::reference;
using lab::zeta::rounding_bound;
using lab::zeta::step;
using lab::zeta::sum;

struct kind {
  step version;
  precision type;
  const char* name;
};
constexpr kind kKinds[] = {{step::large_first, precision::in_float, "large_first_in_float"},
                           {step::small_first, precision::in_float, "small_first_in_float"},
                           {step::large_first, precision::in_double, "large_first_in_double"},
                           {step::small_first, precision::in_double, "small_first_in_double"}};

::testing::AssertionResult adds_the_terms(const kind& k, unsigned s, std::size_t n) {
  return matches(lab::compare(sum(k.version, k.type, s, n).value,
                              static_cast<double>(reference(s, n)),
                              {.absolute = rounding_bound(k.version, k.type, s, n)}));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsShareTheTerms) {
  for (const kind& k : kKinds) {
    EXPECT_TRUE(as_required(work_of([&] { return adds_the_terms(k, 2, 100'003); }),
                            {.threads = lab::zeta::kPartialSums,
                             .blocks = lab::zeta::kBlocks,
                             .fetched = lab::zeta::kPartialSums * sizeof(float),
                             .writes = lab::zeta::kPartialSums * sizeof(float)}))
        << k.name;
    EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return adds_the_terms(k, 2, n); })) << k.name;
  }
}

// --- what the reference says ---------------------------------------------------------------------

TEST(Reference, KnowsZeta) {
  constexpr double kPi2 = std::numbers::pi * std::numbers::pi;
  EXPECT_NEAR(exact(2), kPi2 / 6, 1e-15);
  EXPECT_NEAR(exact(3), 1.2020569031595942, 1e-15);  // Apéry's constant
  EXPECT_NEAR(exact(4), kPi2 * kPi2 / 90, 1e-15);
  EXPECT_NEAR(exact(20), 1.0000009539620339, 1e-15);
}

TEST(Reference, AddsTheFirstTerms) {
  EXPECT_EQ(reference(2, 0), 0);
  EXPECT_EQ(reference(7, 1), 1);
  EXPECT_DOUBLE_EQ(static_cast<double>(reference(2, 4)), 1 + 1.0 / 4 + 1.0 / 9 + 1.0 / 16);
}

// --- every number of terms -----------------------------------------------------------------------

class Sum : public ::testing::TestWithParam<std::tuple<kind, unsigned, std::size_t>> {};
// Fewer terms than threads (1024), as many, more; around a warp and a block of 128; primes.
INSTANTIATE_TEST_SUITE_P(Terms, Sum,
                         ::testing::Combine(::testing::ValuesIn(kKinds), ::testing::Values(2, 3, 4),
                                            ::testing::Values(1, 2, 31, 32, 33, 127, 128, 129, 1021,
                                                              1023, 1024, 1025, 2047, 2048, 2049,
                                                              100'003)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_s" +
                                  std::to_string(std::get<1>(test.param)) + "_n" +
                                  std::to_string(std::get<2>(test.param));
                         });

TEST_P(Sum, AddsTheTerms) {
  const auto& [k, s, n] = GetParam();
  EXPECT_TRUE(adds_the_terms(k, s, n));
}

TEST_P(Sum, IsAsNearToZetaAsItMustBe) {
  const auto& [k, s, n] = GetParam();
  EXPECT_TRUE(matches(lab::compare(sum(k.version, k.type, s, n).value, exact(s),
                                   {.absolute = error_bound(k.version, k.type, s, n)})));
}

class EachKind : public ::testing::TestWithParam<kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EachKind, ::testing::ValuesIn(kKinds),
                         [](const auto& test) { return test.param.name; });

TEST_P(EachKind, AddsEveryExponentsTerms) {
  for (unsigned s = 2; s <= kLargestExponent; ++s)
    EXPECT_TRUE(adds_the_terms(GetParam(), s, 3001)) << "s = " << s;
}

TEST_P(EachKind, IsZeroWithoutTerms) {
  EXPECT_EQ(sum(GetParam().version, GetParam().type, 2, 0).value, 0);
}

TEST_P(EachKind, IsOneForOneTerm) {
  EXPECT_EQ(sum(GetParam().version, GetParam().type, 2, 1).value, 1);
  EXPECT_EQ(sum(GetParam().version, GetParam().type, kLargestExponent, 1).value, 1);
}

TEST_P(EachKind, ForgetsThePreviousCall) {
  for (const std::size_t n : {5000UL, 3UL, 5001UL, 1UL})
    EXPECT_TRUE(adds_the_terms(GetParam(), 2, n)) << n;
}

TEST_P(EachKind, AddsTheTermsOnceWhereItsKernelIsRepeated) {
  // As a program repeats it to measure its time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  EXPECT_TRUE(adds_the_terms(GetParam(), 2, 5000));
}

TEST_P(EachKind, RefusesExponentsThatMakeNoSense) {
  for (const unsigned s : {0U, 1U, kLargestExponent + 1, std::numeric_limits<unsigned>::max()})
    for (const std::size_t n : {10U, 0U})  // also if there is nothing to add
      EXPECT_THROW((void)sum(GetParam().version, GetParam().type, s, n), lab::invalid_input)
          << "s = " << s << ", " << n << " terms";
  EXPECT_TRUE(adds_the_terms(GetParam(), 2, 10));  // and goes on
}

TEST_P(EachKind, RefusesMoreTermsThanItCanAdd) {
  for (const std::size_t n : {kMostTerms + 1, std::numeric_limits<std::size_t>::max()})
    EXPECT_THROW((void)sum(GetParam().version, GetParam().type, 2, n), lab::invalid_input) << n;
}

TEST_P(EachKind, AddsAsManyTermsAsItCan) {
  if (lab::on_cpu_device()) GTEST_SKIP() << "4 billion divisions take the CPU device too long";
  const auto& [version, type, name] = GetParam();
  EXPECT_TRUE(matches(lab::compare(sum(version, type, 2, kMostTerms).value, exact(2),
                                   {.absolute = error_bound(version, type, 2, kMostTerms)})));
}

TEST_P(EachKind, AddsTheLastOfAsManyTermsAsItCan) {
  // Term 2^32 is the only one whose number does not fit into 32 bits: if it becomes 0, the term is
  // infinite. The last block has it, and only that one runs here.
  if (GetParam().type == precision::in_double) return;  // the same kernel
  expect_at_full_size([] {
    const few_blocks last(lab::zeta::kBlocks - 1);
    const double value = sum(GetParam().version, GetParam().type, 2, kMostTerms).value;
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 2);
  });
}

TEST_P(EachKind, AddsMoreTermsThanAFloatCanCount) {
  expect_at_full_size([&] { return adds_the_terms(GetParam(), 2, (std::size_t{1} << 24) + 5000); });
}

TEST_P(EachKind, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(
      timed::kernel, [&] { return sum(GetParam().version, GetParam().type, 2, 1000).kernel_ms; }));
}

// --- the order -----------------------------------------------------------------------------------

/// How far the sum of the first n terms of zeta(2) in float is from the exact one.
double rounded_away(step version, std::size_t n) {
  return std::fabs(sum(version, precision::in_float, 2, n).value -
                   static_cast<double>(reference(2, n)));
}

TEST(Order, SmallFirstKeepsWhatIsSmall) {
  for (const std::size_t n : {std::size_t{1} << 20, std::size_t{1} << 22})
    EXPECT_LE(rounded_away(step::small_first, n),
              rounding_bound(step::small_first, precision::in_float, 2, n));
}

// The steps should show a difference, so large_first must really lose something. This is not
// chance: around 1.6 floats are 2^-23 apart, and a term of less than half of that is lost.

TEST(Order, LargeFirstLosesThreadsThatHaveLittle) {
  // Of 2^20 terms a thread has 1024. The sum of thread t is about 1 / (1024 t^2), and the host
  // loses it where t is above 128: together 1 / (1024 * 128), 8e-6, and it gets back some by
  // rounding up before.
  constexpr std::size_t kTerms = 1 << 20;
  const double lost = rounded_away(step::large_first, kTerms);
  EXPECT_GT(lost, 2 * rounding_bound(step::small_first, precision::in_float, 2, kTerms));
  EXPECT_LT(lost, 1e-3) << "this is more than rounding can explain";
}

TEST(Order, LargeFirstRoundsInEveryThread) {
  // Of 2^22 terms thread 0 has 4096. Those from 2366 on are between half a step and one and a
  // half: each is counted as a whole one, 2e-4 together, where they are 1.8e-4.
  constexpr std::size_t kTerms = 1 << 22;
  const double lost = rounded_away(step::large_first, kTerms);
  EXPECT_GT(lost, 10 * rounding_bound(step::small_first, precision::in_float, 2, kTerms));
  EXPECT_LT(lost, 1e-3) << "this is more than rounding can explain";
}

FAULT_TEST_P(EachKind, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return adds_the_terms(GetParam(), 2, 1000); });
}

}  // namespace
