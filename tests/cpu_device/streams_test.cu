// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What only the CPU device does with streams and devices: late and interleaved work, destroyed
// handles, errors that a reset clears, pointers of peers. The rest is in stream_order_test.cu,
// errors_test.cu and devices_test.cu.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device::stream_policy;
using cpu_device_testing::device_array;

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }

/// A stream policy while it lives.
struct with_policy {
  explicit with_policy(stream_policy policy) { cpu_device::set_stream_policy(policy); }
  ~with_policy() { cpu_device::set_stream_policy(stream_policy::eager); }
};

TEST(Streams, RunLateWhenDeferredSoThatAMissingSynchronisationShows) {
  const with_policy set(stream_policy::deferred);
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

__global__ void wait_for(volatile int* flag, int* seen) {
  while (*flag == 0) {
  }
  *seen = *flag;
}

// In eager order a kernel has ended before the host goes on, and this one never would.
TEST(Streams, LetAKernelWaitForWhatTheHostSetsBeforeItSynchronisesWhenDeferred) {
  const with_policy set(stream_policy::deferred);
  int* flag = nullptr;
  ASSERT_EQ(cudaHostAlloc(&flag, 2 * sizeof(int), cudaHostAllocMapped), cudaSuccess);
  flag[0] = flag[1] = 0;
  int* mapped = nullptr;
  ASSERT_EQ(cudaHostGetDevicePointer(&mapped, flag, 0), cudaSuccess);
  wait_for<<<1, 1>>>(mapped, mapped + 1);
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  flag[0] = 3;  // the kernel has not begun
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flag[1], 3);
  EXPECT_EQ(cudaFreeHost(flag), cudaSuccess);
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

/// One stream doubles what the other one has copied. Does it get the copy, without an event?
bool reader_is_right(bool reader_is_newer, bool with_event) {
  int* pinned = nullptr;
  EXPECT_EQ(cudaMallocHost(&pinned, sizeof(int)), cudaSuccess);
  *pinned = 20;
  const device_array<int> data(1, 0);
  cudaEvent_t copied = nullptr;
  EXPECT_EQ(cudaEventCreate(&copied), cudaSuccess);
  cudaStream_t streams[2] = {};
  for (cudaStream_t& s : streams)
    EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
  const cudaStream_t writer = streams[reader_is_newer ? 0 : 1];
  const cudaStream_t reader = streams[reader_is_newer ? 1 : 0];
  EXPECT_EQ(cudaMemcpyAsync(data.data(), pinned, sizeof(int), cudaMemcpyHostToDevice, writer),
            cudaSuccess);
  if (with_event) {
    EXPECT_EQ(cudaEventRecord(copied, writer), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(reader, copied, 0), cudaSuccess);
  }
  add_one<<<1, 1, 0, reader>>>(data.data());
  for (const cudaStream_t s : streams) EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  const bool right = data.to_host()[0] == 21;
  for (const cudaStream_t s : streams) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(copied), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  return right;
}

TEST(Streams, ThatDoNotWaitAreFoundOutWhenTheyComeFirst) {
  for (const auto policy : {stream_policy::newest_first, stream_policy::oldest_first}) {
    const with_policy set(policy);
    const bool newest = policy == stream_policy::newest_first;
    EXPECT_EQ(reader_is_right(true, false), !newest);
    EXPECT_EQ(reader_is_right(false, false), newest);
    for (const bool reader_is_newer : {false, true})
      EXPECT_TRUE(reader_is_right(reader_is_newer, true));
  }
}

/// The host copies 20 from pageable memory and changes that at once; then a kernel adds 1.
int twenty_and_one(unsigned flags, bool host_waits) {
  const device_array<int> data(1, 0);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
  int value = 20;
  EXPECT_EQ(cudaMemcpy(data.data(), &value, sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
  value = 5;
  if (host_waits) {
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  add_one<<<1, 1, 0, stream>>>(data.data());
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  return data.to_host()[0];
}

TEST(Streams, MustWaitForACopyOfPageableMemoryThatHasReturned) {
  for (const auto policy : {stream_policy::eager, stream_policy::deferred,
                            stream_policy::interleaved, stream_policy::newest_first}) {
    const with_policy set(policy);
    EXPECT_EQ(twenty_and_one(cudaStreamDefault, false), 21);  // it waits for the default stream
    EXPECT_EQ(twenty_and_one(cudaStreamNonBlocking, true), 21);
    if (policy == stream_policy::deferred || policy == stream_policy::newest_first) {
      EXPECT_EQ(twenty_and_one(cudaStreamNonBlocking, false), 20);  // the copy comes last
    }
  }
}

// Who destroys a stream and does not wait for it first has not waited for its work.
TEST(Streams, AreNotWaitedForWhenTheyAreDestroyed) {
  for (const stream_policy policy : {stream_policy::deferred, stream_policy::interleaved,
                                     stream_policy::newest_first, stream_policy::oldest_first}) {
    const with_policy set(policy);
    int* pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, sizeof(int)), cudaSuccess);
    *pinned = -1;
    const device_array<int> data(1, 41);
    const auto live = [] { return cpu_device::live_objects(cpu_device::object_kind::stream); };
    cudaStream_t stream = nullptr, other = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
    cudaEvent_t done = nullptr;
    ASSERT_EQ(cudaEventCreate(&done), cudaSuccess);
    add_one<<<1, 1, 0, stream>>>(data.data());
    ASSERT_EQ(cudaMemcpyAsync(pinned, data.data(), sizeof(int), cudaMemcpyDeviceToHost, stream),
              cudaSuccess);
    ASSERT_EQ(cudaEventRecord(done, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(*pinned, -1);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(live(), 1U);  // the other one

    ASSERT_EQ(cudaStreamWaitEvent(other, done), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(other), cudaSuccess);
    EXPECT_EQ(*pinned, 42);
    EXPECT_EQ(cudaEventDestroy(done), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
    EXPECT_EQ(live(), 0U);
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  }
}

TEST(Streams, ThatWereDestroyedAreFinishedByTheDevicesSynchronisation) {
  const with_policy set(stream_policy::deferred);
  const device_array<int> data(1, 0);
  for (int i = 0; i < 3; ++i) {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    add_one<<<1, 1, 0, stream>>>(data.data());
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 3);
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

TEST(Events, AreCountedUntilTheyAreDestroyed) {
  const std::size_t before = cpu_device::live_objects(cpu_device::object_kind::event);
  cudaEvent_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&second), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::event), before + 2);
  EXPECT_EQ(cudaEventDestroy(first), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::event), before + 1);
  EXPECT_EQ(cudaEventDestroy(second), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::event), before);
  EXPECT_EQ(cudaEventDestroy(second), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(Events, AreDestroyedWithoutAWait) {
  const with_policy set(stream_policy::deferred);
  const std::size_t before = cpu_device::live_objects(cpu_device::object_kind::event);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, sizeof(int)), cudaSuccess);
  *pinned = -1;
  const device_array<int> data(1, 41);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t event = nullptr, another = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(pinned, data.data(), sizeof(int), cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
  EXPECT_EQ(*pinned, -1);
  ASSERT_EQ(cudaEventCreate(&another), cudaSuccess);
  EXPECT_NE(another, event) << "the queued record would be taken for the new event's";
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(*pinned, 41);
  EXPECT_EQ(cudaEventDestroy(another), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::event), before);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
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

TEST(Devices, ReachTheMemoryOfTheirGroup) {
  int count = 0, can = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  for (const unsigned group : {1U, 2U, 3U, 0U, 1000U}) {
    cpu_device::set_peer_group(group);
    for (int device = 0; device < count; ++device)
      for (int peer = 0; peer < count; ++peer) {
        const unsigned size = group == 0 ? 1000 : group;
        const bool together =
            static_cast<unsigned>(device) / size == static_cast<unsigned>(peer) / size;
        ASSERT_EQ(cudaDeviceCanAccessPeer(&can, device, peer), cudaSuccess);
        EXPECT_EQ(can, device != peer && together) << device << ", " << peer << ", " << group;
      }
  }
  cpu_device::set_peer_group(1);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  cudaGetLastError();
  cpu_device::set_peer_group(0);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
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
