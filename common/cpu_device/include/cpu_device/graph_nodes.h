// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Nodes of graphs of whatever kind by one function, and conditional nodes: graphs inside of a graph
// that run or do not, or again and again, as a value says that kernels set before.
#pragma once

#include "cpu_device/graphs.h"
#include "cpu_device/textures.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long long cudaGraphConditionalHandle;

enum cudaGraphConditionalHandleFlags { cudaGraphCondAssignDefault = 1 };
enum cudaGraphConditionalNodeType {
  cudaGraphCondTypeIf = 0,      // the first graph if the value is not 0, the second one if it is
  cudaGraphCondTypeWhile = 1,   // the graph as long as the value is not 0
  cudaGraphCondTypeSwitch = 2,  // the graph with this number, if there is one
};

/// A value for one conditional node of this graph or of one inside of it. With
/// cudaGraphCondAssignDefault each launch of the whole graph begins with `value`; without, a kernel
/// of the graph must set it before the node comes.
cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned int value CPU_DEVICE_DEFAULT(0),
                                             unsigned int flags CPU_DEVICE_DEFAULT(0));

// --- captures that go on in a graph -------------------------------------------------------------

enum cudaStreamUpdateCaptureDependenciesFlags {
  cudaStreamAddCaptureDependencies = 0,
  cudaStreamSetCaptureDependencies = 1,
};
/// The graph is one that is there, such as that of a conditional node. cudaStreamEndCapture gives
/// it back.
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* edges, size_t count,
                                          enum cudaStreamCaptureMode mode);
/// What the next node of the capture depends on.
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, size_t count,
                                                unsigned int flags CPU_DEVICE_DEFAULT(0));

#ifdef __cplusplus
}  // extern "C"

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                std::size_t count, unsigned int flags = 0);

// --- nodes of all kinds -------------------------------------------------------------------------

struct cudaConditionalNodeParams {
  cudaGraphConditionalHandle handle;
  cudaGraphConditionalNodeType type;
  unsigned int size;         // how many graphs
  cudaGraph_t* phGraph_out;  // given back: the graphs, empty. They are the node's
};
struct cudaMemcpyNodeParams {
  int flags;
  int reserved[3];
  cudaMemcpy3DParms copyParams;
};
typedef cudaKernelNodeParams cudaKernelNodeParamsV2;
typedef cudaMemsetParams cudaMemsetParamsV2;
typedef cudaHostNodeParams cudaHostNodeParamsV2;
typedef cudaMemAllocNodeParams cudaMemAllocNodeParamsV2;
struct cudaChildGraphNodeParams {
  cudaGraph_t graph;
};
struct cudaEventWaitNodeParams {
  cudaEvent_t event;
};
struct cudaEventRecordNodeParams {
  cudaEvent_t event;
};
struct cudaMemFreeNodeParams {
  void* dptr;
};
struct cudaGraphNodeParams {
  cudaGraphNodeType type;
  int reserved0[3];
  union {
    long long reserved1[29];
    cudaKernelNodeParamsV2 kernel;
    cudaMemcpyNodeParams memcpy;
    cudaMemsetParamsV2 memset;
    cudaHostNodeParamsV2 host;
    cudaChildGraphNodeParams graph;
    cudaEventWaitNodeParams eventWait;
    cudaEventRecordNodeParams eventRecord;
    cudaMemAllocNodeParamsV2 alloc;
    cudaMemFreeNodeParams free;
    cudaConditionalNodeParams conditional;
  };
  long long reserved2;
};

// The forms with edge data are CUDA 13's, the others CUDA 12's.
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* dependencies, std::size_t count,
                             cudaGraphNodeParams* parameters, CPU_DEVICE_HERE);
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                             std::size_t count, cudaGraphNodeParams* parameters, CPU_DEVICE_HERE);
// Kernels, copies, memsets, host functions and, when the graph is ready, child graphs.
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* parameters,
                                   CPU_DEVICE_HERE);
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* parameters, CPU_DEVICE_HERE);

namespace cpu_device {
void set_conditional(cudaGraphConditionalHandle handle, unsigned value, const char* file, int line);
}
/// For kernels. Of calls that may run at the same time, any may be the last.
inline void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value,
                                    CPU_DEVICE_HERE) {
  cpu_device::set_conditional(handle, value, file, line);
}
#else
CPU_DEVICE_NEEDS_KERNELS(cudaGraphAddNode);
CPU_DEVICE_NEEDS_KERNELS(cudaGraphNodeSetParams);
CPU_DEVICE_NEEDS_KERNELS(cudaGraphExecNodeSetParams);
#endif
