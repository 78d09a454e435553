// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "radix_sort.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_device.hpp"
#include "full_size.hpp"
#include "key_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/key_value.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"
#include "thrust_faults.hpp"

namespace {

using lab::radix_sort::check;
using lab::radix_sort::check_by;
using lab::radix_sort::check_keys;
using lab::radix_sort::indices;
using lab::radix_sort::position_in_order;
using lab::radix_sort::result;
using lab::radix_sort::sort;
using lab::radix_sort::sort_by_digit;
using lab::radix_sort::step;
using lab::testing::as_cuda_error;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::full_device;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

#ifdef __CPU_DEVICE__
// A block that waits for one that cannot start waits forever. The CPU device ends it; its default
// of 30 seconds would be a long time for a student to wait.
const lab::testing::setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10",
                                       lab::testing::setting::when::unless_given);
// A device that is soon full, as in chapter 12, but with room for all tests on many processors.
// More blocks than run at the same time, on any machine: none may wait for one that comes later.
const lab::testing::setting kWorkers("CPU_DEVICE_WORKERS", "2",
                                     lab::testing::setting::when::unless_given);
const lab::testing::setting kRoom("CPU_DEVICE_MEMORY_MB", "256");
#endif

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::thrust, "thrust"}, {step::digits, "digits"}, {step::one_sweep, "one_sweep"}};

/// Random bit patterns, as keys of any type: ints of both signs, floats of every magnitude, NaNs.
template <class Key>
std::vector<Key> random_keys(std::size_t n, std::uint64_t seed,
                             std::uint32_t highest = 0xFFFFFFFFU) {
  std::vector<Key> keys;
  for (const std::uint32_t bits : lab::make_key_values(n, seed, highest).keys)
    keys.push_back(std::bit_cast<Key>(bits));
  return keys;
}

/// Keys of more tiles than there are blocks that run at the same time.
std::size_t more_tiles_than_run() {
  int device = 0, processors = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  // A multiprocessor has at most 4 blocks of 512 threads at a time; a tile has 10,240 keys.
  return (static_cast<std::size_t>(processors) * 4 + 3) * 10'240 + 5;
}

template <class Key>
::testing::AssertionResult sorts(step version, const std::vector<Key>& keys) {
  return matches(check(sort(version, keys, indices(keys.size())), std::span<const Key>(keys)));
}

template <class Key>
::testing::AssertionResult sorts_keys_alone(step version, const std::vector<Key>& keys) {
  return matches(check_keys(sort(version, keys, {}), std::span<const Key>(keys)));
}

// --- who does the work ---------------------------------------------------------------------------

/// A launch that counts the digits of all passes, and one for each pass, which reads and writes
/// every key once. `bytes` are those of keys and values.
void expect_one_sweep(const lab::testing::work& done, std::size_t bytes_of_keys, std::size_t bytes,
                      bool tiles, const std::string& of) {
  EXPECT_LE(done.kernels.size(), 8U)
      << of
      << ": more launches than one that counts, four that move the keys, and a few small ones";
  if (!done.watched || !tiles) return;
  const std::size_t some = bytes_of_keys / 4;  // for what the tiles tell each other
  std::size_t passes = 0, read_by_others = 0;
  for (const auto& k : done.kernels) {
    // (Not what it reads of counters, and when it polls: how often that is depends on chance.)
    if (k.plain_writes < bytes) {
      read_by_others += k.reads_of_data;
      continue;
    }
    ++passes;
    EXPECT_LE(k.reads_of_data, bytes + some)
        << of << ": " << k.name << " reads the keys more than once";
    EXPECT_LE(k.plain_writes, bytes + some)
        << of << ": " << k.name << " writes the keys more than once";
  }
  EXPECT_EQ(passes, done.kernels.empty() ? 0U : 4U)
      << of << ": the number of launches that move all keys: each of the four digits needs one";
  EXPECT_LE(read_by_others, bytes_of_keys + some)
      << of << ": all digits are counted in one launch, which reads the keys once";
}

/// What the steps do with keys of one type, with values or alone.
template <class Key>
void expect_required_work(std::size_t n, bool pairs, const char* keys_of) {
  const auto keys = random_keys<Key>(n, 1);
  const std::size_t bytes = (pairs ? 2 : 1) * bytes_of(keys);
  const auto work = [&](step version) {
    return work_of([&] { return pairs ? sorts(version, keys) : sorts_keys_alone(version, keys); });
  };
  const std::string of = std::string(": ") + keys_of + (pairs ? " with values" : " alone");

  const bool tiles = n > 10'240;  // several, of which blocks have their share
  for (const auto& [version, name] : {kSteps[1], kSteps[2]}) {
    const lab::testing::work done = work(version);
    EXPECT_TRUE(as_required(done, {.threads = tiles ? 512U : std::min<std::size_t>(n, 32),
                                   .blocks = tiles ? 2U : 1U,
                                   .kernels = 4,
                                   .sent = bytes,
                                   .fetched = bytes,
                                   .reads = 4 * bytes,
                                   .writes = 4 * bytes,
                                   .shared_memory = true}))
        << name << of;
    EXPECT_LT(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes)
        << name << of << ": where only keys are sorted, no values are moved";
    EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToHost), bytes)
        << name << of << ": between the kernels nothing is copied back, and the host scans nothing";
    for (const auto& k : done.kernels)
      if (tiles && k.writes >= bytes) {  // it moves the keys (watched: else nothing is known of it)
        EXPECT_LT(8 * k.shared_of_busiest, k.shared)
            << name << of << ": one thread sorts the tiles of " << k.name;
      }
    if (version == step::digits) {
      EXPECT_LE(done.kernels.size(), 4U * 5) << name << of << ": more than four passes";
      const bool waits =
          std::ranges::any_of(done.kernels, &lab::testing::work::kernel::grid_barriers);
      const std::size_t least = tiles && !done.kernels.empty() && !waits ? 4U * 2 : 0;
      EXPECT_GE(done.kernels.size(), least)
          << name << of
          << ": a pass can move keys only after all blocks have counted theirs, in another launch";
    } else {
      expect_one_sweep(done, bytes_of(keys), bytes, tiles, name + of);
    }
  }

  const lab::testing::work of_thrust = work(step::thrust);
  EXPECT_TRUE(!of_thrust.values || *of_thrust.values) << "thrust" << of;
  EXPECT_TRUE(of_thrust.kernels.empty()) << "thrust" << of << ": this step is Thrust's";
}

REQUIRED_WORK(FourPassesOfOwnKernelsOrCallsOfThrust) {
  expect_required_work<std::uint32_t>(20'011, true, "unsigned ints");
  expect_required_work<float>(1000, true, "floats");
  expect_required_work<std::int32_t>(33, false, "a few ints");
  expect_required_work<std::uint32_t>(2, true, "two unsigned ints");
  expect_required_work<float>(10'500, false, "many floats");
}

// --- every step, every size, every type of key ---------------------------------------------------

using Sort = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp (32), a round of a block (512), a warp's part of a tile (640), a tile (10,240);
// more tiles than that; primes.
INSTANTIATE_TEST_SUITE_P(Steps, Sort,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 31, 32, 33, 257, 511, 512,
                                                              513, 639, 641, 1021, 10'239, 10'240,
                                                              10'241, 2 * 10'240, 3 * 10'240 + 1)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Sort, SortsPairsStably) {
  const auto& [version, n] = GetParam();
  EXPECT_TRUE(sorts(version.value, random_keys<std::uint32_t>(n, n + 1)));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, SortsIntsAndFloats) {
  for (const std::size_t n : {33U, 7681U}) {
    EXPECT_TRUE(sorts(version(), random_keys<std::int32_t>(n, n + 2)));
    EXPECT_TRUE(sorts(version(), random_keys<float>(n, n + 3)));
  }
}

TEST_P(EachStep, SortsKeysWithoutValues) {
  for (const std::size_t n : {0U, 1U, 33U, 5000U}) {
    EXPECT_TRUE(sorts_keys_alone(version(), random_keys<std::uint32_t>(n, 1)));
    EXPECT_TRUE(sorts_keys_alone(version(), random_keys<std::int32_t>(n, 2)));
    EXPECT_TRUE(sorts_keys_alone(version(), random_keys<float>(n, 3)));
  }
}

TEST_P(EachStep, KeepsTheOrderOfEqualKeys) {
  for (const std::uint32_t highest : {0U, 1U, 300U})
    EXPECT_TRUE(sorts(version(), random_keys<std::uint32_t>(6007, highest, highest)));
}

TEST_P(EachStep, KeepsTheOrderOfKeysThatDifferInOneDigitOnly) {
  for (const unsigned bit : {0U, 7U, 8U, 15U, 16U, 23U, 24U, 31U}) {
    auto keys = random_keys<std::uint32_t>(1500, bit, 1);
    for (std::uint32_t& key : keys) key = key << bit | (0x5A5A5A5AU & ~(1U << bit));
    EXPECT_TRUE(sorts(version(), keys)) << "bit " << bit;
  }
}

TEST_P(EachStep, SortsALargeKeyBehindManySmallOnes) {
  auto keys = random_keys<std::uint32_t>(6007, 3, 200);
  for (const unsigned digit : {1U, 2U, 3U}) keys[6000 - digit] = 1U << 8 * digit;
  EXPECT_TRUE(sorts(version(), keys));
}

TEST_P(EachStep, PutsNegativeIntsFirst) {
  const std::vector<std::int32_t> keys = {3,  -1,
                                          0,  std::numeric_limits<std::int32_t>::max(),
                                          -2, std::numeric_limits<std::int32_t>::min(),
                                          1,  -256,
                                          255};
  EXPECT_TRUE(sorts(version(), keys));
  EXPECT_EQ(sort(version(), keys, {}).keys,
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), -256, -2, -1, 0, 1,
                                       3, 255, std::numeric_limits<std::int32_t>::max()}));
}

TEST_P(EachStep, SortsFloatsInTheOrderOfTheirBits) {
  using limits = std::numeric_limits<float>;
  const float nan = limits::quiet_NaN(), infinity = limits::infinity();
  const std::vector<float> in_order = {std::copysign(nan, -1.0F),
                                       -infinity,
                                       limits::lowest(),
                                       -2.0F,
                                       -1.0F,
                                       -limits::denorm_min(),
                                       -0.0F,
                                       0.0F,
                                       limits::denorm_min(),
                                       1.0F,
                                       2.0F,
                                       limits::max(),
                                       infinity,
                                       nan};
  // Twice, in another order, so that each has an equal one before or after it.
  std::vector<float> keys;
  for (std::size_t i = 0; i < 2 * in_order.size(); ++i)
    keys.push_back(in_order[i * 5 % in_order.size()]);
  EXPECT_TRUE(sorts(version(), keys));
  const auto sorted = sort(version(), keys, {}).keys;
  ASSERT_EQ(sorted.size(), keys.size());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(sorted[i]),
              std::bit_cast<std::uint32_t>(in_order[i / 2]))
        << i;
}

/// The keys and the values, whatever they are, are those of a stable sort on the host.
template <class Key>
::testing::AssertionResult sorts_awkward_pairs(step version, std::size_t n) {
  const auto [patterns, values] = lab::testing::awkward_pairs(n, n);
  std::vector<Key> keys;
  std::vector<std::pair<std::int64_t, std::pair<std::uint32_t, std::uint32_t>>> expected;
  for (std::size_t i = 0; i < n; ++i) {
    keys.push_back(std::bit_cast<Key>(patterns[i]));
    expected.push_back({position_in_order(keys[i]), {patterns[i], values[i]}});
  }
  std::ranges::stable_sort(expected, {}, [](const auto& each) { return each.first; });
  const result<Key> sorted = sort(version, keys, values);
  std::vector<std::uint32_t> got, wanted;  // keys and values in turns
  for (const auto& [rank, pair] : expected) wanted.insert(wanted.end(), {pair.first, pair.second});
  if (sorted.keys.size() != n || sorted.values.size() != n)
    return ::testing::AssertionFailure()
           << sorted.keys.size() << " keys and " << sorted.values.size() << " values of " << n;
  for (std::size_t i = 0; i < n; ++i)
    got.insert(got.end(), {std::bit_cast<std::uint32_t>(sorted.keys[i]), sorted.values[i]});
  return matches(lab::compare_exact(got, wanted));
}

TEST_P(EachStep, SortsKeysAndValuesAtTheEndsOfTheirRange) {
  // 0xFFFFFFFF is a key and a value like any other, in a tile that is full and in one that is not.
  for (const std::size_t n : {1U, 257U, 7681U}) {
    EXPECT_TRUE(sorts_awkward_pairs<std::uint32_t>(version(), n)) << n;
    EXPECT_TRUE(sorts_awkward_pairs<std::int32_t>(version(), n)) << n;
    EXPECT_TRUE(sorts_awkward_pairs<float>(version(), n)) << n;
  }
}

TEST_P(EachStep, SortsManyTiles) {
  // More than can look at each other at once, with random digits, and with more than 2^16 equal
  // ones of four.
  const std::size_t n = 20 * 10'240 + 77;
  EXPECT_TRUE(sorts(version(), random_keys<std::uint32_t>(n, 4)));
  auto few = random_keys<std::uint32_t>(n, 5, 3);
  for (std::uint32_t& key : few) key = key == 3 ? 0x03020100U : 0xA0B0C0D0U;
  EXPECT_TRUE(sorts(version(), few));
}

TEST_P(EachStep, SortsMoreThanAMillionKeys) {
  // More than the program sorts on a GPU, unless it is told otherwise.
  lab::testing::expect_at_full_size([&] {
    return sorts_keys_alone(version(), random_keys<std::uint32_t>((std::size_t{1} << 20) + 77, 6));
  });
}

#ifdef __CPU_DEVICE__
TEST(OneSweep, WaitsForNoTileThatMayNotHaveBegun) {
  // A device that says that it has room for all of them at the same time, and has not.
  const auto keys = random_keys<std::uint32_t>(more_tiles_than_run(), 4);
  const lab::testing::pretended_devices large(
      [](cudaDeviceProp& p) { p.multiProcessorCount *= 8; });
  try {
    EXPECT_TRUE(sorts(step::one_sweep, keys));
  } catch (const lab::cuda_error& error) {  // blocks that begin together, or not at all
    if (error.code() != cudaErrorCooperativeLaunchTooLarge) throw;
  }
}
#endif

TEST_P(EachStep, ForgetsThePreviousCall) {
  const auto many = random_keys<std::uint32_t>(30'000, 1), few = random_keys<std::uint32_t>(600, 2);
  EXPECT_TRUE(sorts(version(), many));
  EXPECT_TRUE(sorts(version(), few));
  EXPECT_TRUE(sorts(version(), many));
}

TEST_P(EachStep, IsRightWhenItsKernelsAreRepeated) {
  // As a program repeats them to measure their time: with the memory of the previous launch.
  const lab::repeated_timing samples(3);
  EXPECT_TRUE(sorts(version(), random_keys<float>(9000, 6)));
  EXPECT_TRUE(sorts_keys_alone(version(), random_keys<std::int32_t>(9000, 7)));
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const auto keys = random_keys<std::uint32_t>(3001, 7);
  const auto given = keys;
  const auto values = indices(3001), given_values = values;
  sort(version(), given, given_values);
  EXPECT_EQ(given, keys);
  EXPECT_EQ(given_values, values);
}

TEST_P(EachStep, RefusesAnotherNumberOfValuesThanOfKeys) {
  const auto keys = random_keys<float>(100, 1);
  EXPECT_THROW(sort(version(), keys, indices(99)), lab::invalid_input);
  EXPECT_THROW(sort(version(), keys, indices(101)), lab::invalid_input);
  EXPECT_THROW(sort(version(), std::vector<float>{}, indices(1)), lab::invalid_input);
  EXPECT_TRUE(sorts(version(), keys));  // and it works again
}

TEST_P(EachStep, SaysHowLongItTook) {
  const auto time = [&] {
    return sort(version(), random_keys<std::uint32_t>(5000, 9), indices(5000)).kernel_ms;
  };
  if (version() == step::thrust)  // what it does is no kernel on the CPU device
    EXPECT_GT(time(), 0.0F);
  else
    EXPECT_TRUE(is_time_of(timed::kernels, time));
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, SortsRandomFloats) {
  const auto& [version, seed] = GetParam();
  EXPECT_TRUE(sorts(version.value, random_keys<float>(7001, seed)));
}

TEST(Memory, ThatIsNotThereIsReported) {
  if (!lab::on_cpu_device())
    GTEST_SKIP() << "needs a device whose memory is small enough to be filled";
  const auto keys = random_keys<std::uint32_t>(lab::testing::size_that_fits_once() * 2, 1);
  EXPECT_TRUE(lab::testing::thrust_finds_no_memory([&] {
    sort(step::thrust, std::span(keys).first(keys.size() / 4), {});
  })) << "thrust: what Thrust throws when it finds no memory must come out";
  const full_device occupied(lab::testing::current_device());
  EXPECT_THROW(sort(step::digits, keys, {}), lab::cuda_error);
  EXPECT_THROW(sort(step::one_sweep, keys, {}), lab::cuda_error);
  (void)cudaGetLastError();
}

// --- one pass ------------------------------------------------------------------------------------

class Digit : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Digits, Digit, ::testing::Values(0, 1, 2, 3));

TEST_P(Digit, IsSortedByAndNothingElse) {
  const unsigned digit = GetParam();
  const auto of_digit = [digit](std::uint32_t key) { return key >> 8 * digit & 255; };
  for (const std::size_t n : {1U, 33U, 10'240U, 12'001U}) {
    const auto keys = random_keys<std::uint32_t>(n, n);
    EXPECT_TRUE(matches(check_by(sort_by_digit(keys, indices(n), digit),
                                 std::span<const std::uint32_t>(keys), of_digit)));
    // Keys alone are moved alike.
    EXPECT_EQ(sort_by_digit(keys, {}, digit).keys, sort_by_digit(keys, indices(n), digit).keys);
  }
}

TEST(Digits, AreSortedByWhereABlockHasSeveralTiles) {
  const std::size_t n = more_tiles_than_run();
  const auto keys = random_keys<std::uint32_t>(n, 3);
  EXPECT_TRUE(
      matches(check_by(sort_by_digit(keys, indices(n), 1), std::span<const std::uint32_t>(keys),
                       [](std::uint32_t key) { return key >> 8 & 255; })));
}

TEST(Digits, AreFour) {
  const auto keys = random_keys<std::uint32_t>(10, 1);
  EXPECT_THROW(sort_by_digit(keys, {}, 4), lab::invalid_input);
  EXPECT_THROW(sort_by_digit(keys, indices(9), 0), lab::invalid_input);
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, KnowsTheOrderOfFloats) {
  EXPECT_LT(position_in_order(-2.0F), position_in_order(-1.0F));
  EXPECT_LT(position_in_order(-1.0F), position_in_order(-0.0F));
  EXPECT_LT(position_in_order(-0.0F), position_in_order(0.0F));
  EXPECT_LT(position_in_order(0.0F), position_in_order(1.0F));
}

TEST(Check, SeesWhatIsWrong) {
  const std::vector<std::uint32_t> keys = {7, 3, 7};
  const auto is_right = [&](const std::vector<std::uint32_t>& k,
                            const std::vector<std::uint32_t>& v) {
    return check(result<std::uint32_t>{k, v}, std::span<const std::uint32_t>(keys)).ok;
  };
  EXPECT_TRUE(is_right({3, 7, 7}, {1, 0, 2}));
  EXPECT_FALSE(is_right({3, 7, 7}, {1, 2, 0}));  // not stable
  EXPECT_FALSE(is_right({3, 7, 7}, {1, 0, 0}));
  EXPECT_FALSE(is_right({3, 7, 7}, {1, 0, 3}));
  EXPECT_FALSE(is_right({7, 3, 7}, {0, 1, 2}));  // nobody sorted
  EXPECT_FALSE(is_right({3, 7, 7}, {0, 1, 2}));  // the values stayed where they were
  EXPECT_FALSE(is_right({3, 7}, {1, 0}));
}

FAULT_TEST(Thrust, ReportsEveryCallThatFails) {
  const auto keys = random_keys<float>(100, 1);
  expect_failures_reported([&] { return as_cuda_error([&] { return sorts(step::thrust, keys); }); },
                           keys);
}

// One of the four passes of step digits: what they do on the host is the same.
FAULT_TEST(Digits, ReportEveryCallThatFails) {
  const auto keys = random_keys<std::uint32_t>(100, 1);
  expect_failures_reported([&] { return sort_by_digit(keys, indices(100), 1).keys; }, keys);
}

FAULT_TEST(OneSweep, ReportsEveryCallThatFails) {
  const auto keys = random_keys<std::uint32_t>(100, 1);
  expect_failures_reported([&] { return sorts(step::one_sweep, keys); }, keys);
}

}  // namespace
