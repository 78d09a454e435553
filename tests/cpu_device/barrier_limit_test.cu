// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Long kernels that are not stopped: they run from barrier to barrier, each time in another state,
// or change memory again and again. (time_limit_test.cu has kernels that are stopped.)

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

// Before the first launch asks for it. Long enough for a busy machine.
[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "1.5", 1);

/// What each thread has is the same in every round, and `rounds` is not.
__global__ void count_in_shared_memory(long long ticks, int* out) {
  __shared__ int rounds, done;
  const long long begin = clock64();
  if (threadIdx.x == 0) rounds = 0;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      ++rounds;
      done = clock64() - begin > ticks ? 1 : 0;
    }
    __syncthreads();
  } while (done == 0);
  if (threadIdx.x == 0) *out = rounds;
}

TEST(BarrierLimit, IsNotForBarriersThatFindSomethingNew) {
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  const device_array<int> out(1, 0);
  count_in_shared_memory<<<1, 64>>>(4000LL * kilohertz, out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(out.to_host()[0], 0);
}

// Three kernels whose rounds change nothing but global memory. Their clock does not leave anything
// in registers either.
struct clock_in_memory {
  long long begin, ticks;
};
__device__ __noinline__ bool goes_on(const volatile clock_in_memory* c) {
  return clock64() - c->begin < c->ticks;
}

__global__ void add_to_memory(volatile clock_in_memory* c, int* cells) {
  c->begin = clock64();
  while (goes_on(c)) atomicAdd(cells, 1);
}
__global__ void add_between_barriers(volatile clock_in_memory* c, int* cells) {
  volatile int* done = cells + blockDim.x;
  if (threadIdx.x == 0) c->begin = clock64();
  do {
    if (threadIdx.x == 0) *done = goes_on(c) ? 0 : 1;
    atomicAdd(cells + threadIdx.x, 1);
    __syncthreads();
    const int was_done = *done;
    __syncthreads();
    if (was_done != 0) break;
  } while (true);
}
__device__ int cell;
__global__ void add_to_variable(volatile clock_in_memory* c, int* cells) {
  c->begin = clock64();
  while (goes_on(c)) atomicAdd(&cell, 1);
  *cells = cell;
}

void runs_for_four_seconds(void (*kernel)(volatile clock_in_memory*, int*), unsigned threads) {
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  const device_array<clock_in_memory> clock(1, {0, 4000LL * kilohertz});
  const device_array<int> cells(1 << 20, 0);  // some memory to read
  kernel<<<1, threads>>>(clock.data(), cells.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(cells.to_host()[0], 1);
}

TEST(TimeLimit, IsNotForAThreadThatChangesMemory) { runs_for_four_seconds(add_to_memory, 1); }
TEST(TimeLimit, IsNotForBarriersBetweenWhichMemoryChanges) {
  runs_for_four_seconds(add_between_barriers, 64);
}
TEST(TimeLimit, IsNotForAThreadThatChangesAVariable) { runs_for_four_seconds(add_to_variable, 1); }

__global__ void add_in_round(cudaGraphConditionalHandle handle, volatile clock_in_memory* c,
                             int* cells) {
  if (atomicAdd(cells, 1) == 0) c->begin = clock64();
  cudaGraphSetConditional(handle, goes_on(c));
}

TEST(TimeLimit, IsNotForAWhileWhoseRoundsChangeMemory) {
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  const device_array<clock_in_memory> clock(1, {0, 4000LL * kilohertz});
  const device_array<int> cells(1 << 20, 0);
  cudaGraph_t graph = nullptr, body = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNodeParams loop = {};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1,
                                             cudaGraphCondAssignDefault),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop), cudaSuccess);
  body = loop.conditional.phGraph_out[0];
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
                                          cudaStreamCaptureModeRelaxed),
            cudaSuccess);
  add_in_round<<<1, 1, 0, stream>>>(loop.conditional.handle, clock.data(), cells.data());
  ASSERT_EQ(cudaStreamEndCapture(stream, &body), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_GT(cells.to_host()[0], 1);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
