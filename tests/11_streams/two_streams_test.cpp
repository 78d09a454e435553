// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "two_streams.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::repeated;
using lab::testing::timed;
using lab::testing::work_of;
using lab::two_streams::kDefaultChunk;
using lab::two_streams::kDefaultSize;
using lab::two_streams::kGroup;
using lab::two_streams::process;
using lab::two_streams::reference;
using lab::two_streams::step;
using vector = std::vector<int>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_stream, "one_stream"},
                                 {step::depth_first, "depth_first"},
                                 {step::breadth_first, "breadth_first"}};

::testing::AssertionResult is_right(step version, const vector& a, const vector& b,
                                    std::size_t chunk) {
  return matches(lab::compare_exact(process(version, a, b, chunk).c, reference(a, b)));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(StreamsThatTakeTurns) {
  const vector a = lab::random_ints(8192, 1, -9, 900), b = lab::random_ints(8192, 2, -9, 900);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_right(version, a, b, 2048); });
    EXPECT_TRUE(as_required(
        done, {.threads = 2048 / 8,  // a thread may have several elements, a block several groups
               .blocks = 2,
               .kernels = 4,
               .streams = version == step::one_stream ? std::size_t{1} : 2,
               .calls = {"cudaMemcpyAsync", "cudaHostAlloc|cudaMallocHost|cudaHostRegister"},
               .not_called = {"cudaMemcpy"},
               .reads = 2 * bytes_of(a),
               .writes = bytes_of(a)}))
        << name;
    for (const auto& k : done.kernels)
      EXPECT_NE(k.stream, nullptr) << name << ": a kernel runs in the default stream";
    std::string queued;  // c: a copy, k: a kernel, w: the host or a stream waits
    for (const std::string& call : done.sequence)
      queued += call == "cudaMemcpyAsync"               ? "c"
                : call == "cudaLaunchKernel"            ? "k"
                : call.find("Synchronize") != call.npos ? "w"
                : call == "cudaStreamWaitEvent"         ? "w"
                                                        : "";
    queued.resize(queued.find_last_not_of('w') + 1);  // waits before and after are allowed
    queued.erase(0, queued.find_first_not_of('w'));
    EXPECT_EQ(queued, version == step::breadth_first ? "cccckkcccccckkcc" : "cckccckccckccckc")
        << name << ": the order of copies (c) and kernels (k), with no wait (w) among them";
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_right(version, lab::random_ints(n, 1, 100, 900), lab::random_ints(n, 2, 100, 900),
                      512);
    })) << name;
  }
}

REQUIRED_WORK(CopiesInTheOrderThatEachStepIsNamedFor) {
#ifdef __CPU_DEVICE__
  // A copy is done, and recorded, when it is queued.
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
#endif
  for (const std::size_t n : {1024, 1001}) {  // four chunks, the last one whole, and short
    const vector a = lab::random_ints(n, 1, 100, 900), b = lab::random_ints(n, 2, 100, 900);
    for (const auto& [version, name] : kSteps) {
      const lab::testing::work done =
          work_of([&, version = version] { return is_right(version, a, b, 256); });
      EXPECT_TRUE(as_required(done, {.threads = 256 / 4})) << name;
      std::string seen;  // A: a copy in the stream that has the first one; B: in another stream
      for (const auto& copy : done.copies)
        seen += copy.stream == done.copies.front().stream ? 'A' : 'B';
      EXPECT_EQ(seen, version == step::one_stream    ? "AAAAAAAAAAAA"
                      : version == step::depth_first ? "AAABBBAAABBB"
                                                     : "ABABABABABAB")
          << name << ": whose turn it is to copy, of " << n << " elements in chunks of 256";
    }
  }
}

REQUIRED_WORK(TwoStreamsForFewChunks) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t chunks : {2, 3}) {
      if (version == step::one_stream) continue;
      const std::size_t n = chunks * 256 - 5;
      const vector a = lab::random_ints(n, 1, 100, 900), b = lab::random_ints(n, 2, 100, 900);
      EXPECT_TRUE(
          as_required(work_of([&, version = version] { return is_right(version, a, b, 256); }),
                      {.threads = 256 / 4, .kernels = chunks, .streams = 2}))
          << name << ", " << chunks << " chunks";
    }
}

REQUIRED_WORK(AClockThatRunsWhileBothStreamsWork) {
  lab::testing::let_the_newest_stream_go_first();
  const vector a = lab::random_ints(2048, 1, -9, 900), b = lab::random_ints(2048, 2, -9, 900);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_right(version, a, b, 512); });
    const auto& all = done.in_streams;
    const auto stop = std::find_if(
        all.rbegin(), all.rend(), [](const auto& each) { return each.first == "cudaEventRecord"; });
    std::string seen;  // t: an event in the clock's stream; w: a copy or a kernel in either
    for (const auto& [call, stream] : all)
      if (call == "cudaMemcpyAsync" || call == "cudaLaunchKernel")
        seen += 'w';
      else if (call == "cudaEventRecord" && stream == stop->second)
        seen += 't';
    EXPECT_TRUE(seen.starts_with('t'))
        << name << ": a stream begins before the clock starts: " << seen;
    EXPECT_TRUE(seen.ends_with('t'))
        << name << ": a stream continues after the clock stops: " << seen;
  }
}

// --- every size, in chunks -----------------------------------------------------------------------

class Process : public ::testing::TestWithParam<std::tuple<named_step, std::size_t, std::size_t>> {
};

// Around a group (256) and around whole chunks; an odd and an even number of chunks, only one, so
// that the second stream has nothing to do, and a ragged last one in either stream.
INSTANTIATE_TEST_SUITE_P(Sizes, Process,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(256, 768),
                                            ::testing::Values(1, 2, 3, 255, 256, 257, 511, 512, 513,
                                                              767, 768, 769, 1535, 1536, 1537, 2304,
                                                              10'007)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" + "chunk" +
                                  std::to_string(std::get<1>(test.param)) + "_n" +
                                  std::to_string(std::get<2>(test.param));
                         });

TEST_P(Process, IsExact) {
  const auto& [version, chunk, n] = GetParam();
  EXPECT_TRUE(is_right(version.value, lab::random_ints(n, n + 1, 0, (1 << 20) - 1),
                       lab::random_ints(n, n + 2, 5, 1 << 19), chunk));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, EmptyVectorsGiveAnEmptyOne) {
  const auto result = process(version(), {}, {}, 256);
  EXPECT_TRUE(result.c.empty()) << "the result of empty vectors has " << result.c.size()
                                << " elements";
  EXPECT_EQ(result.total_ms, 0.0F) << "there is nothing that could take time";
}

TEST_P(EachStep, AnyIntsWillDo) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  EXPECT_TRUE(is_right(version(), vector(1000, kMost), vector(1000, kMost), 512));
  EXPECT_TRUE(is_right(version(), vector(1000, kLeast), vector(1000, kLeast), 512));
  EXPECT_TRUE(is_right(version(), lab::random_ints(3001, 7, kLeast, kMost),
                       lab::random_ints(3001, 8, kLeast, kMost), 512));
}

TEST_P(EachStep, AChunkMayBeLargerThanAnyMemory) {
  const vector a = lab::random_ints(1000, 9, 0, 99'999), b = lab::random_ints(1000, 10, 0, 99'999);
  EXPECT_TRUE(is_right(version(), a, b, std::size_t{1} << 50));
}

TEST_P(EachStep, ASecondCallSeesNothingOfTheFirst) {
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const vector a = lab::random_ints(5000, seed, 0, 1 << 20);
    EXPECT_TRUE(is_right(version(), a, lab::random_ints(5000, seed + 9, 0, 1 << 20), 1024))
        << "seed " << seed;
  }
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const vector a = lab::random_ints(999, 1, 0, 1000), b = lab::random_ints(999, 2, 0, 1000);
  const vector a_before = a, b_before = b;
  process(version(), a, b, 256);
  EXPECT_EQ(a, a_before);
  EXPECT_EQ(b, b_before);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector a(1000, 1);
  EXPECT_TRUE(
      is_time_of(timed::everything, [&] { return process(version(), a, a, 256).total_ms; }));
}

TEST_P(EachStep, GivesTheSameInChunksOfAnySize) {
  const vector a = lab::random_ints(6000, 3, 0, 1 << 20), b = lab::random_ints(6000, 4, 0, 1 << 20);
  for (const std::size_t chunk : {256, 512, 1024, 2816, 3072, 5888, 6144})
    EXPECT_TRUE(is_right(version(), a, b, chunk)) << "chunk " << chunk;
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesVectorsOfDifferentLengths) {
  const vector three(3, 1), four(4, 1), none;
  EXPECT_THROW(process(version(), three, four, 256), lab::invalid_input);
  EXPECT_THROW(process(version(), four, three, 256), lab::invalid_input);
  EXPECT_THROW(process(version(), none, four, 256), lab::invalid_input);
}

TEST_P(EachStep, RefusesAChunkThatTearsGroupsApart) {
  const vector a(1000, 1);
  for (const std::size_t chunk : {0, 1, 255, 257, 1000})
    EXPECT_THROW(process(version(), a, a, chunk), lab::invalid_input) << chunk;
  EXPECT_TRUE(is_right(version(), a, a, 256));  // and works again afterwards
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector a = lab::random_ints(1000, 1, 0, 99), b = lab::random_ints(1000, 2, 0, 99);
  expect_failures_reported([&] { return process(version(), a, b, 256).c; }, a, b);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    const vector a = lab::random_ints(1009 * kGroup, 1, 0, 1 << 20),
                 b = lab::random_ints(1009 * kGroup, 2, 5, 1 << 19);
    const auto result =
        process(version(), repeated(a, kDefaultSize), repeated(b, kDefaultSize), kDefaultChunk);
    return matches(lab::compare_exact(result.c, repeated(reference(a, b), kDefaultSize)));
  });
}

}  // namespace
