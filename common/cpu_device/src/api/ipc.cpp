// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What processes of one machine share. A handle says in which process something is, and under which
// number: memory moves into a file when its handle is asked for, and an event has an empty file
// that says whether it is still there. More is not needed for events: is_interprocess().

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>

#include "api/calls.hpp"
#include "api/memory_api.hpp"
#include "api/stream_queue.hpp"
#include "api/streams.hpp"
#include "base/memory.hpp"
#include "base/shared_file.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "cpu_device/device_settings.h"

namespace cpu_device {
namespace {

const object_keeper keeps_openings(object_kind::opened_memory, live_openings);

constexpr std::uint64_t kMemory = 0x31796d656d757063, kEvent = 0x31746e6576757063;
/// What the 64 bytes are.
struct contents {
  std::uint64_t kind;
  shared_file::place where;
  std::uint64_t bytes;  // of memory: how many, and at which address in that process
  std::uint64_t home;
};

template <class Handle>
void fill_handle(Handle* handle, const contents& c) {
  static_assert(sizeof c <= sizeof *handle && std::is_trivially_copyable_v<contents>);
  *handle = {};
  std::memcpy(handle->reserved, &c, sizeof c);
}

/// Finds what another process has made the handle for.
template <class Handle>
cudaError_t find_file(const Handle& handle, std::uint64_t kind, contents* c,
                      std::shared_ptr<const shared_file>* file) {
  std::memcpy(c, handle.reserved, sizeof *c);
  if (c->kind != kind)
    return fail(cudaErrorInvalidValue, this_call() + ": this is no handle of its kind.");
  std::string why;
  *file = shared_file::open(c->where, &why);
  if (*file == nullptr)
    return fail(
        cudaErrorInvalidResourceHandle,
        this_call() + ": " + why +
            ".\n  Try: keep what is shared, and its process, until all others have closed it.");
  if (c->where.process == getpid())
    return fail(
        cudaErrorDeviceUninitialized,
        this_call() + ": the handle was made in this process, which has no need to open it.");
  return cudaSuccess;
}

}  // namespace
}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return call(api::cudaIpcGetMemHandle, [&] {
    if (handle == nullptr || pointer == nullptr) return fail(cudaErrorInvalidValue);
    const auto a = find_allocation(pointer);
    if (!a || a->kind != memory_kind::device || a->imported || is_pool_memory(a->begin) ||
        is_graph_memory(a->begin) || is_graphics_memory(a->begin))
      return fail(cudaErrorInvalidValue,
                  this_call() +
                      ": only memory of this process's cudaMalloc can be shared; this is " +
                      (a ? describe(*a) : "host memory") + ".");
    std::string why;
    const auto file = share(a->begin, &why);  // no kernel runs now: its launch would have the lock
    if (file == nullptr)
      return fail(cudaErrorMemoryAllocation,
                  this_call() + ": " + describe(*a) + " cannot be shared: " + why + ".");
    fill_handle(handle,
                {kMemory, file->where(), a->bytes, reinterpret_cast<std::uintptr_t>(a->begin)});
    return cudaSuccess;
  });
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaIpcOpenMemHandle, [&] {
    if (pointer == nullptr) return fail(cudaErrorInvalidValue);
    if (flags != cudaIpcMemLazyEnablePeerAccess)
      return fail(cudaErrorInvalidValue,
                  this_call() + ": the flags must be cudaIpcMemLazyEnablePeerAccess.");
    contents c;
    std::shared_ptr<const shared_file> file;
    const cudaError_t status = find_file(handle, kMemory, &c, &file);
    if (status != cudaSuccess) return status;
    std::string why;
    *pointer = open_shared(*file, c.bytes, c.home, current_device(), made_at, &why);
    return *pointer != nullptr
               ? cudaSuccess
               : fail(cudaErrorMapBufferObjectFailed, this_call() + ": " + why + ".");
  });
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return call(api::cudaIpcCloseMemHandle, [&] {
    for (int d = 0; d < device_count(); ++d) finish_device(d);  // nobody may still use it
    if (close_shared(pointer)) return cudaSuccess;
    return fail(cudaErrorInvalidValue,
                this_call() +
                    ": the pointer did not come from cudaIpcOpenMemHandle, or everything "
                    "that was opened there is closed.");
  });
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t event) {
  return call(api::cudaIpcGetEventHandle, [&] {
    if (handle == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_event(event)) return bad_event();
    if (!is_interprocess(*event) || event->imported)
      return fail(cudaErrorInvalidResourceHandle,
                  this_call() +
                      ": the event was not made in this process by "
                      "cudaEventCreateWithFlags(&event, cudaEventInterprocess | "
                      "cudaEventDisableTiming).");
    std::string why;
    if (event->exported == nullptr) event->exported = shared_file::make(0, &why);
    if (event->exported == nullptr)
      return fail(cudaErrorMemoryAllocation, this_call() + ": " + why + ".");
    fill_handle(handle, {kEvent, event->exported->where(), 0, 0});
    return cudaSuccess;
  });
}
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t handle) {
  return call(api::cudaIpcOpenEventHandle, [&] {
    if (event == nullptr) return fail(cudaErrorInvalidValue);
    contents c;
    std::shared_ptr<const shared_file> file;
    const cudaError_t status = find_file(handle, kEvent, &c, &file);
    if (status != cudaSuccess) return status;
    *event = new_event(cudaEventInterprocess | cudaEventDisableTiming);
    (*event)->imported = true;
    (*event)->recorded = (*event)->reached = true;  // as far as this process can find out
    return cudaSuccess;
  });
}
