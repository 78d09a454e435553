// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "fp64_product.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "product_tests.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::fp64_product {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::fp64_product

namespace {

using lab::fp64_product::check;
using lab::fp64_product::kDefaultSize;
using lab::fp64_product::largest_errors;
using lab::fp64_product::multiply;
using lab::fp64_product::random_doubles;
using lab::fp64_product::shape;
using lab::fp64_product::step;
using lab::testing::all_elements_need;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::source;
using lab::testing::timed;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::cuda_cores, "cuda_cores"},
                                 {step::wmma, "wmma"},
                                 {step::staged, "staged"},
                                 {step::large_mma, "large_mma"},
                                 {step::prefetched, "prefetched"}};

#ifdef __CPU_DEVICE__
// In a case the current device is another one than device 0.
const lab::testing::setting kTwoDevices("CPU_DEVICE_COUNT", "2",
                                        lab::testing::setting::when::unless_given);
#endif

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

::testing::AssertionResult is_right(step version, shape size, std::uint64_t seed = 1) {
  const auto a = random_doubles(size.m * size.k, seed);
  const auto b = random_doubles(size.k * size.n, seed + 1);
  return matches(check(multiply(version, a, b, size).c, a, b, size));
}

/// A step as the tests of products of floats take it.
auto by(step version) {
  return [=](const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
             std::size_t k) {
    const std::vector<double> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
    const std::vector<double> c = multiply(version, wide_a, wide_b, {m, n, k}).c;
    return std::vector<float>(c.begin(), c.end());
  };
}

// --- who does the work ---------------------------------------------------------------------------

lab::testing::required tiles_for(shape size) {
  const std::size_t of_factors = (size.m + size.n) * size.k * sizeof(double);
  const std::size_t of_product = size.m * size.n * sizeof(double);
  const std::size_t untiled = 2 * size.m * size.n * size.k * sizeof(double);
  return {.threads = 128,
          .blocks = 2,
          .sent = of_factors,
          .fetched = of_product,
          .reads = of_factors,
          .writes = of_product,
          .reads_at_most = untiled / 64,
          .shared_memory = true};
}

REQUIRED_WORK(TilesOfAtLeast64RowsAndColumns) {
  const shape size{128, 256, 48};
  for (const auto& [version, name] : kSteps) {
    const auto right = [version = version, size] { return is_right(version, size); };
    EXPECT_TRUE(as_required(work_of(right), tiles_for(size))) << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {n, n + 1, n});
    })) << name;
  }
}

REQUIRED_WORK(ThreadsThatMultiplyWithoutTensorCores) {
  EXPECT_TRUE(at_other_sizes([](std::size_t n) {
    return is_right(step::cuda_cores, {n, n, n});
  })) << "cuda_cores";
  const lab::testing::detail::nothing_from meanwhile(source::tensor_cores);
  EXPECT_TRUE(is_right(step::cuda_cores, {70, 90, 50}))
      << "cuda_cores: a thread multiplies and adds, and no tensor core";
}

REQUIRED_WORK(WarpsThatMultiplyOnTensorCores) {
  const shape size{128, 256, 48};
  const std::size_t products = size.m * size.n * size.k;
  for (const auto& [version, name] : kSteps) {
    if (version == step::cuda_cores) continue;
    lab::testing::required expected = tiles_for(size);
    // A warp synchronizes at least once for 8 x 8 x 4 products. Without the operation of 16 x 8 x
    // 8, its lanes exchange values 32 times.
    expected.warp_functions = version >= step::large_mma ? products / 1024 * 32 : products / 256;
    expected.wavefronts = 1.02;
    auto done = work_of([version = version, size] { return is_right(version, size); });
    done.costs.erase("shared store");  // only reading must not cost any conflicts
    EXPECT_TRUE(as_required(done, expected)) << name;
  }
}

REQUIRED_WORK(SumsThatNobodyElseMakes) {
  for (const auto& [version, name] : kSteps) {
    if (version == step::cuda_cores) continue;
    // On the CPU device, the operation of 16 x 8 x 8 is done by lanes that exchange values.
    const source from = version >= step::large_mma ? source::other_lanes : source::tensor_cores;
    EXPECT_TRUE(all_elements_need(from, by(version))) << name;
  }
}

REQUIRED_WORK(CopiesThatAreUnderWayWhileAWarpMultiplies) {
  const shape size{128, 256, 80};
  for (const auto& [version, name] : kSteps) {
    if (version < step::staged) continue;
    lab::testing::required expected = tiles_for(size);
    expected.copies_under_way = 2;  // of A and of B
    EXPECT_TRUE(as_required(work_of([version = version, size] { return is_right(version, size); }),
                            expected))
        << name;
  }
}

REQUIRED_WORK(CopiesThatAreUnderWayHoweverSmallTheProductIs) {
  // Three slices of 16, of tiles that C hardly fills. In the second product, rows do not begin at
  // multiples of 16 bytes.
  for (const shape size : {shape{8, 6, 48}, shape{63, 33, 47}})
    for (const auto& [version, name] : kSteps) {
      if (version < step::staged) continue;
      EXPECT_TRUE(
          as_required(work_of([version = version, size] { return is_right(version, size); }),
                      {.threads = 1, .fetched = 1, .copies_under_way = 2}))
          << name << ", " << name_of(size);
    }
}

REQUIRED_WORK(NumbersThatAreReadBeforeTheOnesBeforeThemAreMultiplied) {
  // Of 16 numbers along k a warp multiplies eight at a time. When the first half of its
  // multiplications ends, a warp that reads each eight right before it multiplies them has read
  // half of all. One that reads ahead has read both eights (of three, if it reads something after
  // the last slice).
  const shape size{128, 64, 16};
  const auto done = work_of([size] { return is_right(step::prefetched, size); });
  EXPECT_TRUE(as_required(done, {.threads = 1, .fetched = 1})) << "prefetched";
  if (!done.watched) return;
  for (const auto& k : done.kernels)
    EXPECT_GT(20 * k.reads_of_warp_early, 11 * k.reads_of_warp)
        << "prefetched: a warp reads its next numbers before it multiplies the ones that it has";
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

/// Whole numbers whose products do not fit into a float: a step that adds in float, or rounds a
/// factor to float, is wrong.
TEST_P(Product, OfWholeNumbersIsExact) {
  const auto& [version, size] = GetParam();
  const auto whole = [](std::size_t n, std::uint64_t seed) {
    const auto numbers = lab::random_ints(n, seed, -30'000'000, 70'000'000);
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  ASSERT_LT(static_cast<double>(size.k) * 7e7, 0x1p53 / 1e3);
  const auto a = whole(size.m * size.k, 1);
  std::vector<double> b = whole(size.k * size.n, 2);
  for (double& x : b) x = std::fmod(x, 1000);  // the sums stay below 2^53
  std::vector<double> expected(size.m * size.n);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column)
        expected[row * size.n + column] += a[row * size.k + i] * b[i * size.n + column];
  EXPECT_TRUE(matches(lab::compare_exact(multiply(version.value, a, b, size).c, expected)));
}

// Tiles are multiples of 4, 8, 16, 32, 64 and 128: one less, that, and one more, in each of the
// three directions; no two directions alike; k with no slice, one, as many as stages, and more.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{1, 5, 3}, shape{3, 1, 7},
                                         shape{7, 9, 4}, shape{9, 7, 5}, shape{8, 8, 8},
                                         shape{15, 17, 16}, shape{17, 15, 17}, shape{31, 33, 32},
                                         shape{33, 32, 31}, shape{48, 20, 34}, shape{63, 65, 48},
                                         shape{64, 66, 49}, shape{65, 64, 47}, shape{127, 129, 64},
                                         shape{128, 128, 10}, shape{129, 127, 33},
                                         shape{130, 258, 18}, shape{10, 300, 65},
                                         shape{1100, 130, 2}, shape{4, 2, 515})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesRandomMatrices) {
  EXPECT_TRUE(is_right(version(), {70, 90, 150}, 3));
  EXPECT_TRUE(is_right(version(), {37, 68, 201}, 5));
}

TEST_P(EachStep, KeepsAllDigitsOfADouble) {
  // 2^-40 away from whole numbers: a factor that has been converted to float has lost that.
  const std::vector<double> a = {1 + 0x1p-40, 3, -2 - 0x1p-40, 5},
                            b = {1 - 0x1p-40, 4, 1, 7 + 0x1p-40};
  const auto c = multiply(version(), a, b, {2, 2, 2}).c;
  ASSERT_EQ(c.size(), 4U);
  EXPECT_EQ(c[0], 4 - 0x1p-80);  // which is 4, rounded
  EXPECT_EQ(c[1], 25 + 7 * 0x1p-40);
  EXPECT_EQ(c[2], 3 + 0x1p-40);
  EXPECT_EQ(c[3], 27 + 0x1p-40);
}

TEST_P(EachStep, ReachesBeyondTheRangeOfAFloat) {
  const std::vector<double> a = {1e200, 1e-200}, b = {1e-190, 1e190};
  const auto c = multiply(version(), a, b, {1, 1, 2}).c;
  ASSERT_EQ(c.size(), 1U);
  EXPECT_NEAR(c[0], 1e10, 1e-5);
}

TEST_P(EachStep, MultipliesAtTheProgramsDefaultSize) {
  expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device([&] {
      return is_right(version(), {kDefaultSize, kDefaultSize, kDefaultSize});
    });
  });
}

TEST_P(EachStep, AddsUpThousandsOfProducts) {
  // Of random numbers, whose sums have all digits of a double, along all of k.
  expect_at_full_size([&] { return is_right(version(), {2, 3, 1031}, 7); });
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  lab::testing::expect_infinities_to_stay_in_their_row(by(version()));
}

TEST_P(EachStep, FillsBothTilesWithZerosPastTheEndOfK) {
  lab::testing::expect_infinities_to_end_with_k(by(version()));
}

TEST_P(EachStep, MultipliesZerosByInfinitiesAndByNaN) {
  lab::testing::expect_zeros_to_be_multiplied(by(version()));
}

TEST_P(EachStep, MakesAnEmptyProduct) { lab::testing::expect_empty_products(by(version())); }

TEST_P(EachStep, AddsNothingWhereKIsZero) {
  lab::testing::expect_zeros_where_k_is_zero(by(version()));
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputsAlone) { lab::testing::expect_inputs_left_alone(by(version())); }

TEST_P(EachStep, MultipliesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 1));
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 2));
}

TEST_P(EachStep, MultipliesOnEachDevice) {
  lab::testing::expect_products_on_each_device(by(version()));
}

// --- the errors that the program prints ----------------------------------------------------------

TEST(Reference, SeesErrorsThatASumInDoubleDoesNot) {
  // 1 + 2^-60, of which C has the 1 alone.
  const std::vector<double> a{1, 0x1p-30}, b{1, 0x1p-30}, c{1};
  EXPECT_EQ(largest_errors(c, a, b, {1, 1, 2}).of_sizes, 0x1p-60);
  // (1 + 2^-30)^2 is 1 + 2^-29 + 2^-60.
  const std::vector<double> x{1 + 0x1p-30}, square{1 + 0x1p-29};
  EXPECT_DOUBLE_EQ(largest_errors(square, x, x, {1, 1, 1}).of_sizes, 0x1p-60 / square[0]);
  // What cancels out is missing in C, not in sum |a * b|.
  const std::vector<double> signs{1, 1}, near{1, -1 + 0x1p-40}, nothing{0};
  const auto errors = largest_errors(nothing, signs, near, {1, 1, 2});
  EXPECT_DOUBLE_EQ(errors.of_sizes, 0x1p-40 / (2 - 0x1p-40));
  EXPECT_EQ(errors.of_result, 1);
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  lab::testing::expect_other_sizes_refused(by(version()));
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  lab::testing::expect_overflow_refused(by(version()));
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<double> a(40 * 40, 1.0);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), a, a, {40, 40, 40}).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = random_doubles(5 * 7, 1), b = random_doubles(7 * 3, 2);
  expect_failures_reported([&] { return multiply(version(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
