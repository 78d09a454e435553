// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the files of graphs share. Internal to the CPU device; under api_mutex().
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "api/streams.hpp"
#include "cpu_device/graph_nodes.h"

namespace cpu_device {

struct ready_node;
/// A graph made ready to run: nodes by number.
using ready_graph = std::vector<ready_node>;
struct ready_node {
  cudaGraphNodeType type;
  std::function<void()> work;
  std::vector<std::size_t> before;
  const CUgraphNode_st* made_from;
  int device;
  parameters_ptr parameters;
  std::shared_ptr<graph_condition> condition;  // null: no conditional node
  cudaGraphConditionalNodeType condition_type = cudaGraphCondTypeIf;
  std::vector<ready_graph> bodies;
};

/// The value that a conditional node looks at. Kernels set it, without api_mutex().
struct graph_condition {
  graph_condition(unsigned first, bool assigned);
  ~graph_condition();
  graph_condition(const graph_condition&) = delete;
  graph_condition& operator=(const graph_condition&) = delete;

  cudaGraphConditionalHandle handle;
  const unsigned default_value;
  const bool has_default;
  bool used = false;  // there is a node
  std::atomic<unsigned> value{0};
  std::atomic<bool> known{false};  // since the launch
  const char* file = nullptr;      // where it was set last, if it was
  int line = 0;
};

struct conditional_node {
  conditional_node(std::shared_ptr<graph_condition> what, cudaGraphConditionalNodeType kind,
                   unsigned count, const CUgraph_st* around);
  ~conditional_node();
  conditional_node(const conditional_node&) = delete;
  conditional_node& operator=(const conditional_node&) = delete;

  const std::shared_ptr<graph_condition> condition;
  const cudaGraphConditionalNodeType type;
  std::vector<cudaGraph_t> bodies;  // its own
};

bool is_graph(const CUgraph_st* graph);

/// Adds the node that `describe` drafts: a call on a stream that goes into the graph instead.
cudaError_t add_drafted(cudaGraphNode_t* node, cudaGraph_t graph,
                        const cudaGraphNode_t* dependencies, std::size_t count,
                        const std::function<cudaError_t(node_draft&)>& describe);
/// Refuses what the graphs of conditional nodes may not have.
cudaError_t check_body(const CUgraph_st& graph, const CUgraphNode_st& node);

// graph_nodes.cpp: what a node does, written down by a call that is drafted
/// `before`: what the node did before, if it did anything.
cudaError_t draft_kernel(node_draft& draft, const cudaKernelNodeParams* p,
                         const node_parameters* before, const char* file, int line);
/// A copy of nothing leaves no work behind, and is a node all the same.
cudaError_t draft_copy(node_draft& draft, void* to, const void* from, std::size_t bytes,
                       cudaMemcpyKind kind);
cudaError_t draft_copy(node_draft& draft, const cudaMemcpy3DParms* p);
cudaError_t draft_fill(node_draft& draft, const cudaMemsetParams* p);
cudaError_t draft_host(node_draft& draft, const cudaHostNodeParams* p);
cudaError_t draft_child(node_draft& draft, const CUgraph_st* child, const CUgraph_st* parent);

/// What `describe` writes down: what a node does.
template <class Describe>
cudaError_t drafted(node_draft& draft, Describe describe) {
  const drafting now(draft);
  return describe(draft);
}

// graph_memory.cpp
/// A node that allocates memory of a device: its work, and the address that it will have.
cudaError_t draft_allocation(node_draft& draft, void** pointer, std::size_t bytes, int device,
                             const std::set<int>& reached_by, const void* made_at);
/// A node that frees such memory.
cudaError_t draft_free(node_draft& draft, void* pointer);
/// What a node allocates or frees.
struct graph_memory {
  void* begin = nullptr;
  std::size_t bytes = 0;
  int device = 0;
  bool open = false;                     // a launch has allocated it, and nobody has freed it since
  bool frees_itself = false;             // cudaGraphInstantiateFlagAutoFreeOnLaunch
  std::shared_ptr<graph_memory> itself;  // while it is open: the graph may be destroyed before
  graph_memory() = default;
  graph_memory(const graph_memory&) = delete;
  graph_memory& operator=(const graph_memory&) = delete;
  ~graph_memory();
};

// graph_exec.cpp
/// The graph's nodes by number; false if they wait for each other in a circle.
bool make_ready(const CUgraph_st& graph, ready_graph& result);
/// Runs all nodes, each after those that it depends on.
void run_graph(const ready_graph& nodes);

// graph_conditions.cpp
/// A launch begins: each value is its default, or is not known.
void begin_conditions(const ready_graph& nodes);
/// Runs those of the node's graphs that its value asks for.
void run_conditional(const ready_node& node);
/// Whether each handle of the graph, and of those inside of it, has its conditional node.
bool all_handles_used(const CUgraph_st& graph);

}  // namespace cpu_device
