// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "roofline.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::roofline::apply;
using lab::roofline::bound;
using lab::roofline::ceilings;
using lab::roofline::course;
using lab::roofline::kCourse;
using lab::roofline::kDefaultRounds;
using lab::roofline::kDefaultSize;
using lab::roofline::least_work;
using lab::roofline::locate;
using lab::roofline::measurement;
using lab::roofline::point;
using lab::roofline::reference;
using lab::roofline::roof_of;
using lab::roofline::step;
using lab::roofline::work_of;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using floats = std::vector<float>;
using roofline_work = lab::roofline::work;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_element, "one_element"},
                                 {step::four_elements, "four_elements"}};

::testing::AssertionResult is_right(step version, const floats& values, unsigned rounds) {
  return matches(
      lab::compare_exact(apply(version, values, rounds).values, reference(values, rounds)));
}

floats numbers(std::size_t n, std::uint64_t seed) { return lab::random_floats(n, seed, -3, 2); }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(OneKernelThatReadsAndWritesEachElementOnce) {
  for (const auto& [version, name] : kSteps) {
    const bool fours = version == step::four_elements;
    // Without a round, the device returns what was copied there; but it must have been copied
    // there.
    for (const std::size_t n : {1, 40, 5000})
      EXPECT_TRUE(lab::testing::is_true_by_the_device(
          [&, version = version] { return is_right(version, numbers(n, 1), 0); },
          {.threads = 1, .sent = n * sizeof(float), .fetched = n * sizeof(float), .writes = 1}))
          << name << ": " << n << " elements, no rounds";
    EXPECT_TRUE(as_required(lab::testing::work_of([&, version = version] {
                              return is_right(version, numbers(71, 2), 4099);
                            }),
                            {.threads = 16, .reads_at_most = 71 * sizeof(float)}))
        << name << ": 4099 rounds";
    for (const auto& [n, rounds] :
         {std::pair{1U, 5U}, {7U, 600U}, {40U, 1U}, {1001U, 600U}, {8000U, 1U}, {8000U, 600U}}) {
      const floats values = numbers(n, 1);
      const unsigned of_four = n / 4 + n % 4;  // accesses
      const auto done = lab::testing::work_of(
          [&, version = version, rounds = rounds] { return is_right(version, values, rounds); });
      EXPECT_TRUE(as_required(done, {.threads = fours ? (n + 3) / 4 : n,
                                     .blocks = n < 8000 ? 1U : 2U,
                                     .sent = bytes_of(values),
                                     .fetched = bytes_of(values),
                                     .reads = bytes_of(values),
                                     .writes = bytes_of(values),
                                     .reads_at_most = bytes_of(values),
                                     .bytes_a_load = fours && n >= 4 ? 16U : 0U,
                                     .sectors = n < 8000 ? 0 : 1.01}))
          << name << ": " << n << " elements";
      EXPECT_EQ(done.kernels.size(), 1U) << name << ": " << rounds << " rounds are one kernel";
      std::uint64_t written = 0, accesses = 0;
      for (const auto& k : done.kernels) {
        written += k.writes;
        accesses += k.accesses;
      }
      if (fours) {
        EXPECT_LE(accesses, 2 * of_four) << name << ": 16 bytes in each access";
      }
      EXPECT_LE(written, bytes_of(values)) << name << ": each element is written once";
    }
  }
}

// --- the kernel ----------------------------------------------------------------------------------

// Around a group of four, a warp, a block of threads with one and with four elements; a prime.
using EachSize = lab::testing::each_step_and<named_step, std::size_t>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSize,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 6, 7, 31, 32, 33,
                                                              127, 128, 129, 255, 256, 257, 1021,
                                                              1023, 1024, 1025, 2 * 1024 + 3)),
                         lab::testing::by_step_and{"_n"});

TEST_P(EachSize, HasTheBitsOfTheReference) {
  const auto& [version, n] = GetParam();
  for (const unsigned rounds : {0U, 1U, 3U})
    EXPECT_TRUE(is_right(version.value, numbers(n, n), rounds));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesAnyNumberOfRounds) {
  // Around the 16 that the compiler unrolls; a prime; the program's most, and more.
  const floats values = numbers(71, 2);
  for (const unsigned rounds : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 33U, 101U, 256U, 4099U})
    EXPECT_TRUE(is_right(version(), values, rounds)) << rounds << " rounds";
}

TEST_P(EachStep, RoundsOnceInARound) {
  // Here y * kScale rounded and then + kShift is another float than the one that FMA gives.
  floats values;
  for (const float y : lab::random_floats(2000, 3, 1, 2)) {
    const float product = y * lab::roofline::kScale;  // rounded: a variable of its own
    volatile float rounded = product;
    if (rounded + lab::roofline::kShift !=
        std::fma(y, lab::roofline::kScale, lab::roofline::kShift))
      values.push_back(y);
  }
  ASSERT_GT(values.size(), 20U);
  // In double, product and sum are rounded to the middle of two floats. That is the even one then.
  constexpr float kMiddle = 0x1.8p+45F;
  ASSERT_NE(std::fma(kMiddle, lab::roofline::kScale, lab::roofline::kShift),
            static_cast<float>(double{kMiddle} * lab::roofline::kScale + lab::roofline::kShift));
  values.push_back(kMiddle);
  EXPECT_TRUE(is_right(version(), values, 1));
}

TEST_P(EachStep, CopiesEverythingWithoutRounds) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const floats values = {-0.0F,
                         0.0F,
                         kMost,
                         -kMost,
                         std::numeric_limits<float>::denorm_min(),
                         std::numeric_limits<float>::infinity(),
                         1};
  const floats copied = apply(version(), values, 0).values;
  ASSERT_EQ(copied.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(copied[i], values[i]);
    EXPECT_EQ(std::signbit(copied[i]), std::signbit(values[i]));
  }
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  EXPECT_TRUE(is_right(version(), numbers(777, 4), 6));
  EXPECT_TRUE(is_right(version(), numbers(777, 5), 7));
  EXPECT_TRUE(is_right(version(), numbers(30, 6), 6));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return apply(version(), numbers(5000, 7), 2).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const floats values = numbers(333, 8);
  expect_failures_reported([&] { return is_right(version(), values, 3); }, values);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device(
        [&] { return is_right(version(), numbers(kDefaultSize, 9), kDefaultRounds); });
  });
}

// --- the work of kernels -------------------------------------------------------------------------

TEST(Work, IsTwoOperationsARoundAndEightBytesAnElement) {
  const roofline_work done = work_of(1000, 7);
  EXPECT_EQ(done.operations, 14'000.0);
  EXPECT_EQ(done.bytes, 8000.0);
  EXPECT_EQ(work_of(1000, 0).operations, 0.0);
  EXPECT_EQ(work_of(1000, 0).bytes, 8000.0);
  EXPECT_EQ(work_of(0, 7).bytes, 0.0);
}

TEST(Work, IsRightBeyond32Bits) {
  constexpr std::size_t kMany = std::size_t{3} << 32;
  EXPECT_EQ(work_of(kMany, 4'000'000'000U).operations, 8e9 * static_cast<double>(kMany));
  EXPECT_EQ(work_of(kMany, 1).bytes, 8 * static_cast<double>(kMany));
  EXPECT_EQ(least_work(course::vector_add, kMany).bytes, 12 * static_cast<double>(kMany));
  EXPECT_EQ(least_work(course::tile_16, 1 << 20).operations, 2 * std::pow(2.0, 60));
}

TEST(Work, OfTheCoursesKernelsIsThatOfTheirChapters) {
  const auto expect = [](course kernel, std::size_t n, double operations, double bytes) {
    const roofline_work done = least_work(kernel, n);
    EXPECT_DOUBLE_EQ(done.operations, operations);
    EXPECT_DOUBLE_EQ(done.bytes, bytes);
  };
  expect(course::vector_add, 1000, 1000, 12'000);
  expect(course::dot_product, 1000, 2000, 8000);
  expect(course::heat_transfer, 1000, 7000, 12'000);
  expect(course::tile_16, 160, 8'192'000, 2'048'000);
  expect(course::tile_32, 320, 65'536'000, 8'192'000);
  expect(course::tile_128, 256, 33'554'432, 1'048'576);
}

TEST(Work, OfTheCoursesKernelsHasTheIntensityOfTheExplorer) {
  // The explorer gives operations per byte; so does the table in the chapter.
  for (const auto& known : kCourse)
    for (const std::size_t n : {128, 1000, 4096}) {
      const roofline_work done = least_work(known.kernel, n);
      EXPECT_DOUBLE_EQ(done.operations / done.bytes, known.intensity) << known.name;
    }
}

// --- the roof ------------------------------------------------------------------------------------

TEST(Roof, HasTheBestRateOfBytesAndTheBestRateOfOperations) {
  // 4 GB/s and 1 GFLOP/s; 1 and 10; 2 and 3.
  const std::vector<measurement> kernels = {{{1e6, 4e6}, 1}, {{20e6, 2e6}, 2}, {{1.5e6, 1e6}, 0.5}};
  const ceilings roof = roof_of(kernels);
  EXPECT_DOUBLE_EQ(roof.bytes_per_second, 4e9);
  EXPECT_DOUBLE_EQ(roof.operations_per_second, 10e9);
}

TEST(Roof, IsTheSameInAnyOrder) {
  const std::vector<measurement> kernels = {{{20e6, 2e6}, 2}, {{1.5e6, 1e6}, 0.5}, {{1e6, 4e6}, 1}};
  EXPECT_DOUBLE_EQ(roof_of(kernels).bytes_per_second, 4e9);
  EXPECT_DOUBLE_EQ(roof_of(kernels).operations_per_second, 10e9);
}

TEST(Roof, OfOneKernelIsItsRates) {
  const ceilings roof = roof_of(std::vector<measurement>{{{3, 12}, 1500}});
  EXPECT_DOUBLE_EQ(roof.bytes_per_second, 8.0);
  EXPECT_DOUBLE_EQ(roof.operations_per_second, 2.0);
}

TEST(Roof, IsOfDoublesAndOfKernelsOfAnyLength) {
  const ceilings roof = roof_of(std::vector<measurement>{{{1, 1}, 3}, {{1e6, 7e6}, 3e-4}});
  EXPECT_DOUBLE_EQ(roof.bytes_per_second, 7e6 / 3e-7);
  EXPECT_DOUBLE_EQ(roof.operations_per_second, 1e6 / 3e-7);
}

TEST(Roof, TakesACopyAndAKernelWithoutBytes) {
  const ceilings roof = roof_of(std::vector<measurement>{{{0, 8e6}, 2}, {{5e6, 0}, 1}});
  EXPECT_DOUBLE_EQ(roof.bytes_per_second, 4e9);
  EXPECT_DOUBLE_EQ(roof.operations_per_second, 5e9);
}

TEST(Roof, RefusesWhatIsNoMeasurement) {
  const auto of = [](std::vector<measurement> kernels) { return roof_of(kernels); };
  EXPECT_THROW(of({}), lab::invalid_input);
  EXPECT_THROW(of({{{0, 8}, 1}}), lab::invalid_input);
  EXPECT_THROW(of({{{8, 0}, 1}}), lab::invalid_input);
  for (const double bad : {-1.0, kNaN, kInfinity}) {
    EXPECT_THROW(of({{{bad, 8}, 1}, {{1, 1}, 1}}), lab::invalid_input);
    EXPECT_THROW(of({{{1, 1}, 1}, {{8, bad}, 1}}), lab::invalid_input);
    EXPECT_THROW(of({{{1, 1}, 1}, {{8, 8}, bad}}), lab::invalid_input);
  }
  EXPECT_THROW(of({{{1, 1}, 1}, {{8, 8}, 0}}), lab::invalid_input);
}

// --- places under it -----------------------------------------------------------------------------

constexpr ceilings kRoof{100e9, 800e9};  // the ridge is at 8 operations per byte

TEST(Place, LeftOfTheRidgeIsLimitedByMemory) {
  const point p = locate({2e6, 8e6}, 0.1, kRoof);
  EXPECT_DOUBLE_EQ(p.intensity, 0.25);
  EXPECT_EQ(p.limit, bound::memory);
  EXPECT_DOUBLE_EQ(p.most_per_second, 25e9);
  EXPECT_DOUBLE_EQ(p.reached_per_second, 20e9);
  EXPECT_DOUBLE_EQ(p.least_ms, 0.08);
  EXPECT_DOUBLE_EQ(p.share, 0.8);
}

TEST(Place, RightOfTheRidgeIsLimitedByArithmetic) {
  const point p = locate({64e6, 2e6}, 0.2, kRoof);
  EXPECT_DOUBLE_EQ(p.intensity, 32.0);
  EXPECT_EQ(p.limit, bound::arithmetic);
  EXPECT_DOUBLE_EQ(p.most_per_second, 800e9);
  EXPECT_DOUBLE_EQ(p.reached_per_second, 320e9);
  EXPECT_DOUBLE_EQ(p.least_ms, 0.08);
  EXPECT_DOUBLE_EQ(p.share, 0.4);
}

TEST(Place, AtTheRidgeIsLimitedByArithmetic) {
  const point p = locate({8e6, 1e6}, 0.01, kRoof);
  EXPECT_EQ(p.limit, bound::arithmetic);
  EXPECT_DOUBLE_EQ(p.most_per_second, 800e9);
  EXPECT_DOUBLE_EQ(p.share, 1.0);
  EXPECT_EQ(locate({7.999e6, 1e6}, 0, kRoof).limit, bound::memory);
  EXPECT_EQ(locate({8.001e6, 1e6}, 0, kRoof).limit, bound::arithmetic);
}

TEST(Place, OfACopyIsItsShareOfTheBandwidth) {
  const point p = locate({0, 8e6}, 0.1, kRoof);
  EXPECT_EQ(p.intensity, 0.0);
  EXPECT_EQ(p.limit, bound::memory);
  EXPECT_EQ(p.most_per_second, 0.0);
  EXPECT_EQ(p.reached_per_second, 0.0);
  EXPECT_DOUBLE_EQ(p.share, 0.8);
}

TEST(Place, OfAKernelWithoutBytesIsAtTheFarRight) {
  const point p = locate({8e6, 0}, 0.1, kRoof);
  EXPECT_EQ(p.intensity, kInfinity);
  EXPECT_EQ(p.limit, bound::arithmetic);
  EXPECT_DOUBLE_EQ(p.most_per_second, 800e9);
  EXPECT_DOUBLE_EQ(p.share, 0.1);
}

TEST(Place, OfAKernelThatWasNotTimedHasNoShare) {
  const point p = locate({2e6, 8e6}, 0, kRoof);
  EXPECT_DOUBLE_EQ(p.most_per_second, 25e9);
  EXPECT_DOUBLE_EQ(p.least_ms, 0.08);
  EXPECT_EQ(p.reached_per_second, 0.0);
  EXPECT_EQ(p.share, 0.0);
}

TEST(Place, MayBeAboveARoofThatWasMeasuredTooLow) {
  EXPECT_DOUBLE_EQ(locate({2e6, 8e6}, 0.04, kRoof).share, 2.0);
}

TEST(Place, DependsOnlyOnTheRatioOfOperationsToBytes) {
  for (const double factor : {1e-3, 1.0, 1e6}) {
    const point p = locate({6 * factor, 2 * factor}, 0, kRoof);
    EXPECT_DOUBLE_EQ(p.intensity, 3.0);
    EXPECT_DOUBLE_EQ(p.most_per_second, 300e9);
  }
}

TEST(Place, RefusesWhatHasNone) {
  EXPECT_THROW(locate({0, 0}, 1, kRoof), lab::invalid_input);
  for (const double bad : {-1.0, kNaN, kInfinity}) {
    EXPECT_THROW(locate({bad, 1}, 1, kRoof), lab::invalid_input);
    EXPECT_THROW(locate({1, bad}, 1, kRoof), lab::invalid_input);
    EXPECT_THROW(locate({1, 1}, bad, kRoof), lab::invalid_input);
    EXPECT_THROW(locate({1, 1}, 1, {bad, 1}), lab::invalid_input);
    EXPECT_THROW(locate({1, 1}, 1, {1, bad}), lab::invalid_input);
  }
  EXPECT_THROW(locate({1, 1}, 1, {0, 1}), lab::invalid_input);
  EXPECT_THROW(locate({1, 1}, 1, {1, 0}), lab::invalid_input);
}

}  // namespace
