// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "transpose.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work;
using lab::testing::work_of;
using lab::transpose::reference;
using lab::transpose::step;
using lab::transpose::transpose;

struct named_step {
  step value;
  const char* name;
  std::size_t rows_of_block;  // of the matrix
};

constexpr named_step kSteps[] = {{step::naive, "naive", 8},
                                 {step::tile, "tile", 32},
                                 {step::padded_tile, "padded_tile", 32},
                                 {step::coarse_tile, "coarse_tile", 64}};

struct matrix_size {
  std::size_t rows, columns;
};

void PrintTo(const matrix_size& size, std::ostream* out) {
  *out << size.rows << " rows, " << size.columns << " columns";
}

/// Random numbers, different everywhere.
::testing::AssertionResult is_right(step version, matrix_size size, std::uint64_t seed) {
  const auto matrix = lab::random_floats(size.rows * size.columns, seed, -100, 1);
  const auto expected = reference(matrix, size.rows, size.columns);
  const auto result = transpose(version, matrix, size.rows, size.columns).transposed;
  ::testing::AssertionResult right = matches(lab::compare_exact(result, expected));
  if (!right && result.size() == expected.size()) {
    const auto first = std::ranges::mismatch(result, expected).in1 - result.begin();
    const auto position = static_cast<std::size_t>(first);
    right << "; that is row " << position / size.rows << ", column " << position % size.rows
          << " of the result";
  }
  return right;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TilesThatMakeLoadsAndStoresCoalesced) {
  const auto matrix = lab::random_floats(128 * 192, 1, -100, 1);
  for (const auto& [version, name, rows] : kSteps) {
    for (const matrix_size size : {matrix_size{128, 192}, {192, 128}}) {
      const std::string step_and_size = std::string(name) + ", " + ::testing::PrintToString(size);
      const work done = work_of([&, version = version] { return is_right(version, size, 1); });
      EXPECT_TRUE(as_required(done, {.threads = 1024,
                                     .blocks = 2,
                                     .sent = bytes_of(matrix),
                                     .fetched = bytes_of(matrix),
                                     .reads = bytes_of(matrix),
                                     .writes = bytes_of(matrix),
                                     .shared_memory = version != step::naive,
                                     .sectors = version == step::naive ? 0 : 1.1,
                                     .wavefronts = version >= step::padded_tile ? 1.1 : 0}))
          << step_and_size;
      if (version == step::coarse_tile && done.watched) {
        // One by one, or four at a time.
        std::uint64_t ahead = 0;
        for (const work::kernel& k : done.kernels)
          ahead = std::max(ahead, k.loads_ahead * k.bytes_a_load / sizeof(float));
        EXPECT_GE(ahead, 16U)
            << step_and_size
            << ": no thread loads so many elements before it stores the first one "
               "in the result, or meets its block with what it has in the tile";
      }
    }
    // Tiles at the border may not be moved without shared memory either.
    EXPECT_TRUE(at_other_sizes(
        [version = version](std::size_t n) {
          return is_right(version, {n, n + 1}, 1);
        },
        {.threads = 1, .fetched = 1, .writes = 1, .shared_memory = version != step::naive},
        {1, 3, 31, 40}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {n, 1}, 1);
    })) << name
        << ": a column, or a single element";
  }
}

// --- every step, every shape ---------------------------------------------------------------------

class Transposed : public ::testing::TestWithParam<std::tuple<named_step, matrix_size>> {};

TEST_P(Transposed, IsExact) {
  const auto& [version, size] = GetParam();
  EXPECT_TRUE(is_right(version.value, size, size.rows * 1000 + size.columns));
}

// One row, one column; around the threads of a block (8), a warp (32) and a tile (64), in both
// directions, and two and three tiles; primes; the text's 1000 x 2000, a tenth of it.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Transposed,
    ::testing::Combine(
        ::testing::ValuesIn(kSteps),
        ::testing::Values(matrix_size{1, 1}, matrix_size{1, 2}, matrix_size{2, 1},
                          matrix_size{1, 131}, matrix_size{131, 1}, matrix_size{3, 7},
                          matrix_size{7, 9}, matrix_size{8, 32}, matrix_size{9, 31},
                          matrix_size{31, 33}, matrix_size{32, 31}, matrix_size{32, 32},
                          matrix_size{33, 32}, matrix_size{63, 65}, matrix_size{64, 64},
                          matrix_size{65, 63}, matrix_size{96, 32}, matrix_size{128, 192},
                          matrix_size{129, 95}, matrix_size{100, 200}, matrix_size{257, 103})),
    [](const auto& info) {
      const matrix_size size = std::get<1>(info.param);
      return std::string(std::get<0>(info.param).name) + "_" + std::to_string(size.rows) + "x" +
             std::to_string(size.columns);
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TransposesTheMatrixOfTheText) {
  expect_at_full_size([&] { return is_right(version(), {1000, 2000}, 5); });
}

TEST_P(EachStep, TransposesThousandsOfTilesBelowOrBesideEachOther) {
  // More than a grid may have that is to fill the device once: its blocks take one tile after the
  // other, and the next one must not be loaded while a warp still stores elements of the last.
  expect_at_full_size([&] {
    EXPECT_TRUE(is_right(version(), {4099 * GetParam().rows_of_block, 3}, 6));
    EXPECT_TRUE(is_right(version(), {3, 4099 * 64 + 1}, 7));
  });
}

TEST_P(EachStep, GivesTheMatrixBackWhenCalledTwice) {
  const auto matrix = lab::random_floats(70 * 45, 3, -1, 1);
  const auto once = transpose(version(), matrix, 70, 45).transposed;
  EXPECT_TRUE(matches(lab::compare_exact(transpose(version(), once, 45, 70).transposed, matrix)));
}

::testing::AssertionResult has_bits_of(float number, float expected) {
  const auto bits = [](float f) { return std::bit_cast<std::uint32_t>(f); };
  if (bits(number) == bits(expected)) return ::testing::AssertionSuccess();
  char text[100];
  std::snprintf(text, sizeof text, "got %g, expected %g: the bits are 0x%08x instead of 0x%08x",
                static_cast<double>(number), static_cast<double>(expected), bits(number),
                bits(expected));
  return ::testing::AssertionFailure() << text;
}

TEST_P(EachStep, MovesBitsAndCalculatesNothing) {
  // An infinity, the smallest number, both zeros and a NaN with bits of its own.
  const float nan = std::bit_cast<float>(std::uint32_t{0x7FC12345});
  const std::vector<float> matrix = {std::numeric_limits<float>::infinity(),
                                     std::numeric_limits<float>::denorm_min(),
                                     -0.0F,
                                     0.0F,
                                     nan,
                                     -1.5F};
  const auto result = transpose(version(), matrix, 2, 3).transposed;
  ASSERT_EQ(result.size(), 6U);
  for (std::size_t y = 0; y < 2; ++y)
    for (std::size_t x = 0; x < 3; ++x)
      EXPECT_TRUE(has_bits_of(result[x * 2 + y], matrix[y * 3 + x]))
          << "in row " << x << ", column " << y << " of the result";
}

TEST_P(EachStep, MakesAnEmptyTranspose) {
  EXPECT_TRUE(transpose(version(), {}, 0, 0).transposed.empty());
  EXPECT_TRUE(transpose(version(), {}, 0, 5).transposed.empty());
  EXPECT_TRUE(transpose(version(), {}, 5, 0).transposed.empty());
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const auto matrix = lab::random_floats(50 * 70, 7, -1, 1);
  auto given = matrix;
  transpose(version(), given, 50, 70);
  EXPECT_EQ(given, matrix);
}

TEST_P(EachStep, TransposesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  EXPECT_TRUE(is_right(version(), {60, 70}, 1));
  EXPECT_TRUE(is_right(version(), {60, 70}, 2));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesAMatrixOfAnotherSize) {
  const std::vector<float> six(6);
  EXPECT_NO_THROW(transpose(version(), six, 2, 3));
  EXPECT_THROW(transpose(version(), six, 2, 2), lab::invalid_input);
  EXPECT_THROW(transpose(version(), six, 3, 3), lab::invalid_input);
  EXPECT_THROW(transpose(version(), six, 4, 1), lab::invalid_input);
  EXPECT_THROW(transpose(version(), six, 0, 6), lab::invalid_input);
  EXPECT_THROW(transpose(version(), {}, 1, 1), lab::invalid_input);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(transpose(version(), {}, kHuge, kHuge), lab::invalid_input);
}

/// Rows of blocks in a grid.
std::size_t grid_limit() { return lab::device_limit(cudaDevAttrMaxGridDimY); }

#ifdef __CPU_DEVICE__
TEST_P(EachStep, TransposesAsManyRowsAsTheTilesOfAGridCover) {
  const lab::testing::pretended_devices low([](cudaDeviceProp& p) { p.maxGridSize[1] = 3; });
  EXPECT_TRUE(is_right(version(), {3 * GetParam().rows_of_block, 5}, 1));
}
#endif

TEST(Naive, TransposesAsManyRowsAsAGridHasBlocks) {
  // With the barriers of the other steps, this many threads would take too long on the CPU device.
  expect_at_full_size([] {
    return is_right(step::naive, {grid_limit() * kSteps[0].rows_of_block, 1}, 9);
  });
}

TEST(Naive, TransposesMoreColumnsThanThatManyBlocksHave) {
  // x has no such limit.
  expect_at_full_size([] { return is_right(step::naive, {1, grid_limit() * 32 + 1}, 9); });
}

TEST_P(EachStep, TransposesOrRefusesMoreRowsThanAGridHasBlocks) {
  const std::size_t rows = grid_limit() * GetParam().rows_of_block + 1;
  const std::vector<float> matrix(rows, 2.5F);
  try {
    const auto turned =
        transpose(version(), matrix, rows, 1).transposed;  // blocks with a stride can do it
    EXPECT_TRUE(matches(lab::compare_exact(turned, matrix))) << "accepted, but wrong";
  } catch (const lab::invalid_input&) {
  }
  EXPECT_TRUE(is_right(version(), {3, 4}, 1));  // and works again afterwards
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> matrix(40 * 40, 1.0F);
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return transpose(version(), matrix, 40, 40).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto matrix = lab::random_floats(5 * 7, 1, -1, 3);
  expect_failures_reported([&] { return transpose(version(), matrix, 5, 7).transposed; }, matrix);
}

}  // namespace
