// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "async_copy.hpp"

#include <cuda_runtime.h>

#include <algorithm>
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
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "product_tests.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::async_copy {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::async_copy

namespace {

using lab::compare_product;
using lab::async_copy::kDefaultSize;
using lab::async_copy::multiply;
using lab::async_copy::shape;
using lab::async_copy::step;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_exact_product;
using lab::testing::expect_failures_reported;
using lab::testing::expect_right_product;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
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

/// A step as the shared tests take it.
auto by(step version, int stages = 3) {
  return [=](const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
             std::size_t k) {
    return multiply(version, a, b, {m, n, k}, stages).c;
  };
}

// --- who does the work ---------------------------------------------------------------------------

::testing::AssertionResult is_right(step version, shape size, int stages) {
  const auto a = lab::random_floats(size.m * size.k, 1, -1, 3);
  const auto b = lab::random_floats(size.k * size.n, 2, -20, 10);
  return matches(compare_product(multiply(version, a, b, size, stages).c, a, b, size));
}
lab::testing::work work_with(step version, shape size, int stages) {
  return work_of([&] { return is_right(version, size, stages); });
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
  const shape size{95, 64, 160};  // of m, alignment does not depend
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected = tiles_for(size);
    expected.bytes_a_load = 16;
    if (version != step::waiting) expected.async_bytes = (size.m + size.n) * size.k * sizeof(float);
    // One for each tile, and two to spare. With two for each there would be ten.
    if (version == step::two_stages || version == step::stages)
      expected.barriers = size.k / kTile + 2;
    EXPECT_TRUE(as_required(work_with(version, size, 3), expected)) << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {n, n + 1, n}, 3);
    })) << name;
  }
}

/// How many copies of a slice some thread makes: of A and of B, unless there are as many threads as
/// pieces of both.
std::size_t copies_of_a_slice(const lab::testing::work& done) {
  constexpr std::uint64_t kPieces = 2 * kTile * kTile / 4;
  std::uint64_t threads = 1;
  for (const auto& kernel : done.kernels) threads = std::max(threads, kernel.threads_per_block);
  return threads < kPieces ? 2 : 1;
}

REQUIRED_WORK(CopiesThatAreUnderWayWhileTheThreadMultiplies) {
  const shape size{64, 32, 320};
  lab::testing::required expected = tiles_for(size);
  const auto two = work_with(step::two_stages, size, 2);
  expected.copies_under_way = copies_of_a_slice(two);
  EXPECT_TRUE(as_required(two, expected)) << "two_stages";
  for (const int stages : {2, 3, 4}) {
    const auto done = work_with(step::stages, size, stages);
    expected.copies_under_way = copies_of_a_slice(done) * static_cast<std::size_t>(stages - 1);
    EXPECT_TRUE(as_required(done, expected)) << "stages, with " << stages << " of them";
  }
}

REQUIRED_WORK(CopiesThatAreUnderWayWhateverTheShape) {
  // One tile of C or a few; two slices of k or many; rows that are aligned, and rows that are not.
  for (const shape other : {shape{31, 32, 64}, shape{30, 29, 65}, shape{40, 33, 161}})
    for (const int stages : {2, 3, 4}) {
      const std::size_t slices = (other.k + kTile - 1) / kTile;
      lab::testing::required expected{.barriers = slices + 2, .shared_memory = true};
      if (stages == 2) {
        const auto two = work_with(step::two_stages, other, 2);
        expected.copies_under_way = copies_of_a_slice(two);
        EXPECT_TRUE(as_required(two, expected)) << "two_stages: " << name_of(other);
      }
      const auto done = work_with(step::stages, other, stages);
      expected.copies_under_way =
          copies_of_a_slice(done) *
          std::min<std::size_t>(static_cast<std::size_t>(stages) - 1, slices - 1);
      EXPECT_TRUE(as_required(done, expected))
          << "stages, with " << stages << " of them: " << name_of(other);
    }
}

REQUIRED_WORK(AsynchronousCopiesOfRowsThatAreNotAligned) {
  const shape size{50, 61, 90};  // four bytes at a time
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected;
    if (version != step::waiting) expected.async_bytes = (size.m + size.n) * size.k * sizeof(float);
    EXPECT_TRUE(as_required(work_with(version, size, 3), expected)) << name;
  }
}

REQUIRED_WORK(AsynchronousCopiesWhateverTheShape) {
  // One tile of C, so nothing is brought in twice. k is no multiple of 32, or there is only one
  // slice of it; then a single column of C, and a single row. The tiles may be filled up with zeros
  // in global memory already.
  for (const shape size :
       {shape{31, 32, 100}, shape{31, 29, 90}, shape{32, 32, 32}, shape{30, 27, 9},
        shape{31, 1, 70}, shape{1, 31, 70}, shape{7, 4, 8}, shape{1, 1, 1}})
    for (const auto& [version, name] : kSteps) {
      const std::size_t bytes = (size.m + size.n) * size.k * sizeof(float);
      const std::size_t slices = (size.k + kTile - 1) / kTile;
      lab::testing::required expected{
          .threads = std::min<std::size_t>(8, size.m * size.n),
          .reads = bytes,
          .reads_at_most = bytes + slices * 2 * kTile * kTile * sizeof(float),
          .bytes_a_load = size.n % 4 == 0 && size.k % 4 == 0 ? 16U : 0,
          .shared_memory = true};
      if (version != step::waiting) expected.async_bytes = bytes;
      EXPECT_TRUE(as_required(work_with(version, size, 3), expected))
          << name << ": " << name_of(size);
    }
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

TEST_P(Product, IsRightToTheLastBit) {
  const auto& [version, size] = GetParam();
  expect_exact_product(by(version.value), size.m, size.n, size.k);
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
        expect_exact_product(by(step::stages, stages), 3, 36, k);
      }
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesRandomMatrices) {
  expect_right_product(by(version()), 70, 90, 150, 3);
  expect_right_product(by(version()), 36, 68, 200, 5);
}

TEST_P(EachStep, IsExactForThousandsOfBlocksEachWay) {
  expect_at_full_size([&] {  // more than a guess of what is enough
    expect_exact_product(by(version()), 3, 4099 * 32, 2);
    expect_exact_product(by(version()), 4099 * 32, 3, 2);
  });
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size(
      [&] { expect_exact_product(by(version()), kDefaultSize, kDefaultSize, kDefaultSize); });
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  lab::testing::expect_infinities_to_stay_in_their_row(by(version()));
}

TEST_P(EachStep, ReadsNoInfinityPastTheEndOfK) {
  lab::testing::expect_infinities_to_end_with_k(by(version()));
}

TEST_P(EachStep, MultipliesZerosByInfinitiesAndByNaN) {
  lab::testing::expect_zeros_to_be_multiplied(by(version()));
}

TEST_P(EachStep, PassesNaNOnWhereItMeetsZeros) {
  std::vector<float> a(40 * 50, 1.0F);
  a[7 * 50 + 3] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> c = multiply(version(), a, std::vector<float>(50 * 36), {40, 36, 50}).c;
  for (std::size_t i = 0; i < c.size(); ++i)
    ASSERT_EQ(std::isnan(c[i]), i / 36 == 7) << "row " << i / 36 << ", column " << i % 36;
}

TEST_P(EachStep, MakesAnEmptyProduct) { lab::testing::expect_empty_products(by(version())); }

TEST_P(EachStep, AddsNothingWhereKIsZero) {
  lab::testing::expect_zeros_where_k_is_zero(by(version()));
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputsAlone) { lab::testing::expect_inputs_left_alone(by(version())); }

TEST_P(EachStep, MultipliesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  expect_right_product(by(version()), 50, 60, 70, 1);
  expect_right_product(by(version()), 50, 60, 70, 2);
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  lab::testing::expect_other_sizes_refused(by(version()));
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  lab::testing::expect_overflow_refused(by(version()));
}

TEST_P(EachStep, RefusesTooFewAndTooManyStages) {
  const std::vector<float> six(6, 1.0F), twelve(12, 1.0F);
  for (const int stages : {2, 4})
    EXPECT_NO_THROW(multiply(version(), six, twelve, {2, 4, 3}, stages));
  const std::vector<float> none;
  for (const int stages : {-1, 0, 1, 5}) {
    EXPECT_THROW(multiply(version(), six, twelve, {2, 4, 3}, stages), lab::invalid_input);
    EXPECT_THROW(multiply(version(), none, none, {2, 4, 0}, stages), lab::invalid_input);
    EXPECT_THROW(multiply(version(), none, twelve, {0, 4, 3}, stages), lab::invalid_input);
  }
}

TEST_P(EachStep, TakesMoreBlocksAcrossThanThereCanBeDown) {
  lab::testing::expect_more_blocks_across_than_down(by(version()));
}

TEST_P(EachStep, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  lab::testing::expect_too_many_rows_refused(by(version()), kTile);
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), a, a, {40, 40, 40}).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = lab::random_floats(5 * 7, 1, -1, 3), b = lab::random_floats(7 * 3, 2, -9, 5);
  expect_failures_reported([&] { return multiply(version(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
