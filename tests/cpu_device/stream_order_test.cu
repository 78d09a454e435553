// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What streams and events promise: which work comes after which, and how its end is reported. Runs
// on the CPU device and on a GPU.

#include <atomic>
#include <cstdlib>
#include <thread>

#include "conformance.hpp"

namespace {

using conformance::device_array;
using conformance::in_every_policy;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }
__global__ void times(int* data, int n) { data[threadIdx.x] *= n; }

// A GPU has a number of queues for its streams. With fewer of them than streams, work of one stream
// waits for another's, which no stream promises, and which these tests would take for stream order.
[[maybe_unused]] const int more_queues = setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);

/// Ends when the host says so, or after a time limit: a test that is wrong must not hang.
__global__ void wait_for(const volatile int* open, long long patience) {
  const long long start = clock64();
  while (*open == 0 && clock64() - start < patience) {
  }
}

/// A GPU may load a kernel at its first launch, and waits for running ones to do so.
template <class... Kernels>
void load(Kernels*... kernels) {
  cudaFuncAttributes attributes;
  for (const cudaError_t status : {cudaFuncGetAttributes(&attributes, kernels)...})
    EXPECT_EQ(status, cudaSuccess);
}

/// Work that is not over before open(). Allocate before: that may wait for the device.
///
/// On a GPU it is a kernel that waits for a flag of the host. The CPU device begins a kernel only
/// when somebody waits for it, or asks, and then runs it to its end: there, streams are deferred,
/// and a stream that was asked has done one piece of its work.
class gate {
 public:
  gate() {
    load(add, times, wait_for);
    EXPECT_EQ(cudaHostAlloc(&is_open_, sizeof(int), cudaHostAllocMapped), cudaSuccess);
    *is_open_ = 0;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
#ifdef __CPU_DEVICE__
    *is_open_ = 1;
    cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
#endif
  }
  ~gate() {
    open();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(is_open_), cudaSuccess);
#ifdef __CPU_DEVICE__
    cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
#endif
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  void close(cudaStream_t stream) {
    wait_for<<<1, 1, 0, stream>>>(is_open_, 20'000'000'000);  // about ten seconds
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  void open() { *const_cast<volatile int*>(is_open_) = 1; }

 private:
  int* is_open_ = nullptr;
};

struct stream {
  cudaStream_t handle = nullptr;
  explicit stream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&handle, flags), cudaSuccess);
  }
  ~stream() { EXPECT_EQ(cudaStreamDestroy(handle), cudaSuccess); }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  operator cudaStream_t() const { return handle; }
};

struct event {
  cudaEvent_t handle = nullptr;
  explicit event(unsigned flags = cudaEventDefault) {
    EXPECT_EQ(cudaEventCreateWithFlags(&handle, flags), cudaSuccess);
  }
  ~event() { EXPECT_EQ(cudaEventDestroy(handle), cudaSuccess); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  operator cudaEvent_t() const { return handle; }
};

// --- the order of a stream ----------------------------------------------------------------------

TEST(Streams, KeepTheirOrder) {
  in_every_policy([] {
    const device_array<int> data(4, 1);
    const stream s;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int round = 0; round < 3; ++round) {
      add<<<1, 4, 0, s>>>(data.data(), 1);
      times<<<1, 4, 0, s>>>(data.data(), 2);
    }
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 22));
  });
}

TEST(Streams, AreBusyUntilTheirWorkIsDone) {
  const stream s;
  gate g;
  EXPECT_EQ(cudaStreamQuery(s), cudaSuccess);
  g.close(s);
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);  // "not ready" is an answer and no error
  g.open();
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(s), cudaSuccess);
}

TEST(Streams, AreAllWaitedForByTheDevicesSynchronisation) {
  in_every_policy([] {
    const stream a, b(cudaStreamDefault);
    int* counts = nullptr;  // read by the host as soon as the call returns
    ASSERT_EQ(cudaHostAlloc(&counts, 3 * sizeof(int), cudaHostAllocMapped), cudaSuccess);
    counts[0] = counts[1] = counts[2] = 0;
    for (int i = 0; i < 50; ++i) {
      add<<<1, 1, 0, a>>>(counts, 1);
      add<<<1, 1, 0, b>>>(counts + 1, 1);
      add<<<1, 1>>>(counts + 2, 1);
    }
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(counts[i], 50);
    EXPECT_EQ(cudaFreeHost(counts), cudaSuccess);
  });
}

TEST(Streams, FinishTheirWorkAfterTheyAreDestroyed) {
  const device_array<int> data(1, 1);
  gate g;
  cudaStream_t s = nullptr;
  ASSERT_EQ(cudaStreamCreate(&s), cudaSuccess);
  g.close(s);
  add<<<1, 1, 0, s>>>(data.data(), 41);
  EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  g.open();
  EXPECT_EQ(data.to_host()[0], 42);
}

TEST(Streams, TakeWorkOfSeveralHostThreads) {
  in_every_policy([] {
    const device_array<int> data(4, 0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        const stream mine;
        for (int i = 0; i < 50; ++i) add<<<1, 1, 0, mine>>>(data.data() + t, t + 1);
        EXPECT_EQ(cudaStreamSynchronize(mine), cudaSuccess);
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(data.to_host(), (std::vector<int>{50, 100, 150, 200}));
  });
}

// --- the default stream -------------------------------------------------------------------------

TEST(DefaultStream, StandsBetweenTheWorkOfBlockingStreams) {
  in_every_policy([] {
    const device_array<int> data(1, 1);
    const stream one(cudaStreamDefault), two(cudaStreamDefault);
    add<<<1, 1, 0, one>>>(data.data(), 1);
    add<<<1, 1, 0, one>>>(data.data(), 1);  // 3
    times<<<1, 1>>>(data.data(), 2);        // 6: after all of `one`, before all of `two`
    add<<<1, 1, 0, two>>>(data.data(), 1);  // 7
    times<<<1, 1>>>(data.data(), 2);        // 14
    add<<<1, 1, 0, one>>>(data.data(), 1);  // 15
    ASSERT_EQ(cudaStreamSynchronize(one), cudaSuccess);
    EXPECT_EQ(data.to_host()[0], 15);
  });
}

TEST(DefaultStream, WaitsForBlockingStreamsAndTheyForIt) {
  const device_array<int> data(1, 1), other(1, 1);
  const stream one(cudaStreamDefault), two(cudaStreamDefault), side;
  gate g;
  g.close(one);
  add<<<1, 1, 0, one>>>(data.data(), 1);  // 2
  times<<<1, 1>>>(data.data(), 10);       // 20
  add<<<1, 1, 0, two>>>(data.data(), 3);  // 23
  add<<<1, 1, 0, side>>>(other.data(), 1);
  EXPECT_EQ(cudaStreamSynchronize(side), cudaSuccess);  // waits for none of them
  EXPECT_EQ(cudaStreamQuery(one), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(two), cudaErrorNotReady);
  g.open();
  EXPECT_EQ(cudaStreamSynchronize(two), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 23);
  EXPECT_EQ(other.to_host()[0], 2);
}

TEST(DefaultStream, HoldsUpBlockingStreamsOnly) {
  const device_array<int> data(1, 1), other(1, 1);
  const stream blocking(cudaStreamDefault), side;
  gate g;
  g.close(cudaStreamLegacy);
  times<<<1, 1, 0, cudaStreamLegacy>>>(data.data(), 10);  // 10
  add<<<1, 1, 0, blocking>>>(data.data(), 1);             // 11
  add<<<1, 1, 0, side>>>(other.data(), 1);
  EXPECT_EQ(cudaStreamSynchronize(side), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(cudaStreamLegacy), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(blocking), cudaErrorNotReady);
  g.open();
  EXPECT_EQ(data.to_host()[0], 11);
}

TEST(DefaultStream, HasHandles) {
  in_every_policy([] {
    const device_array<int> data(1, 1);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    add<<<1, 1, 0, cudaStreamPerThread>>>(data.data(), 1);
    add<<<1, 1, 0, cudaStreamLegacy>>>(data.data(), 1);  // a thread's own stream is a blocking one
    times<<<1, 1, 0, cudaStreamPerThread>>>(data.data(), 5);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamPerThread), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
    EXPECT_EQ(data.to_host()[0], 15);
  });
}

// --- streams' properties ------------------------------------------------------------------------

TEST(Streams, RefuseFlagsThatAreNone) {
  cudaStream_t s = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&s, 0x10), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamCreateWithFlags(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(Streams, KnowTheirDeviceAndFlags) {
  const stream plain(cudaStreamDefault), side(cudaStreamNonBlocking);
  unsigned flags = 99;
  EXPECT_EQ(cudaStreamGetFlags(plain, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamDefault);
  EXPECT_EQ(cudaStreamGetFlags(side, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamNonBlocking);
#if CUDART_VERSION >= 12080
  int device = -1;
  EXPECT_EQ(cudaStreamGetDevice(side, &device), cudaSuccess);
  EXPECT_EQ(device, 0);
#endif
}

// --- events -------------------------------------------------------------------------------------

TEST(Events, HoldUpTheStreamsThatWaitForThem) {
  const device_array<int> data(4, 1);
  const stream first, second;
  const event done;
  gate g;
  g.close(first);
  add<<<1, 4, 0, first>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(done, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, done, 0), cudaSuccess);
  times<<<1, 4, 0, second>>>(data.data(), 2);
  EXPECT_EQ(cudaEventQuery(done), cudaErrorNotReady);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  g.open();
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(done), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 4));
}

TEST(Events, AreWaitedForAsTheyWereRecordedBeforeTheWait) {
  const device_array<int> data(4, 1);
  const stream first, second, third;
  const event e;
  gate g;
  g.close(first);
  add<<<1, 4, 0, first>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(e, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, e, 0), cudaSuccess);
  times<<<1, 4, 0, second>>>(data.data(), 2);
  ASSERT_EQ(cudaEventRecord(e, third), cudaSuccess);  // from now on it is the idle stream's
  EXPECT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  g.open();
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 4));
}

TEST(Events, AreNotReadyAgainAfterTheyAreRecordedAgain) {
  const stream s;
  const event e;
  gate g;
  ASSERT_EQ(cudaEventRecord(e, s), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  g.close(s);
  ASSERT_EQ(cudaEventRecord(e, s), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaErrorNotReady);
  g.open();
  EXPECT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
}

TEST(Events, ThatWereNeverRecordedAreOver) {
  const stream s;
  const event e, other;
  EXPECT_EQ(cudaEventQuery(e), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(s, e, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, e, other), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaEventRecord(e, s), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(e), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, e, other), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, other, e), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

TEST(Events, CanBeDestroyedWhileAStreamWaitsForThem) {
  const device_array<int> data(1, 1);
  const stream first, second;
  gate g;
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreate(&e), cudaSuccess);
  g.close(first);
  add<<<1, 1, 0, first>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(e, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, e, 0), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
  times<<<1, 1, 0, second>>>(data.data(), 2);
  g.open();
  EXPECT_EQ(data.to_host()[0], 4);
}

TEST(Events, MeasureTheTimeBetweenThem) {
  const device_array<int> data(256, 0);
  const stream s;
  const event start, stop, untimed(cudaEventDisableTiming);
  gate g;
  float ms = -1;
  ASSERT_EQ(cudaEventRecord(start, s), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(start), cudaSuccess);
  g.close(s);
  for (int i = 0; i < 20; ++i) add<<<1, 256, 0, s>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(stop, s), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(untimed, s), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorNotReady);
  EXPECT_EQ(cudaEventElapsedTime(&ms, stop, start), cudaErrorNotReady);
  cudaGetLastError();
  g.open();
  ASSERT_EQ(cudaEventSynchronize(untimed), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_GT(ms, 0.0F);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(nullptr, start, stop), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Events, HaveFlags) {
  const event blocking(cudaEventBlockingSync);
  const event shared(cudaEventInterprocess | cudaEventDisableTiming);
  ASSERT_EQ(cudaEventRecord(blocking), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(blocking), cudaSuccess);
  cudaEvent_t e = nullptr;
  EXPECT_EQ(cudaEventCreateWithFlags(&e, 0x80), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreateWithFlags(&e, cudaEventInterprocess), cudaErrorInvalidValue);
  EXPECT_EQ(cudaEventCreate(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

// --- functions of the host ----------------------------------------------------------------------

struct call_record {
  std::atomic<int> calls{0};
  int* data = nullptr;
  int seen = -1;
};

TEST(HostFunctions, RunBetweenTheWorkBeforeAndAfterThem) {
  int* data = nullptr;
  ASSERT_EQ(cudaHostAlloc(&data, sizeof(int), cudaHostAllocMapped), cudaSuccess);
  *data = 1;
  call_record record;
  record.data = data;
  {
    const stream s;
    gate g;
    g.close(s);
    add<<<1, 1, 0, s>>>(data, 1);  // 2
    ASSERT_EQ(cudaLaunchHostFunc(
                  s,
                  [](void* p) {
                    auto* r = static_cast<call_record*>(p);
                    ++r->calls;
                    r->seen = *r->data;
                    *r->data += 10;  // 12
                  },
                  &record),
              cudaSuccess);
    times<<<1, 1, 0, s>>>(data, 2);  // 24
    EXPECT_EQ(cudaStreamQuery(s), cudaErrorNotReady);
    EXPECT_EQ(record.calls, 0);
    g.open();
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(record.calls, 1);
    EXPECT_EQ(record.seen, 2);
    EXPECT_EQ(*data, 24);
    EXPECT_EQ(cudaLaunchHostFunc(s, nullptr, nullptr), cudaErrorInvalidValue);
    cudaGetLastError();
  }
  EXPECT_EQ(cudaFreeHost(data), cudaSuccess);
}

}  // namespace
