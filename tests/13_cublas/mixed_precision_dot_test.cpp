// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "mixed_precision_dot.hpp"

#include <cublas_v2.h>
#include <sys/mman.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cublas_check.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "library_calls.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::work_of;
using namespace lab::mixed_precision_dot;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::times_called;
using lab::testing::whole_numbers;
using vector = std::vector<float>;

bool is_a_float(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(CallsOfCublasAndAKernelThatWidens) {
  const vector x = whole_numbers(20'011, 1, -9, 14), y = whole_numbers(20'011, 2, -9, 14);
  for (const step version : {step::in_float, step::in_double}) {
    const bool wide = version == step::in_double;
    const lab::testing::work done =
        work_of([&] { return dot(version, x, y).value == reference(x, y); });
    EXPECT_TRUE(as_required(done, {.threads = x.size() / 64,
                                   .blocks = 2,
                                   .kernels = wide ? std::size_t{1} : 0,
                                   .sent = 2 * bytes_of(x),
                                   .calls = {"cublasDotEx"},
                                   .library = true,
                                   .reads = wide ? 2 * bytes_of(x) : 0,
                                   .writes = wide ? 4 * bytes_of(x) : 0}))
        << (wide ? "in_double" : "in_float");
    if (!wide) {
      EXPECT_TRUE(done.kernels.empty()) << "in_float: cuBLAS takes the floats as they are";
    }
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t n) {
          const vector some = whole_numbers(n, 1, 1, 9);
          return dot(version, some, some).value == reference(some, some);
        },
        {.threads = 1,
         .kernels = wide ? std::size_t{1} : 0,
         .fetched = 1,
         .calls = {"cublasDotEx"},
         .library = true}))
        << (wide ? "in_double" : "in_float");
  }
  const lab::testing::work asked = work_of([&] {
    // Here the library refuses, so a number would have to come from elsewhere.
    return ask_for_mixed_types(x, y) == std::nullopt;
  });
  EXPECT_TRUE(as_required(asked, {.kernels = 0, .calls = {"cublasDotEx"}, .library = true}));
  EXPECT_TRUE(at_other_sizes(
      [](std::size_t n) {
        const vector some = whole_numbers(n, 1, 1, 9);
        return ask_for_mixed_types(some, some) == std::nullopt;
      },
      {.kernels = 0, .calls = {"cublasDotEx"}, .library = true}))
      << "ask_for_mixed_types";
}

REQUIRED_WORK(MemoryForNoMoreThanAPieceOfDoubles) {
  // Two pieces, and a third one that is short. Kernels read the floats, and cuBLAS the doubles.
  constexpr std::size_t kCount = (std::size_t{1} << 19) + 33;
  const vector x = whole_numbers(kCount, 1, -9, 14), y = whole_numbers(kCount, 2, -9, 14);
  const lab::testing::work done =
      work_of([&] { return dot(step::in_double, x, y).value == reference(x, y); });
  EXPECT_TRUE(as_required(done, {.threads = 1,  // one may have most of the short piece
                                 .calls = {"cublasDotEx"},
                                 .library = true,
                                 .reads = 2 * bytes_of(x),
                                 .writes = 4 * bytes_of(x),
                                 .reads_at_most = 2 * bytes_of(x)}))
      << "in_double";
  EXPECT_GE(times_called(done, "cublasDotEx"), 3U)
      << "in_double: cuBLAS multiplies each piece, and adds its products";
  std::size_t bytes = 0;
  for (const std::size_t each : done.device_memory) bytes += each;
  EXPECT_LE(bytes, 2 * bytes_of(x) + (sizeof(double) << 19)) << "in_double";
}

// --- every size ----------------------------------------------------------------------------------

class Dot : public ::testing::TestWithParam<std::size_t> {};
// Around a warp, a block of 256, and pieces of 2^18 elements. The last size is one less than three
// pieces: a third of it, rounded down, twice, leaves more than a piece.
INSTANTIATE_TEST_SUITE_P(Sizes, Dot,
                         ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 33 * 1024,
                                           262'143, 262'144, 262'145, 2 * 262'144, 600'011,
                                           3 * 262'144 - 1),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Dot, InDoubleIsExactForWholeNumbers) {
  // 600 011 products of at most 3000 * 2000: below 2^53, and far above 2^24.
  const vector x = whole_numbers(GetParam(), 1, -1000, 3000);
  const vector y = whole_numbers(GetParam(), 2, -500, 2000);
  EXPECT_EQ(dot(step::in_double, x, y).value, reference(x, y));
}

TEST_P(Dot, InDoubleIsWithinTheBoundForRandomNumbers) {
  const vector x = lab::random_floats(GetParam(), 3, -1, 1);
  const vector y = lab::random_floats(GetParam(), 4, -100, 300);
  EXPECT_TRUE(matches(lab::compare(dot(step::in_double, x, y).value, reference(x, y),
                                   {.absolute = double_bound(x, y)})));
}

TEST_P(Dot, InFloatIsExactForSmallWholeNumbers) {
  // 600 011 products of at most 25, and their sums below 2^24.
  const vector x = whole_numbers(GetParam(), 5, -5, 5), y = whole_numbers(GetParam(), 6, -4, 5);
  EXPECT_EQ(dot(step::in_float, x, y).value, reference(x, y));
}

TEST_P(Dot, InFloatIsWithinTheBoundForRandomNumbers) {
  const vector x = lab::random_floats(GetParam(), 7, -1, 1);
  const vector y = lab::random_floats(GetParam(), 8, -100, 300);
  const double value = dot(step::in_float, x, y).value;
  EXPECT_TRUE(matches(lab::compare(value, reference(x, y), {.absolute = float_bound(x, y)})));
  EXPECT_TRUE(is_a_float(value)) << value << " has more digits than a sum that is made in float";
}

// --- what a float gets wrong ---------------------------------------------------------------------

TEST(Accumulation, AFloatCannotHoldTwoToThe24PlusOne) {
  // Wrong in any order, however it is added up: there is no such float.
  const vector x = {4096, 1}, y = {4096, 1};
  ASSERT_EQ(reference(x, y), 16'777'217.0);
  ASSERT_FALSE(is_a_float(16'777'217.0));
  EXPECT_EQ(dot(step::in_double, x, y).value, 16'777'217.0);
  EXPECT_NE(dot(step::in_float, x, y).value, 16'777'217.0);
}

TEST(Accumulation, SmallTermsSurviveBesideLargeOnesThatCancel) {
  // Sums are whole numbers below 2^53, so double is exact in any order. In float the terms of 2^46
  // are 2^23 away from each other.
  vector x(9001, 1.0F), y(9001, 1.0F);
  x[7] = y[7] = 0x1p23F;
  x[8000] = -0x1p23F, y[8000] = 0x1p23F;
  ASSERT_EQ(reference(x, y), 8999.0);
  EXPECT_GT(float_bound(x, y), 8999.0) << "in float nothing could be promised here";
  EXPECT_EQ(dot(step::in_double, x, y).value, 8999.0);
}

TEST(Accumulation, ProductsAreNotRoundedToFloat) {
  // (2^12 + 1)² has 25 bits, and the sum is not a float.
  const vector x(1000, 4097.0F);
  ASSERT_FALSE(is_a_float(1000.0 * 16'785'409.0));
  EXPECT_EQ(dot(step::in_double, x, x).value, 1000.0 * 16'785'409.0);
}

TEST(Accumulation, TheSmallestFloatsArePartOfIt) {
  using limits = std::numeric_limits<float>;
  const vector x = {limits::denorm_min(), -limits::min() / 2}, y = {0x1p100F, 0x1p90F};
  EXPECT_EQ(dot(step::in_double, x, y).value, 0x1p-49 - 0x1p-37);
}

TEST(Accumulation, ReachesBeyondTheLargestFloat) {
  const vector x(3, std::numeric_limits<float>::max());
  const double square = static_cast<double>(x[0]) * static_cast<double>(x[0]);
  EXPECT_EQ(dot(step::in_double, x, x).value, square + square + square);
  EXPECT_EQ(dot(step::in_float, x, x).value, std::numeric_limits<double>::infinity());
}

// --- what the text does --------------------------------------------------------------------------

TEST(MixedTypes, AreRefusedOrSummedInDouble) {
  const vector x = {4096, 1, -3}, y = {4096, 1, 2};
  const auto value = ask_for_mixed_types(x, y);
  if (value) {
    EXPECT_EQ(*value, 16'777'211.0);
  } else {
    SUCCEED() << "cuBLAS says that it does not do this";
  }
  EXPECT_EQ(ask_for_mixed_types(x, y).has_value(), value.has_value());
}

TEST(MixedTypes, AreRefusedByTheCpuDevice) {
#ifdef __CPU_DEVICE__
  EXPECT_EQ(ask_for_mixed_types(vector{1, 2}, vector{3, 4}), std::nullopt);
#else
  GTEST_SKIP() << "what a GPU's library reports cannot be known in advance";
#endif
}

TEST(MixedTypes, NeedVectorsOfEqualLength) {
  EXPECT_THROW(ask_for_mixed_types(vector(3), vector(4)), lab::invalid_input);
}

// --- every step ----------------------------------------------------------------------------------

class EachStep : public ::testing::TestWithParam<step> {};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::Values(step::in_float, step::in_double),
                         [](const auto& test) {
                           return test.param == step::in_float ? "in_float" : "in_double";
                         });

TEST_P(EachStep, IsZeroForEmptyVectorsAndAsksNoDevice) {
  const auto nothing = dot(GetParam(), {}, {});
  EXPECT_EQ(nothing.value, 0.0);
  EXPECT_EQ(nothing.kernel_ms, 0.0F);
}

TEST_P(EachStep, RefusesVectorsOfDifferentLengths) {
  const vector three(3, 1.0F), four(4, 1.0F), none;
  EXPECT_THROW(dot(GetParam(), three, four), lab::invalid_input);
  EXPECT_THROW(dot(GetParam(), four, three), lab::invalid_input);
  EXPECT_THROW(dot(GetParam(), none, four), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreElementsThanAnIntCanCount) {
  // Addresses without memory behind them, since what is refused is not read.
  constexpr std::size_t kMany = std::size_t{1} << 31;
  void* const addresses = mmap(nullptr, kMany * sizeof(float), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (addresses == MAP_FAILED) GTEST_SKIP() << "needs 8 GiB of addresses";
  const std::span<const float> x(static_cast<const float*>(addresses), kMany);
  EXPECT_THROW(dot(GetParam(), x, x), lab::invalid_input);
  EXPECT_EQ(munmap(addresses, kMany * sizeof(float)), 0);
}

TEST_P(EachStep, PassesNaNAndInfinityOn) {
  vector x(1000, 1.0F), y(1000, 1.0F);
  x[999] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot(GetParam(), x, y).value, std::numeric_limits<double>::infinity());
  y[500] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(dot(GetParam(), x, y).value));
}

TEST_P(EachStep, KeepsAnInfinityThatMorePiecesFollow) {
  vector x(262'150, 1.0F);
  const vector y = x;
  x[7] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(dot(GetParam(), x, y).value, -std::numeric_limits<double>::infinity());
}

TEST_P(EachStep, TellsVectorsApartThatAgreeInMostPlaces) {
  // They differ in one place of each piece of 2^18 elements, and agree at its ends. In float, too,
  // all sums are exact: they are below 2^24.
  vector x = whole_numbers(600'011, 9, -5, 5), y = x;
  for (const std::size_t i : {7U, 300'000U, 600'000U}) x[i] = 3, y[i] = -1;
  EXPECT_EQ(dot(GetParam(), x, y).value, reference(x, y));
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector ones(5000, 1.0F), few(3, 2.0F);
  EXPECT_EQ(dot(GetParam(), ones, ones).value, 5000.0);
  EXPECT_EQ(dot(GetParam(), few, few).value, 12.0);
  EXPECT_EQ(dot(GetParam(), ones, ones).value, 5000.0);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(1000, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] { return dot(GetParam(), ones, ones).kernel_ms; }));
}

FAULT_TEST(MixedTypes, ReportEveryCallThatFails) {
  const vector x = {4096, 1, -3}, y = {4096, 1, 2};
  expect_failures_reported([&] { return ask_for_mixed_types(x, y); }, x, y);
}

FAULT_TEST(MixedTypes, AreAnsweredByNoOtherStatusThanNotSupported) {
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail cannot be chosen across processes";
  const vector x = {4096, 1, -3}, y = {4096, 1, 2};
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED, CUBLAS_STATUS_INVALID_VALUE,
        CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_EXECUTION_FAILED,
        CUBLAS_STATUS_INTERNAL_ERROR}) {
    const lab::testing::detail::next_call_fails fault("cublasDotEx",
                                                      static_cast<cudaError_t>(status));
    try {
      ask_for_mixed_types(x, y);
      ADD_FAILURE() << "no exception was thrown for " << lab::cublas_status_name(status);
    } catch (const lab::cublas_error& error) {
      EXPECT_EQ(error.status(), status) << error.what();
    }
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector x = whole_numbers(1000, 1, -9, 9), y = whole_numbers(1000, 2, -9, 9);
  expect_failures_reported([&] { return dot(GetParam(), x, y).value; }, x, y);
}

TEST_P(EachStep, AddsEveryProductOnceAtTheProgramsSizeAndBeyondWhatAFloatCanCount) {
  for (const std::size_t n : {kDefaultSize, (std::size_t{1} << 24) + 1})
    expect_at_full_size([&] {
      return matches(lab::check_exact_dot(
          n, n, [&](const vector& x, const vector& y) { return dot(GetParam(), x, y).value; }));
    });
}

}  // namespace
