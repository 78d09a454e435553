// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Measures time.

#include "nccl_sum.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "faults.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/nccl_check.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::nccl_sum::all_reduce;
using lab::nccl_sum::collective;
using lab::nccl_sum::communicate;
using lab::nccl_sum::dot;
using lab::nccl_sum::dot_error_bound;
using lab::nccl_sum::dot_reference;
using lab::nccl_sum::error_bound;
using lab::nccl_sum::kNobody;
using lab::nccl_sum::kPatience;
using lab::nccl_sum::outcome;
using lab::nccl_sum::reference;
using lab::nccl_sum::step;
using lab::nccl_sum::with_a_failure;
using lab::testing::as_required;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_of_threads_reported;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using lab::testing::detail::fault_of_a_thread;
using floats = std::vector<float>;

#ifdef __CPU_DEVICE__
const lab::testing::setting kEight("CPU_DEVICE_COUNT", "8");
// Seconds: a rank that waits in vain is reported after that, in each of several cases.
const lab::testing::setting kLimit("CPU_DEVICE_TIME_LIMIT", "10",
                                   lab::testing::setting::when::unless_given);
#endif

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::ring_by_hand, "ring_by_hand"},
                                 {step::one_thread, "one_thread"},
                                 {step::thread_per_rank, "thread_per_rank"}};

using named_collective = lab::testing::named<collective>;
constexpr named_collective kCollectives[] = {{collective::broadcast, "broadcast"},
                                             {collective::all_gather, "all_gather"},
                                             {collective::reduce_scatter, "reduce_scatter"}};

/// n numbers for each device, all different ones.
floats numbers_for(int devices, std::size_t n, std::uint64_t seed) {
  return whole_numbers(static_cast<std::size_t>(devices) * n, seed, -9999, 20000);
}

::testing::AssertionResult sums_up(step version, int devices, std::size_t n, std::uint64_t seed,
                                   int rounds = 1) {
  const floats arrays = numbers_for(devices, n, seed);
  const auto exact = reference(devices, arrays).sums;
  floats expected;  // below 8 * 20000: nothing is rounded
  for (int k = 0; k < devices; ++k) expected.insert(expected.end(), exact.begin(), exact.end());
  return matches(lab::compare_exact(all_reduce(version, devices, arrays, rounds).sums, expected));
}

::testing::AssertionResult is_done(collective operation, int devices, std::size_t n, int root) {
  const floats arrays = numbers_for(devices, n, n);
  return matches(lab::compare_exact(communicate(operation, devices, arrays, root),
                                    reference(operation, devices, arrays, root)));
}

::testing::AssertionResult multiplies(int devices, std::size_t n, std::uint64_t seed) {
  const floats a = whole_numbers(n, seed, -99, 300), b = whole_numbers(n, seed + 1, -50, 99);
  const std::vector<double> expected(static_cast<std::size_t>(devices), dot_reference(a, b));
  const std::vector<double> sums = dot(devices, a, b);
  if (sums.size() != expected.size())
    return ::testing::AssertionFailure() << sums.size() << " sums of " << devices << " devices";
  return matches(lab::compare_exact(sums, expected));
}

// --- who does the work ---------------------------------------------------------------------------

unsigned calls_of(const lab::testing::work& done, const std::string& name) {
  const auto at = done.calls.find(name);
  return at == done.calls.end() ? 0 : at->second;
}

/// The calls by which a host waits for a device, or may poll until it has finished, from the first
/// call of `name` to the last.
[[maybe_unused]] std::string waits_between(const lab::testing::work& done,
                                           const std::string& name) {
  std::string since, waits;
  bool began = false;
  for (const std::string& call : done.sequence)
    if (call == name) {
      if (!waits.ends_with(since)) waits += since;
      since.clear();
      began = true;
    } else if (began && (call.ends_with("Synchronize") || call.ends_with("Query") ||
                         call == "cudaMemcpy to the host")) {
      if (!since.ends_with(call + " ")) since += call + " ";
    }
  return waits;
}

/// The most calls of `name` in a row, without one of `between`.
[[maybe_unused]] std::size_t most_in_a_row(const lab::testing::work& done, std::string_view name,
                                           std::string_view between) {
  std::size_t most = 0, now = 0;
  for (const std::string& call : done.sequence) {
    if (call == name) most = std::max(most, ++now);
    if (call == between) now = 0;
  }
  return most;
}

REQUIRED_WORK(ARingHasTwiceAsManyStepsAsNeighboursAndSendsPieces) {
  for (const int devices : {2, 3, 4, 8}) {
    const auto count = static_cast<std::size_t>(devices);
    const std::size_t n = count * 100, bytes = n * sizeof(float);
    const auto done = work_of([&] { return sums_up(step::ring_by_hand, devices, n, 1); });
    EXPECT_TRUE(as_required(done, {.threads = 100,
                                   .kernels = count * (count - 1),
                                   .sent = count * bytes,
                                   .fetched = count * bytes,
                                   .streams = count,
                                   .devices = count,
                                   .not_called = {"ncclAllReduce", "ncclReduce", "ncclSend",
                                                  "ncclReduceScatter", "ncclAllGather"},
                                   .reads = 2 * (count - 1) * bytes}))
        << "ring_by_hand";
    const auto steps = static_cast<unsigned>(2 * (count - 1));
    const unsigned copies =
        calls_of(done, "cudaMemcpyPeerAsync") + calls_of(done, "cudaMemcpyPeer");
    EXPECT_EQ(copies, steps * count)
        << "ring_by_hand: every device sends one piece in each of " << steps << " steps";
    EXPECT_EQ(calls_of(done, "cudaMemcpyPeer"), 0U) << "ring_by_hand: such a copy waits";
    std::size_t sent = 0;
    for (const auto& copy : done.copies) {
      if (copy.kind != cudaMemcpyDeviceToDevice) continue;
      sent += copy.bytes;
      if (copy.from_device == copy.to_device) continue;
      EXPECT_EQ(copy.to_device, (copy.from_device + 1) % devices)
          << "ring_by_hand: device " << copy.from_device << " of " << devices
          << " sends to another one than the next";
    }
    EXPECT_LE(sent, steps * bytes + count * bytes)
        << "ring_by_hand: a device sends pieces, and not whole arrays";
    EXPECT_EQ(waits_between(done, "cudaMemcpyPeerAsync"), "")
        << "ring_by_hand: the streams must wait for each other, not the host";
    EXPECT_LE(most_in_a_row(done, "cudaMemcpyPeerAsync", "cudaStreamWaitEvent"), count)
        << "ring_by_hand: what a device sends in a step has arrived in the step before, so its "
           "stream waits for it: does a device send to others than the next one?";
  }
}

REQUIRED_WORK(NcclAddsUpOncePerDeviceAndRound) {
  for (const auto& [version, name] : kSteps) {
    if (version == step::ring_by_hand) continue;
    for (const int devices : {1, 3, 8})
      for (const int rounds : {1, 3}) {
        const auto count = static_cast<std::size_t>(devices);
        const auto done =
            work_of([&, version = version] { return sums_up(version, devices, 101, 2, rounds); });
        EXPECT_TRUE(as_required(done, {.kernels = 0,
                                       .sent = count * 101 * sizeof(float),
                                       .fetched = count * 101 * sizeof(float),
                                       .calls = {"ncclAllReduce"},
                                       .library = true}))
            << name;
        EXPECT_EQ(calls_of(done, "ncclAllReduce"), count * static_cast<unsigned>(rounds))
            << name << ": one for each of " << devices << " devices and " << rounds << " rounds";
        EXPECT_EQ(calls_of(done, "cudaMemcpyPeerAsync"), 0U) << name;
        if (version == step::one_thread)
          EXPECT_EQ(done.host_threads, 1U) << name;
        else
          EXPECT_GE(done.host_threads, count) << name;
      }
  }
}

/// What the devices do in a step for `count` devices with n numbers each.
lab::testing::required sums_of(step version, std::size_t count, std::size_t n) {
  lab::testing::required work{.threads = 1, .fetched = count * n * sizeof(float)};
  if (version == step::ring_by_hand) return work;
  work.kernels = 0;
  work.calls = {"ncclAllReduce"};
  work.library = true;
  return work;
}

REQUIRED_WORK(CollectivesAreInTheStreamsOfTheRanks) {
  lab::testing::let_the_newest_stream_go_first();  // so that the record has streams
  const auto look = [](const auto& call, const std::string& of) {
    const auto done = lab::testing::work_without_values(call);
    std::set<const void*> streams;
    for (const auto& [name, stream] : done.in_streams)
      if (name.starts_with("nccl")) streams.insert(stream);
    EXPECT_EQ(streams.size(), 3U) << of << ": each of three ranks has a stream for NCCL";
    EXPECT_FALSE(streams.contains(nullptr))
        << of << ": a collective is in the default stream, and not in the rank's";
  };
  for (const auto& [version, name] : kSteps)
    if (version != step::ring_by_hand)
      look([&, version = version] { all_reduce(version, 3, numbers_for(3, 30, 1), 2); }, name);
  for (const auto& [operation, name] : kCollectives)
    look([&, operation = operation] { communicate(operation, 3, numbers_for(3, 30, 1), 0); },
         std::string("one_thread: ") + name);
}

REQUIRED_WORK(FewNumbersAreAddedUpOnTheDevicesAsWell) {
  for (const std::size_t n : {1U, 5U}) {
    for (const auto& [version, name] : kSteps)
      EXPECT_TRUE(as_required(work_of([&, version = version] { return sums_up(version, 3, n, 1); }),
                              sums_of(version, 3, n)))
          << name << ": " << n << " numbers for each of three devices";
    EXPECT_TRUE(
        as_required(work_of([&] { return multiplies(3, n, 3); }),
                    {.threads = 1, .fetched = 3 * sizeof(double), .calls = {"ncclAllReduce"}}))
        << "one_thread: dot of " << n << " elements";
  }
}

REQUIRED_WORK(EveryRoundGoesAroundTheRing) {
  const auto done = work_of([] { return sums_up(step::ring_by_hand, 3, 30, 1, 4); });
  EXPECT_TRUE(as_required(done, {.threads = 10, .kernels = 4 * 3 * 2})) << "ring_by_hand";
  EXPECT_EQ(calls_of(done, "cudaMemcpyPeerAsync"), 4U * 3 * 4)
      << "ring_by_hand: in each of four rounds every device sends one piece in each of 4 steps";
}

REQUIRED_WORK(RanksAddUpWhereNobodyFails) {
  const auto done = lab::testing::work_without_values([] { with_a_failure(3, 500, kNobody); });
  EXPECT_EQ(calls_of(done, "ncclAllReduce"), 3U)
      << "thread_per_rank: where no rank fails, each calls ncclAllReduce";
  EXPECT_GE(done.bytes_copied(cudaMemcpyDeviceToHost), 3 * 500 * sizeof(float))
      << "thread_per_rank: the sums of a rank are looked at";
}

REQUIRED_WORK(TheCollectivesAreThoseOfNccl) {
  const std::string functions[] = {"ncclBroadcast|ncclBcast", "ncclAllGather", "ncclReduceScatter"};
  for (const auto& [operation, name] : kCollectives)
    for (const int devices : {1, 2, 5})
      for (const std::size_t n : {static_cast<std::size_t>(devices), std::size_t{30}}) {
        const auto done =
            work_of([&, operation = operation] { return is_done(operation, devices, n, 0); });
        EXPECT_TRUE(as_required(
            done, lab::testing::by_library({functions[static_cast<std::size_t>(operation)]})))
            << "one_thread: " << name;
        EXPECT_EQ(done.host_threads, 1U) << "one_thread: " << name;
      }
}

REQUIRED_WORK(ADotProductIsAKernelPerDeviceAndOneAllReduce) {
  for (const int devices : {1, 3, 8}) {
    const auto count = static_cast<std::size_t>(devices);
    const std::size_t n = 3001;
    const auto done = work_of([&] { return multiplies(devices, n, 3); });
    EXPECT_TRUE(as_required(done, {.threads = 256,
                                   .kernels = count,
                                   .sent = 2 * n * sizeof(float),
                                   .fetched = count * sizeof(double),
                                   .streams = count,
                                   .devices = count,
                                   .calls = {"ncclAllReduce"},
                                   .reads = 2 * n * sizeof(float)}))
        << "one_thread: dot";
    EXPECT_EQ(calls_of(done, "ncclAllReduce"), count) << "one_thread: dot";
    EXPECT_EQ(waits_between(done, "cudaLaunchKernel"), "") << "one_thread: dot";
    std::string after;
    bool reducing = false, launched = false;
    for (const std::string& call : done.sequence) {
      launched = launched || call == "cudaLaunchKernel";
      reducing = reducing || call == "ncclAllReduce";
      if (launched && !reducing && call.ends_with("Synchronize")) after += call;
    }
    EXPECT_EQ(after, "") << "one_thread: dot: the host waits before the all-reduce";
  }
}

REQUIRED_WORK(ARankWithoutItsSumsAborts) {
  for (const int devices : {2, 4}) {
    const auto done = lab::testing::work_without_values([&] { with_a_failure(devices, 10, 1); });
    EXPECT_EQ(calls_of(done, "ncclCommAbort"), static_cast<unsigned>(devices))
        << "thread_per_rank: every rank";
    const auto threads = done.threads_of.find("ncclCommAbort");
    EXPECT_TRUE(threads != done.threads_of.end() &&
                threads->second == static_cast<std::size_t>(devices))
        << "thread_per_rank: each rank aborts its own communicator, and no other: another rank may "
           "still be using that";
    EXPECT_EQ(calls_of(done, "ncclCommDestroy"), 0U) << "thread_per_rank";
    // On a GPU, a stream would wait in its destructor for an all-reduce that never ends.
    std::size_t aborted = 0, destroyed = 0;
    for (const std::string& call : done.sequence) {
      if (call == "ncclCommAbort") ++aborted;
      if (call == "cudaStreamDestroy") ++destroyed;
      ASSERT_LE(destroyed, aborted)
          << "thread_per_rank: a rank aborts before it destroys its stream";
    }
    EXPECT_GE(done.host_threads, static_cast<std::size_t>(devices)) << "thread_per_rank";
  }
}

// --- all-reduce ----------------------------------------------------------------------------------

using Sums = lab::testing::each_step_and<named_step, std::size_t>;
// Fewer elements than devices, as many, one more; around a block of 256, many, primes.
// On a GPU, each call makes communicators, which takes NCCL about a second.
#ifdef __CPU_DEVICE__
const auto kLengths = ::testing::Values(1, 2, 3, 7, 8, 9, 31, 255, 256, 257, 1021, 8 * 256 + 8);
#else
const auto kLengths = ::testing::Values(1, 8, 257, 8 * 256 + 8);
#endif

INSTANTIATE_TEST_SUITE_P(Steps, Sums, ::testing::Combine(::testing::ValuesIn(kSteps), kLengths),
                         lab::testing::by_step_and{"_n"});

TEST_P(Sums, AreOnEveryDeviceForEveryNumberOfDevices) {
  const auto& [version, n] = GetParam();
  for (int devices = 1; devices <= std::min(lab::device_count(), 8); ++devices)
    EXPECT_TRUE(sums_up(version.value, devices, n, n + static_cast<std::uint64_t>(devices)))
        << devices << " devices";
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AreWithinTheirBoundAndHaveTheSameBitsOnAllDevices) {
  const int devices = lab::device_count();
  const std::size_t n = 1009;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const floats arrays =
        lab::random_floats(static_cast<std::size_t>(devices) * n, seed, -1000, 3000);
    const auto exact = reference(devices, arrays);
    const floats sums = all_reduce(version(), devices, arrays).sums;
    ASSERT_EQ(sums.size(), arrays.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(sums[i]), exact.sums[i % n],
                  error_bound(devices, exact.magnitudes[i % n]))
          << i;
      ASSERT_EQ(sums[i], sums[i % n]) << "device " << i / n << " has other bits than device 0";
    }
  }
}

TEST_P(EachStep, TakesTheSameArraysInEveryRound) {
  for (int devices = 1; devices <= lab::device_count(); ++devices)
    for (const int rounds : {2, 3, 5})
      EXPECT_TRUE(sums_up(version(), devices, 41, 5, rounds)) << devices << " devices, " << rounds;
}

TEST_P(EachStep, HasNoSumsOfNothing) {
  for (int devices = 1; devices <= lab::device_count(); ++devices)
    EXPECT_EQ(all_reduce(version(), devices, {}).sums, floats{});
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::size_t n : {300U, 5U, 300U})
    EXPECT_TRUE(sums_up(version(), lab::device_count(), n, n));
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const floats arrays = numbers_for(lab::device_count(), 33, 4), given = arrays;
  all_reduce(version(), lab::device_count(), given, 2);
  EXPECT_EQ(given, arrays);
}

TEST_P(EachStep, KeepsTheCurrentDevice) {
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_TRUE(sums_up(version(), lab::device_count(), 20, 6));
    int now = -1;
    CUDA_CHECK(cudaGetDevice(&now));
    EXPECT_EQ(now, device);
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  const floats arrays = numbers_for(lab::device_count(), 1000, 7);
  for (const int rounds : {1, 4}) {
    const float milliseconds =
        all_reduce(version(), lab::device_count(), arrays, rounds).milliseconds;
    EXPECT_GT(milliseconds, 0.0F);
    EXPECT_LT(milliseconds, 60'000.0F);
  }
}

TEST_P(EachStep, RefusesWhatCannotBeSummedUp) {
  const int all = lab::device_count();
  const floats some(static_cast<std::size_t>(all) * 6);
  EXPECT_THROW(all_reduce(version(), 0, some), lab::invalid_input);
  EXPECT_THROW(all_reduce(version(), -1, some), lab::invalid_input);
  EXPECT_THROW(all_reduce(version(), all + 1, {}), lab::invalid_input);
  EXPECT_THROW(all_reduce(version(), all, some, 0), lab::invalid_input);
  EXPECT_THROW(all_reduce(version(), all, some, -3), lab::invalid_input);
  if (all > 1) {
    EXPECT_THROW(all_reduce(version(), all, floats(some.size() + 1)), lab::invalid_input);
    EXPECT_THROW(all_reduce(version(), all, floats(1)), lab::invalid_input);
  }
  EXPECT_NO_THROW(all_reduce(version(), all, some));
}

// --- the other collectives -----------------------------------------------------------------------

using Collective = lab::testing::each_step<named_collective>;
INSTANTIATE_TEST_SUITE_P(All, Collective, ::testing::ValuesIn(kCollectives), lab::testing::by_step);

TEST_P(Collective, IsRightForEveryNumberOfDevicesAndEveryRoot) {
  for (int devices = 1; devices <= std::min(lab::device_count(), 8); ++devices)
    for (int root = 0; root < devices; ++root)
      for (const unsigned times : {1U, 3U, 100U}) {
        // On a GPU each call makes communicators, which takes a second. So if the root does not
        // matter, there is one for each length.
        const auto count = static_cast<unsigned>(devices);
        const bool matters = version() == collective::broadcast || lab::on_cpu_device();
        if (!matters && static_cast<unsigned>(root) != times % count) continue;
        EXPECT_TRUE(is_done(version(), devices, std::size_t{times} * count, root))
            << devices << " devices, root " << root;
      }
}

TEST_P(Collective, TakesAnyLengthThatItCan) {
  if (version() == collective::reduce_scatter) {
    for (int devices = 2; devices <= lab::device_count(); ++devices)
      for (const std::size_t n : {1U, 2U, 3U, 7U, 9U, 257U}) {
        const floats arrays = numbers_for(devices, n, 1);
        if (n % static_cast<std::size_t>(devices) != 0) {
          EXPECT_THROW(communicate(version(), devices, arrays), lab::invalid_input) << devices;
        }
      }
  } else {
    for (const std::size_t n : {1U, 2U, 3U, 7U, 9U, 257U, 1021U})
      EXPECT_TRUE(is_done(version(), lab::device_count(), n, lab::device_count() - 1));
  }
  EXPECT_EQ(communicate(version(), lab::device_count(), {}), floats{});
}

TEST_P(Collective, RefusesWhatCannotBe) {
  const int all = lab::device_count();
  const auto count = static_cast<std::size_t>(all);
  const floats some(count * count);
  for (const int root : {-1, all, all + 5})
    EXPECT_THROW(communicate(version(), all, some, root), lab::invalid_input) << root;
  EXPECT_THROW(communicate(version(), 0, some), lab::invalid_input);
  EXPECT_THROW(communicate(version(), all + 1, {}), lab::invalid_input);
  if (all > 1) {
    EXPECT_THROW(communicate(version(), all, floats(count * count + 1)), lab::invalid_input);
  }
  EXPECT_NO_THROW(communicate(version(), all, some));
}

// --- the dot product -----------------------------------------------------------------------------

class Dot : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Dot,
                         ::testing::Values(0, 1, 2, 7, 8, 9, 255, 256, 257, 2048, 2049, 10'007),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Dot, IsOnEveryDeviceForEveryNumberOfDevices) {
  for (int devices = 1; devices <= std::min(lab::device_count(), 8); ++devices)
    EXPECT_TRUE(multiplies(devices, GetParam(), GetParam() + 1)) << devices << " devices";
}

TEST(DotOfRandomNumbers, IsWithinItsBoundAndTheSameOnAllDevices) {
  const floats a = lab::random_floats(50'021, 1, -1, 1), b = lab::random_floats(50'021, 2, -9, 2);
  const auto sums = dot(lab::device_count(), a, b);
  ASSERT_EQ(sums.size(), static_cast<std::size_t>(lab::device_count()));
  for (const double sum : sums) {
    EXPECT_NEAR(sum, dot_reference(a, b), dot_error_bound(a, b));
    EXPECT_EQ(sum, sums.front());
  }
}

TEST(DotOfUnequalVectors, IsRefused) {
  EXPECT_THROW(dot(1, floats(3), floats(4)), lab::invalid_input);
  EXPECT_THROW(dot(0, floats(3), floats(3)), lab::invalid_input);
  EXPECT_THROW(dot(lab::device_count() + 1, floats(3), floats(3)), lab::invalid_input);
}

// --- a rank that fails ---------------------------------------------------------------------------

TEST(Failure, IsReportedByAllOtherRanksWithinSeconds) {
  for (int devices = 1; devices <= std::min(lab::device_count(), 8); ++devices)
    for (int failing = 0; failing < devices; ++failing) {
      const std::vector<outcome> outcomes = with_a_failure(devices, 1000, failing);
      ASSERT_EQ(outcomes.size(), static_cast<std::size_t>(devices));
      for (int k = 0; k < devices; ++k) {
        const outcome& o = outcomes[static_cast<std::size_t>(k)];
        EXPECT_FALSE(o.has_sums) << "rank " << k << " of " << devices;
        EXPECT_NE(o.error, "") << "rank " << k << " of " << devices << " reports nothing";
        EXPECT_LT(o.seconds, kPatience) << "rank " << k << " of " << devices;
        EXPECT_EQ(o.error.find("as it was told to") != std::string::npos, k == failing) << o.error;
      }
    }
}

TEST(Failure, LeavesNothingThatDisturbsTheNextCall) {
  const int all = lab::device_count();
  for (int round = 0; round < 3; ++round) {
    with_a_failure(all, 100, round % all);
    EXPECT_TRUE(sums_up(step::thread_per_rank, all, 100, 8));
    EXPECT_TRUE(sums_up(step::one_thread, all, 100, 9));
  }
}

TEST(Failure, OfNobodyGivesEveryRankItsSums) {
  for (int devices = 1; devices <= lab::device_count(); ++devices)
    for (const outcome& o : with_a_failure(devices, 500, kNobody)) {
      EXPECT_TRUE(o.has_sums) << o.error;
      EXPECT_EQ(o.error, "");
      EXPECT_LT(o.seconds, 60.0F);
    }
}

TEST(Failure, IsRefusedOfARankThatIsNotThere) {
  const int all = lab::device_count();
  for (const int failing : {-2, all, all + 1})
    EXPECT_THROW(with_a_failure(all, 10, failing), lab::invalid_input) << failing;
  EXPECT_THROW(with_a_failure(0, 10, kNobody), lab::invalid_input);
  EXPECT_THROW(with_a_failure(all + 1, 10, kNobody), lab::invalid_input);
}

// --- the reference -------------------------------------------------------------------------------

TEST(Reference, AgreesWithWhatWasDoneByHand) {
  const floats arrays = {1, 2, 10, 20};
  EXPECT_EQ(reference(2, arrays).sums, (std::vector<double>{11, 22}));
  EXPECT_EQ(reference(collective::broadcast, 2, arrays, 1), (floats{10, 20, 10, 20}));
  EXPECT_EQ(reference(collective::all_gather, 2, arrays, 0), (floats{1, 2, 10, 20, 1, 2, 10, 20}));
  EXPECT_EQ(reference(collective::reduce_scatter, 2, arrays, 0), (floats{11, 22}));
}

// --- errors --------------------------------------------------------------------------------------

// Three devices are enough, so that nearly all calls get their turn.
FAULT_TEST(Ring, ReportsEveryCallThatFails) {
  const floats arrays = numbers_for(3, 10, 1);
  expect_failures_reported([&] { return sums_up(step::ring_by_hand, 3, 10, 1); }, arrays);
}
FAULT_TEST(OneThread, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return sums_up(step::one_thread, 2, 10, 1); });
}
FAULT_TEST(ThreadPerRank, ReportsACallThatFailsInOneRankAndNobodyWaits) {
  for (const int devices : {1, 2, 4})
    for (const char* function :
         {"cudaSetDevice", "cudaMalloc", "cudaStreamCreateWithFlags", "cudaStreamQuery",
          "cudaEventQuery", "ncclAllReduce", "ncclCommGetAsyncError", "cudaMemcpy"}) {
      expect_failures_of_threads_reported(
          [&] { return sums_up(step::thread_per_rank, devices, 50, 1, 2); }, {function});
      if (::testing::Test::HasFailure())
        return;  // who waits in vain for one rank does so for others, and for long
    }
}
FAULT_TEST(ThreadPerRank, ReportsTheCauseAndNotWhatFollowsFromItInTheRanksBefore) {
  constexpr int kRanks = 3;
  for (int failing = 0; failing < kRanks; ++failing)
    for (const char* function : {"cudaMalloc", "ncclAllReduce", "cudaStreamQuery"}) {
      // Where it fails while it waits, the others wait as well until they give up.
      const bool waits = function == std::string_view("cudaStreamQuery");
      const fault_of_a_thread injected(function, failing, waits);
      const std::string failure = std::string(function) + " of rank " + std::to_string(failing);
      try {
        (void)sums_up(step::thread_per_rank, kRanks, 50, 1);
        EXPECT_FALSE(injected.fired()) << failure << " failed, and that was not reported";
      } catch (const lab::cuda_error& error) {
        EXPECT_EQ(error.code(), lab::testing::detail::kCudaFault)
            << failure << ": " << error.what();
      } catch (const lab::nccl_error& error) {
        EXPECT_EQ(error.result(), lab::testing::detail::kNcclFault)
            << failure << ": " << error.what();
      } catch (const lab::not_written&) {
        throw;
      } catch (const std::exception& error) {
        ADD_FAILURE() << failure
                      << " failed, and this was thrown instead of its error: " << error.what();
      }
      EXPECT_TRUE(injected.fired() || waits)
          << "a thread with device " << failing << " calls " << function;
      if (::testing::Test::HasFailure()) return;
    }
}
FAULT_TEST(Collectives, ReportEveryCallThatFails) {
  for (const auto& [operation, name] : kCollectives)
    expect_failures_reported([&, operation = operation] { return is_done(operation, 2, 10, 1); });
}
FAULT_TEST(DotProduct, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return multiplies(2, 100, 1); });
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    const std::size_t n =
        lab::on_cpu_device() ? lab::nccl_sum::kDefaultSizeOnCpu : lab::nccl_sum::kDefaultSize;
    const int devices = lab::on_cpu_device() ? 3 : lab::device_count();
    return lab::testing::is_true_by_the_device(
        [&] { return sums_up(version(), devices, n + 1, 9, 2); },
        sums_of(version(), static_cast<std::size_t>(devices), n + 1));
  });
}

}  // namespace
