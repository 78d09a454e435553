// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Executable graphs: made from graphs, launched, changed.

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "api/graphs.hpp"
#include "context/device_variables.hpp"
#include "engine/engine.hpp"

struct CUgraphExec_st {
  // Launches that still wait keep the version that they were launched with.
  std::shared_ptr<const cpu_device::ready_graph> nodes;
};

namespace cpu_device {
namespace {

std::set<CUgraphExec_st*>& execs() {
  static auto* all = new std::set<CUgraphExec_st*>;
  return *all;
}

const object_keeper keeps_execs(object_kind::executable_graph, [] { return execs().size(); });

bool is_exec(CUgraphExec_st* exec) { return exec != nullptr && execs().count(exec) != 0; }

/// The node, which may be one of a conditional node's graphs.
ready_node* find(ready_graph& nodes, const CUgraphNode_st* wanted) {
  for (ready_node& node : nodes) {
    if (node.made_from == wanted) return &node;
    for (ready_graph& body : node.bodies)
      if (ready_node* found = find(body, wanted)) return found;
  }
  return nullptr;
}

/// Gives a node of an executable graph other work of the same kind.
template <class Describe>
cudaError_t change(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeType type,
                   Describe describe) {
  if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
  auto nodes = std::make_shared<ready_graph>(*exec->nodes);
  ready_node* it = find(*nodes, node);
  if (it == nullptr || it->type != type) return fail(cudaErrorInvalidValue);
  node_draft draft;
  const cudaError_t status =
      drafted(draft, [&](node_draft& d) { return describe(d, it->parameters.get()); });
  if (status != cudaSuccess) return status;
  it->work = std::move(draft.work);
  it->parameters = std::move(draft.parameters);
  exec->nodes = std::move(nodes);
  return cudaSuccess;
}

/// Whether an executable graph can take over what `b` does; if not, the first node of `b` that
/// differs, if there is one.
cudaGraphExecUpdateResult compare(const ready_graph& a, const ready_graph& b,
                                  const CUgraphNode_st*& wrong) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    wrong = b[i].made_from;
    if (a[i].type != b[i].type) return cudaGraphExecUpdateErrorNodeTypeChanged;
    if (a[i].before != b[i].before) return cudaGraphExecUpdateErrorTopologyChanged;
    if (a[i].condition == nullptr) continue;
    if (a[i].condition_type != b[i].condition_type || a[i].bodies.size() != b[i].bodies.size())
      return cudaGraphExecUpdateErrorParametersChanged;
    for (std::size_t body = 0; body < a[i].bodies.size(); ++body)
      if (const auto result = compare(a[i].bodies[body], b[i].bodies[body], wrong);
          result != cudaGraphExecUpdateSuccess)
        return result;
  }
  wrong = b.size() > a.size() ? b[a.size()].made_from : nullptr;
  return a.size() == b.size() ? cudaGraphExecUpdateSuccess
                              : cudaGraphExecUpdateErrorTopologyChanged;
}

/// The nodes keep the names that they were instantiated with.
void keep_names(const ready_graph& from, ready_graph& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i].made_from = from[i].made_from;
    for (std::size_t body = 0; body < to[i].bodies.size(); ++body)
      keep_names(from[i].bodies[body], to[i].bodies[body]);
  }
}

const char* name_of(cudaGraphNodeType type) {
  static constexpr const char* kNames[] = {"kernel node",
                                           "copy node",
                                           "memset node",
                                           "host node",
                                           "graph node",
                                           "empty node",
                                           "wait node",
                                           "event node",
                                           "",
                                           "",
                                           "allocation node",
                                           "free node",
                                           "",
                                           "conditional node"};
  return kNames[static_cast<unsigned>(type) % std::size(kNames)];
}

}  // namespace

bool make_ready(const CUgraph_st& graph, ready_graph& result) {
  std::map<const CUgraphNode_st*, std::size_t> number;
  for (const auto& node : graph.nodes) number.emplace(node.get(), number.size());
  for (const auto& node : graph.nodes) {
    ready_node ready{node->type,       node->work, {}, node.get(), node->device,
                     node->parameters, nullptr,    {}, {}};
    for (const CUgraphNode_st* b : node->before) ready.before.push_back(number.at(b));
    if (node->conditional != nullptr) {
      ready.condition = node->conditional->condition;
      ready.condition_type = node->conditional->type;
      for (const CUgraph_st* body : node->conditional->bodies)
        if (!make_ready(*body, ready.bodies.emplace_back())) return false;
    }
    result.push_back(std::move(ready));
  }
  std::vector<bool> done(result.size(), false);
  for (std::size_t count = 0; count < result.size();) {
    const std::size_t before = count;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto& wanted = result[i].before;
      if (done[i] || !std::all_of(wanted.begin(), wanted.end(), [&](auto b) { return done[b]; }))
        continue;
      done[i] = true;
      ++count;
    }
    if (count == before) return false;
  }
  return true;
}

void run_graph(const ready_graph& nodes) {
  unsigned seed = 0;
  const thread_order order = current_order(seed);
  std::vector<std::size_t> missing(nodes.size());
  std::vector<std::size_t> open;  // nodes that may run now
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    missing[i] = nodes[i].before.size();
    if (missing[i] == 0) open.push_back(i);
  }
  while (!open.empty()) {
    std::size_t at = 0;
    if (order == thread_order::reverse) at = open.size() - 1;
    if (order == thread_order::random) {
      seed = seed * 1664525U + 1013904223U;
      at = (seed >> 8) % open.size();
    }
    const std::size_t now = open[at];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    if (nodes[now].work || nodes[now].condition) {
      bring_variables(nodes[now].device);
      const running_work node(nullptr, name_of(nodes[now].type));
      if (nodes[now].work)
        nodes[now].work();
      else
        run_conditional(nodes[now]);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::size_t b : nodes[i].before)
        if (b == now && --missing[i] == 0) open.push_back(i);
  }
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  return call(api::cudaGraphInstantiate, [&] {
    if (exec == nullptr || !is_graph(graph) || flags > 15) return fail(cudaErrorInvalidValue);
    if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
      return fail(cudaErrorNotSupported, "kernels of the CPU device cannot launch graphs");
    if (graph->around != nullptr)
      return fail(
          cudaErrorInvalidValue,
          "cudaGraphInstantiate: this is the graph of a conditional node, and runs with it.");
    if (!all_handles_used(*graph))
      return fail(cudaErrorInvalidValue,
                  "cudaGraphInstantiate: a handle of cudaGraphConditionalHandleCreate has no "
                  "conditional node.");
    auto nodes = std::make_shared<ready_graph>();
    if (!make_ready(*graph, *nodes))
      return fail(cudaErrorInvalidValue,
                  "cudaGraphInstantiate: the nodes depend on each other in a circle");
    for (const auto& node : graph->nodes)
      if (node->type == cudaGraphNodeTypeMemAlloc)
        node->memory->frees_itself = (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0;
    *exec = new CUgraphExec_st{std::move(nodes)};
    execs().insert(*exec);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes) {
  return call(api::cudaGraphInstantiate, [&] {
    if (error_node != nullptr) *error_node = nullptr;
    if (log != nullptr && log_bytes != 0) *log = '\0';
    return cudaGraphInstantiate(exec, graph, 0ULL);
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return call(api::cudaGraphInstantiateWithFlags,
              [&] { return cudaGraphInstantiate(exec, graph, flags); });
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  return call(api::cudaGraphUpload, [&] {
    if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
    return is_stream(stream) ? cudaSuccess : bad_stream();
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return call(api::cudaGraphLaunch, [&] {
    if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
    return put(stream,
               {0,
                [nodes = exec->nodes] {
                  begin_conditions(*nodes);
                  run_graph(*nodes);
                },
                nullptr, 0, cudaGraphNodeTypeGraph},
               has_interprocess_events());  // a node may record one
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return call(api::cudaGraphExecDestroy, [&] {
    if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
    execs().erase(exec);
    delete exec;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p, const char* file,
                                             int line) {
  return call(api::cudaGraphExecKernelNodeSetParams, [&] {
    return change(exec, node, cudaGraphNodeTypeKernel,
                  [&](node_draft& draft, const node_parameters* before) {
                    return draft_kernel(draft, p, before, file, line);
                  });
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return call(api::cudaGraphExecMemcpyNodeSetParams1D, [&] {
    return change(exec, node, cudaGraphNodeTypeMemcpy,
                  [&](node_draft& draft, const node_parameters*) {
                    return draft_copy(draft, to, from, bytes, kind);
                  });
  });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemcpy3DParms* p) {
  return call(api::cudaGraphExecMemcpyNodeSetParams, [&] {
    return change(exec, node, cudaGraphNodeTypeMemcpy,
                  [&](node_draft& draft, const node_parameters*) { return draft_copy(draft, p); });
  });
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaMemsetParams* p) {
  return call(api::cudaGraphExecMemsetNodeSetParams, [&] {
    return change(exec, node, cudaGraphNodeTypeMemset,
                  [&](node_draft& draft, const node_parameters*) { return draft_fill(draft, p); });
  });
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 cudaGraph_t child) {
  return call(api::cudaGraphExecChildGraphNodeSetParams, [&] {
    return change(exec, node, cudaGraphNodeTypeGraph,
                  [&](node_draft& draft, const node_parameters*) {
                    return draft_child(draft, child, nullptr);
                  });
  });
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* p) {
  return call(api::cudaGraphExecHostNodeSetParams, [&] {
    return change(exec, node, cudaGraphNodeTypeHost,
                  [&](node_draft& draft, const node_parameters*) { return draft_host(draft, p); });
  });
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  return call(api::cudaGraphExecUpdate, [&] {
    if (!is_exec(exec) || !is_graph(graph) || info == nullptr) return fail(cudaErrorInvalidValue);
    *info = {cudaGraphExecUpdateError, nullptr, nullptr};
    auto nodes = std::make_shared<ready_graph>();
    if (!make_ready(*graph, *nodes)) return fail(cudaErrorGraphExecUpdateFailure);
    const CUgraphNode_st* wrong = nullptr;
    info->result = compare(*exec->nodes, *nodes, wrong);
    info->errorNode = const_cast<CUgraphNode_st*>(wrong);
    if (info->result != cudaGraphExecUpdateSuccess) return fail(cudaErrorGraphExecUpdateFailure);
    keep_names(*exec->nodes, *nodes);
    exec->nodes = std::move(nodes);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphNode_t* error_node, cudaGraphExecUpdateResult* result) {
  return call(api::cudaGraphExecUpdate, [&] {
    cudaGraphExecUpdateResultInfo info{};
    const cudaError_t status = cudaGraphExecUpdate(exec, graph, &info);
    if (error_node != nullptr) *error_node = info.errorNode;
    if (result != nullptr) *result = info.result;
    return status;
  });
}
