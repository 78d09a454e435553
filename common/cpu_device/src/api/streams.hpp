// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Streams, events, captures and graphs as the runtime keeps them. Internal to the CPU device.
// Everything here is used under api_mutex().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/calls.hpp"
#include "api/stream_queue.hpp"
#include "base/shared_file.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "cpu_device/events.h"
#include "cpu_device/launch_api.h"

namespace cpu_device {
struct graph_memory;     // graph_memory.cpp
struct graph_condition;  // graph_conditions.cpp
struct conditional_node;
}  // namespace cpu_device

struct CUgraphNode_st {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void()> work;           // empty: nothing to do
  std::vector<CUgraphNode_st*> before;  // what it depends on
  CUgraph_st* graph = nullptr;
  int device = cpu_device::current_device();                  // that it does its work on
  std::shared_ptr<cpu_device::graph_memory> memory;           // that it allocates or frees
  cpu_device::parameters_ptr parameters;                      // null: it cannot be asked for them
  std::shared_ptr<cpu_device::conditional_node> conditional;  // null: it is of another kind
  bool for_bodies = true;  // graphs of conditional nodes may have one that does this
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in the order in which they were added
  std::vector<std::shared_ptr<cpu_device::graph_condition>> conditions;  // handles that it gave out
  const CUgraph_st* around = nullptr;  // for the graph of a conditional node: the node's graph
};

namespace cpu_device {

/// What is recorded between cudaStreamBeginCapture and cudaStreamEndCapture.
struct stream_capture {
  unsigned long long id = 0;
  CUstream_st* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id host_thread;
  bool valid = true;
  std::unique_ptr<CUgraph_st> made;  // null: it goes into a graph that was there before
  CUgraph_st* graph = nullptr;
  std::set<CUstream_st*> streams;     // the origin, and those that joined through events
  std::vector<CUgraphNode_st*> left;  // the last work of joined streams that were destroyed since
};

struct stream_work {
  std::uint64_t serial;
  std::function<void()> run;
  CUstream_st* awaited = nullptr;  // run this stream up to awaited_serial first
  std::uint64_t awaited_serial = 0;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  const char* name = nullptr;  // of the call that asked for it; null: the one that puts it here
  parameters_ptr parameters = nullptr;
};

}  // namespace cpu_device

struct CUstream_st {
  std::uint64_t made = 0;  // counts streams
  int device = 0;
  unsigned flags = cudaStreamDefault;
  int priority = 0;
  cudaAccessPolicyWindow window{};  // hints, which are kept
  cudaSynchronizationPolicy waiting_policy = cudaSyncPolicyAuto;
  unsigned long long id = 0;
  bool destroyed = false;                               // and its work is not done yet
  std::list<cpu_device::stream_work> queue;             // most are empty, and cost nothing then
  std::shared_ptr<cpu_device::stream_capture> capture;  // null: none
  std::vector<CUgraphNode_st*> last;  // of the capture: what the next node depends on
};

struct CUevent_st {
  int device = 0;
  unsigned flags = cudaEventDefault;
  bool recorded = false;
  bool reached = false;  // the record has run
  CUstream_st* stream = nullptr;
  std::uint64_t serial = 0;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<cpu_device::stream_capture> capture;  // recorded into this one
  std::vector<CUgraphNode_st*> last;
  std::shared_ptr<const cpu_device::shared_file> exported;  // null: no handle of it was asked for
  bool imported = false;
};

namespace cpu_device {

// streams.cpp
/// The stream a handle names; null if none.
CUstream_st* resolve(cudaStream_t stream);
bool is_default(const CUstream_st* stream);
cudaError_t bad_stream();
/// All but the default streams, with those that were destroyed while they had work to do.
std::set<CUstream_st*>& streams();
CUstream_st* new_stream(unsigned flags);
/// No handle names the stream from now on. Nobody waits for its work; when that is done, it goes.
void destroy_stream(CUstream_st* stream);
/// Puts work at the end of a stream, or into its capture, or into the node that is drafted.
cudaError_t put(cudaStream_t handle, stream_work work, bool wait);
/// Runs the stream's work up to and with `serial`, and before it what must come before it.
void run_until(CUstream_st* stream, std::uint64_t serial);
/// The number of the work that was put into any stream last.
std::uint64_t last_serial();

/// Tells observers of work, while it lives. No stream: the one whose work runs already, which is
/// the launch of a graph.
class running_work {
 public:
  running_work(const CUstream_st* stream, const char* name) {
    if (listening(event_kind::work)) begin(stream, name);
  }
  ~running_work() {
    if (event_.name != nullptr) end();
  }
  running_work(const running_work&) = delete;
  running_work& operator=(const running_work&) = delete;

 private:
  void begin(const CUstream_st* stream, const char* name);
  void end() const;
  work_event event_{};
  const work_event* around_ = nullptr;
};

// event_api.cpp
CUevent_st* new_event(unsigned flags);
bool is_event(cudaEvent_t event);
cudaError_t bad_event();
/// Other processes may wait for such an event, and cannot run what it waits for. So they never find
/// one that has been recorded and not reached: it is recorded when its stream has come there.
bool is_interprocess(const CUevent_st& event);
bool has_interprocess_events();
/// Runs what the event was recorded behind.
void await_event(CUevent_st* event);
void mark_reached(CUevent_st* event);
/// The stream is going: events that were recorded there have nothing to wait for.
void forget_stream_of_events(const CUstream_st* stream);

// capture.cpp
/// A node of an explicit graph that the next call on a stream describes, instead of running.
struct node_draft {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void()> work;
  std::shared_ptr<graph_memory> memory;
  parameters_ptr parameters;
  std::shared_ptr<conditional_node> conditional;
  bool for_bodies = true;
};
/// While it lives, this host thread's stream work goes into `draft`.
class drafting {
 public:
  explicit drafting(node_draft& draft);
  ~drafting();
  drafting(const drafting&) = delete;
  drafting& operator=(const drafting&) = delete;
};
node_draft* current_draft();
/// Adds the work to the capture of its stream.
cudaError_t capture_work(CUstream_st& stream, stream_work work);
cudaError_t capture_event(CUevent_st& event, CUstream_st& stream);
cudaError_t capture_wait(CUstream_st& stream, CUevent_st& event);
/// Fails, and spoils the capture, when work on the default stream would have to wait for a stream
/// that is being captured.
cudaError_t check_implicit_wait(const CUstream_st& stream);
/// Fails, and spoils the capture, for calls that ask how far a capturing stream has come.
cudaError_t refuse_capturing(CUstream_st& stream);
/// Fails, and spoils the capture, for calls that ask whether a captured event has happened.
cudaError_t refuse_captured(CUevent_st& event);
void leave_capture(CUstream_st* stream);
/// True if asynchronous work may still be waiting (deferred and interleaved order).
bool runs_late();

// graph_nodes.cpp
/// Adds a node that comes after `before`.
CUgraphNode_st* add_node(CUgraph_st& graph, cudaGraphNodeType type, std::function<void()> work,
                         std::vector<CUgraphNode_st*> before);
cudaError_t keep_graph(std::unique_ptr<CUgraph_st> graph, cudaGraph_t* handle);

}  // namespace cpu_device
