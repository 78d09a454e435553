// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Graphs and their nodes.

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "api/graphs.hpp"
#include "api/kernels.hpp"
#include "api/memory_api.hpp"
#include "cpu_device/launch_api.h"
#include "cpu_device/textures.h"

namespace cpu_device {
namespace {

std::set<CUgraph_st*>& graphs() {
  static auto* all = new std::set<CUgraph_st*>;
  return *all;
}

/// Those of conditional nodes, which own them.
std::set<CUgraph_st*>& body_graphs() {
  static auto* all = new std::set<CUgraph_st*>;
  return *all;
}

const object_keeper keeps_graphs(object_kind::graph, [] { return graphs().size(); });

bool has_node(const CUgraph_st& graph, const CUgraphNode_st* node) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const auto& n) { return n.get() == node; });
}

bool is_node(const CUgraphNode_st* node) {
  const auto has = [node](const CUgraph_st* g) { return has_node(*g, node); };
  return node != nullptr && (std::any_of(graphs().begin(), graphs().end(), has) ||
                             std::any_of(body_graphs().begin(), body_graphs().end(), has));
}

/// Gives a node other work of the same kind. Graphs that were instantiated before keep the old one.
template <class Describe>
cudaError_t change(cudaGraphNode_t node, cudaGraphNodeType type, Describe describe) {
  if (!is_node(node) || node->type != type) return fail(cudaErrorInvalidValue);
  node_draft draft;
  const cudaError_t status = drafted(draft, describe);
  if (status != cudaSuccess) return status;
  node->work = std::move(draft.work);
  node->parameters = std::move(draft.parameters);
  return cudaSuccess;
}

/// With memory of its own, or values of conditions, which there are once.
bool is_unique(const CUgraph_st& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const auto& node) {
    return node->memory != nullptr || node->conditional != nullptr;
  });
}
cudaError_t refuse_unique() {
  return fail(cudaErrorNotSupported,
              this_call() + ": the graph allocates or frees memory, or has conditional nodes.");
}

/// Has `give` fill in the parameters of a node of this kind.
template <class Kept, class P, class Give>
cudaError_t give_parameters(cudaGraphNode_t node, cudaGraphNodeType type, P* p, Give give) {
  if (!is_node(node) || node->type != type || p == nullptr) return fail(cudaErrorInvalidValue);
  if (node->parameters == nullptr)
    return fail(
        cudaErrorNotSupported,
        this_call() + ": this node was captured from a call whose parameters are not kept.");
  *p = give(std::get<Kept>(*node->parameters));
  return cudaSuccess;
}
template <class P>
cudaError_t give_parameters(cudaGraphNode_t node, cudaGraphNodeType type, P* p) {
  return give_parameters<P>(node, type, p, [](const P& kept) { return kept; });
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

}  // namespace

bool is_graph(const CUgraph_st* graph) {
  if (graph == nullptr) return false;
  auto* known = const_cast<CUgraph_st*>(graph);
  if (graphs().count(known) != 0 || body_graphs().count(known) != 0) return true;
  return std::any_of(streams().begin(), streams().end(), [&](const CUstream_st* s) {
    return s->capture && s->capture->graph == graph;
  });
}

cudaError_t add_drafted(cudaGraphNode_t* node, cudaGraph_t graph,
                        const cudaGraphNode_t* dependencies, std::size_t count,
                        const std::function<cudaError_t(node_draft&)>& describe) {
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
  const cudaError_t status = drafted(draft, describe);
  if (status != cudaSuccess) return status;
  CUgraphNode_st* added = add_node(*graph, draft.type, std::move(draft.work), std::move(before));
  added->memory = std::move(draft.memory);
  added->parameters = std::move(draft.parameters);
  added->for_bodies = draft.for_bodies;
  added->conditional = std::move(draft.conditional);
  if (const cudaError_t refused = check_body(*graph, *added); refused != cudaSuccess) {
    graph->nodes.pop_back();
    return refused;
  }
  if (added->conditional != nullptr) added->conditional->condition->used = true;
  *node = added;
  return cudaSuccess;
}

namespace {
bool fits_in_body(const CUgraphNode_st& node) {
  switch (node.type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeConditional:
      return true;
    case cudaGraphNodeTypeGraph:
      return node.for_bodies;
    default:
      return false;
  }
}
}  // namespace

cudaError_t check_body(const CUgraph_st& graph, const CUgraphNode_st& node) {
  if (graph.around == nullptr || fits_in_body(node)) return cudaSuccess;
  return fail(cudaErrorNotSupported,
              this_call() +
                  ": the graph of a conditional node has kernels, copies, memsets, empty nodes, "
                  "conditional nodes, and child graphs of these.");
}

conditional_node::conditional_node(std::shared_ptr<graph_condition> what,
                                   cudaGraphConditionalNodeType kind, unsigned count,
                                   const CUgraph_st* around)
    : condition(std::move(what)), type(kind) {
  for (unsigned i = 0; i < count; ++i) {
    bodies.push_back(new CUgraph_st);
    bodies.back()->around = around;
    body_graphs().insert(bodies.back());
  }
}
conditional_node::~conditional_node() {
  for (CUgraph_st* body : bodies) {
    body_graphs().erase(body);
    delete body;
  }
}

cudaError_t draft_kernel(node_draft& draft, const cudaKernelNodeParams* p,
                         const node_parameters* before, const char* file, int line) {
  draft.type = cudaGraphNodeTypeKernel;
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  if (p->extra != nullptr)
    return fail(cudaErrorNotSupported, "a kernel node takes its arguments through kernelParams");
  launch_shape shape{p->gridDim, p->blockDim, p->sharedMemBytes, nullptr, false};
  const auto* same = before != nullptr ? std::get_if<kernel_node>(before) : nullptr;
  if (same != nullptr && same->call.kernel == p->func) {
    shape.cooperative = same->shape.cooperative;
    shape.cluster = same->shape.cluster;
    if (!is_known_kernel(p->func)) return launch_again(*same, shape, p->kernelParams);
  }
  return launch_by_address(p->func, shape, p->kernelParams, file, line);
}

cudaError_t draft_copy(node_draft& draft, void* to, const void* from, std::size_t bytes,
                       cudaMemcpyKind kind) {
  draft.type = cudaGraphNodeTypeMemcpy;
  draft.parameters =
      std::make_shared<const node_parameters>(row_copy(to, bytes, from, bytes, bytes, 1, kind));
  return cudaMemcpyAsync(to, from, bytes, kind, nullptr);
}

cudaError_t draft_copy(node_draft& draft, const cudaMemcpy3DParms* p) {
  draft.type = cudaGraphNodeTypeMemcpy;
  if (p != nullptr) draft.parameters = std::make_shared<const node_parameters>(*p);
  return cudaMemcpy3DAsync(p, nullptr);
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
  draft.parameters = std::make_shared<const node_parameters>(fill);
  draft.work = [fill, pitch] {
    note_copy(fill.dst, nullptr, {fill.width * fill.elementSize, fill.height}, nullptr);
    for (std::size_t y = 0; y < fill.height; ++y)
      for (std::size_t x = 0; x < fill.width; ++x)
        std::memcpy(static_cast<char*>(fill.dst) + y * pitch + x * fill.elementSize, &fill.value,
                    fill.elementSize);
  };
  return cudaSuccess;
}

cudaError_t draft_child(node_draft& draft, const CUgraph_st* child, const CUgraph_st* parent) {
  const auto nodes = std::make_shared<ready_graph>();
  if (!is_graph(child) || child == parent || !make_ready(*child, *nodes))
    return fail(cudaErrorInvalidValue);
  if (is_unique(*child)) return refuse_unique();
  draft.for_bodies = std::all_of(child->nodes.begin(), child->nodes.end(),
                                 [](const auto& node) { return fits_in_body(*node); });
  draft.type = cudaGraphNodeTypeGraph;
  draft.work = [nodes] { run_graph(*nodes); };
  return cudaSuccess;
}

cudaError_t draft_host(node_draft& draft, const cudaHostNodeParams* p) {
  draft.type = cudaGraphNodeTypeHost;
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  return cudaLaunchHostFunc(nullptr, p->fn, p->userData);
}

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
  return call(api::cudaGraphCreate, [&] {
    if (graph == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
    return keep_graph(std::make_unique<CUgraph_st>(), graph);
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call(api::cudaGraphDestroy, [&] {
    if (graph == nullptr || graphs().erase(graph) == 0) return fail(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  return call(api::cudaGraphClone, [&] {
    if (clone == nullptr || !is_graph(graph)) return fail(cudaErrorInvalidValue);
    if (is_unique(*graph)) return refuse_unique();
    auto copy = std::make_unique<CUgraph_st>();
    std::map<const CUgraphNode_st*, CUgraphNode_st*> copies;
    for (const auto& node : graph->nodes) {
      copies[node.get()] = add_node(*copy, node->type, node->work, {});
      copies[node.get()]->device = node->device;
      copies[node.get()]->parameters = node->parameters;
      copies[node.get()]->for_bodies = node->for_bodies;
    }
    for (const auto& node : graph->nodes)
      for (const CUgraphNode_st* b : node->before) copies[node.get()]->before.push_back(copies[b]);
    return keep_graph(std::move(copy), clone);
  });
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaKernelNodeParams* p, const char* file, int line) {
  return call(api::cudaGraphAddKernelNode, [&] {
    return add_drafted(node, graph, dependencies, count, [&](node_draft& draft) {
      return draft_kernel(draft, p, nullptr, file, line);
    });
  });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaMemcpy3DParms* p) {
  return call(api::cudaGraphAddMemcpyNode, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_copy(draft, p); });
  });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, std::size_t count,
                                     void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  return call(api::cudaGraphAddMemcpyNode1D, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_copy(draft, to, from, bytes, kind); });
  });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   const cudaGraphNode_t* dependencies, std::size_t count,
                                   const cudaMemsetParams* p) {
  return call(api::cudaGraphAddMemsetNode, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_fill(draft, p); });
  });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                 const cudaGraphNode_t* dependencies, std::size_t count,
                                 const cudaHostNodeParams* p) {
  return call(api::cudaGraphAddHostNode, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_host(draft, p); });
  });
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* dependencies, std::size_t count,
                                       cudaGraph_t child) {
  return call(api::cudaGraphAddChildGraphNode, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_child(draft, child, graph); });
  });
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* dependencies, std::size_t count,
                                     cudaMemAllocNodeParams* p) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaGraphAddMemAllocNode, [&] {
    if (p == nullptr || p->poolProps.allocType != cudaMemAllocationTypePinned ||
        p->poolProps.location.type != cudaMemLocationTypeDevice)
      return fail(cudaErrorInvalidValue);
    const int device = p->poolProps.location.id;
    if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
    std::set<int> reached_by;
    const cudaError_t status =
        change_access(reached_by, device, p->accessDescs, p->accessDescCount);
    if (status != cudaSuccess) return status;
    return add_drafted(node, graph, dependencies, count, [&](node_draft& draft) {
      return draft_allocation(draft, &p->dptr, p->bytesize, device, reached_by, made_at);
    });
  });
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                    const cudaGraphNode_t* dependencies, std::size_t count,
                                    void* pointer) {
  return call(api::cudaGraphAddMemFreeNode, [&] {
    return add_drafted(node, graph, dependencies, count,
                       [&](node_draft& draft) { return draft_free(draft, pointer); });
  });
}
cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, cudaMemAllocNodeParams* p) {
  return call(api::cudaGraphMemAllocNodeGetParams, [&] {
    if (!is_node(node) || node->type != cudaGraphNodeTypeMemAlloc || p == nullptr)
      return fail(cudaErrorInvalidValue);
    *p = {};
    p->poolProps.allocType = cudaMemAllocationTypePinned;
    p->poolProps.location = {cudaMemLocationTypeDevice, node->memory->device};
    p->bytesize = node->memory->bytes;
    p->dptr = node->memory->begin;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void* pointer) {
  return call(api::cudaGraphMemFreeNodeGetParams, [&] {
    if (!is_node(node) || node->type != cudaGraphNodeTypeMemFree || pointer == nullptr)
      return fail(cudaErrorInvalidValue);
    std::memcpy(pointer, &node->memory->begin, sizeof(void*));
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                  const cudaGraphNode_t* dependencies, std::size_t count) {
  return call(api::cudaGraphAddEmptyNode, [&] {
    return add_drafted(node, graph, dependencies, count, [](node_draft&) { return cudaSuccess; });
  });
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                        const cudaGraphNode_t* dependencies, std::size_t count,
                                        cudaEvent_t event) {
  return call(api::cudaGraphAddEventRecordNode, [&] {
    return add_drafted(node, graph, dependencies, count, [&](node_draft& draft) {
      if (!is_event(event)) return bad_event();
      draft.type = cudaGraphNodeTypeEventRecord;
      draft.work = [event] { mark_reached(event); };
      return cudaSuccess;
    });
  });
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                      const cudaGraphNode_t* dependencies, std::size_t count,
                                      cudaEvent_t event) {
  return call(api::cudaGraphAddEventWaitNode, [&] {
    return add_drafted(node, graph, dependencies, count, [&](node_draft& draft) {
      if (!is_event(event)) return bad_event();
      draft.type = cudaGraphNodeTypeWaitEvent;
      draft.work = [event] { await_event(event); };
      return cudaSuccess;
    });
  });
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p,
                                         const char* file, int line) {
  return call(api::cudaGraphKernelNodeSetParams, [&] {
    return change(node, cudaGraphNodeTypeKernel, [&](node_draft& draft) {
      return draft_kernel(draft, p, node->parameters.get(), file, line);
    });
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  return call(api::cudaGraphMemcpyNodeSetParams, [&] {
    return change(node, cudaGraphNodeTypeMemcpy,
                  [&](node_draft& draft) { return draft_copy(draft, p); });
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from,
                                           std::size_t bytes, cudaMemcpyKind kind) {
  return call(api::cudaGraphMemcpyNodeSetParams1D, [&] {
    return change(node, cudaGraphNodeTypeMemcpy,
                  [&](node_draft& draft) { return draft_copy(draft, to, from, bytes, kind); });
  });
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  return call(api::cudaGraphMemsetNodeSetParams, [&] {
    return change(node, cudaGraphNodeTypeMemset,
                  [&](node_draft& draft) { return draft_fill(draft, p); });
  });
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  return call(api::cudaGraphHostNodeSetParams, [&] {
    return change(node, cudaGraphNodeTypeHost,
                  [&](node_draft& draft) { return draft_host(draft, p); });
  });
}
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
  return call(api::cudaGraphKernelNodeGetParams, [&] {
    return give_parameters<kernel_node>(
        node, cudaGraphNodeTypeKernel, p, [](const kernel_node& kept) {
          return cudaKernelNodeParams{const_cast<void*>(kept.call.kernel),
                                      kept.shape.grid,
                                      kept.shape.block,
                                      static_cast<unsigned>(kept.shape.shared_bytes),
                                      const_cast<void**>(kept.addresses.data()),
                                      nullptr};
        });
  });
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) {
  return call(api::cudaGraphMemcpyNodeGetParams,
              [&] { return give_parameters(node, cudaGraphNodeTypeMemcpy, p); });
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* p) {
  return call(api::cudaGraphMemsetNodeGetParams,
              [&] { return give_parameters(node, cudaGraphNodeTypeMemset, p); });
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* p) {
  return call(api::cudaGraphHostNodeGetParams,
              [&] { return give_parameters(node, cudaGraphNodeTypeHost, p); });
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) {
  return call(api::cudaGraphDestroyNode, [&] {
    if (!is_node(node)) return fail(cudaErrorInvalidValue);
    if (node->memory) return refuse_unique();
    auto& nodes = node->graph->nodes;
    for (const auto& other : nodes)
      other->before.erase(std::remove(other->before.begin(), other->before.end(), node),
                          other->before.end());
    nodes.erase(
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.get() == node; }));
    return cudaSuccess;
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, std::size_t count) {
  return call(api::cudaGraphAddDependencies, [&] {
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
  });
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                     const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                                     std::size_t count) {
  return call(api::cudaGraphAddDependencies,
              [&] { return cudaGraphAddDependencies(graph, from, to, count); });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call(api::cudaGraphGetNodes, [&] {
    if (!is_graph(graph)) return fail(cudaErrorInvalidValue);
    std::vector<cudaGraphNode_t> all;
    for (const auto& node : graph->nodes) all.push_back(node.get());
    return give(all, nodes, count);
  });
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  return call(api::cudaGraphGetRootNodes, [&] {
    if (!is_graph(graph)) return fail(cudaErrorInvalidValue);
    std::vector<cudaGraphNode_t> roots;
    for (const auto& node : graph->nodes)
      if (node->before.empty()) roots.push_back(node.get());
    return give(roots, nodes, count);
  });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              std::size_t* count) {
  return call(api::cudaGraphGetEdges, [&] {
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
  });
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to,
                              cudaGraphEdgeData* edges, std::size_t* count) {
  return call(api::cudaGraphGetEdges, [&] {
    if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
    return cudaGraphGetEdges(graph, from, to, count);
  });
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return call(api::cudaGraphNodeGetType, [&] {
    if (!is_node(node) || type == nullptr) return fail(cudaErrorInvalidValue);
    *type = node->type;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         std::size_t* count) {
  return call(api::cudaGraphNodeGetDependencies, [&] {
    if (!is_node(node)) return fail(cudaErrorInvalidValue);
    return give(node->before, dependencies, count);
  });
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* dependencies,
                                         cudaGraphEdgeData* edges, std::size_t* count) {
  return call(api::cudaGraphNodeGetDependencies, [&] {
    if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
    return cudaGraphNodeGetDependencies(node, dependencies, count);
  });
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           std::size_t* count) {
  return call(api::cudaGraphNodeGetDependentNodes, [&] {
    if (!is_node(node)) return fail(cudaErrorInvalidValue);
    std::vector<cudaGraphNode_t> found;
    for (const auto& other : node->graph->nodes)
      if (std::find(other->before.begin(), other->before.end(), node) != other->before.end())
        found.push_back(other.get());
    return give(found, dependents, count);
  });
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* dependents,
                                           cudaGraphEdgeData* edges, std::size_t* count) {
  return call(api::cudaGraphNodeGetDependentNodes, [&] {
    if (edges != nullptr && count != nullptr) std::fill_n(edges, *count, cudaGraphEdgeData{});
    return cudaGraphNodeGetDependentNodes(node, dependents, count);
  });
}
