// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "single_stream.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::single_stream::kDefaultChunk;
using lab::single_stream::kDefaultSize;
using lab::single_stream::kGroup;
using lab::single_stream::process;
using lab::single_stream::reference;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::repeated;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<int>;

::testing::AssertionResult is_right(const vector& a, const vector& b, std::size_t chunk) {
  return matches(lab::compare_exact(process(a, b, chunk).c, reference(a, b)));
}

// --- who does the work ---------------------------------------------------------------------------

void expect_chunks_in_one_stream(std::size_t n, std::size_t chunk) {
  SCOPED_TRACE(std::to_string(n) + " elements in chunks of " + std::to_string(chunk));
  const vector a = lab::random_ints(n, 1, 100, 900), b = lab::random_ints(n, 2, 100, 900);
  const lab::testing::work done = work_of([&] { return is_right(a, b, chunk); });
  const std::size_t most = std::min(n, chunk);  // in a chunk
  ASSERT_TRUE(as_required(
      done,
      {.threads = std::clamp<std::size_t>(most / 8, 1, 256),  // may have several elements each
       .blocks = most < 2048 ? 1U : 2U,
       .kernels = (n + chunk - 1) / chunk,
       .calls = {"cudaMemcpyAsync", "cudaHostAlloc|cudaMallocHost|cudaHostRegister",
                 "cudaStreamCreate|cudaStreamCreateWithFlags|"
                 "cudaStreamCreateWithPriority"},
       .not_called = {"cudaMemcpy"},
       .reads = 2 * bytes_of(a),
       .writes = bytes_of(a)}));
  EXPECT_EQ(done.streams(), 1U);
  for (const auto& k : done.kernels)
    EXPECT_NE(k.stream, nullptr) << "a kernel runs in the default stream";
  for (const auto& c : done.copies) {
    EXPECT_EQ(c.stream, done.kernels.at(0).stream) << "a copy is not in the kernels' stream";
    const std::size_t most_vectors = c.kind == cudaMemcpyHostToDevice ? 2 : 1;  // a and b at once
    EXPECT_LE(c.bytes, most_vectors * chunk * sizeof(int)) << "one copy has more than a chunk";
  }
  for (const std::size_t bytes : done.device_memory) EXPECT_LE(bytes, 3 * chunk * sizeof(int));
  EXPECT_EQ(done.not_accessed, 0U) << "a kernel reads the host's memory instead of what was copied";
  EXPECT_EQ(lab::testing::waits_between_launches(done), "")
      << "the host waits before all chunks are queued";
}

REQUIRED_WORK(ChunksInOneStream) {
  for (const auto& [n, chunk] : {std::pair<std::size_t, std::size_t>{8000, 2048},
                                 {1, 512},
                                 {3, 256},
                                 {40, 512},
                                 {513, 512},
                                 {70'001, 1 << 16},
                                 {5000, 1 << 20}})
    expect_chunks_in_one_stream(n, chunk);
}

REQUIRED_WORK(AKernelForEachOfManyChunks) {
  // More of them than a host may want to have in the queue, and one element in the last one.
  constexpr std::size_t kWhole = 300;
  const vector a = lab::random_ints(kWhole * kGroup + 1, 3, -9, 900),
               b = lab::random_ints(kWhole * kGroup + 1, 4, -9, 900);
  const lab::testing::work done = work_of([&] { return is_right(a, b, kGroup); });
  ASSERT_TRUE(as_required(
      done,
      {.threads = 32, .kernels = kWhole + 1, .reads = 2 * bytes_of(a), .writes = bytes_of(a)}));
  EXPECT_EQ(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes_of(a));
  EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToHost), bytes_of(a));
  EXPECT_EQ(lab::testing::waits_between_launches(done), "")
      << "the host waits before all chunks are queued";
}

// --- what the reference says, by hand ------------------------------------------------------------

TEST(Reference, AveragesThreeAroundTheGroup) {
  // 0 + 3 + 6, 3 + 6 + 30, 6 + 30 + 0, 30 + 0 + 3: divided by 3, then halved with a b of 0.
  EXPECT_EQ(reference(vector{0, 3, 6, 30}, vector(4, 0)), (vector{1, 6, 6, 5}));
  EXPECT_EQ(reference(vector{5}, vector{9}), vector{7});
  EXPECT_EQ(reference(vector{3, 9}, vector{0, 0}), (vector{2, 3}));  // 3 + 9 + 3, 9 + 3 + 9
}

TEST(Reference, DoesNotLookBeyondTheGroup) {
  vector a(257, 0);
  a[256] = 900;
  const vector c = reference(a, vector(257, 0));
  EXPECT_EQ(c[254], 0);
  EXPECT_EQ(c[255], 0);
  EXPECT_EQ(c[256], 450);
}

// --- every size, in chunks -----------------------------------------------------------------------

class Process : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

// Around a group (256) and around whole chunks; one chunk, many, and a ragged last one that ends
// within a group.
INSTANTIATE_TEST_SUITE_P(Sizes, Process,
                         ::testing::Combine(::testing::Values(256, 768, 4096),
                                            ::testing::Values(1, 2, 3, 255, 256, 257, 767, 768, 769,
                                                              1537, 4095, 4096, 4097, 10'007)),
                         [](const auto& test) {
                           return "chunk" + std::to_string(std::get<0>(test.param)) + "_n" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Process, IsExact) {
  const auto& [chunk, n] = GetParam();
  EXPECT_TRUE(is_right(lab::random_ints(n, n + 1, 0, (1 << 20) - 1),
                       lab::random_ints(n, n + 2, 5, 1 << 19), chunk));
}

TEST(SingleStream, EmptyVectorsGiveAnEmptyOne) { EXPECT_TRUE(process({}, {}, 256).c.empty()); }

TEST(SingleStream, AnyIntsWillDo) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  EXPECT_TRUE(is_right(vector(1000, kMost), vector(1000, kMost), 512));
  EXPECT_TRUE(is_right(vector(1000, kLeast), vector(1000, kLeast), 512));
  EXPECT_TRUE(is_right(lab::random_ints(3001, 7, kLeast, kMost),
                       lab::random_ints(3001, 8, kLeast, kMost), 512));
}

TEST(SingleStream, AChunkMayBeLargerThanAnyMemory) {
  const vector a = lab::random_ints(1000, 9, 0, 99'999), b = lab::random_ints(1000, 10, 0, 99'999);
  EXPECT_TRUE(is_right(a, b, std::size_t{1} << 50));
}

TEST(SingleStream, ASecondCallSeesNothingOfTheFirst) {
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const vector a = lab::random_ints(5000, seed, 0, 1 << 20);
    EXPECT_TRUE(is_right(a, lab::random_ints(5000, seed + 9, 0, 1 << 20), 1024)) << "seed " << seed;
  }
}

TEST(SingleStream, LeavesItsInputAlone) {
  const vector a = lab::random_ints(999, 1, 0, 1000), b = lab::random_ints(999, 2, 0, 1000);
  const vector a_before = a, b_before = b;
  process(a, b, 256);
  EXPECT_EQ(a, a_before);
  EXPECT_EQ(b, b_before);
}

TEST(SingleStream, SaysHowLongItTook) {
  const vector a(1000, 1);
  EXPECT_TRUE(is_time_of(timed::everything, [&] { return process(a, a, 256).total_ms; }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Refusal, OfVectorsOfDifferentLengths) {
  const vector three(3, 1), four(4, 1), none;
  EXPECT_THROW(process(three, four, 256), lab::invalid_input);
  EXPECT_THROW(process(four, three, 256), lab::invalid_input);
  EXPECT_THROW(process(none, four, 256), lab::invalid_input);
}

TEST(Refusal, OfAChunkThatTearsGroupsApart) {
  const vector a(1000, 1);
  for (const std::size_t chunk : {0, 1, 255, 257, 1000})
    EXPECT_THROW(process(a, a, chunk), lab::invalid_input) << chunk;
  EXPECT_TRUE(is_right(a, a, 256));  // and works again afterwards
}

FAULT_TEST(Refusal, OfEveryCallThatFails) {
  const vector a = lab::random_ints(1000, 1, 0, 99), b = lab::random_ints(1000, 2, 0, 99);
  expect_failures_reported([&] { return process(a, b, 256).c; }, a, b);
}

::testing::AssertionResult is_right_at(std::size_t n, std::size_t chunk) {
  const vector a = lab::random_ints(1009 * kGroup, 1, 0, 1 << 20),
               b = lab::random_ints(1009 * kGroup, 2, 5, 1 << 19);
  return matches(lab::compare_exact(process(repeated(a, n), repeated(b, n), chunk).c,
                                    repeated(reference(a, b), n)));
}

TEST(SingleStream, IsExactAtTheProgramsSize) {
  expect_at_full_size([] { return is_right_at(kDefaultSize, kDefaultChunk); });
}

TEST(SingleStream, IsExactInAChunkOfManyBlocks) {
  constexpr std::size_t kMany = lab::testing::kManyBlocks * kGroup;
  expect_at_full_size([] { return is_right_at(kMany, kMany); });
}

}  // namespace
