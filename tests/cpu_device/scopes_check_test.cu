// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// How far fences and atomics reach, as the check build sees it: block scope between blocks, and
// volatile in place of a fence, are reported with both places; the correct twins are silent.
// This file is compiled the way the check build compiles kernels.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cuda/atomic>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::in_every_order;

template <class Body>
std::string said_by(Body body) {
  const std::size_t before = cpu_device::report_count();
  body();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() == before ? "" : cpu_device::last_report();
}

void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

std::string at(int line) { return " at scopes_check_test.cu:" + std::to_string(line); }

// --- atomics of block scope ---------------------------------------------------------------------

constexpr int kCountLine = __LINE__ + 1;
__global__ void count(int* counter) { atomicAdd_block(counter, 1); }
__global__ void count_of_block(int* counters) { atomicAdd_block(&counters[blockIdx.x], 1); }
__global__ void count_in_shared(int* out) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd_block(&mine, 1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(out, mine);
}

TEST(BlockScope, OfAnAtomicIsTooNarrowBetweenBlocks) {
  const device_array<int> counter(1, 0);
  expect_parts(said_by([&] { count<<<4, 64>>>(counter.data()); }),
               {"scope too narrow: race on global memory in kernel count", at(kCountLine),
                "for its block only", " of block (", "without _block"});
}

TEST(BlockScope, OfAnAtomicIsRightWithinABlock) {
  in_every_order([] {
    const device_array<int> counters(8, 0);
    EXPECT_EQ(said_by([&] {
                count_of_block<<<8, 64>>>(counters.data());
                count<<<1, 64>>>(counters.data());
                count_in_shared<<<8, 64>>>(counters.data());
              }),
              "");
    EXPECT_EQ(counters.to_host()[0], 64 + 64 + 512);
  });
}

template <cuda::thread_scope Scope>
__global__ void count_by_reference(int* counter, bool swap) {
  const cuda::atomic_ref<int, Scope> shared(*counter);
  if (swap) {
    int seen = shared.load(cuda::std::memory_order_relaxed);
    while (!shared.compare_exchange_weak(seen, seen + 1, cuda::std::memory_order_relaxed)) {
    }
  } else {
    shared.fetch_add(1, cuda::std::memory_order_relaxed);
  }
}

TEST(BlockScope, OfAReferenceIsTooNarrowBetweenBlocks) {
  for (const bool swap : {false, true}) {
    const device_array<int> counter(1, 0);
    EXPECT_EQ(said_by([&] {
                count_by_reference<cuda::thread_scope_device><<<4, 64>>>(counter.data(), swap);
                count_by_reference<cuda::thread_scope_block><<<1, 64>>>(counter.data(), swap);
              }),
              "");
    EXPECT_EQ(counter.to_host()[0], 5 * 64);
    expect_parts(said_by([&] {
                   count_by_reference<cuda::thread_scope_block><<<4, 64>>>(counter.data(), swap);
                 }),
                 {"scope too narrow", "cuda::thread_scope_device"});
  }
}

// --- fences of block scope ----------------------------------------------------------------------

enum class fence { none, of_block, of_device };

template <fence kKind>
__device__ void put_fence() {
  if constexpr (kKind == fence::of_block) __threadfence_block();
  if constexpr (kKind == fence::of_device) __threadfence();
}

constexpr int kPartialLine = __LINE__ + 5;
template <fence kBefore, fence kAfter>
__global__ void last_block_sums(int* partial, unsigned* arrived, int* out) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    put_fence<kBefore>();
    is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  put_fence<kAfter>();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
  *out = sum;
}

TEST(BlockScope, OfAFenceIsTooNarrowBetweenBlocks) {
  const device_array<int> partial(32, 0), out(1, 0);
  const device_array<unsigned> arrived(1, 0);
  in_every_order([&] {
    EXPECT_EQ(said_by([&] {
                last_block_sums<fence::of_device, fence::of_device>
                    <<<32, 32>>>(partial.data(), arrived.data(), out.data());
              }),
              "");
    EXPECT_EQ(out.to_host()[0], 32);
  });
  expect_parts(
      said_by([&] {
        last_block_sums<fence::of_block, fence::of_block>
            <<<32, 32>>>(partial.data(), arrived.data(), out.data());
      }),
      {"scope too narrow: race on global memory in kernel last_block_sums", at(kPartialLine),
       at(kPartialLine + 8), "__threadfence_block()", "__threadfence()"});
}

template <cuda::thread_scope Scope>
__global__ void hand_over(int* data, int* flag, int* out) {
  const cuda::atomic_ref<int, Scope> ready(*flag);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *data = 42;
    ready.store(1, cuda::std::memory_order_release);
  } else if (threadIdx.x == 32) {
    while (ready.load(cuda::std::memory_order_acquire) == 0) __nanosleep(10);
    out[blockIdx.x] = *data;
  }
}

TEST(BlockScope, OfAReleaseIsTooNarrowBetweenBlocks) {
  const auto run = [](auto launch) {
    const device_array<int> data(1, 0), flag(1, 0), out(2, 0);
    const std::string text = said_by([&] { launch(data.data(), flag.data(), out.data()); });
    EXPECT_EQ(out.to_host()[0], 42);
    return text;
  };
  EXPECT_EQ(run([](int* data, int* flag, int* out) {
              hand_over<cuda::thread_scope_device><<<2, 64>>>(data, flag, out);
            }),
            "");
  EXPECT_EQ(run([](int* data, int* flag, int* out) {
              hand_over<cuda::thread_scope_block><<<1, 64>>>(data, flag, out);
            }),
            "");
  expect_parts(run([](int* data, int* flag, int* out) {
                 hand_over<cuda::thread_scope_block><<<2, 64>>>(data, flag, out);
               }),
               {"scope too narrow", "thread_scope_block"});
}

__global__ void hand_over_in_block(int* out) {
  __shared__ int data, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42;
    __threadfence_block();
    atomicExch_block(&flag, 1);
  } else if (threadIdx.x == 40) {
    while (atomicAdd_block(&flag, 0) == 0) __nanosleep(10);
    __threadfence_block();
    out[blockIdx.x] = data;
  }
}

TEST(BlockScope, IsRightWithinABlock) {
  in_every_order([] {
    const device_array<int> out(4, 0);
    EXPECT_EQ(said_by([&] { hand_over_in_block<<<4, 64>>>(out.data()); }), "");
    EXPECT_EQ(out.to_host(), std::vector<int>(4, 42));
  });
}

/// A device-scope lock, with a block-scope atomic in its critical section.
__global__ void lock_and_count(int* lock, int* sum, int* of_block) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
  atomicAdd_block(&of_block[blockIdx.x], 1);
  __threadfence();
  *sum += 1;
  __threadfence();
  atomicAdd_block(&of_block[blockIdx.x], 1);
  atomicExch(lock, 0);
}

TEST(BlockScope, BesideALockOfDeviceScopeIsSilent) {
  in_every_order([] {
    const device_array<int> lock(1, 0), sum(1, 0), of_block(16, 0);
    EXPECT_EQ(
        said_by([&] { lock_and_count<<<16, 32>>>(lock.data(), sum.data(), of_block.data()); }), "");
    EXPECT_EQ(sum.to_host()[0], 16);
  });
}

// --- look-back ----------------------------------------------------------------------------------

/// Each block waits for the sum of the block before it, and passes its own on.
template <fence kKind>
__global__ void running_sums(unsigned* tickets, volatile int* ready, int* sums) {
  __shared__ unsigned ticket;
  if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1U);
  __syncthreads();
  if (threadIdx.x != 0) return;
  int before = 0;
  if (ticket > 0) {
    while (ready[ticket - 1] == 0) __nanosleep(10);
    put_fence<kKind>();
    before = sums[ticket - 1];
  }
  sums[ticket] = before + 1;
  put_fence<kKind>();
  ready[ticket] = 1;
}

__global__ void running_sums_by_reference(unsigned* tickets, int* ready, int* sums) {
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(tickets, 1U);
  int before = 0;
  if (ticket > 0) {
    const cuda::atomic_ref<int, cuda::thread_scope_device> theirs(ready[ticket - 1]);
    while (theirs.load(cuda::std::memory_order_acquire) == 0) {
    }
    before = sums[ticket - 1];
  }
  sums[ticket] = before + 1;
  cuda::atomic_ref<int, cuda::thread_scope_device>(ready[ticket])
      .store(1, cuda::std::memory_order_release);
}

TEST(LookBack, WithFencesIsSilent) {
  in_every_order([] {
    for (const bool by_reference : {false, true}) {
      const device_array<unsigned> tickets(1, 0);
      const device_array<int> ready(200, 0), sums(200, 0);
      EXPECT_EQ(said_by([&] {
                  if (by_reference)
                    running_sums_by_reference<<<200, 32>>>(tickets.data(), ready.data(),
                                                           sums.data());
                  else
                    running_sums<fence::of_device>
                        <<<200, 32>>>(tickets.data(), ready.data(), sums.data());
                }),
                "");
      EXPECT_EQ(sums.to_host()[199], 200);
    }
  });
}

TEST(Volatile, InPlaceOfAFenceIsReported) {
  const device_array<unsigned> tickets(1, 0);
  const device_array<int> ready(200, 0), sums(200, 0);
  expect_parts(
      said_by([&] {
        running_sums<fence::none><<<200, 32>>>(tickets.data(), ready.data(), sums.data());
      }),
      {"race on global memory in kernel running_sums", "volatile makes the compiler access",
       "__threadfence()", "scopes_check_test.cu:", " of block ("});
}

TEST(Volatile, WithAFenceOfBlockScopeIsReported) {
  const device_array<unsigned> tickets(1, 0);
  const device_array<int> ready(200, 0), sums(200, 0);
  expect_parts(said_by([&] {
                 running_sums<fence::of_block>
                     <<<200, 32>>>(tickets.data(), ready.data(), sums.data());
               }),
               {"scope too narrow", "__threadfence_block()"});
}

__global__ void count_volatile(volatile int* counter) {
  if (threadIdx.x == 0) {
    __threadfence();
    *counter = *counter + 1;
  }
}

TEST(Volatile, InPlaceOfAnAtomicIsReported) {
  const device_array<int> counter(1, 0);
  expect_parts(said_by([&] { count_volatile<<<16, 32>>>(counter.data()); }),
               {"race on global memory", "Try: an atomic function"});
}

__global__ void opposite(int* out) {
  __shared__ volatile int cache[128];
  cache[threadIdx.x] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = cache[(threadIdx.x + 64) % 128];
}

TEST(Volatile, InPlaceOfABarrierIsReported) {
  const device_array<int> out(128, 0);
  expect_parts(said_by([&] { opposite<<<1, 128>>>(out.data()); }),
               {"race on shared memory", "(volatile)", "__syncthreads()"});
}

__global__ void warp_sum(const int* in, int* out, bool with_syncwarp) {
  __shared__ volatile int cache[64];
  const unsigned i = threadIdx.x;
  cache[i] = in[i];
  __threadfence_block();
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    if (with_syncwarp) __syncwarp();
    const int mine = cache[i] + cache[i + offset];
    if (with_syncwarp) __syncwarp();
    cache[i] = mine;
  }
  out[i] = cache[i];
}

TEST(Volatile, DoesNotKeepAWarpInStep) {
  const device_array<int> in(32, 1), out(32, 0);
  expect_parts(said_by([&] { warp_sum<<<1, 32>>>(in.data(), out.data(), false); }),
               {"race on shared memory", "__syncwarp()"});
}

}  // namespace

#else

TEST(Scopes, OfTheCheckBuildAreNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the check build and AddressSanitizer cannot be combined";
}

#endif
