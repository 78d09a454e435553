// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Capturing streams: work that is put into a capturing stream becomes a node of a graph.

#include "api/capture.hpp"

#include <algorithm>
#include <utility>

#include "api/graphs.hpp"

namespace cpu_device {
namespace {

thread_local node_draft* tls_draft = nullptr;
thread_local cudaStreamCaptureMode tls_mode = cudaStreamCaptureModeGlobal;

/// The captures that have begun and not ended.
std::set<stream_capture*>& captures() {
  static auto* all = new std::set<stream_capture*>;
  return *all;
}

cudaError_t spoil(stream_capture& capture, cudaError_t error, const std::string& why) {
  capture.valid = false;
  return fail(error, why + " The capture that began before is lost.");
}

void add_to(std::vector<CUgraphNode_st*>& nodes, const std::vector<CUgraphNode_st*>& more) {
  for (CUgraphNode_st* node : more)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

/// Whether each stream that joined has been awaited by the origin.
bool all_joined(const stream_capture& capture) {
  std::set<CUgraphNode_st*> reached;
  std::vector<CUgraphNode_st*> open(capture.origin->last);
  while (!open.empty()) {
    CUgraphNode_st* node = open.back();
    open.pop_back();
    if (reached.insert(node).second)
      open.insert(open.end(), node->before.begin(), node->before.end());
  }
  const auto is_reached = [&](CUgraphNode_st* node) { return reached.count(node) != 0; };
  return std::all_of(capture.left.begin(), capture.left.end(), is_reached) &&
         std::all_of(capture.streams.begin(), capture.streams.end(),
                     [&](const CUstream_st* stream) {
                       return std::all_of(stream->last.begin(), stream->last.end(), is_reached);
                     });
}

}  // namespace

drafting::drafting(node_draft& draft) { tls_draft = &draft; }
drafting::~drafting() { tls_draft = nullptr; }
node_draft* current_draft() { return tls_draft; }

bool becomes_node(cudaStream_t handle) {
  const CUstream_st* stream = resolve(handle);
  return tls_draft != nullptr || (stream != nullptr && stream->capture != nullptr);
}
bool keeps_work(cudaStream_t handle) { return runs_late() || becomes_node(handle); }

cudaError_t capture_work(CUstream_st& stream, stream_work work) {
  stream_capture& capture = *stream.capture;
  if (!capture.valid) return fail(cudaErrorStreamCaptureInvalidated);
  if (!is_graph(capture.graph))
    return spoil(capture, cudaErrorStreamCaptureInvalidated, "The graph is destroyed.");
  CUgraphNode_st* node = add_node(*capture.graph, work.type, std::move(work.run), stream.last);
  node->device = stream.device;
  node->parameters = std::move(work.parameters);
  if (const cudaError_t refused = check_body(*capture.graph, *node); refused != cudaSuccess) {
    capture.graph->nodes.pop_back();
    capture.valid = false;
    return refused;
  }
  stream.last = {node};
  return cudaSuccess;
}

cudaError_t capture_event(CUevent_st& event, CUstream_st& stream) {
  if (!stream.capture->valid) return fail(cudaErrorStreamCaptureInvalidated);
  event.capture = stream.capture;
  event.last = stream.last;
  return cudaSuccess;
}

cudaError_t capture_wait(CUstream_st& stream, CUevent_st& event) {
  const bool known = event.capture && captures().count(event.capture.get()) != 0;
  if (!known) {
    if (event.capture)  // of a capture that has ended
      return stream.capture ? spoil(*stream.capture, cudaErrorStreamCaptureIsolation,
                                    "cudaStreamWaitEvent: the event belongs to an older capture.")
                            : fail(cudaErrorCapturedEvent);
    if (!event.recorded) return cudaSuccess;
    return spoil(*stream.capture, cudaErrorStreamCaptureIsolation,
                 "cudaStreamWaitEvent: a captured stream cannot wait for work outside of the "
                 "capture.");
  }
  if (is_default(&stream))
    return spoil(*event.capture, cudaErrorStreamCaptureUnsupported,
                 "cudaStreamWaitEvent: the default stream cannot be captured.");
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->valid = false;
    return spoil(*event.capture, cudaErrorStreamCaptureMerge,
                 "cudaStreamWaitEvent: stream and event belong to different captures.");
  }
  if (!event.capture->valid) return fail(cudaErrorStreamCaptureInvalidated);
  if (!stream.capture) {
    stream.capture = event.capture;
    stream.last.clear();
    event.capture->streams.insert(&stream);
  }
  add_to(stream.last, event.last);
  return cudaSuccess;
}

cudaError_t check_implicit_wait(const CUstream_st& stream) {
  if (captures().empty() || !is_default(&stream)) return cudaSuccess;
  for (stream_capture* capture : captures())
    for (const CUstream_st* other : capture->streams)
      if (other->device == stream.device && (other->flags & cudaStreamNonBlocking) == 0)
        return spoil(*capture, cudaErrorStreamCaptureImplicit,
                     "The default stream waits for every blocking stream, and one of them is being "
                     "captured. Try: cudaStreamNonBlocking, or only asynchronous calls on the "
                     "captured stream.");
  return cudaSuccess;
}

cudaError_t refuse_capturing(CUstream_st& stream) {
  if (!stream.capture) return check_implicit_wait(stream);
  return spoil(
      *stream.capture, cudaErrorStreamCaptureUnsupported,
      "A stream that is being captured runs nothing, so it cannot be asked how far it is.");
}

cudaError_t refuse_captured(CUevent_st& event) {
  return spoil(*event.capture, cudaErrorCapturedEvent,
               "The event was recorded in a stream that is being captured: it will happen when the "
               "graph runs.");
}

cudaError_t refuse_in_capture(bool device_wide) {
  for (stream_capture* capture : captures()) {
    const bool here = capture->host_thread == std::this_thread::get_id();
    const bool prohibited = device_wide || (tls_mode != cudaStreamCaptureModeRelaxed &&
                                            (here ? capture->mode != cudaStreamCaptureModeRelaxed
                                                  : capture->mode == cudaStreamCaptureModeGlobal &&
                                                        tls_mode == cudaStreamCaptureModeGlobal));
    if (prohibited)
      return spoil(*capture, cudaErrorStreamCaptureUnsupported,
                   this_call() +
                       " is not allowed while a stream is captured. Try: before "
                       "cudaStreamBeginCapture, or after cudaStreamEndCapture.");
  }
  return cudaSuccess;
}

void leave_capture(CUstream_st* stream) {
  if (!stream->capture) return;
  if (stream->capture->origin == stream) {
    stream->capture->valid = false;
    captures().erase(stream->capture.get());
    const auto capture = stream->capture;
    for (CUstream_st* other : capture->streams) {
      other->capture = nullptr;
      other->last.clear();
    }
  } else {
    auto& left = stream->capture->left;
    left.insert(left.end(), stream->last.begin(), stream->last.end());
    stream->capture->streams.erase(stream);
  }
}

}  // namespace cpu_device

using namespace cpu_device;

namespace {
/// Begins a capture that goes into `graph`, or into a new one, after these nodes.
cudaError_t begin(cudaStream_t handle, CUgraph_st* graph, std::vector<CUgraphNode_st*> last,
                  cudaStreamCaptureMode mode) {
  if (static_cast<unsigned>(mode) > cudaStreamCaptureModeRelaxed)
    return fail(cudaErrorInvalidValue);
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (is_default(stream))
    return fail(cudaErrorStreamCaptureUnsupported,
                this_call() + ": the default stream cannot be captured. Try: cudaStreamCreate.");
  if (stream->capture)
    return fail(cudaErrorIllegalState, this_call() + ": this stream is captured already");
  static unsigned long long ids = 0;
  auto capture = std::make_shared<stream_capture>();
  capture->id = ++ids;
  capture->origin = stream;
  capture->mode = mode;
  capture->host_thread = std::this_thread::get_id();
  if (graph == nullptr) capture->made = std::make_unique<CUgraph_st>();
  capture->graph = graph == nullptr ? capture->made.get() : graph;
  capture->streams = {stream};
  captures().insert(capture.get());
  stream->capture = std::move(capture);
  stream->last = std::move(last);
  return cudaSuccess;
}

/// The nodes, if they are all the graph's.
bool nodes_of(const CUgraph_st& graph, const cudaGraphNode_t* nodes, std::size_t count,
              std::vector<CUgraphNode_st*>& result) {
  if (count != 0 && nodes == nullptr) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(),
                     [&](const auto& n) { return n.get() == nodes[i]; }))
      return false;
    add_to(result, {nodes[i]});
  }
  return true;
}
}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return call(api::cudaStreamBeginCapture, [&] { return begin(handle, nullptr, {}, mode); });
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t handle, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData*, std::size_t count,
                                          cudaStreamCaptureMode mode) {
  return call(api::cudaStreamBeginCaptureToGraph, [&] {
    std::vector<CUgraphNode_st*> last;
    if (!is_graph(graph) || !nodes_of(*graph, dependencies, count, last))
      return fail(cudaErrorInvalidValue);
    return begin(handle, graph, std::move(last), mode);
  });
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t handle, cudaGraphNode_t* dependencies,
                                                std::size_t count, unsigned int flags) {
  return call(api::cudaStreamUpdateCaptureDependencies, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (!stream->capture)
      return fail(cudaErrorIllegalState, this_call() + ": this stream is not captured");
    if (!stream->capture->valid) return fail(cudaErrorStreamCaptureInvalidated);
    std::vector<CUgraphNode_st*> nodes;
    if (flags > cudaStreamSetCaptureDependencies ||
        !nodes_of(*stream->capture->graph, dependencies, count, nodes))
      return fail(cudaErrorInvalidValue);
    if (flags == cudaStreamSetCaptureDependencies) stream->last.clear();
    add_to(stream->last, nodes);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData*, std::size_t count,
                                                unsigned int flags) {
  return call(api::cudaStreamUpdateCaptureDependencies, [&] {
    return cudaStreamUpdateCaptureDependencies(stream, dependencies, count, flags);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return call(api::cudaStreamEndCapture, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (graph != nullptr) *graph = nullptr;
    if (!stream->capture)
      return fail(cudaErrorIllegalState, "cudaStreamEndCapture: this stream is not captured");
    const auto capture = stream->capture;
    if (graph == nullptr && capture->made) return fail(cudaErrorInvalidValue);
    if (capture->origin != stream)
      return spoil(*capture, cudaErrorStreamCaptureUnmatched,
                   "cudaStreamEndCapture: the capture began on another stream, which must end it.");
    if (capture->mode != cudaStreamCaptureModeRelaxed &&
        capture->host_thread != std::this_thread::get_id()) {
      leave_capture(stream);  // as on a GPU: it is over all the same
      return fail(
          cudaErrorStreamCaptureWrongThread,
          "cudaStreamEndCapture: the host thread that began the capture must end it. It has "
          "ended now, without a graph.");
    }
    const bool valid = capture->valid, joined = all_joined(*capture);
    leave_capture(stream);
    if (!valid || fails_by_injection()) return fail(cudaErrorStreamCaptureInvalidated);
    if (!joined)
      return fail(
          cudaErrorStreamCaptureUnjoined,
          "cudaStreamEndCapture: another stream joined the capture, and its last work is not "
          "awaited. Try: cudaEventRecord there, and cudaStreamWaitEvent on the first stream.");
    if (capture->made) return keep_graph(std::move(capture->made), graph);
    if (graph != nullptr) *graph = capture->graph;  // the caller has it already
    return cudaSuccess;
  });
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  return call(api::cudaStreamGetCaptureInfo, [&] {
    const CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (status == nullptr) return fail(cudaErrorInvalidValue);
    if (const cudaError_t implicit = check_implicit_wait(*stream); implicit != cudaSuccess)
      return implicit;
    if (edges != nullptr) *edges = nullptr;
    if (!stream->capture) {
      *status = cudaStreamCaptureStatusNone;
      return cudaSuccess;
    }
    *status =
        stream->capture->valid ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusInvalidated;
    if (!stream->capture->valid) return cudaSuccess;
    if (id != nullptr) *id = stream->capture->id;
    if (graph != nullptr) *graph = stream->capture->graph;
    if (dependencies != nullptr) *dependencies = stream->last.data();
    if (count != nullptr) *count = stream->last.size();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call(api::cudaStreamIsCapturing, [&] { return cudaStreamGetCaptureInfo(stream, status); });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call(api::cudaThreadExchangeStreamCaptureMode, [&] {
    if (mode == nullptr || static_cast<unsigned>(*mode) > cudaStreamCaptureModeRelaxed)
      return fail(cudaErrorInvalidValue);
    std::swap(*mode, tls_mode);
    return cudaSuccess;
  });
}
