// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "many_gpu_sort.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::many_gpu_sort::check_result;
using lab::many_gpu_sort::choose_splitters;
using lab::many_gpu_sort::kSamples;
using lab::many_gpu_sort::most_per_device;
using lab::many_gpu_sort::offsets_of;
using lab::many_gpu_sort::reference;
using lab::many_gpu_sort::result;
using lab::many_gpu_sort::sort;
using lab::many_gpu_sort::splitter;
using lab::many_gpu_sort::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::timed;
using lab::testing::work_of;
using words = std::vector<std::uint32_t>;

#ifdef __CPU_DEVICE__
const lab::testing::setting kEight("CPU_DEVICE_COUNT", "8");
#endif

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::sort_again, "sort_again"}, {step::merge, "merge"}};

/// Random numbers up to `highest`.
words random_keys(std::size_t n, std::uint64_t seed, std::uint32_t highest = 0xFFFFFFFF) {
  words keys = lab::random_words(n, seed);
  if (highest != 0xFFFFFFFF)
    for (std::uint32_t& key : keys) key %= highest + 1;
  return keys;
}

::testing::AssertionResult sorts(step version, int devices, const words& keys) {
  return matches(check_result(sort(version, devices, keys), devices, keys));
}

int most_devices() { return std::min(lab::device_count(), 8); }

// --- who does the work ---------------------------------------------------------------------------

bool is_wait(const std::string& call) {
  return call.ends_with("Synchronize") || call.ends_with("Query") ||
         call == "cudaMemcpy to the host";
}

/// The calls by which the host waits between the sorts of the parts, and from the first copy
/// between devices to the last sort or launch.
[[maybe_unused]] std::string waits_of(const std::vector<std::string>& calls, std::size_t devices) {
  const auto is_sort = [](const std::string& call) { return call.starts_with("cub::"); };
  const auto is_work = [&](const std::string& call) {
    return is_sort(call) || call.starts_with("cudaLaunch") || call == "cudaMemcpyPeerAsync";
  };
  const auto exchange = std::ranges::find(calls, "cudaMemcpyPeerAsync");
  std::string waits;
  // Before the exchange: back to the first of the sorts, of which there is one for each device.
  std::string since;
  std::size_t sorts = 0;
  for (auto call = std::make_reverse_iterator(exchange); call != calls.rend(); ++call) {
    if (is_sort(*call)) {
      if (sorts++ > 0) waits += since;
      since.clear();
      if (sorts == devices) break;
    } else if (is_wait(*call)) {
      if (!since.ends_with(*call + " ")) since += *call + " ";
    }
  }
  since.clear();
  for (auto call = exchange; call != calls.end(); ++call) {
    if (is_work(*call)) {
      if (!waits.ends_with(since)) waits += since;
      since.clear();
    } else if (is_wait(*call)) {
      if (!since.ends_with(*call + " ")) since += *call + " ";
    }
  }
  return waits;
}

/// Only samples and cuts take the way over the host, which waits for nothing else.
[[maybe_unused]] void expect_exchange_between_devices(const lab::testing::work& done,
                                                      const char* name, const words& keys,
                                                      int devices) {
  const auto count = static_cast<std::size_t>(devices);
  const std::size_t samples = 3 * count * kSamples * sizeof(splitter);
  EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost), 2 * bytes_of(keys) + samples)
      << name
      << ": between the parts and the result, only samples and cuts may be copied to the host";
  EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), bytes_of(keys) + samples)
      << name << ": each device gets its part of the keys, and no others";
  if (devices == 1) return;
  const auto peer_copies = done.calls.find("cudaMemcpyPeerAsync");
  ASSERT_NE(peer_copies, done.calls.end())
      << name << ": no device sends to another one (cudaMemcpyPeerAsync)";
  EXPECT_GE(peer_copies->second, 2 * count * (count - 1))
      << name << ": copies between " << devices << " devices (cudaMemcpyPeerAsync)";
  EXPECT_EQ(waits_of(done.sequence, count), "")
      << name << ": the host waits while devices have nothing to do";
}

REQUIRED_WORK(EachDeviceSortsItsPartAndGetsItsBucketFromTheOthers) {
  for (const auto& [version, name] : kSteps)
    for (const int devices : {1, 2, 4, 8}) {
      const auto count = static_cast<std::size_t>(devices);
      const words keys = random_keys(20'000 * count / 8, 1);
      const auto done = work_of([&, version = version] { return sorts(version, devices, keys); });
      // One thread may find the few cuts.
      EXPECT_TRUE(as_required(done, {.threads = 1,
                                     .kernels = devices == 1 ? 1 : 2 * count,
                                     .sent = bytes_of(keys),
                                     .fetched = 2 * bytes_of(keys),
                                     .streams = count,
                                     .devices = count,
                                     .library = true}))
          << name;
      expect_exchange_between_devices(done, name, keys, devices);
      // Of eight devices: what one has, in whatever form, is far less than what all have.
      for (const std::size_t bytes : done.device_memory)
        EXPECT_TRUE(devices < 8 || bytes < bytes_of(keys))
            << name << ": an array of " << bytes << " bytes has room for all keys";
      unsigned sorts_begun = 0;
      for (const auto& kernel : done.kernels) sorts_begun += kernel.of_library ? 1 : 0;
      // A single device has received nothing, so it need not sort again.
      EXPECT_GE(sorts_begun, version == step::merge || devices == 1 ? count : 2 * count) << name;
    }
}

#ifdef __CPU_DEVICE__

REQUIRED_WORK(BucketsAreCopiedByCUDAWhereDevicesCannotAccessEachOther) {
  const struct alone {
    alone() { cpu_device::set_peer_group(1); }
    ~alone() { cpu_device::set_peer_group(0); }
  } each_device;
  const words keys = random_keys(10'000, 4);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of([&, version = version] { return sorts(version, 4, keys); });
    EXPECT_TRUE(as_required(done, {.threads = 1, .kernels = 8, .devices = 4, .library = true}))
        << name << ", without peer access";
    expect_exchange_between_devices(done, name, keys, 4);
  }
}

#endif

REQUIRED_WORK(FewKeysAndKeysInOrderAreSortedOnTheDevicesAsWell) {
  words up(700);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<std::uint32_t>(3 * i);
  for (const auto& [version, name] : kSteps)
    for (const words& keys : {random_keys(1, 1), random_keys(5, 2), random_keys(90, 3), up,
                              words(up.rbegin(), up.rend()), words(700, 42)}) {
      const auto done = work_of([&, version = version] { return sorts(version, 3, keys); });
      EXPECT_TRUE(as_required(done, {.threads = 1,
                                     .kernels = 1,
                                     .sent = bytes_of(keys),
                                     .fetched = 2 * bytes_of(keys),
                                     .library = true}))
          << name << ": " << keys.size() << " keys, the first one " << keys.front();
      // All keys may be samples here. A part that the host sorts is copied once more.
      constexpr std::size_t kSplittersAndCuts = 288;
      EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost),
                2 * bytes_of(keys) + keys.size() * sizeof(splitter) + kSplittersAndCuts)
          << name << ": more than samples, cuts and the result is copied to the host, of "
          << keys.size() << " keys";
      EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), bytes_of(keys) + kSplittersAndCuts)
          << name << ": more than the unsorted keys is copied to the devices, of " << keys.size();
      if (keys.size() < 90) continue;
      EXPECT_EQ(done.devices(), 3U) << name << ": each device has a part of " << keys.size();
      const auto sorts_begun =
          std::ranges::count_if(done.kernels, [](const auto& k) { return k.of_library; });
      EXPECT_GE(sorts_begun, 3) << name << ": each device sorts its part";
      if (keys.size() > 90) continue;  // they are in order, so some are already in their place
      EXPECT_GE(sorts_begun, version == step::merge ? 3 : 6) << name << ": each device sorts";
      expect_exchange_between_devices(done, name, keys, 3);
    }
}

/// Of a kernel, if it has several blocks. Watched: those that access memory.
[[maybe_unused]] std::uint64_t threads_of_several_blocks(
    const lab::testing::recorded_work::kernel& kernel, bool watched) {
  if ((watched ? kernel.busy_blocks : kernel.blocks) < 2) return 0;
  return watched ? kernel.threads : kernel.all_threads();
}

REQUIRED_WORK(MergeSortsNothingTwice) {
  for (const auto& [n, devices] :
       {std::pair<std::size_t, int>{90, 2}, {2000, 3}, {20'000, 2}, {20'000, 5}}) {
    const words keys = random_keys(n, 2);
    const bool many = n == 20'000;
    const auto done = work_of([&, devices = devices] { return sorts(step::merge, devices, keys); });
    EXPECT_TRUE(as_required(done, {.threads = 1,  // that finds the cuts; the merge's are below
                                   .kernels = static_cast<std::size_t>(3 * devices),
                                   .devices = static_cast<std::size_t>(devices),
                                   .library = true}))
        << "merge";
    EXPECT_EQ(std::ranges::count_if(done.kernels, [](const auto& k) { return k.of_library; }),
              devices)
        << "merge: each device sorts once, its own keys, of " << n;
    if (!many) continue;
    // The given kernel that numbers the pairs has many threads, too, and runs before the sort.
    std::map<int, std::uint64_t> threads;  // of the largest kernel after the sort, by device
    std::set<int> sorted;
    for (const auto& kernel : done.kernels)
      if (kernel.of_library)
        sorted.insert(kernel.device);
      else if (sorted.contains(kernel.device))
        threads[kernel.device] =
            std::max(threads[kernel.device], threads_of_several_blocks(kernel, done.watched));
    for (int device = 0; device < devices; ++device)
      EXPECT_GE(threads[device], 256U) << "merge: threads of several blocks on device " << device;
  }
}

REQUIRED_WORK(OnlySamplesComeToTheHost) {
  const words keys = random_keys(8000, 3);
  for (const int devices : {1, 3, 8}) {
    const auto done = work_of([&] {
      return choose_splitters(devices, keys).size() == static_cast<std::size_t>(devices) - 1
                 ? ::testing::AssertionSuccess()
                 : ::testing::AssertionFailure() << "the number of splitters is wrong";
    });
    EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost),
              2 * static_cast<std::size_t>(devices) * kSamples * sizeof(splitter))
        << "sort_again: splitters";
    EXPECT_EQ(done.devices(), static_cast<std::size_t>(devices)) << "sort_again: splitters";
  }
}

// --- every step, every size ----------------------------------------------------------------------

using Sort = lab::testing::each_step_and<named_step, std::size_t>;
// None, fewer than devices, as many, one more; around a block; around the samples of 8 devices.
INSTANTIATE_TEST_SUITE_P(Steps, Sort,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 255,
                                                              257, 511, 512, 513, 520, 1021, 3001)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Sort, SortsOnEveryNumberOfDevices) {
  const auto& [version, n] = GetParam();
  for (int devices = 1; devices <= most_devices(); ++devices)
    EXPECT_TRUE(sorts(version.value, devices, random_keys(n, n + 1))) << devices << " devices";
}

TEST_P(Sort, KeepsTheOrderOfEqualKeys) {
  const auto& [version, n] = GetParam();
  for (const std::uint32_t highest : {0U, 1U, 2U, 9U})
    EXPECT_TRUE(sorts(version.value, most_devices(), random_keys(n, n + 2, highest))) << highest;
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, SplitsEqualKeysOverAllDevices) {
  for (int devices = 1; devices <= most_devices(); ++devices) {
    const words keys(6007, 42);
    const result sorted = sort(version(), devices, keys);
    EXPECT_TRUE(matches(check_result(sorted, devices, keys))) << devices << " devices";
    const std::size_t average = keys.size() / static_cast<std::size_t>(devices);
    for (const std::size_t count : sorted.counts) EXPECT_GT(count, average / 2);
  }
}

TEST_P(EachStep, GivesEachDeviceTheKeysBetweenTwoSplitters) {
  // So the counts are those of the keys on the devices, not made up.
  for (int devices = 1; devices <= most_devices(); ++devices) {
    const words keys = random_keys(3001, 13, 100'000);
    const result sorted = sort(version(), devices, keys);
    std::vector<std::size_t> ends = offsets_of(choose_splitters(devices, keys), keys), counts;
    ends.push_back(keys.size());
    for (std::size_t k = 0; k < ends.size(); ++k)
      counts.push_back(ends[k] - (k > 0 ? ends[k - 1] : 0));
    EXPECT_EQ(sorted.counts, counts) << devices << " devices";
  }
}

TEST_P(EachStep, SortsSkewedKeys) {
  for (int devices = 1; devices <= most_devices(); ++devices) {
    words mostly_zero = random_keys(5003, 1);
    for (std::size_t i = 0; i < mostly_zero.size(); ++i)
      if (i % 10 != 3) mostly_zero[i] = 0;
    EXPECT_TRUE(sorts(version(), devices, mostly_zero)) << devices << " devices";

    words powers = random_keys(5003, 2);
    for (std::uint32_t& key : powers) key = 1U << key % 32;
    EXPECT_TRUE(sorts(version(), devices, powers)) << devices << " devices";

    // All small ones are on the first device, all large ones on the last.
    words apart = random_keys(5003, 3, 999);
    for (std::size_t i = 0; i < apart.size(); ++i)
      apart[i] += static_cast<std::uint32_t>(i / 1000 * 100'000);
    EXPECT_TRUE(sorts(version(), devices, apart)) << devices << " devices";
  }
}

TEST_P(EachStep, SortsWhatIsInOrderAndWhatIsNot) {
  words up(4001), down(4001), saw(4001);
  for (std::size_t i = 0; i < up.size(); ++i) {
    up[i] = static_cast<std::uint32_t>(3 * i);
    down[i] = static_cast<std::uint32_t>(3 * (up.size() - i));
    saw[i] = static_cast<std::uint32_t>(i % 61);
  }
  for (int devices = 1; devices <= most_devices(); ++devices)
    for (const words* keys : {&up, &down, &saw}) EXPECT_TRUE(sorts(version(), devices, *keys));
}

TEST_P(EachStep, SortsTheSmallestAndTheLargestKeys) {
  words keys = random_keys(2000, 4);
  for (std::size_t i = 0; i < keys.size(); i += 3) keys[i] = i % 2 == 0 ? 0 : 0xFFFFFFFF;
  for (int devices = 1; devices <= most_devices(); ++devices)
    EXPECT_TRUE(sorts(version(), devices, keys)) << devices << " devices";
  EXPECT_TRUE(sorts(version(), most_devices(), words(777, 0xFFFFFFFF)));
  EXPECT_TRUE(sorts(version(), most_devices(), {5, 0xFFFFFFFF, 0}));
}

TEST_P(EachStep, LeavesDevicesWithoutKeysWhereThereAreTooFew) {
  const int devices = most_devices();
  for (int n = 0; n < devices; ++n) {
    const words keys = random_keys(static_cast<std::size_t>(n), 5);
    const result sorted = sort(version(), devices, keys);
    EXPECT_TRUE(matches(check_result(sorted, devices, keys)));
    for (const std::size_t count : sorted.counts) EXPECT_LE(count, 1U);
  }
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::size_t n : {3000U, 40U, 3000U})
    EXPECT_TRUE(sorts(version(), most_devices(), random_keys(n, n)));
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const words keys = random_keys(1500, 6), given = keys;
  sort(version(), most_devices(), given);
  EXPECT_EQ(given, keys);
}

TEST_P(EachStep, KeepsTheCurrentDevice) {
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_TRUE(sorts(version(), most_devices(), random_keys(100, 7)));
    int now = -1;
    CUDA_CHECK(cudaGetDevice(&now));
    EXPECT_EQ(now, device);
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return sort(version(), most_devices(), random_keys(3000, 8)).milliseconds;
  }));
}

TEST_P(EachStep, RefusesDevicesThatAreNotThere) {
  const words keys = random_keys(10, 9);
  for (const int devices : {-1, 0, lab::device_count() + 1}) {
    EXPECT_THROW(sort(version(), devices, keys), lab::invalid_input) << devices;
    EXPECT_THROW(sort(version(), devices, {}), lab::invalid_input) << devices;
    EXPECT_THROW(choose_splitters(devices, keys), lab::invalid_input) << devices;
  }
  EXPECT_TRUE(sorts(version(), 1, keys));
}

TEST_P(EachStep, RefusesMoreKeysThanPositionsHaveNumbersFor) {
  // They are never read.
  const std::uint32_t one = 0;
  const std::span<const std::uint32_t> too_many(&one, std::size_t{1} << 32);
  if (!lab::testing::detail::has_the_device()) GTEST_SKIP() << "all keys would be sent first";
  EXPECT_THROW(sort(version(), 1, too_many), lab::invalid_input);
}

// --- splitters -----------------------------------------------------------------------------------

class Splitters : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Splitters,
                         ::testing::Values(1, 2, 7, 8, 9, 63, 64, 65, 511, 512, 513, 2000, 8009),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Splitters, LeaveNoDeviceTooManyKeysWhateverTheKeysAre) {
  const std::size_t n = GetParam();
  words mostly_one = random_keys(n, 1), up(n), down(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 7 != 0) mostly_one[i] = 1;
    up[i] = static_cast<std::uint32_t>(i);
    down[i] = static_cast<std::uint32_t>(n - i);
  }
  for (const words& keys :
       {random_keys(n, 2), random_keys(n, 3, 5), words(n, 7), mostly_one, up, down})
    for (int devices = 1; devices <= most_devices(); ++devices) {
      const auto splitters = choose_splitters(devices, keys);
      ASSERT_EQ(splitters.size(), static_cast<std::size_t>(devices) - 1);
      std::vector<std::size_t> offsets = offsets_of(splitters, keys);
      offsets.push_back(n);
      std::size_t before = 0;
      for (const std::size_t offset : offsets) {
        ASSERT_LE(before, offset) << "the splitters are not in order";
        EXPECT_LE(offset - before, most_per_device(n, devices)) << devices << " devices";
        before = offset;
      }
      for (const splitter& s : splitters) {
        ASSERT_LT(s.position, n);
        EXPECT_EQ(keys[s.position], s.key) << "a splitter is a sample: a key with its position";
      }
    }
}

TEST(SplittersOfTwoDevices, AreSamplesAtRegularDistances) {
  // A splitter has as many samples before it as after it. So it is a sample of the one device whose
  // keys are in order, if just as many keys of the other one are before all of these as that needs.
  if (most_devices() < 2) GTEST_SKIP() << "needs two devices";
  constexpr std::size_t kEach = 8;  // keys for a sample
  constexpr std::size_t kCount = kSamples * kEach;
  for (const std::size_t device : {0U, 1U}) {
    std::size_t before = 0;
    for (std::size_t j = 0; j < kSamples; ++j) {
      words keys(2 * kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        keys[device * kCount + i] = static_cast<std::uint32_t>(100'000 + i);
        const bool first = i < (kSamples - j) * kEach;
        keys[(1 - device) * kCount + i] = static_cast<std::uint32_t>(first ? i : 200'000 + i);
      }
      const auto splitters = choose_splitters(2, keys);
      ASSERT_EQ(splitters.size(), 1U);
      const std::size_t offset = offsets_of(splitters, keys)[0] - (kSamples - j) * kEach;
      ASSERT_LE(offset, kCount) << "the splitter is none of the samples in the middle";
      EXPECT_LE(offset, before + kEach)
          << "device " << device << " has no sample among keys " << before << " to " << offset
          << " of " << kCount << ": a sample stands for at most " << kEach;
      before = offset;
    }
    EXPECT_LE(kCount, before + kEach) << "device " << device << ": keys after its last sample";
  }
}

TEST(SplittersOfNothing, AreNone) {
  for (int devices = 1; devices <= most_devices(); ++devices)
    EXPECT_TRUE(choose_splitters(devices, {}).empty());
}

TEST(MostPerDevice, IsLittleMoreThanTheAverage) {
  EXPECT_EQ(most_per_device(0, 4), 0U);
  EXPECT_EQ(most_per_device(3, 4), 1U);
  EXPECT_EQ(most_per_device(64 * 4, 4), 64U);
  // 65 keys are 2 for each of 64 samples, or less, and 1 more of each device.
  EXPECT_EQ(most_per_device(65 * 4, 4), 132U);
  EXPECT_EQ(most_per_device(6400 * 4, 4), 6400U + 4 * 99);
  EXPECT_EQ(most_per_device(640'000, 1), 640'000U + 9'999);
}

// --- the reference -------------------------------------------------------------------------------

TEST(Reference, IsStable) {
  EXPECT_EQ(reference(words{5, 3, 5, 3}), (words{1, 3, 0, 2}));
  EXPECT_EQ(offsets_of(std::vector<splitter>{{3, 3}, {5, 2}}, words{5, 3, 5, 3}),
            (std::vector<std::size_t>{1, 3}));
}

TEST(Check, SeesWhatIsWrong) {
  const words keys = {5, 3, 5, 3};
  const auto is_right = [&](const words& k, const words& at, const std::vector<std::size_t>& c) {
    return check_result({k, at, c}, 2, keys).ok;
  };
  EXPECT_TRUE(is_right({3, 3, 5, 5}, {1, 3, 0, 2}, {2, 2}));
  EXPECT_FALSE(is_right({3, 3, 5, 5}, {3, 1, 0, 2}, {2, 2}));  // not stable
  EXPECT_FALSE(is_right({3, 3, 5, 5}, {1, 3, 0, 2}, {4, 0}));  // all on one device
  EXPECT_FALSE(is_right({3, 3, 5, 5}, {1, 3, 0, 2}, {2, 1}));
  EXPECT_FALSE(is_right({3, 3, 5, 5}, {1, 3, 0, 2}, {4}));
  EXPECT_FALSE(is_right({3, 5, 3, 5}, {1, 0, 3, 2}, {2, 2}));
}

// --- errors --------------------------------------------------------------------------------------

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const words keys = random_keys(200, 10);
  expect_failures_reported([&] { return sorts(version(), 2, keys); }, keys);
}

FAULT_TEST(ChoiceOfSplitters, ReportsEveryCallThatFails) {
  const words keys = random_keys(200, 11);
  expect_failures_reported(
      [&] {
        const auto chosen = choose_splitters(2, keys);
        return chosen.size() == 1 ? chosen.front().position : 0;
      },
      keys);
}

TEST_P(EachStep, SortsAsManyKeysAsTheProgram) {
  expect_at_full_size([&] {
    const std::size_t n = lab::on_cpu_device() ? lab::many_gpu_sort::kDefaultSizeOnCpu
                                               : lab::many_gpu_sort::kDefaultSize / 4;
    return lab::testing::is_true_by_the_device(
        [&] { return sorts(version(), std::min(most_devices(), 4), random_keys(n + 1, 12)); },
        {.threads = 32, .fetched = 2 * (n + 1) * sizeof(std::uint32_t), .library = true});
  });
}

}  // namespace
