// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// built: a new graph for each phase, with which the executable graph is updated as a whole.

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

/// A graph of `steps` time steps, none of which runs yet. An even number: b stays as it is.
graph_owner capture(cudaStream_t stream, const plate& p, float strength, int steps, buffers b) {
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
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
    const graph_owner graph = capture(stream, t.p, strength, t.batch, b);
    enqueue_phase(stream, t, strength, instantiate(graph), b);
  }
}

/// A graph of t.batch kernel nodes in a row.
graph_owner chain(const task& t, float strength, buffers b) {
  cudaGraph_t handle = nullptr;
  CUDA_CHECK(cudaGraphCreate(&handle, 0));
  graph_owner graph(handle);
  plate p = t.p;
  void* arguments[] = {&p, &strength, &b.input, &b.output};
  cudaKernelNodeParams params = {};
  params.func = reinterpret_cast<void*>(heat_step);
  params.gridDim = blocks_for(p);
  params.blockDim = kThreads;
  params.kernelParams = arguments;
  cudaGraphNode_t last = nullptr;
  for (int i = 0; i < t.batch; ++i) {
    const cudaGraphNode_t before = last;
    CUDA_CHECK(cudaGraphAddKernelNode(&last, graph.get(), &before, before ? 1 : 0, &params));
    std::swap(b.input, b.output);
  }
  return graph;
}

void update(const exec_owner& exec, const graph_owner& graph) {
  cudaGraphExecUpdateResultInfo what_differs{};
  CUDA_CHECK(cudaGraphExecUpdate(exec.get(), graph.get(), &what_differs));
}

void run_updated(cudaStream_t stream, const task& t, buffers& b) {
  exec_owner exec;
  for (const float strength : t.strengths) {
    const graph_owner graph = capture(stream, t.p, strength, t.batch, b);
    if (!exec) {
      exec = instantiate(graph);
    } else {
      update(exec, graph);
    }
    enqueue_phase(stream, t, strength, exec, b);
  }
}

void run_built(cudaStream_t stream, const task& t, buffers& b) {
  exec_owner exec;
  for (const float strength : t.strengths) {
    const graph_owner graph = chain(t, strength, b);
    if (exec)
      update(exec, graph);
    else
      exec = instantiate(graph);
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
