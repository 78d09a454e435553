// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every build of the CPU device finds, row by row of the table in its README: the wrong
// program is reported with its places, and its correct twin is silent.

#include <cpu_device.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

// Before the first launch asks for it.
[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "0.5", 1);

/// True if nothing is reported while `body` runs, and all launches succeed.
template <class Body>
::testing::AssertionResult is_silent(Body body) {
  const std::size_t before = cpu_device::report_count();
  body();
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) return ::testing::AssertionFailure() << cudaGetErrorString(status);
  if (cpu_device::report_count() == before) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << cpu_device::last_report();
}

void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

std::string line_of(int line) { return "findings_test.cu:" + std::to_string(line); }

// --- barriers and warp functions ----------------------------------------------------------------

constexpr int kBarrierLine = __LINE__ + 3;
__global__ void barrier(int* out, bool inside_the_if) {
  if (threadIdx.x < 40) {
    if (inside_the_if) __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  }
  if (!inside_the_if) __syncthreads();
}

TEST(Finds, ABarrierThatSomeThreadsSkip) {
  const device_array<int> out(128, 0);
  EXPECT_TRUE(is_silent([&] { barrier<<<2, 64>>>(out.data(), false); }));
  const int launched = __LINE__ + 2;
  const std::string text =
      expect_report([&] { barrier<<<1, 64>>>(out.data(), true); }, cudaErrorLaunchFailure);
  expect_parts(text, {"barrier divergence in kernel barrier (launched at " + line_of(launched),
                      "block (0,0,0)",
                      "40 threads (0-39) wait in __syncthreads() at " + line_of(kBarrierLine),
                      "24 threads (40-63) have left the kernel", "Try: "});
}

constexpr int kShuffleLine = __LINE__ + 2;
__global__ void shuffle(int* out, unsigned mask) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(mask, static_cast<int>(threadIdx.x), 8);
}

TEST(Finds, AShuffleWhoseMaskNamesAbsentLanesOrNotItsCaller) {
  const device_array<int> out(32, 0);
  EXPECT_TRUE(is_silent([&] { shuffle<<<1, 32>>>(out.data(), 0x0000ffffU); }));
  expect_parts(
      expect_report([&] { shuffle<<<1, 32>>>(out.data(), 0xffffffffU); }, cudaErrorLaunchFailure),
      {"kernel shuffle (launched at findings_test.cu:", "block (0,0,0)",
       "16 threads (0-15) wait in __shfl_down_sync at " + line_of(kShuffleLine),
       "16 threads (16-31) have left the kernel"});
  const device_array<int> again(32, 0);  // the report was followed by a reset
  expect_parts(
      expect_report([&] { shuffle<<<1, 32>>>(again.data(), 0x000000ffU); }, cudaErrorLaunchFailure),
      {"__shfl_down_sync at " + line_of(kShuffleLine), "does not name that lane", "kernel shuffle",
       "block (0,0,0)"});
}

// --- memory -------------------------------------------------------------------------------------

struct view {
  int* data;
};
constexpr int kStoreLine = __LINE__ + 2;
__global__ void store(view to, int index) {
  if (blockIdx.x == 1 && threadIdx.x == 2) to.data[index] = 1;
}

TEST(Finds, AnAccessOutsideOfAnAllocation) {
  for (const auto& [index, what] :
       {std::pair{1024, "just past the end of device memory (4096 bytes"},
        std::pair{-1, "4 bytes before the begin of device memory (4096 bytes"}}) {
    const device_array<int> data(1024, 0);
    const view all{data.data()};
    EXPECT_TRUE(is_silent([&] {
      store<<<2, 4>>>(all, 0);
      store<<<2, 4>>>(all, 1023);
    }));
    const std::string text =
        expect_report([&, i = index] { store<<<2, 4>>>(all, i); }, cudaErrorIllegalAddress);
    expect_parts(text, {"kernel store (launched at findings_test.cu:", "block (1,0,0)",
                        "thread (2,0,0)", "at " + line_of(kStoreLine), "Try: "});
#ifndef CPU_DEVICE_CHECK  // which says more: bounds_check_test.cu
    expect_parts(text, {"illegal memory access in ", what});
#endif
  }
}

TEST(Finds, APitchThatWasTakenForANumberOfElements) {
  int* rows = nullptr;
  std::size_t pitch = 0;  // bytes
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 100 * sizeof(int), 3), cudaSuccess);
  const int second_row = static_cast<int>(pitch);
  const view all{rows};
  EXPECT_TRUE(is_silent([&] { store<<<2, 4>>>(all, second_row / 4); }));
  const std::string text =
      expect_report([&] { store<<<2, 4>>>(all, 2 * second_row); }, cudaErrorIllegalAddress);
  expect_parts(text, {"past the end", "A pitch counts bytes: is it added to a char*"});
}

TEST(Finds, AWriteIntoTheLastBytesBeforeTheGuardPage) {
  const device_array<int> data(1001, 0);
  EXPECT_TRUE(is_silent([&] { store<<<2, 4>>>(view{data.data()}, 1000); }));
  expect_parts(
      expect_report([&] { store<<<2, 4>>>(view{data.data()}, 1001); }, cudaErrorIllegalAddress),
#ifdef CPU_DEVICE_CHECK
      {"past the end: thread (2,0,0) writes element 1001 of 1001", "kernel store"});
#else
      {"kernel store wrote outside an allocation: just past the end of device memory"});
#endif
}

TEST(Finds, ANullPointerAndAFreedOne) {
  expect_parts(
      expect_report([] { store<<<2, 4>>>(view{nullptr}, 5); }, cudaErrorIllegalAddress),
      {"kernel store", "block (1,0,0)", "thread (2,0,0)", line_of(kStoreLine), "null pointer"});
  int* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 4096), cudaSuccess);
  EXPECT_TRUE(is_silent([&] { store<<<2, 4>>>(view{freed}, 5); }));
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  expect_parts(expect_report([&] { store<<<2, 4>>>(view{freed}, 5); }, cudaErrorIllegalAddress),
               {"kernel store", "thread (2,0,0)", line_of(kStoreLine),
                "It was freed before this kernel ran"});
}

template <int kValue, class T>
__global__ void store_at(T* to, int index) {
  to[index] = kValue;
}

TEST(Finds, TheNameOfAKernelThatIsLaunchedThroughAPointer) {
  void (*const kernels[])(int*, int) = {store_at<3, int>, store_at<4, int>};
  for (const auto kernel : kernels)
    expect_parts(expect_report([&] { kernel<<<1, 1>>>(nullptr, 5); }, cudaErrorIllegalAddress),
                 {"kernel store_at (launched at findings_test.cu:"});
  const auto by_name = store;
  expect_parts(expect_report([&] { by_name<<<2, 4>>>(view{nullptr}, 5); }, cudaErrorIllegalAddress),
               {"kernel store (launched at findings_test.cu:"});
}

TEST(Finds, StreamOrderedMemoryThatItsStreamHasNotComeTo) {
  using cpu_device::stream_policy;
  cudaStream_t one = nullptr, other = nullptr;
  cudaEvent_t allocated = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreateWithFlags(&allocated, cudaEventDisableTiming), cudaSuccess);
  cpu_device::set_stream_policy(stream_policy::deferred);
  int* memory = nullptr;
  const auto store_elsewhere = [&](bool waits) {
    EXPECT_EQ(cudaMallocAsync(&memory, 4096, one), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(allocated, one), cudaSuccess);
    if (waits) cudaStreamWaitEvent(other, allocated, 0);
    store<<<2, 4, 0, other>>>(view{memory}, 5);
    cudaStreamSynchronize(other);
    cudaFreeAsync(memory, other);
    cudaStreamSynchronize(other);
  };
  EXPECT_TRUE(is_silent([&] { store_elsewhere(true); }));
  expect_parts(expect_report([&] { store_elsewhere(false); }, cudaErrorIllegalAddress),
               {"kernel store", line_of(kStoreLine), "not come to the allocation yet"});
  cpu_device::set_stream_policy(stream_policy::eager);
}

#if defined(__x86_64__) && defined(__OPTIMIZE__)  // then a float4 is moved in one piece
constexpr int kMoveLine = __LINE__ + 2;
__global__ void move(const float* in, float* out) {
  *reinterpret_cast<float4*>(out) = *reinterpret_cast<const float4*>(in);
}

TEST(Finds, AVectorThatIsNotAligned) {
  for (const bool reads : {true, false}) {
    const device_array<float> in(8, 1), out(8, 0);
    EXPECT_TRUE(is_silent([&] { move<<<1, 1>>>(in.data() + 4, out.data() + 4); }));
    EXPECT_EQ(out.to_host()[7], 1);
    expect_parts(
        expect_report(
            [&] { move<<<1, 1>>>(in.data() + (reads ? 1 : 0), out.data() + (reads ? 0 : 2)); },
            cudaErrorMisalignedAddress),
        {"misaligned access in kernel move", "block (0,0,0)", "thread (0,0,0)",
         "at " + line_of(kMoveLine), "no multiple of 16", "Try: "});
  }
}
#endif

constexpr int kDynamicLine = __LINE__ + 3;
__global__ void use_dynamic(int index, int* out) {
  extern __shared__ int dynamic[];
  dynamic[index] = 1;
  out[0] = dynamic[index];
}

__device__ void put(int* to, long index) { to[index] = 1; }
__global__ void use_one_array(long index) {
  __shared__ int cache[64];
  put(cache, index);
}
__global__ void use_two_arrays(long index) {
  __shared__ int first[64], second[3];
  __shared__ char* third;
  put(first, index);
  put(second, 0);
  third = nullptr;
}

TEST(Finds, AnAccessPastTheEndOfStaticSharedMemory) {
  // So far away that it is not another variable.
  constexpr long kFar = 8 << 20;
  expect_parts(expect_report([] { use_one_array<<<1, 1>>>(kFar); }, cudaErrorIllegalAddress),
               {"illegal memory access in kernel use_one_array", "block (0,0,0)",
                std::to_string((kFar - 64) * 4) +
                    " bytes past the end of the __shared__ variable cache (256 bytes)"});
  expect_parts(expect_report([] { use_two_arrays<<<1, 1>>>(kFar); }, cudaErrorIllegalAddress),
               {"past the end of all __shared__ variables of the block: first (256 bytes), second "
                "(12 bytes), third (8 bytes)"});
  // A launch later, another address: nothing of theirs.
  int* const never_set = reinterpret_cast<int*>(0x1234'5678'0000);
  expect_parts(
      expect_report([=] { store<<<2, 4>>>(view{never_set}, 0); }, cudaErrorIllegalAddress),
      {"no allocation of the device is anywhere near that address. Was the pointer ever set?"});
}

TEST(Finds, AnAccessOutsideOfDynamicSharedMemory) {
  const device_array<int> out(1, 0);
  EXPECT_TRUE(is_silent([&] { use_dynamic<<<1, 1, 64>>>(15, out.data()); }));
  expect_parts(
      expect_report([&] { use_dynamic<<<1, 1, 64>>>(16, out.data()); }, cudaErrorIllegalAddress),
      {"kernel use_dynamic", "block (0,0,0)", "thread (0,0,0)", line_of(kDynamicLine),
#ifdef CPU_DEVICE_CHECK
       "writes element 16 of 16", "the dynamic shared memory (64 bytes"
#else
       "outside the dynamic shared memory in ", "The launch asked for 64 bytes"
#endif
      });
}

__global__ void first(int* data, int* out) { out[0] = data[0]; }

TEST(Finds, PointersThatAreNoneOfTheDevice) {
  const device_array<int> data(1, 3), out(1, 0);
  int host = 0;
  EXPECT_TRUE(is_silent([&] { first<<<1, 1>>>(data.data(), out.data()); }));
  const int launched = __LINE__ + 2;
  expect_parts(
      expect_report([&] { first<<<1, 1>>>(&host, out.data()); }, cudaErrorIllegalAddress),
      {"the launch of first at " + line_of(launched), "argument 1 is a host pointer", "Try: "});
}

// --- arithmetic, stacks, time -------------------------------------------------------------------

constexpr int kDivideLine = __LINE__ + 2;
__global__ void divide(int* out, int by) {
  out[threadIdx.x] = 7 / (by + static_cast<int>(threadIdx.x));  // not the same for all threads
}

TEST(Finds, AnIntegerDivisionByZero) {
#ifndef __x86_64__
  GTEST_SKIP() << "this processor gives 0, and does not stop";
#endif
  const device_array<int> out(1, 0);
  EXPECT_TRUE(is_silent([&] { divide<<<1, 1>>>(out.data(), 2); }));
  expect_parts(expect_report([&] { divide<<<1, 1>>>(out.data(), 0); }, cudaErrorLaunchFailure),
               {"integer division by zero in kernel divide", "block (0,0,0)", "thread (0,0,0)",
                line_of(kDivideLine)});
}

__device__ int deep(int n, int depth) {
  volatile int room[64];
  room[n % 64] = n;
  if (n == depth) return 1;
  return deep(n + 1, depth) + room[n % 64];
}
__global__ void recurse(int* out, int depth) {
  __syncthreads();  // the second thread stands on a stack of the pool
  *out = deep(0, depth);
}

TEST(Finds, AFullStack) {
  const device_array<int> out(1, 0);
  EXPECT_TRUE(is_silent([&] { recurse<<<1, 1>>>(out.data(), 50); }));
  expect_parts(
      expect_report([&] { recurse<<<1, 2>>>(out.data(), -1); }, cudaErrorIllegalAddress),
      {"stack overflow in kernel recurse", "block (0,0,0)", "thread (", "findings_test.cu:"});
}

// It counts, so that it is never twice in the same state: that would be reported as a deadlock.
__global__ void wait_for(int* flag) {
  int turns = 1;
  while (atomicAdd(flag, 0) == 0) ++turns;
  *flag = turns;
}

TEST(Finds, ALaunchThatNeverEnds) {
  const device_array<int> set(1, 1), never(1, 0);
  EXPECT_TRUE(is_silent([&] { wait_for<<<1, 1>>>(set.data()); }));
  expect_parts(expect_report([&] { wait_for<<<1, 1>>>(never.data()); }, cudaErrorLaunchTimeout),
               {"stopped kernel wait_for (launched at findings_test.cu:", "block (0,0,0)",
                "thread (0,0,0)", "more than 0.5 s", "findings_test.cu:"});
}

__global__ void print_for_ever() {
  for (unsigned i = 0;; ++i) printf("%u ", i);
}

// Blocks on several workers are nearly always in printf(), or wait for each other there. One that
// is stopped in it would keep the lock of stdout.
TEST(Finds, BlocksThatPrintWithoutEndAndLetsOthersPrint) {
  fflush(stdout);
  const int screen = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY);
  dup2(nowhere, STDOUT_FILENO);
  close(nowhere);
  expect_parts(expect_report([&] { print_for_ever<<<8, 2>>>(); }, cudaErrorLaunchTimeout),
               {"stopped kernel print_for_ever", "more than 0.5 s"});
  const bool is_free = ftrylockfile(stdout) == 0;
  EXPECT_TRUE(is_free);
  if (is_free) {
    fflush(stdout);
    funlockfile(stdout);
  }
  dup2(screen, STDOUT_FILENO);
  close(screen);
}

// --- calls of the host --------------------------------------------------------------------------

/// What a call that must fail with `error` has to say.
template <class Call>
std::string sentence_of(cudaError_t error, Call call) {
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(call(), error);
  cudaGetLastError();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Finds, CopiesThatCannotBe) {
  const device_array<int> device(10, 2);
  std::vector<int> host(20, 1);
  const auto copy = [&](std::size_t bytes, cudaMemcpyKind kind) {
    return [&, bytes, kind] { return cudaMemcpy(device.data(), host.data(), bytes, kind); };
  };
  EXPECT_EQ(sentence_of(cudaSuccess, copy(40, cudaMemcpyHostToDevice)), "");
  expect_parts(sentence_of(cudaErrorInvalidValue, copy(40, cudaMemcpyDeviceToHost)),
               {"cudaMemcpy: the destination is device memory (40 bytes",
                "Try: the destination first, then the source; or the other direction; or the "
                "host's pointer"});
  expect_parts(sentence_of(cudaErrorInvalidValue, copy(44, cudaMemcpyHostToDevice)),
               {"cudaMemcpy: the destination has only 40 bytes left"});
}

TEST(Finds, ADoubleFree) {
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  EXPECT_EQ(sentence_of(cudaSuccess, [&] { return cudaFree(data); }), "");
  expect_parts(sentence_of(cudaErrorInvalidValue, [&] { return cudaFree(data); }),
               {"cudaFree: this memory was freed before"});
}

__global__ void copy_first(const unsigned* in, unsigned* out) { out[0] = in[0]; }

TEST(Finds, MemoryThatNobodyWroteByItsBytes) {
  unsigned* fresh = nullptr;
  ASSERT_EQ(cudaMalloc(&fresh, sizeof(unsigned)), cudaSuccess);
  const device_array<unsigned> out(1, 0);
  copy_first<<<1, 1>>>(fresh, out.data());
  EXPECT_EQ(out.to_host()[0], 0xFFFFFFFFU);
  ASSERT_EQ(cudaMemset(fresh, 0, sizeof(unsigned)), cudaSuccess);
  copy_first<<<1, 1>>>(fresh, out.data());
  EXPECT_EQ(out.to_host()[0], 0U);
  EXPECT_EQ(cudaFree(fresh), cudaSuccess);
}

[[noreturn]] void leave(bool free_it) {
  int* data = nullptr;
  cudaMalloc(&data, 1000);
  if (free_it) cudaFree(data);
  std::fprintf(stderr, "bye\n");
  std::exit(0);
}

TEST(FindsDeathTest, MemoryThatIsNotFreed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process of its own, with its own end
  EXPECT_EXIT(leave(false), ::testing::ExitedWithCode(0),
              "bye\n.*1 allocation \\(1000 bytes\\) never freed; .*findings_test.cu:");
  EXPECT_EXIT(leave(true), ::testing::ExitedWithCode(0), "bye\n$");
}

[[noreturn]] void leave_objects(bool destroy_them) {
  static int registered[16];
  cudaStream_t streams[2] = {};
  cudaEvent_t event = nullptr;
  cudaMemPool_t pool = nullptr;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  for (cudaStream_t& stream : streams) cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  cudaMemPoolCreate(&pool, &properties);
  cudaHostRegister(registered, sizeof registered, cudaHostRegisterDefault);
  if (destroy_them) {
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
    cudaEventDestroy(event);
    cudaMemPoolDestroy(pool);
    cudaHostUnregister(registered);
  }
  std::fprintf(stderr, "bye\n");
  std::exit(0);
}

TEST(FindsDeathTest, ObjectsThatAreNotDestroyed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leave_objects(false), ::testing::ExitedWithCode(0),
              "bye\n.*never destroyed: registrations of host memory \\(1\\), memory pools "
              "\\(1\\), streams \\(2\\), events \\(1\\)\\. Each ");
  EXPECT_EXIT(leave_objects(true), ::testing::ExitedWithCode(0), "bye\n$");
}

__global__ void write_nowhere() { *reinterpret_cast<volatile int*>(4) = 1; }

[[noreturn]] void leave_after_a_failure() {
  int* data = nullptr;
  cudaStream_t stream = nullptr;
  cudaMalloc(&data, 1000);
  cudaStreamCreate(&stream);
  write_nowhere<<<1, 1>>>();
  cudaDeviceSynchronize();
  cudaFree(data);  // fails, as every call does now
  std::fprintf(stderr, "bye\n");
  std::exit(0);
}

TEST(FindsDeathTest, NoLeakWhereAKernelHasFailed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(leave_after_a_failure(), ::testing::ExitedWithCode(0), "bye\n$");
}

// --- orders -------------------------------------------------------------------------------------

__global__ void left_neighbour(int* wrong, bool with_barrier) {
  __shared__ int cache[128];
  cache[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (with_barrier) __syncthreads();
  const unsigned left = threadIdx.x == 0 ? 0 : threadIdx.x - 1;
  if (cache[left] != static_cast<int>(left)) atomicAdd(wrong, 1);
}

TEST(Finds, AMissingBarrierByWrongResultsInSomeOrder) {
  int orders_that_show_it = 0;
  in_every_order([&] {
    const device_array<int> with(1, 0), without(1, 0);
    left_neighbour<<<1, 128>>>(with.data(), true);
    left_neighbour<<<1, 128>>>(without.data(), false);
    EXPECT_EQ(with.to_host()[0], 0);
    orders_that_show_it += without.to_host()[0] != 0;
  });
  EXPECT_EQ(orders_that_show_it, 3);  // forward luck hides it
}

#ifdef __SANITIZE_ADDRESS__

__global__ void fixed_arrays(int shared_index, int local_index, int* out) {
  __shared__ int shared[8];
  int local[8] = {};
  shared[shared_index] = 1;
  local[local_index] = 2;
  out[0] = shared[shared_index] + local[local_index];
}

TEST(FindsDeathTest, AccessesOutsideOfFixedArrays) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const device_array<int> out(1, 0);
  EXPECT_TRUE(is_silent([&] { fixed_arrays<<<1, 1>>>(7, 7, out.data()); }));
  EXPECT_DEATH((fixed_arrays<<<1, 1>>>(8, 7, out.data())),
               "findings_test.cu:.*index 8 out of bounds for type 'int ?\\[8\\]'");
  EXPECT_DEATH((fixed_arrays<<<1, 1>>>(7, 9, out.data())),
               "findings_test.cu:.*index 9 out of bounds for type 'int ?\\[8\\]'");
}

#endif

}  // namespace
