// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build knows cuda::barrier and cuda::pipeline: what they order is not a race, and a copy
// without a wait is one. And what every build reports about them.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <string>
#include <utility>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr unsigned kThreads = 64;

enum class wait_for { the_barrier, nobody };

template <wait_for What>
__global__ void reverse_with_barrier(int* data) {
  __shared__ int staged[kThreads];
  __shared__ block_barrier done;
  if (threadIdx.x == 0) init(&done, kThreads);
  __syncthreads();
  cuda::memcpy_async(&staged[threadIdx.x], &data[threadIdx.x], sizeof(int), done);
  block_barrier::arrival_token token = done.arrive();
  if (What == wait_for::the_barrier) done.wait(std::move(token));
  data[threadIdx.x] = staged[kThreads - 1 - threadIdx.x];
}

template <wait_for What>
__global__ void reverse_with_pipeline(const int* in, int* out) {
  __shared__ int staged[kThreads];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  auto pipe = cuda::make_pipeline(cooperative_groups::this_thread_block(), &state);
  pipe.producer_acquire();
  cuda::memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], sizeof(int), pipe);
  pipe.producer_commit();
  if (What == wait_for::the_barrier) pipe.consumer_wait();
  out[threadIdx.x] = staged[kThreads - 1 - threadIdx.x];
  pipe.consumer_release();
}

// Copies whose sizes the compiler does not know. What reads them takes a component: clang 14 copies
// an int4 by memcpy, which is not watched.
constexpr int kCopyLine = __LINE__ + 4;
template <wait_for What>
__global__ void reverse_with_primitives(const int4* in, int4* out, std::size_t bytes) {
  __shared__ int4 staged[kThreads];
  __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], bytes);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (What == wait_for::the_barrier) __syncthreads();
  out[threadIdx.x].x = staged[kThreads - 1 - threadIdx.x].x;
}
constexpr int kClearLine = __LINE__ + 4;
template <wait_for What>
__global__ void reverse_zeros(const int4* in, int4* out, std::size_t bytes) {
  __shared__ int4 staged[kThreads];
  __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], bytes, bytes);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  if (What == wait_for::the_barrier) __syncthreads();
  out[threadIdx.x].x = staged[kThreads - 1 - threadIdx.x].x;
}

// --- copies that a thread waits for itself: not there before it has ------------------------------

enum class forgets { nothing, to_commit, to_wait };

template <forgets What>
__global__ void copy_two_batches(const int* in, int* out) {
  __shared__ int first[kThreads], second[kThreads];
  const unsigned t = threadIdx.x;
  first[t] = second[t] = -1;
  __pipeline_memcpy_async(&first[t], &in[t], sizeof(int));
  __pipeline_commit();
  __pipeline_memcpy_async(&second[t], &in[t], sizeof(int));
  if (What != forgets::to_commit) __pipeline_commit();
  __pipeline_wait_prior(What == forgets::to_wait ? 1 : 0);
  out[t] = first[t];
  out[kThreads + t] = second[t];
}
template <forgets What>
__global__ void copy_with_a_pipeline(const int* in, int* out) {
  __shared__ int first[kThreads], second[kThreads];
  const unsigned t = threadIdx.x;
  first[t] = second[t] = -1;
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(&first[t], &in[t], sizeof(int), pipe);
  pipe.producer_commit();
  pipe.producer_acquire();
  cuda::memcpy_async(&second[t], &in[t], sizeof(int), pipe);
  if (What != forgets::to_commit) pipe.producer_commit();
  pipe.consumer_wait();
  out[t] = first[t];
  pipe.consumer_release();
  if (What != forgets::to_wait) pipe.consumer_wait();
  out[kThreads + t] = second[t];
  pipe.consumer_release();
}
template <forgets What>
__global__ void copy_as_a_group(const int* in, int* out) {
  __shared__ int first[kThreads], second[kThreads];
  const auto block = cooperative_groups::this_thread_block();
  const unsigned t = threadIdx.x;
  first[t] = second[t] = -1;
  __syncthreads();
  cooperative_groups::memcpy_async(block, first, in, sizeof first);
  cooperative_groups::memcpy_async(block, second, in, sizeof second);
  cooperative_groups::wait_prior<1>(block);
  out[t] = first[t];
  if (What != forgets::to_wait) cooperative_groups::wait(block);
  out[kThreads + t] = second[t];
}

/// Whether the second batch is there at the end; the first one always is.
template <class Kernel>
bool both_are_there(Kernel kernel) {
  std::vector<int> values(kThreads);
  for (unsigned t = 0; t < kThreads; ++t) values[t] = static_cast<int>(t) + 5;
  const device_array<int> in(values), out(2 * kThreads, 0);
  kernel<<<1, kThreads>>>(in.data(), out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<int> seen = out.to_host();
  EXPECT_EQ(std::vector<int>(seen.begin(), seen.begin() + kThreads), values);
  const std::vector<int> second(seen.begin() + kThreads, seen.end());
  if (second == values) return true;
  EXPECT_EQ(second, std::vector<int>(kThreads, -1));
  return false;
}

TEST(AsyncCopies, AreThereAfterTheWait) {
  EXPECT_TRUE(both_are_there(copy_two_batches<forgets::nothing>));
  EXPECT_TRUE(both_are_there(copy_with_a_pipeline<forgets::nothing>));
  EXPECT_TRUE(both_are_there(copy_as_a_group<forgets::nothing>));
}
TEST(AsyncCopies, AreNotThereIfNobodyCommitsThem) {
  EXPECT_FALSE(both_are_there(copy_two_batches<forgets::to_commit>));
  EXPECT_FALSE(both_are_there(copy_with_a_pipeline<forgets::to_commit>));
}
TEST(AsyncCopies, AreNotThereIfNobodyWaits) {
  EXPECT_FALSE(both_are_there(copy_two_batches<forgets::to_wait>));
  EXPECT_FALSE(both_are_there(copy_with_a_pipeline<forgets::to_wait>));
  EXPECT_FALSE(both_are_there(copy_as_a_group<forgets::to_wait>));
}

__global__ void leave_a_copy(const int* in) {
  __shared__ int staged[kThreads];
  __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], sizeof(int));
  __pipeline_commit();
}
TEST(AsyncCopies, OfOneBlockAreNoneOfTheNext) {
  const device_array<int> gone(kThreads, 7);
  leave_a_copy<<<64, kThreads>>>(gone.data());
  EXPECT_TRUE(both_are_there(copy_two_batches<forgets::nothing>));
  EXPECT_FALSE(both_are_there(copy_two_batches<forgets::to_wait>));
}

/// Another thread still reads this thread's element when it becomes a stage again, unless a barrier
/// comes before. The copy is done after a barrier: by then all threads have read.
template <wait_for What>
__global__ void reverse_and_refill(const int4* in, int4* out) {
  __shared__ int4 staged[kThreads];
  staged[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  int4 sum = staged[kThreads - 1 - threadIdx.x];
  if (What == wait_for::the_barrier) __syncthreads();
  __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], sizeof(int4));
  __pipeline_commit();
  __syncthreads();
  __pipeline_wait_prior(0);
  sum.x += staged[threadIdx.x].x;
  out[threadIdx.x] = sum;
}

template <class Launch>
std::size_t races(Launch launch) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() - before;
}

TEST(BarrierRaces, WaitingOrders) {
  cpu_device_testing::in_every_order([] {
    const device_array<int> data(kThreads, 1), out(kThreads, 1);
    EXPECT_EQ(
        races([&] { reverse_with_barrier<wait_for::the_barrier><<<1, kThreads>>>(data.data()); }),
        0U)
        << cpu_device::last_report();
    EXPECT_EQ(races([&] {
                reverse_with_pipeline<wait_for::the_barrier>
                    <<<1, kThreads>>>(data.data(), out.data());
              }),
              0U)
        << cpu_device::last_report();
  });
}

TEST(BarrierRaces, ACopyThatNobodyWaitsForIsOne) {
  const device_array<int> data(kThreads, 1), out(kThreads, 1);
  EXPECT_GT(races([&] { reverse_with_barrier<wait_for::nobody><<<1, kThreads>>>(data.data()); }),
            0U);
  EXPECT_NE(cpu_device::last_report().find("race on shared memory"), std::string::npos)
      << cpu_device::last_report();
}
TEST(BarrierRaces, AStageThatNobodyWaitsForIsOne) {
  const device_array<int> data(kThreads, 1), out(kThreads, 1);
  EXPECT_GT(races([&] {
              reverse_with_pipeline<wait_for::nobody><<<1, kThreads>>>(data.data(), out.data());
            }),
            0U);
  EXPECT_NE(cpu_device::last_report().find("race on shared memory"), std::string::npos)
      << cpu_device::last_report();
}

TEST(BarrierRaces, ACopyToWhereOthersStillReadIsOne) {
  const device_array<int4> data(kThreads, int4{}), out(kThreads, int4{});
  EXPECT_EQ(races([&] {
              reverse_and_refill<wait_for::the_barrier><<<1, kThreads>>>(data.data(), out.data());
            }),
            0U)
      << cpu_device::last_report();
  EXPECT_GT(races([&] {
              reverse_and_refill<wait_for::nobody><<<1, kThreads>>>(data.data(), out.data());
            }),
            0U);
  EXPECT_NE(cpu_device::last_report().find("race on shared memory"), std::string::npos)
      << cpu_device::last_report();
}

TEST(BarrierRaces, ACopyOfAnySizeThatNobodyWaitsForIsOne) {
  const device_array<int4> data(kThreads, int4{}), out(kThreads, int4{});
  const auto expect = [](int line, auto waits, auto does_not) {
    EXPECT_EQ(races(waits), 0U) << cpu_device::last_report();
    EXPECT_GT(races(does_not), 0U);
    const std::string report = cpu_device::last_report();
    EXPECT_NE(report.find("race on shared memory"), std::string::npos) << report;
    EXPECT_NE(report.find("barriers_check_test.cu:" + std::to_string(line)), std::string::npos)
        << report;
  };
  constexpr auto kWaits = wait_for::the_barrier, kDoesNot = wait_for::nobody;
  const std::size_t bytes = sizeof(int4);
  expect(
      kCopyLine,
      [&] { reverse_with_primitives<kWaits><<<1, kThreads>>>(data.data(), out.data(), bytes); },
      [&] { reverse_with_primitives<kDoesNot><<<1, kThreads>>>(data.data(), out.data(), bytes); });
  expect(
      kClearLine, [&] { reverse_zeros<kWaits><<<1, kThreads>>>(data.data(), out.data(), bytes); },
      [&] { reverse_zeros<kDoesNot><<<1, kThreads>>>(data.data(), out.data(), bytes); });
}

__global__ void never_initialised() {
  __shared__ block_barrier all;
  all.arrive_and_wait();
}
__global__ void expects_one_less() {
  __shared__ block_barrier all;
  if (threadIdx.x == 0) init(&all, kThreads - 1);
  __syncthreads();
  static_cast<void>(all.arrive(kThreads));
}
__global__ void breaks_its_promise(const int* in) {
  __shared__ block_barrier all;
  __shared__ alignas(16) int staged[8];
  init(&all, 1);
  cuda::memcpy_async(staged, in + 1, cuda::aligned_size_t<16>(16), all);
}
__global__ void copies_three_bytes(const int* in) {
  __shared__ int staged;
  __pipeline_memcpy_async(&staged, in, 3);
}
__global__ void copies_from_an_odd_place(const int* in) {
  __shared__ int4 staged;
  __pipeline_memcpy_async(&staged, in + 1, 16);
}

template <class Launch>
void expect_sentence(const char* part, Launch launch) {
  const std::string text = expect_report(launch, cudaErrorLaunchFailure);
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(text.find("barriers_check_test.cu:"), std::string::npos) << text;
}

TEST(BarrierReports, SayWhatIsWrong) {
  expect_sentence("was never initialised", [] { never_initialised<<<1, kThreads>>>(); });
  expect_sentence("more threads arrive", [] { expects_one_less<<<1, kThreads>>>(); });
}
TEST(BarrierReports, OfPromisesAboutAlignment) {
  const device_array<int> in(64, 0);
  const int* p = in.data();
  expect_sentence("promises that both pointers", [p] { breaks_its_promise<<<1, 1>>>(p); });
}
TEST(BarrierReports, OfPrimitives) {
  const device_array<int> in(64, 0);
  const int* p = in.data();
  expect_sentence("copies 4, 8 or 16 bytes", [p] { copies_three_bytes<<<1, 1>>>(p); });
}
TEST(BarrierReports, OfPrimitivesAtOddPlaces) {
  const device_array<int> in(64, 0);
  const int* p = in.data();
  expect_sentence("must be multiples of the size", [p] { copies_from_an_odd_place<<<1, 1>>>(p); });
}

}  // namespace
