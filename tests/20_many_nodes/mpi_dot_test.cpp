// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_dot.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::mpi_dot::cut;
using lab::mpi_dot::dot;
using lab::mpi_dot::kMostRanks;
using lab::mpi_dot::result;
using lab::mpi_dot::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::matches;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::reduce, "reduce"},
                                 {step::allreduce, "allreduce"},
                                 {step::device_buffers, "device_buffers"}};

// Does not divide the number of ranks on a node, so that ranks in the job and on a node give
// different devices.
const lab::testing::setting three_devices("CPU_DEVICE_COUNT", "3");

/// Whether each rank that should have the sum has exactly this one.
::testing::AssertionResult is_exact(step version, const result& got, const vector& x,
                                    const vector& y, int ranks) {
  const std::size_t receivers = version == step::reduce ? 1 : static_cast<std::size_t>(ranks);
  if (got.sums.size() != receivers)
    return ::testing::AssertionFailure()
           << got.sums.size() << " ranks have a sum, instead of " << receivers;
  for (std::size_t rank = 0; rank < receivers; ++rank)
    if (got.sums[rank] != lab::dot_in_double(x, y))
      return ::testing::AssertionFailure() << "rank " << rank << " has the sum " << got.sums[rank]
                                           << ", and it is " << lab::dot_in_double(x, y);
  return ::testing::AssertionSuccess();
}
::testing::AssertionResult is_exact(step version, const vector& x, const vector& y, int ranks) {
  return is_exact(version, dot(version, x, y, ranks), x, y, ranks);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelOnEveryRankForItsPart) {
  constexpr int kRanks = 3;
  const vector x = whole_numbers(60'011, 1, -9, 14), y = whole_numbers(60'011, 2, -4, 5);
  const std::size_t bytes = 2 * bytes_of(x);
  for (const auto& [version, name] : kSteps) {
    const bool on_devices = version == step::device_buffers;
    bool staged = true;
    const lab::testing::work done = work_of([&, version = version] {
      const result got = dot(version, x, y, kRanks);
      staged = got.staged;
      return is_exact(version, got, x, y, kRanks);
    });
    // Where vectors are staged, the parts of all ranks but 0 go to the host and to a device again.
    // (Rank 0's own part may stay where it is.)
    const std::size_t part = bytes / kRanks + 1000, again = on_devices && staged ? bytes : 0;
    lab::testing::required expected{
        .threads = 1024,
        .kernels = kRanks,
        .sent = bytes + again - std::min(again, part),
        .fetched = kRanks * sizeof(double) + again - std::min(again, part),
        .devices = kRanks,
        .reads = bytes};
    if (again > 0) expected.calls = {"cudaHostAlloc|cudaMallocHost|cudaHostRegister"};
    EXPECT_TRUE(as_required(done, expected)) << name;
    if (again > 0) {
      EXPECT_GE(done.bytes_copied(cudaMemcpyDeviceToHost), again - part)
          << name << ": the parts come from the host, and not from the device of rank 0";
      for (const cudaMemcpyKind direction : {cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice}) {
        const char* const to = direction == cudaMemcpyDeviceToHost ? " to the host" : " to devices";
        std::size_t staged_bytes = 0;
        int sums = 0;
        for (const auto& copy : done.copies) {
          if (copy.kind != direction || !copy.pinned) continue;
          staged_bytes += copy.bytes;
          if (copy.bytes == sizeof(double)) ++sums;
        }
        EXPECT_GE(staged_bytes, again - part)
            << name << ": bytes of parts that are copied" << to << " by way of pinned memory";
        EXPECT_GE(sums, kRanks) << name << ": sums that are copied" << to
                                << " by way of pinned memory";
      }
      // In pieces, perhaps, but not only the sums.
      EXPECT_GE(std::accumulate(done.host_memory.begin(), done.host_memory.end(), std::size_t{0}),
                10'000U)
          << name << ": the vectors do not go through pinned memory";
    }
    // A few bytes more are sums.
    EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), bytes + again + 1000)
        << name << ": a device got more than its part";
    EXPECT_LE(done.received_by_mpi, bytes + 1000)
        << name << ": MPI brought a rank more than its part";
    // As required_work.hpp numbers them: 64 for each rank.
    std::set<int> devices;
    for (const auto& k : done.kernels) devices.insert(k.device);
    EXPECT_EQ(devices, (std::set<int>{0, 64 + 1, 128 + 2})) << name;
    for (const auto& k : done.kernels)
      EXPECT_LE(k.reads, part) << name << ": a kernel for more than a part";
    if (version == step::reduce) {
      EXPECT_EQ(std::count(done.sequence.begin(), done.sequence.end(), "MPI_Allreduce"), 0)
          << name << ": every rank receives the sum, and only rank 0 should";
    }
    const auto on_two_ranks = [version = version](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4), 2);
    };
    EXPECT_TRUE(at_other_sizes(on_two_ranks)) << name;
    EXPECT_TRUE(at_other_sizes(
        on_two_ranks, {.threads = 1, .kernels = 2, .fetched = 1, .devices = 2}, {2, 40, 1000}))
        << name;
  }
}

REQUIRED_WORK(TheDevicesThatAreReported) {
  constexpr int kRanks = 8;  // more than there are devices
  const vector x = whole_numbers(1021, 1, 1, 4), y = whole_numbers(1021, 2, 1, 4);
  for (const auto& [version, name] : kSteps) {
    std::set<int> reported, used;  // as above, 64 for each rank
    const lab::testing::work done = work_of([&, version = version] {
      const result got = dot(version, x, y, kRanks);
      for (int rank = 0; rank < kRanks; ++rank)
        reported.insert(64 * rank + got.devices.at(static_cast<std::size_t>(rank)));
      return is_exact(version, got, x, y, kRanks);
    });
    EXPECT_TRUE(as_required(done, {.kernels = kRanks})) << name;
    for (const auto& k : done.kernels) used.insert(k.device);
    EXPECT_EQ(used, reported) << name;
  }
}

// --- the cuts ------------------------------------------------------------------------------------

TEST(Cut, GivesEveryElementToOneRankInEqualParts) {
  for (const std::size_t n :
       {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7},
        std::size_t{8}, std::size_t{9}, std::size_t{1000}, std::size_t{1'000'003},
        (std::size_t{1} << 40) + 1, (std::size_t{1} << 58) - 1})
    for (const int ranks : {1, 2, 3, 5, 7, 8, 9, kMostRanks}) {
      const std::vector<std::size_t> cuts = cut(n, ranks);
      ASSERT_EQ(cuts.size(), static_cast<std::size_t>(ranks) + 1);
      EXPECT_EQ(cuts.front(), 0U);
      EXPECT_EQ(cuts.back(), n);
      std::size_t fewest = n, most = 0;
      for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
        ASSERT_LE(cuts[k], cuts[k + 1]);
        fewest = std::min(fewest, cuts[k + 1] - cuts[k]);
        most = std::max(most, cuts[k + 1] - cuts[k]);
      }
      EXPECT_LE(most - fewest, 1U) << n << " elements for " << ranks << " ranks";
    }
}

TEST(Cut, RefusesNoRanksAndTooMany) {
  for (const int ranks : {0, -1, kMostRanks + 1}) EXPECT_THROW(cut(10, ranks), lab::invalid_input);
}

// --- the ranks -----------------------------------------------------------------------------------

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& x, const vector& y) const {
    return static_cast<float>(dot(version(), x, y, 3).sums.at(0));
  }
  // sum() rounds once more.
  double bound(const vector& x, const vector& y) const {
    return lab::dot_error_bound(x, y) + 0x1p-24 * std::fabs(lab::dot_in_double(x, y));
  }
  static std::size_t most() { return 100'000; }
  static std::size_t full_size() { return lab::mpi_dot::kDefaultSize; }
  static lab::testing::required full_work() {
    return {.threads = 1024, .kernels = 3, .devices = 3};  // one for each rank
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsExactOnAnyNumberOfRanks) {
  // None, fewer than ranks, as many, and more; products of -1, 0 and 1, so that one of them shows.
  for (const int ranks : {1, 2, 3, 8})
    for (const std::size_t n : {0, 1, 2, 3, 5, 7, 8, 9, 255, 257, 1021, 33 * 1024 + 1}) {
      const vector x = whole_numbers(n, n + 1, -1, 1), y = whole_numbers(n, n + 2, 1, 1);
      ASSERT_TRUE(is_exact(version(), x, y, ranks)) << n << " elements on " << ranks << " ranks";
    }
}

TEST_P(EachStep, IsExactOnAsManyRanksAsThereCanBe) {
#ifdef __CPU_DEVICE__
  const int most = kMostRanks;
#else
  const int most = 17;  // of which each has a context on the GPU, and starts it
#endif
  lab::testing::expect_at_full_size([&] {
    const vector x = whole_numbers(1021, 9, 1, 4), y = whole_numbers(1021, 10, 1, 4);
    const result got = dot(version(), x, y, most);
    EXPECT_TRUE(is_exact(version(), got, x, y, most));
    for (int rank = 0; rank < most; ++rank)
      EXPECT_EQ(got.devices.at(static_cast<std::size_t>(rank)), rank % lab::device_count());
  });
}

TEST_P(EachStep, TakesEachVectorForItself) {
  const vector x = whole_numbers(1021, 5, -9, 14), y = whole_numbers(1021, 6, 1, 29);
  EXPECT_TRUE(is_exact(version(), x, y, 8));
  vector first(10), last(10);
  first[0] = last[9] = 3;  // the two ends, which no neighbour can stand in for
  EXPECT_TRUE(is_exact(version(), first, vector(10, 5.0F), 8));
  EXPECT_TRUE(is_exact(version(), vector(10, 5.0F), last, 8));
}

TEST_P(EachStep, GivesAllRanksTheSameBits) {
  const vector x = lab::random_floats(5003, 7, -1, 1), y = lab::random_floats(5003, 8, -100, 300);
  for (const int ranks : {3, 8}) {
    const result got = dot(version(), x, y, ranks);
    ASSERT_EQ(got.sums.size(), version() == step::reduce ? 1U : static_cast<std::size_t>(ranks));
    for (const double sum : got.sums) {
      EXPECT_EQ(sum, got.sums[0]) << "they differ by " << sum - got.sums[0]
                                  << ": have all ranks added in the same order?";
      EXPECT_TRUE(matches(
          lab::compare(sum, lab::dot_in_double(x, y), {.absolute = lab::dot_error_bound(x, y)})));
    }
  }
}

TEST_P(EachStep, GivesAllRanksTheSameBitsWhereTheOrderMatters) {
  // The sum of a rank is a float, and a few of those are exact in double. Here a rank that adds the
  // others' sums to its own gets another result.
  const vector x{0x1p80F, 3, -0x1p80F, 5, 0x1p70F, 7, -0x1p70F, 9};
  for (const int ranks : {3, 8}) {
    const vector some(x.begin(), x.begin() + ranks), ones(some.size(), 1.0F);
    const result got = dot(version(), some, ones, ranks);
    for (const double sum : got.sums)
      EXPECT_EQ(sum, got.sums[0]) << ranks << " ranks: have all of them added in the same order?";
  }
}

TEST_P(EachStep, AddsTheRanksSumsInDouble) {
  // 2^25 at rank 0 and a 1 at each of the others: in float, these would be lost.
  vector x(8, 1.0F);
  x[0] = 0x1p25F;
  EXPECT_EQ(dot(version(), x, vector(8, 1.0F), 8).sums.at(0), 0x1p25 + 7);
}

// --- devices -------------------------------------------------------------------------------------

TEST_P(EachStep, UsesTheDeviceOfItsLocalRank) {
  const int devices = lab::device_count();
  const vector ones(100, 1.0F);
  for (const int ranks : {1, 3, 8}) {
    std::vector<int> expected;
    for (int rank = 0; rank < ranks; ++rank) expected.push_back(rank % devices);
    EXPECT_EQ(dot(version(), ones, ones, ranks).devices, expected) << ranks << " ranks";
  }
}

TEST_P(EachStep, CountsLocalRanksOnEachNodeAnew) {
  const int devices = lab::device_count();
  const vector ones(100, 1.0F);
  const result got = dot(version(), ones, ones, 5, 2);
  EXPECT_EQ(got.sums.at(0), 100.0);
  std::vector<int> expected;
  for (int rank = 0; rank < 5; ++rank) expected.push_back(rank % 2 % devices);
  EXPECT_EQ(got.devices, expected) << "nodes of 2, 2 and 1 ranks";
}

REQUIRED_WORK(DeviceMemoryGoesToMpiIfBothSayThatItMay) {
  constexpr int kRanks = 3;
  const vector x = whole_numbers(10'000, 1, -3, 3), y = whole_numbers(10'000, 2, -3, 3);
  for (const bool compiled : {false, true})
    for (const bool running : {false, true}) {
      const lab::testing::detail::pretended_cuda_support said(compiled, running);
      bool staged = true;
      const auto done = work_of([&] {
        const result got = dot(step::device_buffers, x, y, kRanks);
        staged = got.staged;
        return is_exact(step::device_buffers, got, x, y, kRanks);
      });
      const std::string label = std::string("device_buffers: MPI was ") + (compiled ? "" : "not ") +
                                "compiled for CUDA, and the library " +
                                (running ? "takes" : "does not take") + " device memory";
      EXPECT_TRUE(as_required(done, {.threads = 256, .kernels = kRanks, .devices = kRanks}))
          << label;
      EXPECT_EQ(staged, !(compiled && running)) << label;
      if (!compiled || !running) continue;
      EXPECT_LT(done.bytes_copied(cudaMemcpyDeviceToHost), bytes_of(x))
          << label << ", and yet the vectors are copied to the host";
      EXPECT_TRUE(std::none_of(
          done.copies.begin(), done.copies.end(),
          [](const auto& copy) { return copy.pinned && copy.kind == cudaMemcpyHostToDevice; }))
          << label << ", and yet sums go through pinned memory to the device";
    }
}

TEST_P(EachStep, SaysWhetherDataIsStaged) {
  const vector ones(100, 1.0F);
  if (version() != step::device_buffers) {
    EXPECT_TRUE(dot(version(), ones, ones, 2).staged);
  }
  if (lab::on_cpu_device()) {
    EXPECT_TRUE(dot(version(), ones, ones, 2).staged)
        << "no MPI knows the memory of the CPU device";
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(100'000, 1.0F);
  const result got = dot(version(), ones, ones, 2);
  for (const float time : {got.scatter_ms, got.kernel_ms, got.reduce_ms}) {
    EXPECT_GT(time, 0.0F);
    EXPECT_LT(time, 20'000.0F);
  }
  EXPECT_EQ(dot(version(), {}, {}, 2).kernel_ms, 0.0F);
  const vector one(1, 1.0F);  // whichever rank has it
  EXPECT_GT(dot(version(), one, one, 2).kernel_ms, 0.0F);
#ifdef __CPU_DEVICE__
  EXPECT_TRUE(lab::testing::is_time_with("MPI_Scatterv",
                                         [&] { return dot(version(), ones, ones, 2).scatter_ms; }));
#endif
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesNumbersOfRanksThatCannotBe) {
  const vector ones(10, 1.0F);
  for (const int ranks : {0, -3, kMostRanks + 1})
    EXPECT_THROW(dot(version(), ones, ones, ranks), lab::invalid_input);
  EXPECT_THROW(dot(version(), ones, ones, 2, -1), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreElementsThanAnIntCanCount) {
  // This many floats need not exist, since they are refused before one is read. Of 64 ranks each
  // would get few enough, but MPI_Scatterv counts from the beginning of all.
  const vector one(1);
  for (const std::size_t n : {std::size_t{1} << 31, (std::size_t{1} << 32) + 1}) {
    const std::span<const float> claimed(one.data(), n);
    for (const int ranks : {1, kMostRanks})
      EXPECT_THROW(dot(version(), claimed, claimed, ranks), lab::invalid_input) << n;
  }
}

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

// Of several ranks, sum_tests.hpp has only a few calls fail.
FAULT_TEST_P(EachStep, ReportsEveryCallOfASingleRankThatFails) {
  const lab::exact_vectors v = lab::make_exact_vectors(1000, 1);
  lab::testing::expect_failures_reported([&] { return dot(version(), v.a, v.b, 1).sums; }, v.a,
                                         v.b);
}

}  // namespace
