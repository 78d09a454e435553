// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "dot_with_lock.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::dot_with_lock::dot;
using lab::dot_with_lock::error_bound;
using lab::dot_with_lock::kMostBlocks;
using lab::dot_with_lock::kThreads;
using lab::dot_with_lock::step;
using lab::dot_with_lock::sum_in_order;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::few_blocks;
using lab::testing::is_time_of;
using lab::testing::kManyBlocks;
using lab::testing::matches;
using lab::testing::setting;
using lab::testing::timed;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using lab::testing::work_without_values;
using vector = std::vector<float>;

// A lock that is never released, or a block that waits for one that has not started, makes the
// kernel wait forever. The CPU device ends it; its default of 30 seconds would be a long time for a
// student to wait.
const setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10", setting::when::unless_given);
// A device that runs few blocks at the same time, on any machine: 16 of 256 threads.
const setting kWorkers("CPU_DEVICE_WORKERS", "2", setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::locked, "locked"}, {step::atomic_add, "atomic_add"}, {step::in_order, "in_order"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b,
                                    unsigned blocks) {
  return matches(
      lab::compare(dot(version, a, b, blocks).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

// --- who does the work ---------------------------------------------------------------------------

/// Each block adds its sum by the means of the step, also one that is alone or has no elements.
void expect_atomics_of(const lab::testing::work& done, const named_step& of, unsigned blocks) {
  if (!done.watched) return;
  for (const auto& k : done.kernels) {
    // (How many more atomics those are depends on chance: a thread that waits polls again and
    // again, and an addition that another one has interrupted is repeated.)
    EXPECT_GE(k.atomics, blocks)
        << of.name << ": fewer atomics than blocks: one did not add its sum, take the lock or draw "
        << "a ticket";
    EXPECT_LE(k.atomic_threads, 2 * std::uint64_t{blocks})
        << of.name << ": one thread per block is enough for the atomics";
    if (of.value == step::atomic_add) {
      EXPECT_EQ(k.plain_writes, 0U) << of.name << ": the total is written without atomics";
    } else if (of.value == step::locked) {
      EXPECT_GE(k.plain_writes, blocks * sizeof(float)) << of.name << ": no += under the lock";
    }
  }
}

REQUIRED_WORK(AGridThatEndsWithTheSum) {
  const vector a = whole_numbers(20'011, 1, -9, 14), b = whole_numbers(20'011, 2, -4, 5);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b, 12); });
    EXPECT_TRUE(as_required(done, {.threads = 12 * kThreads,
                                   .blocks = 12,
                                   .sent = 2 * bytes_of(a),
                                   .fetched = sizeof(float),
                                   .reads = 2 * bytes_of(a),
                                   .atomics = true}))
        << name;
    for (const auto& k : done.kernels) {
      EXPECT_EQ(k.blocks, 12U) << name;
      if (!done.watched) continue;
      EXPECT_GE(k.shared + 32 * k.warp_functions, 12 * kThreads)
          << name << ": the threads of a block share no sums";
    }
    expect_atomics_of(done, {version, name}, 12);
    EXPECT_LT(done.bytes_copied(cudaMemcpyDeviceToHost), 12 * sizeof(float))
        << name << ": the sums of the blocks were copied to the host";
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4), 12);
    })) << name;
  }
}

REQUIRED_WORK(AsManyBlocksAsWereAskedFor) {
  // Where most blocks have no elements, they take part anyway.
  const std::pair<std::size_t, unsigned> cases[] = {{1, 1},   {1, 2},    {40, 1},     {40, 31},
                                                    {300, 2}, {3000, 1}, {3000, 1025}};
  for (const auto& [version, name] : kSteps)
    for (const auto& [n, blocks] : cases) {
      const vector ones(n, 1.0F);
      const lab::testing::work done = work_of([&, version = version, blocks = blocks] {
        return is_exact(version, ones, ones, blocks);
      });
      EXPECT_TRUE(as_required(done, {.threads = n < 32 ? 1U : 8U,
                                     .sent = 2 * bytes_of(ones),
                                     .fetched = sizeof(float),
                                     .reads = 2 * bytes_of(ones),
                                     .atomics = true}))
          << name << ": " << n << " elements, " << blocks << " blocks";
      for (const auto& k : done.kernels) EXPECT_EQ(k.blocks, blocks) << name;
      expect_atomics_of(done, {version, name}, blocks);
    }
}

REQUIRED_WORK(AGridOfAsManyBlocksHoweverManyThatAre) {
  const few_blocks only(0, 2);  // the others would take long, and the sum is not looked at
  const vector ones(1000, 1.0F);
  for (const auto& [version, name] : kSteps)
    for (const unsigned blocks : {5000U, static_cast<unsigned>(kManyBlocks), kMostBlocks}) {
      const auto done =
          work_without_values([&, version = version] { (void)dot(version, ones, ones, blocks); });
      ASSERT_TRUE(as_required(done, {.blocks = 1})) << name << ": " << blocks << " blocks";
      for (const auto& k : done.kernels) ASSERT_EQ(k.blocks, blocks) << name;
    }
}

// --- the sum -------------------------------------------------------------------------------------

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp, a block, and several blocks' rounds; primes; the book's 33 * 1024 of 05.1.
INSTANTIATE_TEST_SUITE_P(Steps, Dot,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 31, 32, 33, 255, 256, 257, 511,
                                                              513, 1021, 2047, 2048, 2049,
                                                              33 * 1024)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactForWholeNumbersWithFewBlocksAndMany) {
  const auto& [version, n] = GetParam();
  // At most 33 * 1024 products of at most 14 * 29: below 2^24 in every order.
  const vector a = whole_numbers(n, n + 1, -9, 14), b = whole_numbers(n, n + 2, 1, 29);
  for (const unsigned blocks : {1U, 2U, 3U, 8U, 32U, 137U})  // more than there are parts, too
    EXPECT_TRUE(is_exact(version.value, a, b, blocks)) << blocks << " blocks";
}

TEST_P(Dot, IsWithinTheBoundForRandomNumbers) {
  const auto& [version, n] = GetParam();
  const vector a = lab::random_floats(n, n + 3, -1, 1);
  const vector b = lab::random_floats(n, n + 4, -100, 300);
  for (const unsigned blocks : {1U, 5U, 32U})
    EXPECT_TRUE(
        matches(lab::compare(dot(version.value, a, b, blocks).value, lab::dot_in_double(a, b),
                             {.absolute = error_bound(a, b, blocks)})))
        << blocks << " blocks";
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  static constexpr unsigned kBlocks = 137;
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b, kBlocks).value; }
  double bound(const vector& a, const vector& b) const { return error_bound(a, b, kBlocks); }
  static std::size_t most() { return 1'000'007; }
  static std::size_t full_size() { return lab::dot_with_lock::kDefaultSize; }
  static lab::testing::required full_work() { return {.threads = 1024}; }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, CountsEachBlockOnceWhereAllCompete) {
  // Blocks with hardly any work before the lock: without exclusion they get in between.
  for (const unsigned blocks : {64U, 1000U}) {
    const vector ones(std::size_t{blocks} * kThreads, 1.0F);
    EXPECT_EQ(dot(version(), ones, ones, blocks).value, static_cast<float>(ones.size()));
  }
}

TEST_P(EachStep, IsZeroForEmptyVectorsWithoutAKernel) {
  const auto result = dot(version(), {}, {}, 32);
  EXPECT_EQ(result.value, 0.0F);
  EXPECT_EQ(result.kernel_ms, 0.0F);
}

TEST_P(EachStep, RefusesGridsThatItDoesNotKnow) {
  const vector ones(3, 1.0F);
  for (const unsigned blocks : {0U, kMostBlocks + 1, std::numeric_limits<unsigned>::max()})
    EXPECT_THROW(dot(version(), ones, ones, blocks), lab::invalid_input) << blocks;
  EXPECT_THROW(dot(version(), {}, {}, 0), lab::invalid_input);
  EXPECT_NO_THROW(dot(version(), {}, {}, kMostBlocks));
}

TEST_P(EachStep, BeginsAtZeroWithAFreeLockEachTime) {
  const vector ones(5000, 1.0F), few(3, 2.0F);
  EXPECT_EQ(dot(version(), ones, ones, 7).value, 5000.0F);
  EXPECT_EQ(dot(version(), few, few, 7).value, 12.0F);
  EXPECT_EQ(dot(version(), ones, ones, 7).value, 5000.0F);
}

TEST_P(EachStep, BeginsAtZeroInEveryLaunchThatIsTimed) {
  // As the program does: the kernel is launched again and again, and the result is the last one's.
  const vector ones(5000, 1.0F);
  const lab::repeated_timing several(3);
  EXPECT_EQ(dot(version(), ones, ones, 7).value, 5000.0F);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(1000, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return dot(version(), ones, ones, 2).kernel_ms; }));
}

// --- the order -----------------------------------------------------------------------------------

/// A vector with one number in each part, of very different sizes and both signs. Each has its
/// opposite (but for the last of an odd number), so that little more remains of their sum than the
/// rounding errors, which depend on the order.
vector one_number_a_part(unsigned blocks, std::uint64_t seed) {
  lab::random_source random(seed);
  vector a(std::size_t{blocks} * kThreads);
  for (std::size_t part = 0; part < blocks; ++part) {
    const auto slot = static_cast<std::size_t>(random.integer(0, kThreads - 1));
    const float number = std::ldexp(random.real(-1, 1), random.integer(0, 20));
    const std::size_t half = blocks / 2;
    const bool again = part >= half && part < 2 * half;
    const auto first =
        a.begin() + static_cast<std::ptrdiff_t>((again ? part - half : 0) * kThreads);
    a[part * kThreads + slot] = again ? -std::accumulate(first, first + kThreads, 0.0F) : number;
  }
  return a;
}

class Order : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Blocks, Order, ::testing::Values(1, 2, 3, 31, 64, 300),
                         [](const auto& test) { return std::to_string(test.param) + "_blocks"; });

TEST_P(Order, IsThatOfTheParts) {
  const unsigned blocks = GetParam();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const vector a = one_number_a_part(blocks, seed), b(a.size(), 1.0F);
    EXPECT_EQ(dot(step::in_order, a, b, blocks).value, sum_in_order(a, b, blocks))
        << "seed " << seed;
  }
}

TEST(OrderOfTheTest, Matters) {
  // Otherwise the test above would show nothing.
  const vector a = one_number_a_part(64, 1), b(a.size(), 1.0F);
  vector backwards = a;
  for (std::size_t part = 0; part < 64; ++part)
    std::ranges::copy_n(a.end() - static_cast<std::ptrdiff_t>((part + 1) * kThreads), kThreads,
                        backwards.begin() + static_cast<std::ptrdiff_t>(part * kThreads));
  EXPECT_NE(sum_in_order(a, b, 64), sum_in_order(backwards, b, 64));
}

TEST(OrderOfParts, ASmallNumberBehindALargeOneIsLostAndBeforeItIsNot) {
  // 2^24 + 1 is no float. From the left, nothing remains of the ones; from the right, all of them.
  constexpr unsigned kBlocks = 9;
  vector large_first(kBlocks * kThreads), large_last(kBlocks * kThreads);
  for (std::size_t part = 0; part < kBlocks; ++part) {
    large_first[part * kThreads] = part == 0 ? 0x1p24F : 1.0F;
    large_last[part * kThreads] = part == kBlocks - 1 ? 0x1p24F : 1.0F;
  }
  const vector ones(kBlocks * kThreads, 1.0F);
  EXPECT_EQ(dot(step::in_order, large_first, ones, kBlocks).value, 0x1p24F);
  EXPECT_EQ(dot(step::in_order, large_last, ones, kBlocks).value, 0x1p24F + 8);
}

TEST(OrderOfParts, HasATurnForEachOfMoreBlocksThan16BitsCount) {
  lab::testing::expect_at_full_size([] {
    constexpr unsigned kBlocks = kManyBlocks;
    vector ones(std::size_t{kBlocks} * kThreads);  // one in each part
    for (std::size_t i = 0; i < ones.size(); i += kThreads) ones[i] = 1;
    EXPECT_EQ(dot(step::in_order, ones, ones, kBlocks).value, static_cast<float>(kBlocks));
  });
}

TEST(OrderOfParts, GivesTheSameBitsInEveryRun) {
  const vector a = lab::random_floats(100'003, 1, -1, 1);
  const vector b = lab::random_floats(100'003, 2, -100, 300);
  const auto bits = [&] {
    return std::bit_cast<std::uint32_t>(dot(step::in_order, a, b, 61).value);
  };
  // On the CPU device the tests are repeated with other orders of blocks: they share this one.
  static const std::uint32_t first = bits();
  for (int run = 0; run < 10; ++run) EXPECT_EQ(bits(), first) << "run " << run;
}

}  // namespace
