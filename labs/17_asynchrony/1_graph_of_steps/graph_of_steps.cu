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

// TODO(2): step captured: a function that captures the work that the first one puts into a stream,
//          in cudaStreamCaptureModeThreadLocal. It returns a graph_owner. Invariant: whether the
//          first function returns or throws, afterwards the stream is not being captured, and no
//          graph has leaked.

// TODO(3): its phases: each captures a batch of time steps, makes an executable graph of it
//          (cudaGraphInstantiate), which an exec_owner owns, and launches it once
//          for each whole batch in t.steps. The remaining time steps are launched one
//          by one.

// TODO(4): step updated: the same, but instantiate once. cudaGraphExecUpdate copies all arguments
//          of each later graph to the executable graph. What has changed besides the
//          strength?

// TODO(5, bonus): step built: for the first phase make a graph of t.batch kernel nodes, each
//          depending on the previous one (cudaGraphCreate, cudaGraphAddKernelNode), and instantiate
//          it. For the others set the nodes of the executable graph
//          (cudaGraphExecKernelNodeSetParams).

}  // namespace

result simulate(step version, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, std::span<const float> strengths, int steps,
                int batch) {
  // TODO(1): host_part_of_simulate() of given.hpp checks, allocates and copies. It calls your
  //          lambda (cudaStream_t stream, const task& t, buffers& b), which puts all phases into
  //          the stream.
  if (version == step::launches) throw not_written("step launches", 1);
  if (version == step::captured) throw not_written("step captured", 2);  // 2 and 3
  if (version == step::updated) throw not_written("step updated", 4);
  throw not_written("step built", 5);
}

}  // namespace lab::graph_of_steps
