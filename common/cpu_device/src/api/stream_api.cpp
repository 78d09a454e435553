// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What programs call for streams.

#include <algorithm>

#include "api/memory_api.hpp"
#include "api/streams.hpp"

using namespace cpu_device;

namespace {

constexpr int kGreatestPriority = -5;  // priorities are kept, and change nothing

/// What CUDA refuses of it: there is no cache here that it could change.
bool is_window(const cudaAccessPolicyWindow& window) {
  const auto is_property = [](cudaAccessProperty property) {
    return property == cudaAccessPropertyNormal || property == cudaAccessPropertyStreaming ||
           property == cudaAccessPropertyPersisting;
  };
  return window.hitRatio >= 0 && window.hitRatio <= 1 && is_property(window.hitProp) &&
         is_property(window.missProp) && window.missProp != cudaAccessPropertyPersisting;
}

}  // namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return call(api::cudaStreamCreateWithFlags, [&] {
    if (stream == nullptr || (flags & ~cudaStreamNonBlocking) != 0)
      return fail(cudaErrorInvalidValue);
    *stream = new_stream(flags);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return call(api::cudaStreamCreate,
              [&] { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return call(api::cudaStreamCreateWithPriority, [&] {
    const cudaError_t status = cudaStreamCreateWithFlags(stream, flags);
    if (status == cudaSuccess) (*stream)->priority = std::clamp(priority, kGreatestPriority, 0);
    return status;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return call(api::cudaStreamDestroy, [&] {
    if (resolve(stream) == nullptr || is_default(resolve(stream))) return bad_stream();
    destroy_stream(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return call(api::cudaStreamSynchronize, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (const cudaError_t status = refuse_capturing(*stream); status != cudaSuccess) return status;
    run_until(stream, last_serial());
    release_unused_of_pools();
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return call(api::cudaStreamQuery, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (const cudaError_t status = refuse_capturing(*stream); status != cudaSuccess) return status;
    if (stream->queue.empty()) return cudaSuccess;
    run_until(stream, stream->queue.front().serial);  // who polls must see the end some day
    return cudaErrorNotReady;
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return call(api::cudaStreamGetFlags, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (flags == nullptr) return fail(cudaErrorInvalidValue);
    *flags = stream->flags;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return call(api::cudaStreamGetPriority, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (priority == nullptr) return fail(cudaErrorInvalidValue);
    *priority = stream->priority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaStreamAttrID id,
                                   const cudaStreamAttrValue* value) {
  return call(api::cudaStreamSetAttribute, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (value == nullptr) return fail(cudaErrorInvalidValue);
    switch (id) {
      case cudaStreamAttributeAccessPolicyWindow:
        if (!is_window(value->accessPolicyWindow)) return fail(cudaErrorInvalidValue);
        stream->window = value->accessPolicyWindow;
        return cudaSuccess;
      case cudaStreamAttributeSynchronizationPolicy:
        if (value->syncPolicy < cudaSyncPolicyAuto ||
            value->syncPolicy > cudaSyncPolicyBlockingSync)
          return fail(cudaErrorInvalidValue);
        stream->waiting_policy = value->syncPolicy;
        return cudaSuccess;
      case cudaStreamAttributePriority:
        stream->priority = std::clamp(value->priority, kGreatestPriority, 0);
        return cudaSuccess;
      default:
        return fail(cudaErrorInvalidValue);
    }
  });
}
cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaStreamAttrID id,
                                   cudaStreamAttrValue* value) {
  return call(api::cudaStreamGetAttribute, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (value == nullptr) return fail(cudaErrorInvalidValue);
    switch (id) {
      case cudaStreamAttributeAccessPolicyWindow:
        value->accessPolicyWindow = stream->window;
        return cudaSuccess;
      case cudaStreamAttributeSynchronizationPolicy:
        value->syncPolicy = stream->waiting_policy;
        return cudaSuccess;
      case cudaStreamAttributePriority:
        value->priority = stream->priority;
        return cudaSuccess;
      default:
        return fail(cudaErrorInvalidValue);
    }
  });
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return call(api::cudaStreamCopyAttributes, [&] {
    CUstream_st* target = resolve(to);
    const CUstream_st* source = resolve(from);
    if (target == nullptr || source == nullptr) return bad_stream();
    target->window = source->window;
    target->waiting_policy = source->waiting_policy;
    target->priority = source->priority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return call(api::cudaStreamGetId, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (id == nullptr) return fail(cudaErrorInvalidValue);
    static unsigned long long ids = 0;
    if (stream->id == 0) stream->id = ++ids;
    *id = stream->id;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return call(api::cudaStreamGetDevice, [&] {
    CUstream_st* stream = resolve(handle);
    if (stream == nullptr) return bad_stream();
    if (device == nullptr) return fail(cudaErrorInvalidValue);
    *device = stream->device;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return call(api::cudaDeviceGetStreamPriorityRange, [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return call(api::cudaStreamWaitEvent, [&] {
    if ((flags & ~cudaEventWaitExternal) != 0) return fail(cudaErrorInvalidValue);
    if (!is_event(event)) return bad_event();
    CUstream_st* waiting = resolve(stream);
    if (waiting == nullptr) return bad_stream();
    if (waiting->capture && flags == cudaEventWaitExternal)
      return put(stream,
                 {0, [event] { await_event(event); }, nullptr, 0, cudaGraphNodeTypeWaitEvent},
                 false);
    if (waiting->capture || event->capture) return capture_wait(*waiting, *event);
    if (!event->recorded || event->reached) return cudaSuccess;
    return put(stream, {0, {}, event->stream, event->serial, cudaGraphNodeTypeWaitEvent}, false);
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* user_data) {
  return call(api::cudaLaunchHostFunc, [&] {
    if (fn == nullptr) return fail(cudaErrorInvalidValue);
    return enqueue(
        stream, [=] { fn(user_data); }, cudaGraphNodeTypeHost,
        parameters_on(stream, cudaHostNodeParams{fn, user_data}));
  });
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t fn, void* user_data,
                                  unsigned int flags) {
  return call(api::cudaStreamAddCallback, [&] {
    if (fn == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
    CUstream_st* on = resolve(stream);
    if (on == nullptr) return bad_stream();
    if (on->capture) return refuse_capturing(*on);  // cudaLaunchHostFunc can be captured
    return enqueue(stream, [=] { fn(stream, pending_error(), user_data); });
  });
}
