// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "constant_add.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::constant_add::add;
using lab::constant_add::add_each;
using lab::constant_add::current_addend;
using lab::constant_add::reference;
using lab::constant_add::reference_each;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::work_without_values;
using vector = std::vector<int>;

constexpr int kLeast = std::numeric_limits<int>::min();
constexpr int kMost = std::numeric_limits<int>::max();

::testing::AssertionResult is_right(const vector& a, const vector& b, int addend) {
  return matches(lab::compare_exact(add(a, b, addend).sum, reference(a, b, addend)));
}
::testing::AssertionResult are_right(const vector& a, const vector& b, const vector& addends) {
  return matches(lab::compare_exact(add_each(a, b, addends), reference_each(a, b, addends)));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatReadsTheConstant) {
  const vector a = lab::random_ints(5000, 1, -9, 90), b = lab::random_ints(5000, 2, -9, 5);
  EXPECT_TRUE(
      as_required(work_of([&] { return is_right(a, b, 77); }),
                  {.threads = 5000,
                   .blocks = 4,
                   .sent = 2 * bytes_of(a),
                   .fetched = bytes_of(a),
                   .calls = {"cudaMemcpyToSymbol|cudaMemcpyToSymbolAsync|cudaGetSymbolAddress"},
                   .reads = 2 * bytes_of(a),
                   .writes = bytes_of(a),
                   .constant_memory = true,
                   .sectors = lab::testing::kNeighbours}));
  for (const std::size_t n : {1, 3, 31, 40, 257})
    EXPECT_TRUE(as_required(
        work_of([&] {
          return is_right(lab::random_ints(n, 1, 1, 9), lab::random_ints(n, 2, 1, 9), 77);
        }),
        {.threads = n, .fetched = 1, .writes = n * sizeof(int), .constant_memory = true}))
        << n << " elements";
}

REQUIRED_WORK(ALaunchForEachAddend) {
  const vector addends = {5, -70, 600};
  const auto call = [&](std::size_t n, const vector& in_turn) {
    return are_right(lab::random_ints(n, 1, 1, 9), lab::random_ints(n, 2, 1, 9), in_turn);
  };
  const std::size_t bytes = 3 * 5000 * sizeof(int);
  // Each addend is copied, too: it is no argument, nor is its difference from another one.
  const std::size_t sent = 2 * 5000 * sizeof(int) + bytes_of(addends);
  EXPECT_TRUE(as_required(work_of([&] { return call(5000, addends); }),
                          {.threads = 5000,
                           .blocks = 4,
                           .kernels = 3,
                           .sent = sent,
                           .fetched = bytes,
                           .reads = 2 * bytes,
                           .writes = bytes,
                           .constant_memory = true,
                           .sectors = lab::testing::kNeighbours}));
  for (const std::size_t n : {1, 3, 31, 40, 257})
    EXPECT_TRUE(
        as_required(work_of([&] { return call(n, addends); }), {.threads = n,
                                                                .kernels = 3,
                                                                .fetched = 1,
                                                                .writes = 3 * n * sizeof(int),
                                                                .constant_memory = true}))
        << n << " elements";
  // A repeated addend has its own launch, too.
  EXPECT_TRUE(as_required(work_of([&] {
                            return call(5000, {5, 5, 9, 5});
                          }),
                          {.threads = 5000, .blocks = 4, .kernels = 4, .constant_memory = true}));
  EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return call(n, {8}); },
                             {.threads = 1, .fetched = 1, .constant_memory = true}));
}

REQUIRED_WORK(TheConstantIsReadBack) {
  (void)add(vector{1}, vector{2}, 4711);
  EXPECT_TRUE(as_required(work_of([] { return current_addend() == 4711; }),
                          {.kernels = 0, .fetched = sizeof(int)}));
}

REQUIRED_WORK(LongVectorsToo) {
  lab::testing::expect_at_full_size([] {
    const vector a(100'003, 5), b(100'003, 2);
    return as_required(work_of([&] { return is_right(a, b, 77); }),
                       {.threads = a.size(), .fetched = bytes_of(a)});
  });
}

TEST(LongVectors, AreAddedToTheEnd) {
  // More than 65,535 blocks of 256 threads, and more elements than a float can count. (Not where
  // every access is watched: there it would take a minute.)
  const bool watched = work_without_values([] { add(vector(1), vector(1), 0); }).watched;
  const std::size_t size = watched ? 100'003 : (std::size_t{1} << 24) + 257;
  vector a(size, 5);
  a.back() = -9;
  EXPECT_TRUE(is_right(a, vector(size, 3), -77));
}

class Length : public ::testing::TestWithParam<std::size_t> {};

// Around a warp and a block of 256; many blocks and one; a prime.
INSTANTIATE_TEST_SUITE_P(Add, Length,
                         ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1021,
                                           40 * 256 + 1, 100'003),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Length, AddsTheConstantToEachElement) {
  const std::size_t n = GetParam();
  const vector a = lab::random_ints(n, n + 1, -1'000'000, 2'000'000);
  const vector b = lab::random_ints(n, n + 2, -9, 5);
  // Four different bytes each: none can be missing.
  for (const int addend : {0, -3, 0x01020304, -0x11223344}) EXPECT_TRUE(is_right(a, b, addend));
}

TEST_P(Length, ChangesTheConstantBetweenLaunches) {
  const std::size_t n = GetParam();
  const vector a = lab::random_ints(n, n + 3, -1'000'000, 2'000'000);
  const vector b = lab::random_ints(n, n + 4, kLeast, kMost);
  EXPECT_TRUE(are_right(a, b, {70'000, -5, 3'000'000, 0, 1}));
}

TEST(ConstantAdd, WrapsAround) {
  const vector a = {kMost, kLeast, kMost, -1, kLeast, 0};
  const vector b = {1, -1, kMost, kLeast, kLeast, kMost};
  for (const int addend : {0, 1, -1, kMost, kLeast}) EXPECT_TRUE(is_right(a, b, addend));
}

TEST(ConstantAdd, TakesAnyNumbers_Seed7) {
  const vector a = lab::random_ints(3000, 7, kLeast, kMost);
  const vector b = lab::random_ints(3000, 8, kLeast, kMost);
  for (const int addend : lab::random_ints(10, 9, kLeast, kMost))
    EXPECT_TRUE(is_right(a, b, addend));
}

TEST(ConstantAdd, ForgetsTheAddendBefore) {
  const vector a = {1, 2, 3}, b = {10, -20, 30};
  EXPECT_TRUE(is_right(a, b, 1'000'000));
  EXPECT_TRUE(is_right(a, b, 5));
  EXPECT_TRUE(is_right(a, b, 0));
}

TEST(ConstantAdd, SetsTheConstantAgainAfterAddEach) {
  const vector a = {1, 2, 3}, b = {10, -20, 30};
  EXPECT_TRUE(is_right(a, b, 5));
  EXPECT_TRUE(are_right(a, b, {6, 9, 6}));
  EXPECT_TRUE(is_right(a, b, 5));
  EXPECT_TRUE(are_right(a, b, {5, 5, 9, 5}));
}

TEST(ConstantAdd, SetsTheConstantOfEachDevice) {
  // Each device has a constant of its own, which the addend of another one has not reached.
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  for (const int addend : {5, -6}) {
    for (int device = 0; device < devices; ++device) {
      const lab::testing::on_device here(device);
      EXPECT_TRUE(is_right({1, 2, 3}, {10, -20, 30}, addend)) << "on device " << device;
      EXPECT_TRUE(are_right({1, 2, 3}, {10, -20, 30}, {9, addend})) << "on device " << device;
      EXPECT_EQ(current_addend(), addend) << "on device " << device;
    }
  }
}

TEST(ConstantAdd, LeavesTheConstantInPlace) {
  const vector a = {1, 2}, b = {3, 4};
  for (const int addend : {0x0A0B0C0D, -17, 0}) {
    (void)add(a, b, addend);
    EXPECT_EQ(current_addend(), addend);
  }
}

TEST(ConstantAdd, LeavesTheConstantAloneWithoutElements) {
  (void)add(vector{1}, vector{2}, 77);
  EXPECT_TRUE(add({}, {}, 99).sum.empty());
  EXPECT_TRUE(add_each({}, {}, vector{99, 100}).empty());
  EXPECT_TRUE(add_each(vector{1}, vector{2}, {}).empty());
  EXPECT_EQ(current_addend(), 77);
}

TEST(ConstantAdd, RefusesVectorsOfDifferentLengths) {
  const vector three(3, 1), four(4, 1), none;
  (void)add(three, three, 77);
  for (const auto& [a, b] : {std::pair{three, four}, {four, three}, {none, four}, {four, none}}) {
    EXPECT_THROW(add(a, b, 1), lab::invalid_input);
    EXPECT_THROW(add_each(a, b, vector{1, 2}), lab::invalid_input);
    EXPECT_THROW(add_each(a, b, {}), lab::invalid_input);
  }
  EXPECT_EQ(current_addend(), 77) << "what is refused leaves the constant alone";
}

TEST(ConstantAdd, SaysHowLongTheKernelTook) {
  EXPECT_TRUE(is_time_of(timed::kernel,
                         [&] { return add(vector(1000, 1), vector(1000, 2), 3).kernel_ms; }));
}

TEST(ConstantAddEach, IsOneAfterTheOther) {
  EXPECT_EQ(add_each(vector{1, 2}, vector{10, 20}, vector{100, 300, 200}),
            (vector{111, 122, 311, 322, 211, 222}));
  EXPECT_EQ(current_addend(), 200);
}

TEST(ConstantAddEach, HasManyAddends) {
  const vector a = lab::random_ints(300, 11, kLeast, kMost);
  const vector b = lab::random_ints(300, 12, kLeast, kMost);
  EXPECT_TRUE(are_right(a, b, lab::random_ints(200, 13, kLeast, kMost)));
}

TEST(ConstantAddEach, HasMoreAddendsThanFitIntoConstantMemory) {
  lab::testing::expect_at_full_size([] {  // 64 KiB are 16384 ints
    EXPECT_TRUE(are_right({1, 2}, {30, -40}, lab::random_ints(16'411, 16, kLeast, kMost)));
  });
}

TEST(ConstantAddEach, IsTheSameTwice) {
  const vector a = lab::random_ints(700, 14, kLeast, kMost);
  const vector b = lab::random_ints(700, 15, kLeast, kMost);
  EXPECT_TRUE(are_right(a, b, {4, -4, 44}));
  EXPECT_TRUE(are_right(b, a, {-9, 1'000'000'000}));
  EXPECT_TRUE(are_right(a, b, {4, -4, 44}));
}

FAULT_TEST(ConstantAdd, ReportsEveryCallThatFails) {
  const vector a = {1, 2, 3}, b = {5, 7, 11};
  expect_failures_reported([&] { return add(a, b, 4).sum; }, a, b);
  expect_failures_reported([] { return current_addend(); });
}

FAULT_TEST(ConstantAddEach, ReportsEveryCallThatFails) {
  const vector a = {1, 2, 3}, b = {5, 7, 11}, addends = {-1, 4};
  expect_failures_reported([&] { return add_each(a, b, addends); }, a, b, addends);
}

}  // namespace
