// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Graphs: their nodes, and launching them.

#include "cpu_device/graphs.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "api/streams.hpp"
#include "cpu_device.h"
#include "cpu_device/launch_api.h"
#include "cpu_device/textures.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

/// A graph made ready to run: nodes by number.
struct ready_node {
  cudaGraphNodeType type;
  std::function<void()> work;
  std::vector<std::size_t> before;
  const CUgraphNode_st* made_from;
};
using ready_graph = std::vector<ready_node>;

}  // namespace
}  // namespace cpu_device

struct CUgraphExec_st {
  // Launches that still wait keep the version that they were launched with.
  std::shared_ptr<const cpu_device::ready_graph> nodes;
};

namespace cpu_device {
namespace {

std::set<CUgraph_st*>& graphs() {
  static auto* all = new std::set<CUgraph_st*>;
  return *all;
}
std::set<CUgraphExec_st*>& execs() {
  static auto* all = new std::set<CUgraphExec_st*>;
  return *all;
}

bool is_graph(const CUgraph_st* graph) {
  if (graph == nullptr) return false;
  if (graphs().count(const_cast<CUgraph_st*>(graph)) != 0) return true;
  return std::any_of(streams().begin(), streams().end(), [&](const CUstream_st* s) {
    return s->capture && s->capture->graph.get() == graph;
  });
}

bool is_exec(CUgraphExec_st* exec) { return exec != nullptr && execs().count(exec) != 0; }

bool has_node(const CUgraph_st& graph, const CUgraphNode_st* node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const auto& n) { return n.get() == node; });
}

bool is_node(const CUgraphNode_st* node) {
  return node != nullptr && std::any_of(graphs().begin(), graphs().end(),
                                        [&](const CUgraph_st* g) { return has_node(*g, node); });
}

/// The graph's nodes by number; false if they wait for each other in a circle.
bool make_ready(const CUgraph_st& graph, ready_graph& result) {
  std::map<const CUgraphNode_st*, std::size_t> number;
  for (const auto& node : graph.nodes) number.emplace(node.get(), number.size());
  for (const auto& node : graph.nodes) {
    result.push_back({node->type, node->work, {}, node.get()});
    for (const CUgraphNode_st* b : node->before) result.back().before.push_back(number.at(b));
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

/// Runs all nodes, each after those that it depends on.
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
    if (nodes[now].work) nodes[now].work();
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::size_t b : nodes[i].before)
        if (b == now && --missing[i] == 0) open.push_back(i);
  }
}

/// Adds the node that `describe` drafts: a call on a stream that goes into the graph instead.
template <class Describe>
cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                std::size_t count, Describe describe) {
  const std::lock_guard lock(api_mutex());
  if (node == nullptr || !is_graph(graph) || (count != 0 && dependencies == nullptr))
    return fail(cudaErrorInvalidValue);
  std::vector<CUgraphNode_st*> before;
  for (std::size_t i = 0; i < count; ++i) {
    if (!has_node(*graph, dependencies[i]) ||
        std::find(before.begin(), before.end(), dependencies[i]) != before.end())
      return fail(cudaErrorInvalidValue,
                  "a dependency is no node of this graph, or is named twice");
    before.push_back(dependencies[i]);
  }
  node_draft draft;
  cudaError_t status;
  {
    const drafting now(draft);
    status = describe(draft);
  }
  if (status != cudaSuccess) return status;
  *node = add_node(*graph, draft.type, std::move(draft.work), std::move(before));
  return cudaSuccess;
}

/// Gives a node of an executable graph other work of the same kind.
template <class Describe>
cudaError_t change(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeType type,
                   Describe describe) {
  const std::lock_guard lock(api_mutex());
  if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
  auto nodes = std::make_shared<ready_graph>(*exec->nodes);
  const auto it = std::find_if(nodes->begin(), nodes->end(),
                               [&](const ready_node& n) { return n.made_from == node; });
  if (it == nodes->end() || it->type != type) return fail(cudaErrorInvalidValue);
  node_draft draft;
  cudaError_t status;
  {
    const drafting now(draft);
    status = describe(draft);
  }
  if (status != cudaSuccess) return status;
  it->work = std::move(draft.work);
  exec->nodes = std::move(nodes);
  return cudaSuccess;
}

cudaError_t draft_kernel(node_draft& draft, const cudaKernelNodeParams* p, const char* file,
                         int line) {
  draft.type = cudaGraphNodeTypeKernel;
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  if (p->extra != nullptr)
    return fail(cudaErrorNotSupported, "a kernel node takes its arguments through kernelParams");
  return launch_by_address(p->func, {p->gridDim, p->blockDim, p->sharedMemBytes, nullptr, false},
                           p->kernelParams, file, line);
}

/// A copy of nothing leaves no work behind, and is a node all the same.
cudaError_t draft_copy(node_draft& draft, void* to, const void* from, std::size_t bytes,
                       cudaMemcpyKind kind) {
  draft.type = cudaGraphNodeTypeMemcpy;
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t draft_host(node_draft& draft, const cudaHostNodeParams* p) {
  draft.type = cudaGraphNodeTypeHost;
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  return cudaLaunchHostFunc(nullptr, p->fn, p->userData);
}

cudaError_t draft_fill(node_draft& draft, const cudaMemsetParams* p) {
  if (p == nullptr || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4))
    return fail(cudaErrorInvalidValue);
  const cudaMemsetParams fill = *p;
  const std::size_t row = fill.width * fill.elementSize;
  const std::size_t pitch = fill.height > 1 ? fill.pitch : row;
  // For its checks: memset itself knows bytes only.
  const cudaError_t status = cudaMemset2DAsync(fill.dst, pitch, 0, row, fill.height, nullptr);
  if (status != cudaSuccess) return status;
  draft.type = cudaGraphNodeTypeMemset;
  draft.work = [fill, pitch] {
    for (std::size_t y = 0; y < fill.height; ++y)
      for (std::size_t x = 0; x < fill.width; ++x)
        std::memcpy(static_cast<char*>(fill.dst) + y * pitch + x * fill.elementSize, &fill.value,
                    fill.elementSize);
  };
  return cudaSuccess;
}

/// Fills a caller's array of *count places, or says how many there are.
cudaError_t give(const std::vector<cudaGraphNode_t>& found, cudaGraphNode_t* out,
                 std::size_t* count) {
  if (count == nullptr) return fail(cudaErrorInvalidValue);
  if (out == nullptr) {
    *count = found.size();
    return cudaSuccess;
  }
  for (std::size_t i = 0; i < *count; ++i) out[i] = i < found.size() ? found[i] : nullptr;
  *count = std::min(*count, found.size());
  return cudaSuccess;
}

bool same_shape(const ready_graph& a, const ready_graph& b, std::size_t& wrong, bool& type) {
  type = false;
  for (wrong = 0; wrong < std::min(a.size(), b.size()); ++wrong) {
    type = a[wrong].type != b[wrong].type;
    if (type || a[wrong].before != b[wrong].before) return false;
  }
  return a.size() == b.size();
}

}  // namespace

CUgraphNode_st* add_node(CUgraph_st& graph, cudaGraphNodeType type, std::function<void()> work,
                         std::vector<CUgraphNode_st*> before) {
  auto node = std::make_unique<CUgraphNode_st>();
  node->type = type;
  node->work = std::move(work);
  node->before = std::move(before);
  node->graph = &graph;
  graph.nodes.push_back(std::move(node));
  return graph.nodes.back().get();
}

cudaError_t keep_graph(std::unique_ptr<CUgraph_st> graph, cudaGraph_t* handle) {
  *handle = graph.release();
  graphs().insert(*handle);
  return cudaSuccess;
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  if (graph == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  return keep_graph(std::make_unique<CUgraph_st>(), graph);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard lock(api_mutex());
  if (graph == nullptr || graphs().erase(graph) == 0) return fail(cudaErrorInvalidValue);
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const std::lock_guard lock(api_mutex());
  if (clone == nullptr || !is_graph(graph)) return fail(cudaErrorInvalidValue);
  auto copy = std::make_unique<CUgraph_st>();
  std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
  for (const auto& node : graph->nodes)
    copies[node.get()] = add_node(*copy, node->type, node->work, {});
  for (const auto& node : graph->nodes)
    for (const CUgraphNode_st* b : node->before) copies[node.get()]->before.push_back(copies[b]);
  return keep_graph(std::move(copy), clone);
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaKernelNodeParams* p, const char* file, int line) {
  return add(node, graph, dependencies, count,
             [&](node_draft& draft) { return draft_kernel(draft, p, file, line); });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaMemcpy3DParms* p) {
  return add(node, graph, dependencies, count, [&](node_draft& draft) {
    draft.type = cudaGraphNodeTypeMemcpy;
    return cudaMemcpy3DAsync(p, nullptr);
  });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, std::size_t count,
                                     void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  return add(node, graph, dependencies, count,
             [&](node_draft& draft) { return draft_copy(draft, to, from, bytes, kind); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaMemsetParams* p) {
  return add(node, graph, dependencies, count,
             [&](node_draft& draft) { return draft_fill(draft, p); });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, std::size_t count,
                                 const cudaHostNodeParams* p) {
  return add(node, graph, dependencies, count,
             [&](node_draft& draft) { return draft_host(draft, p); });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, std::size_t count,
                                       cudaGraph_t child) {
  return add(node, graph, dependencies, count, [&](node_draft& draft) {
    const auto nodes = std::make_shared<ready_graph>();
    if (!is_graph(child) || child == graph || !make_ready(*child, *nodes))
      return fail(cudaErrorInvalidValue);
    draft.type = cudaGraphNodeTypeGraph;
    draft.work = [nodes] { run_graph(*nodes); };
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, std::size_t count) {
  return add(node, graph, dependencies, count, [](node_draft&) { return cudaSuccess; });
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, std::size_t count,
                                        cudaEvent_t event) {
  return add(node, graph, dependencies, count, [&](node_draft& draft) {
    if (!is_event(event)) return bad_event();
    draft.type = cudaGraphNodeTypeEventRecord;
    draft.work = [event] { mark_reached(event); };
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, std::size_t count,
                                      cudaEvent_t event) {
  return add(node, graph, dependencies, count, [&](node_draft& draft) {
    if (!is_event(event)) return bad_event();
    draft.type = cudaGraphNodeTypeWaitEvent;
    draft.work = [event] { await_event(event); };
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  const std::lock_guard lock(api_mutex());
  if (!is_node(node)) return fail(cudaErrorInvalidValue);
  auto& nodes = node->graph->nodes;
  for (const auto& other : nodes)
    other->before.erase(std::remove(other->before.begin(), other->before.end(), node),
                        other->before.end());
  nodes.erase(
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; }));
  return cudaSuccess;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  const std::lock_guard lock(api_mutex());
  if (!is_graph(graph) || (count != 0 && (from == nullptr || to == nullptr)))
    return fail(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    if (!has_node(*graph, from[i]) || !has_node(*graph, to[i]) || from[i] == to[i])
      return fail(cudaErrorInvalidValue);
    auto& before = to[i]->before;
    if (std::find(before.begin(), before.end(), from[i]) != before.end())
      return fail(cudaErrorInvalidValue, "cudaGraphAddDependencies: this dependency is there");
  }
  for (std::size_t i = 0; i < count; ++i) to[i]->before.push_back(from[i]);
  return cudaSuccess;
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     std::size_t count) {
  return cudaGraphAddDependencies(graph, from, to, count);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const std::lock_guard lock(api_mutex());
  if (!is_graph(graph)) return fail(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return give(all, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  const std::lock_guard lock(api_mutex());
  if (!is_graph(graph)) return fail(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> roots;
  for (const auto& node : graph->nodes)
    if (node->before.empty()) roots.push_back(node.get());
  return give(roots, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count) {
  const std::lock_guard lock(api_mutex());
  if (!is_graph(graph) || count == nullptr || (from == nullptr) != (to == nullptr))
    return fail(cudaErrorInvalidValue);
  std::vector<cudaGraphNode_t> froms, tos;
  for (const auto& node : graph->nodes)
    for (cudaGraphNode_t before : node->before) {
      froms.push_back(before);
      tos.push_back(node.get());
    }
  std::size_t again = *count;
  if (from != nullptr) give(froms, from, &again);
  return give(tos, to, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, std::size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
  return cudaGraphGetEdges(graph, from, to, count);
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const std::lock_guard lock(api_mutex());
  if (!is_node(node) || type == nullptr) return fail(cudaErrorInvalidValue);
  *type = node->type;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         std::size_t* count) {
  const std::lock_guard lock(api_mutex());
  if (!is_node(node)) return fail(cudaErrorInvalidValue);
  return give(node->before, dependencies, count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, std::size_t* count) {
  if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
  return cudaGraphNodeGetDependencies(node, dependencies, count);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 unsigned long long flags) {
  const std::lock_guard lock(api_mutex());
  if (exec == nullptr || !is_graph(graph) || flags > 15) return fail(cudaErrorInvalidValue);
  if ((flags & cudaGraphInstantiateFlagDeviceLaunch) != 0)
    return fail(cudaErrorNotSupported, "kernels of the CPU device cannot launch graphs");
  auto nodes = std::make_shared<ready_graph>();
  if (!make_ready(*graph, *nodes))
    return fail(cudaErrorInvalidValue,
                "cudaGraphInstantiate: the nodes depend on each other in a circle");
  *exec = new CUgraphExec_st{std::move(nodes)};
  execs().insert(*exec);
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                 cudaGraphNode_t* error_node, char* log, std::size_t log_bytes) {
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_bytes != 0) *log = '\0';
  return cudaGraphInstantiate(exec, graph, 0ULL);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                          unsigned long long flags) {
  return cudaGraphInstantiate(exec, graph, flags);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
  const std::lock_guard lock(api_mutex());
  if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
  return is_stream(stream) ? cudaSuccess : bad_stream();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
  return enqueue(
      stream, [nodes = exec->nodes] { run_graph(*nodes); }, cudaGraphNodeTypeGraph);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  const std::lock_guard lock(api_mutex());
  if (!is_exec(exec)) return fail(cudaErrorInvalidValue);
  execs().erase(exec);
  delete exec;
  return cudaSuccess;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p, const char* file,
                                             int line) {
  return change(exec, node, cudaGraphNodeTypeKernel,
                [&](node_draft& draft) { return draft_kernel(draft, p, file, line); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to,
                                               const void* from, std::size_t bytes,
                                               cudaMemcpyKind kind) {
  return change(exec, node, cudaGraphNodeTypeMemcpy,
                [&](node_draft& draft) { return draft_copy(draft, to, from, bytes, kind); });
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                           const cudaHostNodeParams* p) {
  return change(exec, node, cudaGraphNodeTypeHost,
                [&](node_draft& draft) { return draft_host(draft, p); });
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* info) {
  const std::lock_guard lock(api_mutex());
  if (!is_exec(exec) || !is_graph(graph) || info == nullptr) return fail(cudaErrorInvalidValue);
  *info = {cudaGraphExecUpdateError, nullptr, nullptr};
  auto nodes = std::make_shared<ready_graph>();
  if (!make_ready(*graph, *nodes)) return fail(cudaErrorGraphExecUpdateFailure);
  std::size_t wrong = 0;
  bool type = false;
  if (!same_shape(*exec->nodes, *nodes, wrong, type)) {
    info->result =
        type ? cudaGraphExecUpdateErrorNodeTypeChanged : cudaGraphExecUpdateErrorTopologyChanged;
    if (wrong < graph->nodes.size()) info->errorNode = graph->nodes[wrong].get();
    return fail(cudaErrorGraphExecUpdateFailure);
  }
  // The nodes keep the names they were instantiated with.
  for (std::size_t i = 0; i < nodes->size(); ++i)
    (*nodes)[i].made_from = (*exec->nodes)[i].made_from;
  exec->nodes = std::move(nodes);
  info->result = cudaGraphExecUpdateSuccess;
  return cudaSuccess;
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphNode_t* error_node, cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info{};
  const cudaError_t status = cudaGraphExecUpdate(exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (result != nullptr) *result = info.result;
  return status;
}
