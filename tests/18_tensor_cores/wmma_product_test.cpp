// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "wmma_product.hpp"

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
#include "lab/known_product.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "product_tests.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::wmma_product {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::wmma_product

namespace {

using lab::testing::all_elements_need;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_exact_product;
using lab::testing::expect_failures_reported;
using lab::testing::factors;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::source;
using lab::testing::timed;
using lab::testing::work_of;
using lab::wmma_product::check;
using lab::wmma_product::kDefaultSize;
using lab::wmma_product::multiply;
using lab::wmma_product::round_to_half;
using lab::wmma_product::shape;
using lab::wmma_product::step;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_tile_a_warp, "one_tile_a_warp"},
                                 {step::shared_tiles, "shared_tiles"},
                                 {step::register_blocks, "register_blocks"}};
constexpr std::size_t kTile = 16;  // elements of a fragment, in each direction
constexpr float kInfinity = std::numeric_limits<float>::infinity();

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

::testing::AssertionResult is_right(step version, shape size, std::uint64_t seed) {
  const factors given(size.m, size.n, size.k, seed);
  return matches(check(multiply(version, given.a, given.b, size).c, given.a, given.b, size));
}

// --- who does the work ---------------------------------------------------------------------------

/// How many products of two fragments C needs.
std::uint64_t products_of(shape size) {
  return size.m / kTile * (size.n / kTile) * (size.k / kTile);
}

REQUIRED_WORK(WarpsThatMultiplyOnTensorCores) {
  const shape size{144, 192, 32};
  for (const auto& [version, name] : kSteps) {
    const std::size_t elements = (size.m + size.n) * size.k;
    EXPECT_TRUE(as_required(
        work_of([&, version = version] { return is_right(version, size, 1); }),
        {.threads = 128,
         .sent = elements * sizeof(float),
         .fetched = size.m * size.n * sizeof(float),
         // A product, and the two fragments that it needs. (Those of
         // register_blocks are used more than once.)
         .warp_functions = products_of(size) * (version == step::register_blocks ? 1 : 3),
         .reads = elements * 2,
         .writes = size.m * size.n * sizeof(float),
         // As floats once, to be rounded; then as halves, by fragments: a lane that multiplies
         // without tensor cores reads a row and a column for each of its elements.
         .reads_at_most =
             elements * sizeof(float) + 2 * 2 * size.m * size.n * size.k / kTile * 5 / 4}))
        << name;
    EXPECT_TRUE(at_other_sizes(
        [version = version](std::size_t n) {
          return is_right(version, {n, n + 1, n}, 3);
        },
        {.threads = 32, .fetched = 1, .warp_functions = 3, .writes = 1}))
        << name;
  }
}

REQUIRED_WORK(SumsThatNobodyElseMakes) {
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(all_elements_need(source::tensor_cores, by(version))) << name;
}

REQUIRED_WORK(BlocksThatShareTheTilesOfC) {
  const shape size{144, 192, 32};
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of([&, version = version] { return is_right(version, size, 4); });
    ASSERT_TRUE(as_required(done, {.threads = 128})) << name;
    for (const auto& kernel : done.kernels) {
      if (kernel.warp_functions == 0) continue;  // it rounds the factors
      EXPECT_GT(kernel.blocks, 1U)
          << name << ": one block multiplies everything, and only one multiprocessor has work";
    }
  }
}

REQUIRED_WORK(TilesThatABlockShares) {
  const shape size{128, 128, 64};
  const std::size_t elements = (size.m + size.n) * size.k;
  for (const auto& [version, name] : kSteps) {
    if (version == step::one_tile_a_warp) continue;
    const auto done = work_of([&, version = version] { return is_right(version, size, 2); });
    EXPECT_TRUE(as_required(done, {.threads = 128,
                                   // As floats once, to be rounded; then as halves, 64 rows or
                                   // columns at a time.
                                   .reads_at_most = elements * sizeof(float) +
                                                    2 * 2 * size.m * size.n * size.k / 64 * 5 / 4,
                                   .bytes_a_load = 16,
                                   .shared_memory = true}))
        << name;
    if (!done.watched || !done.costs.contains("global load")) continue;
    // The lanes of a warp load 32 floats to be rounded, and then 16 bytes each.
    const std::size_t of_tiles = 2 * 2 * size.m * size.n * size.k / 64 / (16 * 32);
    EXPECT_LE(done.costs.at("global load").requests, elements / 32 + of_tiles * 5 / 4)
        << name << ": the tiles of A or of B are not loaded 16 bytes at a time";
  }
}

REQUIRED_WORK(TilesThatABlockSharesWhateverTheShape) {
  // With 64 columns in a tile, A is read once for 64 columns, and B once for 64 rows: by fragments,
  // once for 16 of them. Then rows that are not aligned, a single slice, and a part of a tile.
  // Tiles may be filled up with zeros in global memory already, to 64 elements each way.
  for (const shape size : {shape{64, 128, 64}, shape{16, 128, 64}, shape{126, 127, 63},
                           shape{64, 64, 32}, shape{31, 40, 8}, shape{30, 33, 7}}) {
    const auto whole = [](std::size_t n) { return (n + 63) / 64 * 64; };
    const std::size_t elements = (size.m + size.n) * size.k;
    const std::size_t of_tiles = 2 * 2 * whole(size.m) * whole(size.n) * whole(size.k) / 64;
    const bool aligned = size.k % 8 == 0 && size.n % 8 == 0;
    for (const auto& [version, name] : kSteps) {
      if (version == step::one_tile_a_warp) continue;
      EXPECT_TRUE(
          as_required(work_of([&, version = version] { return is_right(version, size, 2); }),
                      {.threads = size.m < 64 ? 32U : 128U,
                       .reads_at_most = elements * sizeof(float) + of_tiles * 5 / 4,
                       .bytes_a_load = aligned ? 16U : 0,
                       .shared_memory = true}))
          << name << ": " << name_of(size);
    }
  }
}

REQUIRED_WORK(SixteenBytesWhereverRowsAllowThem) {
  // Rows of A and of B are multiples of 16 bytes long, and the number of rows of A does not matter.
  const shape size{67, 72, 40};
  for (const auto& [version, name] : kSteps) {
    if (version == step::one_tile_a_warp) continue;
    EXPECT_TRUE(as_required(work_of([&, version = version] { return is_right(version, size, 5); }),
                            {.threads = 128, .bytes_a_load = 16, .shared_memory = true}))
        << name;
  }
}

REQUIRED_WORK(FragmentsThatAreUsedMoreThanOnce) {
  const shape size{128, 128, 128};
  const auto done = work_of([&] { return is_right(step::register_blocks, size, 3); });
  ASSERT_TRUE(as_required(done, {.threads = 128})) << "register_blocks";
  std::uint64_t meetings = 0;
  for (const auto& kernel : done.kernels) meetings += kernel.warp_functions;
  // A product synchronizes the warp, and so does each load. If each fragment is used twice, there
  // are as many loads as products. The stores are few: k has eight fragments.
  EXPECT_LE(meetings, 9 * products_of(size) / 4)
      << "register_blocks: fragments of A or of B are loaded again for each product";
}

REQUIRED_WORK(FragmentsThatAreUsedMoreThanOnceWhateverTheShape) {
  // C is as high or as wide as a tile of shared_tiles or as a fragment, or its borders are in both.
  for (const shape size :
       {shape{64, 128, 128}, shape{128, 64, 128}, shape{16, 128, 64}, shape{128, 16, 64},
        shape{64, 64, 64}, shape{33, 40, 64}, shape{33, 41, 65}, shape{64, 64, 16}}) {
    const auto done = work_of([&] { return is_right(step::register_blocks, size, 6); });
    ASSERT_TRUE(as_required(done, {.threads = 32})) << "register_blocks: " << name_of(size);
    std::uint64_t loads = 0, products = 0;
    for (const auto& kernel : done.kernels)
      loads += kernel.fragment_loads, products += kernel.multiplications;
    // Each product takes two. Where one of A meets eight of B, it is nine loads for eight products.
    EXPECT_LE(loads, products * 9 / 8)
        << "register_blocks: fragments are loaded for one product each, of " << name_of(size);
  }
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

TEST_P(Product, IsRightToTheLastBit) {
  const auto& [version, size] = GetParam();
  expect_exact_product(by(version.value), size.m, size.n, size.k);
}

// Fragments are 16 x 16, slices have 32 elements of k, blocks have 16 x 64, 64 x 64 or 128 x 128:
// one less, that, and one more; a sum of thousands. Rows of A, B and C that begin at 16-byte
// boundaries, and rows that do not, each without the others.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{16, 16, 16}, shape{15, 17, 16},
                                         shape{17, 16, 15}, shape{16, 15, 17}, shape{32, 64, 32},
                                         shape{31, 63, 33}, shape{33, 65, 31}, shape{7, 8, 8},
                                         shape{3, 40, 72}, shape{64, 64, 64}, shape{63, 72, 66},
                                         shape{65, 68, 24}, shape{48, 44, 40}, shape{20, 36, 35},
                                         shape{128, 128, 32}, shape{127, 129, 48},
                                         shape{129, 127, 65}, shape{130, 136, 8}, shape{5, 200, 97},
                                         shape{150, 3, 128}, shape{4, 5, 515},
                                         shape{17, 18, 4099})),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + name_of(std::get<1>(test.param));
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesRandomMatrices) {
  for (const std::uint64_t seed : {3, 5, 7}) {
    EXPECT_TRUE(is_right(version(), {70, 90, 150}, seed));
    EXPECT_TRUE(is_right(version(), {40, 72, 200}, seed));
  }
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    const auto known = lab::make_known_product(kDefaultSize, kDefaultSize, kDefaultSize, 1);
    return matches(lab::compare_exact(
        multiply(version(), known.a, known.b, {kDefaultSize, kDefaultSize, kDefaultSize}).c,
        known.c));
  });
}

// --- the rounding --------------------------------------------------------------------------------

TEST_P(EachStep, RoundsToTheNearestHalf) {
  // Ties, both neighbours of ties, the smallest halves, and where they end.
  const std::vector<float> values = {
      2049,           2051,           2050.9F,         -2049,    -2051,      1.0F + 0x1p-11F,
      1 + 0x1.8p-10F, 1 + 0x1.1p-11F, -1 - 0x1.fp-11F, 0x1p-24F, 0x1.8p-24F, 0x1p-25F,
      0x1.1p-25F,     0x1.ffcp-15F,   65504,           65519,    65520,      -65520,
      70000,          -1e30F,         kInfinity,       0.1F,     -0.0F,      1e-30F};
  const std::vector<float> one = {1};
  const auto c = multiply(version(), values, one, {values.size(), 1, 1}).c;
  ASSERT_EQ(c.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(c[i], round_to_half(values[i])) << "of " << values[i];
  EXPECT_EQ(c[0], 2048);
  EXPECT_EQ(c[1], 2052);
  EXPECT_EQ(c[15], 65504);
  EXPECT_EQ(c[16], kInfinity);
  // And those of B.
  EXPECT_EQ(multiply(version(), one, values, {1, values.size(), 1}).c, c);
}

TEST_P(EachStep, MakesTheSameOfNumbersThatAreRoundedAlready) {
  const factors given(50, 60, 70, 11);
  EXPECT_EQ(multiply(version(), given.a, given.b, {50, 60, 70}).c,
            multiply(version(), round_to_half(given.a), round_to_half(given.b), {50, 60, 70}).c);
}

TEST_P(EachStep, AddsInFloat) {
  // 2048 and 600 times 1: halves from 2048 on are 2 apart, and such a sum would not grow.
  std::vector<float> a(3 * 601, 1), b(601 * 5, 1);
  for (std::size_t row = 0; row < 3; ++row) a[row * 601] = 2048;
  EXPECT_TRUE(matches(
      lab::compare_exact(multiply(version(), a, b, {3, 5, 601}).c, std::vector<float>(15, 2648))));
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, ReadsNoInfinityPastTheEndOfK) {
  lab::testing::expect_infinities_to_end_with_k(by(version()));
}

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  constexpr std::size_t m = 20, n = 24;  // with k = 24, all rows begin at multiples of eight
  for (const std::size_t k : {15, 16, 17, 24, 31}) {
    SCOPED_TRACE("k = " + std::to_string(k));
    auto a = lab::random_floats(m * k, 5, 1, 2);
    const auto b = lab::random_floats(k * n, 6, 1, 2);
    for (std::size_t i = 0; i < 7; ++i) a[11 * k + i] = kInfinity;
    const auto c = multiply(version(), a, b, {m, n, k}).c;
    EXPECT_TRUE(matches(check(c, a, b, {m, n, k})));
    EXPECT_EQ(c[11 * n], kInfinity);
    EXPECT_TRUE(std::isfinite(c[10 * n])) << "the infinities of row 11 have spread to row 10";
  }
}

TEST_P(EachStep, MultipliesZerosByInfinitiesAndByNaN) {
  lab::testing::expect_zeros_to_be_multiplied(by(version()));
}

TEST(ManyColumns, AreMoreThanAGridHasRowsOfBlocks) {
  // Only m is limited: 65,536 blocks of 64 columns each.
  expect_at_full_size([] {
    constexpr std::size_t n = std::size_t{65'535} * 64 + 1;
    std::vector<float> b(n, 3);
    b[n - 1] = 5;
    std::vector<float> expected(n, 6);
    expected[n - 1] = 10;
    return matches(lab::compare_exact(
        multiply(step::one_tile_a_warp, std::vector<float>{2}, b, {1, n, 1}).c, expected));
  });
}

TEST(ManyRows, AreTakenByAStepThatHasBlocksForThem) {
  // More rows than one_tile_a_warp can have: shared_tiles has four times as many for a block.
  expect_at_full_size([] {
    constexpr std::size_t m = std::size_t{65'535} * 16 + 1;
    std::vector<float> a(m, 3);
    a[m - 1] = 5;
    std::vector<float> expected(m, 6);
    expected[m - 1] = 10;
    return matches(lab::compare_exact(
        multiply(step::shared_tiles, a, std::vector<float>{2}, {m, 1, 1}).c, expected));
  });
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

TEST_P(EachStep, IsRightWhenItsKernelIsRepeated) {
  const lab::repeated_timing samples(3);
  EXPECT_TRUE(is_right(version(), {40, 70, 50}, 4));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  lab::testing::expect_other_sizes_refused(by(version()));
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  lab::testing::expect_overflow_refused(by(version()));
}

TEST_P(EachStep, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  const std::size_t rows = version() == step::one_tile_a_warp ? 16
                           : version() == step::shared_tiles  ? 64
                                                              : 128;
  lab::testing::expect_too_many_rows_refused(by(version()), rows);
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
