// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "copy_rates.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::copy_rates::copy;
using lab::copy_rates::direction;
using lab::copy_rates::gigabytes_per_second;
using lab::copy_rates::kDefaultSize;
using lab::copy_rates::memory;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;
using lab::testing::work_without_values;
using vector = std::vector<std::uint8_t>;

struct transfer {
  memory host_memory;
  direction dir;
  const char* name;
};
constexpr transfer kTransfers[] = {{memory::pageable, direction::to_device, "pageable_to_device"},
                                   {memory::pinned, direction::to_device, "pinned_to_device"},
                                   {memory::pageable, direction::to_host, "pageable_to_host"},
                                   {memory::pinned, direction::to_host, "pinned_to_host"}};

::testing::AssertionResult arrives(const transfer& w, const vector& bytes, unsigned copies = 1) {
  return matches(lab::compare_exact(copy(w.host_memory, w.dir, bytes, copies).arrived, bytes));
}

cudaMemcpyKind kind_of(const transfer& w) {
  return w.dir == direction::to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
}

std::size_t calls_of_cuda_memcpy(const lab::testing::work& done) {
  const auto calls = done.calls.find("cudaMemcpy");
  return calls == done.calls.end() ? 0 : calls->second;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(EveryCopyThatWasAskedFor) {
  const vector bytes = lab::random_bytes(5000, 1);
  for (const transfer& w : kTransfers) {
    const lab::testing::work done = work_of([&] { return arrives(w, bytes, 7); });
    EXPECT_TRUE(as_required(done, {.kernels = 0, .calls = {"cudaMemcpy"}})) << w.name;
    EXPECT_EQ(done.bytes_copied(kind_of(w)), 7 * bytes.size())
        << w.name << ": the bytes of 7 copies; one more to warm up, or one less, is not asked for";
    EXPECT_GE(calls_of_cuda_memcpy(done), 7U) << w.name << ": for 7 copies";
    EXPECT_EQ(done.host_memory.empty(), w.host_memory == memory::pageable) << w.name;
    EXPECT_TRUE(at_other_sizes([&](unsigned n) { return arrives(w, lab::random_bytes(n, 1), 7); },
                               {.kernels = 0, .calls = {"cudaMemcpy"}}))
        << w.name;
  }
}

REQUIRED_WORK(AsManyCopiesHoweverManyThatIs) {
  expect_at_full_size([] {
    constexpr unsigned kCopies = 20'011;
    for (const transfer& w : kTransfers) {
      const lab::testing::work done = work_without_values([&] {
        (void)copy(w.host_memory, w.dir, vector{1, 2, 3}, kCopies);
      });
      EXPECT_EQ(done.bytes_copied(kind_of(w)), 3 * kCopies)
          << w.name << ": the bytes of " << kCopies << " copies";
    }
  });
}

REQUIRED_WORK(TheMeanOfTheTimesThatEventsMeasure) {
  // In this test, events say that the first copy takes 1000 ms, the second one 3000 ms, and so on.
  for (const transfer& w : kTransfers) {
    float ms = 0;
    (void)work_without_values(
        [&] { ms = copy(w.host_memory, w.dir, vector(100, 1), 4).milliseconds; }, {1},
        {1000, 3000, 10'000, 2000});
    EXPECT_NEAR(static_cast<double>(ms), 4000, 0.01)
        << w.name << ": four copies of 1000, 3000, 10000 and 2000 ms";
  }
}

// --- every byte, at every size -------------------------------------------------------------------

class Copy : public ::testing::TestWithParam<std::tuple<transfer, std::size_t>> {};
// Around a page (4096) and around 64 KiB, below which some copies of pageable memory take another
// path; a megabyte and a bit; a prime.
INSTANTIATE_TEST_SUITE_P(Ways, Copy,
                         ::testing::Combine(::testing::ValuesIn(kTransfers),
                                            ::testing::Values(1, 2, 31, 32, 33, 255, 256, 257, 4095,
                                                              4096, 4097, 65535, 65536, 65537,
                                                              104'729, (1 << 20) + 3)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Copy, BringsEveryByte) {
  const auto& [w, n] = GetParam();
  vector bytes = lab::random_bytes(n, n + 1);
  bytes.front() = 0x5A;  // neither 0 nor 0xFF, which may be there before
  bytes.back() = 0xA5;
  EXPECT_TRUE(arrives(w, bytes));
}

class EachWay : public ::testing::TestWithParam<transfer> {};
INSTANTIATE_TEST_SUITE_P(Ways, EachWay, ::testing::ValuesIn(kTransfers),
                         [](const auto& test) { return test.param.name; });

TEST_P(EachWay, UsesTheMemoryThatWasAskedFor) {
  const auto& [host_memory, dir, name] = GetParam();
  EXPECT_EQ(copy(host_memory, dir, vector(1000, 7)).pinned, host_memory == memory::pinned);
}

TEST_P(EachWay, BringsTheSameBytesManyTimes) {
  const vector bytes = lab::random_bytes(5003, 3);
  for (const unsigned copies : {2U, 3U, 100U}) EXPECT_TRUE(arrives(GetParam(), bytes, copies));
}

TEST_P(EachWay, ForgetsThePreviousCall) {
  EXPECT_TRUE(arrives(GetParam(), vector(10'000, 0x11)));
  EXPECT_TRUE(arrives(GetParam(), vector(9'999, 0x22)));
  EXPECT_TRUE(arrives(GetParam(), lab::random_bytes(10'000, 5)));
}

TEST_P(EachWay, BringsNothingInNoTime) {
  const auto& [host_memory, dir, name] = GetParam();
  const auto r = copy(host_memory, dir, {});
  EXPECT_TRUE(r.arrived.empty());
  EXPECT_EQ(r.milliseconds, 0.0F);
}

TEST_P(EachWay, RefusesNoCopiesAtAll) {
  const auto& [host_memory, dir, name] = GetParam();
  EXPECT_THROW((void)copy(host_memory, dir, vector(10, 1), 0), lab::invalid_input);
  EXPECT_THROW((void)copy(host_memory, dir, {}, 0), lab::invalid_input);
  EXPECT_TRUE(arrives(GetParam(), vector(10, 1)));  // and goes on
}

TEST_P(EachWay, LeavesItsInputAlone) {
  const auto& [host_memory, dir, name] = GetParam();
  const vector bytes = lab::random_bytes(2000, 8), before = bytes;
  (void)copy(host_memory, dir, bytes, 3);
  EXPECT_EQ(bytes, before);
}

TEST_P(EachWay, GivesTheTimeOfOneCopy) {
  // All of them together took no longer than the whole call. The hundredth allows for the two
  // clocks, which are not the same.
  const auto& [host_memory, dir, name] = GetParam();
  const vector bytes(300'000, 1);
  constexpr unsigned kCopies = 200;
  const lab::host_timer clock;
  const double one = static_cast<double>(copy(host_memory, dir, bytes, kCopies).milliseconds);
  EXPECT_GT(one, 0);
  EXPECT_LE(kCopies * one, 1.01 * clock.milliseconds())
      << "the " << kCopies << " copies would take longer than the whole call did: are these the "
      << "milliseconds of one copy?";
}

// --- the rate ------------------------------------------------------------------------------------

void expect_rate(std::size_t bytes, double milliseconds, double expected) {
  // Three divisions, each off by 2^-53 at most; 1e-14 is 90 of these.
  EXPECT_TRUE(matches(
      lab::compare(gigabytes_per_second(bytes, milliseconds), expected, lab::tolerance{0, 1e-14})));
}

TEST(Rate, IsInBillionsOfBytesASecond) {
  expect_rate(1'000'000'000, 1000, 1);
  expect_rate(1'000'000, 1, 1);
  expect_rate(3'500'000, 0.5, 7);
  expect_rate(1, 1e-6, 1);
  expect_rate(std::size_t{40} << 20, 8, 5.24288);           // the book's 40 MiB
  expect_rate(std::size_t{1} << 46, 1e6, 70.368744177664);  // more than 32 bits hold
}

TEST(Rate, IsNothingForNoBytesOrNoTime) {
  EXPECT_EQ(gigabytes_per_second(0, 5), 0);
  EXPECT_EQ(gigabytes_per_second(5, 0), 0);
  EXPECT_EQ(gigabytes_per_second(0, 0), 0);
  EXPECT_EQ(gigabytes_per_second(5, -1), 0);
  // What a clock gives that was not started: it is not above 0 either.
  EXPECT_EQ(gigabytes_per_second(5, std::numeric_limits<double>::quiet_NaN()), 0);
}

// --- only a GPU shows ----------------------------------------------------------------------------

double median_ms(memory host_memory, direction dir, const vector& bytes) {
  std::vector<float> times;
  for (int i = 0; i < 11; ++i) times.push_back(copy(host_memory, dir, bytes, 4).milliseconds);
  return lab::summarize(times).median_ms;
}

class OnAGpu : public ::testing::TestWithParam<direction> {};
INSTANTIATE_TEST_SUITE_P(Direction, OnAGpu,
                         ::testing::Values(direction::to_device, direction::to_host),
                         [](const auto& test) {
                           return test.param == direction::to_device ? "to_device" : "to_host";
                         });

TEST_P(OnAGpu, PinnedIsNotSlowerThanPageable) {
  if (lab::on_cpu_device()) GTEST_SKIP() << "on the CPU device all host memory is the same";
  int integrated = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&integrated, cudaDevAttrIntegrated, 0), cudaSuccess);
  if (integrated != 0) GTEST_SKIP() << "this GPU uses the host's memory chips";
  const vector bytes(std::size_t{40} << 20, 1);
  // A tenth for machines on which they are equally fast.
  EXPECT_LE(median_ms(memory::pinned, GetParam(), bytes),
            1.1 * median_ms(memory::pageable, GetParam(), bytes));
}

FAULT_TEST_P(EachWay, ReportsEveryCallThatFails) {
  const vector bytes = {1, 2, 3, 5, 8};
  const transfer w = GetParam();
  expect_failures_reported([&] { return copy(w.host_memory, w.dir, bytes, 2).arrived; }, bytes);
}

TEST_P(EachWay, BringsEveryByteAtTheProgramsSize) {
  expect_at_full_size([&] { return arrives(GetParam(), lab::random_bytes(kDefaultSize, 1)); });
}

}  // namespace
