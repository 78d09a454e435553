// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "api/memory_api.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "api/calls.hpp"
#include "api/capture.hpp"
#include "api/stream_queue.hpp"
#include "base/events.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "context/device_variables.hpp"
#include "engine/engine.hpp"

using namespace cpu_device;

namespace {

bool for_host(const allocation& a) {
  return a.kind != memory_kind::device && a.kind != memory_kind::symbol;
}

cudaError_t get_memory(void** pointer, std::size_t bytes, memory_kind kind, unsigned flags,
                       const void* made_at, int device = current_device()) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* memory = allocate(bytes, kind, device, flags, made_at);
  if (memory == nullptr)
    return fail(cudaErrorMemoryAllocation,
                this_call() + ": " + human_bytes(bytes) + " do not fit; device " +
                    std::to_string(device) + " has " + human_bytes(device_capacity()) +
                    ", of which " + human_bytes(device_bytes_in_use(device)) + " are in use.");
  *pointer = memory;
  return cudaSuccess;
}

/// What set_said_of_pinned_memory() has the runtime say. Under api_mutex().
struct {
  said_of_pinned_memory what = said_of_pinned_memory::the_truth;
  void* block = nullptr;  // that stands in for all pinned memory
  std::size_t used = 0;
  std::map<std::uint64_t, std::size_t> places;  // in the block, by the numbers of allocations
} said;
constexpr std::size_t kSaidBlock = std::size_t{1} << 20;

/// The address that devices are said to have for `pointer`, in host memory.
void* device_address(const allocation& a, void* pointer) {
  if (said.block == nullptr) return pointer;
  const auto [at, is_new] = said.places.try_emplace(a.number, said.used);
  const std::size_t room = (a.bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (is_new) said.used += room;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - a.begin);
  if (at->second + room > kSaidBlock) return pointer;
  return static_cast<char*>(said.block) + at->second + offset;
}

cudaError_t give_memory_back(void* pointer, bool device_memory) {
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t status = refuse_in_capture(); status != cudaSuccess) return status;
  if (is_graphics_memory(pointer))
    return fail(cudaErrorInvalidValue,
                this_call() +
                    ": the pointer came from cudaGraphicsResourceGetMappedPointer; "
                    "cudaGraphicsUnmapResources gives it back.");
  for (int d = 0; d < device_count(); ++d) finish_device(d);  // nobody may still use it
  if (is_graph_memory(pointer))
    return free_graph_memory(pointer)
               ? cudaSuccess
               : fail(cudaErrorInvalidValue,
                      this_call() +
                          ": a graph allocates this memory, and has not done "
                          "so since it was freed.");
  std::string why;
  if (!release(pointer, device_memory, &why))
    return fail(cudaErrorInvalidValue, this_call() + ": " + why + ".");
  return_to_pool(pointer);
  return cudaSuccess;
}

/// One side of a copy: `height` rows of `width` bytes, `pitch` apart.
struct side {
  const void* pointer;
  std::size_t pitch;
  const char* name;
  int device = -1;  // whose memory it is said to be; -1: nothing is said, and of a variable the
                    // value of the stream's device is meant
};

std::string kind_name(cudaMemcpyKind kind) {
  static constexpr const char* kNames[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                           "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice",
                                           "cudaMemcpyDefault"};
  return kNames[static_cast<int>(kind)];
}

/// Checks that a side of a copy is the memory that the direction promises, and long enough.
cudaError_t check_side(const side& s, std::size_t width, std::size_t height, bool should_be_device,
                       cudaMemcpyKind kind, bool* pageable) {
  const std::size_t extent = (height - 1) * s.pitch + width;
  const auto a = find_allocation(s.pointer);
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, this_call() + ": the " + s.name + " " + why);
  };
  if (kind != cudaMemcpyDefault) {
    if (should_be_device && !a) {
      if (const auto gone = find_freed(s.pointer)) return wrong("is " + describe(*gone) + ".");
      return wrong(
          "is host memory, but " + kind_name(kind) +
          " says that it is on the device. Try: the destination first, then the source; or "
          "the other direction; or the pointer that cudaMalloc gave.");
    }
    if (!should_be_device && a && !for_host(*a))
      return wrong(
          "is " + describe(*a) + ", but " + kind_name(kind) +
          " says that it is host memory. Try: the destination first, then the source; or the other "
          "direction; or the host's pointer.");
  }
  if (a) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(s.pointer) - a->begin);
    if (extent > a->bytes - offset)
      return wrong("has only " + std::to_string(a->bytes - offset) + " bytes left of " +
                   describe(*a) + ", and " + std::to_string(extent) +
                   " are to be copied. Try: count bytes, n * sizeof(element).");
  }
  if (a && a->kind == memory_kind::device && s.device >= 0 && s.device != a->device)
    report(this_call() + ": the " + s.name + " is " + describe(*a) + " of device " +
           std::to_string(a->device) + ", but the call names device " + std::to_string(s.device) +
           ". Try: each pointer, and after it the device whose memory it is.");
  if (!a) *pageable = true;
  return cudaSuccess;
}

cudaError_t copy(side to, side from, std::size_t width, std::size_t height, cudaMemcpyKind kind,
                 cudaStream_t stream, bool wait) {
  if (static_cast<unsigned>(kind) > cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection,
                this_call() + ": " + std::to_string(static_cast<int>(kind)) + " is no direction");
  if (width == 0 || height == 0) return cudaSuccess;
  if (to.pointer == nullptr || from.pointer == nullptr)
    return fail(cudaErrorInvalidValue, this_call() + ": the " +
                                           (to.pointer == nullptr ? to.name : from.name) +
                                           " is a null pointer.");
  if (height > 1 && (width > to.pitch || width > from.pitch))
    return fail(cudaErrorInvalidPitchValue, this_call() + ": a row of " + std::to_string(width) +
                                                " bytes is wider than the pitch.");
  bool pageable = false;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  cudaError_t status = check_side(to, width, height, to_device, kind, &pageable);
  if (status == cudaSuccess) status = check_side(from, width, height, from_device, kind, &pageable);
  if (status != cudaSuccess) return status;

  const auto copy_from = [=](const void* place) {
    auto* d = static_cast<char*>(const_cast<void*>(to.pointer));
    const auto* s = static_cast<const char*>(place);
    note_copy(d, from.pointer, {width, height, 1, from.pitch}, stream);
    if (to.pitch == width && from.pitch == width) {
      std::memmove(d, s, width * height);
      return;
    }
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(d + row * to.pitch, s + row * from.pitch, width);
  };
  const parameters_ptr parameters = parameters_on(
      stream, row_copy(to.pointer, to.pitch, from.pointer, from.pitch, width, height, kind));
  // Pageable memory cannot be read by a GPU while the program goes on, so even an asynchronous
  // copy has done with it when the call comes back.
  if (!find_allocation(from.pointer) && find_allocation(to.pointer))
    return enqueue_from_host(stream, from.pointer, (height - 1) * from.pitch + width, copy_from,
                             parameters);
  const auto run = [=] {
    const void* place = from.pointer;
    std::vector<char> staged;
    // The destination may be another device's value of the same variable.
    if (from.device >= 0 && in_device_variable(place)) {
      bring_variables(from.device);
      const auto* first = static_cast<const char*>(place);
      staged.assign(first, first + (height - 1) * from.pitch + width);
      place = staged.data();
    }
    if (to.device >= 0 && in_device_variable(to.pointer)) bring_variables(to.device);
    copy_from(place);
  };
  return wait || pageable ? enqueue_and_wait(stream, run, parameters)
                          : enqueue(stream, run, cudaGraphNodeTypeMemcpy, parameters);
}

cudaError_t fill(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                 cudaStream_t stream) {
  if (width == 0 || height == 0) return cudaSuccess;
  const auto a = find_allocation(pointer);
  if (!a) return fail(cudaErrorInvalidValue, this_call() + ": the pointer is not device memory.");
  bool pageable = false;
  const cudaError_t status =
      check_side({pointer, pitch, "memory"}, width, height, true, cudaMemcpyDefault, &pageable);
  if (status != cudaSuccess) return status;
  return enqueue(
      stream,
      [=] {
        note_copy(pointer, nullptr, {width, height}, stream);
        for (std::size_t row = 0; row < height; ++row)
          std::memset(static_cast<char*>(pointer) + row * pitch, value, width);
      },
      cudaGraphNodeTypeMemset,
      parameters_on(stream, cudaMemsetParams{pointer, pitch, static_cast<unsigned char>(value), 1,
                                             width, height}));
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMalloc,
              [&] { return get_memory(pointer, bytes, memory_kind::device, 0, made_at); });
}
cudaError_t cudaFree(void* pointer) {
  return call(api::cudaFree, [&] { return give_memory_back(pointer, true); });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaHostAlloc, [&] {
    if ((flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
    return get_memory(pointer, bytes, memory_kind::pinned, flags, made_at);
  });
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocHost, [&] {
    return get_memory(pointer, bytes, memory_kind::pinned, cudaHostAllocDefault, made_at);
  });
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocHost, [&] {
    if ((flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
    return get_memory(pointer, bytes, memory_kind::pinned, flags, made_at);
  });
}
cudaError_t cudaFreeHost(void* pointer) {
  return call(api::cudaFreeHost, [&] { return give_memory_back(pointer, false); });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int flags) {
  return call(api::cudaHostRegister, [&] {
    if (pointer == nullptr || bytes == 0 || (flags & ~15U) != 0) return fail(cudaErrorInvalidValue);
    return fail(register_host(pointer, bytes, flags));
  });
}
cudaError_t cudaHostUnregister(void* pointer) {
  return call(api::cudaHostUnregister, [&] {
    if (pointer == nullptr) return fail(cudaErrorInvalidValue);
    return unregister_host(pointer) ? cudaSuccess : fail(cudaErrorHostMemoryNotRegistered);
  });
}
cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                     unsigned int flags) {
  return call(api::cudaHostGetDevicePointer, [&] {
    if (device_pointer == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
    const auto a = find_allocation(host_pointer);
    if (!a || a->kind == memory_kind::device) {
      *device_pointer = nullptr;
      return fail(cudaErrorInvalidValue,
                  "cudaHostGetDevicePointer: only memory of cudaHostAlloc, cudaMallocHost or "
                  "cudaHostRegister is mapped into the device.");
    }
    *device_pointer = device_address(*a, host_pointer);  // the same, as on any 64-bit system
    return cudaSuccess;
  });
}
cudaError_t cudaHostGetFlags(unsigned int* flags, void* host_pointer) {
  return call(api::cudaHostGetFlags, [&] {
    if (flags == nullptr) return fail(cudaErrorInvalidValue);
    const auto a = find_allocation(host_pointer);
    if (!a || a->kind != memory_kind::pinned) return fail(cudaErrorInvalidValue);
    *flags = a->flags | cudaHostAllocMapped;
    if (said.what == said_of_pinned_memory::elsewhere) *flags |= cudaHostAllocPortable;
    return cudaSuccess;
  });
}
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocManaged, [&] {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
      return fail(cudaErrorInvalidValue);
    return get_memory(pointer, bytes, memory_kind::managed, flags, made_at);
  });
}
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocPitch, [&] {
    if (pointer == nullptr || pitch == nullptr) return fail(cudaErrorInvalidValue);
    if (width_bytes > SIZE_MAX - kPitchAlignment) return fail(cudaErrorInvalidValue);
    *pitch = (width_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    if (height != 0 && *pitch > SIZE_MAX / height) return fail(cudaErrorMemoryAllocation);
    return get_memory(pointer, *pitch * height, memory_kind::device, kPitchedRows, made_at);
  });
}
void cpu_device::set_said_of_pinned_memory(said_of_pinned_memory what) {
  const std::lock_guard lock(api_mutex());
  std::string why;
  if (said.block != nullptr) (void)release(said.block, false, &why);
  said = {what, nullptr, 0, {}};
  if (what == said_of_pinned_memory::elsewhere)
    said.block = allocate(kSaidBlock, memory_kind::pinned, current_device(), cudaHostAllocPortable,
                          __builtin_return_address(0));
}
void cpu_device::publish_copy(const void* to, const void* from, const copied_rows& rows,
                              cudaStream_t stream, const void* symbol) {
  const auto on_device = [symbol](const void* p) {
    const auto a = find_allocation(p);
    return p == symbol || (a && !for_host(*a));
  };
  const bool to_device = on_device(to), from_device = from == nullptr || on_device(from);
  const int kind = (from_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost) +
                   (to_device ? cudaMemcpyHostToDevice : 0);
  const std::size_t bytes = rows.width_bytes * rows.height * rows.depth;
  publish(event_kind::copy, &observer::copied, copy_event{to, from, bytes, kind, stream, rows});
}
cudaError_t cpu_device::allocate_async(void** pointer, std::size_t bytes, int device,
                                       const void* made_at) {
  return get_memory(pointer, bytes, memory_kind::device, 0, made_at, device);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  return call(api::cudaFreeAsync, [&] {
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    if (pointer == nullptr) return cudaSuccess;
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (stream != nullptr && cudaStreamIsCapturing(stream, &capture) == cudaSuccess &&
        capture != cudaStreamCaptureStatusNone)
      return is_graph_memory(pointer) ? capture_free(pointer, stream) : refuse_in_capture(true);
    if (!find_allocation(pointer) || is_graphics_memory(pointer))
      return give_memory_back(pointer, true);
    return enqueue(stream, [pointer] {
      std::string why = "a graph allocates this memory, and has not done so since it was freed";
      if (is_graph_memory(pointer) ? free_graph_memory(pointer) : release(pointer, true, &why))
        return_to_pool(pointer);
      else
        fail(cudaErrorInvalidValue, "cudaFreeAsync: " + why + ".");
    });
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call(api::cudaMemGetInfo, [&] {
    if (free_bytes == nullptr || total_bytes == nullptr) return fail(cudaErrorInvalidValue);
    *total_bytes = device_capacity();
    *free_bytes = *total_bytes - device_bytes_in_use(current_device());
    return cudaSuccess;
  });
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call(api::cudaPointerGetAttributes, [&] {
    if (attributes == nullptr || pointer == nullptr) return fail(cudaErrorInvalidValue);
    const auto a = find_allocation(pointer);
    auto* address = const_cast<void*>(pointer);
    if (!a) {
      *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
      return cudaSuccess;
    }
    switch (a->kind) {
      case memory_kind::symbol:  // each device has one there
        *attributes = {cudaMemoryTypeDevice, current_device(), address, nullptr};
        break;
      case memory_kind::device:
        *attributes = {cudaMemoryTypeDevice, a->device, address, nullptr};
        break;
      case memory_kind::managed:
        *attributes = {cudaMemoryTypeManaged, a->device, address, address};
        break;
      default:
        if (said.what == said_of_pinned_memory::unregistered)
          *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
        else
          *attributes = {cudaMemoryTypeHost, a->device, device_address(*a, address), address};
        break;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return call(api::cudaMemcpy, [&] {
    return copy({to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1, kind, nullptr, true);
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call(api::cudaMemcpyAsync, [&] {
    return copy({to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1, kind, stream, false);
  });
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  return call(api::cudaMemcpyPeer, [&] {
    if (to_device < 0 || to_device >= device_count() || from_device < 0 ||
        from_device >= device_count())
      return fail(cudaErrorInvalidDevice);
    for (int d = 0; d < device_count(); ++d) finish_device(d);
    return copy({to, bytes, "destination", to_device}, {from, bytes, "source", from_device}, bytes,
                1, cudaMemcpyDeviceToDevice, nullptr, true);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  return call(api::cudaMemcpyPeerAsync, [&] {
    if (to_device < 0 || to_device >= device_count() || from_device < 0 ||
        from_device >= device_count())
      return fail(cudaErrorInvalidDevice);
    return copy({to, bytes, "destination", to_device}, {from, bytes, "source", from_device}, bytes,
                1, cudaMemcpyDeviceToDevice, stream, false);
  });
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind) {
  return call(api::cudaMemcpy2D, [&] {
    return copy({to, to_pitch, "destination"}, {from, from_pitch, "source"}, width_bytes, height,
                kind, nullptr, true);
  });
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width_bytes, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return call(api::cudaMemcpy2DAsync, [&] {
    return copy({to, to_pitch, "destination"}, {from, from_pitch, "source"}, width_bytes, height,
                kind, stream, false);
  });
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  return call(api::cudaMemset, [&] { return fill(pointer, bytes, value, bytes, 1, nullptr); });
}
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  return call(api::cudaMemsetAsync, [&] { return fill(pointer, bytes, value, bytes, 1, stream); });
}
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width_bytes,
                         std::size_t height) {
  return call(api::cudaMemset2D,
              [&] { return fill(pointer, pitch, value, width_bytes, height, nullptr); });
}
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width_bytes,
                              std::size_t height, cudaStream_t stream) {
  return call(api::cudaMemset2DAsync,
              [&] { return fill(pointer, pitch, value, width_bytes, height, stream); });
}

namespace cpu_device {

namespace {
cudaError_t check_symbol(const void* symbol, std::size_t symbol_bytes, std::size_t bytes,
                         std::size_t offset) {
  if (symbol == nullptr) return fail(cudaErrorInvalidSymbol);
  if (offset > symbol_bytes || bytes > symbol_bytes - offset)
    return fail(cudaErrorInvalidValue, this_call() + ": " + std::to_string(bytes) +
                                           " bytes at offset " + std::to_string(offset) +
                                           " do not fit a variable of " +
                                           std::to_string(symbol_bytes) + " bytes.");
  return cudaSuccess;
}

/// What a node that copies from or to a variable tells of it. The address that it gives away can be
/// copied to and from from now on, as that of cudaGetSymbolAddress.
parameters_ptr symbol_parameters(cudaStream_t stream, const void* symbol, std::size_t symbol_bytes,
                                 const void* to, const void* from, std::size_t bytes,
                                 cudaMemcpyKind kind) {
  if (!becomes_node(stream)) return nullptr;
  note_symbol(const_cast<void*>(symbol), symbol_bytes);
  return parameters_on(stream, row_copy(to, bytes, from, bytes, bytes, 1, kind));
}
}  // namespace

cudaError_t refuse_symbol_address(const char* function) {
  const std::string name(function);
  return fail(cudaErrorInvalidSymbol,
              name +
                  " was given the address of a variable; it takes the variable itself. "
                  "Try: drop the &, as in " +
                  (name == "cudaMemcpyToSymbol" ? "cudaMemcpyToSymbol(table, values, sizeof table)."
                                                : name + "(… table …)."));
}

cudaError_t symbol_address(void** pointer, const volatile void* symbol, std::size_t bytes) {
  return call(api::cudaGetSymbolAddress, [&] {
    if (pointer == nullptr) return fail(cudaErrorInvalidValue);
    *pointer = const_cast<void*>(symbol);
    note_symbol(*pointer, bytes);
    return cudaSuccess;
  });
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from,
                           std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool wait) {
  return call(wait ? api::cudaMemcpyToSymbol : api::cudaMemcpyToSymbolAsync, [&] {
    const cudaError_t status = check_symbol(symbol, symbol_bytes, bytes, offset);
    if (status != cudaSuccess) return status;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
      return fail(cudaErrorInvalidMemcpyDirection);
    if (bytes == 0) return cudaSuccess;
    auto* to = static_cast<char*>(symbol) + offset;
    const auto copy_from = [=, device = current_device()](const void* place) {
      bring_variables(device);
      note_copy(to, from, {bytes}, stream, to);
      std::memcpy(to, place, bytes);
    };
    const parameters_ptr parameters =
        symbol_parameters(stream, symbol, symbol_bytes, to, from, bytes, kind);
    if (!find_allocation(from))
      return enqueue_from_host(stream, from, bytes, copy_from, parameters);
    const auto run = [=] { copy_from(from); };
    return wait ? enqueue_and_wait(stream, run, parameters)
                : enqueue(stream, run, cudaGraphNodeTypeMemcpy, parameters);
  });
}

cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_bytes,
                             std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool wait) {
  return call(wait ? api::cudaMemcpyFromSymbol : api::cudaMemcpyFromSymbolAsync, [&] {
    const cudaError_t status = check_symbol(symbol, symbol_bytes, bytes, offset);
    if (status != cudaSuccess) return status;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
        kind != cudaMemcpyDefault)
      return fail(cudaErrorInvalidMemcpyDirection);
    if (bytes == 0) return cudaSuccess;
    const auto* from = static_cast<const char*>(symbol) + offset;
    const auto run = [=, device = current_device()] {
      bring_variables(device);
      note_copy(to, from, {bytes}, stream, from);
      std::memcpy(to, from, bytes);
    };
    const parameters_ptr parameters =
        symbol_parameters(stream, symbol, symbol_bytes, to, from, bytes, kind);
    return wait || !find_allocation(to) ? enqueue_and_wait(stream, run, parameters)
                                        : enqueue(stream, run, cudaGraphNodeTypeMemcpy, parameters);
  });
}

}  // namespace cpu_device
