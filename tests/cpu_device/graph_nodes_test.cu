// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Nodes of graphs: their edges, events among them, other parameters after the graph was
// instantiated; what a stream reports about its capture. Runs on the CPU device and on a GPU.

#include <algorithm>

#include "conformance.hpp"

namespace {

using conformance::device_array;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }

cudaMemsetParams one_word(int* data, unsigned value) {
  cudaMemsetParams p = {};
  p.dst = data;
  p.elementSize = 4;
  p.value = value;
  p.width = 1;
  p.height = 1;
  return p;
}

/// A graph, its executable form and two streams, which are destroyed at the end of the test.
struct graph_things {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStream_t stream = nullptr, other = nullptr;
  graph_things() {
    EXPECT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  }
  ~graph_things() {
    if (exec != nullptr) {
      EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    }
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  }
  graph_things(const graph_things&) = delete;
  graph_things& operator=(const graph_things&) = delete;

  void instantiate() {
    ASSERT_EQ(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // the data is there before other streams run
  }
  void run() const {
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  cudaGraphNode_t memset_node(int* data, unsigned value) const {
    const cudaMemsetParams p = one_word(data, value);
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &p), cudaSuccess);
    return node;
  }
};

cudaError_t add_edge(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to) {
#if CUDART_VERSION >= 13000
  return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
#else
  return cudaGraphAddDependencies(graph, &from, &to, 1);
#endif
}

std::vector<cudaGraphNode_t> dependencies_of(cudaGraphNode_t node) {
  std::size_t count = 0;
  cudaGraphNode_t nodes[8] = {};
#if CUDART_VERSION >= 13000
  EXPECT_EQ(cudaGraphNodeGetDependencies(node, nullptr, nullptr, &count), cudaSuccess);
  EXPECT_LE(count, 8U);
  if (count == 0) return {};  // a GPU refuses an array without room
  EXPECT_EQ(cudaGraphNodeGetDependencies(node, nodes, nullptr, &count), cudaSuccess);
#else
  EXPECT_EQ(cudaGraphNodeGetDependencies(node, nullptr, &count), cudaSuccess);
  EXPECT_LE(count, 8U);
  if (count == 0) return {};
  EXPECT_EQ(cudaGraphNodeGetDependencies(node, nodes, &count), cudaSuccess);
#endif
  std::vector<cudaGraphNode_t> all(nodes, nodes + count);
  std::sort(all.begin(), all.end());
  return all;
}

TEST(GraphNodes, RunAfterThoseThatTheirEdgesName) {
  conformance::in_every_order([] {
    graph_things t;
    const device_array<int> data(1, 0);
    cudaGraphNode_t first = t.memset_node(data.data(), 1), second = t.memset_node(data.data(), 2),
                    third = t.memset_node(data.data(), 3);
    ASSERT_EQ(add_edge(t.graph, third, first), cudaSuccess);
    ASSERT_EQ(add_edge(t.graph, first, second), cudaSuccess);
    ASSERT_EQ(add_edge(t.graph, third, second), cudaSuccess);
    EXPECT_EQ(dependencies_of(third), std::vector<cudaGraphNode_t>());
    EXPECT_EQ(dependencies_of(first), std::vector<cudaGraphNode_t>{third});
    std::vector<cudaGraphNode_t> both = {first, third};
    std::sort(both.begin(), both.end());
    EXPECT_EQ(dependencies_of(second), both);
    t.instantiate();
    t.run();
    EXPECT_EQ(data.to_host()[0], 2);
  });
}

TEST(GraphNodes, HaveNoEdgeTwiceAndNoCircles) {
  graph_things t;
  const device_array<int> data(1, 0);
  cudaGraphNode_t a = t.memset_node(data.data(), 1), b = t.memset_node(data.data(), 2);
  ASSERT_EQ(add_edge(t.graph, a, b), cudaSuccess);
  EXPECT_NE(add_edge(t.graph, a, b), cudaSuccess);  // it is there already
  // A cycle is found when it is closed or, at the latest, when the graph is instantiated.
  if (add_edge(t.graph, b, a) == cudaSuccess) {
    EXPECT_NE(cudaGraphInstantiateWithFlags(&t.exec, t.graph, 0), cudaSuccess);
    t.exec = nullptr;
  }
  cudaGetLastError();
}

TEST(GraphNodes, RecordAndAwaitEvents) {
  graph_things t;
  cudaEvent_t before = nullptr, after = nullptr;
  ASSERT_EQ(cudaEventCreate(&before), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&after), cudaSuccess);
  const device_array<int> data(1, 1);
  const device_array<int> copy(1, 0);
  cudaGraphNode_t wait = nullptr, move = nullptr, record = nullptr;
  ASSERT_EQ(cudaGraphAddEventWaitNode(&wait, t.graph, nullptr, 0, before), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&move, t.graph, &wait, 1, copy.data(), data.data(),
                                     sizeof(int), cudaMemcpyDeviceToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddEventRecordNode(&record, t.graph, &move, 1, after), cudaSuccess);
  t.instantiate();
  add<<<1, 1, 0, t.other>>>(data.data(), 41);
  ASSERT_EQ(cudaEventRecord(before, t.other), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(t.exec, t.stream), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(after), cudaSuccess);
  EXPECT_EQ(copy.to_host()[0], 42);
  EXPECT_EQ(cudaEventDestroy(before), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(after), cudaSuccess);
}

TEST(GraphNodes, TakeOtherParametersOnceTheGraphIsReady) {
  graph_things t;
  const device_array<int> a(2, 1), b(2, 2), to(2, 0);
  int calls[2] = {};
  cudaGraphNode_t copy = nullptr, call = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, t.graph, nullptr, 0, to.data(), a.data(),
                                     2 * sizeof(int), cudaMemcpyDeviceToDevice),
            cudaSuccess);
  cudaHostNodeParams host = {};
  host.fn = [](void* p) { ++*static_cast<int*>(p); };
  host.userData = &calls[0];
  ASSERT_EQ(cudaGraphAddHostNode(&call, t.graph, &copy, 1, &host), cudaSuccess);
  t.instantiate();
  host.userData = &calls[1];
  ASSERT_EQ(cudaGraphExecHostNodeSetParams(t.exec, call, &host), cudaSuccess);
  ASSERT_EQ(cudaGraphExecMemcpyNodeSetParams1D(t.exec, copy, to.data(), b.data(), 2 * sizeof(int),
                                               cudaMemcpyDeviceToDevice),
            cudaSuccess);
  t.run();
  t.run();
  EXPECT_EQ(to.to_host(), std::vector<int>(2, 2));
  EXPECT_EQ(calls[0], 0);
  EXPECT_EQ(calls[1], 2);
}

struct chain {
  cudaGraphNode_t fill = nullptr, added = nullptr, copy = nullptr, call = nullptr;
};
/// *data is 10, then the kernel runs, then *data is copied, then the host is called.
chain chain_of(const graph_things& t, int* data, const cudaKernelNodeParams& kernel, int* to,
               const cudaHostNodeParams& host) {
  chain c;
  c.fill = t.memset_node(data, 10);
  EXPECT_EQ(cudaGraphAddKernelNode(&c.added, t.graph, &c.fill, 1, &kernel), cudaSuccess);
  EXPECT_EQ(cudaGraphAddMemcpyNode1D(&c.copy, t.graph, &c.added, 1, to, data, sizeof(int),
                                     cudaMemcpyDeviceToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaGraphAddHostNode(&c.call, t.graph, &c.copy, 1, &host), cudaSuccess);
  return c;
}

// A graph instantiated before does the old work; one instantiated afterwards, the new work.
TEST(GraphNodes, TakeOtherParametersBeforeTheGraphIsReady) {
  graph_things t;
  const device_array<int> data(1, 0), from(1, 50), to(1, 0);
  int calls[2] = {};
  int* where = data.data();
  int by = 1;
  void* arguments[] = {&where, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = kernel.blockDim = dim3(1);
  kernel.kernelParams = arguments;
  cudaHostNodeParams host = {};
  host.fn = [](void* p) { ++*static_cast<int*>(p); };
  host.userData = &calls[0];
  const auto [fill, added, copy, call] = chain_of(t, data.data(), kernel, to.data(), host);
  t.instantiate();

  by = 2;
  host.userData = &calls[1];
  const cudaMemsetParams twenty = one_word(data.data(), 20);
  ASSERT_EQ(cudaGraphMemsetNodeSetParams(fill, &twenty), cudaSuccess);
  ASSERT_EQ(cudaGraphKernelNodeSetParams(added, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphMemcpyNodeSetParams1D(copy, to.data(), from.data(), sizeof(int),
                                           cudaMemcpyDeviceToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaGraphHostNodeSetParams(call, &host), cudaSuccess);
  EXPECT_NE(cudaGraphKernelNodeSetParams(fill, &kernel), cudaSuccess) << "it is a memset";
  cudaGetLastError();
  t.run();
  EXPECT_EQ(data.to_host()[0], 11);
  EXPECT_EQ(to.to_host()[0], 11);
  EXPECT_EQ(calls[0], 1);

  ASSERT_EQ(cudaGraphExecDestroy(t.exec), cudaSuccess);
  t.instantiate();
  t.run();
  EXPECT_EQ(data.to_host()[0], 22);
  EXPECT_EQ(to.to_host()[0], 50);
  EXPECT_EQ(calls[0], 1);
  EXPECT_EQ(calls[1], 1);
}

// Not named anywhere but in launches by <<<>>>.
__global__ void scale(int* data, short by, int offset) {
  data[threadIdx.x] = data[threadIdx.x] * by + offset;
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  return nodes;
}

TEST(GraphNodes, TellWhatTheyDo) {
  graph_things t;
  const device_array<int> data(1, 0), to(1, 0);
  int calls = 0, by = 7;
  int* where = data.data();
  void* arguments[] = {&where, &by};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(add);
  kernel.gridDim = dim3(1, 2, 3);
  kernel.blockDim = dim3(32);
  kernel.sharedMemBytes = 48;
  kernel.kernelParams = arguments;
  cudaHostNodeParams host = {};
  host.fn = [](void* p) { ++*static_cast<int*>(p); };
  host.userData = &calls;
  const auto [fill, added, copy, call] = chain_of(t, data.data(), kernel, to.data(), host);
  by = 8;  // the node has its own

  cudaKernelNodeParams k = {};
  ASSERT_EQ(cudaGraphKernelNodeGetParams(added, &k), cudaSuccess);
  EXPECT_EQ(k.func, kernel.func);
  EXPECT_EQ(k.gridDim.x, 1U);
  EXPECT_EQ(k.gridDim.y, 2U);
  EXPECT_EQ(k.gridDim.z, 3U);
  EXPECT_EQ(k.blockDim.x, 32U);
  EXPECT_EQ(k.sharedMemBytes, 48U);
  ASSERT_NE(k.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<int**>(k.kernelParams[0]), where);
  EXPECT_EQ(*static_cast<int*>(k.kernelParams[1]), 7);
  cudaMemsetParams m = {};
  ASSERT_EQ(cudaGraphMemsetNodeGetParams(fill, &m), cudaSuccess);
  EXPECT_EQ(m.dst, static_cast<void*>(data.data()));
  EXPECT_EQ(m.value, 10U);
  EXPECT_EQ(m.elementSize, 4U);
  EXPECT_EQ(m.width, 1U);
  EXPECT_EQ(m.height, 1U);
  cudaMemcpy3DParms c = {};
  ASSERT_EQ(cudaGraphMemcpyNodeGetParams(copy, &c), cudaSuccess);
  EXPECT_EQ(c.dstPtr.ptr, static_cast<void*>(to.data()));
  EXPECT_EQ(c.srcPtr.ptr, static_cast<void*>(data.data()));
  EXPECT_EQ(c.extent.width, sizeof(int));
  EXPECT_EQ(c.extent.height, 1U);
  EXPECT_EQ(c.extent.depth, 1U);
  cudaHostNodeParams h = {};
  ASSERT_EQ(cudaGraphHostNodeGetParams(call, &h), cudaSuccess);
  EXPECT_EQ(h.fn, host.fn);
  EXPECT_EQ(h.userData, &calls);

  EXPECT_EQ(cudaGraphMemsetNodeSetParams(fill, &m), cudaSuccess) << "as they were";
  by = 9;
  ASSERT_EQ(cudaGraphKernelNodeSetParams(added, &kernel), cudaSuccess);
  ASSERT_EQ(cudaGraphKernelNodeGetParams(added, &k), cudaSuccess);
  EXPECT_EQ(*static_cast<int*>(k.kernelParams[1]), 9) << "those that were set last";
  EXPECT_EQ(cudaGraphKernelNodeGetParams(fill, &k), cudaErrorInvalidValue) << "a memset";
  EXPECT_EQ(cudaGraphHostNodeGetParams(call, nullptr), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(GraphNodes, TellWhatWasCaptured) {
  graph_things t;
  ASSERT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  const device_array<int> data(4, 3), to(4, 0);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  scale<<<1, 4, 16, t.stream>>>(data.data(), 5, 100);
  ASSERT_EQ(
      cudaMemcpyAsync(to.data(), data.data(), 4 * sizeof(int), cudaMemcpyDeviceToDevice, t.stream),
      cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data.data(), 0x41, 8, t.stream), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(t.stream, &t.graph), cudaSuccess);
  const auto nodes = nodes_of(t.graph);
  ASSERT_EQ(nodes.size(), 3U);
  t.instantiate();

  cudaKernelNodeParams k = {};
  cudaMemcpy3DParms c = {};
  cudaMemsetParams m = {};
  cudaGraphNode_t kernel = nullptr;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    ASSERT_EQ(cudaGraphNodeGetType(node, &type), cudaSuccess);
    if (type == cudaGraphNodeTypeKernel) {
      kernel = node;
      ASSERT_EQ(cudaGraphKernelNodeGetParams(node, &k), cudaSuccess);
    } else if (type == cudaGraphNodeTypeMemcpy) {
      ASSERT_EQ(cudaGraphMemcpyNodeGetParams(node, &c), cudaSuccess);
    } else {
      ASSERT_EQ(cudaGraphMemsetNodeGetParams(node, &m), cudaSuccess);
    }
  }
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(k.blockDim.x, 4U);
  EXPECT_EQ(k.sharedMemBytes, 16U);
  EXPECT_EQ(*static_cast<int**>(k.kernelParams[0]), data.data());
  EXPECT_EQ(*static_cast<short*>(k.kernelParams[1]), 5);
  EXPECT_EQ(*static_cast<int*>(k.kernelParams[2]), 100);
  EXPECT_EQ(c.dstPtr.ptr, static_cast<void*>(to.data()));
  EXPECT_EQ(c.extent.width, 4 * sizeof(int));
  EXPECT_EQ(m.dst, static_cast<void*>(data.data()));
  EXPECT_EQ(m.value & 0xffU, 0x41U);
  EXPECT_EQ(m.width * m.elementSize, 8U);

  // One argument is changed, and the others are the node's own.
  int offset = 1000;
  void* arguments[] = {k.kernelParams[0], k.kernelParams[1], &offset};
  k.kernelParams = arguments;
  k.blockDim = dim3(2);
  ASSERT_EQ(cudaGraphExecKernelNodeSetParams(t.exec, kernel, &k), cudaSuccess);
  t.run();
  EXPECT_EQ(to.to_host(), (std::vector<int>{1015, 1015, 3, 3}));
}

/// What the only node that `record` puts into a stream says of its copy. The graph is instantiated.
template <class Record>
cudaMemcpy3DParms copy_of(graph_things& t, cudaGraphNode_t& node, Record record) {
  cudaMemcpy3DParms p = {};
  EXPECT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(record(t.stream), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(t.stream, &t.graph), cudaSuccess);
  const auto nodes = nodes_of(t.graph);
  EXPECT_EQ(nodes.size(), 1U);
  node = nodes.at(0);
  EXPECT_EQ(cudaGraphMemcpyNodeGetParams(node, &p), cudaSuccess);
  EXPECT_EQ(cudaGraphMemcpyNodeSetParams(node, &p), cudaSuccess) << "as they were";
  EXPECT_EQ(cudaGraphInstantiateWithFlags(&t.exec, t.graph, 0), cudaSuccess);
  return p;
}

__device__ int variable[4];
__constant__ int constant[4];

TEST(GraphNodes, TellWhatWasCapturedOfCopiesToAVariable) {
  graph_things t;
  const device_array<int> from(std::vector<int>{1, 2, 3, 4}), other(std::vector<int>{5, 6, 7, 8});
  const std::vector<int> zeros(4);
  ASSERT_EQ(cudaMemcpyToSymbol(variable, zeros.data(), sizeof variable), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  cudaMemcpy3DParms p = copy_of(t, node, [&](cudaStream_t stream) {
    return cudaMemcpyToSymbolAsync(variable, from.data(), 2 * sizeof(int), sizeof(int),
                                   cudaMemcpyDeviceToDevice, stream);
  });
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, variable), cudaSuccess);
  EXPECT_EQ(p.dstPtr.ptr, static_cast<int*>(address) + 1);
  EXPECT_EQ(p.srcPtr.ptr, from.data());
  EXPECT_EQ(p.dstArray, nullptr);
  EXPECT_EQ(p.extent.width, 2 * sizeof(int));
  EXPECT_EQ(p.extent.height, 1U);
  EXPECT_EQ(p.extent.depth, 1U);
  EXPECT_EQ(p.kind, cudaMemcpyDeviceToDevice);
  std::vector<int> result(4);
  t.run();
  ASSERT_EQ(cudaMemcpyFromSymbol(result.data(), variable, sizeof variable), cudaSuccess);
  EXPECT_EQ(result, (std::vector<int>{0, 1, 2, 0}));
  p.srcPtr.ptr = other.data();
  ASSERT_EQ(cudaGraphExecMemcpyNodeSetParams(t.exec, node, &p), cudaSuccess);
  t.run();
  ASSERT_EQ(cudaMemcpyFromSymbol(result.data(), variable, sizeof variable), cudaSuccess);
  EXPECT_EQ(result, (std::vector<int>{0, 5, 6, 0}));
}

TEST(GraphNodes, TellWhatWasCapturedOfCopiesFromAVariable) {
  graph_things t;
  const device_array<int> to(2, 0);
  const std::vector<int> values = {1, 2, 3, 4};
  ASSERT_EQ(cudaMemcpyToSymbol(constant, values.data(), sizeof constant), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  const cudaMemcpy3DParms p = copy_of(t, node, [&](cudaStream_t stream) {
    return cudaMemcpyFromSymbolAsync(to.data(), constant, 2 * sizeof(int), 2 * sizeof(int),
                                     cudaMemcpyDefault, stream);
  });
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, constant), cudaSuccess);
  EXPECT_EQ(p.srcPtr.ptr, static_cast<int*>(address) + 2);
  EXPECT_EQ(p.dstPtr.ptr, to.data());
  EXPECT_EQ(p.extent.width, 2 * sizeof(int));
  EXPECT_EQ(p.kind, cudaMemcpyDefault);
  t.run();
  EXPECT_EQ(to.to_host(), (std::vector<int>{3, 4}));
}

// Arrays count elements, memory bytes.
TEST(GraphNodes, TellWhatWasCapturedOfCopiesOfArrays) {
  const device_array<int> from(std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8}), to(8, 0);
  const cudaChannelFormatDesc pairs = cudaCreateChannelDesc<int2>();
  cudaArray_t array = nullptr;
  ASSERT_EQ(cudaMallocArray(&array, &pairs, 4, 3), cudaSuccess);
  cudaGraphNode_t node = nullptr;
  {
    graph_things t;
    const cudaMemcpy3DParms p = copy_of(t, node, [&](cudaStream_t stream) {
      return cudaMemcpy2DToArrayAsync(array, sizeof(int2), 1, from.data(), 4 * sizeof(int),
                                      sizeof(int2), 2, cudaMemcpyDeviceToDevice, stream);
    });
    EXPECT_EQ(p.dstArray, array);
    EXPECT_EQ(p.dstPtr.ptr, nullptr);
    EXPECT_EQ(p.dstPos.x, 1U);
    EXPECT_EQ(p.dstPos.y, 1U);
    EXPECT_EQ(p.dstPos.z, 0U);
    EXPECT_EQ(p.srcArray, nullptr);
    EXPECT_EQ(p.srcPtr.ptr, from.data());
    EXPECT_EQ(p.srcPtr.pitch, 4 * sizeof(int));
    EXPECT_EQ(p.extent.width, 1U);
    EXPECT_EQ(p.extent.height, 2U);
    EXPECT_EQ(p.extent.depth, 1U);
    EXPECT_EQ(p.kind, cudaMemcpyDeviceToDevice);
    t.run();
  }
  graph_things t;
  const cudaMemcpy3DParms p = copy_of(t, node, [&](cudaStream_t stream) {
    return cudaMemcpy2DFromArrayAsync(to.data(), 4 * sizeof(int), array, sizeof(int2), 1,
                                      sizeof(int2), 2, cudaMemcpyDeviceToDevice, stream);
  });
  EXPECT_EQ(p.srcArray, array);
  EXPECT_EQ(p.srcPos.x, 1U);
  EXPECT_EQ(p.srcPos.y, 1U);
  EXPECT_EQ(p.dstPtr.ptr, to.data());
  EXPECT_EQ(p.dstPtr.pitch, 4 * sizeof(int));
  EXPECT_EQ(p.extent.width, 1U);
  t.run();
  EXPECT_EQ(to.to_host(), (std::vector<int>{1, 2, 0, 0, 5, 6, 0, 0}));
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

// A memset node has two dimensions, so a captured memset of three is a node for each slice.
TEST(GraphNodes, FillOneSliceEach) {
  graph_things t;
  ASSERT_EQ(cudaGraphDestroy(t.graph), cudaSuccess);
  const device_array<char> data(4 * 3 * 2, 1);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMemset3DAsync(make_cudaPitchedPtr(data.data(), 4, 4, 3), 7,
                              make_cudaExtent(3, 2, 2), t.stream),
            cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(t.stream, &t.graph), cudaSuccess);
  std::vector<void*> slices;
  for (cudaGraphNode_t node : nodes_of(t.graph)) {
    cudaMemsetParams p = {};
    ASSERT_EQ(cudaGraphMemsetNodeGetParams(node, &p), cudaSuccess);
    EXPECT_EQ(p.value, 7U);
    EXPECT_EQ(p.elementSize, 1U);
    EXPECT_EQ(p.pitch, 4U);
    EXPECT_EQ(p.width, 3U);
    EXPECT_EQ(p.height, 2U);
    slices.push_back(p.dst);
  }
  std::sort(slices.begin(), slices.end());
  EXPECT_EQ(slices, (std::vector<void*>{data.data(), data.data() + 12}));
  t.instantiate();
  t.run();
  std::vector<char> expected;
  for (int slice = 0; slice < 2; ++slice)
    for (const char each : {7, 7, 7, 1, 7, 7, 7, 1, 1, 1, 1, 1}) expected.push_back(each);
  EXPECT_EQ(data.to_host(), expected);
}

TEST(GraphNodes, GiveAReadyGraphAnotherMemsetAndAnotherChild) {
  graph_things t;
  const device_array<int> data(2, 0);
  cudaGraph_t children[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_EQ(cudaGraphCreate(&children[i], 0), cudaSuccess);
    const cudaMemsetParams p = one_word(data.data() + 1, 7 + i);
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(cudaGraphAddMemsetNode(&node, children[i], nullptr, 0, &p), cudaSuccess);
  }
  cudaGraphNode_t fill = t.memset_node(data.data(), 1), child = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&child, t.graph, &fill, 1, children[0]), cudaSuccess);
  t.instantiate();
  t.run();
  EXPECT_EQ(data.to_host(), (std::vector<int>{1, 7}));
  const cudaMemsetParams two = one_word(data.data(), 2);
  ASSERT_EQ(cudaGraphExecMemsetNodeSetParams(t.exec, fill, &two), cudaSuccess);
  ASSERT_EQ(cudaGraphExecChildGraphNodeSetParams(t.exec, child, children[1]), cudaSuccess);
  t.run();
  EXPECT_EQ(data.to_host(), (std::vector<int>{2, 8}));
  for (cudaGraph_t each : children) EXPECT_EQ(cudaGraphDestroy(each), cudaSuccess);
}

TEST(GraphNodes, KnowThoseThatDependOnThem) {
  graph_things t;
  const device_array<int> data(1, 0);
  cudaGraphNode_t a = t.memset_node(data.data(), 1), b = t.memset_node(data.data(), 2),
                  c = t.memset_node(data.data(), 3);
  ASSERT_EQ(add_edge(t.graph, a, b), cudaSuccess);
  ASSERT_EQ(add_edge(t.graph, a, c), cudaSuccess);
  cudaGraphNode_t found[4] = {};
  std::size_t count = 4;
#if CUDART_VERSION >= 13000
  ASSERT_EQ(cudaGraphNodeGetDependentNodes(a, found, nullptr, &count), cudaSuccess);
#else
  ASSERT_EQ(cudaGraphNodeGetDependentNodes(a, found, &count), cudaSuccess);
#endif
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(std::min(found[0], found[1]), std::min(b, c));
  EXPECT_EQ(std::max(found[0], found[1]), std::max(b, c));
}

TEST(GraphNodes, CopyRowsOfPitchedMemory) {
  graph_things t;
  std::vector<int> expected(20, 0);
  const device_array<int> from(std::vector<int>{1, 2, 3, 4, 5, 6}), to(expected);
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(from.data(), 3 * sizeof(int), 3, 2);
  p.dstPtr = make_cudaPitchedPtr(to.data(), 5 * sizeof(int), 5, 4);
  p.dstPos = make_cudaPos(sizeof(int), 2, 0);
  p.extent = make_cudaExtent(3 * sizeof(int), 2, 1);
  p.kind = cudaMemcpyDeviceToDevice;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphAddMemcpyNode(&node, t.graph, nullptr, 0, &p), cudaSuccess);
  t.instantiate();
  t.run();
  for (int row = 0; row < 2; ++row)
    for (int x = 0; x < 3; ++x)
      expected[static_cast<std::size_t>((row + 2) * 5 + x + 1)] = row * 3 + x + 1;
  EXPECT_EQ(to.to_host(), expected);
}

TEST(CaptureInfo, NamesTheSequenceAndItsGraph) {
  graph_things t;
  const device_array<int> data(1, 1);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  ASSERT_EQ(cudaStreamGetCaptureInfo(t.stream, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusNone);
  unsigned long long ids[2] = {};
  for (unsigned long long& id : ids) {
    ASSERT_EQ(cudaStreamBeginCapture(t.stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    add<<<1, 1, 0, t.stream>>>(data.data(), 1);
    cudaGraph_t captured = nullptr, ended = nullptr;
    ASSERT_EQ(cudaStreamGetCaptureInfo(t.stream, &status, &id, &captured), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    ASSERT_EQ(cudaStreamEndCapture(t.stream, &ended), cudaSuccess);
    EXPECT_EQ(captured, ended);
    EXPECT_EQ(cudaGraphDestroy(ended), cudaSuccess);
  }
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(data.to_host()[0], 1);  // nothing was launched
}

}  // namespace
