// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build finds beyond races of plain accesses: memory of the other side, locks
// without fences, textures of memory that changes. Each wrong kernel is reported with its places,
// and its correct twin is silent; so is everything else that correct programs do. This file is
// compiled the way the check build compiles kernels.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <cuda/atomic>
#include <memory>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;
namespace cg = cooperative_groups;

/// What is reported while `body` runs; empty if nothing is.
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

std::string at(const char* what, int line) {
  return std::string(what) + " at findings_check_test.cu:" + std::to_string(line);
}

// --- a local array where __shared__ was forgotten -----------------------------------------------

#ifndef __clang__  // which does not say what a thread does with an array of its own
constexpr int kOwnTileLine = __LINE__ + 2;
__global__ void reverse_through_own_tile(int* data) {
  int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void reverse_through_shared_tile(int* data) {
  __shared__ int tile[64];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[63 - threadIdx.x];
}

TEST(LocalArray, ThatShouldHaveBeenSharedIsNamed) {
  in_every_order([] {
    const device_array<int> data(64, 5);
    const std::string text =
        expect_report([&] { reverse_through_own_tile<<<1, 64>>>(data.data()); }, cudaErrorUnknown);
    expect_parts(text,
                 {" of its copy of tile", at("", kOwnTileLine + 3), "which it has not written",
                  "declared at findings_check_test.cu:" + std::to_string(kOwnTileLine),
                  "Try: __shared__", "kernel reverse_through_own_tile"});
  });
  const device_array<int> data(64, 5);
  EXPECT_EQ(said_by([&] { reverse_through_shared_tile<<<1, 64>>>(data.data()); }), "");
}

constexpr int kOwnSumsLine = __LINE__ + 2;
__global__ void read_what_the_first_has_written(int* out) {
  int sums[2];
  if (threadIdx.x == 0) sums[0] = sums[1] = 7;
  __syncthreads();
  out[threadIdx.x] = sums[threadIdx.x % 2];
}

TEST(LocalArray, WrittenByOneThreadForAllIsNamed) {
  in_every_order([] {
    const device_array<int> out(64, 0);
    expect_parts(expect_report([&] { read_what_the_first_has_written<<<1, 64>>>(out.data()); },
                               cudaErrorUnknown),
                 {" of its copy of sums", at("", kOwnSumsLine + 3), "Try: __shared__"});
  });
}
#endif

// Four elements for each thread, which loads all of them first. Missing elements are not loaded;
// their variables are copied, but not used.
__global__ void copy_by_way_of_registers(const int* from, int* to, unsigned width) {
  __shared__ int tile[4][64];
  int loaded[4];
  for (unsigned i = 0; i < 4; ++i)
    if (64 * i + threadIdx.x < width) loaded[i] = from[64 * i + threadIdx.x];
  for (unsigned i = 0; i < 4; ++i) tile[i][threadIdx.x] = loaded[i];
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i)
    if (64 * i + threadIdx.x < width) to[64 * i + threadIdx.x] = tile[i][threadIdx.x];
}

TEST(LocalArray, OfWhichThreadsAtTheBorderWriteLessIsNotMentioned) {
  in_every_order([] {
    for (const unsigned width : {1u, 40u, 64u, 65u, 70u, 200u, 256u}) {
      const device_array<int> from(width, 5), to(width, 0);
      EXPECT_EQ(
          said_by([&] { copy_by_way_of_registers<<<1, 64>>>(from.data(), to.data(), width); }), "")
          << width;
      EXPECT_EQ(to.to_host(), std::vector<int>(width, 5));
    }
  });
}

template <class T>
__device__ void swap_rows(T* data) {
  T row[2][4], *unused = nullptr;
  for (int i = 0; i < 8; ++i) row[i / 4][i % 4] = data[8 * threadIdx.x + i];
  __syncthreads();
  for (int i = 0; i < 8; ++i)
    if (unused == nullptr) data[8 * threadIdx.x + i] = row[1 - i / 4][i % 4];
}
struct pair {
  int a = 1, b = 2;
};
__global__ void use_own_arrays(int* data, int* out) {
  swap_rows(data);
  pair known[3];  // initialised, though nobody sees by what
  __syncthreads();
  if (threadIdx.x == 1) known[0].a = 3;
  for (int round = 0; round < 2; ++round) {
    int some[2];  // a new one in each round
    some[threadIdx.x % 2] = round;
    __syncthreads();
    out[threadIdx.x] = some[threadIdx.x % 2] + known[0].a;
  }
}

TEST(LocalArray, OfOneThreadsOwnUseIsNotMentioned) {
  in_every_order([] {
    const device_array<int> data(8 * 33, 5), out(33, 0);
    EXPECT_EQ(said_by([&] { use_own_arrays<<<1, 33>>>(data.data(), out.data()); }), "");
    EXPECT_EQ(out.to_host()[1], 1 + 3);
    EXPECT_EQ(out.to_host()[2], 1 + 1);
  });
}

// --- host memory in kernels ---------------------------------------------------------------------

struct view {
  int* data;
};

constexpr int kFollowLine = __LINE__ + 2;
__global__ void follow(view in, int* out) {
  if (threadIdx.x == 3) out[blockIdx.x] = in.data[blockIdx.x] + 1;
}
constexpr int kStoreLine = __LINE__ + 1;
__global__ void store(view to) { to.data[threadIdx.x] = 1; }

TEST(HostMemory, ReadByAKernelIsReported) {
  std::vector<int> host(4, 7);
  const device_array<int> out(1, 0);
  const std::string text = expect_report([&] { follow<<<1, 32>>>(view{host.data()}, out.data()); },
                                         cudaErrorIllegalAddress);
  expect_parts(text, {"thread (3,0,0) reads host memory (malloc, new, std::vector",
                      at("", kFollowLine), "kernel follow (launched at findings_check_test.cu:",
                      "block (0,0,0)", "cudaMallocManaged"});
}

TEST(HostMemory, WrittenByAKernelIsReported) {
  const auto host = std::make_unique<int[]>(100000);  // large: a mapping of its own
  const std::string text =
      expect_report([&] { store<<<1, 1>>>(view{host.get()}); }, cudaErrorIllegalAddress);
  expect_parts(text, {"thread (0,0,0) writes to host memory", at("", kStoreLine), "kernel store"});
}

TEST(HostMemory, OnTheHostsStackIsReportedFromEveryWorker) {
  for (const int threads : {1, 33}) {
    int local[64] = {};
    const std::string text =
        expect_report([&] { store<<<dim3(1), static_cast<unsigned>(threads)>>>(view{local}); },
                      cudaErrorIllegalAddress);
    expect_parts(text, {"host memory (a local variable of the host)", at("", kStoreLine)});
  }
}

template <class Body>
__global__ void run_body(Body body) {
  body();
}

TEST(HostMemory, CapturedByReferenceIsReported) {
  const device_array<int> out(1, 0);
  int factor = 3;
  int* const result = out.data();
  const std::string text = expect_report(
      [&] {
        const auto by_reference = [&factor, result] __device__() { *result = factor; };
        run_body<<<1, 1>>>(by_reference);
      },
      cudaErrorIllegalAddress);
  expect_parts(text, {"reads host memory"});
}

__global__ void pass_on(int** place, int* out) {
  int mine = 5;
  if (threadIdx.x == 0) *place = &mine;
  __syncthreads();
  if (threadIdx.x == 1) *out = **place;
  __syncthreads();
}

TEST(LocalMemory, OfAnotherThreadIsReported) {
  const device_array<int*> place(1, nullptr);
  const device_array<int> out(1, 0);
  const std::string text =
      expect_report([&] { pass_on<<<1, 2>>>(place.data(), out.data()); }, cudaErrorIllegalAddress);
  expect_parts(text, {"thread (1,0,0) reads a local variable of another thread"});
}

TEST(HostMemory, ThatKernelsMayUseIsSilent) {
  const device_array<int> out(2, 0);
  int* pinned = nullptr;
  int* managed = nullptr;
  std::vector<int> registered(4096, 7);
  ASSERT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  ASSERT_EQ(cudaHostRegister(registered.data(), registered.size() * sizeof(int), 0), cudaSuccess);
  pinned[0] = pinned[1] = managed[0] = managed[1] = 7;
  EXPECT_EQ(said_by([&] {
              for (int* data : {pinned, managed, registered.data(), out.data()})
                follow<<<2, 32>>>(view{data}, out.data());
            }),
            "");
  EXPECT_EQ(managed[0], 7);
  EXPECT_EQ(cudaHostUnregister(registered.data()), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  expect_report([&] { follow<<<1, 32>>>(view{registered.data()}, out.data()); },
                cudaErrorIllegalAddress);  // no longer registered
}

// A pointer whose copies count themselves in the host's memory. A GPU has its bytes.
__global__ void keep(std::shared_ptr<int> owner, int* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<int>(sizeof owner);
}

TEST(HostMemory, OfWhatAnArgumentRefersToIsSilent) {
  const device_array<int> out(3, 0);
  const auto owner = std::make_shared<int>(7);
  EXPECT_EQ(said_by([&] { keep<<<3, 32>>>(owner, out.data()); }), "");
  EXPECT_EQ(owner.use_count(), 1);
}

__constant__ int by_constant[4] = {1, 2, 3, 4};
__device__ int by_device[4] = {10, 20, 30, 40};
__device__ constexpr int kTable[4] = {100, 200, 300, 400};
const char* const kWord = "abcd";

struct large {
  int values[40];
};

__global__ void all_kinds(int* out, large argument) {
  static constexpr int kInner[4] = {1000, 2000, 3000, 4000};
  __shared__ int shared[4];
  extern __shared__ int dynamic[];
  int local[4];
  const unsigned i = threadIdx.x;
  shared[i] = dynamic[i] = local[i] = static_cast<int>(i);
  __syncthreads();
  const unsigned next = (i + 1) % 4;
  int* volatile own = new int(local[i]);  // volatile: not optimised away
  int* volatile heap = static_cast<int*>(std::malloc(sizeof(int)));
  *heap = 1;
  out[blockIdx.x * 4 + i] = by_constant[i] + by_device[i] + kTable[i] + kInner[i] + shared[next] +
                            dynamic[next] + *own + *heap + kWord[i] + "wxyz"[i] +
                            argument.values[i];
  delete own;
  std::free(heap);
}

TEST(DeviceMemory, OfEveryKindIsSilent) {
  in_every_order([] {
    const device_array<int> out(400, 0);
    EXPECT_EQ(said_by([&] { all_kinds<<<100, 4, 16>>>(out.data(), large{}); }), "");
    EXPECT_EQ(out.to_host()[0], 1 + 10 + 100 + 1000 + 1 + 1 + 0 + 1 + 'a' + 'w');
  });
}

// --- device memory in host code -----------------------------------------------------------------

TEST(DeviceMemory, ReadByTheHostIsReported) {
  const device_array<int> data(100, 5);
  volatile int seen = 0;
  int line = 0;
  const std::string text = said_by([&] {
    const int* pointer = data.data();
    line = __LINE__ + 1;
    seen = pointer[7];
  });
  expect_parts(text, {"host code reads device memory (400 bytes", at("", line), "cudaMemcpy"});
}

TEST(DeviceMemory, WrittenByTheHostIsReported) {
  const device_array<int> data(100, 5);
  int line = 0;
  const std::string text = said_by([&] {
    int* pointer = data.data();
    line = __LINE__ + 1;
    pointer[99] = 1;
  });
  expect_parts(text, {"host code writes to device memory (400 bytes", at("", line)});
}

TEST(DeviceMemory, WhichTheHostCopiesIsSilent) {
  EXPECT_EQ(said_by([] {
              const device_array<int> data(100, 5);
              std::vector<int> host = data.to_host();
              int* managed = nullptr;
              EXPECT_EQ(cudaMallocManaged(&managed, 400), cudaSuccess);
              managed[0] = host[99];
              EXPECT_EQ(managed[0], 5);
              EXPECT_EQ(cudaMemset(data.data(), 0, 400), cudaSuccess);
              EXPECT_EQ(cudaFree(managed), cudaSuccess);
            }),
            "");
}

// --- fences -------------------------------------------------------------------------------------

/// A lock for one thread of each block, with the fences that are asked for.
template <bool kWhenTaken, bool kWhenGiven>
__global__ void add_under_lock(int* lock, int* sum) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < 3; ++i) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
    if (kWhenTaken) __threadfence();
    *sum += 1;
    if (kWhenGiven) __threadfence();
    atomicExch(lock, 0);
  }
}

TEST(Fences, OfALockMustBothBeThere) {
  const device_array<int> lock(1, 0), sum(1, 0);
  const auto expect_race = [&](const std::string& text) {
    expect_parts(
        text, {"race on global memory in kernel add_under_lock", " of block (", "__threadfence()",
               "an atomic function orders nothing around it", "findings_check_test.cu:"});
  };
  EXPECT_EQ(said_by([&] { add_under_lock<true, true><<<16, 32>>>(lock.data(), sum.data()); }), "");
  EXPECT_EQ(sum.to_host()[0], 16 * 3);
  expect_race(said_by([&] { add_under_lock<false, false><<<16, 32>>>(lock.data(), sum.data()); }));
  expect_race(said_by([&] { add_under_lock<true, false><<<16, 32>>>(lock.data(), sum.data()); }));
  expect_race(said_by([&] { add_under_lock<false, true><<<16, 32>>>(lock.data(), sum.data()); }));
}

/// A correct lock for which all warps of all blocks compete: a waiting thread, whose last fence was
/// long ago, must not erase newer fences of others.
__global__ void add_in_turn(int* lock, int* sum, int times) {
  for (int i = 0; i < times; ++i)
    for (unsigned turn = 0; turn < 32; ++turn) {
      if (threadIdx.x % 32 == turn) {
        while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
        __threadfence();
        const int seen = *sum;
        __nanosleep(10);
        *sum = seen + 1;
        __threadfence();
        atomicExch(lock, 0);
      }
      __syncwarp();
    }
}

TEST(Fences, OfAllThreadsThatCompeteAreKnown) {
  in_every_order([] {
    const device_array<int> lock(1, 0), sum(1, 0);
    EXPECT_EQ(said_by([&] { add_in_turn<<<9, 70>>>(lock.data(), sum.data(), 3); }), "");
    EXPECT_EQ(sum.to_host()[0], 9 * 70 * 3);
  });
}

__global__ void add_with_reference(int* lock, int* sum, bool ordered) {
  if (threadIdx.x % 32 != 0) return;
  const cuda::atomic_ref<int, cuda::thread_scope_device> mutex(*lock);
  int free = 0;
  if (ordered) {
    while (!mutex.compare_exchange_weak(free, 1, cuda::std::memory_order_acquire)) free = 0;
  } else {
    while (!mutex.compare_exchange_weak(free, 1, cuda::std::memory_order_relaxed)) free = 0;
  }
  *sum += 1;
  if (ordered)
    mutex.store(0, cuda::std::memory_order_release);
  else
    mutex.store(0, cuda::std::memory_order_relaxed);
}

TEST(Fences, MayBeTheOrdersOfAnAtomic) {
  in_every_order([] {
    const device_array<int> lock(1, 0), sum(1, 0);
    EXPECT_EQ(said_by([&] { add_with_reference<<<16, 64>>>(lock.data(), sum.data(), true); }), "");
    EXPECT_EQ(sum.to_host()[0], 32);
  });
  const device_array<int> lock(1, 0), sum(1, 0);
  EXPECT_NE(said_by([&] { add_with_reference<<<16, 64>>>(lock.data(), sum.data(), false); }), "");
}

__global__ void last_block_sums(const int* in, int* partial, unsigned* arrived, int* out,
                                bool with_fence) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = in[blockIdx.x];
    if (with_fence) __threadfence();
    is_last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 1) {
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];
    *out = sum;
  }
}

TEST(Fences, OfTheLastBlockMustBeThere) {
  const device_array<int> in(100, 2), partial(100, 0), out(1, 0);
  const device_array<unsigned> arrived(1, 0);
  in_every_order([&] {
    EXPECT_EQ(said_by([&] {
                last_block_sums<<<100, 32>>>(in.data(), partial.data(), arrived.data(), out.data(),
                                             true);
              }),
              "");
    EXPECT_EQ(out.to_host()[0], 200);
  });
  const std::string text = said_by([&] {
    last_block_sums<<<100, 32>>>(in.data(), partial.data(), arrived.data(), out.data(), false);
  });
  expect_parts(text, {"race on global memory in kernel last_block_sums", "__threadfence()"});
}

__global__ void hand_over(int* out, bool with_fences) {
  __shared__ int data, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42;
    if (with_fences) __threadfence_block();
    atomicExch(&flag, 1);
  } else if (threadIdx.x == 40) {
    while (atomicAdd(&flag, 0) == 0) __nanosleep(10);
    if (with_fences) __threadfence_block();
    *out = data;
  }
}

TEST(Fences, OfAFlagInSharedMemoryMustBeThere) {
  const device_array<int> out(1, 0);
  in_every_order([&] {
    EXPECT_EQ(said_by([&] { hand_over<<<1, 64>>>(out.data(), true); }), "");
    EXPECT_EQ(out.to_host()[0], 42);
  });
  expect_parts(said_by([&] { hand_over<<<1, 64>>>(out.data(), false); }),
               {"race on shared memory in kernel hand_over", "__threadfence()"});
}

// --- textures and surfaces ----------------------------------------------------------------------

/// A texture object over linear memory.
class linear_texture {
 public:
  linear_texture(const int* data, std::size_t count) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<int*>(data);
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = count * sizeof(int);
    cudaTextureDesc texture{};
    EXPECT_EQ(cudaCreateTextureObject(&object_, &resource, &texture, nullptr), cudaSuccess);
  }
  ~linear_texture() { cudaDestroyTextureObject(object_); }
  linear_texture(const linear_texture&) = delete;
  linear_texture& operator=(const linear_texture&) = delete;
  cudaTextureObject_t object() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

constexpr int kFetchLine = __LINE__ + 3;
constexpr int kTexelLine = kFetchLine + 1;
__global__ void smooth(cudaTextureObject_t in, int* out) {
  const int left = tex1Dfetch<int>(in, static_cast<int>(threadIdx.x) - 1);
  out[threadIdx.x] = left + 1;
}

TEST(Textures, OfMemoryThatTheKernelWritesAreReported) {
  const device_array<int> data(64, 1), other(64, 0);
  const linear_texture texture(data.data(), 64);
  EXPECT_EQ(said_by([&] { smooth<<<1, 64>>>(texture.object(), other.data()); }), "");
  const std::string text = said_by([&] { smooth<<<1, 64>>>(texture.object(), data.data()); });
  expect_parts(text, {"in kernel smooth", at("reads", kFetchLine), at("writes", kTexelLine),
                      "texture of memory that changes"});
}

constexpr int kLdgLine = __LINE__ + 5;
constexpr int kWrittenLine = kLdgLine - 2;
__global__ void next_but_one(const int* in, int* out) {
  out[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  const int next = __ldg(in + (threadIdx.x + 1) % 64);
  __syncthreads();
  out[threadIdx.x] = next + 1;
}

TEST(ReadOnlyLoads, OfMemoryThatTheKernelHasWrittenAreReported) {
  const device_array<int> data(64, 1), other(64, 0);
  for (int launch = 0; launch < 2; ++launch) {  // an earlier launch may write it
    EXPECT_EQ(said_by([&] { next_but_one<<<1, 64>>>(data.data(), other.data()); }), "");
    EXPECT_EQ(said_by([&] { next_but_one<<<1, 64>>>(other.data(), data.data()); }), "");
  }
  const std::string text = said_by([&] { next_but_one<<<1, 64>>>(data.data(), data.data()); });
  expect_parts(text, {"__ldg() of memory that changes", "in kernel next_but_one",
                      at("reads", kLdgLine), "by __ldg()", at("writes", kWrittenLine)});
}

__global__ void smooth_2d(cudaTextureObject_t in, cudaSurfaceObject_t out) {
  const float x = static_cast<float>(threadIdx.x);
  const float value = tex2D<float>(in, x + 1.0F, 0.5F);  // between two texels
  surf2Dwrite(value, out, static_cast<int>(threadIdx.x * sizeof(float)), 0);
}

TEST(Textures, WithALinearFilterReadAllTheirTexels) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t arrays[2] = {};
  cudaSurfaceObject_t surfaces[2] = {};
  cudaTextureObject_t texture = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(cudaMallocArray(&arrays[i], &format, 64, 1, cudaArraySurfaceLoadStore), cudaSuccess);
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = arrays[i];
    ASSERT_EQ(cudaCreateSurfaceObject(&surfaces[i], &resource), cudaSuccess);
    cudaTextureDesc description{};
    description.filterMode = cudaFilterModeLinear;
    description.addressMode[0] = description.addressMode[1] = cudaAddressModeClamp;
    if (i == 0) {
      ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &description, nullptr), cudaSuccess);
    }
  }
  EXPECT_EQ(said_by([&] { smooth_2d<<<1, 64>>>(texture, surfaces[1]); }), "");
  expect_parts(said_by([&] { smooth_2d<<<1, 64>>>(texture, surfaces[0]); }),
               {"in kernel smooth_2d", "findings_check_test.cu:"});
  EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(cudaDestroySurfaceObject(surfaces[i]), cudaSuccess);
    EXPECT_EQ(cudaFreeArray(arrays[i]), cudaSuccess);
  }
}

// --- what is right is silent --------------------------------------------------------------------

__global__ void inclusive_scan(const int* in, int* out) {
  __shared__ int buffer[2][128];  // double buffering
  int from = 0;
  const unsigned i = threadIdx.x;
  buffer[0][i] = in[i];
  __syncthreads();
  for (unsigned offset = 1; offset < 128; offset *= 2) {
    buffer[1 - from][i] = buffer[from][i] + (i >= offset ? buffer[from][i - offset] : 0);
    from = 1 - from;
    __syncthreads();
  }
  out[i] = buffer[from][i];
}

__global__ void votes(int* out) {
  const unsigned lanes = __ballot_sync(0xffffffffU, threadIdx.x % 3 == 0);
  out[threadIdx.x] = __popc(lanes) + __any_sync(0xffffffffU, 1) +
                     static_cast<int>(__reduce_add_sync(0xffffffffU, threadIdx.x));
}

__global__ void warp_sums(const int* in, int* out) {
  volatile __shared__ int cache[40];  // a whole warp, and 8 threads of another
  const unsigned i = threadIdx.x, lane = i % 32;
  cache[i] = in[i];
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    const unsigned other = i + offset;
    __syncwarp();
    const int mine = cache[i] + (lane + offset < 32 && other < 40 ? cache[other] : 0);
    __syncwarp();
    cache[i] = mine;
  }
  out[i] = cache[i];
}

__global__ void groups(const int* in, int* out) {
  __shared__ int of_tile[8];
  const cg::thread_block block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<16>(block);
  const int sum = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) of_tile[tile.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() < 8) out[block.thread_rank()] = of_tile[block.thread_rank()];
}

__global__ void histogram(const int* in, int* bins) {
  __shared__ int mine[16];
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&mine[in[threadIdx.x] % 16], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

TEST(Silence, OnScansWithTwoBuffers) {
  in_every_order([] {
    const device_array<int> in(128, 1), out(128, 0);
    EXPECT_EQ(said_by([&] { inclusive_scan<<<1, 128>>>(in.data(), out.data()); }), "");
    EXPECT_EQ(out.to_host()[127], 128);
  });
}
TEST(Silence, OnVotesAndWarpReductions) {
  in_every_order([] {
    const device_array<int> out(32, 0);
    EXPECT_EQ(said_by([&] { votes<<<1, 32>>>(out.data()); }), "");
    EXPECT_EQ(out.to_host()[5], 11 + 1 + 496);
  });
}
TEST(Silence, OnWarpSynchronousCodeAndPartialWarps) {
  in_every_order([] {
    const device_array<int> in(40, 1), out(40, 0);
    EXPECT_EQ(said_by([&] { warp_sums<<<1, 40>>>(in.data(), out.data()); }), "");
    EXPECT_EQ(out.to_host()[0], 32);
    EXPECT_EQ(out.to_host()[32], 8);
  });
}
TEST(Silence, OnCooperativeGroups) {
  in_every_order([] {
    const device_array<int> in(128, 1), out(8, 0);
    EXPECT_EQ(said_by([&] { groups<<<1, 128>>>(in.data(), out.data()); }), "");
    EXPECT_EQ(out.to_host(), std::vector<int>(8, 16));
  });
}
TEST(Silence, OnAtomicsInSharedAndGlobalMemory) {
  in_every_order([] {
    const device_array<int> in(256, 3), bins(16, 0);
    EXPECT_EQ(said_by([&] { histogram<<<64, 256>>>(in.data(), bins.data()); }), "");
    EXPECT_EQ(bins.to_host()[3], 64 * 256);
  });
}

__global__ void print_words(const int* in) {
  if (threadIdx.x == 0) printf("%s %d %s", "", in[0] - in[1], "");
}
TEST(Silence, OnPrintf) {
  const device_array<int> in(2, 4);
  EXPECT_EQ(said_by([&] { print_words<<<4, 32>>>(in.data()); }), "");
}

}  // namespace

#else

TEST(Findings, OfTheCheckBuildAreNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the check build and AddressSanitizer cannot be combined";
}

#endif
