// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Conditional nodes of graphs, and nodes of whatever kind by one function.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/graphs.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "cpu_device/graph_nodes.h"
#include "cpu_device/kernel_functions.h"
#include "engine/engine.hpp"
#include "observers/watchdog.hpp"

namespace cpu_device {
namespace {

/// Kernels look here, while the host thread that launched them holds api_mutex().
struct all_conditions {
  std::mutex mutex;
  std::map<cudaGraphConditionalHandle, graph_condition*> by_handle;
};
all_conditions& conditions() {
  static auto* all = new all_conditions;
  return *all;
}

std::shared_ptr<graph_condition> find(const CUgraph_st* graph, cudaGraphConditionalHandle handle) {
  for (; graph != nullptr; graph = graph->around)
    for (const auto& condition : graph->conditions)
      if (condition->handle == handle) return condition;
  return nullptr;
}

cudaError_t draft_conditional(node_draft& draft, CUgraph_st* graph, cudaConditionalNodeParams& p) {
  const auto condition = find(graph, p.handle);
  if (condition == nullptr)
    return fail(cudaErrorInvalidValue,
                "cudaGraphAddNode: the handle is none of this graph, nor of one around it. Try: "
                "cudaGraphConditionalHandleCreate.");
  if (condition->used)
    return fail(cudaErrorInvalidValue,
                "cudaGraphAddNode: another conditional node has this handle. Try: a handle of its "
                "own for each.");
  const unsigned most = p.type == cudaGraphCondTypeIf      ? 2
                        : p.type == cudaGraphCondTypeWhile ? 1
                                                           : ~0U;
  if (static_cast<unsigned>(p.type) > cudaGraphCondTypeSwitch || p.size == 0 || p.size > most)
    return fail(
        cudaErrorInvalidValue,
        "cudaGraphAddNode: an IF has one graph or two, a WHILE one, a SWITCH at least one.");
  draft.type = cudaGraphNodeTypeConditional;
  draft.conditional = std::make_shared<conditional_node>(condition, p.type, p.size, graph);
  p.phGraph_out = draft.conditional->bodies.data();
  return cudaSuccess;
}

bool any_device_is_broken() {
  for (int d = 0; d < device_count(); ++d)
    if (error_of(d) != cudaSuccess) return true;
  return false;
}

/// The rounds of a WHILE may go on while memory has something new, as a kernel may.
class round_limit {
 public:
  round_limit() { news_.expect_none_before(began_); }
  /// After a round.
  bool is_reached() {
    const clock::time_point now = clock::now();
    const bool counts = now - began_ < kNewsMayTake * time_limit();
    if (news_.found(now, SIZE_MAX) && counts) moved_ = now;
    return now - moved_ > time_limit() && (news_.none_found() || !counts);
  }

 private:
  using clock = std::chrono::steady_clock;
  const clock::time_point began_ = clock::now();
  clock::time_point moved_ = began_;
  memory_news news_;
};

void stop_while(const ready_node& node, std::uint64_t rounds) {
  const graph_condition& condition = *node.condition;
  const std::string value = std::to_string(condition.value);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", time_limit_seconds());
  report("stopped a WHILE node of a graph after " + std::to_string(rounds) + " rounds, " +
         (condition.file == nullptr
              ? "which leave its value at " + value + ", the default"
              : "with the value " + value + " that cudaGraphSetConditional gave it at " +
                    place(condition.file, condition.line)) +
         ": the loop made no progress for more than " + seconds +
         " s.\n  Try: look for a kernel of its graph that sets the value to 0 in the end. "
         "CPU_DEVICE_TIME_LIMIT sets the limit in seconds.");
  break_device(node.device, cudaErrorLaunchTimeout);
}

void run_while(const ready_node& node) {
  round_limit limit;
  for (std::uint64_t rounds = 1; node.condition->value != 0; ++rounds) {
    run_graph(node.bodies[0]);
    if (any_device_is_broken()) return;
    if (node.condition->value != 0 && limit.is_reached()) return stop_while(node, rounds);
  }
}

}  // namespace

graph_condition::graph_condition(unsigned first, bool assigned)
    : default_value(first), has_default(assigned) {
  static cudaGraphConditionalHandle handles = 0;
  handle = ++handles;
  const std::lock_guard lock(conditions().mutex);
  conditions().by_handle[handle] = this;
}
graph_condition::~graph_condition() {
  const std::lock_guard lock(conditions().mutex);
  conditions().by_handle.erase(handle);
}

void set_conditional(cudaGraphConditionalHandle handle, unsigned value, const char* file,
                     int line) {
  {
    const std::lock_guard lock(conditions().mutex);
    if (const auto it = conditions().by_handle.find(handle); it != conditions().by_handle.end()) {
      it->second->value = value;
      it->second->known = true;
      it->second->file = file;
      it->second->line = line;
      return;
    }
  }
  refuse("cudaGraphSetConditional: there is no conditional node with this handle.", file, line);
}

void begin_conditions(const ready_graph& nodes) {
  for (const ready_node& node : nodes) {
    if (node.condition == nullptr) continue;
    graph_condition& condition = *node.condition;
    condition.value = condition.default_value;
    condition.known = condition.has_default;
    condition.file = nullptr;
    for (const ready_graph& body : node.bodies) begin_conditions(body);
  }
}

void run_conditional(const ready_node& node) {
  const graph_condition& condition = *node.condition;
  if (any_device_is_broken()) return;
  if (!condition.known) {
    fail(cudaErrorInvalidValue,
         "cudaGraphLaunch: a conditional node comes before its value was set. Try: "
         "cudaGraphSetConditional in a kernel that it depends on, or cudaGraphCondAssignDefault.");
    return;
  }
  switch (node.condition_type) {
    case cudaGraphCondTypeIf:
      if (condition.value != 0)
        run_graph(node.bodies[0]);
      else if (node.bodies.size() == 2)
        run_graph(node.bodies[1]);
      break;
    case cudaGraphCondTypeWhile:
      run_while(node);
      break;
    case cudaGraphCondTypeSwitch:
      if (condition.value < node.bodies.size()) run_graph(node.bodies[condition.value]);
      break;
  }
}

bool all_handles_used(const CUgraph_st& graph) {
  for (const auto& condition : graph.conditions)
    if (!condition->used) return false;
  for (const auto& node : graph.nodes)
    if (node->conditional != nullptr)
      for (const CUgraph_st* body : node->conditional->bodies)
        if (!all_handles_used(*body)) return false;
  return true;
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned int value, unsigned int flags) {
  return call(api::cudaGraphConditionalHandleCreate, [&] {
    if (handle == nullptr || !is_graph(graph) || flags > cudaGraphCondAssignDefault)
      return fail(cudaErrorInvalidValue);
    graph->conditions.push_back(
        std::make_shared<graph_condition>(value, flags == cudaGraphCondAssignDefault));
    *handle = graph->conditions.back()->handle;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* before, std::size_t count,
                             cudaGraphNodeParams* p, const char* file, int line) {
  return call(api::cudaGraphAddNode, [&] {
    if (p == nullptr) return fail(cudaErrorInvalidValue);
    switch (p->type) {
      case cudaGraphNodeTypeKernel:
        return cudaGraphAddKernelNode(node, graph, before, count, &p->kernel, file, line);
      case cudaGraphNodeTypeMemcpy:
        return cudaGraphAddMemcpyNode(node, graph, before, count, &p->memcpy.copyParams);
      case cudaGraphNodeTypeMemset:
        return cudaGraphAddMemsetNode(node, graph, before, count, &p->memset);
      case cudaGraphNodeTypeHost:
        return cudaGraphAddHostNode(node, graph, before, count, &p->host);
      case cudaGraphNodeTypeGraph:
        return cudaGraphAddChildGraphNode(node, graph, before, count, p->graph.graph);
      case cudaGraphNodeTypeEmpty:
        return cudaGraphAddEmptyNode(node, graph, before, count);
      case cudaGraphNodeTypeWaitEvent:
        return cudaGraphAddEventWaitNode(node, graph, before, count, p->eventWait.event);
      case cudaGraphNodeTypeEventRecord:
        return cudaGraphAddEventRecordNode(node, graph, before, count, p->eventRecord.event);
      case cudaGraphNodeTypeMemAlloc:
        return cudaGraphAddMemAllocNode(node, graph, before, count, &p->alloc);
      case cudaGraphNodeTypeMemFree:
        return cudaGraphAddMemFreeNode(node, graph, before, count, p->free.dptr);
      case cudaGraphNodeTypeConditional:
        return add_drafted(node, graph, before, count, [&](node_draft& draft) {
          return draft_conditional(draft, graph, p->conditional);
        });
    }
    return fail(cudaErrorInvalidValue);
  });
}
cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                             const cudaGraphNode_t* before, const cudaGraphEdgeData*,
                             std::size_t count, cudaGraphNodeParams* p, const char* file,
                             int line) {
  return call(api::cudaGraphAddNode,
              [&] { return cudaGraphAddNode(node, graph, before, count, p, file, line); });
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p, const char* file,
                                   int line) {
  return call(api::cudaGraphNodeSetParams, [&] {
    if (p == nullptr) return fail(cudaErrorInvalidValue);
    if (p->type == cudaGraphNodeTypeKernel)
      return cudaGraphKernelNodeSetParams(node, &p->kernel, file, line);
    if (p->type == cudaGraphNodeTypeMemcpy)
      return cudaGraphMemcpyNodeSetParams(node, &p->memcpy.copyParams);
    if (p->type == cudaGraphNodeTypeMemset) return cudaGraphMemsetNodeSetParams(node, &p->memset);
    if (p->type == cudaGraphNodeTypeHost) return cudaGraphHostNodeSetParams(node, &p->host);
    return fail(cudaErrorInvalidValue);
  });
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                       cudaGraphNodeParams* p, const char* file, int line) {
  return call(api::cudaGraphExecNodeSetParams, [&] {
    if (p == nullptr) return fail(cudaErrorInvalidValue);
    if (p->type == cudaGraphNodeTypeKernel)
      return cudaGraphExecKernelNodeSetParams(exec, node, &p->kernel, file, line);
    if (p->type == cudaGraphNodeTypeMemcpy)
      return cudaGraphExecMemcpyNodeSetParams(exec, node, &p->memcpy.copyParams);
    if (p->type == cudaGraphNodeTypeMemset)
      return cudaGraphExecMemsetNodeSetParams(exec, node, &p->memset);
    if (p->type == cudaGraphNodeTypeHost)
      return cudaGraphExecHostNodeSetParams(exec, node, &p->host);
    if (p->type == cudaGraphNodeTypeGraph)
      return cudaGraphExecChildGraphNodeSetParams(exec, node, p->graph.graph);
    return fail(cudaErrorInvalidValue);
  });
}
