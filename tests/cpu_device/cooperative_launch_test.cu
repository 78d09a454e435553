// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Cooperative launches: all blocks run at the same time and may wait for each other.

#include <cooperative_groups.h>

#include <numeric>
#include <string>
#include <tuple>

#include "conformance.hpp"

namespace {

namespace cg = cooperative_groups;
using conformance::device_array;

template <class Kernel>
int most_blocks(Kernel* kernel, int block, std::size_t shared_bytes = 0) {
  int each = 0, processors = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, block, shared_bytes),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  return each * processors;
}

/// Step by step each element becomes the sum of itself and of the one `step` places before it.
__global__ void scan(int* from, int* to, int n) {
  const cg::grid_group grid = cg::this_grid();
  for (int step = 1; step < n; step *= 2) {
    for (int i = static_cast<int>(grid.thread_rank()); i < n; i += static_cast<int>(grid.size()))
      to[i] = i < step ? from[i] : from[i] + from[i - step];
    grid.sync();
    int* const other = from;
    from = to;
    to = other;
  }
}

TEST(CooperativeLaunch, TheGridsBarrierOrdersAllBlocks) {
  conformance::in_every_order([] {
    const int block = 64, blocks = std::min(7, most_blocks(scan, block));
    for (int n : {1, 2, 63, 64, 65, 500, 1021}) {
      const device_array<int> a(static_cast<std::size_t>(n), 1), b(static_cast<std::size_t>(n), 0);
      int *from = a.data(), *to = b.data();
      void* arguments[] = {&from, &to, &n};
      ASSERT_EQ(cudaLaunchCooperativeKernel((void*)scan, blocks, block, arguments), cudaSuccess);
      int steps = 0;
      for (int step = 1; step < n; step *= 2) ++steps;
      std::vector<int> expected(static_cast<std::size_t>(n));
      std::iota(expected.begin(), expected.end(), 1);
      EXPECT_EQ((steps % 2 == 0 ? a : b).to_host(), expected) << n;
    }
  });
}

__global__ void rounds(int* counters, int* wrong, int count) {
  const cg::grid_group grid = cg::this_grid();
  for (int round = 0; round < count; ++round) {
    if (threadIdx.x == 0) atomicAdd(counters, 1);
    grid.sync();
    const int seen = *static_cast<volatile int*>(counters);
    if (seen != (round + 1) * static_cast<int>(gridDim.x)) atomicAdd(wrong, 1);
    grid.sync();
  }
}

TEST(CooperativeLaunch, ManyRoundsOfTheLargestGrid) {
  for (const int block : {1, 32, 33, 256}) {
    const device_array<int> counters(1, 0), wrong(1, 0);
    int *c = counters.data(), *w = wrong.data(), count = 20;
    void* arguments[] = {&c, &w, &count};
    const int blocks = most_blocks(rounds, block);
    ASSERT_GT(blocks, 0);
    ASSERT_EQ(cudaLaunchCooperativeKernel(rounds, blocks, block, arguments), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(wrong.to_host()[0], 0) << block;
    EXPECT_EQ(counters.to_host()[0], blocks * count);
  }
}

TEST(CooperativeLaunch, RefusesAGridThatCannotRunAtOnce) {
  const device_array<int> counters(1, 0), wrong(1, 0);
  int *c = counters.data(), *w = wrong.data(), count = 1;
  void* arguments[] = {&c, &w, &count};
  const int blocks = most_blocks(rounds, 256) + 1;
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)rounds, blocks, 256, arguments),
            cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(counters.to_host()[0], 0);
}

TEST(CooperativeLaunch, IsAPropertyOfTheDevice) {
  int value = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0), cudaSuccess);
  EXPECT_EQ(value, 1);
}

__global__ void shape(unsigned* out) {
  const cg::grid_group grid = cg::this_grid();
  if (grid.thread_rank() == grid.size() - 1) {
    out[0] = static_cast<unsigned>(grid.thread_rank());
    out[1] = static_cast<unsigned>(grid.block_rank());
    out[2] = static_cast<unsigned>(grid.num_blocks());
    out[3] = grid.is_valid();
    out[4] = grid.dim_blocks().y;
  }
}

TEST(CooperativeLaunch, TheGroupKnowsTheGrid) {
  const device_array<unsigned> out(5, 9);
  unsigned* o = out.data();
  void* arguments[] = {&o};
  ASSERT_EQ(cudaLaunchCooperativeKernel((const void*)shape, dim3(2, 3), dim3(4, 2), arguments),
            cudaSuccess);
  EXPECT_EQ(out.to_host(), (std::vector<unsigned>{47, 5, 6, 1, 3}));
}

template <class T>
__global__ void shared_sum(const T* in, T* partial, T* total) {
  extern __shared__ int raw[];
  T* const mine = reinterpret_cast<T*>(raw);
  mine[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    T sum = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) sum += mine[i];
    partial[blockIdx.x] = sum;
  }
  cg::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0)
    for (unsigned b = 0; b < gridDim.x; ++b) *total += partial[b];
}

TEST(CooperativeLaunch, TakesTemplatesDynamicSharedMemoryAndAStream) {
  conformance::in_every_order([] {
    std::vector<float> host(4 * 48);
    std::iota(host.begin(), host.end(), 1.0F);
    const device_array<float> in(host), partial(4, 0.0F), total(1, 0.0F);
    const float* i = in.data();
    float *p = partial.data(), *t = total.data();
    void* arguments[] = {&i, &p, &t};
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&shared_sum<float>), 4, 48,
                                          arguments, 48 * sizeof(float), stream),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(total.to_host()[0], 192.0F * 193.0F / 2.0F);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

__global__ void add(int* data, int what, double more) {
  data[blockIdx.x * blockDim.x + threadIdx.x] += what + static_cast<int>(more);
}

TEST(LaunchByAddress, TakesPointersToTheArguments) {
  const device_array<int> data(6, 10);
  int* d = data.data();
  int what = 5;
  double more = 2.5;
  void* arguments[] = {&d, &what, &more};
  ASSERT_EQ(cudaLaunchKernel((void*)add, 2, 3, arguments), cudaSuccess);
  ASSERT_EQ(cudaLaunchKernel(add, 2, 3, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(6, 24));
  void* const kept = (void*)add;  // the cast may stand elsewhere
  ASSERT_EQ(cudaLaunchKernel(kept, 1, 6, arguments), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(6, 31));
  EXPECT_EQ(cudaLaunchKernel((void*)add, 0, 3, arguments), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(LaunchByAddress, RefusesWhatIsNoKernel) {
  int number = 0;
  void* arguments[] = {&number};
  EXPECT_EQ(
      cudaLaunchKernel(static_cast<const void*>(&number), dim3(1), dim3(1), arguments, 0, nullptr),
      cudaErrorInvalidResourceHandle);
  cudaGetLastError();
}

TEST(LaunchWithAttributes, LaunchesAndCooperates) {
  const device_array<int> data(6, 1), counters(1, 0), wrong(1, 0);
  cudaLaunchConfig_t config = {};
  config.gridDim = 2;
  config.blockDim = 3;
  ASSERT_EQ(cudaLaunchKernelEx(&config, add, data.data(), 4, 1.0f), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(6, 6));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  ASSERT_EQ(cudaLaunchKernelEx(&config, rounds, counters.data(), wrong.data(), 3), cudaSuccess);
  EXPECT_EQ(counters.to_host()[0], 6);
  int *c = counters.data(), *w = wrong.data(), count = 1;
  void* arguments[] = {&c, &w, &count};
  ASSERT_EQ(cudaLaunchKernelExC(&config, (void*)rounds, arguments), cudaSuccess);
  EXPECT_EQ(wrong.to_host()[0], 1 * 2 * 3);  // the counter did not start at 0: all threads saw it
  EXPECT_EQ(counters.to_host()[0], 8);
}

#ifdef __CPU_DEVICE__
/// The report of a launch that must fail with `error`.
template <class Launch>
std::string report_of(Launch launch, cudaError_t error) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  return cpu_device::last_report();
}

__global__ void some_blocks_only(int from) {
  if (static_cast<int>(blockIdx.x) >= from) cg::this_grid().sync();
}

TEST(LaunchWithAttributes, IsReportedWithItsLine) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = 5;
  config.blockDim = 33;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const std::string line = std::to_string(__LINE__ + 2);
  const std::string text =
      report_of([&] { cudaLaunchKernelEx(&config, some_blocks_only, 3); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("launched at cooperative_launch_test.cu:" + line), std::string::npos) << text;
}

TEST(CooperativeLaunchReports, BlocksThatNeverReachTheBarrier) {
  conformance::in_every_order([] {
    int from = 3;
    void* arguments[] = {&from};
    const std::string text =
        report_of([&] { cudaLaunchCooperativeKernel((void*)some_blocks_only, 5, 33, arguments); },
                  cudaErrorLaunchFailure);
    for (const char* part :
         {"kernel some_blocks_only (launched at cooperative_launch_test.cu:",
          "2 blocks (3-4) wait in this_grid().sync() at cooperative_launch_test.cu:",
          "3 blocks (0-2) have left the kernel"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  });
}

TEST(CooperativeLaunchReports, OneBlockThatWaitsOrHasLeft) {
  for (const auto& [from, waits, left] :
       {std::tuple{4, "1 block (4) waits in this", "4 blocks (0-3) have left the kernel"},
        std::tuple{1, "4 blocks (1-4) wait in this", "1 block (0) has left the kernel"}}) {
    int first = from;
    void* arguments[] = {&first};
    const std::string text =
        report_of([&] { cudaLaunchCooperativeKernel((void*)some_blocks_only, 5, 1, arguments); },
                  cudaErrorLaunchFailure);
    EXPECT_NE(text.find(waits), std::string::npos) << text;
    EXPECT_NE(text.find(left), std::string::npos) << text;
  }
}

__global__ void some_threads_only() {
  if (threadIdx.x < 5) cg::this_grid().sync();
}

TEST(CooperativeLaunchReports, ThreadsThatNeverReachTheBarrier) {
  const std::string text =
      report_of([] { cudaLaunchCooperativeKernel((void*)some_threads_only, 4, 32, nullptr); },
                cudaErrorLaunchFailure);
  EXPECT_NE(text.find("5 threads (0-4) wait in this_grid().sync() at "), std::string::npos) << text;
  EXPECT_NE(text.find("27 threads (5-31) have left the kernel"), std::string::npos) << text;
}

__global__ void one_block_fails(int* nowhere) {
  if (blockIdx.x == 1) *nowhere = 1;
  cg::this_grid().sync();
}

TEST(CooperativeLaunchReports, ABlockThatFailsEndsTheOthersWait) {
  int* nowhere = nullptr;
  void* arguments[] = {&nowhere};
  const std::string text =
      report_of([&] { cudaLaunchCooperativeKernel((void*)one_block_fails, 6, 8, arguments); },
                cudaErrorIllegalAddress);
  EXPECT_NE(text.find("null pointer"), std::string::npos) << text;
}

[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "2", 1);

__global__ void one_block_spins(const volatile int* flag) {
  if (blockIdx.x == 2)
    while (*flag == 0) {
    }
  cg::this_grid().sync();
}

TEST(CooperativeLaunchReports, TheWatchdogNamesTheBlockThatSpins) {
  const device_array<int> flag(1, 0);
  const volatile int* f = flag.data();
  void* arguments[] = {&f};
  const std::string text =
      report_of([&] { cudaLaunchCooperativeKernel((void*)one_block_spins, 4, 2, arguments); },
                cudaErrorLaunchTimeout);
  EXPECT_NE(text.find("block (2,0,0)"), std::string::npos) << text;
}
#endif

}  // namespace
