// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Streams, events, launch errors and devices of the CPU device.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device::stream_policy;
using cpu_device_testing::device_array;

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }
__global__ void twice(int* data) { data[threadIdx.x] *= 2; }

/// Deferred order while it lives: asynchronous work runs as late as CUDA allows.
struct deferred_streams {
  deferred_streams() { cpu_device::set_stream_policy(stream_policy::deferred); }
  ~deferred_streams() { cpu_device::set_stream_policy(stream_policy::eager); }
};

TEST(Launch, RefusesShapesThatNoDeviceHas) {
  const device_array<int> data(4, 0);
  const auto status = [&](dim3 grid, dim3 block, std::size_t shared = 0) {
    add_one<<<grid, block, shared>>>(data.data());
    return cudaGetLastError();
  };
  EXPECT_EQ(status(0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, 1025), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, dim3(32, 33)), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, dim3(1, 1, 65)), cudaErrorInvalidValue);
  EXPECT_EQ(status(dim3(1, 65536), 1), cudaErrorInvalidValue);
  EXPECT_EQ(status(static_cast<unsigned>(-1), 1), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, 4, 48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(status(1, 4, 48 * 1024), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 1));
}

TEST(Launch, TakesMoreSharedMemoryAfterOptingIn) {
  const device_array<int> data(4, 0);
  ASSERT_EQ(cudaFuncSetAttribute(add_one, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024),
            cudaSuccess);
  add_one<<<1, 4, 100 * 1024>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaFuncSetAttribute(twice, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Launch, ConvertsItsArgumentsAsACallDoes) {
  const device_array<int> data(4, 3);
  const auto kernel = twice;  // through a function pointer, too
  kernel<<<1, 4>>>(data.data());
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 6));
}

template <int N, class T>
__global__ void add_n(T* data) {
  data[threadIdx.x] += N;
}

TEST(Launch, TakesTemplatesWithAndWithoutTheirArguments) {
  const device_array<int> data(4, 0);
  add_n<5, int><<<1, 4>>>(data.data());
  add_n<7><<<1, 4>>>(data.data());
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 12));
}

TEST(Streams, KeepTheirOrder) {
  for (const auto policy :
       {stream_policy::eager, stream_policy::deferred, stream_policy::interleaved}) {
    cpu_device::set_stream_policy(policy);
    const device_array<int> data(4, 1);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    add_one<<<1, 4, 0, stream>>>(data.data());
    twice<<<1, 4, 0, stream>>>(data.data());
    add_one<<<1, 4, 0, stream>>>(data.data());
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 5));
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  cpu_device::set_stream_policy(stream_policy::eager);
}

TEST(Streams, RunLateWhenDeferredSoThatAMissingSynchronisationShows) {
  const deferred_streams deferred;
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, sizeof(int)), cudaSuccess);
  *pinned = -1;
  const device_array<int> data(1, 41);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  add_one<<<1, 1, 0, stream>>>(data.data());
  ASSERT_EQ(cudaMemcpyAsync(pinned, data.data(), sizeof(int), cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  EXPECT_EQ(*pinned, -1);  // nobody waited yet
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(*pinned, 42);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Streams, WaitForEventsOfOtherStreams) {
  const deferred_streams deferred;
  const device_array<int> data(4, 1);
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t done = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&done), cudaSuccess);
  add_one<<<1, 4, 0, first>>>(data.data());
  ASSERT_EQ(cudaEventRecord(done, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, done), cudaSuccess);
  twice<<<1, 4, 0, second>>>(data.data());
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(done), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 4));
  EXPECT_EQ(cudaEventDestroy(done), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(first), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(second), cudaSuccess);
}

TEST(Streams, TheDefaultStreamStandsBeforeAndAfterBlockingOnes) {
  const deferred_streams deferred;
  const device_array<int> data(1, 1);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  add_one<<<1, 1, 0, stream>>>(data.data());  // 2
  twice<<<1, 1>>>(data.data());               // 4
  add_one<<<1, 1, 0, stream>>>(data.data());  // 5
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 5);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

/// Two streams, each through copy in, kernel, copy out, submitted one stream after the other. They
/// share one buffer on the device or have one each. Are both results right?
bool two_streams_are_right(bool shared_buffer, unsigned flags, bool second_waits = false) {
  int* pinned = nullptr;
  EXPECT_EQ(cudaMallocHost(&pinned, 4 * sizeof(int)), cudaSuccess);
  pinned[0] = 10, pinned[1] = 20, pinned[2] = pinned[3] = -1;
  const device_array<int> one(1, 0), two(1, 0);
  cudaStream_t streams[2] = {};
  cudaEvent_t first_is_done = nullptr;
  EXPECT_EQ(cudaEventCreate(&first_is_done), cudaSuccess);
  for (int s = 0; s < 2; ++s) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&streams[s], flags), cudaSuccess);
    int* buffer = s == 0 || shared_buffer ? one.data() : two.data();
    if (s == 1 && second_waits) {
      EXPECT_EQ(cudaStreamWaitEvent(streams[s], first_is_done), cudaSuccess);
    }
    EXPECT_EQ(cudaMemcpyAsync(buffer, &pinned[s], sizeof(int), cudaMemcpyDefault, streams[s]),
              cudaSuccess);
    add_one<<<1, 1, 0, streams[s]>>>(buffer);
    EXPECT_EQ(cudaMemcpyAsync(&pinned[2 + s], buffer, sizeof(int), cudaMemcpyDefault, streams[s]),
              cudaSuccess);
    if (s == 0) {
      EXPECT_EQ(cudaEventRecord(first_is_done, streams[s]), cudaSuccess);
    }
  }
  for (cudaStream_t s : streams) EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  const bool right = pinned[2] == 11 && pinned[3] == 21;
  for (cudaStream_t s : streams) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(first_is_done), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  return right;
}

/// A stream policy while it lives.
struct with_policy {
  explicit with_policy(stream_policy policy) { cpu_device::set_stream_policy(policy); }
  ~with_policy() { cpu_device::set_stream_policy(stream_policy::eager); }
};

TEST(Streams, ThatShareABufferAreFoundOutWhenInterleaved) {
  for (const unsigned flags : {unsigned{cudaStreamDefault}, unsigned{cudaStreamNonBlocking}}) {
    for (const auto policy : {stream_policy::eager, stream_policy::deferred}) {
      const with_policy set(policy);
      EXPECT_TRUE(two_streams_are_right(true, flags));
    }
    const with_policy set(stream_policy::interleaved);
    EXPECT_FALSE(two_streams_are_right(true, flags));
    EXPECT_TRUE(two_streams_are_right(false, flags));
    EXPECT_TRUE(two_streams_are_right(true, flags, true));  // the event keeps them apart
  }
}

TEST(Streams, KeepTheDefaultStreamsPlaceWhenInterleaved) {
  const with_policy set(stream_policy::interleaved);
  const device_array<int> data(1, 1);
  cudaStream_t one = nullptr, two = nullptr;
  ASSERT_EQ(cudaStreamCreate(&one), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&two), cudaSuccess);
  add_one<<<1, 1, 0, one>>>(data.data());  // 2
  add_one<<<1, 1, 0, one>>>(data.data());  // 3
  twice<<<1, 1>>>(data.data());            // 6: after all of `one`, before all of `two`
  add_one<<<1, 1, 0, two>>>(data.data());  // 7
  twice<<<1, 1>>>(data.data());            // 14
  add_one<<<1, 1, 0, one>>>(data.data());  // 15
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 15);
  EXPECT_EQ(cudaStreamDestroy(one), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(two), cudaSuccess);
}

TEST(Streams, ThatDoNotExistAreRefused) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  const device_array<int> data(1, 0);
  add_one<<<1, 1, 0, stream>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST(Events, MeasureAndRefuseWhatWasNotRecorded) {
  cudaEvent_t start = nullptr, stop = nullptr, untimed = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorInvalidResourceHandle);
  const device_array<int> data(256, 0);
  ASSERT_EQ(cudaEventRecord(start), cudaSuccess);
  add_one<<<1, 256>>>(data.data());
  ASSERT_EQ(cudaEventRecord(stop), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_GE(ms, 0.0F);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
  for (cudaEvent_t e : {start, stop, untimed}) EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(start), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Events, AreCountedUntilTheyAreDestroyed) {
  const std::size_t before = cpu_device::live_events();
  cudaEvent_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&second), cudaSuccess);
  EXPECT_EQ(cpu_device::live_events(), before + 2);
  EXPECT_EQ(cudaEventDestroy(first), cudaSuccess);
  EXPECT_EQ(cpu_device::live_events(), before + 1);
  EXPECT_EQ(cudaEventDestroy(second), cudaSuccess);
  EXPECT_EQ(cpu_device::live_events(), before);
}

TEST(Events, AreNotReadyBeforeTheirWorkRan) {
  const deferred_streams deferred;
  cudaEvent_t start = nullptr, stop = nullptr;
  ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&stop), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(start), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(stop), cudaSuccess);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorNotReady);
  ASSERT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(start), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(stop), cudaSuccess);
  cudaGetLastError();
}

TEST(Errors, OfAFailedKernelStayUntilTheReset) {
  const device_array<int> data(1, 0);
  std::vector<int> host(1);
  add_one<<<1, 1>>>(host.data());  // reported: a host pointer
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, 16), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&p, 16), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
}

TEST(Devices, AreChosenForEachHostThread) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_GE(count, 2);
  EXPECT_EQ(cudaSetDevice(count), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int elsewhere = -1;
  std::thread([&] { EXPECT_EQ(cudaGetDevice(&elsewhere), cudaSuccess); }).join();
  EXPECT_EQ(elsewhere, 0);
  int here = -1;
  EXPECT_EQ(cudaGetDevice(&here), cudaSuccess);
  EXPECT_EQ(here, 1);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  cudaGetLastError();
}

TEST(Devices, FollowPointersOfTheirPeersOnlyWhenAllowed) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  int* theirs = nullptr;
  ASSERT_EQ(cudaMalloc(&theirs, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMemset(theirs, 0, sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const std::string text = cpu_device_testing::expect_report([&] { add_one<<<1, 1>>>(theirs); },
                                                             cudaErrorIllegalAddress);
  EXPECT_NE(text.find("memory of device 1"), std::string::npos) << text;
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  add_one<<<1, 1>>>(theirs);
  int value = 0;
  ASSERT_EQ(cudaMemcpy(&value, theirs, sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaFree(theirs), cudaSuccess);
  cudaGetLastError();
}

}  // namespace
