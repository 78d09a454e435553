// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Long and unusual programs: thousands of launches, any number of workers, forks, exceptions, the
// end of the process, deep recursion.

#include <cooperative_groups.h>
#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "child_process.hpp"
#include "cpu_device_testing.hpp"
#include "run_tests.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;

__global__ void block_sum(const int* in, int* out) {
  __shared__ int all[256];
  all[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) all[threadIdx.x] += all[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, all[0]);
}

/// The sum of 64 blocks of ones, by a kernel with barriers; -1 if a call failed.
int sum_of_blocks() {
  int *in = nullptr, *out = nullptr, sum = -1;
  const std::vector<int> ones(64 * 256, 1);
  if (cudaMalloc(&in, ones.size() * sizeof(int)) != cudaSuccess) return -1;
  if (cudaMalloc(&out, sizeof(int)) != cudaSuccess) return -1;
  cudaMemcpy(in, ones.data(), ones.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(out, 0, sizeof(int));
  block_sum<<<64, 256>>>(in, out);
  if (cudaMemcpy(&sum, out, sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) sum = -1;
  cudaFree(in);
  cudaFree(out);
  return sum;
}

std::size_t entries(const char* folder) {
  std::size_t count = 0;
  DIR* dir = opendir(folder);
  while (dir != nullptr && readdir(dir) != nullptr) ++count;
  if (dir != nullptr) closedir(dir);
  return count;
}
std::size_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  file >> total >> resident;
  return resident;
}
std::size_t mappings() {
  std::ifstream file("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

/// One of everything that a program creates and frees.
void one_round() {
  ASSERT_EQ(sum_of_blocks(), 64 * 256);
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  int* data = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&data, 64, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data, 0, 64, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(event), cudaSuccess);
  ASSERT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(Robust, ThousandsOfLaunchesLeaveNothingBehind) {
  if (cpu_device_testing::is_emulated()) GTEST_SKIP() << "the memory of QEMU itself grows";
  for (int i = 0; i < 300; ++i) one_round();  // freed addresses are remembered up to a number
  const std::size_t live = cpu_device::live_allocations(), files = entries("/proc/self/fd"),
                    threads = entries("/proc/self/task"), pages = resident_pages(),
                    maps = mappings();
  for (int i = 0; i < 1000; ++i) one_round();
  EXPECT_EQ(cpu_device::live_allocations(), live);
  EXPECT_EQ(entries("/proc/self/fd"), files);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_LE(mappings(), maps + 16);
  EXPECT_LE(resident_pages(), pages + 24);  // 96 KiB: 1000 lost things of 96 bytes
}

TEST(Robust, FailedLaunchesLeaveNothingBehindEither) {
  const auto fails = [] {
    const int* nowhere = nullptr;
    int* out = nullptr;
    expect_report([&] { block_sum<<<64, 256>>>(nowhere, out); }, cudaErrorIllegalAddress);
  };
  for (int i = 0; i < 5; ++i) fails();
  const std::size_t files = entries("/proc/self/fd"), threads = entries("/proc/self/task"),
                    maps = mappings();
  for (int i = 0; i < 20; ++i) fails();
  EXPECT_EQ(entries("/proc/self/fd"), files);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  EXPECT_LE(mappings(), maps + 16);
  EXPECT_EQ(sum_of_blocks(), 64 * 256);
}

__global__ void grid_rounds(int* counter, int* wrong) {
  for (int round = 1; round <= 5; ++round) {
    if (threadIdx.x == 0) atomicAdd(counter, 1);
    cooperative_groups::this_grid().sync();
    if (*counter != round * static_cast<int>(gridDim.x)) *wrong = 1;
    cooperative_groups::this_grid().sync();
  }
}

/// In a child: launches with and without barriers, and the largest cooperative one.
int work() {
  if (sum_of_blocks() != 64 * 256) return 1;
  int each = 0, processors = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, grid_rounds, 64, 0);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  const device_array<int> counter(1, 0), wrong(1, 0);
  int *c = counter.data(), *w = wrong.data();
  void* arguments[] = {&c, &w};
  if (cudaLaunchCooperativeKernel((void*)grid_rounds, each * processors, 64, arguments) !=
      cudaSuccess)
    return 2;
  if (counter.to_host()[0] != 5 * each * processors || wrong.to_host()[0] != 0) return 3;
  std::printf("%d workers\n", processors);
  return 0;
}

TEST(Robust, AnyNumberOfWorkersDoes) {
  for (const int workers : {1, 2, 3, 8, 64}) {
    const auto child =
        child_process::run("CPU_DEVICE_WORKERS=" + std::to_string(workers), "work 2>&1");
    EXPECT_EQ(child.exit_code, 0) << workers << ": " << child.output;
    EXPECT_EQ(child.output, std::to_string(workers) + " workers\n");
  }
}

// The limits that graders set for a submission, on a machine with many cores.
TEST(Robust, AsManyWorkersAsTheLimitOfMemoryHasRoomFor) {
  const auto child =
      child_process::run("ulimit -d 1048576; unset CPU_DEVICE_WORKERS;", "work 2>&1");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_EQ(child.output, "1 workers\n");
}

__global__ void meet(int* out) {
  if (__syncthreads_count(1) == static_cast<int>(blockDim.x) && threadIdx.x == 0) *out = 1;
}

/// In a child that has no room for a thousand stacks: that launch fails, and a smaller one works.
int many_stacks() {
  {
    const device_array<int> out(1, 0);
    meet<<<1, 1024>>>(out.data());
    if (cudaDeviceSynchronize() != cudaErrorMemoryAllocation) return 1;
  }
  if (cudaDeviceReset() != cudaSuccess) return 2;
  const device_array<int> out(1, 0);
  meet<<<1, 256>>>(out.data());
  return out.to_host()[0] == 1 ? 0 : 3;
}

TEST(Robust, NoMemoryForStacksIsAnErrorOfTheLaunch) {
  if (cpu_device_testing::is_emulated()) GTEST_SKIP() << "the limit is that of QEMU, too";
  const auto child =
      child_process::run("ulimit -d 262144; CPU_DEVICE_WORKERS=1", "many_stacks 2>&1");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  EXPECT_NE(child.output.find("memory for the stacks of a block of 1024 threads"),
            std::string::npos)
      << child.output;
}

/// In a child: forks after the device has been used; what the forked process finds is its code.
int fork_and_work() {
  const device_array<int> data(4, 7);
  if (work() != 0) return 10;
  const pid_t forked = fork();
  if (forked == 0) {
    alarm(60);  // a hang is a failure, not a wait
    const std::vector<int> mine = data.to_host();
    _exit(mine == std::vector<int>(4, 7) ? work() : 4);
  }
  int status = 0;
  waitpid(forked, &status, 0);
  if (!WIFEXITED(status)) return 20;
  return WEXITSTATUS(status) != 0 ? 30 + WEXITSTATUS(status) : work();
}

TEST(Robust, AForkedProcessGoesOnWithADeviceOfItsOwn) {
  const auto child = child_process::run("CPU_DEVICE_WORKERS=4", "fork 2>&1");
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

__global__ void wait_for_the_host(volatile int* flags) {
  flags[0] = 1;
  while (flags[1] == 0) {
  }
}

/// In a child: a thread forks while another one is in the middle of a launch, which ends only
/// afterwards. What the forked process finds is its code.
int fork_in_a_launch() {
  int* flags = nullptr;
  if (cudaMallocHost(&flags, 2 * sizeof(int)) != cudaSuccess) return 10;
  volatile int* const seen = flags;
  seen[0] = 0;
  seen[1] = 0;
  std::thread launching([flags] {
    wait_for_the_host<<<1, 1>>>(flags);
    cudaDeviceSynchronize();
  });
  while (seen[0] == 0) std::this_thread::yield();
  const pid_t forked = fork();
  if (forked == 0) {
    alarm(60);  // a hang is a failure, not a wait
    int* memory = nullptr;
    const cudaError_t first = cudaMalloc(&memory, 4), second = cudaDeviceSynchronize();
    _exit(first == cudaErrorInitializationError && second == first ? 0 : 1);
  }
  int status = 0;
  waitpid(forked, &status, 0);
  seen[1] = 1;
  launching.join();
  if (!WIFEXITED(status)) return 20;
  if (WEXITSTATUS(status) != 0) return 30 + WEXITSTATUS(status);
  return cudaFreeHost(flags) == cudaSuccess && sum_of_blocks() == 64 * 256 ? 0 : 40;
}

TEST(Robust, AProcessForkedInTheMiddleOfALaunchIsToldSo) {
  const auto child = child_process::run("CPU_DEVICE_WORKERS=4", "fork_in_a_launch 2>&1");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  const std::size_t first =
      child.output.find("was forked while another thread was inside of a call");
  EXPECT_NE(first, std::string::npos) << child.output;
  EXPECT_EQ(child.output.find("was forked", first + 1), std::string::npos) << child.output;
}

TEST(Robust, ExceptionsOfHostCodeLeaveTheDeviceUsable) {
  for (int i = 0; i < 3; ++i) {
    try {
      const device_array<int> data(256, 1), out(1, 0);
      block_sum<<<1, 256>>>(data.data(), out.data());
      throw std::runtime_error("between a launch and its result");
    } catch (const std::runtime_error&) {
      EXPECT_EQ(sum_of_blocks(), 64 * 256);
    }
  }
}

TEST(Robust, AnExceptionOfAHostFunctionComesOutOfTheCallThatRanIt) {
  for (const auto policy :
       {cpu_device::stream_policy::eager, cpu_device::stream_policy::deferred}) {
    cpu_device::set_stream_policy(policy);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    const auto call = [&] {
      cudaLaunchHostFunc(
          stream, [](void*) { throw std::runtime_error("in a stream"); }, nullptr);
      cudaStreamSynchronize(stream);
    };
    EXPECT_THROW(call(), std::runtime_error);
    EXPECT_EQ(sum_of_blocks(), 64 * 256);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}

/// Uses the device when the process ends: its members of static storage go before and after.
struct user_at_exit {
  cudaStream_t stream = nullptr;
  int* data = nullptr;
  void begin() {
    cudaStreamCreate(&stream);
    cudaMalloc(&data, 64);
  }
  ~user_at_exit() {
    if (data == nullptr) return;
    cudaMemsetAsync(data, 0, 64, stream);
    const bool fine = cudaFree(data) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess &&
                      sum_of_blocks() == 64 * 256;
    std::printf("%s\n", fine ? "fine at exit" : "failed at exit");
  }
};
user_at_exit at_exit;

TEST(Robust, StaticObjectsMayUseTheDeviceAtTheEnd) {
  const auto child = child_process::run("", "exit 2>&1");
  EXPECT_EQ(child.exit_code, 0);
  EXPECT_EQ(child.output, "fine at exit\n");
}

__device__ __noinline__ int deep(int n, volatile int* out) {
  volatile int mine[64];
  for (int i = 0; i < 64; ++i) mine[i] = n + i;
  const int below = n == 0 ? 0 : deep(n - 1, out);
  *out = below;
  return below + mine[n % 64];
}
__global__ void recurse(int n, int* out) { *out = deep(n, out); }

__global__ void big_array(int n, int* out) {
  volatile int big[1 << 20];
  for (int i = 0; i < n; ++i) big[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *out = big[n - 1];
}

TEST(Robust, ADeepRecursionEndsInAMessage) {
  const device_array<int> out(1, 0);
  const std::string text =
      expect_report([&] { recurse<<<2, 2>>>(10 << 20, out.data()); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("stack overflow in kernel recurse"), std::string::npos) << text;
  EXPECT_EQ(sum_of_blocks(), 64 * 256);
}

TEST(Robust, ALargeLocalArrayEndsInAMessage) {
  const device_array<int> out(1, 0);
  const std::string text =
      expect_report([&] { big_array<<<1, 2>>>(1 << 20, out.data()); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("kernel big_array"), std::string::npos) << text;
  EXPECT_EQ(sum_of_blocks(), 64 * 256);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0) {
    if (std::strcmp(argv[2], "work") == 0) return work();
    if (std::strcmp(argv[2], "many_stacks") == 0) return many_stacks();
    if (std::strcmp(argv[2], "fork") == 0) return fork_and_work();
    if (std::strcmp(argv[2], "fork_in_a_launch") == 0) return fork_in_a_launch();
    at_exit.begin();
    return 0;
  }
  // On a machine of many cores some workers would get their first block, and touch their stacks,
  // after the memory has been measured.
  setenv("CPU_DEVICE_WORKERS", "2", 0);
  return run_tests(argc, argv);
}
