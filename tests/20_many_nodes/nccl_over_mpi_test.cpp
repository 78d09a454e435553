// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "nccl_over_mpi.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::nccl_over_mpi::error_bound;
using lab::nccl_over_mpi::kMostRanks;
using lab::nccl_over_mpi::reference;
using lab::nccl_over_mpi::result;
using lab::nccl_over_mpi::step;
using lab::nccl_over_mpi::sum;
using lab::testing::matches;
using lab::testing::whole_numbers;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::mpi, "mpi"}, {step::nccl, "nccl"}, {step::hierarchical, "hierarchical"}};

/// Whether a job may have so many ranks on a node: each needs a device.
bool fits(int ranks, int ranks_per_node = 0) {
  const int on_a_node = ranks_per_node == 0 ? ranks : std::min(ranks, ranks_per_node);
  return lab::on_cpu_device() || on_a_node <= lab::device_count();
}

::testing::AssertionResult is_exact(const result& got, const vector& vectors, int ranks) {
  const std::vector<double> expected = reference(vectors, ranks);
  return matches(lab::compare_exact(got.sums, vector(expected.begin(), expected.end())));
}
::testing::AssertionResult is_exact(step version, const vector& vectors, int ranks,
                                    int ranks_per_node = 0) {
  return is_exact(sum(version, vectors, ranks, ranks_per_node), vectors, ranks);
}
/// Vectors of n whole numbers for each rank, all different.
vector numbers(std::size_t n, int ranks, std::uint64_t seed) {
  return whole_numbers(n * static_cast<std::size_t>(ranks), seed, -500, 900);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(NoVectorGoesThroughTheHostUnlessMpiNeedsIt) {
  constexpr int kRanks = 4;
  constexpr std::size_t n = 3000, bytes = n * sizeof(float);
  const vector vectors = numbers(n, kRanks, 1);
  for (const auto& [version, name] : kSteps)
    for (const int per_node : {0, 2, 3}) {
      if (version == step::nccl && per_node != 0) continue;
      const auto done = lab::testing::work_of(
          [&, version = version] { return is_exact(version, vectors, kRanks, per_node); });
      lab::testing::required expected{.kernels = 0};
      if (version != step::mpi) expected.calls = {"ncclAllReduce|ncclReduce|ncclReduceScatter"};
      EXPECT_TRUE(as_required(done, expected)) << name << " " << per_node;
      // Each rank copies its vector to the device and the sum back. Vectors that MPI adds up are
      // copied once more each way.
      const std::size_t nodes = per_node == 0 ? 1 : 2;
      const std::size_t by_mpi = version == step::mpi ? kRanks : version == step::nccl ? 0 : nodes;
      const std::size_t copied = (kRanks + by_mpi) * bytes;
      // A single node has its sum already: its first rank need not ask MPI.
      const bool is_alone = version == step::hierarchical && nodes == 1;
      for (const int kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost}) {
        EXPECT_LE(done.bytes_copied(kind), copied) << name << " " << per_node;
        EXPECT_GE(done.bytes_copied(kind), is_alone ? kRanks * bytes : copied)
            << name << " " << per_node;
      }
    }
}

REQUIRED_WORK(OneRankAndShortVectorsAreNoWorkForTheHost) {
  for (const auto& [version, name] : kSteps)
    for (const auto& [ranks, n] : {std::pair(1, std::size_t{40}), std::pair(2, std::size_t{1})}) {
      const vector vectors = numbers(n, ranks, 2);
      lab::testing::required expected{.kernels = 0,
                                      .sent = vectors.size() * sizeof(float),
                                      .fetched = vectors.size() * sizeof(float)};
      if (version != step::mpi) expected.calls = {"ncclAllReduce|ncclReduce|ncclReduceScatter"};
      EXPECT_TRUE(as_required(lab::testing::work_of([&, version = version, &many = ranks] {
                                return is_exact(version, vectors, many);
                              }),
                              expected))
          << name << ": " << n << " elements on " << ranks << " ranks";
    }
}

// --- sums ----------------------------------------------------------------------------------------

class EachStep : public lab::testing::each_step<named_step> {};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsExactOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 8}) {
    if (!fits(ranks)) continue;
    for (const std::size_t n : {0, 1, 31, 33, 1021})
      EXPECT_TRUE(is_exact(version(), numbers(n, ranks, n + 1), ranks))
          << n << " elements on " << ranks << " ranks";
  }
}

TEST_P(EachStep, CountsEachRankOnce) {
  // Rank r brings 2^r everywhere: a bit of the sum is a rank.
  for (const int ranks : {2, 5, 8}) {
    if (!fits(ranks)) continue;
    vector vectors(static_cast<std::size_t>(ranks) * 7);
    for (std::size_t k = 0; k < vectors.size(); ++k) vectors[k] = static_cast<float>(1 << (k / 7));
    const result got = sum(version(), vectors, ranks);
    ASSERT_EQ(got.sums.size(), vectors.size());
    for (const float each : got.sums) ASSERT_EQ(each, static_cast<float>((1 << ranks) - 1));
  }
}

TEST_P(EachStep, AddsUpNodesOfAnySize) {
  if (version() == step::nccl) return;  // has no nodes
  // Full nodes, a last one with fewer ranks (one, and two that begin with an odd number), and one
  // rank each. Four jobs are kept for the next call: more would be started anew each time.
  for (const auto& [ranks, per_node] : {std::pair{4, 2}, {5, 2}, {5, 3}, {3, 1}}) {
    if (!fits(ranks, per_node)) continue;
    EXPECT_TRUE(is_exact(version(), numbers(257, ranks, 3), ranks, per_node))
        << ranks << " ranks on nodes of " << per_node;
  }
}

/// Sums of numbers that round differently in another order.
void expect_the_same_bits(step version, int ranks, int ranks_per_node) {
  const std::size_t n = 1021;
  const vector vectors = lab::random_floats(static_cast<std::size_t>(ranks) * n, 7, -1, 100);
  const result got = sum(version, vectors, ranks, ranks_per_node);
  ASSERT_EQ(got.sums.size(), vectors.size());
  for (std::size_t k = 0; k < vectors.size(); ++k)
    ASSERT_EQ(got.sums[k], got.sums[k % n])
        << "ranks " << k / n << " and 0 differ by " << got.sums[k] - got.sums[k % n]
        << ": have they added in the same order?";
  EXPECT_TRUE(matches(lab::compare(got.sums, reference(vectors, ranks),
                                   {.absolute = error_bound(vectors, ranks)})));
}

TEST_P(EachStep, GivesAllRanksTheSameBits) { expect_the_same_bits(version(), fits(3) ? 3 : 1, 0); }

TEST_P(EachStep, GivesAllNodesTheSameBits) {
  if (version() == step::nccl) return;  // has no nodes
  // Two sums have the same bits in either order, so two nodes would not show it.
  for (const auto& [ranks, per_node] : {std::pair{3, 1}, {5, 2}}) {
    if (!fits(ranks, per_node)) continue;
    SCOPED_TRACE(std::to_string(ranks) + " ranks on nodes of " + std::to_string(per_node));
    expect_the_same_bits(version(), ranks, per_node);
  }
}

TEST_P(EachStep, SendsMuch) {
  // More than one message of any library.
  const int ranks = fits(2) ? 2 : 1;
  EXPECT_TRUE(is_exact(version(), numbers(700'001, ranks, 9), ranks));
}

TEST_P(EachStep, UsesTheDeviceOfItsLocalRank) {
  if (fits(3)) {
    EXPECT_EQ(sum(version(), vector(30, 1.0F), 3).devices, (std::vector{0, 1, 2}));
    EXPECT_EQ(sum(version(), {}, 3).devices, (std::vector{0, 1, 2})) << "without elements";
  }
  if (version() == step::nccl) return;
  if (fits(5, 2)) {
    EXPECT_EQ(sum(version(), vector(30, 1.0F), 5, 2).devices, (std::vector{0, 1, 0, 1, 0}));
  }
  EXPECT_EQ(sum(version(), vector(30, 1.0F), 3, 1).devices, (std::vector{0, 0, 0}));
}

TEST_P(EachStep, MakesNewCommunicatorsInEachCall) {
  const int ranks = fits(2) ? 2 : 1;
  for (const std::size_t n : {1000, 3, 1000})
    EXPECT_TRUE(is_exact(version(), numbers(n, ranks, n), ranks));
}

TEST_P(EachStep, WaitsForTheSumBeforeItTakesTheTime) {
  if (version() == step::mpi) GTEST_SKIP() << "whose sum the host makes";
  // A call of NCCL returns before the sum is there. The copy that takes the sum to the host waits
  // for it in some streams, but comes after the time. An event that is recorded before the copy has
  // the right time, too. (On a GPU, `calls` is empty.)
  using lab::testing::detail::rank_call;
  const auto is_of_nccl = [](const rank_call& c) {
    return c.name.starts_with("nccl") && !c.name.starts_with("ncclComm") && !c.releases;
  };
  const auto copies = [](const rank_call& c) { return c.name.starts_with("cudaMemcpy"); };
  const auto waits = [](const rank_call& c) {
    return c.name.ends_with("Synchronize") || c.name.ends_with("Query") ||
           c.name.starts_with("cudaEventRecord");
  };
  const int ranks = fits(2) ? 2 : 1;
  const lab::testing::detail::rank_fault no_fault;
  EXPECT_TRUE(is_exact(version(), numbers(100, ranks, 6), ranks));
  for (const auto& [rank, calls] : no_fault.calls()) {
    const auto sum_at = std::find_if(calls.rbegin(), calls.rend(), is_of_nccl).base();
    const auto copy_at = std::find_if(calls.rbegin(), calls.rend(), copies).base();
    EXPECT_TRUE(sum_at < copy_at && std::any_of(sum_at, copy_at, waits))
        << "rank " << rank << " takes the time before the sum is there";
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  const result got = sum(version(), vector(100, 1.0F), 1);
  for (const float time : {got.setup_ms, got.sum_ms}) {
    EXPECT_GT(time, 0.0F);
    EXPECT_LT(time, 60'000.0F);
  }
#ifdef __CPU_DEVICE__
  EXPECT_TRUE(lab::testing::is_time_with(
      "ncclCommInitRank", [&] { return sum(version(), vector(100, 1.0F), 1).setup_ms; }));
#endif
}

TEST_P(EachStep, RefusesWhatCannotBe) {
  for (const int ranks : {0, -2, kMostRanks + 1})
    EXPECT_THROW(sum(version(), vector(64, 1.0F), ranks), lab::invalid_input) << ranks;
  EXPECT_THROW(sum(version(), vector(7, 1.0F), 2), lab::invalid_input);
  EXPECT_THROW(sum(version(), vector(8, 1.0F), 2, -1), lab::invalid_input);
  if (version() == step::nccl) {
    EXPECT_THROW(sum(version(), vector(8, 1.0F), 2, 1), lab::invalid_input);
    EXPECT_THROW(sum(version(), vector(9, 1.0F), 3, 2), lab::invalid_input);
  }
  if (!lab::on_cpu_device()) {
    const int too_many = lab::device_count() + 1;
    EXPECT_THROW(sum(version(), vector(static_cast<std::size_t>(too_many)), too_many),
                 lab::not_possible);
  }
  EXPECT_TRUE(is_exact(version(), numbers(8, 1, 1), 1)) << "a later valid call must work";
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector vectors = numbers(100, 2, 3);
  lab::testing::expect_failures_reported([&] { return is_exact(version(), vectors, 2); }, vectors);
  // Of several ranks only some calls fail, since the others then have to be started again; of one
  // rank, all of them, one after the other.
  lab::testing::expect_failures_reported([&] { return is_exact(version(), vectors, 1); }, vectors);
}

TEST_P(EachStep, AddsUpAtTheProgramsSize) {
  lab::testing::expect_at_full_size([&] {
    const std::size_t n = lab::on_cpu_device() ? lab::nccl_over_mpi::kDefaultSizeOnCpu
                                               : lab::nccl_over_mpi::kDefaultSize;
    const int ranks = fits(2) ? 2 : 1;
    lab::testing::required expected{.kernels = 0, .fetched = n * ranks * sizeof(float)};
    if (version() != step::mpi) expected.calls = {"ncclAllReduce|ncclReduce|ncclReduceScatter"};
    return lab::testing::is_true_by_the_device(
        [&] { return is_exact(version(), numbers(n, ranks, 5), ranks); }, expected);
  });
}

}  // namespace
