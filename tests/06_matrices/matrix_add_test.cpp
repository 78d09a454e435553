// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "matrix_add.hpp"

#include <cuda_runtime.h>

#include <bit>
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
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::matrix_add::add;
using lab::matrix_add::kDefaultSize;
using lab::matrix_add::reference;
using lab::matrix_add::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::kManyBlocks;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;

constexpr named_step kSteps[] = {{step::flat, "flat"}, {step::pitched, "pitched"}};

struct matrix_size {
  std::size_t rows, columns;
};

void PrintTo(const matrix_size& size, std::ostream* out) {
  *out << size.rows << " rows, " << size.columns << " columns";
}

/// Two matrices, different at every element.
struct operands {
  matrix_size size;
  std::vector<float> a, b;
  operands(matrix_size its_size, std::uint64_t seed)
      : size(its_size),
        a(lab::random_floats(size.rows * size.columns, seed, -1000, 1000)),
        b(lab::random_floats(size.rows * size.columns, seed + 1, -10, 30)) {}
  lab::matrix_add::result sum(step version) const {
    return add(version, a, b, size.rows, size.columns);
  }
};

::testing::AssertionResult is_right(step version, const operands& of) {
  return matches(lab::compare_exact(of.sum(version).sum, reference(of.a, of.b)));
}
void expect_right_sum(step version, matrix_size size, std::uint64_t seed) {
  EXPECT_TRUE(is_right(version, {size, seed}));
}

/// The pitch that the device itself chooses for rows of this many floats.
std::size_t pitch_of_the_device(matrix_size size) {
  void* memory = nullptr;
  std::size_t pitch = 0;
  CUDA_CHECK(cudaMallocPitch(&memory, &pitch, size.columns * sizeof(float), size.rows));
  CUDA_CHECK(cudaFree(memory));
  return pitch;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AThreadForEachElementInMemoryOfItsKind) {
  // Rows that need gaps to be aligned, rows that do not, and rows shorter than a warp; matrices
  // that are wider than high, and higher than wide.
  for (const matrix_size size : {matrix_size{60, 100}, {120, 100}, {25, 128}, {200, 7}}) {
    const operands of(size, 1);
    const std::size_t pitched_bytes = size.rows * pitch_of_the_device(size);
    for (const auto& [version, name] : kSteps) {
      const bool flat = version == step::flat;
      const std::string step_and_size = std::string(name) + ", " + ::testing::PrintToString(size);
      lab::testing::required expected{.threads = size.rows * size.columns,
                                      .blocks = (size.rows * size.columns + 1023) / 1024,
                                      .sent = 2 * bytes_of(of.a),
                                      .fetched = flat ? bytes_of(of.a) : pitched_bytes,
                                      .reads = 2 * bytes_of(of.a),
                                      .writes = bytes_of(of.a),
                                      .sectors = size.columns < 32 ? 0 : 1.5};
      if (!flat)
        expected.calls = {"cudaMallocPitch|cudaMalloc3D", "cudaMemcpy2D|cudaMemcpy2DAsync"};
      const lab::testing::work done =
          work_of([&, version = version] { return is_right(version, of); });
      EXPECT_TRUE(as_required(done, expected)) << step_and_size;
      std::size_t written = 0;
      for (const auto& kernel : done.kernels) written += kernel.writes;
      EXPECT_LE(written, bytes_of(of.a))
          << step_and_size << ": a kernel writes something that is not an element";
      if (flat || !done.values) continue;
      std::size_t allocated = 0, copies = 0;
      for (const std::size_t bytes : done.device_memory) allocated += bytes;
      for (const char* function : {"cudaMemcpy2D", "cudaMemcpy2DAsync"})
        if (const auto calls = done.calls.find(function); calls != done.calls.end())
          copies += calls->second;
      EXPECT_GE(allocated, 3 * pitched_bytes)
          << step_and_size << ": all three matrices are in pitched memory";
      EXPECT_GE(copies, 3U) << step_and_size
                            << ": each of the three matrices is copied by cudaMemcpy2D";
    }
  }
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {{n, n + 1}, 1});
    })) << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, {{n, 1}, 1});
    })) << name
        << ": a column, or a single element";
  }
}

// --- every step, every shape ---------------------------------------------------------------------

class Sum : public ::testing::TestWithParam<std::tuple<named_step, matrix_size>> {};

TEST_P(Sum, IsExact) {
  const auto& [version, size] = GetParam();
  expect_right_sum(version.value, size, size.rows * 1000 + size.columns);
}

// Around the threads of a block (8 down, 32 across) and around 128 floats, which are the 512 bytes
// that a pitch is often a multiple of; primes; rows enough for a grid to stride.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Sum,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(matrix_size{1, 1}, matrix_size{1, 200},
                                         matrix_size{200, 1}, matrix_size{3, 5}, matrix_size{7, 33},
                                         matrix_size{8, 32}, matrix_size{9, 31},
                                         matrix_size{33, 33}, matrix_size{64, 64},
                                         matrix_size{97, 97}, matrix_size{17, 127},
                                         matrix_size{16, 128}, matrix_size{15, 129},
                                         matrix_size{101, 257}, matrix_size{8 * 1024 + 9, 3})),
    [](const auto& info) {
      const matrix_size size = std::get<1>(info.param);
      return std::string(std::get<0>(info.param).name) + "_" + std::to_string(size.rows) + "x" +
             std::to_string(size.columns);
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AddsManyRowsOfManyColumns) { expect_right_sum(version(), {1009, 499}, 5); }

TEST_P(EachStep, AddsNothingForEmptyMatrices) {
  for (const matrix_size size : {matrix_size{0, 0}, {0, 5}, {5, 0}}) {
    const auto result = add(version(), {}, {}, size.rows, size.columns);
    EXPECT_TRUE(result.sum.empty());
    EXPECT_TRUE(result.memory.empty());
    EXPECT_EQ(result.pitch, 0U);
  }
}

TEST_P(EachStep, LeavesItsInputsAlone) {
  const operands of({30, 50}, 7);
  auto a_given = of.a, b_given = of.b;
  add(version(), a_given, b_given, 30, 50);
  EXPECT_EQ(a_given, of.a);
  EXPECT_EQ(b_given, of.b);
}

TEST_P(EachStep, AddsWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  expect_right_sum(version(), {40, 50}, 1);
  expect_right_sum(version(), {40, 50}, 2);
}

TEST_P(EachStep, KeepsInfinitiesAndRoundsOnce) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::vector<float> a = {kInfinity, kLargest, 16777216.0F, 1.0F, -0.0F, 1e-45F};
  const std::vector<float> b = {1.0F, kLargest, 1.0F, 0x1p-24F, -0.0F, 1e-45F};
  EXPECT_TRUE(matches(lab::compare_exact(add(version(), a, b, 2, 3).sum, reference(a, b))));
  for (const float zero :
       add(version(), std::vector{0.0F, -0.0F}, std::vector{-0.0F, 0.0F}, 1, 2).sum)
    EXPECT_FALSE(std::signbit(zero)) << "zeros of two signs have the sum +0";
  EXPECT_TRUE(std::signbit(add(version(), std::vector{-0.0F}, std::vector{-0.0F}, 1, 1).sum.at(0)));
}

// --- where the rows lie --------------------------------------------------------------------------

TEST(Flat, HasNoGapsBetweenRows) {
  const operands of({20, 33}, 3);
  const auto result = of.sum(step::flat);
  EXPECT_EQ(result.pitch, 33 * sizeof(float));
  EXPECT_TRUE(matches(lab::compare_exact(result.memory, reference(of.a, of.b))));
}

class Pitch : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Columns, Pitch, ::testing::Values(1, 31, 127, 128, 129, 300),
                         ::testing::PrintToStringParamName());

TEST_P(Pitch, IsTheOneThatTheDeviceChooses) {
  const operands of({13, GetParam()}, 4);
  const std::size_t pitch = of.sum(step::pitched).pitch;
  EXPECT_EQ(pitch, pitch_of_the_device(of.size));
  EXPECT_GE(pitch, GetParam() * sizeof(float));
}

TEST_P(Pitch, IsWhereTheRowsBegin) {
  const operands of({13, GetParam()}, 5);
  const auto expected = reference(of.a, of.b);
  const auto result = of.sum(step::pitched);
  ASSERT_EQ(result.memory.size() * sizeof(float), of.size.rows * result.pitch);
  for (std::size_t y = 0; y < of.size.rows; ++y)
    for (std::size_t x = 0; x < of.size.columns; ++x)
      ASSERT_EQ(result.memory[y * result.pitch / sizeof(float) + x],
                expected[y * of.size.columns + x])
          << "row " << y << ", column " << x << " of the device's memory";
}

TEST_P(Pitch, LeavesTheGapsAlone) {
  const operands of({13, GetParam()}, 6);
  const auto result = of.sum(step::pitched);
  const std::size_t pitch = result.pitch / sizeof(float);
  ASSERT_EQ(result.memory.size(), of.size.rows * pitch);
  for (std::size_t y = 0; y < of.size.rows; ++y)
    for (std::size_t x = of.size.columns; x < pitch; ++x)
      ASSERT_EQ(std::bit_cast<std::uint32_t>(result.memory[y * pitch + x]), 0xFFFF'FFFFU)
          << "row " << y << ", " << x - of.size.columns << " floats after its end";
}

TEST(Pitched, HasGapsWhereRowsAreShort) {
  // Otherwise the cases above could not distinguish a flat layout from a pitched one.
  EXPECT_GT(pitch_of_the_device({13, 1}), sizeof(float));
  EXPECT_GT(pitch_of_the_device({13, 129}), 129 * sizeof(float));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  const std::vector<float> six(6, 1.0F), eight(8, 1.0F), none;
  EXPECT_NO_THROW(add(version(), six, six, 2, 3));
  EXPECT_THROW(add(version(), six, eight, 2, 3), lab::invalid_input);
  EXPECT_THROW(add(version(), eight, six, 2, 3), lab::invalid_input);
  EXPECT_THROW(add(version(), six, six, 2, 4), lab::invalid_input);
  EXPECT_THROW(add(version(), six, six, 4, 1), lab::invalid_input);
  EXPECT_THROW(add(version(), six, six, 0, 6), lab::invalid_input);
  EXPECT_THROW(add(version(), none, none, 1, 1), lab::invalid_input);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(add(version(), none, none, kHuge, kHuge), lab::invalid_input);
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return operands({40, 50}, 1).sum(version()).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const operands of({17, 33}, 1);
  expect_failures_reported([&] { return of.sum(version()).sum; }, of.a, of.b);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] { expect_right_sum(version(), {kDefaultSize, kDefaultSize}, 8); });
}

TEST(Flat, IsExactWithMoreElementsThanAFloatCanCount) {
  // 4095 * 4099, where a row begins, is odd and above 2^24.
  expect_at_full_size([] { expect_right_sum(step::flat, {4097, 4099}, 10); });
}

TEST_P(EachStep, IsExactInManyBlocksAcross) {
  // With 32 columns to a block: more than a grid may have blocks along y.
  expect_at_full_size([&] { expect_right_sum(version(), {1, 32 * kManyBlocks}, 9); });
}

}  // namespace
