// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "portable_pinned.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "full_device.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::portable_pinned::device_report;
using lab::portable_pinned::dot;
using lab::portable_pinned::pinning;
using lab::portable_pinned::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::current_device;
using lab::testing::full_device;
using lab::testing::is_time_with;
using lab::testing::is_time_without;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;

struct named_version {
  step chosen_step;
  pinning mode;
  const char* name;
};
constexpr named_version kVersions[] = {
    {step::zero_copy, pinning::all_devices, "zero_copy"},
    {step::zero_copy, pinning::one_device, "zero_copy_pinned_by_one"},
    {step::copies, pinning::all_devices, "copies"},
    {step::copies, pinning::one_device, "copies_pinned_by_one"}};

::testing::AssertionResult is_exact(const named_version& version, const vector& a, const vector& b,
                                    int devices = 0) {
  return matches(lab::compare(dot(version.chosen_step, version.mode, a, b, devices).value,
                              lab::dot_in_double(a, b), lab::tolerance{}));
}

/// How many elements device k of `devices` has to get, of n.
std::size_t elements_of(std::size_t k, std::size_t devices, std::size_t n) {
  return n * (k + 1) / devices - n * k / devices;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelOnEveryDevice) {
  int devices = 0;
  CUDA_CHECK(cudaGetDeviceCount(&devices));
  const auto count = static_cast<std::size_t>(devices);
  const vector a = whole_numbers(60'011, 1, -9, 14), b = whole_numbers(60'011, 2, -4, 5);
  for (const named_version& version : kVersions) {
    const bool copies = version.chosen_step == step::copies;
    lab::testing::required expected{.threads = 1024,
                                    .blocks = 4,
                                    .kernels = count,
                                    .devices = count,
                                    .calls = {"cudaHostAlloc"},
                                    .reads = 2 * bytes_of(a),
                                    .shared_memory = true};
    if (copies) expected.calls.emplace_back("cudaMemcpyAsync");
    const lab::testing::work done = work_of([&] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, expected)) << version.name;
    EXPECT_EQ(done.bytes_copied(cudaMemcpyHostToDevice), copies ? 2 * bytes_of(a) : 0)
        << version.name << ": bytes copied to the devices";
    if (copies) {
      EXPECT_EQ(done.host_threads, 1U) << version.name;
      EXPECT_EQ(lab::testing::waits_between_launches(done), "") << version.name;
      for (const auto& copy : done.copies)
        EXPECT_TRUE(copy.pinned) << version.name << ": " << copy.bytes
                                 << " bytes are copied from or to memory that is not pinned";
      EXPECT_GE(done.bytes_copied(cudaMemcpyDeviceToHost), count * sizeof(float))
          << version.name << ": bytes of sums that the devices copy to the host";
      EXPECT_EQ(done.not_accessed, 0U) << version.name << ": device memory that no kernel uses";
    } else {
      EXPECT_GE(done.host_threads, count) << version.name;
      EXPECT_TRUE(done.device_memory.empty())
          << version.name << ": this step needs no device memory";
    }
    EXPECT_LT(std::accumulate(done.host_memory.begin(), done.host_memory.end(), std::size_t{0}),
              3 * bytes_of(a))
        << version.name << ": bytes of pinned memory; the vectors are put there once, for all";
    for (const char* question : {"cudaHostGetFlags", "cudaPointerGetAttributes"})
      EXPECT_GE(done.calls.contains(question) ? done.calls.at(question) : 0, count)
          << version.name << ": " << question << " is not asked on each device";
    EXPECT_TRUE(at_other_sizes([&](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4));
    })) << version.name;
  }
}

REQUIRED_WORK(NoDeviceWaitsForAnotherHoweverShortThePartsAre) {
  for (const named_version& version : kVersions) {
    if (version.chosen_step != step::copies) continue;
    for (const std::size_t n : {7U, 300U, 5003U}) {
      const vector a = whole_numbers(n, 1, 1, 14), b = whole_numbers(n, 2, 1, 5);
      const lab::testing::work done = work_of([&] { return is_exact(version, a, b); });
      EXPECT_TRUE(as_required(done, {.threads = 1,
                                     .fetched = sizeof(float),
                                     .calls = {"cudaMemcpyAsync"},
                                     .not_called = {"cudaMemcpy"}}))
          << version.name << ", " << n << " elements";
      EXPECT_EQ(lab::testing::waits_between_launches(done), "")
          << version.name << ", " << n << " elements";
    }
  }
}

REQUIRED_WORK(BothVectorsAreInWriteCombinedMemoryThatIsPinnedAsAsked) {
  const vector a = whole_numbers(5003, 1, -9, 14), b = whole_numbers(5003, 2, -4, 5);
  const int device = lab::device_count() - 1;
  const on_device here(device);
  for (const named_version& version : kVersions) {
    const lab::testing::work done = work_of([&] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, {.calls = {"cudaHostAlloc"}})) << version.name;
    std::size_t bytes = 0;
    for (const auto& memory : done.pinned) {
      EXPECT_EQ((memory.flags & cudaHostAllocPortable) != 0, version.mode == pinning::all_devices)
          << version.name << ": " << memory.bytes << " bytes of pinned memory";
      if (memory.device == device && (memory.flags & cudaHostAllocWriteCombined) != 0)
        bytes += memory.bytes;
    }
    EXPECT_GE(bytes, 2 * bytes_of(a))
        << version.name << ": bytes of write-combined memory, with device " << device << " current";
  }
}

REQUIRED_WORK(NoCopyIsInAKernelsTime) {
  const vector a = whole_numbers(5003, 1, -9, 14), b = whole_numbers(5003, 2, -4, 5);
  for (const named_version& version : kVersions) {
    if (version.chosen_step != step::copies) continue;
    const lab::testing::work done = work_of([&] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, {.calls = {"cudaMemcpyAsync"}})) << version.name;
    // What is called before a launch and after it: events first, and then copies.
    const auto next_to_it = [](auto call, const auto& end) {
      call = std::find_if(call, end, [](const std::string& name) {
        return name.starts_with("cudaEventRecord") || name.starts_with("cudaMemcpy");
      });
      return call == end ? std::string("nothing") : *call;
    };
    const auto& calls = done.sequence;
    if (!done.calls.contains("cudaEventRecord")) continue;  // another clock
    for (auto call = calls.begin(); call != calls.end(); ++call)
      if (call->starts_with("cudaLaunchKernel")) {
        EXPECT_EQ(next_to_it(std::make_reverse_iterator(call), calls.rend()), "cudaEventRecord")
            << version.name << ": before the kernel";
        EXPECT_EQ(next_to_it(call, calls.end()), "cudaEventRecord")
            << version.name << ": after the kernel";
      }
  }
}

// --- the sum -------------------------------------------------------------------------------------

class Dot : public ::testing::TestWithParam<std::tuple<named_version, std::size_t>> {};

// No elements, fewer than devices, as many, and one more; around a block; odd and prime sizes.
INSTANTIATE_TEST_SUITE_P(Versions, Dot,
                         ::testing::Combine(::testing::ValuesIn(kVersions),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 31, 33, 255, 256,
                                                              257, 511, 513, 1021, 4097,
                                                              33 * 1024 + 1)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactOnOneTwoThreeAndAllDevices) {
  const auto& [version, n] = GetParam();
  // At most 33 * 1024 + 1 products of at most 14 * 29: below 2^24 in every order.
  const vector a = whole_numbers(n, n + 1, -9, 14), b = whole_numbers(n, n + 2, 1, 29);
  for (int devices = 0; devices <= lab::device_count(); ++devices)
    EXPECT_TRUE(is_exact(version, a, b, devices)) << devices << " devices";
}

TEST_P(Dot, IsWithinTheBoundForRandomNumbers) {
  const auto& [version, n] = GetParam();
  const vector a = lab::random_floats(n, n + 3, -1, 1);
  const vector b = lab::random_floats(n, n + 4, -100, 300);
  for (int devices = 0; devices <= lab::device_count(); ++devices)
    EXPECT_TRUE(
        matches(lab::compare(dot(version.chosen_step, version.mode, a, b, devices).value,
                             lab::dot_in_double(a, b), {.absolute = lab::dot_error_bound(a, b)})))
        << devices << " devices";
}

class EachStep : public ::testing::TestWithParam<named_version> {
 protected:
  lab::portable_pinned::result run(const vector& a, const vector& b, int devices = 0) const {
    return dot(GetParam().chosen_step, GetParam().mode, a, b, devices);
  }
  float sum(const vector& a, const vector& b) const { return run(a, b).value; }
  double bound(const vector& a, const vector& b) const { return lab::dot_error_bound(a, b); }
  static std::size_t most() { return 1'000'007; }
  // The CPU device has 16 MiB here (full_device.hpp), pinned memory included.
  static std::size_t full_size() {
    return lab::on_cpu_device() ? 1'900'007 : lab::portable_pinned::kDefaultSize;
  }
  static lab::testing::required full_work() {
    const auto devices = static_cast<std::size_t>(lab::device_count());
    return {.threads = 1024, .kernels = devices, .devices = devices};
  }
};
INSTANTIATE_TEST_SUITE_P(Versions, EachStep, ::testing::ValuesIn(kVersions),
                         [](const auto& test) { return test.param.name; });

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, RefusesMoreDevicesThanThereAre) {
  const vector ones(10, 1.0F);
  EXPECT_THROW(run(ones, ones, -1), lab::invalid_input);
  EXPECT_THROW(run({}, {}, lab::device_count() + 1), lab::invalid_input);
  EXPECT_THROW(run(ones, ones, lab::device_count() + 1), lab::invalid_input);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(100'000, 1.0F);
  const auto result = run(ones, ones);
  for (const device_report& device : result.devices) {
    EXPECT_GT(device.kernel_ms, 0.0F);
    EXPECT_GT(result.total_ms, 0.9F * device.kernel_ms);  // the clocks may differ a little
  }
  EXPECT_LT(result.total_ms, 60'000.0F);
}

// --- what the devices see ------------------------------------------------------------------------

TEST_P(EachStep, EachDeviceReportsItsElementsAndAnEmptyOneNothing) {
  for (const std::size_t n : {0, 1, 2, 5, 1000}) {
    const vector ones(n, 1.0F);
    for (int devices = 1; devices <= lab::device_count(); ++devices) {
      const auto all = static_cast<std::size_t>(devices);
      const auto reports = run(ones, ones, devices).devices;
      ASSERT_EQ(reports.size(), all);
      for (std::size_t k = 0; k < all; ++k) {
        EXPECT_EQ(reports[k].elements, elements_of(k, all, n)) << "device " << k << " of " << all;
        if (reports[k].elements != 0) continue;
        EXPECT_EQ(reports[k].flags, 0U);
        EXPECT_FALSE(reports[k].pinned);
        EXPECT_FALSE(reports[k].same_address);
        EXPECT_EQ(reports[k].kernel_ms, 0.0F);
      }
    }
  }
  EXPECT_EQ(run({}, {}).devices.size(), static_cast<std::size_t>(lab::device_count()));
}

TEST_P(EachStep, TheMemoryIsPinnedAndMappedForEveryDeviceWhoeverAllocatedIt) {
  const vector ones(1000, 1.0F);
  for (int owner = 0; owner < lab::device_count(); ++owner) {
    const on_device here(owner);
    const auto result = run(ones, ones);
    EXPECT_EQ(result.value, 1000.0F);
    for (const device_report& seen : result.devices) {
      EXPECT_TRUE(seen.pinned) << "allocated on device " << owner;
      EXPECT_NE(seen.flags & cudaHostAllocMapped, 0U);
      EXPECT_NE(seen.flags & cudaHostAllocWriteCombined, 0U);
      if (GetParam().mode == pinning::all_devices) {
        EXPECT_NE(seen.flags & cudaHostAllocPortable, 0U)
            << "memory that is pinned for all devices was requested";
      }
#ifdef __CPU_DEVICE__  // a GPU's driver may report more flags than were requested
      if (GetParam().mode == pinning::one_device) {
        EXPECT_EQ(seen.flags & cudaHostAllocPortable, 0U);
      }
      EXPECT_TRUE(seen.same_address);
#endif
    }
  }
}

#ifdef __CPU_DEVICE__
TEST_P(EachStep, CountsWhatMovesTheDataInTheTotalAndNoAllocations) {
  // On one device: others may work at the same time.
  const vector a = whole_numbers(3001, 1, -9, 14), b = whole_numbers(3001, 2, 1, 29);
  const auto total_ms = [&] { return run(a, b, 1).total_ms; };
  EXPECT_TRUE(is_time_with(lab::testing::kCopies, total_ms));
  EXPECT_TRUE(is_time_with("cudaLaunchKernel", total_ms));
  EXPECT_TRUE(is_time_without(lab::testing::kAllocations, total_ms));
}

TEST_P(EachStep, KeepsTheSumsOfManyBlocksBesideALargeOne) {
  // 2^24, and a 1 for each of the other blocks that a larger device runs at once: adding them to it
  // one by one, in float, gives 2^24.
  const lab::testing::pretended_devices large([](cudaDeviceProp& p) { p.multiProcessorCount = 64; },
                                              cpu_device::kEveryDevice);
  vector a(std::size_t{64} * 4 * 256), b(a.size(), 1.0F);
  for (std::size_t i = 0; i < a.size(); i += 256) a[i] = i == 0 ? 0x1p24F : 1.0F;
  EXPECT_TRUE(matches(
      lab::compare(run(a, b, 1).value, lab::dot_in_double(a, b), {.absolute = bound(a, b)})));
}

TEST_P(EachStep, LeavesADeviceWithoutElementsAlone) {
  if (lab::device_count() < 2) GTEST_SKIP() << "this needs two devices";
  const on_device second(1);  // whose part of two is the one element: n / 2 is rounded down
  unsigned calls = 0;
  const lab::testing::detail::before_call each(
      "cudaDeviceSynchronize|cudaEventCreate|cudaEventCreateWithFlags|cudaFree|cudaLaunchKernel|"
      "cudaMalloc|cudaMemcpy|cudaMemcpyAsync|cudaMemset|cudaStreamCreate|cudaStreamCreateWithFlags|"
      "cudaHostAlloc",
      lab::testing::detail::before_call::kEachTime,
      [&] { calls += current_device() == 0 ? 1 : 0; });
  EXPECT_EQ(run(vector{3}, vector{4}, 2).value, 12.0F);
  EXPECT_EQ(calls, 0U) << "calls for device 0, which has no elements";
}

/// Makes the runtime report something else about pinned memory.
class said {
 public:
  explicit said(cpu_device::said_of_pinned_memory words) {
    cpu_device::set_said_of_pinned_memory(words);
  }
  said(const said&) = delete;
  said& operator=(const said&) = delete;
  ~said() { cpu_device::set_said_of_pinned_memory(cpu_device::said_of_pinned_memory::the_truth); }
};

TEST_P(EachStep, ReportsWhatTheRuntimeSays) {
  using cpu_device::said_of_pinned_memory;
  const vector ones(1000, 1.0F);
  {
    const said meanwhile(said_of_pinned_memory::unregistered);
    // (It has no address of the devices then, so what they say of that depends on whom they ask.)
    for (const device_report& seen : run(ones, ones).devices)
      EXPECT_FALSE(seen.pinned) << "cudaPointerGetAttributes says cudaMemoryTypeUnregistered";
  }
  const said meanwhile(said_of_pinned_memory::elsewhere);
  const auto result = run(ones, ones);
  if (GetParam().chosen_step == step::copies) {
    EXPECT_EQ(result.value, 1000.0F) << "kernels must read the copies";
  } else {
    EXPECT_NE(result.value, 1000.0F)
        << "that address is not the one that was passed to the kernels";
  }
  for (const device_report& seen : result.devices) {
    EXPECT_TRUE(seen.pinned);
    EXPECT_FALSE(seen.same_address) << "the devices have another address for the memory";
    EXPECT_NE(seen.flags & cudaHostAllocPortable, 0U) << "cudaHostGetFlags says that";
  }
}
#endif

// --- the current device, and whose memory is used ------------------------------------------------

TEST_P(EachStep, KeepsTheCurrentDevice) {
  const vector ones(1000, 1.0F);
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_EQ(run(ones, ones).value, 1000.0F);
    EXPECT_EQ(current_device(), device);
  }
}

TEST_P(EachStep, OnlyTheCopiesNeedRoomOnTheDevices) {
  const std::size_t n =
      lab::testing::size_that_fits_once() * static_cast<std::size_t>(lab::device_count());
  vector a(n), b(n, 1.0F);
  a[0] = 5, a[n / 2] = -2, a[n - 1] = 7;
  EXPECT_EQ(run(vector(100, 1.0F), vector(100, 1.0F)).value, 100.0F);  // loads what it loads
  for (int device = 0; device < lab::device_count(); ++device) {
    const full_device full(device);
    const on_device here(lab::device_count() - 1 - device);
    if (GetParam().chosen_step == step::zero_copy) {
      EXPECT_EQ(run(a, b).value, 10.0F) << "device " << device << " is full";
    } else {
      try {
        run(a, b);
        ADD_FAILURE() << "device " << device << " has no room for its part: who worked on it?";
      } catch (const lab::cuda_error& error) {
        EXPECT_EQ(error.code(), cudaErrorMemoryAllocation) << error.what();
      }
    }
    EXPECT_EQ(current_device(), lab::device_count() - 1 - device) << "afterwards";
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(run(vector(100, 1.0F), vector(100, 1.0F)).value, 100.0F) << "afterwards";
}

#ifdef __CPU_DEVICE__

/// Kernels run as late as CUDA allows: when the host waits for them.
class Late : public ::testing::TestWithParam<named_version> {
 protected:
  Late() { cpu_device::set_stream_policy(cpu_device::stream_policy::deferred); }
  ~Late() override { cpu_device::set_stream_policy(cpu_device::stream_policy::eager); }
};
INSTANTIATE_TEST_SUITE_P(Versions, Late, ::testing::ValuesIn(kVersions),
                         [](const auto& test) { return test.param.name; });

TEST_P(Late, TheSumsAreReadWhenTheyAreThere) {
  const vector a = whole_numbers(3001, 1, -9, 14), b = whole_numbers(3001, 2, 1, 29);
  EXPECT_TRUE(is_exact(GetParam(), a, b));
  cpu_device::set_stream_policy(cpu_device::stream_policy::interleaved);
  EXPECT_TRUE(is_exact(GetParam(), a, b));
}

REQUIRED_WORK(AHostThreadForEachDeviceWhereNothingIsCopied) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);  // a kernel's launcher runs it
  const auto devices = static_cast<std::size_t>(lab::device_count());
  const vector ones(1000, 1.0F);
  for (const named_version& version : kVersions) {
    std::set<std::size_t> host_threads;
    const lab::testing::work done = work_of([&] { return is_exact(version, ones, ones); });
    for (const auto& kernel : done.kernels) host_threads.insert(kernel.host_thread);
    EXPECT_EQ(host_threads.size(), version.chosen_step == step::copies ? 1 : devices)
        << version.name << ": host threads that launch kernels";
  }
}

TEST_P(Late, TheTotalIncludesTheKernels) {
  // Large enough for the time of a kernel to be more than that of all else, in any stream. (Here
  // events and the host have the same clock.)
  const vector a = whole_numbers(300'007, 1, -3, 4), b = whole_numbers(300'007, 2, -1, 1);
  const auto result = dot(GetParam().chosen_step, GetParam().mode, a, b);
  for (const device_report& device : result.devices)
    EXPECT_GT(result.total_ms, device.kernel_ms) << "the clock stopped before the sum was complete";
}

#endif

}  // namespace
