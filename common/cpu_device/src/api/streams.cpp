// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Streams are queues of work, kept in the order that CUDA promises: a stream in its own order, the
// default stream before and after every blocking stream's work, and behind awaited events.

#include "api/streams.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/report.hpp"
#include "context/device.hpp"
#include "cpu_device.h"
#include "cpu_device/host_work.h"
#include "engine/engine.hpp"

namespace cpu_device {

std::set<CUstream_st*>& streams() {
  static auto* all = new std::set<CUstream_st*>;
  return *all;
}

namespace {

constexpr int kGreatestPriority = -5;  // priorities are kept, and change nothing
std::uint64_t serial_now = 0;
std::uint64_t streams_made = 0;
std::set<CUevent_st*>& events() {
  static auto* all = new std::set<CUevent_st*>;
  return *all;
}
std::map<int, CUstream_st*>& default_streams() {
  static auto* all = new std::map<int, CUstream_st*>;
  return *all;
}

stream_policy& policy() {
  static stream_policy now = [] {
    const char* text = std::getenv("CPU_DEVICE_STREAMS");
    if (text == nullptr || *text == '\0' || std::strcmp(text, "eager") == 0)
      return stream_policy::eager;
    if (std::strcmp(text, "deferred") == 0) return stream_policy::deferred;
    if (std::strcmp(text, "interleaved") == 0) return stream_policy::interleaved;
    std::fprintf(stderr,
                 "CPU device: CPU_DEVICE_STREAMS=%s is ignored: it is eager, deferred or "
                 "interleaved.\n",
                 text);
    return stream_policy::eager;
  }();
  return now;
}

CUstream_st* default_stream(int device) {
  CUstream_st*& stream = default_streams()[device];
  if (stream == nullptr) {
    stream = new CUstream_st;
    stream->made = ++streams_made;
    stream->device = device;
  }
  return stream;
}

}  // namespace

/// 0, cudaStreamLegacy and cudaStreamPerThread are the default stream.
CUstream_st* resolve(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return default_stream(current_device());
  return streams().count(stream) != 0 ? stream : nullptr;
}

bool is_default(const CUstream_st* stream) {  // which may have been destroyed
  for (const auto& [device, its_default] : default_streams())
    if (its_default == stream) return true;
  return false;
}
cudaError_t bad_stream() {
  return fail(cudaErrorInvalidResourceHandle,
              "this stream does not exist: it was destroyed, or never created");
}
bool is_event(cudaEvent_t event) { return event != nullptr && events().count(event) != 0; }
cudaError_t bad_event() {
  return fail(cudaErrorInvalidResourceHandle,
              "this event does not exist: it was destroyed, or never created");
}

namespace {

bool is_blocking(const CUstream_st* stream) { return (stream->flags & cudaStreamNonBlocking) == 0; }

bool exists(CUstream_st* stream) { return streams().count(stream) != 0 || is_default(stream); }

bool has_work_before(const CUstream_st* stream, std::uint64_t serial) {
  return !stream->queue.empty() && stream->queue.front().serial < serial;
}

/// May the stream's first piece of work run, with all that must come before it done?
bool is_ready(CUstream_st* stream) {
  const stream_work& work = stream->queue.front();
  if (is_default(stream)) {
    for (const CUstream_st* other : streams())
      if (other->device == stream->device && is_blocking(other) &&
          has_work_before(other, work.serial))
        return false;
  } else if (is_blocking(stream) && has_work_before(default_stream(stream->device), work.serial)) {
    return false;
  }
  return work.awaited == nullptr || !exists(work.awaited) ||
         !has_work_before(work.awaited, work.awaited_serial + 1);
}

void run_first(CUstream_st* stream) {
  const std::function<void()> run = std::move(stream->queue.front().run);
  stream->queue.pop_front();
  unsettled.fetch_sub(1, std::memory_order_relaxed);
  if (run) run();
}

/// The next stream whose turn it is: in the order in which they were made, after the last one.
CUstream_st* next_in_turn() {
  static std::uint64_t last = 0;
  CUstream_st* next = nullptr;
  const auto turn = [](const CUstream_st* stream) { return stream->made - last - 1; };  // wraps
  const auto consider = [&](CUstream_st* stream) {
    if (!stream->queue.empty() && is_ready(stream) &&
        (next == nullptr || turn(stream) < turn(next)))
      next = stream;
  };
  for (CUstream_st* stream : streams()) consider(stream);
  for (const auto& [device, stream] : default_streams()) consider(stream);
  if (next != nullptr) last = next->made;
  return next;
}

/// Runs work of all streams in turn until this one has done `serial`. There is always a stream
/// that can go on: work waits only for work that was submitted before it.
void run_interleaved_until(CUstream_st* stream, std::uint64_t serial) {
  while (has_work_before(stream, serial + 1)) {
    CUstream_st* next = next_in_turn();
    if (next == nullptr) return;
    run_first(next);
  }
}

/// Runs the stream's work up to and with `serial`, and before it what must come before it.
void run_until(CUstream_st* stream, std::uint64_t serial) {
  if (policy() == stream_policy::interleaved) {
    run_interleaved_until(stream, serial);
    return;
  }
  while (!stream->queue.empty() && stream->queue.front().serial <= serial) {
    const std::uint64_t mine = stream->queue.front().serial;
    if (is_default(stream)) {
      for (CUstream_st* other : streams())
        if (other->device == stream->device && is_blocking(other)) run_until(other, mine);
    } else if (is_blocking(stream)) {
      run_until(default_stream(stream->device), mine);
    }
    if (CUstream_st* awaited = stream->queue.front().awaited; awaited != nullptr && exists(awaited))
      run_until(awaited, stream->queue.front().awaited_serial);
    if (stream->queue.empty() || stream->queue.front().serial != mine) continue;
    run_first(stream);
  }
}

cudaError_t put(cudaStream_t handle, stream_work work, bool wait) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (node_draft* draft = current_draft()) {
    *draft = {work.type, std::move(work.run)};
    return cudaSuccess;
  }
  // Only asynchronous calls can name a captured stream, so nobody waits for this.
  if (stream->capture) return capture_work(*stream, std::move(work));
  if (const cudaError_t implicit = check_implicit_wait(*stream); implicit != cudaSuccess)
    return implicit;
  work.serial = ++serial_now;
  const std::uint64_t serial = work.serial;
  stream->queue.push_back(std::move(work));
  unsettled.fetch_add(1, std::memory_order_relaxed);
  if (wait || policy() == stream_policy::eager) run_until(stream, serial);
  return cudaSuccess;
}

}  // namespace

std::atomic<std::size_t> unsettled{0};

void set_stream_policy(stream_policy wanted) {
  const std::lock_guard lock(api_mutex());
  for (int d = 0; d < device_count(); ++d) finish_device(d);
  policy() = wanted;
}

bool runs_late() {
  const std::lock_guard lock(api_mutex());
  return policy() != stream_policy::eager;
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work, cudaGraphNodeType type) {
  return put(stream, {0, std::move(work), nullptr, 0, type}, false);
}
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work) {
  return put(stream, {0, std::move(work), nullptr, 0, cudaGraphNodeTypeMemcpy}, true);
}

void mark_reached(CUevent_st* event) {
  if (!is_event(event)) return;
  event->recorded = event->reached = true;
  event->time = std::chrono::steady_clock::now();
}
void await_event(CUevent_st* event) {
  if (is_event(event) && event->recorded && !event->reached && event->stream != nullptr)
    run_until(event->stream, event->serial);
}

cudaError_t catch_up(cudaStream_t stream) {
  if (unsettled.load(std::memory_order_relaxed) == 0 || inside_kernel()) return cudaSuccess;
  CPU_DEVICE_RETURN_PENDING_ERROR();
  // Work that does nothing: the stream's rules say what must have run before it.
  const cudaError_t status = enqueue_and_wait(stream, {});
  if (status != cudaSuccess) return status;
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

void finish_device(int device) {
  const std::lock_guard lock(api_mutex());
  run_until(default_stream(device), serial_now);
  for (CUstream_st* stream : std::set<CUstream_st*>(streams()))
    if (stream->device == device) run_until(stream, serial_now);
}

bool is_stream(cudaStream_t stream) {
  const std::lock_guard lock(api_mutex());
  return resolve(stream) != nullptr;
}

void forget_streams(int device) {
  for (auto it = streams().begin(); it != streams().end();) {
    if ((*it)->device == device) {
      unsettled.fetch_sub((*it)->queue.size(), std::memory_order_relaxed);
      leave_capture(*it);
      delete *it;
      it = streams().erase(it);
    } else {
      ++it;
    }
  }
  for (auto it = events().begin(); it != events().end();) {
    if ((*it)->device == device) {
      delete *it;
      it = events().erase(it);
    } else {
      ++it;
    }
  }
}

std::size_t live_streams() {
  const std::lock_guard lock(api_mutex());
  return streams().size();
}

std::size_t live_events() {
  const std::lock_guard lock(api_mutex());
  return events().size();
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0)
    return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  auto* made = new CUstream_st;
  made->made = ++streams_made;
  made->device = current_device();
  made->flags = flags;
  streams().insert(made);
  *stream = made;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  const std::lock_guard lock(api_mutex());
  const cudaError_t status = cudaStreamCreateWithFlags(stream, flags);
  if (status == cudaSuccess) (*stream)->priority = std::clamp(priority, kGreatestPriority, 0);
  return status;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(api_mutex());
  if (stream == nullptr || streams().count(stream) == 0) return bad_stream();
  leave_capture(stream);
  run_until(stream, serial_now);  // a GPU, too, finishes what is queued
  streams().erase(stream);
  for (CUevent_st* event : events())
    if (event->stream == stream) event->stream = nullptr;
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  if (inside_kernel()) return fail(cudaErrorNotPermitted);
  {
    const std::lock_guard lock(api_mutex());
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (const cudaError_t status = refuse_capturing(*stream); status != cudaSuccess) return status;
    run_until(stream, serial_now);
  }
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (const cudaError_t status = refuse_capturing(*stream); status != cudaSuccess) return status;
  if (stream->queue.empty()) return cudaSuccess;
  run_until(stream, stream->queue.front().serial);  // who polls must see the end some day
  return cudaErrorNotReady;
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (flags == nullptr) return fail(cudaErrorInvalidValue);
  *flags = stream->flags;
  return cudaSuccess;
}
cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (priority == nullptr) return fail(cudaErrorInvalidValue);
  *priority = stream->priority;
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (id == nullptr) return fail(cudaErrorInvalidValue);
  static unsigned long long ids = 0;
  if (stream->id == 0) stream->id = ++ids;
  *id = stream->id;
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (device == nullptr) return fail(cudaErrorInvalidValue);
  *device = stream->device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  if ((flags & ~cudaEventWaitExternal) != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
  CUstream_st* waiting = resolve(stream);
  if (waiting == nullptr) return bad_stream();
  if (waiting->capture && flags == cudaEventWaitExternal)
    return put(stream, {0, [event] { await_event(event); }, nullptr, 0, cudaGraphNodeTypeWaitEvent},
               false);
  if (waiting->capture || event->capture) return capture_wait(*waiting, *event);
  if (!event->recorded || event->reached) return cudaSuccess;
  return put(stream, {0, {}, event->stream, event->serial, cudaGraphNodeTypeWaitEvent}, false);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user_data) {
  if (fn == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return enqueue(
      stream, [=] { fn(user_data); }, cudaGraphNodeTypeHost);
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void* user_data,
                                  unsigned int flags) {
  if (fn == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  {
    const std::lock_guard lock(api_mutex());
    CUstream_st* on = resolve(stream);
    if (on == nullptr) return bad_stream();
    if (on->capture) return refuse_capturing(*on);  // cudaLaunchHostFunc can be captured
  }
  return enqueue(stream, [=] { fn(stream, pending_error(), user_data); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr || (flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0)
    return fail(cudaErrorInvalidValue,
                "an event with cudaEventInterprocess needs cudaEventDisableTiming, too");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  auto* made = new CUevent_st;
  made->device = current_device();
  made->flags = flags;
  events().insert(made);
  *event = made;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
  await_event(event);  // its record must not find it gone
  events().erase(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  if ((flags & ~cudaEventRecordExternal) != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
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
  event->serial = serial_now + 1;  // what put() gives it
  const std::uint64_t serial = event->serial;
  return put(stream,
             {0,
              [event, serial] {
                if (is_event(event) && event->serial == serial)  // not recorded again since
                  mark_reached(event);
              }},
             false);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  {
    const std::lock_guard lock(api_mutex());
    if (!is_event(event)) return bad_event();
    if (event->capture) return refuse_captured(*event);
    await_event(event);
  }
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
  if (event->capture) return refuse_captured(*event);
  if (!event->recorded || event->reached) return cudaSuccess;
  if (event->stream != nullptr && !event->stream->queue.empty())
    run_until(event->stream, event->stream->queue.front().serial);
  return cudaErrorNotReady;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  if (milliseconds == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
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
}
