// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.1 graph_of_steps: many short kernels, launched one by one, and then as graphs.
// Edit:  this nearly empty file: TODO(1) to TODO(4); TODO(5) is a bonus.
// Run:   scripts/lab run 17.1 -- --step launches     (then captured, updated and built)
// Test:  scripts/lab test 17.1
// Hints: scripts/lab hint 17.1                  Chapter: docs/17_asynchrony.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::graph_of_steps {
namespace {

// TODO(1): a function that puts time steps into a stream: launches of heat_step (given.hpp),
//          blocks_for(p) blocks of kThreads threads. Report a launch that fails. Each time step
//          reads the output of the previous one; afterwards buffers::input has the newest
//          temperatures.
// BEGIN SOLUTION
/// Puts `steps` time steps into the stream. Afterwards b.input has the newest temperatures.
void enqueue(cudaStream_t stream, const plate& p, float strength, int steps, buffers& b) {
  for (int i = 0; i < steps; ++i) {
    heat_step<<<blocks_for(p), kThreads, 0, stream>>>(p, strength, b.input, b.output);
    CUDA_CHECK(cudaGetLastError());
    std::swap(b.input, b.output);
  }
}
// END SOLUTION

// TODO(2): step captured: a function that captures the work that the first one puts into a stream,
//          in cudaStreamCaptureModeThreadLocal. It returns a graph_owner. Invariant: whether the
//          first function returns or throws, afterwards the stream is not being captured, and no
//          graph has leaked.
// BEGIN SOLUTION
/// A graph of `steps` time steps, none of which runs yet. An even number: b stays as it is.
graph_owner capture(cudaStream_t stream, const plate& p, float strength, int steps, buffers b) {
  CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  cudaGraph_t graph = nullptr;
  try {
    enqueue(stream, p, strength, steps, b);
  } catch (...) {
    if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) cudaGetLastError();
    graph_owner{graph};  // destroys the graph, if there is one
    throw;
  }
  CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
  return graph_owner(graph);
}
// END SOLUTION

// TODO(3): its phases: each captures a batch of time steps, makes an executable graph of it
//          (cudaGraphInstantiate), which an exec_owner owns, and launches it once
//          for each whole batch in t.steps. The remaining time steps are launched one
//          by one.
// BEGIN SOLUTION
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
// END SOLUTION

// TODO(4): step updated: the same, but instantiate once. cudaGraphExecUpdate copies all arguments
//          of each later graph to the executable graph. What has changed besides the
//          strength?
// BEGIN SOLUTION
void run_updated(cudaStream_t stream, const task& t, buffers& b) {
  exec_owner exec;
  for (const float strength : t.strengths) {
    const graph_owner graph = capture(stream, t.p, strength, t.batch, b);
    if (!exec) {
      exec = instantiate(graph);
    } else {
      cudaGraphExecUpdateResultInfo what_differs{};
      CUDA_CHECK(cudaGraphExecUpdate(exec.get(), graph.get(), &what_differs));
    }
    enqueue_phase(stream, t, strength, exec, b);
  }
}
// END SOLUTION

// TODO(5, bonus): step built: for the first phase make a graph of t.batch kernel nodes, each
//          depending on the previous one (cudaGraphCreate, cudaGraphAddKernelNode), and instantiate
//          it. For the others set the nodes of the executable graph
//          (cudaGraphExecKernelNodeSetParams).
// BEGIN SOLUTION
void run_built(cudaStream_t stream, const task& t, buffers& b) {
  cudaGraph_t handle = nullptr;
  CUDA_CHECK(cudaGraphCreate(&handle, 0));
  const graph_owner graph(handle);
  std::vector<cudaGraphNode_t> nodes(static_cast<std::size_t>(t.batch));
  exec_owner exec;
  for (float strength : t.strengths) {
    plate p = t.p;
    buffers now = b;
    void* arguments[] = {&p, &strength, &now.input, &now.output};  // copied by both calls below
    cudaKernelNodeParams node = {};
    node.func = reinterpret_cast<void*>(heat_step);
    node.gridDim = blocks_for(p);
    node.blockDim = kThreads;
    node.kernelParams = arguments;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (!exec)
        CUDA_CHECK(cudaGraphAddKernelNode(&nodes[i], graph.get(), i > 0 ? &nodes[i - 1] : nullptr,
                                          i > 0 ? 1 : 0, &node));
      else
        CUDA_CHECK(cudaGraphExecKernelNodeSetParams(exec.get(), nodes[i], &node));
      std::swap(now.input, now.output);
    }
    if (!exec) exec = instantiate(graph);
    enqueue_phase(stream, t, strength, exec, b);
  }
}
// END SOLUTION

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch) {
  // TODO(1): host_part_of_simulate() of given.hpp checks, allocates and copies. It calls your
  //          lambda (cudaStream_t stream, const task& t, buffers& b), which puts all phases into
  //          the stream.
  // BEGIN SOLUTION
  // STUB: if (version == step::launches) throw not_written("step launches", 1);
  // STUB: if (version == step::captured) throw not_written("step captured", 2);  // 2 and 3
  // STUB: if (version == step::updated) throw not_written("step updated", 4);
  // STUB: throw not_written("step built", 5);
  const auto run = [&](cudaStream_t stream, const task& t, buffers& b) {
    if (version == step::launches)
      for (const float strength : strengths) enqueue(stream, t.p, strength, steps, b);
    if (version == step::captured) run_captured(stream, t, b);
    if (version == step::updated) run_updated(stream, t, b);
    if (version == step::built) run_built(stream, t, b);
  };
  return host_part_of_simulate(width, height, initial, heaters, strengths, steps, batch, run);
  // END SOLUTION
}

}  // namespace lab::graph_of_steps
