// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A batch is a chain of child graphs of two time steps each: only two kernels are captured, or
// built, however long a batch is.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::graph_of_steps {
namespace {

/// Puts `steps` time steps into the stream. Afterwards b.input has the newest temperatures.
void enqueue(cudaStream_t stream, const plate& p, float strength, int steps, buffers& b) {
  while (steps-- > 0) {
    heat_step<<<blocks_for(p), kThreads, 0, stream>>>(p, strength, b.input, b.output);
    CUDA_CHECK(cudaGetLastError());
    std::swap(b.input, b.output);
  }
}

graph_owner empty_graph() {
  cudaGraph_t made = nullptr;
  CUDA_CHECK(cudaGraphCreate(&made, 0));
  return graph_owner(made);
}

/// Two time steps: from b.input to b.output, and back.
graph_owner captured_pair(cudaStream_t stream, const plate& p, float strength, buffers b) {
  cudaGraph_t made = nullptr;
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  try {
    enqueue(stream, p, strength, 2, b);
  } catch (...) {
    if (cudaStreamEndCapture(stream, &made) != cudaSuccess) (void)cudaGetLastError();
    graph_owner{made};
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(stream, &made));
  return graph_owner(made);
}

/// The same, without a stream.
graph_owner built_pair(plate p, float strength, buffers b) {
  graph_owner graph = empty_graph();
  void* there[] = {&p, &strength, &b.input, &b.output};
  void* back[] = {&p, &strength, &b.output, &b.input};
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(heat_step);
  node.gridDim = blocks_for(p);
  node.blockDim = kThreads;
  node.kernelParams = there;
  cudaGraphNode_t first = nullptr, second = nullptr;
  CUDA_CHECK(cudaGraphAddKernelNode(&first, graph.get(), nullptr, 0, &node));
  node.kernelParams = back;
  CUDA_CHECK(cudaGraphAddKernelNode(&second, graph.get(), &first, 1, &node));
  return graph;
}

/// batch / 2 pairs in a row.
graph_owner chain_of(const graph_owner& pair, int batch) {
  graph_owner chain = empty_graph();
  cudaGraphNode_t last = nullptr;
  for (int i = 0; i < batch / 2; ++i) {
    const cudaGraphNode_t before = last;
    CUDA_CHECK(cudaGraphAddChildGraphNode(&last, chain.get(), &before, i > 0 ? 1 : 0, pair.get()));
  }
  return chain;
}

/// Makes `exec` do what the graph describes.
void renew(exec_owner& exec, const graph_owner& graph) {
  if (exec) {
    cudaGraphExecUpdateResultInfo difference{};
    CUDA_CHECK(cudaGraphExecUpdate(exec.get(), graph.get(), &difference));
    return;
  }
  cudaGraphExec_t made = nullptr;
  CUDA_CHECK(cudaGraphInstantiate(&made, graph.get(), 0));
  exec.reset(made);
}

void enqueue_phase(cudaStream_t stream, const task& t, float strength, const exec_owner& exec,
                   buffers& b) {
  for (int left = t.steps; left >= t.batch; left -= t.batch)
    CUDA_CHECK(cudaGraphLaunch(exec.get(), stream));
  enqueue(stream, t.p, strength, t.steps % t.batch, b);
}

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch) {
  const auto run = [&](cudaStream_t stream, const task& t, buffers& b) {
    exec_owner exec;
    for (const float strength : strengths) {
      if (version == step::launches) {
        enqueue(stream, t.p, strength, steps, b);
        continue;
      }
      const graph_owner pair = version == step::built ? built_pair(t.p, strength, b)
                                                      : captured_pair(stream, t.p, strength, b);
      if (version == step::captured) exec.reset();
      renew(exec, chain_of(pair, batch));
      enqueue_phase(stream, t, strength, exec, b);
    }
  };
  return host_part_of_simulate(width, height, initial, heaters, strengths, steps, batch, run);
}

}  // namespace lab::graph_of_steps
