// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Stream capture and graphs.

#include <algorithm>
#include <thread>

#include "conformance.hpp"

namespace {

using conformance::device_array;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }
__global__ void times(int* data, int n) { data[threadIdx.x] *= n; }
__global__ void sum_of(const int* a, const int* b, int* sum) {
  sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

/// Streams, events and graphs, which are destroyed at the end of the test.
struct things {
  std::vector<cudaStream_t> streams;
  std::vector<cudaEvent_t> events;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;

  cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    streams.push_back(nullptr);
    EXPECT_EQ(cudaStreamCreateWithFlags(&streams.back(), flags), cudaSuccess);
    return streams.back();
  }
  cudaEvent_t event() {
    events.push_back(nullptr);
    EXPECT_EQ(cudaEventCreate(&events.back()), cudaSuccess);
    return events.back();
  }
  void instantiate() { ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess); }
  void launch_and_wait(cudaStream_t s) {
    ASSERT_EQ(cudaGraphLaunch(exec, s), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(s), cudaSuccess);
  }
  ~things() {
    cudaGetLastError();  // tests provoke errors
    for (cudaStream_t s : streams) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
    for (cudaEvent_t e : events) EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
    if (exec != nullptr) cudaGraphExecDestroy(exec);
    if (graph != nullptr) cudaGraphDestroy(graph);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
};

std::size_t node_count(cudaGraph_t graph) {
  std::size_t count = 99;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
  return count;
}

std::vector<cudaGraphNodeType> node_types(cudaGraph_t graph) {
  std::size_t count = node_count(graph);
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::vector<cudaGraphNodeType> types;
  for (cudaGraphNode_t node : nodes) {
    types.push_back(cudaGraphNodeTypeEmpty);
    EXPECT_EQ(cudaGraphNodeGetType(node, &types.back()), cudaSuccess);
  }
  std::sort(types.begin(), types.end());
  return types;
}

TEST(Capture, RunsNothingUntilTheGraphIsLaunched) {
  conformance::in_every_order([] {
    things t;
    const device_array<int> data(4, 1);
    cudaStream_t s = t.stream();
    ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    {
      int n = 2;  // arguments are copied when they are captured
      add<<<1, 4, 0, s>>>(data.data(), n);
      n = 1000;
    }
    times<<<1, 4, 0, s>>>(data.data(), 10);
    ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
    EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusNone);
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 1));
    EXPECT_EQ(node_count(t.graph), 2U);
    t.instantiate();
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 1));
    t.launch_and_wait(s);
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 30));
    t.launch_and_wait(s);
    EXPECT_EQ(data.to_host(), std::vector<int>(4, 320));
  });
}

TEST(Capture, TakesCopiesFillsAndHostFunctions) {
  things t;
  const device_array<int> data(2, 0);
  int *in = nullptr, *out = nullptr, calls = 0;
  ASSERT_EQ(cudaMallocHost(&in, 2 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&out, 2 * sizeof(int)), cudaSuccess);
  cudaStream_t s = t.stream();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data.data(), 0xFF, 2 * sizeof(int), s), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(data.data(), in, sizeof(int), cudaMemcpyHostToDevice, s), cudaSuccess);
  add<<<1, 2, 0, s>>>(data.data(), 5);
  ASSERT_EQ(cudaMemcpyAsync(out, data.data(), 2 * sizeof(int), cudaMemcpyDeviceToHost, s),
            cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                s, [](void* p) { ++*static_cast<int*>(p); }, &calls),
            cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(node_types(t.graph),
            (std::vector{cudaGraphNodeTypeKernel, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeMemcpy,
                         cudaGraphNodeTypeMemset, cudaGraphNodeTypeHost}));
  t.instantiate();
  for (int round = 1; round <= 3; ++round) {
    in[0] = round * 100;  // read when the graph runs
    t.launch_and_wait(s);
    EXPECT_EQ(out[0], round * 100 + 5);
    EXPECT_EQ(out[1], 4);
    EXPECT_EQ(calls, round);
  }
  EXPECT_EQ(cudaFreeHost(in), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(out), cudaSuccess);
}

TEST(Capture, AskingForACapturedEventSpoilsTheCapture) {
  things t;
  cudaStream_t s = t.stream();
  cudaEvent_t event = t.event();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, s), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorCapturedEvent);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

TEST(Capture, ForksAndJoinsThroughEvents) {
  conformance::in_every_order([] {
    things t;
    const device_array<int> a(4, 1), b(4, 2), sum(4, 0);
    cudaStream_t s = t.stream(), other = t.stream();
    cudaEvent_t fork = t.event(), join = t.event();
    ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    EXPECT_EQ(cudaStreamIsCapturing(other, &status), cudaSuccess);
    EXPECT_EQ(status, cudaStreamCaptureStatusActive);
    add<<<1, 4, 0, s>>>(a.data(), 10);
    add<<<1, 4, 0, other>>>(b.data(), 20);
    ASSERT_EQ(cudaEventRecord(join, other), cudaSuccess);
    ASSERT_EQ(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
    sum_of<<<1, 4, 0, s>>>(a.data(), b.data(), sum.data());
    ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
    EXPECT_EQ(node_count(t.graph), 3U);
    std::size_t edges = 0;
#if CUDART_VERSION >= 13000
    const cudaError_t status_of_edges =
        cudaGraphGetEdges(t.graph, nullptr, nullptr, nullptr, &edges);
#else
    const cudaError_t status_of_edges = cudaGraphGetEdges(t.graph, nullptr, nullptr, &edges);
#endif
    EXPECT_EQ(status_of_edges, cudaSuccess);
    EXPECT_EQ(edges, 2U);
    std::size_t roots = 0;
    EXPECT_EQ(cudaGraphGetRootNodes(t.graph, nullptr, &roots), cudaSuccess);
    EXPECT_EQ(roots, 2U);
    t.instantiate();
    t.launch_and_wait(other);
    EXPECT_EQ(sum.to_host(), std::vector<int>(4, 33));
  });
}

TEST(Capture, ALostBranchIsAnError) {
  things t;
  const device_array<int> data(4, 1);
  cudaStream_t s = t.stream(), other = t.stream();
  cudaEvent_t fork = t.event();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  add<<<1, 4, 0, other>>>(data.data(), 1);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
  add<<<1, 4, 0, other>>>(data.data(), 1);  // the streams are ordinary ones again
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 2));
}

TEST(Capture, ABranchThatIsAwaitedMayLoseItsStream) {
  things t;
  const device_array<int> data(4, 1);
  cudaStream_t s = t.stream(), other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t fork = t.event(), join = t.event();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  add<<<1, 4, 0, other>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(join, other), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(s, join, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
  t.instantiate();
  t.launch_and_wait(s);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 2));
}

TEST(Capture, ALostBranchStaysOneWithoutItsStream) {
  things t;
  const device_array<int> data(4, 1);
  cudaStream_t s = t.stream(), other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t fork = t.event();
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(fork, s), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(other, fork, 0), cudaSuccess);
  add<<<1, 4, 0, other>>>(data.data(), 1);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT_NE(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(graph, nullptr);
}

TEST(Capture, WaitingForACapturedStreamSpoilsTheCapture) {
  things t;
  cudaStream_t s = t.stream();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(s), cudaErrorStreamCaptureUnsupported);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(s, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusInvalidated);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(s), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);
}

TEST(Capture, TheModeSaysWhatElseMayBeCalled) {
  things t;
  cudaStream_t s = t.stream();
  cudaGraph_t graph = nullptr;
  void* memory = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
  EXPECT_EQ(node_count(t.graph), 0U);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);

  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess);
  EXPECT_EQ(cudaThreadExchangeStreamCaptureMode(&mode), cudaSuccess);
  EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);

  // A global capture restricts other host threads, but a thread-local one does not.
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  std::thread([&] { EXPECT_EQ(cudaMalloc(&memory, 16), cudaSuccess); }).join();
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Capture, BeginsAndEndsOnceOnTheSameStreamAndThread) {
  things t;
  cudaStream_t s = t.stream(), other = t.stream();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal),
            cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaErrorIllegalState);
  std::thread([&] {
    EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureWrongThread);
  }).join();
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorIllegalState);  // it is over all the same
  cudaGetLastError();
}

TEST(Capture, TheDefaultStreamMustNotWaitForACapturedOne) {
  things t;
  const device_array<int> data(1, 1);
  cudaStream_t blocking = t.stream(cudaStreamDefault);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  add<<<1, 1>>>(data.data(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(data.to_host()[0], 1);
}

TEST(Capture, StaysApartFromWorkOutsideAndFromOtherCaptures) {
  things t;
  const device_array<int> data(1, 1);
  cudaStream_t s = t.stream(), other = t.stream();
  cudaEvent_t outside = t.event(), first = t.event();
  cudaGraph_t graph = nullptr;
  add<<<1, 1, 0, other>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecord(outside, other), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(s, outside, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaErrorStreamCaptureInvalidated);

  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(first, s), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, first, 0), cudaErrorStreamCaptureMerge);
  EXPECT_NE(cudaStreamEndCapture(other, &graph), cudaSuccess);
  EXPECT_NE(cudaStreamEndCapture(s, &graph), cudaSuccess);
}

TEST(Graphs, AreBuiltNodeByNode) {
  conformance::in_every_order([] {
    things t;
    cudaStream_t s = t.stream();
    const device_array<int> a(4, 7), b(4, 7), sum(4, 0);
    ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
    int *pa = a.data(), *pb = b.data(), *psum = sum.data(), n = 3, calls = 0;

    cudaGraphNode_t fill = nullptr, copy = nullptr, more = nullptr, join = nullptr, total = nullptr,
                    host = nullptr;
    cudaMemsetParams memset_params = {};
    memset_params.dst = pa;
    memset_params.elementSize = 4;
    memset_params.value = 1000000;
    memset_params.width = 4;
    memset_params.height = 1;
    ASSERT_EQ(cudaGraphAddMemsetNode(&fill, t.graph, nullptr, 0, &memset_params), cudaSuccess);
    ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, t.graph, &fill, 1, pb, pa, 4 * sizeof(int),
                                       cudaMemcpyDeviceToDevice),
              cudaSuccess);
    void* add_arguments[] = {&pb, &n};
    cudaKernelNodeParams kernel = {};
    kernel.func = (void*)add;
    kernel.gridDim = 1;
    kernel.blockDim = 4;
    kernel.kernelParams = add_arguments;
    ASSERT_EQ(cudaGraphAddKernelNode(&more, t.graph, &copy, 1, &kernel), cudaSuccess);
    n = 50;  // the node has a copy of 3
    const cudaGraphNode_t both[] = {fill, more};
    ASSERT_EQ(cudaGraphAddEmptyNode(&join, t.graph, both, 2), cudaSuccess);
    void* sum_arguments[] = {&pa, &pb, &psum};
    kernel.func = (void*)sum_of;
    kernel.kernelParams = sum_arguments;
    ASSERT_EQ(cudaGraphAddKernelNode(&total, t.graph, &join, 1, &kernel), cudaSuccess);
    cudaHostNodeParams host_params = {};
    host_params.fn = [](void* p) { ++*static_cast<int*>(p); };
    host_params.userData = &calls;
    ASSERT_EQ(cudaGraphAddHostNode(&host, t.graph, &total, 1, &host_params), cudaSuccess);

    EXPECT_EQ(node_count(t.graph), 6U);
    cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    EXPECT_EQ(cudaGraphNodeGetType(copy, &type), cudaSuccess);
    EXPECT_EQ(type, cudaGraphNodeTypeMemcpy);
    t.instantiate();
    ASSERT_EQ(cudaGraphUpload(t.exec, s), cudaSuccess);
    t.launch_and_wait(s);
    EXPECT_EQ(sum.to_host(), std::vector<int>(4, 2000003));
    EXPECT_EQ(calls, 1);

    // Other arguments for one node of the executable graph, not for the graph itself.
    n = 9;
    kernel.func = (void*)add;
    kernel.kernelParams = add_arguments;
    ASSERT_EQ(cudaGraphExecKernelNodeSetParams(t.exec, more, &kernel), cudaSuccess);
    t.launch_and_wait(s);
    EXPECT_EQ(sum.to_host(), std::vector<int>(4, 2000009));
    EXPECT_EQ(calls, 2);
  });
}

TEST(Graphs, HaveChildrenAndClones) {
  things t;
  cudaStream_t s = t.stream();
  const device_array<int> data(2, 1);
  cudaGraph_t child = nullptr, clone = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  add<<<1, 2, 0, s>>>(data.data(), 1);
  times<<<1, 2, 0, s>>>(data.data(), 3);
  ASSERT_EQ(cudaStreamEndCapture(s, &child), cudaSuccess);
  ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
  cudaGraphNode_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaGraphAddChildGraphNode(&first, t.graph, nullptr, 0, child), cudaSuccess);
  ASSERT_EQ(cudaGraphAddChildGraphNode(&second, t.graph, &first, 1, child), cudaSuccess);
  ASSERT_EQ(cudaGraphClone(&clone, t.graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(child), cudaSuccess);
  EXPECT_EQ(node_count(clone), 2U);
  ASSERT_EQ(cudaGraphInstantiate(&t.exec, clone, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);  // the executable graph does not need it
  t.launch_and_wait(s);
  EXPECT_EQ(data.to_host(), std::vector<int>(2, 21));  // ((1 + 1) * 3 + 1) * 3
}

TEST(Graphs, TakeOverWhatAnotherOneDoes) {
  things t;
  cudaStream_t s = t.stream();
  const device_array<int> data(2, 1);
  const auto captured = [&](int n, bool longer) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    add<<<1, 2, 0, s>>>(data.data(), n);
    if (longer) add<<<1, 2, 0, s>>>(data.data(), n);
    EXPECT_EQ(cudaStreamEndCapture(s, &graph), cudaSuccess);
    return graph;
  };
  t.graph = captured(1, false);
  t.instantiate();
  cudaGraph_t other = captured(40, false), longer = captured(2, true);
  cudaGraphExecUpdateResultInfo info = {};
  ASSERT_EQ(cudaGraphExecUpdate(t.exec, other, &info), cudaSuccess);
  EXPECT_EQ(info.result, cudaGraphExecUpdateSuccess);
  t.launch_and_wait(s);
  EXPECT_EQ(data.to_host(), std::vector<int>(2, 41));
  EXPECT_EQ(cudaGraphExecUpdate(t.exec, longer, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  t.launch_and_wait(s);
  EXPECT_EQ(data.to_host(), std::vector<int>(2, 81));
  EXPECT_EQ(cudaGraphDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(longer), cudaSuccess);
}

TEST(Graphs, RecordEventsThatAreExternal) {
  things t;
  cudaStream_t s = t.stream();
  cudaEvent_t start = t.event(), stop = t.event();
  const device_array<int> data(2, 1);
  ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaEventRecordWithFlags(start, s, cudaEventRecordExternal), cudaSuccess);
  add<<<1, 2, 0, s>>>(data.data(), 1);
  ASSERT_EQ(cudaEventRecordWithFlags(stop, s, cudaEventRecordExternal), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
  EXPECT_EQ(node_types(t.graph), (std::vector{cudaGraphNodeTypeKernel, cudaGraphNodeTypeEventRecord,
                                              cudaGraphNodeTypeEventRecord}));
  t.instantiate();
  t.launch_and_wait(s);
  float ms = -1;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_GE(ms, 0.0F);
}

TEST(Graphs, RefuseWhatIsWrong) {
  things t;
  cudaGraphNode_t a = nullptr, b = nullptr;
  EXPECT_EQ(cudaGraphCreate(nullptr, 0), cudaErrorInvalidValue);
  ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&a, t.graph, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddEmptyNode(&b, t.graph, &a, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(nullptr, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphInstantiate(nullptr, t.graph, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphDestroyNode(a), cudaSuccess);
  std::size_t count = 1;
  cudaGraphNode_t left[1] = {};
  EXPECT_EQ(cudaGraphGetNodes(t.graph, left, &count), cudaSuccess);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(left[0], b);
  EXPECT_EQ(cudaGraphGetRootNodes(t.graph, left, &count), cudaSuccess);
  EXPECT_EQ(count, 1U);
}

#ifdef __CPU_DEVICE__
TEST(Graphs, AForgottenDependencyShowsInOneOfTheOrders) {
  std::vector<int> results;
  conformance::in_every_order([&] {
    things t;
    cudaStream_t s = t.stream();
    const device_array<int> data(1, 1);
    int* p = data.data();
    int n = 10;
    void* arguments[] = {&p, &n};
    cudaKernelNodeParams kernel = {};
    kernel.gridDim = kernel.blockDim = 1;
    kernel.kernelParams = arguments;
    cudaGraphNode_t node = nullptr;
    ASSERT_EQ(cudaGraphCreate(&t.graph, 0), cudaSuccess);
    kernel.func = (void*)add;
    ASSERT_EQ(cudaGraphAddKernelNode(&node, t.graph, nullptr, 0, &kernel), cudaSuccess);
    kernel.func = (void*)times;
    ASSERT_EQ(cudaGraphAddKernelNode(&node, t.graph, nullptr, 0, &kernel), cudaSuccess);
    t.instantiate();
    t.launch_and_wait(s);
    results.push_back(data.to_host()[0]);
  });
  EXPECT_EQ(results[0], 110);
  EXPECT_EQ(results[1], 20);
}

TEST(Graphs, ADeferredLaunchKeepsTheVersionItWasLaunchedWith) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  {
    things t;
    cudaStream_t s = t.stream();
    const device_array<int> data(1, 1);
    ASSERT_EQ(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal), cudaSuccess);
    add<<<1, 1, 0, s>>>(data.data(), 1);
    ASSERT_EQ(cudaStreamEndCapture(s, &t.graph), cudaSuccess);
    t.instantiate();
    ASSERT_EQ(cudaGraphLaunch(t.exec, s), cudaSuccess);
    EXPECT_EQ(cudaGraphExecDestroy(t.exec), cudaSuccess);
    t.exec = nullptr;
    EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(data.to_host()[0], 2);
  }
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}
#endif

}  // namespace
