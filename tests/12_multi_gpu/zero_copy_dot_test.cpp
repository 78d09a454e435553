// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "zero_copy_dot.hpp"

#include <cuda_runtime.h>

#include <cmath>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "fault_tests.hpp"
#include "full_device.hpp"
#include "lab/dot_reference.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::full_device;
using lab::testing::is_time_with;
using lab::testing::is_time_without;
using lab::testing::matches;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using lab::zero_copy_dot::dot;
using lab::zero_copy_dot::step;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::copies, "copies"}, {step::zero_copy, "zero_copy"}, {step::staged, "staged"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b) {
  return matches(
      lab::compare(dot(version, a, b).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

// --- who does the work ---------------------------------------------------------------------------

[[maybe_unused]] void expect_copies_from_pinned_memory(const lab::testing::work& done) {
  for (const auto& copy : done.copies)
    if (copy.kind == cudaMemcpyHostToDevice) {
      EXPECT_TRUE(copy.pinned) << "staged: " << copy.bytes
                               << " bytes are copied from memory that is not pinned";
    }
}

REQUIRED_WORK(VectorsWhereTheStepWantsThem) {
  const vector a = whole_numbers(20'011, 1, -9, 14), b = whole_numbers(20'011, 2, -4, 5);
  for (const auto& [version, name] : kSteps) {
    const bool zero_copy = version == step::zero_copy;
    lab::testing::required expected{.threads = 512, .blocks = 2, .reads = 2 * bytes_of(a)};
    if (version != step::copies) expected.calls = {"cudaHostAlloc|cudaMallocHost|cudaHostRegister"};
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    const std::uint64_t copied = done.bytes_copied(cudaMemcpyHostToDevice);
    EXPECT_EQ(copied, zero_copy ? 0 : 2 * bytes_of(a)) << name << ": bytes copied to the device";
    if (version == step::staged) expect_copies_from_pinned_memory(done);
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4));
    })) << name;
  }
}

REQUIRED_WORK(NoCopiesOfShortVectorsEither) {
  for (const std::size_t n : {1, 40, 256, 1000}) {
    const vector a = whole_numbers(n, 1, 1, 4), b = whole_numbers(n, 2, 1, 4);
    const lab::testing::work done = work_of([&] { return is_exact(step::zero_copy, a, b); });
    const std::size_t threads = std::clamp<std::size_t>(n / 4, 1, 64);
    EXPECT_TRUE(as_required(
        done, {.threads = threads, .sent = 2 * bytes_of(a), .loading_threads = threads}))
        << "zero_copy";
    EXPECT_EQ(done.bytes_copied(cudaMemcpyHostToDevice), 0U)
        << "zero_copy: vectors of " << n << " elements are copied to the device";
  }
}

REQUIRED_WORK(PiecesFromPinnedMemoryInSeveralStreams) {
  const std::size_t n = 1'500'000;  // many pieces of whatever size is sensible
  const vector a = whole_numbers(n, 1, -2, 2), b = whole_numbers(n, 2, -1, 1);
  const auto whole = work_of([&] { return is_exact(step::staged, a, b); });
  EXPECT_TRUE(as_required(whole, {.threads = 512,
                                  .blocks = 2,
                                  .kernels = 2,
                                  .sent = 2 * bytes_of(a),
                                  .streams = 2,
                                  .calls = {"cudaHostAlloc|cudaMallocHost", "cudaMemcpyAsync"}}))
      << "staged";
  std::size_t largest = 0;
  for (const auto& copy : whole.copies)
    if (copy.kind == cudaMemcpyHostToDevice) largest = std::max(largest, copy.bytes);
  EXPECT_LE(largest, bytes_of(a))
      << "staged: one copy had half of all elements or more, and not a piece";
  expect_copies_from_pinned_memory(whole);
}

REQUIRED_WORK(PinnedMemoryForTwoPieces) {
  const std::size_t n = 300'000;  // a piece has 262,144 here
  const vector a = whole_numbers(n, 3, -2, 2), b = whole_numbers(n, 4, -1, 1);
  const auto done = work_of([&] { return is_exact(step::staged, a, b); });
  EXPECT_TRUE(as_required(done, {.threads = 512, .calls = {"cudaMemcpyAsync"}})) << "staged";
  EXPECT_EQ(done.bytes_copied(cudaMemcpyHostToDevice), 2 * bytes_of(a)) << "staged";
  expect_copies_from_pinned_memory(done);
}

REQUIRED_WORK(DeviceMemoryForWholeVectorsInCopies) {
  const vector ones(1'500'000, 1.0F);
  const auto done = work_of([&] { return dot(step::copies, ones, ones).value == 1.5e6F; });
  EXPECT_TRUE(as_required(done, {.threads = 512, .sent = 2 * bytes_of(ones)})) << "copies";
#ifdef __CPU_DEVICE__
  std::size_t allocated = 0;
  for (const std::size_t bytes : done.device_memory) allocated += bytes;
  EXPECT_GE(allocated, 2 * bytes_of(ones))
      << "copies: the device has no memory for both vectors: is this step staged?";
#endif
}

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp, blocks of 256, a few multiprocessors' grids (1024 per multiprocessor) and the
// rounds of four that follow; primes; the book's 33 * 1024 of its first dot product.
INSTANTIATE_TEST_SUITE_P(
    Steps, Dot,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257, 513, 1021, 1023, 1024,
                                         1025, 2049, 4095, 4096, 4097, 8191, 8193, 33 * 1024)),
    lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactForWholeNumbers) {
  const auto& [version, n] = GetParam();
  // At most 33 * 1024 products of at most 14 * 29: below 2^24 in every order.
  EXPECT_TRUE(
      is_exact(version.value, whole_numbers(n, n + 1, -9, 14), whole_numbers(n, n + 2, 1, 29)));
}

TEST_P(Dot, IsWithinTheBoundForRandomNumbers) {
  const auto& [version, n] = GetParam();
  const vector a = lab::random_floats(n, n + 3, -1, 1);
  const vector b = lab::random_floats(n, n + 4, -100, 300);
  EXPECT_TRUE(matches(lab::compare(dot(version.value, a, b).value, lab::dot_in_double(a, b),
                                   {.absolute = lab::dot_error_bound(a, b)})));
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b).value; }
  double bound(const vector& a, const vector& b) const { return lab::dot_error_bound(a, b); }
  static std::size_t most() { return 1'000'007; }
  // The CPU device has 16 MiB here (full_device.hpp), pinned memory included.
  static std::size_t full_size() {
    return lab::on_cpu_device() ? 1'900'007 : lab::zero_copy_dot::kDefaultSize;
  }
  static lab::testing::required full_work() { return {.threads = 512}; }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, ReadsBothVectorsAlsoBesideAZero) {
  const float infinity = std::numeric_limits<float>::infinity();  // and 0 * infinity is no number
  EXPECT_TRUE(std::isnan(dot(version(), vector{1, 0}, vector{1, infinity}).value));
  EXPECT_TRUE(std::isnan(dot(version(), vector{1, infinity}, vector{1, 0}).value));
}

TEST_P(EachStep, ReadsNothingBehindTheEndInItsLastRound) {
  // A thread adds four products at a time, a stride of the grid apart, while all four are there.
  // If they just are, or just are not, a comparison with <= reads one element too many.
  const std::size_t stride =
      std::size_t{4} * 256 * lab::device_limit(cudaDevAttrMultiProcessorCount);
  for (const std::size_t n : {3 * stride, 3 * stride + 1, 4 * stride - 1, 4 * stride,
                              4 * stride + 1, 7 * stride, 8 * stride - 1})
    EXPECT_TRUE(is_exact(version(), whole_numbers(n, 1, -3, 4), whole_numbers(n, 2, -1, 1)))
        << n << " elements";
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(100'000, 1.0F);
  const auto result = dot(version(), ones, ones);
  EXPECT_GT(result.kernel_ms, 0.0F);
  // The kernel is a part of the whole; the two clocks of a GPU and a host may differ a little.
  EXPECT_GT(result.total_ms, 0.9F * result.kernel_ms);
  EXPECT_LT(result.total_ms, 60'000.0F);
}

#ifdef __CPU_DEVICE__

TEST_P(EachStep, CountsWhatMovesTheDataInTheTotalAndNoAllocations) {
  const vector a = whole_numbers(3001, 1, -9, 14), b = whole_numbers(3001, 2, 1, 29);
  const auto total_ms = [&] { return dot(version(), a, b).total_ms; };
  EXPECT_TRUE(is_time_with(lab::testing::kCopies, total_ms));
  EXPECT_TRUE(is_time_with("cudaLaunchKernel", total_ms));
  EXPECT_TRUE(is_time_without(lab::testing::kAllocations, total_ms));
}

TEST_P(EachStep, KeepsTheSumsOfManyBlocksBesideALargeOne) {
  // 2^24, and a 1 for each of the other blocks that a larger device runs at once: adding them to it
  // one by one, in float, gives 2^24.
  const lab::testing::pretended_devices large(
      [](cudaDeviceProp& p) { p.multiProcessorCount = 64; });
  vector a(std::size_t{64} * 4 * 256), b(a.size(), 1.0F);
  for (std::size_t i = 0; i < a.size(); i += 256) a[i] = i == 0 ? 0x1p24F : 1.0F;
  EXPECT_TRUE(
      matches(lab::compare(sum(a, b), lab::dot_in_double(a, b), {.absolute = bound(a, b)})));
}

#endif

FAULT_TEST(Staged, ReportsWhatFailsInAThread) {
  // Enough for a second thread.
  const vector a = whole_numbers(300'000, 1, -2, 2), b = whole_numbers(300'000, 2, -1, 1);
  lab::testing::expect_failures_of_threads_reported(
      [&] { return is_exact(step::staged, a, b); },
      {"cudaSetDevice", "cudaEventSynchronize", "cudaMemcpyAsync", "cudaEventRecord",
       "cudaLaunchKernel"});
}

// --- where the vectors are -----------------------------------------------------------------------

TEST(FullDevice, HasNoRoomForTheCopies) {
  const std::size_t n = lab::testing::size_that_fits_once();
  const vector a(n, 1.0F), b(n, 2.0F);
  dot(step::copies, vector(10, 1.0F), vector(10, 1.0F));  // loads what a first call loads
  const full_device full(lab::testing::current_device());
  try {
    dot(step::copies, a, b);
    ADD_FAILURE() << "two vectors cannot fit: where are they?";
  } catch (const lab::cuda_error& error) {
    EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
  }
}

TEST(FullDevice, IsEnoughForZeroCopy) {
  const std::size_t n = lab::testing::size_that_fits_once();
  vector a(n), b(n, 1.0F);
  a[0] = 5, a[n / 2] = -2, a[n - 1] = 7;
  dot(step::zero_copy, vector(10, 1.0F), vector(10, 1.0F));
  const full_device full(lab::testing::current_device());
  EXPECT_EQ(dot(step::zero_copy, a, b).value, 10.0F);
}

#ifdef __CPU_DEVICE__  // which has 16 MiB here; a GPU's pieces are larger
TEST(FullDevice, HasRoomForPiecesOfWhatIsTwiceAsLarge) {
  const vector a = whole_numbers(4 << 20, 1, -1, 1), b = whole_numbers(4 << 20, 2, -1, 1);
  EXPECT_TRUE(is_exact(step::staged, a, b));
}
#endif

TEST(Staged, RunsOnTheCurrentDevice) {
  if (lab::device_count() < 2) GTEST_SKIP() << "this needs two devices";
  const lab::testing::on_device second(1);
  const full_device full(0);  // in a new thread, device 0 is the current one
  const vector a = whole_numbers(1'000'000, 1, -1, 1), b = whole_numbers(1'000'000, 2, -1, 1);
  EXPECT_TRUE(is_exact(step::staged, a, b));
  EXPECT_EQ(lab::testing::current_device(), 1);
}

// --- when the sums are read ----------------------------------------------------------------------

#ifdef __CPU_DEVICE__

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

TEST(LateKernel, CountsInTheTotal) {
  // The kernel runs when it is waited for, in any stream. (Here events and the host have the same
  // clock.)
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  const vector a = whole_numbers(300'007, 1, -3, 4), b = whole_numbers(300'007, 2, -1, 1);
  const auto result = dot(step::zero_copy, a, b);
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
  EXPECT_GT(result.total_ms, result.kernel_ms) << "the clock stopped before the sum was complete";
}

#endif

}  // namespace
