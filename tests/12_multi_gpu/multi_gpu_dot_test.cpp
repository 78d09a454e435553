// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "multi_gpu_dot.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "full_device.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::multi_gpu_dot::dot;
using lab::multi_gpu_dot::split;
using lab::multi_gpu_dot::step;
using lab::testing::bytes_of;
using lab::testing::current_device;
using lab::testing::finish_before_the_end;
using lab::testing::full_device;
using lab::testing::is_time_with;
using lab::testing::is_time_without;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;
using shares = std::vector<double>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::thread_per_device, "thread_per_device"},
                                 {step::one_thread, "one_thread"},
                                 {step::staged, "staged"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b,
                                    const shares& speeds = {}) {
  return matches(
      lab::compare(dot(version, a, b, speeds).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(PiecesFromPinnedMemoryOnEveryDevice) {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  const auto count = static_cast<std::size_t>(devices);
  // Several pieces for each device, whatever size they have.
  const std::size_t n = count * 700'000;
  const vector a = whole_numbers(n, 1, -2, 2), b = whole_numbers(n, 2, -1, 1);
  const auto done = work_of([&] { return is_exact(step::staged, a, b); });
  EXPECT_TRUE(as_required(done, {.threads = 1024,
                                 .blocks = 2,
                                 .kernels = 2 * count,
                                 .sent = 2 * bytes_of(a),
                                 .streams = 2 * count,
                                 .devices = count,
                                 .calls = {"cudaHostAlloc|cudaMallocHost", "cudaMemcpyAsync"}}))
      << "staged";
  std::size_t largest = 0;
  for (const auto& copy : done.copies)
    if (copy.kind == cudaMemcpyHostToDevice) largest = std::max(largest, copy.bytes);
  EXPECT_LT(largest, bytes_of(a) / count)
      << "staged: one copy had a device's whole part, and not a piece of it";
}

REQUIRED_WORK(AKernelOnEveryDevice) {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  const auto count = static_cast<std::size_t>(devices);
  const vector a = whole_numbers(60'011, 1, -9, 14), b = whole_numbers(60'011, 2, -4, 5);
  for (const auto& [version, name] : kSteps) {
    const bool one = version == step::one_thread;
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, {.threads = 1024,
                                   .blocks = 4,
                                   .kernels = count,
                                   .sent = 2 * bytes_of(a),
                                   .fetched = count * sizeof(float),
                                   .streams = one ? count : 1,
                                   .devices = count,
                                   .reads = 2 * bytes_of(a),
                                   .shared_memory = true}))
        << name;
    EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes_of(a))
        << name << ": a device got more than its part";
    if (one) {
      EXPECT_EQ(done.host_threads, 1U) << name;
      EXPECT_EQ(lab::testing::waits_between_launches(done), "") << name;
    } else {
      EXPECT_GE(done.host_threads, count) << name;
    }
  }
}

REQUIRED_WORK(AKernelOnEveryDeviceHoweverSmallItsPartIs) {
  const auto count = static_cast<std::size_t>(lab::device_count());
  for (const auto& [version, name] : kSteps)
    for (const std::size_t n : {std::size_t{1}, count, std::size_t{40}, std::size_t{1001}}) {
      if (n != 1 && n < count) continue;  // some devices would have nothing
      const std::size_t parts = n == 1 ? 1 : count;
      const vector a = whole_numbers(n, 1, 1, 4), b = whole_numbers(n, 2, 1, 4);
      const auto done = work_of([&, version = version] { return is_exact(version, a, b); });
      lab::testing::required each = {.threads = 1,
                                     .kernels = parts,
                                     .sent = 2 * bytes_of(a),
                                     .fetched = parts * sizeof(float),
                                     .streams = version == step::one_thread ? parts : 1,
                                     .devices = parts,
                                     .reads = 2 * bytes_of(a)};
      if (version == step::staged) each.calls = {"cudaHostAlloc|cudaMallocHost", "cudaMemcpyAsync"};
      EXPECT_TRUE(as_required(done, each)) << name << ", n = " << n;
      EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes_of(a)) << name;
      if (version == step::one_thread) {
        EXPECT_EQ(done.host_threads, 1U) << name;
        EXPECT_EQ(lab::testing::waits_between_launches(done), "") << name;
      } else {
        EXPECT_GE(done.host_threads, parts) << name;
      }
      for (const auto& copy : done.copies)
        EXPECT_TRUE(version != step::staged || copy.kind != cudaMemcpyHostToDevice || copy.pinned)
            << name << ": a piece comes from pageable memory";
    }
}

REQUIRED_WORK(NothingForDevicesWithoutElements) {
  if (lab::device_count() < 2) GTEST_SKIP() << "this needs two devices, but there is only one";
  const vector a = whole_numbers(1000, 1, -9, 14), b = whole_numbers(1000, 2, -4, 5);
  // Memory, streams and events.
  const auto made = [&](step version, const shares& speeds) {
    unsigned count = 0;
    const auto done = work_of([&] { return is_exact(version, a, b, speeds); });
    EXPECT_TRUE(as_required(done, {}));
    for (const auto& [name, calls] : done.calls)
      if (name.find("Create") != name.npos || name.find("lloc") != name.npos) count += calls;
    return count;
  };
  for (const auto& [version, name] : kSteps)
    EXPECT_EQ(made(version, {1, 0}), made(version, {1}))
        << name << ": allocations, streams and events, with and without a device that has no share";
}

// --- the cuts ------------------------------------------------------------------------------------

class Split : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Sizes, Split,
                         ::testing::Values(0, 1, 2, 3, 7, 10, 1000, 1'000'007, std::size_t{1} << 40,
                                           (std::size_t{1} << 40) + 1),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Split, GivesEveryElementToOnePartInProportion) {
  const std::size_t n = GetParam();
  for (const shares& speeds :
       {shares{1}, shares{1, 1}, shares{1, 1, 1}, shares(7, 1.0), shares(16, 0.1), shares{1, 3},
        shares{0.1, 0.2, 0.7}, shares{0, 1}, shares{1, 0}, shares{0, 2, 0, 0, 1, 0},
        shares{1e-300, 1e300}, shares{1.2, 0.1, 0}, shares{5, 4, 3, 2, 1}}) {
    double all = 0;
    for (const double share : speeds) all += share;
    const std::vector<std::size_t> cuts = split(n, speeds);
    ASSERT_EQ(cuts.size(), speeds.size() + 1);
    EXPECT_EQ(cuts.front(), 0U);
    EXPECT_EQ(cuts.back(), n);
    for (std::size_t k = 0; k < speeds.size(); ++k) {
      ASSERT_LE(cuts[k], cuts[k + 1]);
      const auto part = static_cast<double>(cuts[k + 1] - cuts[k]);
      const double exact = static_cast<double>(n) * (speeds[k] / all);
      // Two cuts, each rounded down: less than 1 apart from the exact part. The quotients in
      // double are off by a few 2^-53 of n, which matters only for the largest n here.
      EXPECT_LT(std::fabs(part - exact), 1 + 0x1p-49 * static_cast<double>(n))
          << "part " << k << " of " << speeds.size();
      if (speeds[k] == 0) {
        EXPECT_EQ(part, 0);
      }
    }
  }
}

TEST(SplitOfShares, IsExactWherePartsAreWholeNumbers) {
  // In double, k * (1 / k) is less than 1 for these.
  for (const int all : {49, 98, 103, 107})
    for (int first = 1; first < all; ++first) {
      const auto n = static_cast<std::size_t>(3 * all);
      const std::vector<std::size_t> expected = {0, static_cast<std::size_t>(3 * first), n};
      EXPECT_EQ(split(n, shares{static_cast<double>(first), static_cast<double>(all - first)}),
                expected)
          << first << " of " << all;
      EXPECT_EQ(split(static_cast<std::size_t>(all),
                      shares{static_cast<double>(first), static_cast<double>(all - first)})[1],
                static_cast<std::size_t>(first))
          << first << " of " << all;
    }
}

TEST(SplitOfShares, TakesTheLargestAndTheSmallestShares) {
  const std::vector<std::size_t> expected = {0, 25, 100};
  EXPECT_EQ(split(100, shares{1e307, 3e307}), expected);
  EXPECT_EQ(split(100, shares{1e-300, 3e-300}), expected);
}

TEST(SplitOfShares, RefusesWhatCannotBeShared) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const shares& speeds :
       {shares{}, shares{0}, shares{0, 0}, shares{-1}, shares{2, -1}, shares{nan, 1},
        shares{1, nan}, shares{infinity, 1}, shares{1, -1e-3, 1}, shares{1e308, 1e308}})
    EXPECT_THROW(split(10, speeds), lab::invalid_input);
}

// --- the devices ---------------------------------------------------------------------------------

#ifdef __CPU_DEVICE__
TEST(Devices, AreAsManyAsThisTestAskedFor) {
  EXPECT_EQ(lab::device_count(), std::atoi(std::getenv("CPU_DEVICE_COUNT")));
}
#endif

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// No elements, fewer than devices, as many, and one more; around a block; odd and prime sizes.
INSTANTIATE_TEST_SUITE_P(Steps, Dot,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 33, 255, 256, 257,
                                                              511, 513, 1021, 4097, 33 * 1024,
                                                              33 * 1024 + 1)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactOnOneTwoThreeAndAllDevices) {
  const auto& [version, n] = GetParam();
  // At most 33 * 1024 + 1 products of at most 14 * 29: below 2^24 in every order.
  const vector a = whole_numbers(n, n + 1, -9, 14), b = whole_numbers(n, n + 2, 1, 29);
  EXPECT_TRUE(is_exact(version.value, a, b));
  for (std::size_t devices = 1; devices <= static_cast<std::size_t>(lab::device_count()); ++devices)
    EXPECT_TRUE(is_exact(version.value, a, b, shares(devices, 1.0))) << devices << " devices";
}

TEST_P(Dot, IsWithinTheBoundForRandomNumbersAndUnevenSpeeds) {
  const auto& [version, n] = GetParam();
  const vector a = lab::random_floats(n, n + 3, -1, 1);
  const vector b = lab::random_floats(n, n + 4, -100, 300);
  shares speeds;
  for (int device = 0; device < lab::device_count(); ++device) {
    speeds.push_back(1.5 * device + 0.25);
    EXPECT_TRUE(
        matches(lab::compare(dot(version.value, a, b, speeds).value, lab::dot_in_double(a, b),
                             {.absolute = lab::dot_error_bound(a, b)})))
        << speeds.size() << " devices";
  }
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b).value; }
  double bound(const vector& a, const vector& b) const { return lab::dot_error_bound(a, b); }
  static std::size_t most() { return 1'000'007; }
  // The CPU device has 16 MiB for each device here: see full_device.hpp.
  static std::size_t full_size() {
    return lab::on_cpu_device() ? 5'000'011 : lab::multi_gpu_dot::kDefaultSize;
  }
  static lab::testing::required full_work() {
    const auto devices = static_cast<std::size_t>(lab::device_count());
    return {.threads = 1024, .kernels = devices, .devices = devices};
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, RefusesMoreSharesThanDevices) {
  const vector ones(10, 1.0F);
  const shares too_many(static_cast<std::size_t>(lab::device_count()) + 1, 1.0);
  EXPECT_THROW(dot(version(), ones, ones, too_many), lab::invalid_input);
  EXPECT_THROW(dot(version(), ones, ones, shares{-1}), lab::invalid_input);
}

TEST_P(EachStep, EveryDeviceCanDoItAlone) {
  const vector a = whole_numbers(3001, 5, -9, 14), b = whole_numbers(3001, 6, 1, 29);
  for (int device = 0; device < lab::device_count(); ++device) {
    shares alone(static_cast<std::size_t>(device) + 1, 0.0);
    alone.back() = 1;
    EXPECT_TRUE(is_exact(version(), a, b, alone)) << "device " << device;
  }
}

TEST_P(EachStep, ReadsNothingBehindTheEndInItsLastRound) {
  // A thread adds four products at a time, a stride of the grid apart, while all four are there.
  // If they just are, or just are not, a comparison with <= reads one element too many.
  const std::size_t stride =
      std::size_t{8} * 256 * lab::device_limit(cudaDevAttrMultiProcessorCount);
  for (const std::size_t n : {3 * stride, 3 * stride + 1, 4 * stride - 1, 4 * stride,
                              4 * stride + 1, 7 * stride, 8 * stride - 1})
    EXPECT_TRUE(
        is_exact(version(), whole_numbers(n, 1, -3, 4), whole_numbers(n, 2, -1, 1), shares{1}))
        << n << " elements";
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(100'000, 1.0F);
  const auto result = dot(version(), ones, ones);
  EXPECT_GT(result.kernel_ms, 0.0F);
  EXPECT_GT(result.total_ms, 0.9F * result.kernel_ms);  // the clocks may differ a little
  EXPECT_LT(result.total_ms, 60'000.0F);
}

TEST_P(EachStep, NothingTakesNoTimeOnAnyDevice) {
  EXPECT_EQ(dot(version(), {}, {}).kernel_ms, 0.0F);
}

TEST_P(EachStep, KeepsTheCurrentDevice) {
  const vector ones(1000, 1.0F);
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_EQ(dot(version(), ones, ones).value, 1000.0F);
    EXPECT_EQ(current_device(), device);
  }
}

// A device whose memory is full shows whether it is given work: if so, it must fail. (Not in step
// staged, which needs room for a few pieces only.)

class InDeviceMemory : public lab::testing::each_step<named_step> {};
INSTANTIATE_TEST_SUITE_P(Steps, InDeviceMemory, ::testing::Values(kSteps[0], kSteps[1]),
                         lab::testing::by_step);

TEST_P(InDeviceMemory, GivesEveryDeviceItsPartAndCarriesItsErrorToTheCaller) {
  const auto devices = static_cast<std::size_t>(lab::device_count());
  const std::size_t n = lab::testing::size_that_fits_once() * devices;
  const vector a(n, 1.0F), b(n, 1.0F);
  EXPECT_EQ(dot(version(), vector(100, 1.0F), vector(100, 1.0F)).value, 100.0F);
  for (int device = 0; device < lab::device_count(); ++device) {
    const full_device full(device);
    const on_device here(lab::device_count() - 1 - device);
    try {
      dot(version(), a, b);
      ADD_FAILURE() << "device " << device << " has no room for its part: who worked on it?";
    } catch (const lab::cuda_error& error) {
      EXPECT_EQ(error.code(), cudaErrorMemoryAllocation) << error.what();
    }
    EXPECT_EQ(current_device(), lab::device_count() - 1 - device) << "after the exception";
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(dot(version(), vector(100, 1.0F), vector(100, 1.0F)).value, 100.0F) << "afterwards";
}

TEST_P(InDeviceMemory, LeavesDevicesWithoutAShareAlone) {
  if (lab::device_count() < 2) GTEST_SKIP() << "this needs two devices, but there is only one";
  const std::size_t n = lab::testing::size_that_fits_once();
  const vector a(n, 1.0F), b(n, 1.0F);
  const shares first{1, 0}, second{0, 1};
  EXPECT_EQ(dot(version(), vector(100, 1.0F), vector(100, 1.0F)).value, 100.0F);
  {
    const full_device full(1);
    EXPECT_EQ(dot(version(), a, b, first).value, static_cast<float>(n));
    EXPECT_THROW(dot(version(), a, b, second), lab::cuda_error);
  }
  {
    const full_device full(0);
    EXPECT_EQ(dot(version(), a, b, second).value, static_cast<float>(n));
    EXPECT_THROW(dot(version(), a, b, first), lab::cuda_error);
  }
}

// Copies from pinned memory do not wait for anything: only their place in the right stream says
// that they come before the kernel. (A copy from other memory may be over when the call returns.)

lab::pinned_buffer<float> pinned(const vector& values) {
  lab::pinned_buffer<float> buffer(values.size(), cudaHostAllocPortable);
  std::ranges::copy(values, buffer.data());
  return buffer;
}

::testing::AssertionResult is_exact_from_pinned_memory(step version) {
  const vector a = whole_numbers(3001, 7, -9, 14), b = whole_numbers(3001, 8, 1, 29);
  const auto pinned_a = pinned(a), pinned_b = pinned(b);
  return matches(lab::compare(dot(version, pinned_a.span(), pinned_b.span()).value,
                              lab::dot_in_double(a, b), lab::tolerance{}));
}

TEST_P(EachStep, MultipliesVectorsInPinnedMemory) {
  EXPECT_TRUE(is_exact_from_pinned_memory(version()));
}

#ifdef __CPU_DEVICE__

TEST_P(EachStep, CountsWhatMovesTheDataInTheTotalAndNoAllocations) {
  // On one device, and in one piece: other threads may work at the same time.
  const vector a = whole_numbers(3001, 1, -9, 14), b = whole_numbers(3001, 2, 1, 29);
  const auto total_ms = [&] { return dot(version(), a, b, shares{1}).total_ms; };
  EXPECT_TRUE(is_time_with(lab::testing::kCopies, total_ms));
  EXPECT_TRUE(is_time_with("cudaLaunchKernel", total_ms));
  EXPECT_TRUE(is_time_without(lab::testing::kAllocations, total_ms));
}

/// Kernels run as late as CUDA allows: when the host waits for them.
class Late : public ::testing::TestWithParam<named_step> {
 protected:
  Late() { cpu_device::set_stream_policy(cpu_device::stream_policy::deferred); }
  ~Late() override { cpu_device::set_stream_policy(cpu_device::stream_policy::eager); }
};
INSTANTIATE_TEST_SUITE_P(Steps, Late, ::testing::ValuesIn(kSteps),
                         [](const auto& test) { return test.param.name; });

TEST_P(Late, TheSumsAreReadWhenTheyAreThere) {
  EXPECT_TRUE(
      is_exact(GetParam().value, whole_numbers(3001, 1, -9, 14), whole_numbers(3001, 2, 1, 29)));
}

TEST_P(Late, TheKernelComesAfterTheCopiesFromPinnedMemory) {
  EXPECT_TRUE(is_exact_from_pinned_memory(GetParam().value));
  cpu_device::set_stream_policy(cpu_device::stream_policy::interleaved);
  EXPECT_TRUE(is_exact_from_pinned_memory(GetParam().value));
}

TEST_P(Late, AThreadPerDeviceOrTheCallersDoesTheWork) {
  // The CPU device does what was put off in the thread that waits for it. Here that is a note in
  // the default stream, which the first copy or memset on device 0 has to wait for.
  std::thread::id thread_id;
  const finish_before_the_end finish;
  const auto note = [](void* to) {
    *static_cast<std::thread::id*>(to) = std::this_thread::get_id();
  };
  ASSERT_EQ(cudaLaunchHostFunc(nullptr, note, &thread_id), cudaSuccess);
  const vector ones(1000, 1.0F);
  EXPECT_EQ(dot(GetParam().value, ones, ones).value, 1000.0F);
  ASSERT_NE(thread_id, std::thread::id()) << "no thread has used device 0";
  if (GetParam().value == step::one_thread) {
    EXPECT_EQ(thread_id, std::this_thread::get_id())
        << "a thread was started: this step needs none";
  } else if (GetParam().value == step::thread_per_device) {  // staged: perhaps for its memory
    EXPECT_NE(thread_id, std::this_thread::get_id()) << "device 0 has no thread of its own";
  }
}

#endif

}  // namespace
