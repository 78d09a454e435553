// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Events: what has been reached, and when.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include "api/memory_api.hpp"
#include "api/streams.hpp"
#include "cpu_device/host_work.h"

namespace cpu_device {
namespace {

std::set<CUevent_st*>& events() {
  static auto* all = new std::set<CUevent_st*>;
  return *all;
}

/// Destroyed before they were reached. Work that is still queued names them, so their addresses
/// must not be those of new events.
std::set<CUevent_st*>& doomed_events() {
  static auto* all = new std::set<CUevent_st*>;
  return *all;
}

void destroy(CUevent_st* event) {
  events().erase(event);
  event->exported.reset();
  doomed_events().insert(event);
  if (unsettled.load(std::memory_order_relaxed) != 0) return;  // some stream still has work
  for (CUevent_st* doomed : doomed_events()) delete doomed;
  doomed_events().clear();
}

const object_keeper keeps_events(object_kind::event, [] { return events().size(); });

const bool resets_events = on_reset(reset_step::events, [](int device) {
  std::erase_if(events(), [&](CUevent_st* event) {
    if (event->device != device) return false;
    delete event;
    return true;
  });
});

}  // namespace

CUevent_st* new_event(unsigned flags) {
  auto* made = new CUevent_st;
  made->device = current_device();
  made->flags = flags;
  events().insert(made);
  return made;
}

bool is_event(cudaEvent_t event) { return event != nullptr && events().count(event) != 0; }
cudaError_t bad_event() {
  return fail(cudaErrorInvalidResourceHandle,
              "this event does not exist: it was destroyed, or never created");
}

bool is_interprocess(const CUevent_st& event) { return (event.flags & cudaEventInterprocess) != 0; }
bool has_interprocess_events() {
  return std::any_of(events().begin(), events().end(),
                     [](const CUevent_st* event) { return is_interprocess(*event); });
}

static std::atomic<std::int64_t (*)()> event_clock = nullptr;
void set_event_clock(std::int64_t (*nanoseconds)()) { event_clock = nanoseconds; }

static std::chrono::steady_clock::time_point time_of_events() {
  using clock = std::chrono::steady_clock;
  const auto pretended = event_clock.load();
  return pretended == nullptr
             ? clock::now()
             : clock::time_point(clock::duration(std::chrono::nanoseconds(pretended())));
}

void mark_reached(CUevent_st* event) {
  if (!is_event(event)) return;
  event->recorded = event->reached = true;
  event->time = time_of_events();
}
void await_event(CUevent_st* event) {
  if (is_event(event) && event->recorded && !event->reached && event->stream != nullptr)
    run_until(event->stream, event->serial);
}

void forget_stream_of_events(const CUstream_st* stream) {
  for (CUevent_st* event : events())
    if (event->stream == stream) event->stream = nullptr;
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return call(api::cudaEventCreateWithFlags, [&] {
    if (event == nullptr || (flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
    if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
      return fail(cudaErrorInvalidValue,
                  "an event with cudaEventInterprocess needs cudaEventDisableTiming, too");
    *event = new_event(flags);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return call(api::cudaEventCreate,
              [&] { return cudaEventCreateWithFlags(event, cudaEventDefault); });
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return call(api::cudaEventCreate, [&] { return cudaEventCreateWithFlags(event, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return call(api::cudaEventDestroy, [&] {
    if (!is_event(event)) return bad_event();
    destroy(event);  // as CUDA says: without waiting for it
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call(api::cudaEventRecord,
              [&] { return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault); });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  return call(api::cudaEventRecordWithFlags, [&] {
    if ((flags & ~cudaEventRecordExternal) != 0) return fail(cudaErrorInvalidValue);
    if (!is_event(event)) return bad_event();
    CUstream_st* on = resolve(stream);
    if (on == nullptr) return bad_stream();
    if (on->device != event->device)
      return fail(cudaErrorInvalidResourceHandle,
                  "cudaEventRecord: the event belongs to device " + std::to_string(event->device) +
                      ", the stream to device " + std::to_string(on->device));
    if (on->capture) {
      if (flags != cudaEventRecordExternal) return capture_event(*event, *on);
      return put(stream,
                 {0, [event] { mark_reached(event); }, nullptr, 0, cudaGraphNodeTypeEventRecord},
                 false);
    }
    event->capture = nullptr;
    event->last.clear();
    event->recorded = true;
    event->reached = false;
    event->stream = on;
    event->serial = last_serial() + 1;  // what put() gives it
    const std::uint64_t serial = event->serial;
    // Where nothing is to be done before, a GPU reaches it now, however late it runs here.
    const bool idle = unsettled.load(std::memory_order_relaxed) == 0;
    return put(stream,
               {0,
                [event, serial, idle, now = time_of_events()] {
                  if (!is_event(event) || event->serial != serial) return;  // recorded again since
                  mark_reached(event);
                  if (idle) event->time = now;
                }},
               is_interprocess(*event));
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call(api::cudaEventSynchronize, [&] {
    if (!is_event(event)) return bad_event();
    if (event->capture) return refuse_captured(*event);
    await_event(event);
    release_unused_of_pools();
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return call(api::cudaEventQuery, [&] {
    if (!is_event(event)) return bad_event();
    if (event->capture) return refuse_captured(*event);
    if (!event->recorded || event->reached) return cudaSuccess;
    if (event->stream != nullptr && !event->stream->queue.empty())
      run_until(event->stream, event->stream->queue.front().serial);
    return cudaErrorNotReady;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  return call(api::cudaEventElapsedTime, [&] {
    if (milliseconds == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_event(start) || !is_event(stop)) return bad_event();
    if (((start->flags | stop->flags) & cudaEventDisableTiming) != 0)
      return fail(cudaErrorInvalidResourceHandle,
                  "cudaEventElapsedTime: an event made with cudaEventDisableTiming has no time");
    if (start->device != stop->device)
      return fail(cudaErrorInvalidResourceHandle,
                  "cudaEventElapsedTime: the events belong to devices " +
                      std::to_string(start->device) + " and " + std::to_string(stop->device));
    if (!start->recorded || !stop->recorded)
      return fail(cudaErrorInvalidResourceHandle,
                  "cudaEventElapsedTime: an event was never recorded");
    if (!start->reached || !stop->reached) return fail(cudaErrorNotReady);
    *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
    return cudaSuccess;
  });
}
