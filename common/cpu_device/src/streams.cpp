// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Streams are queues of work, kept in the order that CUDA promises: a stream in its own order, the
// default stream before and after every blocking stream's work, and behind awaited events.

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "cpu_device.h"
#include "cpu_device/host_work.h"
#include "device.hpp"
#include "engine.hpp"
#include "report.hpp"

struct stream_work {
  std::uint64_t serial;
  std::function<void()> run;
  CUstream_st* awaited = nullptr;  // run this stream up to awaited_serial first
  std::uint64_t awaited_serial = 0;
};

struct CUstream_st {
  int device = 0;
  unsigned flags = cudaStreamDefault;
  std::deque<stream_work> queue;
};

struct CUevent_st {
  int device = 0;
  unsigned flags = cudaEventDefault;
  bool recorded = false;
  bool reached = false;  // the record has run
  CUstream_st* stream = nullptr;
  std::uint64_t serial = 0;
  std::chrono::steady_clock::time_point time;
};

namespace cpu_device {
namespace {

std::uint64_t serial_now = 0;
std::set<CUstream_st*>& streams() {
  static auto* all = new std::set<CUstream_st*>;
  return *all;
}
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
    std::fprintf(stderr, "CPU device: CPU_DEVICE_STREAMS=%s is ignored: it is eager or deferred.\n",
                 text);
    return stream_policy::eager;
  }();
  return now;
}

CUstream_st* default_stream(int device) {
  CUstream_st*& stream = default_streams()[device];
  if (stream == nullptr) {
    stream = new CUstream_st;
    stream->device = device;
  }
  return stream;
}

/// The stream a handle names; 0, cudaStreamLegacy and cudaStreamPerThread are the default stream.
CUstream_st* resolve(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return default_stream(current_device());
  return streams().count(stream) != 0 ? stream : nullptr;
}

bool is_default(const CUstream_st* stream) {
  const auto it = default_streams().find(stream->device);
  return it != default_streams().end() && it->second == stream;
}
bool is_blocking(const CUstream_st* stream) { return (stream->flags & cudaStreamNonBlocking) == 0; }

/// Runs the stream's work up to and with `serial`, and before it what must come before it.
void run_until(CUstream_st* stream, std::uint64_t serial) {
  while (!stream->queue.empty() && stream->queue.front().serial <= serial) {
    const std::uint64_t mine = stream->queue.front().serial;
    if (is_default(stream)) {
      for (CUstream_st* other : streams())
        if (other->device == stream->device && is_blocking(other)) run_until(other, mine);
    } else if (is_blocking(stream)) {
      run_until(default_stream(stream->device), mine);
    }
    if (CUstream_st* awaited = stream->queue.front().awaited;
        awaited != nullptr && (streams().count(awaited) != 0 || is_default(awaited)))
      run_until(awaited, stream->queue.front().awaited_serial);
    if (stream->queue.empty() || stream->queue.front().serial != mine) continue;
    const std::function<void()> run = std::move(stream->queue.front().run);
    stream->queue.pop_front();
    unsettled.fetch_sub(1, std::memory_order_relaxed);
    if (run) run();
  }
}

cudaError_t bad_stream() {
  return fail(cudaErrorInvalidResourceHandle,
              "this stream does not exist: it was destroyed, or never created");
}

cudaError_t put(cudaStream_t handle, stream_work work, bool wait) {
  const std::lock_guard lock(api_mutex());
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  work.serial = ++serial_now;
  const std::uint64_t serial = work.serial;
  stream->queue.push_back(std::move(work));
  unsettled.fetch_add(1, std::memory_order_relaxed);
  if (wait || policy() == stream_policy::eager) run_until(stream, serial);
  return cudaSuccess;
}

bool is_event(cudaEvent_t event) { return event != nullptr && events().count(event) != 0; }

cudaError_t bad_event() {
  return fail(cudaErrorInvalidResourceHandle,
              "this event does not exist: it was destroyed, or never created");
}

}  // namespace

std::atomic<std::size_t> unsettled{0};

std::size_t live_events() {
  const std::lock_guard lock(api_mutex());
  return events().size();
}

void set_stream_policy(stream_policy wanted) {
  const std::lock_guard lock(api_mutex());
  for (int d = 0; d < device_count(); ++d) finish_device(d);
  policy() = wanted;
}

bool deferred() {
  const std::lock_guard lock(api_mutex());
  return policy() == stream_policy::deferred;
}

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  return put(stream, {0, std::move(work)}, false);
}
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work) {
  return put(stream, {0, std::move(work)}, true);
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

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0)
    return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  auto* made = new CUstream_st;
  made->device = current_device();
  made->flags = flags;
  streams().insert(made);
  *stream = made;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(api_mutex());
  if (stream == nullptr || streams().count(stream) == 0) return bad_stream();
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
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  if (flags != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
  if (!event->recorded || event->reached) {
    return resolve(stream) != nullptr ? cudaSuccess : bad_stream();
  }
  return put(stream, {0, {}, event->stream, event->serial}, false);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user_data) {
  if (fn == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return enqueue(stream, [=] { fn(user_data); });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void* user_data,
                                  unsigned int flags) {
  if (fn == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return enqueue(stream, [=] { fn(stream, pending_error(), user_data); });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  if (event == nullptr || (flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
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
  if (event->recorded && !event->reached && event->stream != nullptr)
    run_until(event->stream, event->serial);  // its record must not find it gone
  events().erase(event);
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
  CUstream_st* on = resolve(stream);
  if (on == nullptr) return bad_stream();
  if (on->device != event->device)
    return fail(cudaErrorInvalidResourceHandle,
                "cudaEventRecord: the event belongs to device " + std::to_string(event->device) +
                    ", the stream to device " + std::to_string(on->device));
  event->recorded = true;
  event->reached = false;
  event->stream = on;
  event->serial = serial_now + 1;  // what put() gives it
  const std::uint64_t serial = event->serial;
  return put(stream,
             {0,
              [event, serial] {
                if (!is_event(event) || event->serial != serial) return;  // recorded again since
                event->reached = true;
                event->time = std::chrono::steady_clock::now();
              }},
             false);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  {
    const std::lock_guard lock(api_mutex());
    if (!is_event(event)) return bad_event();
    if (event->recorded && !event->reached && event->stream != nullptr)
      run_until(event->stream, event->serial);
  }
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  if (!is_event(event)) return bad_event();
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
  if (!start->recorded || !stop->recorded)
    return fail(cudaErrorInvalidResourceHandle,
                "cudaEventElapsedTime: an event was never recorded");
  if (!start->reached || !stop->reached) return fail(cudaErrorNotReady);
  *milliseconds = std::chrono::duration<float, std::milli>(stop->time - start->time).count();
  return cudaSuccess;
}
