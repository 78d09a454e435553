// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "math_functions.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::math_functions::argument;
using lab::math_functions::error_bound;
using lab::math_functions::errors;
using lab::math_functions::evaluate;
using lab::math_functions::exact;
using lab::math_functions::function;
using lab::math_functions::kExponent;
using lab::math_functions::measure;
using lab::math_functions::precision;
using lab::math_functions::reference;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::detail::has_the_device;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct named_function {
  function value;
  const char* name;
};
constexpr named_function kFunctions[] = {{function::sine, "sin"},
                                         {function::exponential, "exp"},
                                         {function::exponential10, "exp10"},
                                         {function::logarithm, "log"},
                                         {function::power, "pow"}};
struct named_precision {
  precision value;
  const char* name;
};
constexpr named_precision kPrecisions[] = {
    {precision::intrinsic, "intrinsic"}, {precision::single, "single"}, {precision::full, "full"}};

/// Every value is within the bound that is documented for it.
::testing::AssertionResult is_within_the_bounds(function f, precision p, std::size_t first,
                                                std::size_t n) {
  std::vector<double> bounds(360);  // only 360 values are different
  for (std::size_t i = 0; i < 360; ++i) bounds[i] = error_bound(f, p, argument(f, i));
  const auto values = evaluate(f, p, first, n).values;
  const auto expected = reference(f, first, n);
  if (values.size() != n)
    return ::testing::AssertionFailure() << values.size() << " values instead of " << n;
  for (std::size_t i = 0; i < n; ++i) {
    const double error = std::fabs(static_cast<double>(values[i] - expected[i]));
    const double bound = bounds[(first + i) % 360];
    if (!(error <= bound))
      return ::testing::AssertionFailure()
             << "element " << first + i << ", x = " << argument(f, first + i) << ": got "
             << values[i] << lab::detail::hint_of(values[i]) << ", expected " << expected[i]
             << ", off by " << error << ", and " << bound << " is allowed";
  }
  return ::testing::AssertionSuccess();
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsShareTheArguments) {
  for (const auto& [f, its_name] : kFunctions)
    for (const auto& [p, name] : kPrecisions) {
      const lab::testing::work done =
          work_of([&, f = f, p = p] { return is_within_the_bounds(f, p, 0, 5000); });
      EXPECT_TRUE(as_required(done, {.threads = 512,
                                     .blocks = 4,
                                     .fetched = 5000 * sizeof(float),
                                     .writes = 5000 * sizeof(float),
                                     .reads_at_most = 5000 * sizeof(float) / 2}))
          << its_name << ", " << name;
      EXPECT_LT(done.bytes_copied(cudaMemcpyHostToDevice), 360 * sizeof(float))
          << "the device computes, it does not look values up: " << its_name << ", " << name;
      EXPECT_TRUE(at_other_sizes([f = f, p = p](std::size_t n) {
        return is_within_the_bounds(f, p, 40, n);  // (at 0 a sine is 0, however it is computed)
      })) << its_name
          << ", " << name;
    }
}

// --- who computes each value ---------------------------------------------------------------------

#ifdef __CPU_DEVICE__  // whose functions are those of the host's library
/// How often a function of the library was called: one for floats, one for doubles.
std::atomic<std::size_t> in_floats = 0, in_doubles = 0;
std::atomic<bool> counts_only = false;

/// While it lives, a call returns how many there have been, and not a value.
struct counting {
  counting() {
    in_floats = in_doubles = 0;
    counts_only = true;
  }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
  ~counting() { counts_only = false; }
};

template <class Number, class... Numbers>
Number call(Number (*own)(Numbers...), std::atomic<std::size_t>& counter, Numbers... x) {
  const std::size_t calls = ++counter;
  return counts_only ? static_cast<Number>(calls) : own(x...);
}

/// The library's function of this name.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

// The kernels of this program call these, and not the library's own.
#define COUNTED(NUMBER, NAME, COUNTER)                                \
  extern "C" NUMBER NAME(NUMBER x) noexcept {                         \
    static NUMBER (*const own)(NUMBER) = next<NUMBER(NUMBER)>(#NAME); \
    return call(own, COUNTER, x);                                     \
  }
#define COUNTED_POWER(NUMBER, NAME, COUNTER)                                          \
  extern "C" NUMBER NAME(NUMBER x, NUMBER y) noexcept {                               \
    static NUMBER (*const own)(NUMBER, NUMBER) = next<NUMBER(NUMBER, NUMBER)>(#NAME); \
    return call(own, COUNTER, x, y);                                                  \
  }
COUNTED(float, sinf, in_floats)
COUNTED(float, expf, in_floats)
COUNTED(float, exp10f, in_floats)
COUNTED(float, logf, in_floats)
COUNTED_POWER(float, powf, in_floats)
COUNTED(double, sin, in_doubles)
COUNTED(double, exp, in_doubles)
COUNTED(double, exp10, in_doubles)
COUNTED(double, log, in_doubles)
COUNTED_POWER(double, pow, in_doubles)

namespace {

/// Whether each of n values comes from a call of its own, of the function of p. (The intrinsics are
/// none of the library's.)
::testing::AssertionResult computes_each(function f, precision p, std::size_t n) {
  auto values = [&] {
    const counting meanwhile;
    return evaluate(f, p, 0, n).values;
  }();
  if (p != precision::full && in_doubles != 0)
    return ::testing::AssertionFailure() << "a function for doubles was called";
  std::sort(values.begin(), values.end());
  const bool twice = std::adjacent_find(values.begin(), values.end()) != values.end();
  if (p != precision::intrinsic && twice)
    return ::testing::AssertionFailure()
           << "of " << n << " values, some are not computed but copied from others, or come from "
           << "another function than the one for " << (p == precision::full ? "doubles" : "floats");
  return ::testing::AssertionSuccess();
}
#endif

// --- every function in every precision ----------------------------------------------------------

class Function : public ::testing::TestWithParam<std::tuple<named_function, named_precision>> {
 protected:
  function f() const { return std::get<0>(GetParam()).value; }
  precision p() const { return std::get<1>(GetParam()).value; }
};
INSTANTIATE_TEST_SUITE_P(All, Function,
                         ::testing::Combine(::testing::ValuesIn(kFunctions),
                                            ::testing::ValuesIn(kPrecisions)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::get<1>(test.param).name;
                         });

TEST_P(Function, IsWithinItsBoundAllAroundTheCircle) {
  EXPECT_TRUE(is_within_the_bounds(f(), p(), 0, 360));
}

TEST_P(Function, HasTheRightLengthAroundWarpsBlocksAndCircles) {
  for (const std::size_t n : {1, 31, 32, 33, 255, 256, 257, 359, 361, 10 * 256 + 1, 7919})
    EXPECT_TRUE(is_within_the_bounds(f(), p(), 0, n)) << n << " elements";
}

#ifdef __CPU_DEVICE__
TEST_P(Function, IsComputedForEachElement) {
  if (!has_the_device()) GTEST_SKIP() << "what another process calls is not counted";
  for (const std::size_t n : {1, 360, 361, 5000}) EXPECT_TRUE(computes_each(f(), p(), n));
}
#endif

TEST_P(Function, ContinuesWhereItIsTold) {
  const auto whole = evaluate(f(), p(), 0, 2000).values;
  for (const std::size_t first : {1, 89, 359, 360, 1111}) {
    const auto piece = evaluate(f(), p(), first, 700).values;
    ASSERT_EQ(piece.size(), 700U);
    for (std::size_t i = 0; i < piece.size(); ++i)
      ASSERT_EQ(piece[i], whole[first + i]) << "element " << i << " after " << first;
  }
}

TEST_P(Function, CountsBeyondThirtyTwoBits) {
  // 2^32 is no multiple of 360, so a number that loses its upper half is somewhere else.
  for (const std::size_t first :
       {(std::size_t{1} << 31) - 100, (std::size_t{1} << 32) - 100, (std::size_t{1} << 40) + 17,
        (std::size_t{1} << 53) + 1, ~std::size_t{0} - 500})  // more than a double can hold
    EXPECT_TRUE(is_within_the_bounds(f(), p(), first, 500)) << "from " << first;
}

TEST_P(Function, HasNoValuesForNoElements) {
  EXPECT_TRUE(evaluate(f(), p(), 123, 0).values.empty());
}

TEST_P(Function, RefusesNumbersThatOverflow) {
  EXPECT_THROW(evaluate(f(), p(), ~std::size_t{0}, 2), lab::invalid_input);
}

TEST_P(Function, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return evaluate(f(), p(), 0, 1000).kernel_ms; }));
}

// --- the three precisions beside each other -----------------------------------------------------

class EachFunction : public ::testing::TestWithParam<named_function> {
 protected:
  function f() const { return GetParam().value; }
  errors errors_of(precision p) const {
    return measure(evaluate(f(), p, 0, 360).values, reference(f(), 0, 360));
  }
};
INSTANTIATE_TEST_SUITE_P(All, EachFunction, ::testing::ValuesIn(kFunctions),
                         [](const auto& test) { return test.param.name; });

TEST_P(EachFunction, HasTheLargestErrorAsIntrinsicAndTheSmallestInDouble) {
  const errors intrinsic = errors_of(precision::intrinsic), single = errors_of(precision::single),
               full = errors_of(precision::full);
  EXPECT_GT(intrinsic.mean, single.mean) << "is the intrinsic really used?";
  EXPECT_GT(single.mean, full.mean);
  EXPECT_GT(intrinsic.max, full.max);
  // A double has 29 more digits than a float. Going through a float loses them.
  EXPECT_GT(single.mean, 1e6 * full.mean) << "is there a double in single, or a float in full?";
}

TEST(Grid, ReachesMoreElementsThanItHasThreads) {
  constexpr std::size_t kSize = 8192 * 256 + 257;
  for (const auto& p : kPrecisions)
    EXPECT_TRUE(is_within_the_bounds(function::logarithm, p.value, 5, kSize)) << p.name;
}

#ifdef __CPU_DEVICE__
TEST(Grid, ComputesMoreElementsThanItHasThreads) {
  if (!has_the_device()) GTEST_SKIP() << "what another process calls is not counted";
  EXPECT_TRUE(computes_each(function::sine, precision::single, 8192 * 256 + 257));
}
#endif

TEST_P(EachFunction, IsAFloatUnlessItIsFull) {
  for (const auto p : {precision::intrinsic, precision::single})
    for (const double value : evaluate(f(), p, 0, 360).values)
      ASSERT_EQ(value, static_cast<double>(static_cast<float>(value)));
}

#ifdef __CPU_DEVICE__  // whose functions for floats are those of the host's library
float in_float(function f, float x) {
  switch (f) {
    case function::sine:
      return sinf(x);
    case function::exponential:
      return expf(x);
    case function::exponential10:
      return exp10f(x);
    case function::logarithm:
      return logf(x);
    case function::power:
      return powf(x, kExponent);
  }
  return 0;
}

TEST_P(EachFunction, IsTheOneForFloatsInSingle) {
  // One for doubles, whose result is rounded to a float, has other last digits here and there.
  const auto values = evaluate(f(), precision::single, 0, 360).values;
  for (std::size_t i = 0; i < 360; ++i)
    ASSERT_EQ(values.at(i), static_cast<double>(in_float(f(), argument(f(), i))))
        << "value " << i << " is not what the function for floats returns: does it calculate in "
        << "double?";
}
#endif

TEST(KnownValues, AreThere) {
  // Ninety degrees, half a circle; e, ten and x to well-known powers.
  EXPECT_NEAR(evaluate(function::sine, precision::full, 90, 1).values.at(0), 1, 1e-15);
  EXPECT_NEAR(evaluate(function::sine, precision::single, 270, 1).values.at(0), -1, 1e-6);
  EXPECT_NEAR(evaluate(function::sine, precision::intrinsic, 180, 1).values.at(0), 0, 1e-6);
  EXPECT_EQ(evaluate(function::exponential, precision::full, 360, 1).values.at(0), 1);
  EXPECT_EQ(evaluate(function::exponential10, precision::full, 720, 1).values.at(0), 1);
  EXPECT_NEAR(evaluate(function::logarithm, precision::full, 359, 1).values.at(0),
              std::log(2 * 3.14159265358979), 1e-6);  // 360 degrees
  EXPECT_NEAR(evaluate(function::power, precision::single, 180, 1).values.at(0),
              std::pow(3.14159265358979, 2.5), 1e-4);
  EXPECT_EQ(evaluate(function::power, precision::intrinsic, 0, 1).values.at(0), 0);
}

// --- measuring ----------------------------------------------------------------------------------

errors measured(const std::vector<double>& values, const std::vector<long double>& exact_values) {
  return measure(values, exact_values);
}

TEST(Measure, FindsMeanLargestAndItsPlace) {
  const errors found = measured({1, 2.5, 3, -4.25}, {1, 2, 3, -4});
  EXPECT_EQ(found.mean, 0.1875);
  EXPECT_EQ(found.max, 0.5);
  EXPECT_EQ(found.worst, 1U);
}

TEST(Measure, TakesErrorsWithoutTheirSigns) {
  const errors found = measured({0, 0}, {3, -1});
  EXPECT_EQ(found.mean, 2);
  EXPECT_EQ(found.max, 3);
  EXPECT_EQ(found.worst, 0U);
}

TEST(Measure, NamesTheFirstOfEqualErrorsAndTheLastElementToo) {
  EXPECT_EQ(measured({1, 3, 5, 3}, {1, 1, 5, 1}).worst, 1U);
  EXPECT_EQ(measured({1, 1, 5, 3}, {1, 1, 5, 1}).worst, 3U);
}

TEST(Measure, NamesTheFirstOfEqualErrorsThatADoubleCannotHold) {
  // As a double this error is 1. If the largest error so far is kept as a double, the next, equal
  // one seems larger.
  const long double exact_value = 1 + 0x1p-60L;
  EXPECT_EQ(measured({0, 0, 0}, {exact_value, exact_value, exact_value}).worst, 0U);
}

TEST(Measure, LetsNoNaNSlipThrough) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    const errors found = measured({1, 1.5, bad, 7}, {1, 1, 1, 1});
    EXPECT_EQ(found.mean, kInfinity) << "with " << bad;
    EXPECT_EQ(found.max, kInfinity) << "with " << bad;
    EXPECT_EQ(found.worst, 2U) << "with " << bad;
  }
  EXPECT_EQ(measured({1}, {static_cast<long double>(kNan)}).max, kInfinity);
}

TEST(Measure, NamesTheFirstOfInfinitiesAndNaNs) {
  EXPECT_EQ(measured({1, kInfinity, kNan}, {1, 1, 1}).worst, 1U);
  EXPECT_EQ(measured({1, kNan, kInfinity}, {1, 1, 1}).worst, 1U);
}

TEST(Measure, FindsNoNumberBetweenEqualInfinities) {
  for (const double infinity : {kInfinity, -kInfinity}) {
    const errors found = measured({1, infinity, 1}, {1, infinity, 1});
    EXPECT_EQ(found.mean, kInfinity);
    EXPECT_EQ(found.max, kInfinity);
    EXPECT_EQ(found.worst, 1U);
  }
}

TEST(Measure, KeepsSmallErrorsBesideALargeNumberOfOthers) {
  std::vector<double> values(100'000, 1.0);
  const std::vector<long double> ones(values.size(), 1.0L);
  values.back() += 0x1p-40;
  const errors found = measured(values, ones);
  EXPECT_EQ(found.max, 0x1p-40);
  EXPECT_EQ(found.worst, values.size() - 1);
  EXPECT_DOUBLE_EQ(found.mean, 0x1p-40 / 1e5);
}

TEST(Measure, AddsSmallErrorsToALargeOne) {
  // 1, and then 2^-26 again and again: adding them up in float gives 1.
  std::vector<double> values(100'000, 0x1p-26);
  values.front() = 1;
  const double mean = (1 + 99'999 * 0x1p-26) / 1e5;
  EXPECT_DOUBLE_EQ(measured(values, std::vector<long double>(values.size())).mean, mean);
}

TEST(Measure, FindsAMeanWhoseSumADoubleCannotHold) {
  constexpr double kMost = std::numeric_limits<double>::max();
  EXPECT_EQ(measured({kMost, -kMost, kMost}, {0, 0, 0}).mean, kMost);
}

TEST(Measure, SeesErrorsThatADoubleCannotHold) {
  EXPECT_EQ(measured({1, 1}, {1, 1 + 0x1p-60L}).max, 0x1p-60);
}

TEST(Measure, IsZeroForNothingAndForNoErrors) {
  EXPECT_EQ(measured({}, {}).mean, 0);
  EXPECT_EQ(measured({}, {}).max, 0);
  EXPECT_EQ(measured({2, 3}, {2, 3}).mean, 0);
}

TEST(Measure, RefusesDifferentLengths) {
  EXPECT_THROW(measured({1, 2}, {1}), lab::invalid_input);
  EXPECT_THROW(measured({}, {1}), lab::invalid_input);
}

FAULT_TEST_P(Function, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return evaluate(f(), p(), 1, 100).values; });
}

}  // namespace
