// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Captures use a separate stream; a phase without a whole batch has no graph.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::graph_of_steps {
namespace {

/// Puts `steps` time steps into the stream. Afterwards b.input has the newest temperatures.
void enqueue(cudaStream_t stream, const plate& p, float strength, int steps, buffers& b) {
  for (int i = 0; i < steps; ++i) {
    heat_step<<<blocks_for(p), kThreads, 0, stream>>>(p, strength, b.input, b.output);
    CUDA_CHECK(cudaGetLastError());
    std::swap(b.input, b.output);
  }
}

struct end_stream {
  void operator()(cudaStream_t stream) const { CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream)); }
};
using stream_owner = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, end_stream>;

/// A graph of `steps` time steps, none of which runs yet. An even number: b stays as it is.
graph_owner capture(cudaStream_t stream, const plate& p, float strength, int steps, buffers b) {
  cudaStream_t own = nullptr;  // used only for captures
  CUDA_CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  const stream_owner end_of_own(own);
  stream = own;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  cudaGraph_t graph = nullptr;
  try {
    enqueue(stream, p, strength, steps, b);
  } catch (...) {
    (void)cudaStreamEndCapture(stream, &graph);
    (void)cudaGetLastError();
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  return graph_owner(graph);
}

exec_owner instantiate(const graph_owner& graph) {
  cudaGraphExec_t exec = nullptr;
  CUDA_CHECK(cudaGraphInstantiate(&exec, graph.get(), 0));
  return exec_owner(exec);
}

/// Puts one phase into the stream, with an executable graph of t.batch time steps.
void enqueue_phase(cudaStream_t stream, const task& t, float strength, const exec_owner& exec,
                   buffers& b) {
  for (int i = 0; i < t.steps / t.batch; ++i) CUDA_CHECK(cudaGraphLaunch(exec.get(), stream));
  enqueue(stream, t.p, strength, t.steps % t.batch, b);
}

void run_captured(cudaStream_t stream, const task& t, buffers& b) {
  for (const float strength : t.strengths) {
    if (t.steps < t.batch) {
      enqueue(stream, t.p, strength, t.steps, b);
      continue;
    }
    const graph_owner graph = capture(stream, t.p, strength, t.batch, b);
    enqueue_phase(stream, t, strength, instantiate(graph), b);
  }
}

void run_updated(cudaStream_t stream, const task& t, buffers& b) {
  exec_owner exec;
  for (const float strength : t.strengths) {
    if (t.steps < t.batch) {
      enqueue(stream, t.p, strength, t.steps, b);
      continue;
    }
    const graph_owner graph = capture(stream, t.p, strength, t.batch, b);
    if (!exec) {
      exec = instantiate(graph);
    } else {
      cudaGraphExecUpdateResultInfo info{};
      CUDA_CHECK(cudaGraphExecUpdate(exec.get(), graph.get(), &info));
    }
    enqueue_phase(stream, t, strength, exec, b);
  }
}

void run_built(cudaStream_t stream, const task& t, buffers& b) {
  if (t.strengths.empty() || t.steps < t.batch) {  // a graph would never be launched
    for (const float strength : t.strengths) enqueue(stream, t.p, strength, t.steps, b);
    return;
  }
  graph_owner graph;
  exec_owner exec;
  std::vector<cudaGraphNode_t> nodes;
  for (float strength : t.strengths) {
    buffers now = b;
    plate p = t.p;
    if (!exec) {
      cudaGraph_t made = nullptr;
      CUDA_CHECK(cudaGraphCreate(&made, 0));
      graph.reset(made);
    }
    for (int i = 0; i < t.batch; ++i) {
      void* arguments[] = {&p, &strength, &now.input, &now.output};
      cudaKernelNodeParams params{};
      params.func = reinterpret_cast<void*>(heat_step);
      params.gridDim = blocks_for(p);
      params.blockDim = kThreads;
      params.kernelParams = arguments;
      if (!exec) {
        cudaGraphNode_t node = nullptr;
        CUDA_CHECK(cudaGraphAddKernelNode(&node, graph.get(),
                                          nodes.empty() ? nullptr : &nodes.back(),
                                          nodes.empty() ? 0 : 1, &params));
        nodes.push_back(node);
      } else {
        CUDA_CHECK(cudaGraphExecKernelNodeSetParams(exec.get(), nodes[i], &params));
      }
      std::swap(now.input, now.output);
    }
    if (!exec) exec = instantiate(graph);
    enqueue_phase(stream, t, strength, exec, b);
  }
}

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch) {
  const auto run = [&](cudaStream_t stream, const task& t, buffers& b) {
    if (version == step::launches)
      for (const float strength : strengths) enqueue(stream, t.p, strength, steps, b);
    if (version == step::captured) run_captured(stream, t, b);
    if (version == step::updated) run_updated(stream, t, b);
    if (version == step::built) run_built(stream, t, b);
  };
  return host_part_of_simulate(width, height, initial, heaters, strengths, steps, batch, run);
}

}  // namespace lab::graph_of_steps
