// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "sorting_study.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_device.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "thrust_faults.hpp"

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
using lab::testing::as_cuda_error;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::full_device;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

const std::vector<method> kAll(std::begin(kMethods), std::end(kMethods));

// --- who does the work ---------------------------------------------------------------------------

/// So many bytes have to be copied; 0 where no copy is seen: those of Thrust are not.
std::size_t seen_of(std::size_t bytes, const lab::testing::work& done) {
  return done.copies.empty() ? 0 : bytes;
}

REQUIRED_WORK(EveryMethodByItsOwnMeans) {
  const auto is_right = [](method algorithm, lab::batch arrays) {
    const std::vector<problem> problems = {make_problem(arrays, 1)};
    return matches(
        check(study(problems, std::vector{algorithm}, 2), problems, std::vector{algorithm}, 2));
  };
  for (const method algorithm : {method::bitonic, method::odd_even}) {
    const auto done = work_of([&] { return is_right(algorithm, {2, 2048}); });
    const std::size_t copied = seen_of(2 * 4096 * sizeof(std::uint32_t), done);
    EXPECT_TRUE(
        as_required(done, {.threads = 1024,
                           .blocks = 2,
                           .kernels = 3 * 2,  // the check and two samples, two launches at least
                           .sent = copied,
                           .fetched = copied,  // values, too: checked
                           .reads = 3 * 2 * 4096 * sizeof(std::uint32_t),
                           .writes = 3 * 2 * 4096 * sizeof(std::uint32_t),
                           .shared_memory = true}));
    EXPECT_TRUE(at_other_sizes(
        [&](std::size_t n) {
          return is_right(algorithm, {n, 16});
        },
        {.threads = 1, .kernels = 3, .writes = 1, .shared_memory = true}));
  }
}

/// A study of one problem by one method.
auto studied(method algorithm, const problem& workload, unsigned samples) {
  return [=, problems = std::vector{workload}] {
    const std::vector<method> one = {algorithm};
    return matches(check(study(problems, one, samples), problems, one, samples));
  };
}

REQUIRED_WORK(EverySampleSortsWhatTheCheckHasSorted) {
  // One more sample is the same work again, and so was the check.
  for (const auto& [algorithm, arrays] : {std::pair{method::bitonic, batch{2, 256}},
                                          {method::odd_even, batch{2, 256}},
                                          {method::bitonic, batch{1, 4}},
                                          {method::odd_even, batch{1, 4}},
                                          {method::bitonic, batch{1, 4096}},
                                          {method::odd_even, batch{1, 4096}}}) {
    const std::size_t elements = arrays.count * arrays.length;
    std::vector<std::map<std::string, std::uint64_t>> requests;  // of 1, 2, … samples
    std::vector<std::size_t> launches;
    std::vector<std::uint64_t> brought;  // bytes, from the host or from a copy on the device
    for (const unsigned samples : {1U, 2U, 3U, 4U}) {
      const auto done = work_of(studied(algorithm, make_problem(arrays, 1), samples));
      ASSERT_TRUE(as_required(done, {.kernels = 2}));
      launches.push_back(done.kernels.size());
      brought.push_back(done.bytes_copied(cudaMemcpyHostToDevice) +
                        done.bytes_copied(cudaMemcpyDeviceToDevice));
      requests.emplace_back();
      for (const auto& [kind, cost] : done.costs) requests.back()[kind] = cost.requests;
    }
    const std::size_t of_one = launches[1] - launches[0];
    EXPECT_GE(launches[0], 2 * of_one) << "the sort that is checked must not be one of the samples";
    for (const std::size_t i : {1U, 2U}) {
      EXPECT_EQ(launches[i + 1] - launches[i], of_one) << "not every sample sorts";
      if (of_one == 1 && brought[0] != 0) {  // no kernel that could bring the input
        EXPECT_GE(brought[i + 1] - brought[i], 2 * elements * sizeof(std::uint32_t))
            << "a sample begins with the keys and the values of the input";
      }
      for (const auto& [kind, count] : requests[0])
        EXPECT_EQ(requests[i + 1][kind] - requests[i][kind], requests[1][kind] - count)
            << kind << ": not every sample begins with the unsorted input";
    }
  }
}

REQUIRED_WORK(AsManySortsAsSamples) {
  for (const method algorithm : {method::bitonic, method::odd_even}) {
    const auto launches_with = [&](unsigned samples) {
      const auto done = work_of(studied(algorithm, make_problem({2, 16}, 1), samples));
      EXPECT_TRUE(as_required(done, {.kernels = 2}));
      return done.kernels.size();
    };
    const std::size_t one = launches_with(1), of_a_sample = launches_with(2) - one;
    EXPECT_EQ(launches_with(100) - one, 99 * of_a_sample) << "of 100 samples, not every one sorts";
  }
}

REQUIRED_WORK(TwoNetworksThatDiffer) {
  // bitonic has more comparators. On a device that is watched, one network for both shows.
  const auto accesses_of = [](method algorithm, std::size_t length) {
    const auto done = work_of(studied(algorithm, make_problem({1, length}, 1), 1));
    EXPECT_TRUE(as_required(done, {.kernels = 2, .shared_memory = true}));
    std::uint64_t all = 0;
    for (const auto& kernel : done.kernels) all += kernel.shared;
    return done.watched ? std::optional(all) : std::nullopt;
  };
  for (const std::size_t length : {16, 512, 4096, 8192}) {
    const auto bitonic = accesses_of(method::bitonic, length),
               odd_even = accesses_of(method::odd_even, length);
    EXPECT_TRUE(!bitonic || *bitonic != *odd_even)
        << "both methods run the same network for " << length << " elements";
  }
}

REQUIRED_WORK(RadixByThrustOnTheDevice) {
  constexpr unsigned kSamples = 3;
  for (const batch arrays : {batch{1, 64}, batch{4, 16}, batch{3, 2048}}) {
    const problem workload = make_problem(arrays, 1);
    const std::size_t bytes = 2 * workload.input.keys.size() * sizeof(std::uint32_t);
    const auto done = work_of(studied(method::radix, workload, kSamples));
    const std::size_t copied = seen_of(bytes, done);
    EXPECT_TRUE(as_required(done, {.threads = 0, .kernels = 0, .sent = copied, .fetched = copied}));
    EXPECT_GE(std::accumulate(done.device_memory.begin(), done.device_memory.end(), std::size_t{0}),
              bytes)
        << "radix: the pairs are not in device memory";
    EXPECT_LT(done.bytes_copied(cudaMemcpyHostToDevice), 2 * (1 + kSamples) * bytes)
        << "radix: the data was sent twice for each sort: it was sorted on the host";
    for (const auto& kernel : done.kernels)
      EXPECT_EQ(kernel.shared, 0U) << "radix: " << kernel.name << " has tiles to sort, not Thrust";
  }
}

REQUIRED_WORK(NothingIsTimedButTheSort) {
  for (const method algorithm : {method::bitonic, method::odd_even}) {
    const auto done = work_of(studied(algorithm, make_problem({2, 32}, 1), 2));
    ASSERT_TRUE(as_required(done, {.kernels = 2}));
    // Calls from one event to the next: where there is a launch, there is a sort and no copy. (The
    // sort that is checked may come before the first event.)
    bool begun = false, launched = false, copied = false;
    for (const std::string& call : done.sequence) {
      if (call == "cudaEventRecord") {
        begun = true;
        launched = copied = false;
      }
      if (!begun || call == "cudaEventRecord") continue;
      launched = launched || call == "cudaLaunchKernel";
      copied = copied || call.starts_with("cudaMemcpy");
      EXPECT_FALSE(launched && copied) << call << " is timed with the sort";
      if (launched && copied) break;
    }
  }
}

REQUIRED_WORK(WhatIsWrongIsNeitherTimedNorSortedAgain) {
  problem wrong = make_problem({2, 32}, 1), late = wrong;
  late.sorted_keys.pop_back();
  const auto launches_of = [](const std::vector<problem>& problems, unsigned samples) {
    return lab::testing::work_without_values([&] {
             try {
               study(problems, std::vector{method::bitonic}, samples);
             } catch (const std::exception&) {
             }
           })
        .kernels.size();
  };
  const std::size_t of_two = launches_of({wrong}, 1);
  wrong.sorted_keys[5] ^= 1;
  EXPECT_LE(2 * launches_of({wrong}, 20), of_two) << "a method must be checked before it is timed";
  EXPECT_EQ(launches_of({make_problem({2, 32}, 1), late}, 1), 0U)
      << "where a problem is refused, nothing is measured";
}

// --- rows ----------------------------------------------------------------------------------------

class Problems : public ::testing::TestWithParam<batch> {};

TEST_P(Problems, HaveARowForEveryMethod) {
  // No row comes without a right sort: study() throws if one is wrong.
  const std::vector<problem> problems = {make_problem(GetParam(), 1)};
  EXPECT_TRUE(matches(check(study(problems, kAll, 2), problems, kAll, 2)));
}

// Around a tile of 1024; one array, several, tiles that extend past the end.
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

TEST(Study, SaysHowLongASortTook) {
  for (const method algorithm : {method::bitonic, method::odd_even})  // here Thrust has no kernels
    EXPECT_TRUE(is_time_of(timed::kernel, [&] {
      const std::vector<problem> problems = {make_problem({2, 32}, 1)};
      return study(problems, std::vector{algorithm}, 1).at(0).sample_ms.at(0);
    }));
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
  // An array's number is in the bits above its keys: no key may overflow into it.
  problem workload = make_problem({8, 16}, 8);
  for (std::size_t i = 0; i < workload.input.keys.size(); i += 2)
    workload.input.keys[i] = 0xFFFFFFFFU;
  workload.sorted_keys = workload.input.keys;
  for (std::size_t i = 0; i < 8; ++i)
    std::ranges::sort(std::span(workload.sorted_keys).subspan(16 * i, 16));
  EXPECT_EQ(study(std::vector{workload}, kAll, 1).size(), kAll.size());
}

TEST(Study, TellsManyArraysApart) {
  // More than 65,536: their numbers need more than 16 bits. The smallest ones come last.
  problem workload = make_problem({65'540, 2}, 8);
  for (std::size_t i = 0; i < workload.input.keys.size(); ++i)
    workload.input.keys[i] = static_cast<std::uint32_t>(workload.input.keys.size() - i);
  workload.sorted_keys = workload.input.keys;
  for (std::size_t i = 0; i < workload.sorted_keys.size(); i += 2)
    std::swap(workload.sorted_keys[i], workload.sorted_keys[i + 1]);
  expect_at_full_size(
      [&] { return study(std::vector{workload}, std::vector{method::radix}, 1).size() == 1; });
}

// --- no row without verification -----------------------------------------------------------------

TEST(Study, RefusesATimeForASortThatIsNotTheExpectedOne) {
  // Here the expected result is wrong, in one key: the first, the last, one in between.
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
  problem longer = right;
  longer.sorted_keys.push_back(0xFFFF'FFFFU);
  refuses(longer);
  EXPECT_THROW(study(std::vector{longer}, {}, 1), lab::invalid_input) << "without methods, too";
  EXPECT_THROW(study(std::vector{right}, {}, 0), lab::invalid_input) << "without methods, too";
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

TEST(Memory, ThatIsNotThereIsReported) {
  if (!lab::on_cpu_device())
    GTEST_SKIP() << "needs a device whose memory is small enough to be filled";
  // (Several arrays could be sorted one after the other, with less memory.)
  const std::vector<problem> one_array = {make_problem({1, 65'536}, 1)},
                             too_large = {make_problem({24, 32'768}, 2)};
  EXPECT_TRUE(lab::testing::thrust_finds_no_memory([&] {
    study(one_array, std::vector{method::radix}, 1);
  })) << "what Thrust throws when it finds no memory must come out of study()";
  const full_device occupied(lab::testing::current_device());
  for (const method algorithm : {method::bitonic, method::odd_even})
    try {  // (The pairs may be in memory of Thrust here, too.)
      as_cuda_error([&] { return study(too_large, std::vector{algorithm}, 1); });
      ADD_FAILURE() << "more pairs than there is memory for";
    } catch (const lab::cuda_error& error) {
      EXPECT_EQ(error.code(), cudaErrorMemoryAllocation)
          << "only Thrust reports missing memory as std::bad_alloc";
    }
  (void)cudaGetLastError();
}

FAULT_TEST(Study, ReportsEveryCallThatFails) {
  const std::vector<problem> problems = {make_problem({2, 32}, 1)};
  for (const method algorithm : kAll)
    expect_failures_reported([&] {
      const std::vector<method> one = {algorithm};
      return as_cuda_error(
          [&] { return matches(check(study(problems, one, 2), problems, one, 2)); });
    });
}

}  // namespace
