// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "tiled_matmul.hpp"

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
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "product_tests.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::tiled_matmul {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::tiled_matmul

namespace {

using lab::compare_product;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_exact_product;
using lab::testing::expect_failures_reported;
using lab::testing::expect_right_product;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::tiled_matmul::kDefaultSize;
using lab::tiled_matmul::multiply;
using lab::tiled_matmul::shape;
using lab::tiled_matmul::step;

struct named_step {
  step value;
  const char* name;
  std::size_t rows_of_block;  // of C, at least
};

constexpr named_step kSteps[] = {
    {step::tile_16, "tile_16", 16},        {step::tile_32, "tile_32", 32},
    {step::coarse_1d, "coarse_1d", 64},    {step::coarse_2d, "coarse_2d", 128},
    {step::vectorized, "vectorized", 128}, {step::double_buffered, "double_buffered", 128},
    {step::by_size, "by_size", 32}};

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

/// A step as the shared tests take it.
auto by(step version) {
  return [=](const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
             std::size_t k) {
    return multiply(version, a, b, {m, n, k}).c;
  };
}

// --- who does the work ---------------------------------------------------------------------------

lab::testing::work work_for(step version, shape size) {
  const lab::testing::factors given(size.m, size.n, size.k, 1);
  return work_of([&] {
    return matches(
        compare_product(multiply(version, given.a, given.b, size).c, given.a, given.b, size));
  });
}

REQUIRED_WORK(TilesThatAreReadOnce) {
  for (const auto& [version, name, rows] : kSteps) {
    // Two blocks of 128 x 128, which rows of other lengths fill no less; and a small C.
    for (const shape& size : {shape{256, 128, 64}, {255, 127, 19}, {40, 40, 40}}) {
      const std::size_t bytes_read = (size.m + size.n) * size.k * sizeof(float);
      const bool is_small = size.m < 128;
      // A tile may be loaded as a whole where it extends past A or B.
      const std::size_t tiles = ((size.m + rows - 1) / rows) * ((size.n + rows - 1) / rows);
      const std::size_t slices_of_32 = (size.k + 31) / 32;
      lab::testing::required expected{
          .threads = is_small ? 32U : 128U,
          .blocks = is_small ? 1U : 2U,
          .sent = bytes_read,
          .fetched = size.m * size.n * sizeof(float),
          .reads = bytes_read,
          .writes = size.m * size.n * sizeof(float),
          .reads_at_most = tiles * 2 * rows * slices_of_32 * 32 * sizeof(float) * 5 / 4,
          .shared_memory = true};
      if (version >= step::vectorized) {
        expected.bytes_a_shared_load = 16;
        if (size.n % 4 == 0 && size.k % 4 == 0) expected.bytes_a_load = 16;
      }
      if (version == step::double_buffered) {
        const std::size_t slices = (size.k + 7) / 8;
        // One for each slice, one before the first, and one to spare; two per slice would be more.
        expected.barriers = slices + 2;
        // All slices but the first are loaded while threads multiply the one before.
        expected.reads_while_loading = (slices - 1) * expected.threads * expected.blocks;
      }
      EXPECT_TRUE(as_required(work_for(version, size), expected))
          << name << ": m = " << size.m << ", n = " << size.n << ", k = " << size.k;
    }
    // A C that is smaller than any tile. A block of 128 x 128 may load what is outside of it as
    // well (in a slice of 32); without tiles, even the elements of C alone would need more.
    constexpr shape kCorner{13, 15, 31};
    constexpr std::size_t kTiles = std::size_t{2} * 128 * 32 * sizeof(float);
    static_assert(2 * kCorner.m * kCorner.n * kCorner.k * sizeof(float) > kTiles);
    EXPECT_TRUE(as_required(work_for(version, kCorner),
                            {.threads = 32, .reads_at_most = kTiles, .shared_memory = true}))
        << name << ": where tiles extend past C";
    if (version >= step::vectorized) {
      // Every row begins at a multiple of 16 bytes, however many rows there are.
      EXPECT_TRUE(as_required(work_for(version, {5, 12, 8}), {.threads = 32, .bytes_a_load = 16}))
          << name << ": m = 5, n = 12, k = 8";
    }
    EXPECT_TRUE(at_other_sizes([&, version = version](std::size_t n) {
      const lab::testing::factors given(n, n + 1, n, 1);
      const shape small{n, n + 1, n};
      return matches(
          compare_product(multiply(version, given.a, given.b, small).c, given.a, given.b, small));
    })) << name;
    EXPECT_TRUE(at_other_sizes([&, version = version](std::size_t n) {
      const lab::testing::factors given(n, 1, n, 1);
      const shape small{n, 1, n};
      return matches(
          compare_product(multiply(version, given.a, given.b, small).c, given.a, given.b, small));
    })) << name
        << ": a column, or a single element";
  }
}

void expect_tiles_that_suit(std::size_t processors) {
  SCOPED_TRACE(std::to_string(processors) + " multiprocessors");
  // At most every fourth multiprocessor (every second one of two) would have a tile of 128 x 128.
  const std::size_t tiles = (processors + 3) / 4;
  EXPECT_TRUE(as_required(work_for(step::by_size, {128, 128 * tiles, 24}),
                          {.threads = 128, .blocks = processors == 1 ? 1 : 2 * tiles}))
      << "by_size: multiprocessors are idle that smaller tiles would give work to";
  // Each has two of them: smaller ones would only be loaded more often.
  const shape large{256, 128 * processors, 24};
  EXPECT_TRUE(
      as_required(work_for(step::by_size, large),
                  {.threads = 128,
                   .reads_at_most = 2 * large.m * large.n * large.k * sizeof(float) / 128 * 5 / 4}))
      << "by_size: the tiles are smaller than they need to be";
}

REQUIRED_WORK(TilesThatSuitTheSizeOfC) {
  expect_tiles_that_suit(lab::device_limit(cudaDevAttrMultiProcessorCount));
#ifdef __CPU_DEVICE__
  const lab::testing::pretended_devices other([](cudaDeviceProp& p) { p.multiProcessorCount = 3; });
  expect_tiles_that_suit(3);
#endif
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

TEST_P(Product, IsRightToTheLastBit) {
  const auto& [version, size] = GetParam();
  expect_exact_product(by(version.value), size.m, size.n, size.k);
}

// The tiles are 16 to 128 wide and 8 to 32 deep; a float4 is 4: one less, that, and one
// more, in each of the three directions, and no two directions alike; and a cube, where a mix-up of
// A and B fits.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{48, 48, 48}, shape{1, 5, 3},
                                         shape{3, 1, 7}, shape{7, 4, 1}, shape{2, 8, 4},
                                         shape{15, 17, 16}, shape{16, 15, 17}, shape{17, 16, 15},
                                         shape{16, 32, 8}, shape{31, 33, 32}, shape{32, 31, 33},
                                         shape{33, 32, 31}, shape{64, 96, 32}, shape{1, 200, 100},
                                         shape{200, 1, 100}, shape{100, 200, 150},
                                         shape{127, 129, 9}, shape{128, 128, 8}, shape{129, 127, 7},
                                         shape{128, 256, 24}, shape{130, 132, 12},
                                         shape{257, 63, 20}, shape{40, 140, 6}, shape{40, 139, 8},
                                         shape{101, 103, 107})),
    [](const auto& info) {
      return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AddsALongRowTimesALongColumn) {
  expect_right_product(by(version()), 3, 5, 515, 4);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size(
      [&] { expect_exact_product(by(version()), kDefaultSize, kDefaultSize, kDefaultSize); });
}

// The sizes of the UVT report, with the blocks that it used (16 x 16, 32 x 32) where it names one
// kind only; its largest one for the step that came after it.
TEST(Tile16, Multiplies160x160By160x320) {
  expect_right_product(by(step::tile_16), 160, 320, 160, 2);
}
TEST(Tile32, Multiplies64x64By64x128) { expect_right_product(by(step::tile_32), 64, 128, 64, 1); }
TEST(Coarse2d, Multiplies320x320By320x640) {
  expect_right_product(by(step::coarse_2d), 320, 640, 320, 3);
}

// Which tiles are best depends on the size; all of them must be right.
TEST(BySize, MultipliesWhereEachOfItsTilingsIsUsed) {
  int device = 0, processors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const auto columns = 128 * static_cast<std::size_t>(processors);
  for (const std::size_t rows : {32, 64, 128})  // a block of 128 columns for each multiprocessor
    for (const std::size_t k : {20, 33})
      expect_right_product(by(step::by_size), rows, columns, k, 1);
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, MultipliesRandomMatrices) {
  const auto& [version, seed] = GetParam();
  expect_right_product(by(version.value), 70, 90, 50, 100 * seed);
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, ReadsNoInfinityPastTheEndOfK) {
  lab::testing::expect_infinities_to_end_with_k(by(version()));
}

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  lab::testing::expect_infinities_to_stay_in_their_row(by(version()));
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

TEST_P(EachStep, TakesMoreBlocksAcrossThanThereCanBeDown) {
  lab::testing::expect_more_blocks_across_than_down(by(version()));
}

TEST_P(EachStep, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  lab::testing::expect_too_many_rows_refused(by(version()), GetParam().rows_of_block);
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), a, a, {40, 40, 40}).kernel_ms;
  }));
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, SeesOneWrongElementAndNamesIt) {
  const shape size{3, 4, 2};
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> c = {11, 14, 17, 20, 23, 30, 37, 44, 35, 46, 57, 68};
  EXPECT_TRUE(compare_product(c, a, b, size));
  c[6] = 37.001F;
  EXPECT_FALSE(compare_product(c, a, b, size));
  EXPECT_NE(compare_product(c, a, b, size).message.find("row 1, column 2"), std::string::npos);
  EXPECT_TRUE(compare_product(c, a, b, size, 2)) << "rows 0 and 2 only";
  c[6] = 37;
  c[11] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(compare_product(c, a, b, size));
  EXPECT_FALSE(compare_product(c, a, b, size, 100)) << "the last row is always checked";
  c.pop_back();
  EXPECT_FALSE(compare_product(c, a, b, size));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = lab::random_floats(5 * 7, 1, -1, 3), b = lab::random_floats(7 * 3, 2, -9, 5);
  expect_failures_reported([&] { return multiply(version(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
