// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "async_copy.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::async_copy {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::async_copy

namespace {

using lab::async_copy::check;
using lab::async_copy::multiply;
using lab::async_copy::shape;
using lab::async_copy::step;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::waiting, "waiting"},
                                 {step::async_copy, "async_copy"},
                                 {step::two_stages, "two_stages"},
                                 {step::stages, "stages"}};
constexpr std::size_t kTile = 32;

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

/// Random numbers, different everywhere, of both signs; A and B of different sizes.
void expect_right_product(step which, shape size, std::uint64_t seed, int stages = 3) {
  const auto a = lab::random_floats(size.m * size.k, seed, -1, 3);
  const auto b = lab::random_floats(size.k * size.n, seed + 1, -20, 10);
  EXPECT_TRUE(matches(check(multiply(which, a, b, size, stages).c, a, b, size)));
}

/// Whole numbers: nothing is rounded, so every order of the sums gives the same.
void expect_exact_product(step which, shape size, int stages) {
  const auto a_ints = lab::random_ints(size.m * size.k, 1, -30, 50);
  const auto b_ints = lab::random_ints(size.k * size.n, 2, -70, 60);
  ASSERT_LT(50.0 * 70.0 * static_cast<double>(size.k), 0x1p24) << "the sums would be rounded";
  const std::vector<float> a(a_ints.begin(), a_ints.end()), b(b_ints.begin(), b_ints.end());
  std::vector<double> expected(size.m * size.n);  // exact: all are whole numbers
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column)
        expected[row * size.n + column] +=
            static_cast<double>(a_ints[row * size.k + i] * b_ints[i * size.n + column]);
  EXPECT_TRUE(matches(lab::compare_exact(multiply(which, a, b, size, stages).c, expected)));
}

// --- who does the work ---------------------------------------------------------------------------

lab::testing::work work_with(step which, shape size, int stages) {
  const auto a = lab::random_floats(size.m * size.k, 1, -1, 3);
  const auto b = lab::random_floats(size.k * size.n, 2, -20, 10);
  return work_of([&] { return matches(check(multiply(which, a, b, size, stages).c, a, b, size)); });
}

lab::testing::required tiles_for(shape size) {
  const std::size_t of_factors = (size.m + size.n) * size.k * sizeof(float);
  const std::size_t of_product = size.m * size.n * sizeof(float);
  const std::size_t untiled = 2 * size.m * size.n * size.k * sizeof(float);
  return {.threads = 128,
          .blocks = 2,
          .sent = of_factors,
          .fetched = of_product,
          .reads = of_factors,
          .writes = of_product,
          .reads_at_most = untiled / kTile * 5 / 4,
          .shared_memory = true};
}

REQUIRED_WORK(TilesThatAreReadOnce) {
  const shape size{96, 64, 160};
  for (const auto& [which, name] : kSteps) {
    lab::testing::required what = tiles_for(size);
    what.bytes_a_load = 16;
    if (which != step::waiting) what.async_bytes = (size.m + size.n) * size.k * sizeof(float);
    // One for each tile, and two to spare. With two for each there would be ten.
    if (which == step::two_stages) what.barriers = size.k / kTile + 2;
    EXPECT_TRUE(as_required(work_with(which, size, 3), what)) << name;
  }
}

REQUIRED_WORK(CopiesThatAreUnderWayWhileTheThreadMultiplies) {
  const shape size{64, 32, 320};
  lab::testing::required what = tiles_for(size);
  what.copies_under_way = 2;  // of A and of B
  EXPECT_TRUE(as_required(work_with(step::two_stages, size, 2), what)) << "two_stages";
  for (const int stages : {2, 3, 4}) {
    what.copies_under_way = 2 * static_cast<std::size_t>(stages - 1);
    EXPECT_TRUE(as_required(work_with(step::stages, size, stages), what))
        << "stages, with " << stages << " of them";
  }
}

REQUIRED_WORK(AsynchronousCopiesOfRowsThatAreNotAligned) {
  const shape size{50, 61, 90};  // four bytes at a time
  for (const auto& [which, name] : kSteps) {
    lab::testing::required what;
    if (which != step::waiting) what.async_bytes = (size.m + size.n) * size.k * sizeof(float);
    EXPECT_TRUE(as_required(work_with(which, size, 3), what)) << name;
  }
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

TEST_P(Product, IsRightToTheLastBit) {
  const auto& [which, size] = GetParam();
  expect_exact_product(which.value, size, 3);
}

// Tiles are 32 x 32, and four neighbours are brought in together: one less, that, and one more, in
// each of the three directions, and no two directions alike; one tile of k, two, three and many.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{48, 48, 48}, shape{1, 5, 3},
                                         shape{3, 1, 7}, shape{7, 4, 1}, shape{2, 8, 4},
                                         shape{31, 33, 32}, shape{32, 31, 33}, shape{33, 32, 31},
                                         shape{32, 32, 32}, shape{64, 96, 64}, shape{33, 36, 68},
                                         shape{34, 68, 96}, shape{5, 200, 100}, shape{65, 4, 128},
                                         shape{40, 30, 129}, shape{101, 103, 107},
                                         shape{4, 3, 515})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
    });

// From fewer slices than stages to many more, the last one a whole one and a part.
TEST(Stages, AreAsManyAsTheCallSays) {
  for (const int stages : {2, 3, 4})
    for (std::size_t slices = 0; slices <= 9; ++slices)
      for (const std::size_t more : {0, 1, 4}) {
        const std::size_t k = slices * kTile + more;
        SCOPED_TRACE(std::to_string(stages) + " stages, k = " + std::to_string(k));
        expect_exact_product(step::stages, {3, 36, k}, stages);
      }
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesRandomMatrices) {
  expect_right_product(which(), {70, 90, 150}, 3);
  expect_right_product(which(), {36, 68, 200}, 5);
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  // A tile that sticks out of A must not take in the next row, whose numbers lie behind the
  // end of this one: infinity times a zero of B would be a NaN. Of the last four numbers that are
  // brought in together, one, two, three or all belong to the row.
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t k : {17, 18, 19, 20}) {
    SCOPED_TRACE("k = " + std::to_string(k));
    const shape size{20, 21, k};
    auto a = lab::random_floats(size.m * size.k, 5, 1, 2);
    const auto b = lab::random_floats(size.k * size.n, 6, 1, 2);
    for (std::size_t i = 0; i < 7; ++i) a[11 * size.k + i] = kInfinity;
    const auto c = multiply(which(), a, b, size).c;
    EXPECT_TRUE(matches(check(c, a, b, size)));
    EXPECT_EQ(c[11 * size.n], kInfinity);
    EXPECT_TRUE(std::isfinite(c[10 * size.n])) << "the infinities of row 11 are in row 10";
  }
}

TEST_P(EachStep, MakesAnEmptyProduct) {
  const std::vector<float> none, six(6, 1.0F);
  EXPECT_TRUE(multiply(which(), none, six, {0, 3, 2}).c.empty());
  EXPECT_TRUE(multiply(which(), six, none, {3, 0, 2}).c.empty());
  EXPECT_TRUE(multiply(which(), none, none, {0, 0, 0}).c.empty());
}

TEST_P(EachStep, AddsNothingWhereKIsZero) {
  const auto c = multiply(which(), {}, {}, {3, 5, 0}).c;
  EXPECT_TRUE(matches(lab::compare_exact(c, std::vector<float>(15))));
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputsAlone) {
  const auto a = lab::random_floats(30 * 40, 7, -1, 1), b = lab::random_floats(40 * 50, 8, -1, 1);
  auto a_given = a, b_given = b;
  multiply(which(), a_given, b_given, {30, 50, 40});
  EXPECT_EQ(a_given, a);
  EXPECT_EQ(b_given, b);
}

TEST_P(EachStep, MultipliesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is given out again would be wrong.
  expect_right_product(which(), {50, 60, 70}, 1);
  expect_right_product(which(), {50, 60, 70}, 2);
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  const std::vector<float> six(6, 1.0F), twelve(12, 1.0F), none;
  EXPECT_NO_THROW(multiply(which(), six, twelve, {2, 4, 3}));
  EXPECT_THROW(multiply(which(), six, twelve, {2, 4, 2}), lab::invalid_input);
  EXPECT_THROW(multiply(which(), six, twelve, {3, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(which(), six, twelve, {2, 3, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(which(), none, twelve, {2, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(which(), six, none, {2, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(which(), six, six, {2, 0, 3}), lab::invalid_input);
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  const std::vector<float> none;
  EXPECT_THROW(multiply(which(), none, none, {kHuge, kHuge, kHuge}), lab::invalid_input);
}

TEST_P(EachStep, RefusesTooFewAndTooManyStages) {
  const std::vector<float> six(6, 1.0F), twelve(12, 1.0F);
  for (const int stages : {2, 4})
    EXPECT_NO_THROW(multiply(which(), six, twelve, {2, 4, 3}, stages));
  for (const int stages : {-1, 0, 1, 5})
    EXPECT_THROW(multiply(which(), six, twelve, {2, 4, 3}, stages), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t rows = static_cast<std::size_t>(limit) * kTile + 1;
  const std::vector<float> a(rows), b(1);
  try {
    multiply(which(), a, b, {rows, 1, 1});
    FAIL() << rows << " rows were not refused";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(limit)), std::string::npos)
        << error.what();
  }
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  const float milliseconds = multiply(which(), a, a, {40, 40, 40}).kernel_ms;
  EXPECT_GT(milliseconds, 0.0F);
  EXPECT_LT(milliseconds, 60'000.0F);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = lab::random_floats(5 * 7, 1, -1, 3), b = lab::random_floats(7 * 3, 2, -9, 5);
  expect_failures_reported([&] { return multiply(which(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
