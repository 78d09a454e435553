// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "split_product.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
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

namespace lab::split_product {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::split_product

namespace {

using lab::split_product::check;
using lab::split_product::float_product;
using lab::split_product::kDefaultSize;
using lab::split_product::kHardToSplit;
using lab::split_product::kMostK;
using lab::split_product::largest_error;
using lab::split_product::multiply;
using lab::split_product::shape;
using lab::split_product::step;
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
constexpr named_step kSteps[] = {{step::one_product, "one_product"},
                                 {step::three_products, "three_products"},
                                 {step::six_products, "six_products"}};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

auto by(step version) {
  return [=](const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
             std::size_t k) {
    return multiply(version, a, b, {m, n, k}).c;
  };
}

::testing::AssertionResult is_right(step version, const std::vector<float>& a,
                                    const std::vector<float>& b, shape size) {
  return matches(check(version, multiply(version, a, b, size).c, a, b, size));
}
::testing::AssertionResult is_right(step version, shape size, std::uint64_t seed = 1) {
  return is_right(version, lab::random_floats(size.m * size.k, seed, -1, 3),
                  lab::random_floats(size.k * size.n, seed + 1, -20, 10), size);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(WarpsThatFormAllProductsOnTensorCores) {
  const shape size{256, 128, 96};
  const std::size_t products = size.m * size.n * size.k / (16 * 16 * 16);
  const std::size_t counts[] = {1, 3, 6};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [version, name] = kSteps[i];
    EXPECT_TRUE(as_required(work_of([version = version, size] { return is_right(version, size); }),
                            {.threads = 128,
                             .blocks = 2,
                             .sent = (size.m + size.n) * size.k * sizeof(float),
                             .fetched = size.m * size.n * sizeof(float),
                             .warp_functions = counts[i] * products,
                             .reads = (size.m + size.n) * size.k * sizeof(float),
                             .writes = size.m * size.n * sizeof(float),
                             .shared_memory = true}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {n, n + 1, n});
    })) << name;
    // Also where all pieces but the first ones are 0: two products of 16 x 16 x 16 for each pair.
    const shape small{16, 16, 32};
    const std::vector<float> ones(small.m * small.k, 1.0F);
    const auto of_ones =
        work_of([&, version = version] { return is_right(version, ones, ones, small); });
    std::uint64_t formed = 0;
    for (const auto& k : of_ones.kernels) formed += k.multiplications;
    EXPECT_GE(formed, counts[i] * 2) << name << ": some products of pieces are left out";
  }
}

REQUIRED_WORK(TilesInSharedMemory) {
  // A thread takes 16 bytes at once, at most. C has 15 elements, and can pass there, too.
  const shape size{3, 5, 32};
  const std::size_t elements = (size.m + size.n) * size.k, pieces[] = {1, 2, 3};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [version, name] = kSteps[i];
    const lab::testing::work done =
        work_of([version = version, size] { return is_right(version, size); });
    EXPECT_TRUE(as_required(done, {.threads = 1, .exchanges = elements * pieces[i] / 8})) << name;
  }
}

REQUIRED_WORK(SumsThatNobodyElseMakes) {
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(all_elements_need(source::tensor_cores, by(version))) << name;
}

// --- the steps differ by their errors ------------------------------------------------------------

TEST(Steps, DifferByAFactorOf100InTheWorstCase) {
  const shape size{3, 5, 16};
  const std::vector<float> a(size.m * size.k, kHardToSplit), b(size.k * size.n, -kHardToSplit);
  double error[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto c = multiply(kSteps[i].value, a, b, size).c;
    EXPECT_TRUE(matches(check(kSteps[i].value, c, a, b, size))) << kSteps[i].name;
    // It is worse than the next step may be.
    if (i < 2) {
      EXPECT_FALSE(check(kSteps[i + 1].value, c, a, b, size)) << kSteps[i].name;
    }
    error[i] = largest_error(c, a, b, size);
  }
  EXPECT_GT(error[0], 100 * error[1]);
  EXPECT_GT(error[1], 100 * error[2]);
}

TEST(SixProducts, AddsTheSmallProductsBeforeTheLargeOnes) {
  // Added to the largest product, almost every other one loses nearly half of the last digit.
  const shape size{2, 3, 16};
  const std::vector<float> a(size.m * size.k, 0x1.02675p+0F), b(size.k * size.n, 0x1.01880ep+0F);
  EXPECT_TRUE(is_right(step::six_products, a, b, size));
}

TEST(Steps, DifferForRandomNumbers) {
  const shape size{40, 50, 300};
  const auto a = lab::random_floats(size.m * size.k, 1, -1, 1);
  const auto b = lab::random_floats(size.k * size.n, 2, -1, 1);
  const auto error = [&](step version) {
    return largest_error(multiply(version, a, b, size).c, a, b, size);
  };
  const double one = error(step::one_product), three = error(step::three_products);
  EXPECT_GT(one, 100 * three);
  EXPECT_GT(three, 10 * error(step::six_products));  // where the sums are rounded, too
}

/// Not worse than a product in float, by more than the last digit: of random numbers, of positive
/// ones, of sums that almost cancel out, of one that is 0, and of numbers of all sizes.
TEST(SixProducts, AreAsAccurateAsAProductInFloat) {
  const shape size{30, 40, 512};
  const auto random = [](std::size_t n, std::uint64_t seed, float low, float high) {
    return lab::random_floats(n, seed, low, high);
  };
  const auto expect_accurate = [&](const std::vector<float>& a, const std::vector<float>& b,
                                   const char* label) {
    const auto c = multiply(step::six_products, a, b, size).c;
    EXPECT_TRUE(matches(check(step::six_products, c, a, b, size))) << label;
    EXPECT_LE(largest_error(c, a, b, size),
              2 + largest_error(float_product(a, b, size), a, b, size))
        << label;
  };
  std::vector<float> a = random(size.m * size.k, 1, -1, 1), b = random(size.k * size.n, 2, -1, 1);
  expect_accurate(a, b, "random");
  expect_accurate(random(size.m * size.k, 3, 1, 2), random(size.k * size.n, 4, 1, 2), "positive");
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = std::ldexp(a[i], static_cast<int>(i * 37 % 101) - 50);
  for (std::size_t i = 0; i < b.size(); ++i)
    b[i] = std::ldexp(b[i], static_cast<int>(i * 53 % 101) - 50);
  expect_accurate(a, b, "wide");
  for (std::size_t i = size.k / 2; i < size.k; ++i) {
    for (std::size_t row = 0; row < size.m; ++row)
      a[row * size.k + i] = a[row * size.k + i - size.k / 2];
    for (std::size_t column = 0; column < size.n; ++column)
      b[i * size.n + column] = -b[(i - size.k / 2) * size.n + column] * (1 + 0x1p-20F);
  }
  expect_accurate(a, b, "cancelling");
}

/// After a first product of 1, the others are a little less than half of what a float near 1 can
/// tell apart. Added one after the other they are lost, 16 at a time they are not.
TEST(EveryStep, AddsSixteenProductsBeforeItAddsThemToTheSum) {
  const shape size{2, 3, 1024};
  std::vector<float> a(size.m * size.k, 0x1p-12F), b(size.k * size.n, 0.75F * 0x1p-12F);
  for (std::size_t row = 0; row < size.m; ++row) a[row * size.k] = 1;
  for (std::size_t column = 0; column < size.n; ++column) b[column] = 1;
  ASSERT_FALSE(check(step::six_products, float_product(a, b, size), a, b, size));
  for (const auto& [version, name] : kSteps)  // all of these numbers are bfloat16
    EXPECT_TRUE(matches(check(step::six_products, multiply(version, a, b, size).c, a, b, size)))
        << name;
}

/// 32 products would be lost beside the first one if they were added to it one after the other;
/// what 16 of them give is not.
TEST(EveryStep, AddsEachSixteenProductsFromZeroOn) {
  const shape size{2, 3, 64};
  std::vector<float> a(size.m * size.k, 0x1p-12F), b(size.k * size.n, 0.75F * 0x1p-12F);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < 16; ++i) a[row * size.k + i] = i == 0 ? 1.0F : 0.0F;
  for (std::size_t column = 0; column < size.n; ++column) b[column] = 1;
  for (const auto& [version, name] : kSteps)  // all of these numbers are bfloat16
    EXPECT_TRUE(matches(lab::compare_exact(multiply(version, a, b, size).c,
                                           std::vector<float>(6, 1 + 36 * 0x1p-24F))))
        << name;
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

/// Whole numbers of as many digits as the step's pieces have: it gives the exact result.
TEST_P(Product, OfNumbersThatNeedNoMorePiecesIsExact) {
  const auto& [version, size] = GetParam();
  const int most = version.value == step::one_product ? 60 : 300;
  const auto whole = [most](std::size_t n, std::uint64_t seed) {
    const auto numbers = lab::random_ints(n, seed, -most / 2, most);
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  ASSERT_LT(static_cast<double>(size.k) * most * 60, 0x1p24);
  const std::vector<float> a = whole(size.m * size.k, 1);
  std::vector<float> b = whole(size.k * size.n, 2);
  if (version.value != step::one_product)
    for (float& x : b) x = std::fmod(x, 50.0F);  // one piece: so no product of pieces is left out
  std::vector<double> expected(size.m * size.n);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column)
        expected[row * size.n + column] +=
            static_cast<double>(a[row * size.k + i]) * static_cast<double>(b[i * size.n + column]);
  EXPECT_TRUE(matches(lab::compare_exact(multiply(version.value, a, b, size).c, expected)));
  EXPECT_TRUE(is_right(version.value, size));
}

// Tiles are multiples of 16, 32, 64 and 128: one less, that, and one more, in each of the three
// directions; no two directions alike; k with one slice, as many as stages, and more.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{1, 5, 3}, shape{5, 1, 7},
                                         shape{15, 17, 16}, shape{17, 15, 17}, shape{31, 33, 32},
                                         shape{33, 31, 33}, shape{64, 66, 31}, shape{127, 129, 64},
                                         shape{128, 130, 65}, shape{129, 127, 97},
                                         shape{10, 300, 128}, shape{1100, 4, 2}, shape{3, 2, 515})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesAtTheProgramsDefaultSize) {
  expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device([&] {
      return is_right(version(), {kDefaultSize, kDefaultSize, kDefaultSize});
    });
  });
}

TEST_P(EachStep, MultipliesMoreRowsThanABandOfBlocksHas) {
  // Bands of eight blocks of 128 x 128: the second one has a single row of blocks, and two columns.
  expect_at_full_size([&] { return is_right(version(), {1030, 130, 2}); });
}

// --- the ends of the range -----------------------------------------------------------------------

TEST_P(EachStep, TakesTheLargestAndTheSmallestFloats) {
  const float largest = std::numeric_limits<float>::max(), least = 0x1p-126F,
              subnormal = std::numeric_limits<float>::denorm_min();
  // Alternating: the largest one overflows bfloat16 when rounded. Each row and column has its own.
  const shape size{4, 5, 3};
  const std::vector<float> a = {largest,         -largest,
                                largest / 3,  //
                                least,           least * 1.7F,
                                -3 * least,  //
                                subnormal,       12345 * subnormal,
                                -77 * subnormal,  //
                                1e-30F,          1.1F,
                                -1e30F};
  const std::vector<float> b = {0.9F, least,      subnormal,       largest, 1e-8F,  //
                                0.3F, 3 * least,  99 * subnormal,  1e38F,   -1e8F,  //
                                0.7F, -5 * least, 321 * subnormal, -1e38F,  3e-3F};
  const auto c = multiply(version(), a, b, size).c;
  EXPECT_TRUE(matches(check(version(), c, a, b, size)));
  EXPECT_TRUE(std::isfinite(c[0]));
  EXPECT_GT(std::fabs(c[1]), 0.0F);  // huge times tiny
}

TEST_P(EachStep, KeepsTheDigitsOfTinyRowsAndColumns) {
  const shape size{20, 30, 40};
  auto a = lab::random_floats(size.m * size.k, 1, 1, 2);
  auto b = lab::random_floats(size.k * size.n, 2, 1, 2);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < size.k; ++i)
      a[row * size.k + i] = std::ldexp(a[row * size.k + i], static_cast<int>(row) * 6 - 126);
  for (std::size_t i = 0; i < size.k; ++i)
    for (std::size_t column = 0; column < size.n; ++column)
      b[i * size.n + column] =
          std::ldexp(b[i * size.n + column], 116 - static_cast<int>(column) * 7);
  EXPECT_TRUE(is_right(version(), a, b, size));
}

TEST_P(EachStep, KeepsTheDigitsOfWhatIsTinyInItsRow) {
  // The largest element of each row of A meets a 0, so the tiny ones make C. Then the same for B.
  const shape size{20, 20, 40};
  const auto ones = lab::random_floats(size.m * size.k, 1, 1, 2);
  for (const int exponent : {-30, -60, -90}) {
    auto a = ones, b = ones;
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::ldexp(a[i], exponent);
    for (std::size_t row = 0; row < size.m; ++row) a[row * size.k + 7] = 0x1.234p+40F;
    for (std::size_t column = 0; column < size.n; ++column) b[7 * size.n + column] = 0;
    EXPECT_TRUE(is_right(version(), a, b, size)) << "2^" << exponent << " in A";
    std::vector<float> a_by_columns(a.size()), b_by_rows(b.size());
    for (std::size_t row = 0; row < size.m; ++row)
      for (std::size_t i = 0; i < size.k; ++i) {
        a_by_columns[i * size.m + row] = a[row * size.k + i];
        b_by_rows[row * size.k + i] = b[i * size.n + row];
      }
    EXPECT_TRUE(is_right(version(), b_by_rows, a_by_columns, size)) << "2^" << exponent << " in B";
  }
}

TEST_P(EachStep, ScalesLongRowsAndColumnsByTheirLargestElement) {
  // Each row of A and column of B has its own size. The largest element of a row is its last one,
  // those of two columns are the first one and the last but one; they meet zeros.
  constexpr std::size_t kLong = 2111;
  expect_at_full_size([&] {
    const shape size{2, 3, kLong};
    auto a = lab::random_floats(size.m * size.k, 1, 1, 2);
    auto b = lab::random_floats(size.k * size.n, 2, 1, 2);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (i >= kLong) a[i] *= 0x1p-110F;
      if (i % kLong == 0 || i % kLong == kLong - 2) a[i] = 0;
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      b[i] = std::ldexp(b[i], -50 * static_cast<int>(i % size.n));
      if (i / size.n == kLong - 1) b[i] = 0;
    }
    a[kLong - 1] *= 0x1p+90F;
    b[1] *= 0x1p+90F;
    b[(kLong - 2) * size.n] *= 0x1p+90F;
    return is_right(version(), a, b, size);
  });
}

TEST_P(EachStep, ScalesEachOfManyRowsAndColumns) {
  // Three neighbours have elements of about 2^-100, 1 and 2^100.
  constexpr std::size_t kMany = 2111;
  expect_at_full_size([&] {
    for (const shape size : {shape{kMany, 2, 3}, shape{2, kMany, 3}}) {
      auto a = lab::random_floats(size.m * size.k, 3, 1, 2);
      auto b = lab::random_floats(size.k * size.n, 4, 1, 2);
      const bool rows = size.m == kMany;
      std::vector<float>& factor = rows ? a : b;
      for (std::size_t i = 0; i < factor.size(); ++i) {
        const std::size_t number = rows ? i / size.k : i % size.n;
        factor[i] = std::ldexp(factor[i], 100 * (static_cast<int>(number % 3) - 1));
      }
      if (const auto right = is_right(version(), a, b, size); !right) return right;
    }
    return ::testing::AssertionSuccess();
  });
}

TEST_P(EachStep, OverflowsToTheRightInfinity) {
  const auto c = multiply(version(), std::vector<float>{1e30F, -1e30F, 1e30F, 1e30F},
                          std::vector<float>{1e10F, 1e10F}, {2, 1, 2})
                     .c;
  ASSERT_EQ(c.size(), 2U);
  EXPECT_EQ(c[0], 0.0F);  // an overflow on the way does not matter
  EXPECT_EQ(c[1], kInfinity);
}

TEST_P(EachStep, OverflowsNowhereOnTheWayThroughLongRows) {
  // The sum of all products is 0, but those of the first half, 2^126 each, are together far too
  // large for a float, and so are most other parts of the sum.
  constexpr std::size_t kLong = 4500;
  expect_at_full_size([&] {
    const shape size{1, 2, kLong};
    const std::vector<float> b(size.k * size.n, 0x1p63F);
    std::vector<float> a(size.k, 0x1p63F);
    std::fill(a.begin() + kLong / 2, a.end(), -0x1p63F);
    return is_right(version(), a, b, size);
  });
}

// --- infinities and NaN --------------------------------------------------------------------------

TEST_P(EachStep, MakesOfInfinitiesAndNansWhatFloatsMake) {
  const shape size{7, 6, 20};
  auto a = lab::random_floats(size.m * size.k, 1, 1, 2);
  auto b = lab::random_floats(size.k * size.n, 2, 1, 2);
  a[1 * size.k + 3] = kInfinity;
  a[2 * size.k + 4] = -kInfinity;
  a[3 * size.k + 19] = kNan;
  a[4 * size.k + 5] = kInfinity, a[4 * size.k + 6] = -kInfinity;
  b[3 * size.n + 1] = 0;  // times the infinity of row 1
  b[4 * size.n + 2] = -3;
  b[7 * size.n + 4] = kInfinity;
  b[9 * size.n + 5] = kNan;
  const auto c = multiply(version(), a, b, size).c;
  EXPECT_TRUE(matches(check(version(), c, a, b, size)));
  const auto at = [&](std::size_t row, std::size_t column) { return c[row * size.n + column]; };
  EXPECT_EQ(at(1, 0), kInfinity);
  EXPECT_TRUE(std::isnan(at(1, 1)));
  EXPECT_EQ(at(2, 0), -kInfinity);
  EXPECT_EQ(at(2, 2), kInfinity);
  EXPECT_TRUE(std::isnan(at(2, 4)));  // both infinities
  EXPECT_TRUE(std::isnan(at(3, 0)));
  EXPECT_TRUE(std::isnan(at(4, 0)));
  EXPECT_EQ(at(0, 4), kInfinity);
  EXPECT_TRUE(std::isnan(at(0, 5)));
  EXPECT_TRUE(std::isfinite(at(0, 0)));
  EXPECT_TRUE(std::isfinite(at(6, 3)));
}

// --- the edges -----------------------------------------------------------------------------------

TEST_P(EachStep, MakesAnEmptyProduct) { lab::testing::expect_empty_products(by(version())); }

TEST_P(EachStep, AddsNothingWhereKIsZero) {
  lab::testing::expect_zeros_where_k_is_zero(by(version()));
}

TEST_P(EachStep, MakesZerosOfZeros) {
  const shape size{20, 3, 17};
  const std::vector<float> zeros(size.m * size.k), b(size.k * size.n, 5.0F);
  EXPECT_TRUE(
      matches(lab::compare_exact(multiply(version(), zeros, b, size).c, std::vector<float>(60))));
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputsAlone) { lab::testing::expect_inputs_left_alone(by(version())); }

TEST_P(EachStep, MultipliesWhatIsThereNow) {
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 1));
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 2));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  lab::testing::expect_other_sizes_refused(by(version()));
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  lab::testing::expect_overflow_refused(by(version()));
}

TEST_P(EachStep, RefusesAKWhoseSumsCouldOverflow) {
  const std::vector<float> none;
  EXPECT_NO_THROW(multiply(version(), none, none, {0, 0, kMostK}));
  EXPECT_THROW(multiply(version(), none, none, {0, 0, kMostK + 1}), lab::invalid_input);
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] {
    return multiply(version(), a, a, {40, 40, 40}).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = lab::random_floats(5 * 7, 1, -1, 3), b = lab::random_floats(7 * 3, 2, -9, 5);
  expect_failures_reported([&] { return multiply(version(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
