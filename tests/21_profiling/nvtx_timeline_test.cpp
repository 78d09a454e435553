// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "nvtx_timeline.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "recording.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::nvtx_timeline {

bool operator==(const utilization& a, const utilization& b) {
  const auto all = [](const utilization& u) {
    return std::tie(u.span, u.copying, u.computing, u.overlap, u.both_ways, u.idle, u.longest_idle);
  };
  return all(a) == all(b);
}
void PrintTo(const utilization& u, std::ostream* out) {
  *out << "span " << u.span << ", copying " << u.copying << ", computing " << u.computing
       << ", overlap " << u.overlap << ", both ways " << u.both_ways << ", idle " << u.idle
       << ", longest idle " << u.longest_idle;
}

}  // namespace lab::nvtx_timeline

namespace {

using lab::nvtx_timeline::activity;
using lab::nvtx_timeline::interval;
using lab::nvtx_timeline::kDefaultChunk;
using lab::nvtx_timeline::kDefaultSize;
using lab::nvtx_timeline::measure;
using lab::nvtx_timeline::process;
using lab::nvtx_timeline::reference;
using lab::nvtx_timeline::reference_measure;
using lab::nvtx_timeline::step;
using lab::nvtx_timeline::utilization;
using lab::testing::as_required;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using ints = std::vector<int>;
using intervals = std::vector<interval>;
using strings = std::vector<std::string>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_stream, "one_stream"},
                                 {step::two_streams, "two_streams"}};

ints numbers(std::size_t n, std::uint64_t seed) {
  return lab::random_ints(n, seed, -1'000'000, 2'000'000);
}

::testing::AssertionResult is_right(step version, std::size_t n, std::size_t chunk,
                                    std::uint64_t seed = 1) {
  const ints a = numbers(n, seed), b = numbers(n, seed + 1);
  return matches(lab::compare_exact(process(version, a, b, chunk).c, reference(a, b)));
}

// --- who does the work, and what is seen of it ---------------------------------------------------

/// The ranges alone, and what they are: "[ process", "[ prepare", "]", …
strings ranges_of(const lab::testing::recorded_work& done) {
  strings found;
  for (const std::string& each : done.sequence)
    if (each == "]" || each.starts_with("[ ")) found.push_back(each);
  return found;
}

strings expected_ranges(std::size_t turns) {
  strings all = {"[ process", "[ prepare", "]", "[ queue"};
  for (std::size_t i = 0; i < turns; ++i) {
    all.push_back("[ chunks " + std::to_string(i));
    all.emplace_back("]");
  }
  for (const char* each : {"]", "[ wait", "]", "[ fetch", "]", "]"}) all.emplace_back(each);
  return all;
}

/// In which ranges calls were made whose names begin so, in their order: "/process/queue/chunks 0".
strings positions_of(const lab::testing::recorded_work& done, const std::string& call) {
  strings found;
  std::string path;
  for (const std::string& each : done.sequence) {
    if (each.starts_with("[ "))
      path += "/" + each.substr(2);
    else if (each == "]")
      path = path.substr(0, std::min(path.rfind('/'), path.size()));
    else if (each.starts_with(call))
      found.push_back(path);
  }
  return found;
}
std::set<std::string> ranges_with(const lab::testing::recorded_work& done,
                                  const std::string& call) {
  const strings all = positions_of(done, call);
  return {all.begin(), all.end()};
}
/// The ranges of the first and of the last of these calls.
std::pair<std::string, std::string> first_and_last_range(const lab::testing::recorded_work& done,
                                                         const std::string& call) {
  const strings all = positions_of(done, call);
  if (all.empty()) return {"nowhere", "nowhere"};
  return {all.front(), all.back()};
}

REQUIRED_WORK(RangesAroundTheCalls) {
  struct plan {
    std::size_t n, chunk, turns_of_one, turns_of_two;
  };
  for (const auto& [version, name] : kSteps)
    for (const plan& p : {plan{5000, 1024, 5, 3}, plan{2048, 1024, 2, 1}, plan{2049, 1024, 3, 2},
                          plan{100, 256, 1, 1}, plan{3000, 4096, 1, 1}, plan{5700, 256, 23, 12},
                          plan{1, 256, 1, 1}, plan{3, 512, 1, 1}}) {
      const auto done = work_of([&, version = version] { return is_right(version, p.n, p.chunk); });
      const std::size_t bytes = p.n * sizeof(int);
      EXPECT_TRUE(as_required(done, {.threads = std::min(p.n, p.chunk),
                                     .kernels = (p.n + p.chunk - 1) / p.chunk,
                                     .sent = 2 * bytes,
                                     .fetched = bytes,
                                     .calls = {"cudaMemcpyAsync", "cudaHostAlloc|cudaMallocHost"}}))
          << name;
      const std::size_t turns = version == step::one_stream ? p.turns_of_one : p.turns_of_two;
      EXPECT_EQ(ranges_of(done), expected_ranges(turns)) << name << ": its ranges";
      const auto expect_in = [&, name = name](const char* call, const std::string& range) {
        const auto [first, last] = first_and_last_range(done, call);
        EXPECT_EQ(first, range) << name << ": the first " << call;
        EXPECT_EQ(last, range) << name << ": the last " << call;
      };
      expect_in("cudaMalloc", "/process/prepare");
      expect_in("cudaStreamCreate", "/process/prepare");
      expect_in("nvtxNameCudaStream", "/process/prepare");
      for (const std::string& range : ranges_with(done, "cudaFree"))
        EXPECT_TRUE(range == "/process" || range == "/process/fetch")
            << name << ": memory is freed in '" << range << "': it is needed until \"fetch\"";
      expect_in("cudaEventRecord", "/process/queue");
      const std::string last = "/process/queue/chunks " + std::to_string(turns - 1);
      for (const char* call : {"cudaMemcpyAsync", "cudaLaunchKernel"}) {
        EXPECT_EQ(first_and_last_range(done, call).first, "/process/queue/chunks 0")
            << name << ": " << call;
        EXPECT_EQ(first_and_last_range(done, call).second, last) << name << ": " << call;
      }
      const std::set<std::string> waits = ranges_with(done, "cudaStreamSynchronize");
      EXPECT_TRUE(waits.contains("/process/wait")) << name << ": nothing waits in its range";
      for (const std::string& range : waits)
        EXPECT_FALSE(range.starts_with("/process/queue")) << name << ": the queue waits";
      EXPECT_EQ(first_and_last_range(done, "cudaEventElapsedTime").second, "/process/fetch")
          << name;
    }
}

#ifdef __CPU_DEVICE__
REQUIRED_WORK(NamesOfTheStreamsThatAreUsedInTheirOrder) {
  // Kernels are recorded when they run: at once, so in the order of their launches.
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
  for (const auto& [version, name] : kSteps)
    for (const auto& [n, chunk] : {std::pair<std::size_t, std::size_t>{5000, 1024}, {100, 256}}) {
      const auto done = work_of(
          [&, version = version, n = n, chunk = chunk] { return is_right(version, n, chunk); });
      std::vector<std::uint64_t> used;
      for (const auto& k : done.kernels) {
        const auto handle = reinterpret_cast<std::uintptr_t>(k.stream);
        if (std::find(used.begin(), used.end(), handle) == used.end()) used.push_back(handle);
      }
      const bool two = version == step::two_streams && n > chunk;
      ASSERT_EQ(used.size(), two ? 2U : 1U) << name << ": streams that kernels run in";
      EXPECT_EQ(done.named_streams.size(), version == step::two_streams ? 2U : 1U) << name;
      for (std::size_t i = 0; i < used.size(); ++i) {
        const auto named = done.named_streams.find("stream " + std::to_string(i));
        ASSERT_NE(named, done.named_streams.end()) << name << ": no stream has name " << i;
        EXPECT_EQ(named->second, used[i]) << name << ": stream " << i << " is another one";
      }
    }
}
#endif

/// What is seen of a call, also of one that throws.
template <class Call>
strings ranges_in(const Call& call) {
  lab::testing::detail::recording seen;
  try {
    call();
  } catch (const lab::invalid_input&) {
  }
  return ranges_of(seen.finish());
}

REQUIRED_WORK(RangesThatEndWhateverHappens) {
  const strings only_prepare = {"[ process", "[ prepare", "]", "]"};
  const ints three = {1, 2, 3}, two = {1, 2};
  for (const auto& [version, name] : kSteps) {
    EXPECT_EQ(ranges_in([&, version = version] { process(version, {}, {}, 256); }), only_prepare)
        << name << ": no elements";
    EXPECT_EQ(ranges_in([&, version = version] { process(version, three, two, 256); }),
              only_prepare)
        << name << ": different lengths";
    EXPECT_EQ(ranges_in([&, version = version] { process(version, three, three, 100); }),
              only_prepare)
        << name << ": an impossible chunk";
    EXPECT_EQ(ranges_in([&, version = version] { process(version, three, three, 256); }),
              expected_ranges(1))
        << name << ": after the exception";
  }
}

// --- the averages --------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AveragesChunksOfAllKinds) {
  for (const std::size_t chunk : {256, 512, 1024})
    for (const std::size_t n : {0, 1, 2, 255, 256, 257, 511, 513, 1021, 1024, 1025, 2048, 3001})
      EXPECT_TRUE(is_right(version(), n, chunk, n)) << n << " elements in chunks of " << chunk;
}

TEST_P(EachStep, TakesAChunkThatIsLargerThanAnyMemory) {
  // Two chunks of the last two sizes are more elements than there are numbers for.
  constexpr std::size_t kLargest = std::numeric_limits<std::size_t>::max();
  for (const std::size_t chunk : {std::size_t{1} << 50, std::size_t{1} << 63, kLargest - 255})
    EXPECT_TRUE(is_right(version(), 700, chunk)) << "in chunks of " << chunk;
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::uint64_t seed : {3, 5, 7}) EXPECT_TRUE(is_right(version(), 2000, 512, seed));
}

TEST_P(EachStep, SaysHowLongItTook) {
  const ints some = numbers(5000, 2);
  EXPECT_TRUE(
      is_time_of(timed::everything, [&] { return process(version(), some, some, 1024).total_ms; }));
}

TEST_P(EachStep, RefusesWhatCannotBe) {
  const ints three = {1, 2, 3}, two = {1, 2};
  EXPECT_THROW(process(version(), three, two, 256), lab::invalid_input);
  EXPECT_THROW(process(version(), {}, two, 256), lab::invalid_input);
  for (const std::size_t chunk : {0, 1, 255, 257, 300})
    EXPECT_THROW(process(version(), three, three, chunk), lab::invalid_input);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFailsAndEndsAllRanges) {
  const ints a = numbers(1500, 3), b = numbers(1500, 4);
  expect_failures_reported(
      [&] { return matches(lab::compare_exact(process(version(), a, b, 256).c, reference(a, b))); },
      a, b);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device(
        [&] { return is_right(version(), kDefaultSize, kDefaultChunk); });
  });
}

// --- what the timeline says ----------------------------------------------------------------------

constexpr activity kUp = activity::copy_to_device, kKernel = activity::kernel,
                   kDown = activity::copy_to_host;

TEST(Utilization, OfTheChaptersDrawing) {
  const intervals all = {{kUp, 0, 3},     {kUp, 3, 6},       {kUp, 9, 11},  {kKernel, 3, 5},
                         {kKernel, 6, 8}, {kKernel, 11, 12}, {kDown, 5, 7}, {kDown, 12, 13}};
  EXPECT_EQ(measure(all), (utilization{13, 10, 5, 3, 1, 1, 1}));
}

TEST(Utilization, OfOneIntervalIsItsLength) {
  EXPECT_EQ(measure(intervals{{kKernel, 7, 10}}), (utilization{3, 0, 3, 0, 0, 0, 0}));
  EXPECT_EQ(measure(intervals{{kUp, 0, 10}}), (utilization{10, 10, 0, 0, 0, 0, 0}));
  EXPECT_EQ(measure(intervals{{kDown, 5, 6}}), (utilization{1, 1, 0, 0, 0, 0, 0}));
}

TEST(Utilization, OfNothingIsNothing) {
  EXPECT_EQ(measure({}), utilization{});
  EXPECT_EQ(measure(intervals{{kKernel, 5, 5}}), utilization{});
}

TEST(Utilization, CountsNoTimeTwice) {
  // Three copies up at a time, and twice the same kernel.
  const intervals all = {{kUp, 0, 10}, {kUp, 2, 12}, {kUp, 4, 6}, {kKernel, 5, 9}, {kKernel, 5, 9}};
  EXPECT_EQ(measure(all), (utilization{12, 12, 4, 4, 0, 0, 0}));
  for (const std::size_t n : {128, 256, 32'768, 65'536}) {  // which counters of 8 and 16 bits lose
    intervals many(n, interval{kKernel, 0, 5});
    many.push_back({kKernel, 3, 9});
    EXPECT_EQ(measure(many), (utilization{9, 0, 9, 0, 0, 0, 0})) << n << " at a time";
  }
}

TEST(Utilization, OfManyIntervalsAtTheSameTimeIsThatOfOne) {
  // A comparison that is not a strict one, such as <=, leads std::sort out of the vector here.
  constexpr std::int64_t kBegin = std::int64_t{1} << 62;
  const intervals all(1000, interval{kKernel, kBegin, kBegin + 5});
  EXPECT_EQ(measure(all), (utilization{5, 0, 5, 0, 0, 0, 0}));
}

TEST(Utilization, OfTouchingIntervalsHasNoOverlapAndNoIdleTime) {
  const intervals all = {{kUp, 0, 5}, {kKernel, 5, 8}, {kDown, 8, 9}};
  EXPECT_EQ(measure(all), (utilization{9, 6, 3, 0, 0, 0, 0}));
}

TEST(Utilization, KnowsTheLongestOfSeveralGaps) {
  const intervals all = {{kUp, 10, 20}, {kKernel, 23, 30}, {kKernel, 37, 40}, {kDown, 42, 50}};
  EXPECT_EQ(measure(all), (utilization{40, 18, 10, 0, 0, 12, 7}));
}

TEST(Utilization, DoesNotEndAGapAtAnEmptyInterval) {
  const intervals all = {{kUp, 0, 1}, {kKernel, 4, 4}, {kDown, 9, 10}};
  EXPECT_EQ(measure(all), (utilization{10, 2, 0, 0, 0, 8, 8}));
}

TEST(Utilization, HasASpanFromEmptyIntervalToEmptyInterval) {
  const intervals all = {{kUp, 3, 3}, {kKernel, 5, 6}, {kDown, 10, 10}};
  EXPECT_EQ(measure(all), (utilization{7, 0, 1, 0, 0, 6, 4}));
}

TEST(Utilization, TellsDirectionsApart) {
  const intervals same = {{kUp, 0, 4}, {kUp, 2, 6}}, both = {{kUp, 0, 4}, {kDown, 2, 6}};
  EXPECT_EQ(measure(same), (utilization{6, 6, 0, 0, 0, 0, 0}));
  EXPECT_EQ(measure(both), (utilization{6, 6, 0, 0, 2, 0, 0}));
}

TEST(Utilization, IsExactForLargeTimes) {
  // Nanoseconds since 1970, which a double does not tell apart.
  constexpr std::int64_t kNow = 1'790'000'000'000'000'001;
  const intervals all = {{kUp, kNow, kNow + 3}, {kKernel, kNow + 2, kNow + 5}};
  EXPECT_EQ(measure(all), (utilization{5, 3, 3, 1, 0, 0, 0}));
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(measure(intervals{{kUp, 0, 1}, {kDown, kLast - 1, kLast}}),
            (utilization{kLast, 2, 0, 0, 0, kLast - 2, kLast - 2}));
}

class EachSeed : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EachSeed, ::testing::Range<std::uint64_t>(1, 9),
                         [](const auto& test) { return "seed" + std::to_string(test.param); });

TEST_P(EachSeed, IsThatOfTheReferenceInAnyOrder) {
  // Few and many intervals, short and long ones: with gaps, and with many at a time.
  for (const std::size_t n : {2, 3, 5, 10, 40})
    for (const int longest : {0, 3, 20, 100}) {
      const ints begins = lab::random_ints(n, 10 * GetParam(), 5, 300);
      const ints lengths = lab::random_ints(n, 10 * GetParam() + 1, 0, longest);
      const ints kinds = lab::random_ints(n, 10 * GetParam() + 2, 0, 2);
      intervals all;
      for (std::size_t i = 0; i < n; ++i)
        all.push_back({static_cast<activity>(kinds[i]), begins[i], begins[i] + lengths[i]});
      const utilization expected = reference_measure(all);
      EXPECT_EQ(measure(all), expected) << n << " intervals of at most " << longest << " ns";
      std::reverse(all.begin(), all.end());
      EXPECT_EQ(measure(all), expected) << "the same, in reverse order";
    }
}

TEST(Utilization, RefusesWhatIsNoInterval) {
  EXPECT_THROW(measure(intervals{{kUp, -1, 1}}), lab::invalid_input);
  EXPECT_THROW(measure(intervals{{kUp, 5, 4}}), lab::invalid_input);
  EXPECT_THROW(measure(intervals{{kUp, 0, 1}, {kKernel, 3, 2}}), lab::invalid_input);
}

}  // namespace
