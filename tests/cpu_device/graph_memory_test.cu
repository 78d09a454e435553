// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Memory that graphs allocate and free: by nodes, and by calls on a stream that is captured. Runs
// on the CPU device and on a GPU.

#include <cstdint>

#include "conformance.hpp"

namespace {

using conformance::device_array;

constexpr int kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(int);

__global__ void fill(int* data, int value) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) data[i] = value + static_cast<int>(i);
}
__global__ void add(const int* data, int* sum) {
  for (int i = 0; i < kCount; ++i) *sum += data[i];
}
constexpr int sum_from(int value) { return kCount * value + kCount * (kCount - 1) / 2; }

/// A graph, its executable form and a stream, which are destroyed at the end of the test.
struct graph_things {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStream_t stream = nullptr;
  graph_things() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  ~graph_things() {
    if (exec != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    }
    if (graph != nullptr) {
      EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  graph_things(const graph_things&) = delete;
  graph_things& operator=(const graph_things&) = delete;

  void instantiate(unsigned long long flags = 0) {
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, flags), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the data is there before other streams run
  }
  void run() const {
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  /// Calls of other host threads do not affect the capture.
  void begin() {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  }
  void end() { ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess); }
};

cudaMemAllocNodeParams of_device_0(std::size_t bytes) {
  cudaMemAllocNodeParams p = {};
  p.poolProps.allocType = cudaMemAllocationTypePinned;
  p.poolProps.location.type = cudaMemLocationTypeDevice;
  p.bytesize = bytes;
  return p;
}

TEST(GraphMemory, IsThereBetweenTwoNodes) {
  conformance::in_every_order([] {
    graph_things t;
    ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
    const device_array<int> sum(1, 0);
    cudaMemAllocNodeParams p = of_device_0(kBytes);
    cudaGraphNode_t made = nullptr, filled = nullptr, added = nullptr, freed = nullptr;
    ASSERT_EQ(cudaGraphAddMemAllocNode(&made, t.graph, nullptr, 0, &p), cudaSuccess);
    ASSERT_NE(p.dptr, nullptr);
    int value = 5;
    int* where = sum.data();
    void* of_fill[] = {&p.dptr, &value};
    void* of_add[] = {&p.dptr, &where};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(fill);
    kernel.gridDim = dim3(4);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = of_fill;
    ASSERT_EQ(cudaGraphAddKernelNode(&filled, t.graph, &made, 1, &kernel), cudaSuccess);
    kernel.func = reinterpret_cast<void*>(add);
    kernel.gridDim = kernel.blockDim = dim3(1);
    kernel.kernelParams = of_add;
    ASSERT_EQ(cudaGraphAddKernelNode(&added, t.graph, &filled, 1, &kernel), cudaSuccess);
    ASSERT_EQ(cudaGraphAddMemFreeNode(&freed, t.graph, &added, 1, p.dptr), cudaSuccess);

    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    ASSERT_EQ(cudaGraphNodeGetType(made, &type), cudaSuccess);
    EXPECT_EQ(type, cudaGraphNodeTypeMemAlloc);
    ASSERT_EQ(cudaGraphNodeGetType(freed, &type), cudaSuccess);
    EXPECT_EQ(type, cudaGraphNodeTypeMemFree);
    cudaMemAllocNodeParams again = {};
    ASSERT_EQ(cudaGraphMemAllocNodeGetParams(made, &again), cudaSuccess);
    EXPECT_EQ(again.dptr, p.dptr);
    EXPECT_EQ(again.bytesize, kBytes);
    void* pointer = nullptr;
    ASSERT_EQ(cudaGraphMemFreeNodeGetParams(freed, &pointer), cudaSuccess);
    EXPECT_EQ(pointer, p.dptr);

    t.instantiate();
    for (int launch = 1; launch <= 3; ++launch) {
      t.run();
      EXPECT_EQ(sum.to_host()[0], launch * sum_from(5));
    }
  });
}

TEST(GraphMemory, IsCaptured) {
  conformance::in_every_order([] {
    graph_things t;
    const device_array<int> sum(1, 0);
    int* data = nullptr;
    t.begin();
    ASSERT_EQ(cudaMallocAsync(&data, kBytes, t.stream), cudaSuccess);
    fill<<<4, 256, 0, t.stream>>>(data, 7);
    add<<<1, 1, 0, t.stream>>>(data, sum.data());
    ASSERT_EQ(cudaFreeAsync(data, t.stream), cudaSuccess);
    t.end();
    std::size_t nodes = 0;
    ASSERT_EQ(cudaGraphGetNodes(t.graph, nullptr, &nodes), cudaSuccess);
    EXPECT_EQ(nodes, 4U);
    t.instantiate();
    t.run();
    t.run();
    EXPECT_EQ(sum.to_host()[0], 2 * sum_from(7));
  });
}

/// The graph allocates and fills, and frees nothing. Returns where.
int* capture_without_free(graph_things& t) {
  int* data = nullptr;
  t.begin();
  EXPECT_EQ(cudaMallocAsync(&data, kBytes, t.stream), cudaSuccess);
  fill<<<4, 256, 0, t.stream>>>(data, 3);
  t.end();
  return data;
}

TEST(GraphMemory, MayOutliveTheLaunch) {
  graph_things t;
  const device_array<int> sum(1, 0);
  int* const data = capture_without_free(t);
  t.instantiate();
  for (int launch = 1; launch <= 2; ++launch) {
    ASSERT_EQ(cudaGraphLaunch(t.exec, t.stream), cudaSuccess);
    add<<<1, 1, 0, t.stream>>>(data, sum.data());
    ASSERT_EQ(cudaFreeAsync(data, t.stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(t.stream), cudaSuccess);
    EXPECT_EQ(sum.to_host()[0], launch * sum_from(3));
  }
  t.run();
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

TEST(GraphMemory, MayOutliveTheGraph) {
  graph_things t;
  const device_array<int> sum(1, 0);
  int* const data = capture_without_free(t);
  t.instantiate();
  t.run();
  ASSERT_EQ(cudaGraphExecDestroy(t.exec), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  t.exec = nullptr;
  t.graph = nullptr;
  add<<<1, 1, 0, t.stream>>>(data, sum.data());
  ASSERT_EQ(cudaStreamSynchronize(t.stream), cudaSuccess);
  EXPECT_EQ(sum.to_host()[0], sum_from(3));
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

TEST(GraphMemory, IsFreedByTheNextLaunchIfThatIsAskedFor) {
  graph_things t;
  const device_array<int> sum(1, 0);
  int* const data = capture_without_free(t);
  t.instantiate(cudaGraphInstantiateFlagAutoFreeOnLaunch);
  t.run();
  t.run();
  add<<<1, 1, 0, t.stream>>>(data, sum.data());
  ASSERT_EQ(cudaStreamSynchronize(t.stream), cudaSuccess);
  EXPECT_EQ(sum.to_host()[0], sum_from(3));
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

TEST(GraphMemory, IsNotForClonesAndChildren) {
  graph_things t, parent;
  ASSERT_EQ(cudaGraphCreate(&parent.graph, 0), cudaSuccess);
  capture_without_free(t);
  cudaGraph_t clone = nullptr;
  cudaGraphNode_t child = nullptr;
  EXPECT_NE(cudaGraphClone(&clone, t.graph), cudaSuccess);
  EXPECT_NE(cudaGraphAddChildGraphNode(&child, parent.graph, nullptr, 0, t.graph), cudaSuccess);
  cudaGetLastError();
}

TEST(GraphMemory, TakesNoOrdinaryMemoryAndNoWrongProperties) {
  graph_things t;
  ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
  const device_array<int> ordinary(1, 0);
  cudaGraphNode_t node = nullptr;
  EXPECT_NE(cudaGraphAddMemFreeNode(&node, t.graph, nullptr, 0, ordinary.data()), cudaSuccess);
  cudaMemAllocNodeParams p = of_device_0(0);
  EXPECT_NE(cudaGraphAddMemAllocNode(&node, t.graph, nullptr, 0, &p), cudaSuccess);
  p = of_device_0(kBytes);
  p.poolProps.allocType = cudaMemAllocationTypeInvalid;
  EXPECT_NE(cudaGraphAddMemAllocNode(&node, t.graph, nullptr, 0, &p), cudaSuccess);
  cudaGetLastError();
}

std::uint64_t used(cudaGraphMemAttributeType attribute) {
  std::uint64_t value = 0;
  EXPECT_EQ(cudaDeviceGetGraphMemAttribute(0, attribute, &value), cudaSuccess);
  return value;
}

TEST(GraphMemory, IsCounted) {
  graph_things t;
  ASSERT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);  // what earlier tests have left
  const std::uint64_t before = used(cudaGraphMemAttrUsedMemCurrent);
  int* const data = capture_without_free(t);
  t.instantiate();
  EXPECT_EQ(used(cudaGraphMemAttrUsedMemCurrent), before);
  t.run();
  EXPECT_GE(used(cudaGraphMemAttrUsedMemCurrent), before + kBytes);
  EXPECT_GE(used(cudaGraphMemAttrUsedMemHigh), before + kBytes);
  EXPECT_GE(used(cudaGraphMemAttrReservedMemCurrent), before + kBytes);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
#ifdef __CPU_DEVICE__  // a GPU may count it until it is trimmed
  EXPECT_EQ(used(cudaGraphMemAttrUsedMemCurrent), before);
#endif
  EXPECT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  EXPECT_EQ(used(cudaGraphMemAttrUsedMemCurrent), before);
}

#ifdef __CPU_DEVICE__
TEST(GraphMemory, IsNotThereBeforeALaunchAndAfterItsEnd) {
  graph_things t;
  int* data = nullptr;
  t.begin();
  ASSERT_EQ(cudaMallocAsync(&data, kBytes, t.stream), cudaSuccess);
  fill<<<4, 256, 0, t.stream>>>(data, 7);
  ASSERT_EQ(cudaFreeAsync(data, t.stream), cudaSuccess);
  t.end();
  t.instantiate();
  t.run();
  const std::size_t before = cpu_device::report_count();
  fill<<<4, 256, 0, t.stream>>>(data, 7);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("A graph allocates it, and has not done so yet"),
            std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(cudaGraphExecDestroy(t.exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  t.exec = nullptr;
  t.graph = nullptr;
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaStreamCreate(&t.stream), cudaSuccess);
}

TEST(GraphMemory, IsNotAllocatedTwice) {
  graph_things t;
  int* const data = capture_without_free(t);
  t.instantiate();
  t.run();
  EXPECT_EQ(cudaGraphLaunch(t.exec, t.stream), cudaSuccess);
  cudaStreamSynchronize(t.stream);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue) << "a second time";
}
#endif

}  // namespace
