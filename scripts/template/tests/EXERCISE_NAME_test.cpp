// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// AUTHOR: one source for the starter, the solution and every bug. Sizes on both sides of every
//         boundary, data that is different at every element, names that are sentences.

#include "EXERCISE_NAME.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::EXERCISE_NAME::reference;
using lab::EXERCISE_NAME::twice;
using lab::testing::bytes_of;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

/// Doubles random numbers and compares bit for bit.
void expect_right(std::size_t n, std::uint64_t seed) {
  const auto input = lab::random_floats(n, seed, -1000, 3000);
  EXPECT_TRUE(matches(lab::compare_exact(twice(input).values, reference(input))));
}

REQUIRED_WORK(AKernelWhoseThreadsShareTheElements) {
  const auto input = lab::random_floats(5000, 1, -1000, 3000);
  EXPECT_TRUE(as_required(
      work_of([&] { return matches(lab::compare_exact(twice(input).values, reference(input))); }),
      {.threads = 1024,
       .blocks = 4,
       .sent = bytes_of(input),
       .fetched = bytes_of(input),
       .reads = bytes_of(input),
       .writes = bytes_of(input)}));
}

class EachSize : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EachSize, IsDoubledExactly) { expect_right(GetParam(), GetParam() + 1); }

// Around a warp (32), a block (256) and some blocks; a prime.
INSTANTIATE_TEST_SUITE_P(Sizes, EachSize,
                         ::testing::Values(0, 1, 31, 32, 33, 255, 256, 257, 511, 513, 1021,
                                           10 * 256 + 1, 33 * 1024),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

class EachSeed : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(EachSeed, IsDoubledExactly) { expect_right(1019, GetParam() * 100); }

INSTANTIATE_TEST_SUITE_P(Seeds, EachSeed, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return "seed" + std::to_string(test.param); });

TEST(Twice, KeepsInfinitiesAndTheSignOfZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> input = {-kInfinity, -0.0F, std::numeric_limits<float>::max()};
  EXPECT_TRUE(matches(lab::compare_exact(twice(input).values, reference(input))));
}

TEST(Twice, ForgetsThePreviousCall) {
  // The same length: an old result, left in memory that is given out again, would be wrong.
  expect_right(777, 1);
  expect_right(777, 2);
}

TEST(Twice, SaysHowLongItTook) {
  const std::vector<float> ones(1000, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return twice(ones).kernel_ms; }));
}

}  // namespace
