// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Streams are queues of work, kept in the order that CUDA promises: a stream in its own order, the
// default stream before and after every blocking stream's work, and behind awaited events.

#include "api/streams.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "context/device_variables.hpp"
#include "cpu_device.h"
#include "cpu_device/host_work.h"
#include "engine/engine.hpp"

namespace cpu_device {

std::set<CUstream_st*>& streams() {
  static auto* all = new std::set<CUstream_st*>;
  return *all;
}

namespace {

std::uint64_t serial_now = 0;
std::uint64_t streams_made = 0;
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
    if (std::strcmp(text, "newest_first") == 0) return stream_policy::newest_first;
    if (std::strcmp(text, "oldest_first") == 0) return stream_policy::oldest_first;
    std::fprintf(stderr,
                 "CPU device: CPU_DEVICE_STREAMS=%s is ignored: it is eager, deferred, "
                 "interleaved, newest_first or oldest_first.\n",
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
  return streams().count(stream) != 0 && !stream->destroyed ? stream : nullptr;
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
  const char* name = stream->queue.front().name;
  stream->queue.pop_front();
  unsettled.fetch_sub(1, std::memory_order_relaxed);
  if (!run) return;
  bring_variables(stream->device);
  const running_work now(stream, name);
  run();
}

/// The next stream whose turn it is: in the order in which they were made, after the last one; or
/// always the newest one, or the oldest one.
CUstream_st* next_in_turn() {
  static std::uint64_t last = 0;
  CUstream_st* next = nullptr;
  const auto turn = [now = policy()](const CUstream_st* stream) {
    if (now == stream_policy::newest_first) return ~stream->made;
    return now == stream_policy::oldest_first ? stream->made : stream->made - last - 1;  // wraps
  };
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

}  // namespace

void run_until(CUstream_st* stream, std::uint64_t serial) {
  if (policy() != stream_policy::eager && policy() != stream_policy::deferred) {
    run_interleaved_until(stream, serial);
    return;
  }
  while (!stream->queue.empty() && stream->queue.front().serial <= serial) {
    const std::uint64_t mine = stream->queue.front().serial;
    if (is_default(stream)) {
      // Most often nobody else waits, and there may be very many streams.
      if (unsettled.load(std::memory_order_relaxed) > stream->queue.size())
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
  CUstream_st* stream = resolve(handle);
  if (stream == nullptr) return bad_stream();
  if (node_draft* draft = current_draft()) {
    draft->type = work.type;
    draft->work = std::move(work.run);
    draft->parameters = std::move(work.parameters);
    return cudaSuccess;
  }
  // Only asynchronous calls can name a captured stream, so nobody waits for this.
  if (stream->capture) return capture_work(*stream, std::move(work));
  if (const cudaError_t implicit = check_implicit_wait(*stream); implicit != cudaSuccess)
    return implicit;
  work.serial = ++serial_now;
  if (work.name == nullptr) work.name = name_of_this_call();
  const std::uint64_t serial = work.serial;
  stream->queue.push_back(std::move(work));
  unsettled.fetch_add(1, std::memory_order_relaxed);
  if (wait || policy() == stream_policy::eager) run_until(stream, serial);
  return cudaSuccess;
}

void set_stream_policy(stream_policy wanted) {
  const std::lock_guard lock(api_mutex());
  for (int d = 0; d < device_count(); ++d) finish_device(d);
  policy() = wanted;
}

bool runs_late() { return policy() != stream_policy::eager; }

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work, cudaGraphNodeType type,
                    parameters_ptr parameters) {
  return put(stream, {0, std::move(work), nullptr, 0, type, nullptr, std::move(parameters)}, false);
}
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work,
                             parameters_ptr parameters) {
  return put(
      stream,
      {0, std::move(work), nullptr, 0, cudaGraphNodeTypeMemcpy, nullptr, std::move(parameters)},
      true);
}

cudaError_t enqueue_from_host(cudaStream_t stream, const void* from, std::size_t bytes,
                              std::function<void(const void*)> copy, parameters_ptr parameters) {
  const CUstream_st* to = resolve(stream);
  if (!runs_late() || to == nullptr || to->capture || current_draft() != nullptr)
    return enqueue_and_wait(
        stream, [from, copy = std::move(copy)] { copy(from); }, std::move(parameters));
  if (const cudaError_t status = enqueue_and_wait(stream, {}); status != cudaSuccess) return status;
  const auto* first = static_cast<const char*>(from);
  const auto staged = std::make_shared<const std::vector<char>>(first, first + bytes);
  return enqueue(stream, [staged, copy = std::move(copy)] { copy(staged->data()); });
}

cudaError_t catch_up(cudaStream_t stream) {
  if (unsettled.load(std::memory_order_relaxed) == 0 || inside_kernel()) return cudaSuccess;
  // Work that does nothing: the stream's rules say what must have run before it.
  return call(api::cudaStreamSynchronize, [&] { return enqueue_and_wait(stream, {}); });
}

namespace {

std::vector<CUstream_st*>& destroyed_streams() {  // that are not gone yet
  static auto* all = new std::vector<CUstream_st*>;
  return *all;
}

/// Not where the last work of a stream has run: others may be going through all streams there.
void release_streams_without_work() {
  auto& leaving = destroyed_streams();
  const auto done = std::partition(leaving.begin(), leaving.end(),
                                   [](const CUstream_st* s) { return !s->queue.empty(); });
  for (auto it = done; it != leaving.end(); ++it) {
    streams().erase(*it);
    forget_stream_of_events(*it);
    delete *it;
  }
  leaving.erase(done, leaving.end());
}

}  // namespace

void destroy_stream(CUstream_st* stream) {
  leave_capture(stream);
  stream->destroyed = true;
  destroyed_streams().push_back(stream);
  release_streams_without_work();
}

CUstream_st* new_stream(unsigned flags) {
  auto* made = new CUstream_st;
  made->made = ++streams_made;
  made->device = current_device();
  made->flags = flags;
  streams().insert(made);
  return made;
}

std::uint64_t last_serial() { return serial_now; }

static const work_event* innermost_work = nullptr;

void running_work::begin(const CUstream_st* stream, const char* name) {
  around_ = innermost_work;
  if (stream != nullptr)
    event_ = {is_default(stream) ? nullptr : stream, stream->made, stream->device, name};
  else if (around_ != nullptr)
    event_ = {around_->stream, around_->number, around_->device, name};
  else
    return;
  innermost_work = &event_;
  publish(event_kind::work, &observer::work_begins, event_);
}

void running_work::end() const {
  innermost_work = around_;
  publish(event_kind::work, &observer::work_ends, event_);
}

void finish_device(int device) {
  if (unsettled.load(std::memory_order_relaxed) == 0) return;
  run_until(default_stream(device), serial_now);
  for (CUstream_st* stream : std::set<CUstream_st*>(streams()))
    if (stream->device == device) run_until(stream, serial_now);
}

bool is_stream(cudaStream_t stream) { return resolve(stream) != nullptr; }

static void forget_streams(int device) {
  auto& leaving = destroyed_streams();
  leaving.erase(std::remove_if(leaving.begin(), leaving.end(),
                               [&](const CUstream_st* s) { return s->device == device; }),
                leaving.end());
  for (auto it = streams().begin(); it != streams().end();) {
    if ((*it)->device == device) {
      unsettled.fetch_sub((*it)->queue.size(), std::memory_order_relaxed);
      if ((*it)->capture) (*it)->capture->valid = false;  // of work that is gone
      leave_capture(*it);
      delete *it;
      it = streams().erase(it);
    } else {
      ++it;
    }
  }
}

const object_keeper keeps_streams(object_kind::stream,
                                  [] { return streams().size() - destroyed_streams().size(); });
const bool resets_streams = on_reset(reset_step::streams, forget_streams);

}  // namespace cpu_device
