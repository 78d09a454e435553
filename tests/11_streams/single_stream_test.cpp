// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "single_stream.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include "fault_tests.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"

namespace {

using lab::single_stream::process;
using lab::single_stream::reference;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using vector = std::vector<int>;

/// When the CPU device does asynchronous work: at once, or as late as CUDA allows. A GPU does as
/// it likes.
enum class when { at_once, late };
#ifdef __CPU_DEVICE__
constexpr when kWhen[] = {when::at_once, when::late};
#else
constexpr when kWhen[] = {when::at_once};
#endif

std::string name_of(when w) { return w == when::late ? "late" : "at_once"; }

class runs_work {
 public:
  explicit runs_work([[maybe_unused]] when w) {
#ifdef __CPU_DEVICE__
    using cpu_device::stream_policy;
    cpu_device::set_stream_policy(w == when::late ? stream_policy::deferred : stream_policy::eager);
#endif
  }
  ~runs_work() {
#ifdef __CPU_DEVICE__
    cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
#endif
  }
  runs_work(const runs_work&) = delete;
  runs_work& operator=(const runs_work&) = delete;
};

::testing::AssertionResult is_right(const vector& a, const vector& b, std::size_t chunk) {
  return matches(lab::compare_exact(process(a, b, chunk).c, reference(a, b)));
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

class Process : public ::testing::TestWithParam<std::tuple<when, std::size_t, std::size_t>> {};

// Around a group (256) and around whole chunks; one chunk, many, and a ragged last one that ends
// within a group.
INSTANTIATE_TEST_SUITE_P(Sizes, Process,
                         ::testing::Combine(::testing::ValuesIn(kWhen),
                                            ::testing::Values(256, 768, 4096),
                                            ::testing::Values(1, 2, 3, 255, 256, 257, 767, 768, 769,
                                                              1537, 4095, 4096, 4097, 10'007)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) + "_chunk" +
                                  std::to_string(std::get<1>(test.param)) + "_n" +
                                  std::to_string(std::get<2>(test.param));
                         });

TEST_P(Process, IsExact) {
  const auto& [w, chunk, n] = GetParam();
  const runs_work policy(w);
  EXPECT_TRUE(is_right(lab::random_ints(n, n + 1, 0, (1 << 20) - 1),
                       lab::random_ints(n, n + 2, 5, 1 << 19), chunk));
}

class When : public ::testing::TestWithParam<when> {};
INSTANTIATE_TEST_SUITE_P(Work, When, ::testing::ValuesIn(kWhen),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(When, EmptyVectorsGiveAnEmptyOne) {
  const runs_work policy(GetParam());
  EXPECT_TRUE(process({}, {}, 256).c.empty());
}

TEST_P(When, AnyIntsWillDo) {
  const runs_work policy(GetParam());
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  EXPECT_TRUE(is_right(vector(1000, kMost), vector(1000, kMost), 512));
  EXPECT_TRUE(is_right(vector(1000, kLeast), vector(1000, kLeast), 512));
  EXPECT_TRUE(is_right(lab::random_ints(3001, 7, kLeast, kMost),
                       lab::random_ints(3001, 8, kLeast, kMost), 512));
}

TEST_P(When, AChunkMayBeLargerThanAnyMemory) {
  const runs_work policy(GetParam());
  const vector a = lab::random_ints(1000, 9, 0, 99'999), b = lab::random_ints(1000, 10, 0, 99'999);
  EXPECT_TRUE(is_right(a, b, std::size_t{1} << 50));
}

TEST_P(When, ASecondCallSeesNothingOfTheFirst) {
  const runs_work policy(GetParam());
  for (std::uint64_t seed = 1; seed < 5; ++seed) {
    const vector a = lab::random_ints(5000, seed, 0, 1 << 20);
    EXPECT_TRUE(is_right(a, lab::random_ints(5000, seed + 9, 0, 1 << 20), 1024)) << "seed " << seed;
  }
}

TEST_P(When, LeavesItsInputAlone) {
  const runs_work policy(GetParam());
  const vector a = lab::random_ints(999, 1, 0, 1000), b = lab::random_ints(999, 2, 0, 1000);
  const vector a_before = a, b_before = b;
  process(a, b, 256);
  EXPECT_EQ(a, a_before);
  EXPECT_EQ(b, b_before);
}

TEST_P(When, SaysHowLongItTook) {
  const runs_work policy(GetParam());
  const vector a(1000, 1);
  const float milliseconds = process(a, a, 256).total_ms;
  EXPECT_GT(milliseconds, 0.0F);
  EXPECT_LT(milliseconds, 60'000.0F);
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

}  // namespace
