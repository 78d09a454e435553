// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "sorting_study.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::batch;
using lab::sorting_study::check;
using lab::sorting_study::comparators;
using lab::sorting_study::kMethods;
using lab::sorting_study::make_problem;
using lab::sorting_study::method;
using lab::sorting_study::problem;
using lab::sorting_study::row;
using lab::sorting_study::study;
using lab::sorting_study::wrong_order;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;

const std::vector<method> kAll(std::begin(kMethods), std::end(kMethods));

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(EveryMethodByItsOwnMeans) {
  const auto is_right = [](method algorithm, lab::batch arrays) {
    const std::vector<problem> problems = {make_problem(arrays, 1)};
    return matches(
        check(study(problems, std::vector{algorithm}, 2), problems, std::vector{algorithm}, 2));
  };
  for (const method algorithm : {method::bitonic, method::odd_even}) {
    EXPECT_TRUE(as_required(work_of([&] {
                              return is_right(algorithm, {2, 2048});
                            }),
                            {.threads = 1024,
                             .blocks = 2,
                             .kernels = 3 * 2,  // the check and two samples, two launches at least
                             .sent = 2 * 4096 * sizeof(std::uint32_t),
                             .reads = 3 * 2 * 4096 * sizeof(std::uint32_t),
                             .writes = 3 * 2 * 4096 * sizeof(std::uint32_t),
                             .shared_memory = true}));
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t n) {
          return is_right(algorithm, {n, 16});
        },
        {.threads = 1, .writes = 1}));
  }
}

// --- rows ----------------------------------------------------------------------------------------

class Problems : public ::testing::TestWithParam<batch> {};

TEST_P(Problems, HaveARowForEveryMethod) {
  // No row comes without a right sort: study() throws where one is wrong.
  const std::vector<problem> problems = {make_problem(GetParam(), 1)};
  EXPECT_TRUE(matches(check(study(problems, kAll, 2), problems, kAll, 2)));
}

// Around a tile of 1024; one array, several, tiles that overhang.
INSTANTIATE_TEST_SUITE_P(Batches, Problems,
                         ::testing::Values(batch{1, 1}, batch{5, 1}, batch{1, 2}, batch{7, 2},
                                           batch{33, 16}, batch{17, 64}, batch{3, 512},
                                           batch{1, 1024}, batch{3, 1024}, batch{1, 2048},
                                           batch{3, 2048}, batch{1, 8192}, batch{2, 4096}),
                         [](const auto& info) {
                           return std::to_string(info.param.count) + "_of_" +
                                  std::to_string(info.param.length);
                         });

TEST(Study, GoesThroughAllProblemsAndMethodsInTheirOrder) {
  const std::vector<problem> problems = {make_problem({4, 16}, 2), make_problem({1, 64}, 3),
                                         make_problem({4, 16}, 4)};
  const std::vector<method> methods = {method::radix, method::bitonic, method::radix};
  const auto rows = study(problems, methods, 1);
  EXPECT_TRUE(matches(check(rows, problems, methods, 1)));
  EXPECT_EQ(rows.size(), 9U);
}

TEST(Study, TakesAsManySamplesAsAskedFor) {
  const std::vector<problem> problems = {make_problem({2, 32}, 5)};
  for (const unsigned samples : {1U, 2U, 7U})
    EXPECT_TRUE(matches(check(study(problems, kAll, samples), problems, kAll, samples)));
}

TEST(Study, OfNothingHasNoRows) {
  EXPECT_TRUE(study({}, kAll, 1).empty());
  EXPECT_TRUE(study(std::vector{make_problem({1, 4}, 6)}, {}, 1).empty());
}

TEST(Study, LeavesItsProblemsAlone) {
  const std::vector<problem> problems = {make_problem({3, 64}, 7)};
  const problem before = problems[0];
  study(problems, kAll, 2);
  EXPECT_EQ(problems[0].input.keys, before.input.keys);
  EXPECT_EQ(problems[0].input.values, before.input.values);
}

TEST(Study, SortsTheLargestKeysOfABatch) {
  // An array's number stands above its keys: none of these may spill into it.
  problem workload = make_problem({8, 16}, 8);
  for (std::size_t i = 0; i < workload.input.keys.size(); i += 2)
    workload.input.keys[i] = 0xFFFFFFFFU;
  workload.sorted_keys = workload.input.keys;
  for (std::size_t i = 0; i < 8; ++i)
    std::ranges::sort(std::span(workload.sorted_keys).subspan(16 * i, 16));
  EXPECT_EQ(study(std::vector{workload}, kAll, 1).size(), kAll.size());
}

// --- no row without verification -----------------------------------------------------------------

TEST(Study, RefusesATimeForASortThatIsNotTheExpectedOne) {
  // Here it is the expectation that is wrong, in one key: the first, the last, one between.
  for (const std::size_t index : {0U, 37U, 95U})
    for (const method algorithm : kAll) {
      problem wrong = make_problem({3, 32}, 11);
      wrong.sorted_keys[index] ^= 1;
      EXPECT_THROW(study(std::vector{wrong}, std::vector{algorithm}, 1), wrong_order) << index;
    }
}

TEST(Study, VerifiesEveryProblem) {
  const problem first = make_problem({3, 32}, 12);
  problem second = make_problem({3, 32}, 13);
  second.sorted_keys = first.sorted_keys;  // what was left in memory would be right
  EXPECT_THROW(study(std::vector{first, second}, kAll, 1), wrong_order);
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Study, RefusesWhatItCannotMeasure) {
  const problem right = make_problem({2, 8}, 9);
  const auto refuses = [](const problem& workload) {
    EXPECT_THROW(study(std::vector{workload}, kAll, 1), lab::invalid_input);
  };
  EXPECT_THROW(study(std::vector{right}, kAll, 0), lab::invalid_input);
  EXPECT_THROW(study({}, kAll, 0), lab::invalid_input);  // whatever there is to measure
  refuses(make_problem({0, 8}, 9));
  refuses(make_problem({2, 7}, 9));
  refuses({{3, 8}, right.input, right.sorted_keys});
  refuses({{2, 8}, {right.input.keys, {}}, right.sorted_keys});
  refuses({{2, 8}, right.input, {}});
  problem wrong = right;
  wrong.input.values.pop_back();
  refuses(wrong);
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, SeesRowsThatAreNotWhatWasAskedFor) {
  const std::vector<problem> problems = {make_problem({125, 8}, 10)};
  const std::vector<method> methods = {method::odd_even};
  // 1000 elements in 2 ms (the median): half a million a second.
  const row right{method::odd_even, {125, 8}, {3, 1, 2}, 2, 0.5};
  const auto is_right = [&](const row& each) {
    return check(std::vector{each}, problems, methods, 3).ok;
  };
  const auto with = [&](auto change) {
    row changed = right;
    change(changed);
    return changed;
  };
  EXPECT_TRUE(is_right(right));
  EXPECT_FALSE(check({}, problems, methods, 3));
  EXPECT_FALSE(is_right(with([](row& r) { r.algorithm = method::bitonic; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.arrays = {8, 125}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {3, 2}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {3, 0, 2}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {3, 4, 5}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.ms = 1; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.ms = std::numeric_limits<double>::quiet_NaN(); })));
  EXPECT_FALSE(is_right(with([](row& r) { r.rate = 500; })));
}

TEST(Comparators, AreCounted) {
  EXPECT_EQ(comparators(method::bitonic, {1, 8}), 24);
  EXPECT_EQ(comparators(method::odd_even, {1, 8}), 19);
  EXPECT_EQ(comparators(method::odd_even, {3, 16}), 3 * 63);
  EXPECT_EQ(comparators(method::radix, {3, 16}), 0);
}

FAULT_TEST(Study, ReportsEveryCallThatFails) {
  const std::vector<problem> problems = {make_problem({2, 32}, 1)};
  for (const method algorithm : kAll)
    expect_failures_reported([&] {
      const std::vector<method> one = {algorithm};
      return matches(check(study(problems, one, 2), problems, one, 2));
    });
}

}  // namespace
