// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "create_matrix.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace lab::create_matrix {

void PrintTo(const launch_shape& shape, std::ostream* out) {
  *out << "grid " << shape.grid_x << " x " << shape.grid_y << ", block " << shape.block_x << " x "
       << shape.block_y;
}

}  // namespace lab::create_matrix

namespace {

using lab::device_limit;
using lab::create_matrix::covering;
using lab::create_matrix::create;
using lab::create_matrix::launch_shape;
using lab::create_matrix::reference;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

struct matrix_size {
  std::size_t rows, columns;
};

void PrintTo(const matrix_size& size, std::ostream* out) {
  *out << size.rows << " rows, " << size.columns << " columns";
}

std::string name_of(matrix_size size, launch_shape shape) {
  return std::to_string(size.rows) + "x" + std::to_string(size.columns) + "_grid" +
         std::to_string(shape.grid_x) + "x" + std::to_string(shape.grid_y) + "_block" +
         std::to_string(shape.block_x) + "x" + std::to_string(shape.block_y);
}

::testing::AssertionResult is_right(matrix_size size, launch_shape shape) {
  return matches(lab::compare_exact(create(size.rows, size.columns, shape).elements,
                                    reference(size.rows, size.columns)));
}

// --- who does the work ---------------------------------------------------------------------------

::testing::AssertionResult is_a_launch_of(const launch_shape& shape,
                                          const lab::testing::work& done) {
  if (done.kernels.size() > 1)
    return ::testing::AssertionFailure()
           << done.kernels.size() << " launches, where one was asked for";
  for (const auto& k : done.kernels)
    if (k.grid_x != shape.grid_x || k.grid_y != shape.grid_y || k.block_x != shape.block_x ||
        k.block_y != shape.block_y)
      return ::testing::AssertionFailure()
             << "asked for " << ::testing::PrintToString(shape) << "; launched "
             << ::testing::PrintToString(launch_shape{k.grid_x, k.grid_y, k.block_x, k.block_y})
             << " (the first number of a dim3 is x)";
  return ::testing::AssertionSuccess();
}

REQUIRED_WORK(ALaunchOfTheShapeThatWasAskedFor) {
  // The matrix has more rows and columns than a block has threads: those of a block may also share
  // a whole row, or a whole column.
  const launch_shape shape{.grid_x = 3, .grid_y = 2, .block_x = 8, .block_y = 16};
  // Eight neighbours that begin within a sector need two for one, and what is left at the end of a
  // block's share of a row needs more. Where neighbours in x are below each other, the wide blocks
  // need eight.
  constexpr double kSectors = 3;
  const lab::testing::work done = work_of([&] { return is_right({137, 131}, shape); });
  EXPECT_TRUE(as_required(done, {.threads = 3 * 2 * 8 * 16,
                                 .blocks = 3 * 2,
                                 .fetched = 137 * 131 * sizeof(int),
                                 .writes = 137 * 131 * sizeof(int),
                                 .sectors = kSectors}));
  EXPECT_TRUE(is_a_launch_of(shape, done));
  // Also where the matrix is smaller than the grid, in one direction or both, and than a block; and
  // in a grid of one row of blocks. No matrix is left to fewer threads than share it in the way
  // that gives work to the fewest: an element each, or a row or a column for each block.
  for (const launch_shape& other : {shape, {.grid_x = 3, .grid_y = 1, .block_x = 32, .block_y = 4}})
    for (const matrix_size size : {matrix_size{137, 5},
                                   {5, 131},
                                   {3, 4},
                                   {7, 5},
                                   {1, 40},
                                   {40, 1},
                                   {33, 31},
                                   {300, 500},
                                   {1, 1}}) {
      const std::size_t blocks = std::size_t{other.grid_x} * other.grid_y;
      const std::size_t of_block = std::size_t{other.block_x} * other.block_y;
      const lab::testing::work call = work_of([&] { return is_right(size, other); });
      const std::string matrix =
          std::to_string(size.rows) + " rows, " + std::to_string(size.columns) + " columns";
      EXPECT_TRUE(is_a_launch_of(other, call)) << matrix;
      EXPECT_TRUE(as_required(
          call, {.threads = std::min(
                     {std::min<std::size_t>(size.rows, other.grid_y * other.block_y) *
                          std::min<std::size_t>(size.columns, other.grid_x * other.block_x),
                      std::min(size.rows, blocks) * std::min(size.columns, of_block),
                      std::min(size.columns, blocks) * std::min(size.rows, of_block)}),
                 .writes = size.rows * size.columns * sizeof(int),
                 .sectors = size.columns > 16 ? kSectors : 0}))
          << matrix;
    }
  EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return is_right({n, n + 1}, shape); }));
  // A column and a row, too, and a single element (which is 0, as if nothing had come back).
  for (const bool column : {false, true})
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t n) {
          return is_right(column ? matrix_size{n, 1} : matrix_size{1, n}, shape);
        },
        {.threads = 1, .fetched = 1, .writes = 1}, {2, 40}));
  EXPECT_TRUE(at_other_sizes(
      [&](std::size_t n) {
        return is_right({n, n}, shape);
      },
      {.threads = 1, .writes = 1}, {1}));
}

// --- every matrix, every launch ------------------------------------------------------------------

class Matrix : public ::testing::TestWithParam<std::tuple<matrix_size, launch_shape>> {};

TEST_P(Matrix, IsTheSameForEveryLaunch) {
  const auto& [size, shape] = GetParam();
  EXPECT_TRUE(is_right(size, shape));
}

// The text's 10 x 10; one row, one column; around a block (16) and a warp (32); never square but
// for the text's. Grids that are too small in one direction, in both, exact, and far too large.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Matrix,
    ::testing::Combine(::testing::Values(matrix_size{10, 10}, matrix_size{1, 1}, matrix_size{1, 97},
                                         matrix_size{97, 1}, matrix_size{3, 5}, matrix_size{15, 17},
                                         matrix_size{16, 32}, matrix_size{17, 31},
                                         matrix_size{33, 16}, matrix_size{31, 130},
                                         matrix_size{101, 67}),
                       ::testing::Values(launch_shape{1, 1, 1, 1}, launch_shape{1, 1, 10, 10},
                                         launch_shape{10, 10, 1, 1}, launch_shape{2, 5, 5, 2},
                                         launch_shape{3, 1, 7, 1}, launch_shape{1, 3, 1, 7},
                                         launch_shape{1, 1, 32, 32}, launch_shape{2, 3, 16, 8},
                                         launch_shape{1, 1, 1024, 1}, launch_shape{1, 1, 2, 512},
                                         launch_shape{9, 9, 16, 16})),
    [](const auto& info) { return name_of(std::get<0>(info.param), std::get<1>(info.param)); });

TEST(Create, NumbersTheElementsOfTenByTenInOrder) {
  const auto elements = create(10, 10, {1, 1, 10, 10}).elements;
  ASSERT_EQ(elements.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(elements[static_cast<std::size_t>(i)], i);
}

TEST(Create, GivesNeighboursInARowConsecutiveNumbers) {
  const auto elements = create(2, 3, {1, 1, 2, 2}).elements;
  EXPECT_EQ(elements, (std::vector<int>{0, 1, 2, 10, 11, 12}));
}

TEST(Create, MakesAnEmptyMatrix) {
  EXPECT_TRUE(create(0, 5, {1, 1, 4, 4}).elements.empty());
  EXPECT_TRUE(create(5, 0, {1, 1, 4, 4}).elements.empty());
  EXPECT_TRUE(create(0, 0, covering(0, 0)).elements.empty());
}

TEST(Create, MakesWhatIsAskedForNow) {
  // As many elements twice, in another shape: a result left in memory would be wrong.
  EXPECT_TRUE(is_right({12, 20}, {1, 1, 8, 8}));
  EXPECT_TRUE(is_right({20, 12}, {1, 1, 8, 8}));
}

TEST(Create, TakesMoreRowsThanAGridHasBlocksOfOneThread) {
  const std::size_t rows = device_limit(cudaDevAttrMaxGridDimY) + 3;
  EXPECT_TRUE(is_right({rows, 2}, {2, 7, 1, 64}));
}

TEST(Create, TakesMoreBlocksAcrossThanThereCanBeDown) {
  const unsigned blocks = device_limit(cudaDevAttrMaxGridDimY) + 3;
  EXPECT_TRUE(is_right({2, blocks}, {blocks, 1, 1, 1}));
}

// --- the grid that covers a matrix ---------------------------------------------------------------

void expect_grid(std::size_t rows, std::size_t columns, unsigned x, unsigned y,
                 const char* why = "") {
  const launch_shape shape = covering(rows, columns);
  EXPECT_EQ(shape.block_x, 16U);
  EXPECT_EQ(shape.block_y, 16U);
  EXPECT_EQ(shape.grid_x, x) << rows << " rows, " << columns << " columns" << why;
  EXPECT_EQ(shape.grid_y, y) << rows << " rows, " << columns << " columns" << why;
}

TEST(Covering, HasAsFewBlocksAsCoverTheMatrix) {
  expect_grid(10, 10, 1, 1);
  expect_grid(16, 16, 1, 1);
  expect_grid(15, 17, 2, 1);
  expect_grid(17, 16, 1, 2);
  expect_grid(33, 100, 7, 3);
  expect_grid(1, 1'000'000, 62'500, 1);
}

TEST(Covering, HasAtLeastOneBlock) {
  expect_grid(0, 0, 1, 1);
  expect_grid(0, 40, 3, 1);
}

TEST(Covering, HasNoMoreBlocksThanTheDevicesGrid) {
  const unsigned most_x = device_limit(cudaDevAttrMaxGridDimX);
  const unsigned most_y = device_limit(cudaDevAttrMaxGridDimY);
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  expect_grid(kHuge, kHuge, most_x, most_y,
              ": a std::size_t cannot hold 15 more than that, so divide first, and then round up");
  expect_grid(std::size_t{16} * most_y, 1, 1, most_y);
  expect_grid(std::size_t{16} * most_y + 1, 1, 1, most_y);
}

#ifdef __CPU_DEVICE__
TEST(Covering, AsksTheDeviceForTheLimits) {
  // The current device has other limits than all of today's.
  const lab::testing::pretended_devices other([](cudaDeviceProp& said) {
    said.maxGridSize[0] = 1000;
    said.maxGridSize[1] = 70'000;
  });
  expect_grid(1, 16'001, 1000, 1);
  expect_grid(16 * 69'999 + 1, 16'000, 1000, 70'000);
  expect_grid(16 * 70'000 + 1, 15'984, 999, 70'000);
}
#endif

TEST(Covering, MakesRightMatrices) {
  for (const matrix_size size : {matrix_size{10, 10}, {1, 33}, {33, 1}, {48, 31}, {257, 130}})
    EXPECT_TRUE(is_right(size, covering(size.rows, size.columns)));
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Create, RefusesALaunchOfNothing) {
  for (const launch_shape shape :
       {launch_shape{0, 1, 4, 4}, {1, 0, 4, 4}, {1, 1, 0, 4}, {1, 1, 4, 0}}) {
    EXPECT_THROW(create(3, 4, shape), lab::invalid_input);
    EXPECT_THROW(create(0, 0, shape), lab::invalid_input) << "also for an empty matrix";
  }
}

void expect_refusal_naming(unsigned limit, launch_shape shape) {
  try {
    create(3, 4, shape);
    FAIL() << "not refused";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(limit)), std::string::npos)
        << error.what();
  }
}

TEST(Create, RefusesMoreThanTheDeviceLaunchesAndNamesTheLimit) {
  const unsigned most_x = device_limit(cudaDevAttrMaxGridDimX);
  const unsigned most_y = device_limit(cudaDevAttrMaxGridDimY);
  const unsigned most_threads = device_limit(cudaDevAttrMaxThreadsPerBlock);
  expect_refusal_naming(most_x, {most_x + 1, 1, 1, 1});
  expect_refusal_naming(most_y, {1, most_y + 1, 1, 1});
  expect_refusal_naming(most_threads, {1, 1, most_threads / 2, 3});
  expect_refusal_naming(most_threads, {1, 1, 3, most_threads / 2});
  expect_refusal_naming(device_limit(cudaDevAttrMaxBlockDimX),
                        {1, 1, device_limit(cudaDevAttrMaxBlockDimX) + 1, 1});
  expect_refusal_naming(device_limit(cudaDevAttrMaxBlockDimY),
                        {1, 1, 1, device_limit(cudaDevAttrMaxBlockDimY) + 1});
  EXPECT_TRUE(is_right({3, 4}, {1, 1, 1, 1}));  // and works again afterwards
}

TEST(Create, RefusesElementsThatAnIntCannotHold) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  const launch_shape one;
  EXPECT_THROW(create(kMost / 10 + 2, 1, one), lab::invalid_input);
  EXPECT_THROW(create(1, kMost + 2, one), lab::invalid_input);
  EXPECT_THROW(create(2, kMost, one), lab::invalid_input);
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(create(kHuge, kHuge, one), lab::invalid_input);
}

// --- time ----------------------------------------------------------------------------------------

TEST(Create, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return create(40, 50, covering(40, 50)).kernel_ms; }));
}

FAULT_TEST(Create, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return create(17, 33, {2, 3, 4, 5}).elements; });
}

}  // namespace
