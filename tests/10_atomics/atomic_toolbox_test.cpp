// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "atomic_toolbox.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

const lab::testing::timed_once kInPlace;  // the functions change the cells that they are given

using lab::atomic_toolbox::add_together;
using lab::atomic_toolbox::after;
using lab::atomic_toolbox::apply;
using lab::atomic_toolbox::check_max;
using lab::atomic_toolbox::float_max;
using lab::atomic_toolbox::is_possible;
using lab::atomic_toolbox::kGroup;
using lab::atomic_toolbox::operation;
using lab::atomic_toolbox::outcome;
using lab::atomic_toolbox::reference_sums;
using lab::atomic_toolbox::request;
using lab::atomic_toolbox::sums_of_groups;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using requests = std::vector<request>;
using floats = std::vector<float>;

constexpr std::uint32_t kLargest = std::numeric_limits<std::uint32_t>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct named_operation {
  operation value;
  const char* name;
};
constexpr named_operation kOperations[] = {
    {operation::add, "add"},       {operation::sub, "sub"},        {operation::exch, "exch"},
    {operation::min, "min"},       {operation::max, "max"},        {operation::inc, "inc"},
    {operation::dec, "dec"},       {operation::cas, "cas"},        {operation::bit_and, "bit_and"},
    {operation::bit_or, "bit_or"}, {operation::bit_xor, "bit_xor"}};

requests random_requests(std::size_t n, std::uint64_t seed, int low, int high) {
  const std::vector<int> numbers = lab::random_ints(2 * n, seed, low, high);
  requests made(n);
  for (std::size_t i = 0; i < n; ++i)
    made[i] = {static_cast<std::uint32_t>(numbers[2 * i]),
               static_cast<std::uint32_t>(numbers[2 * i + 1])};
  return made;
}

::testing::AssertionResult can_be_explained(operation op, std::uint32_t start,
                                            const requests& asked) {
  return matches(is_possible(op, start, asked, apply(op, start, asked)));
}

/// What the one request returns and leaves, as text: "returns 3, leaves 4".
std::string alone(operation op, std::uint32_t start, request operands) {
  const outcome given = apply(op, start, requests{operands});
  if (given.returned.size() != 1) return std::to_string(given.returned.size()) + " values returned";
  return "returns " + std::to_string(given.returned[0]) + ", leaves " + std::to_string(given.left);
}
std::string expected(std::uint32_t start, std::uint32_t left) {
  return "returns " + std::to_string(start) + ", leaves " + std::to_string(left);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(ThreadsThatUseAtomics) {
  const requests asked = random_requests(600, 1, 0, 9);
  EXPECT_TRUE(as_required(work_of([&] { return can_be_explained(operation::add, 5, asked); }),
                          {.threads = asked.size(),
                           .sent = bytes_of(asked),
                           .fetched = asked.size() * 4,
                           .atomics = true}));
  const floats values = lab::random_floats(5000, 1, -9, 4);
  EXPECT_TRUE(
      as_required(work_of([&] { return float_max(values) == *std::ranges::max_element(values); }),
                  {.threads = 1024,
                   .blocks = 4,
                   .sent = bytes_of(values),
                   .reads = bytes_of(values),
                   .atomics = true}));
  const std::vector<std::uint32_t> numbers(10 * kGroup, 3);
  const lab::testing::work of_sums =
      work_of([&] { return sums_of_groups(numbers) == reference_sums(numbers); });
  EXPECT_TRUE(as_required(of_sums, {.threads = 10 * kGroup,
                                    .blocks = 10,
                                    .sent = bytes_of(numbers),
                                    .reads = bytes_of(numbers),
                                    .atomics = true}));
  std::uint64_t adding = 0;
  for (const auto& k : of_sums.kernels) adding += k.atomic_threads;
  if (of_sums.watched) {
    EXPECT_GE(adding, numbers.size() / 32)
        << "sums_of_groups: so many threads use atomic functions "
           "in device memory, where the sums are";
  }
}

REQUIRED_WORK(AdditionsOfBothSidesAtTheSameTime) {
  for (const unsigned threads : {1U, 40U, 300U}) {
    const lab::testing::work done =
        work_of([=] { return add_together(1, threads, 5, 2) == 11 + 2 * threads; });
    ASSERT_TRUE(
        as_required(done, {.threads = threads, .calls = {"cudaMallocManaged"}, .atomics = true}));
    if (!done.watched) continue;
    EXPECT_GE(done.host_atomics, 5U)
        << "add_together: the host's atomic additions, from the launch to the wait for the kernel";
    EXPECT_EQ(done.host_plain, 0U)
        << "add_together: the host reads or writes the counter without an atomic function while "
           "the kernel may be running";
    for (const auto& k : done.kernels)
      EXPECT_EQ(k.system_atomics, k.atomics)
          << "add_together: the kernel's atomic functions are to be atomic for the host, too";
  }
}

REQUIRED_WORK(AThreadForEachHoweverFewTheyAre) {
  for (const std::size_t n : {1, 3, 40, 257}) {
    const lab::testing::required each = {.threads = n, .fetched = 1, .writes = 1, .atomics = true};
    for (const auto& [op, name] : kOperations)
      EXPECT_TRUE(as_required(
          work_of([&, op = op] { return can_be_explained(op, 5, random_requests(n, 1, 1, 9)); }),
          each))
          << n << " requests: " << name;
    const floats values = lab::random_floats(n, 2, -9, -4);
    EXPECT_TRUE(as_required(
        work_of([&] { return float_max(values) == *std::ranges::max_element(values); }), each))
        << n << " values";
    const auto numbers = lab::random_words(n, 3);
    EXPECT_TRUE(as_required(
        work_of([&] { return sums_of_groups(numbers) == reference_sums(numbers); }), each))
        << n << " numbers";
    EXPECT_TRUE(as_required(
        work_of([&] { return add_together(7, static_cast<unsigned>(n), 5, 2) == 17 + 2 * n; }),
        each))
        << n << " threads";
  }
}

// --- the check itself ----------------------------------------------------------------------------

TEST(IsPossible, AcceptsWhatAnOrderExplains) {
  // Exchange: 7 was there; the second request came first, then the third, then the first.
  const requests asked = {{1, 0}, {2, 0}, {3, 0}};
  EXPECT_TRUE(matches(is_possible(operation::exch, 7, asked, {1, {3, 7, 2}, 0})));
  EXPECT_TRUE(matches(is_possible(operation::exch, 7, {}, {7, {}, 0})));
  // A failed compare and swap leaves the cell as it is.
  EXPECT_TRUE(matches(is_possible(operation::cas, 7, requests{{1, 5}}, {7, {7}, 0})));
}

TEST(IsPossible, RejectsWhatNoOrderExplains) {
  const requests asked = {{1, 0}, {2, 0}, {3, 0}};
  EXPECT_FALSE(is_possible(operation::exch, 7, asked, {1, {7, 7, 2}, 0})) << "7 is seen twice";
  EXPECT_FALSE(is_possible(operation::exch, 7, asked, {2, {3, 7, 2}, 0})) << "1 should be left";
  EXPECT_FALSE(is_possible(operation::exch, 7, asked, {1, {3, 2, 7}, 0})) << "2 sees itself";
  EXPECT_FALSE(is_possible(operation::exch, 7, asked, {1, {3, 7}, 0})) << "one is missing";
  EXPECT_FALSE(is_possible(operation::exch, 7, {}, {8, {}, 0})) << "8 was never written";
  EXPECT_FALSE(is_possible(operation::cas, 7, requests{{1, 5}}, {7, {5}, 0})) << "5 was not there";
  // A lost update, and one that was made without anybody having seen the start.
  EXPECT_FALSE(is_possible(operation::add, 0, requests{{1, 0}, {1, 0}}, {1, {0, 0}, 0}));
  EXPECT_FALSE(is_possible(operation::bit_xor, 4, requests{{1, 0}, {1, 0}}, {4, {8, 9}, 0}))
      << "8 and 9 were never there";
}

TEST(IsPossible, AgreesWithTryingAllOrders) {
  // Three requests, every value that they might have returned, and might have left: 0 to 7.
  for (const auto& [op, name] : kOperations) {
    const requests asked = {{2, 1}, {1, 2}, {3, 1}};
    const std::uint32_t start = op == operation::sub ? 7 : 1;  // so that none is below 0
    int how_many = 0;
    for (std::uint32_t code = 0; code < 8 * 8 * 8 * 8; ++code) {
      const outcome given{code % 8, {code / 8 % 8, code / 64 % 8, code / 512}, 0};
      std::vector<std::size_t> order = {0, 1, 2};
      bool explained = false;
      do {
        std::uint32_t cell = start;
        bool fits = true;
        for (const std::size_t i : order) {
          fits = fits && given.returned[i] == cell;
          cell = after(op, cell, asked[i]);
        }
        explained = explained || (fits && cell == given.left);
      } while (std::ranges::next_permutation(order).found);
      EXPECT_EQ(is_possible(op, start, asked, given).ok, explained) << name << ", case " << code;
      how_many += explained ? 1 : 0;
    }
    EXPECT_GT(how_many, 0) << name
                           << ": nothing was explained, so that a check could refuse it all";
  }
}

// --- each operation alone ------------------------------------------------------------------------

TEST(Alone, EachOperationIsAsDefined) {
  EXPECT_EQ(alone(operation::add, 7, {5, 0}), expected(7, 12));
  EXPECT_EQ(alone(operation::add, kLargest, {2, 0}), expected(kLargest, 1));
  EXPECT_EQ(alone(operation::sub, 7, {5, 0}), expected(7, 2));
  EXPECT_EQ(alone(operation::sub, 1, {2, 0}), expected(1, kLargest));
  EXPECT_EQ(alone(operation::exch, 7, {5, 0}), expected(7, 5));
  EXPECT_EQ(alone(operation::min, 7, {5, 0}), expected(7, 5));
  EXPECT_EQ(alone(operation::min, 5, {7, 0}), expected(5, 5));
  EXPECT_EQ(alone(operation::max, 7, {5, 0}), expected(7, 7));
  EXPECT_EQ(alone(operation::max, 5, {7, 0}), expected(5, 7));
  // Unsigned: the number with all bits set is the largest, not -1.
  EXPECT_EQ(alone(operation::min, kLargest, {3, 0}), expected(kLargest, 3));
  EXPECT_EQ(alone(operation::max, kLargest, {3, 0}), expected(kLargest, kLargest));
  EXPECT_EQ(alone(operation::bit_and, 12, {10, 0}), expected(12, 8));
  EXPECT_EQ(alone(operation::bit_or, 12, {10, 0}), expected(12, 14));
  EXPECT_EQ(alone(operation::bit_xor, 12, {10, 0}), expected(12, 6));
}

TEST(Alone, IncCountsUpToTheValueAndBeginsAgain) {
  EXPECT_EQ(alone(operation::inc, 0, {3, 0}), expected(0, 1));
  EXPECT_EQ(alone(operation::inc, 2, {3, 0}), expected(2, 3));
  EXPECT_EQ(alone(operation::inc, 3, {3, 0}), expected(3, 0));
  EXPECT_EQ(alone(operation::inc, 9, {3, 0}), expected(9, 0));
  EXPECT_EQ(alone(operation::inc, 0, {0, 0}), expected(0, 0));
  EXPECT_EQ(alone(operation::inc, kLargest, {kLargest, 0}), expected(kLargest, 0));
}

TEST(Alone, DecCountsDownAndBeginsAgainAtTheValue) {
  EXPECT_EQ(alone(operation::dec, 3, {3, 0}), expected(3, 2));
  EXPECT_EQ(alone(operation::dec, 1, {3, 0}), expected(1, 0));
  EXPECT_EQ(alone(operation::dec, 0, {3, 0}), expected(0, 3));
  EXPECT_EQ(alone(operation::dec, 9, {3, 0}), expected(9, 3));
  EXPECT_EQ(alone(operation::dec, 0, {0, 0}), expected(0, 0));
  EXPECT_EQ(alone(operation::dec, kLargest, {kLargest, 0}), expected(kLargest, kLargest - 1));
}

TEST(Alone, CasSwapsOnlyWhatWasExpected) {
  EXPECT_EQ(alone(operation::cas, 7, {5, 7}), expected(7, 5));
  EXPECT_EQ(alone(operation::cas, 7, {5, 6}), expected(7, 7));
  EXPECT_EQ(alone(operation::cas, 5, {5, 7}), expected(5, 5));
}

// --- each operation by many threads --------------------------------------------------------------

class Apply : public ::testing::TestWithParam<std::tuple<named_operation, std::size_t>> {};

// Around a warp, a block of 256, some blocks; a prime.
INSTANTIATE_TEST_SUITE_P(Requests, Apply,
                         ::testing::Combine(::testing::ValuesIn(kOperations),
                                            ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257,
                                                              1021, 2561, 5003)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Apply, CanBeExplainedForFewValues) {  // so that all values come again and again
  const auto& [op, n] = GetParam();
  for (const std::uint32_t start : {0U, 3U, 9U, kLargest})
    EXPECT_TRUE(can_be_explained(op.value, start, random_requests(n, n + start, 0, 5)));
}

TEST_P(Apply, CanBeExplainedForManyValues) {
  const auto& [op, n] = GetParam();
  const auto asked =
      random_requests(n, n + 1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max());
  EXPECT_TRUE(can_be_explained(op.value, 12345, asked));
}

class EachOperation : public ::testing::TestWithParam<named_operation> {
 protected:
  operation op() const { return GetParam().value; }
};
INSTANTIATE_TEST_SUITE_P(Operations, EachOperation, ::testing::ValuesIn(kOperations),
                         [](const auto& info) { return info.param.name; });

TEST_P(EachOperation, ForgetsThePreviousCall) {
  const auto asked = random_requests(300, 3, 0, 100);
  EXPECT_TRUE(can_be_explained(op(), 50, asked));
  EXPECT_TRUE(can_be_explained(op(), 51, asked));
}

TEST_P(EachOperation, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel,
                         [&] { return apply(op(), 1, random_requests(1000, 1, 0, 9)).kernel_ms; }));
}

TEST(Exchange, ReturnsEveryValueOnceWithWhatIsLeft) {
  constexpr std::uint32_t kStart = 5000, kRequests = 5000;
  requests asked(kRequests);
  for (std::uint32_t i = 0; i < kRequests; ++i) asked[i].value = i;
  outcome given = apply(operation::exch, kStart, asked);
  std::vector<std::uint32_t> all = given.returned;
  all.push_back(given.left);
  std::ranges::sort(all);
  std::vector<std::uint32_t> each(kRequests + 1);
  std::iota(each.begin(), each.end(), 0U);
  EXPECT_TRUE(matches(lab::compare_exact(all, each)));
}

TEST(Inc, GivesEveryPlaceOfARingEquallyOften) {
  constexpr std::uint32_t kPlaces = 7, kRounds = 300;
  const outcome given = apply(operation::inc, 0, requests(kPlaces * kRounds, {kPlaces - 1, 0}));
  std::vector<std::uint32_t> how_often(kPlaces);
  for (const std::uint32_t position : given.returned) {
    ASSERT_LT(position, kPlaces);
    ++how_often[position];
  }
  EXPECT_EQ(how_often, std::vector<std::uint32_t>(kPlaces, kRounds));
  EXPECT_EQ(given.left, 0U);
}

TEST(Cas, LetsExactlyOneThroughADoor) {
  const outcome given = apply(operation::cas, 0, requests(3000, {1, 0}));
  EXPECT_EQ(std::ranges::count(given.returned, 0U), 1);
  EXPECT_EQ(given.left, 1U);
}

// --- the largest float ---------------------------------------------------------------------------

class FloatMax : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FloatMax,
                         ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257, 1021, 30'011),
                         [](const auto& info) { return "n" + std::to_string(info.param); });

TEST_P(FloatMax, IsExactForAllSigns) {
  for (const auto& [low, high] : {std::pair{-100.0F, 100.0F},
                                  {-100.0F, -1.0F},
                                  {1.0F, 2.0F},
                                  {-1e-38F, -1e-40F},
                                  {-3e38F, 3e38F}}) {
    const floats values = lab::random_floats(GetParam(), GetParam() + 1, low, high);
    EXPECT_TRUE(matches(check_max(float_max(values), values))) << low << " to " << high;
  }
}

TEST_P(FloatMax, IsFoundAtEachEnd) {
  if (GetParam() == 0) return;
  for (const std::size_t position : {std::size_t{0}, GetParam() / 2, GetParam() - 1}) {
    floats values(GetParam(), -7.5F);
    values[position] = -2.25F;
    EXPECT_TRUE(matches(check_max(float_max(values), values))) << "it is at " << position;
  }
}

TEST_P(FloatMax, IsANaNWhereverThereIsOne) {
  if (GetParam() == 0) return;
  for (const std::size_t position : {std::size_t{0}, GetParam() / 2, GetParam() - 1})
    for (const float nan : {kNaN, -kNaN}) {
      floats values = lab::random_floats(GetParam(), 4, -1, 1);
      values[(position + 1) % values.size()] = kInfinity;
      values[position] = nan;
      EXPECT_TRUE(matches(check_max(float_max(values), values))) << "the NaN is at " << position;
    }
}

TEST_P(FloatMax, KnowsTheSignOfZero) {
  if (GetParam() == 0) return;
  EXPECT_TRUE(matches(check_max(float_max(floats(GetParam(), -0.0F)), floats{-0.0F})));
  for (const std::size_t position : {std::size_t{0}, GetParam() / 2, GetParam() - 1}) {
    floats values(GetParam(), -0.0F);
    values[position] = 0.0F;
    EXPECT_TRUE(matches(check_max(float_max(values), values))) << "+0 is at " << position;
  }
}

TEST(FloatMaxOf, SpecialValues) {
  for (const floats& values :
       {floats{}, floats{-kInfinity}, floats{-kInfinity, -kInfinity}, floats{kInfinity, 1},
        floats{1, kInfinity, -kInfinity}, floats{-kInfinity, -3e38F}, floats{kNaN, kNaN},
        floats{-0.0F, -1}, floats{-1e-45F, -3e-45F}, floats{1e-45F, -0.0F, 0.0F}})
    EXPECT_TRUE(matches(check_max(float_max(values), values)));
}

TEST(FloatMaxOf, ValuesThatGrowOrShrink) {
  floats values(3000);
  std::iota(values.begin(), values.end(), -1500.0F);  // each is larger than all before it
  EXPECT_EQ(float_max(values), 1499.0F);
  std::ranges::reverse(values);
  EXPECT_EQ(float_max(values), 1499.0F);
  EXPECT_EQ(float_max(floats{-5}), -5.0F) << "and it has forgotten the previous call";
}

/// What is in the cell at the end, if `value` is the only one, and other threads raise the cell to
/// the values of `others` whenever an atomic function is about to access it.
::testing::AssertionResult is_not_lost(float value, const floats& others) {
  std::vector<std::uint32_t> bits;
  for (const float each : others) bits.push_back(std::bit_cast<std::uint32_t>(each));
  const lab::testing::detail::others_come_between meanwhile(
      std::bit_cast<std::uint32_t>(-kInfinity), bits);
  const float found = float_max(floats{value});
  floats all(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(meanwhile.came()));
  all.push_back(value);
  return matches(check_max(found, all));
}

TEST(FloatMaxOf, IsNotLostIfOtherThreadsComeBetween) {
  // Once, twice, … between what the thread has read and what it stores; at last with a larger one.
  for (const floats& others :
       {floats{1}, floats{1, 2}, floats{1, 2, 3, 4}, floats{20}, floats{1, 20}, floats{1, 2, 20},
        floats{1, 2, 3, 20}, floats{1, 2, 3, kNaN}})
    EXPECT_TRUE(is_not_lost(9, others)) << others.size() << " times";
}

// --- scopes --------------------------------------------------------------------------------------

class Sums : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Sums,
                         ::testing::Values(0, 1, 31, 32, 33, 255, 256, 257, 511, 512, 513, 1021,
                                           100'003),
                         [](const auto& info) { return "n" + std::to_string(info.param); });

TEST_P(Sums, AreThoseOfTheGroups) {
  const std::vector<int> whole = lab::random_ints(GetParam(), GetParam() + 2, 1, 2'000'000'000);
  const std::vector<std::uint32_t> values(whole.begin(), whole.end());
  EXPECT_TRUE(matches(lab::compare_exact(sums_of_groups(values), reference_sums(values))));
  EXPECT_TRUE(matches(lab::compare_exact(sums_of_groups(values), reference_sums(values))))
      << "the second time";
}

/// If this device cannot do it: nothing, and the reason.
bool host_may_join() {
  int device = 0, concurrent = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  return concurrent != 0;
}

TEST(AddTogether, GivesTheSumOfTheText) {
  if (!host_may_join()) {
    EXPECT_THROW(add_together(0, 10, 1, 10), lab::not_possible);
    GTEST_SKIP() << "the host must not touch managed memory while a kernel runs on this device";
  }
  EXPECT_EQ(add_together(0, 10, 1, 10), 110U);
}

TEST(AddTogether, LosesNothing) {
  if (!host_may_join())
    GTEST_SKIP() << "the host must not touch managed memory while a kernel runs on this device";
  for (const unsigned threads : {0U, 1U, 31U, 32U, 33U, 255U, 256U, 257U, 10'007U})
    for (const unsigned host_times : {0U, 1U, 1000U}) {
      EXPECT_EQ(add_together(5, threads, host_times, 3), 5 + (threads + host_times) * 3)
          << threads << " threads, the host " << host_times << " times";
    }
  EXPECT_EQ(add_together(kLargest, 2, 1, 1), 2U) << "it wraps around";
  EXPECT_EQ(add_together(7, 3, 2, 100'000), 500'007U) << "far more than there are threads";
}

FAULT_TEST_P(EachOperation, ReportsEveryCallThatFails) {
  const auto asked = random_requests(100, 3, 0, 100);
  expect_failures_reported([&] { return can_be_explained(op(), 50, asked); });
}

FAULT_TEST(FloatMaxOf, ReportsEveryCallThatFails) {
  const floats values = {1, -3, 7, 2};
  expect_failures_reported([&] { return float_max(values); }, values);
}

FAULT_TEST(SumsOfGroups, ReportEveryCallThatFails) {
  const std::vector<std::uint32_t> values(300, 7);
  expect_failures_reported([&] { return sums_of_groups(values); }, values);
}

FAULT_TEST(AddTogether, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return add_together(5, 100, 10, 3); });
}

TEST(FloatMax, SeesEveryValueOfManyBlocks) {
  expect_at_full_size([] {
    floats values = lab::random_floats(256 * lab::testing::kManyBlocks, 1, -100, -1);
    values.back() = 5;  // in the last block alone
    return matches(check_max(float_max(values), values));
  });
}

TEST(SumsOfGroups, AreThoseOfManyBlocks) {
  expect_at_full_size([] {
    const auto values = lab::random_words(kGroup * lab::testing::kManyBlocks, 2);
    return matches(lab::compare_exact(sums_of_groups(values), reference_sums(values)));
  });
}

}  // namespace
