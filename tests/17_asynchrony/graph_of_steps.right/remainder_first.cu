// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread has four cells of a column. The remainder of a phase comes first; work is captured in a
// separate stream; built adds the nodes of a new graph for each phase, for cudaGraphExecUpdate.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::graph_of_steps {
namespace {

constexpr int kWide = 64, kEach = 4;

__global__ void flow(const float* in, float* out, plate p, float s) {
  const int x = blockIdx.x * kWide + threadIdx.x;
  if (x >= p.width) return;
  const auto heat = [&](int cx, int cy) {
    const std::size_t i = static_cast<std::size_t>(cy) * p.width + cx;
    return p.heaters[i] == 0 ? in[i] : __fmul_rn(s, p.heaters[i]);
  };
  const int first = blockIdx.y * kEach;
  float above = heat(x, max(first - 1, 0)), own = heat(x, first);
  for (int y = first; y < min(first + kEach, p.height); ++y) {
    const float below = heat(x, min(y + 1, p.height - 1));
    float around = __fadd_rn(above, below);
    around = __fadd_rn(around, heat(max(x - 1, 0), y));
    around = __fadd_rn(around, heat(min(x + 1, p.width - 1), y));
    out[static_cast<std::size_t>(y) * p.width + x] =
        __fadd_rn(own, __fmul_rn(0.25F, __fsub_rn(around, __fmul_rn(4, own))));
    above = own;
    own = below;
  }
}

dim3 grid_of(const plate& p) {
  return dim3((p.width + kWide - 1) / kWide, (p.height + kEach - 1) / kEach);
}

void single(cudaStream_t queue, const task& t, float s, buffers& b, int count) {
  while (count-- > 0) {
    flow<<<grid_of(t.p), kWide, 0, queue>>>(b.input, b.output, t.p, s);
    CUDA_CHECK(cudaGetLastError());
    std::swap(b.input, b.output);
  }
}

graph_owner recorded(const task& t, float s, buffers b) {
  const stream aside;
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(aside, cudaStreamCaptureModeThreadLocal));
  try {
    single(aside, t, s, b, t.batch);
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(aside, &graph));
    static_cast<void>(cudaGetLastError());
    const graph_owner part(graph);
    throw;
  }
  const cudaError_t ended = cudaStreamEndCapture(aside, &graph);
  graph_owner owner(graph);
  CUDA_CHECK(ended);
  return owner;
}

graph_owner by_hand(const task& t, float s, buffers b) {
  cudaGraph_t graph = nullptr;
  CUDA_CHECK(cudaGraphCreate(&graph, 0));
  graph_owner owner(graph);
  plate p = t.p;
  cudaGraphNode_t last = nullptr;
  for (int i = 0; i < t.batch; ++i) {
    void* arguments[] = {&b.input, &b.output, &p, &s};
    cudaKernelNodeParams node{};
    node.func = reinterpret_cast<void*>(flow);
    node.gridDim = grid_of(p);
    node.blockDim = dim3(kWide);
    node.kernelParams = arguments;
    cudaGraphNode_t next = nullptr;
    CUDA_CHECK(cudaGraphAddKernelNode(&next, graph, &last, last == nullptr ? 0 : 1, &node));
    last = next;
    std::swap(b.input, b.output);
  }
  return owner;
}

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch) {
  return host_part_of_simulate(
      width, height, initial, heaters, strengths, steps, batch,
      [&](cudaStream_t queue, const task& t, buffers& b) {
        exec_owner exec;
        for (const float s : t.strengths) {
          const bool with_graphs = version != step::launches;
          single(queue, t, s, b, with_graphs ? t.steps % t.batch : t.steps);
          if (!with_graphs || t.steps < t.batch) continue;
          const graph_owner graph = version == step::built ? by_hand(t, s, b) : recorded(t, s, b);
          if (exec && version != step::captured) {
            cudaGraphExecUpdateResultInfo info{};
            CUDA_CHECK(cudaGraphExecUpdate(exec.get(), graph.get(), &info));
          } else {
            cudaGraphExec_t made = nullptr;
            CUDA_CHECK(cudaGraphInstantiate(&made, graph.get(), 0));
            exec.reset(made);
          }
          for (int left = t.steps / t.batch; left > 0; --left)
            CUDA_CHECK(cudaGraphLaunch(exec.get(), queue));
        }
      });
}

}  // namespace lab::graph_of_steps
