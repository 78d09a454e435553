// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Conditional nodes of graphs: IF, WHILE and SWITCH, with values that kernels set. Runs on the CPU
// device and on a GPU.

#include "conformance.hpp"

namespace {

using conformance::device_array;
using conformance::in_every_order;
using conformance::in_every_policy;

__global__ void choose(cudaGraphConditionalHandle handle, const int* value) {
  cudaGraphSetConditional(handle, static_cast<unsigned>(*value));
}
__global__ void add(int* data, int n) { *data += n; }
__global__ void multiply(int* data, int n) { *data *= n; }
__global__ void count_down(cudaGraphConditionalHandle handle, int* left) {
  *left -= 1;
  cudaGraphSetConditional(handle, *left > 0 ? 1 : 0);
}
__global__ void choose_odd(cudaGraphConditionalHandle handle, const int* left) {
  cudaGraphSetConditional(handle, static_cast<unsigned>(*left % 2));
}

/// A graph that is destroyed at the end of the test.
struct graph_things {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStream_t stream = nullptr;
  graph_things() {
    EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  }
  ~graph_things() {
    if (exec != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  graph_things(const graph_things&) = delete;
  graph_things& operator=(const graph_things&) = delete;

  cudaGraphConditionalHandle handle(unsigned value = 0, unsigned flags = 0) const {
    cudaGraphConditionalHandle made = 0;
    EXPECT_EQ(cudaGraphConditionalHandleCreate(&made, graph, value, flags), cudaSuccess);
    return made;
  }
  void instantiate() { ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess); }
  void run() const {
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
};

template <class... P>
cudaGraphNode_t kernel_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                            void* kernel, P... arguments) {
  void* addresses[] = {&arguments..., nullptr};
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeKernel;
  p.kernel.func = kernel;
  p.kernel.gridDim = dim3(1);
  p.kernel.blockDim = dim3(1);
  p.kernel.kernelParams = addresses;
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(cudaGraphAddNode(&node, graph, before.data(), nullptr, before.size(), &p), cudaSuccess);
  return node;
}
void* const kChoose = reinterpret_cast<void*>(choose);
void* const kAdd = reinterpret_cast<void*>(add);
void* const kMultiply = reinterpret_cast<void*>(multiply);
void* const kCountDown = reinterpret_cast<void*>(count_down);
void* const kChooseOdd = reinterpret_cast<void*>(choose_odd);

/// A conditional node and its graphs.
struct conditional {
  cudaGraphNode_t node = nullptr;
  std::vector<cudaGraph_t> bodies;
};
conditional conditional_node(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& before,
                             cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                             unsigned size) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  conditional made;
  EXPECT_EQ(cudaGraphAddNode(&made.node, graph, before.data(), nullptr, before.size(), &p),
            cudaSuccess);
  if (made.node != nullptr)
    made.bodies.assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
  return made;
}

/// What data, 1 at first, is after each value: the nodes in the chosen graph add, and then all
/// multiply by 10.
std::vector<int> results_of(cudaGraphConditionalNodeType type, unsigned size,
                            const std::vector<int>& values) {
  const device_array<int> data(1, 0), value(1, 0);
  graph_things t;
  const auto handle = t.handle();
  cudaGraphNode_t chosen = kernel_node(t.graph, {}, kChoose, handle, value.data());
  const conditional c = conditional_node(t.graph, {chosen}, handle, type, size);
  for (unsigned i = 0; i < size; ++i)
    kernel_node(c.bodies[i], {}, kAdd, data.data(), static_cast<int>(i + 1));
  kernel_node(t.graph, {c.node}, kMultiply, data.data(), 10);
  t.instantiate();
  std::vector<int> results;
  for (const int v : values) {
    const int one = 1;
    EXPECT_EQ(cudaMemcpy(data.data(), &one, sizeof one, cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(value.data(), &v, sizeof v, cudaMemcpyHostToDevice), cudaSuccess);
    t.run();
    results.push_back(data.to_host()[0]);
  }
  return results;
}

TEST(ConditionalNodes, RunTheirGraphIf) {
  in_every_policy([] {
    in_every_order([] {
      EXPECT_EQ(results_of(cudaGraphCondTypeIf, 1, {0, 1, 7, 0}),
                (std::vector<int>{10, 20, 20, 10}));
    });
  });
}
TEST(ConditionalNodes, RunTheOtherGraphElse) {
  EXPECT_EQ(results_of(cudaGraphCondTypeIf, 2, {0, 1, 7, 0}), (std::vector<int>{30, 20, 20, 30}));
}
TEST(ConditionalNodes, SwitchAmongGraphs) {
  EXPECT_EQ(results_of(cudaGraphCondTypeSwitch, 3, {0, 1, 2, 3, -1, 1}),
            (std::vector<int>{20, 30, 40, 10, 10, 30}));
}

TEST(ConditionalNodes, RunTheirGraphWhile) {
  in_every_policy([] {
    for (const int count : {1, 2, 17}) {
      const device_array<int> data(1, 0), left(1, 0);
      graph_things t;
      // Each launch begins with 1.
      const auto handle = t.handle(1, cudaGraphCondAssignDefault);
      const conditional c = conditional_node(t.graph, {}, handle, cudaGraphCondTypeWhile, 1);
      cudaGraphNode_t added = kernel_node(c.bodies[0], {}, kAdd, data.data(), 3);
      kernel_node(c.bodies[0], {added}, kCountDown, handle, left.data());
      t.instantiate();
      for (int launch = 1; launch <= 2; ++launch) {
        ASSERT_EQ(cudaMemcpy(left.data(), &count, sizeof count, cudaMemcpyHostToDevice),
                  cudaSuccess);
        t.run();
        EXPECT_EQ(data.to_host()[0], 3 * count * launch);
      }
    }
  });
}

TEST(ConditionalNodes, HaveConditionalNodesInside) {
  const device_array<int> data(1, 0), left(1, 6);
  graph_things t;
  const auto again = t.handle(1, cudaGraphCondAssignDefault), odd = t.handle();
  const conditional loop = conditional_node(t.graph, {}, again, cudaGraphCondTypeWhile, 1);
  cudaGraph_t body = loop.bodies[0];
  cudaGraphNode_t asked = kernel_node(body, {}, kChooseOdd, odd, left.data());
  const conditional branch = conditional_node(body, {asked}, odd, cudaGraphCondTypeIf, 2);
  kernel_node(branch.bodies[0], {}, kAdd, data.data(), 1);
  kernel_node(branch.bodies[1], {}, kMultiply, data.data(), 3);
  kernel_node(body, {branch.node}, kCountDown, again, left.data());
  t.instantiate();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  t.run();
  EXPECT_EQ(data.to_host()[0], ((0 * 3 + 1) * 3 + 1) * 3 + 1);
}

TEST(ConditionalNodes, AreCapturedInto) {
  const device_array<int> data(1, 5), value(1, 1);
  graph_things t;
  ASSERT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cudaStream_t inner = nullptr;
  ASSERT_EQ(cudaStreamCreate(&inner), cudaSuccess);

  ASSERT_EQ(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  cudaStreamCaptureStatus status{};
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamGetCaptureInfo(t.stream, &status, nullptr, &graph), cudaSuccess);
  cudaGraphConditionalHandle handle = 0;
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0), cudaSuccess);
  choose<<<1, 1, 0, t.stream>>>(handle, value.data());
  const cudaGraphNode_t* last = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(cudaStreamGetCaptureInfo(t.stream, &status, nullptr, &graph, &last, nullptr, &count),
            cudaSuccess);
  conditional c = conditional_node(graph, {last, last + count}, handle, cudaGraphCondTypeIf, 1);
  ASSERT_EQ(cudaStreamUpdateCaptureDependencies(t.stream, &c.node, nullptr, 1,
                                                cudaStreamSetCaptureDependencies),
            cudaSuccess);
  multiply<<<1, 1, 0, t.stream>>>(data.data(), 10);

  ASSERT_EQ(cudaStreamBeginCaptureToGraph(inner, c.bodies[0], nullptr, nullptr, 0,
                                          cudaStreamCaptureModeRelaxed),
            cudaSuccess);
  add<<<1, 1, 0, inner>>>(data.data(), 1);
  multiply<<<1, 1, 0, inner>>>(data.data(), 2);
  cudaGraph_t same = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(inner, &same), cudaSuccess);
  EXPECT_EQ(same, c.bodies[0]);
  ASSERT_EQ(cudaStreamEndCapture(t.stream, &t.graph), cudaSuccess);
  t.instantiate();
  t.run();
  EXPECT_EQ(data.to_host()[0], 120);

  // Who has the graph need not be given it.
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(inner, t.graph, nullptr, nullptr, 0,
                                          cudaStreamCaptureModeRelaxed),
            cudaSuccess);
  add<<<1, 1, 0, inner>>>(data.data(), 1);
  EXPECT_EQ(cudaStreamEndCapture(inner, nullptr), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(inner), cudaSuccess);
}

/// An IF whose graph fills `data`, or adds to it.
struct filling_graph : graph_things {
  cudaGraphNode_t fill = nullptr;
  filling_graph(int* data, unsigned value, bool fills = true) {
    const conditional c =
        conditional_node(graph, {}, handle(1, cudaGraphCondAssignDefault), cudaGraphCondTypeIf, 1);
    if (!fills) {
      kernel_node(c.bodies[0], {}, kAdd, data, 1);
      return;
    }
    cudaMemsetParams p = {};
    p.dst = data;
    p.elementSize = 4;
    p.value = value;
    p.width = p.height = 1;
    EXPECT_EQ(cudaGraphAddMemsetNode(&fill, c.bodies[0], nullptr, 0, &p), cudaSuccess);
  }
};

TEST(ConditionalNodes, TakeOverWhatTheGraphsOfOthersDo) {
  const device_array<int> data(1, 0);
  filling_graph t(data.data(), 10), twenty(data.data(), 20), adds(data.data(), 0, false);
  t.instantiate();
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  t.run();
  EXPECT_EQ(data.to_host()[0], 10);
  cudaGraphExecUpdateResultInfo info = {};
  ASSERT_EQ(cudaGraphExecUpdate(t.exec, twenty.graph, &info), cudaSuccess);
  t.run();
  EXPECT_EQ(data.to_host()[0], 20);
  EXPECT_EQ(cudaGraphExecUpdate(t.exec, adds.graph, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_NE(info.result, cudaGraphExecUpdateSuccess);
  cudaGetLastError();
  t.run();
  EXPECT_EQ(data.to_host()[0], 20);
}

TEST(ConditionalNodes, AreNeitherClonedNorInChildren) {
  const device_array<int> data(1, 0);
  const filling_graph t(data.data(), 10);
  cudaGraph_t clone = nullptr, outer = nullptr;
  EXPECT_NE(cudaGraphClone(&clone, t.graph), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&outer, 0), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  EXPECT_NE(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, t.graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(outer), cudaSuccess);
  cudaGetLastError();
}

TEST(ConditionalNodes, RunNothingOfTheHost) {
  graph_things t;
  const conditional c = conditional_node(t.graph, {}, t.handle(1, cudaGraphCondAssignDefault),
                                         cudaGraphCondTypeIf, 1);
  cudaHostNodeParams host = {};
  host.fn = [](void*) {};
  cudaGraphNode_t node = nullptr;
  // Whoever refuses it.
  EXPECT_TRUE(cudaGraphAddHostNode(&node, c.bodies[0], nullptr, 0, &host) != cudaSuccess ||
              cudaGraphInstantiate(&t.exec, t.graph, 0) != cudaSuccess);
  cudaGetLastError();
}

cudaError_t add_conditional(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                            cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraphNodeParams p = {};
  p.type = cudaGraphNodeTypeConditional;
  p.conditional.handle = handle;
  p.conditional.type = type;
  p.conditional.size = size;
  cudaGraphNode_t node = nullptr;
  const cudaError_t status = cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &p);
  cudaGetLastError();
  return status;
}

TEST(ConditionalNodes, RefuseNumbersOfGraphsThatTheyCannotHave) {
  const graph_things t;
  const auto handle = t.handle();
  EXPECT_NE(add_conditional(t.graph, handle, cudaGraphCondTypeIf, 0), cudaSuccess);
  EXPECT_NE(add_conditional(t.graph, handle, cudaGraphCondTypeIf, 3), cudaSuccess);
  EXPECT_NE(add_conditional(t.graph, handle, cudaGraphCondTypeWhile, 2), cudaSuccess);
  EXPECT_NE(add_conditional(t.graph, handle, cudaGraphCondTypeSwitch, 0), cudaSuccess);
  EXPECT_EQ(add_conditional(t.graph, handle, cudaGraphCondTypeSwitch, 1), cudaSuccess);
}

#ifdef __CPU_DEVICE__
// What CUDA leaves undefined.
TEST(ConditionalNodesOfTheCpuDevice, NeedAHandleOfTheirOwn) {
  graph_things t;
  const graph_things other;
  const auto handle = t.handle();
  EXPECT_EQ(add_conditional(other.graph, handle, cudaGraphCondTypeIf, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(&t.exec, t.graph, 0), cudaErrorInvalidValue) << "no node";
  EXPECT_EQ(add_conditional(t.graph, handle, cudaGraphCondTypeIf, 1), cudaSuccess);
  EXPECT_EQ(add_conditional(t.graph, handle, cudaGraphCondTypeIf, 1), cudaErrorInvalidValue);
  t.instantiate();
}

TEST(ConditionalNodesOfTheCpuDevice, NeedAValue) {
  graph_things t;
  const auto handle = t.handle();
  conditional_node(t.graph, {}, handle, cudaGraphCondTypeIf, 1);
  t.instantiate();
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  t.run();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(ConditionalNodesOfTheCpuDevice, OwnTheirGraphs) {
  graph_things t;
  const device_array<int> data(1, 0);
  const conditional c = conditional_node(t.graph, {}, t.handle(1, cudaGraphCondAssignDefault),
                                         cudaGraphCondTypeIf, 1);
  EXPECT_EQ(cudaGraphDestroy(c.bodies[0]), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(&t.exec, c.bodies[0], 0), cudaErrorInvalidValue);
  cudaGraphNode_t node = kernel_node(c.bodies[0], {}, kAdd, data.data(), 1);
  t.instantiate();
  // The arguments of a node in there can be changed like those of any other.
  cudaKernelNodeParams p = {};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &p), cudaSuccess);
  int n = 44;
  void* arguments[] = {p.kernelParams[0], &n};
  p.kernelParams = arguments;
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(t.exec, node, &p), cudaSuccess);
  t.run();
  EXPECT_EQ(data.to_host()[0], 44);
}

__global__ void fail() { __trap(); }

TEST(ConditionalNodesOfTheCpuDevice, EndWhenAKernelFails) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphConditionalHandle handle = 0;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault),
            cudaSuccess);
  const conditional c = conditional_node(graph, {}, handle, cudaGraphCondTypeWhile, 1);
  kernel_node(c.bodies[0], {}, reinterpret_cast<void*>(fail));
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaGetLastError();
}

// A handle outlives its graph in a kernel's arguments.
TEST(ConditionalNodesOfTheCpuDevice, AreSetOnlyWhileTheyAreThere) {
  const device_array<int> value(1, 1);
  cudaGraphConditionalHandle handle = 0;
  {
    const graph_things t;
    handle = t.handle();
  }
  choose<<<1, 1>>>(handle, value.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  cudaGetLastError();
}
#endif

}  // namespace
