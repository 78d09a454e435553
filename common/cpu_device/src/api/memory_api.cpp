// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <cstring>
#include <string>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "engine/engine.hpp"

using namespace cpu_device;

namespace {

constexpr std::size_t kPitchAlignment = 512;

bool for_host(const allocation& a) {
  return a.kind != memory_kind::device && a.kind != memory_kind::symbol;
}

cudaError_t get_memory(void** pointer, std::size_t bytes, memory_kind kind, unsigned flags,
                       const void* made_at, const char* function, int device = current_device()) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  if (inside_kernel())
    return fail(cudaErrorNotSupported, std::string(function) + " was called inside a kernel");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (const cudaError_t status = refuse_in_capture(function); status != cudaSuccess) return status;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  void* memory = allocate(bytes, kind, device, flags, made_at);
  if (memory == nullptr)
    return fail(cudaErrorMemoryAllocation,
                std::string(function) + ": " + human_bytes(bytes) + " do not fit; device " +
                    std::to_string(device) + " has " + human_bytes(device_capacity()) +
                    ", of which " + human_bytes(device_bytes_in_use(device)) + " are in use.");
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t give_memory_back(void* pointer, bool device_memory, const char* function) {
  if (inside_kernel())
    return fail(cudaErrorNotSupported, std::string(function) + " was called inside a kernel");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t status = refuse_in_capture(function); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  if (is_graphics_memory(pointer))
    return fail(cudaErrorInvalidValue,
                std::string(function) +
                    ": the pointer came from cudaGraphicsResourceGetMappedPointer; "
                    "cudaGraphicsUnmapResources gives it back.");
  for (int d = 0; d < device_count(); ++d) finish_device(d);  // nobody may still use it
  std::string why;
  if (!release(pointer, device_memory, &why))
    return fail(cudaErrorInvalidValue, std::string(function) + ": " + why + ".");
  return cudaSuccess;
}

/// One side of a copy: `height` rows of `width` bytes, `pitch` apart.
struct side {
  const void* pointer;
  std::size_t pitch;
  const char* name;
};

std::string kind_name(cudaMemcpyKind kind) {
  static constexpr const char* kNames[] = {"cudaMemcpyHostToHost", "cudaMemcpyHostToDevice",
                                           "cudaMemcpyDeviceToHost", "cudaMemcpyDeviceToDevice",
                                           "cudaMemcpyDefault"};
  return kNames[static_cast<int>(kind)];
}

/// Checks that a side of a copy is the memory that the direction promises, and long enough.
cudaError_t check_side(const char* function, const side& s, std::size_t width, std::size_t height,
                       bool should_be_device, cudaMemcpyKind kind, bool* pageable) {
  const std::size_t extent = (height - 1) * s.pitch + width;
  const auto a = find_allocation(s.pointer);
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, std::string(function) + ": the " + s.name + " " + why);
  };
  if (kind != cudaMemcpyDefault) {
    if (should_be_device && !a) {
      if (const auto gone = find_freed(s.pointer)) return wrong("is " + describe(*gone) + ".");
      return wrong("is host memory, but " + kind_name(kind) +
                   " says that it is on the device. Try: the other direction, or the pointer that "
                   "cudaMalloc gave.");
    }
    if (!should_be_device && a && !for_host(*a))
      return wrong(
          "is " + describe(*a) + ", but " + kind_name(kind) +
          " says that it is host memory. Try: the other direction, or the host's pointer.");
  }
  if (a) {
    const auto offset = static_cast<std::size_t>(static_cast<const char*>(s.pointer) - a->begin);
    if (extent > a->bytes - offset)
      return wrong("has only " + std::to_string(a->bytes - offset) + " bytes left of " +
                   describe(*a) + ", and " + std::to_string(extent) +
                   " are to be copied. Try: count bytes, n * sizeof(element).");
  }
  if (!a) *pageable = true;
  return cudaSuccess;
}

cudaError_t copy(const char* function, side to, side from, std::size_t width, std::size_t height,
                 cudaMemcpyKind kind, cudaStream_t stream, bool wait) {
  if (inside_kernel())
    return fail(cudaErrorNotSupported, std::string(function) + " was called inside a kernel");
  if (static_cast<unsigned>(kind) > cudaMemcpyDefault)
    return fail(
        cudaErrorInvalidMemcpyDirection,
        std::string(function) + ": " + std::to_string(static_cast<int>(kind)) + " is no direction");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (width == 0 || height == 0) return cudaSuccess;
  if (to.pointer == nullptr || from.pointer == nullptr)
    return fail(cudaErrorInvalidValue, std::string(function) + ": the " +
                                           (to.pointer == nullptr ? to.name : from.name) +
                                           " is a null pointer.");
  if (height > 1 && (width > to.pitch || width > from.pitch))
    return fail(cudaErrorInvalidPitchValue, std::string(function) + ": a row of " +
                                                std::to_string(width) +
                                                " bytes is wider than the pitch.");
  bool pageable = false;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  cudaError_t status = check_side(function, to, width, height, to_device, kind, &pageable);
  if (status == cudaSuccess)
    status = check_side(function, from, width, height, from_device, kind, &pageable);
  if (status != cudaSuccess) return status;

  const auto run = [=] {
    auto* d = static_cast<char*>(const_cast<void*>(to.pointer));
    const auto* s = static_cast<const char*>(from.pointer);
    if (to.pitch == width && from.pitch == width) {
      std::memmove(d, s, width * height);
      return;
    }
    for (std::size_t row = 0; row < height; ++row)
      std::memmove(d + row * to.pitch, s + row * from.pitch, width);
  };
  // Pageable memory cannot be read by a GPU while the program goes on, so even an asynchronous
  // copy of it is done when the call comes back.
  status = wait || pageable ? enqueue_and_wait(stream, run) : enqueue(stream, run);
  if (status != cudaSuccess) return status;
  if (wait) CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

cudaError_t fill(const char* function, void* pointer, std::size_t pitch, int value,
                 std::size_t width, std::size_t height, cudaStream_t stream) {
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (width == 0 || height == 0) return cudaSuccess;
  const auto a = find_allocation(pointer);
  if (!a)
    return fail(cudaErrorInvalidValue,
                std::string(function) + ": the pointer is not device memory.");
  bool pageable = false;
  const cudaError_t status = check_side(function, {pointer, pitch, "memory"}, width, height, true,
                                        cudaMemcpyDefault, &pageable);
  if (status != cudaSuccess) return status;
  return enqueue(
      stream,
      [=] {
        for (std::size_t row = 0; row < height; ++row)
          std::memset(static_cast<char*>(pointer) + row * pitch, value, width);
      },
      cudaGraphNodeTypeMemset);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return get_memory(pointer, bytes, memory_kind::device, 0, __builtin_return_address(0),
                    "cudaMalloc");
}
cudaError_t cudaFree(void* pointer) { return give_memory_back(pointer, true, "cudaFree"); }

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags) {
  if ((flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
  return get_memory(pointer, bytes, memory_kind::pinned, flags, __builtin_return_address(0),
                    "cudaHostAlloc");
}
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes, unsigned int flags) {
  if ((flags & ~7U) != 0) return fail(cudaErrorInvalidValue);
  return get_memory(pointer, bytes, memory_kind::pinned, flags, __builtin_return_address(0),
                    "cudaMallocHost");
}
cudaError_t cudaFreeHost(void* pointer) { return give_memory_back(pointer, false, "cudaFreeHost"); }

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int flags) {
  if (pointer == nullptr || bytes == 0 || (flags & ~15U) != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return fail(register_host(pointer, bytes, flags));
}
cudaError_t cudaHostUnregister(void* pointer) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return unregister_host(pointer) ? cudaSuccess : fail(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer,
                                     unsigned int flags) {
  if (device_pointer == nullptr || flags != 0) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const auto a = find_allocation(host_pointer);
  if (!a || a->kind == memory_kind::device) {
    *device_pointer = nullptr;
    return fail(cudaErrorInvalidValue,
                "cudaHostGetDevicePointer: only memory of cudaHostAlloc, cudaMallocHost or "
                "cudaHostRegister is mapped into the device.");
  }
  *device_pointer = host_pointer;  // one address space, as on any 64-bit system
  return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned int* flags, void* host_pointer) {
  if (flags == nullptr) return fail(cudaErrorInvalidValue);
  const auto a = find_allocation(host_pointer);
  if (!a || a->kind != memory_kind::pinned) return fail(cudaErrorInvalidValue);
  *flags = a->flags | cudaHostAllocMapped;
  return cudaSuccess;
}
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
    return fail(cudaErrorInvalidValue);
  return get_memory(pointer, bytes, memory_kind::managed, flags, __builtin_return_address(0),
                    "cudaMallocManaged");
}
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width_bytes,
                            std::size_t height) {
  if (pointer == nullptr || pitch == nullptr) return fail(cudaErrorInvalidValue);
  if (width_bytes > SIZE_MAX - kPitchAlignment) return fail(cudaErrorInvalidValue);
  *pitch = (width_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (height != 0 && *pitch > SIZE_MAX / height) return fail(cudaErrorMemoryAllocation);
  return get_memory(pointer, *pitch * height, memory_kind::device, 0, __builtin_return_address(0),
                    "cudaMallocPitch");
}
cudaError_t cpu_device::allocate_async(void** pointer, std::size_t bytes, int device,
                                       const void* made_at) {
  return get_memory(pointer, bytes, memory_kind::device, 0, made_at, "cudaMallocAsync", device);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  if (pointer == nullptr) return cudaSuccess;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (stream != nullptr && cudaStreamIsCapturing(stream, &capture) == cudaSuccess &&
      capture != cudaStreamCaptureStatusNone)
    return refuse_in_capture("cudaFreeAsync", true);
  if (!find_allocation(pointer) || is_graphics_memory(pointer))
    return give_memory_back(pointer, true, "cudaFreeAsync");
  return enqueue(stream, [pointer] {
    std::string why;
    if (!release(pointer, true, &why)) fail(cudaErrorInvalidValue, "cudaFreeAsync: " + why + ".");
  });
}
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  if (free_bytes == nullptr || total_bytes == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *total_bytes = device_capacity();
  *free_bytes = *total_bytes - device_bytes_in_use(current_device());
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr || pointer == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const auto a = find_allocation(pointer);
  auto* address = const_cast<void*>(pointer);
  if (!a) {
    *attributes = {cudaMemoryTypeUnregistered, -2, nullptr, address};
    return cudaSuccess;
  }
  switch (a->kind) {
    case memory_kind::symbol:
    case memory_kind::device:
      *attributes = {cudaMemoryTypeDevice, a->device, address, nullptr};
      break;
    case memory_kind::managed:
      *attributes = {cudaMemoryTypeManaged, a->device, address, address};
      break;
    default:
      *attributes = {cudaMemoryTypeHost, a->device, address, address};
      break;
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return copy("cudaMemcpy", {to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1, kind,
              nullptr, true);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy("cudaMemcpyAsync", {to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1,
              kind, stream, false);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device,
                           std::size_t bytes) {
  if (to_device < 0 || to_device >= device_count() || from_device < 0 ||
      from_device >= device_count())
    return fail(cudaErrorInvalidDevice);
  for (int d = 0; d < device_count(); ++d) finish_device(d);
  return copy("cudaMemcpyPeer", {to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1,
              cudaMemcpyDeviceToDevice, nullptr, true);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream) {
  if (to_device < 0 || to_device >= device_count() || from_device < 0 ||
      from_device >= device_count())
    return fail(cudaErrorInvalidDevice);
  return copy("cudaMemcpyPeerAsync", {to, bytes, "destination"}, {from, bytes, "source"}, bytes, 1,
              cudaMemcpyDeviceToDevice, stream, false);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind) {
  return copy("cudaMemcpy2D", {to, to_pitch, "destination"}, {from, from_pitch, "source"},
              width_bytes, height, kind, nullptr, true);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width_bytes, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy("cudaMemcpy2DAsync", {to, to_pitch, "destination"}, {from, from_pitch, "source"},
              width_bytes, height, kind, stream, false);
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  return fill("cudaMemset", pointer, bytes, value, bytes, 1, nullptr);
}
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  return fill("cudaMemsetAsync", pointer, bytes, value, bytes, 1, stream);
}
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width_bytes,
                         std::size_t height) {
  return fill("cudaMemset2D", pointer, pitch, value, width_bytes, height, nullptr);
}
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width_bytes,
                              std::size_t height, cudaStream_t stream) {
  return fill("cudaMemset2DAsync", pointer, pitch, value, width_bytes, height, stream);
}

namespace cpu_device {

namespace {
cudaError_t check_symbol(const char* function, const void* symbol, std::size_t symbol_bytes,
                         std::size_t bytes, std::size_t offset) {
  if (symbol == nullptr) return fail(cudaErrorInvalidSymbol);
  if (offset > symbol_bytes || bytes > symbol_bytes - offset)
    return fail(cudaErrorInvalidValue, std::string(function) + ": " + std::to_string(bytes) +
                                           " bytes at offset " + std::to_string(offset) +
                                           " do not fit a variable of " +
                                           std::to_string(symbol_bytes) + " bytes.");
  return cudaSuccess;
}
}  // namespace

cudaError_t refuse_symbol_address(const char* function) {
  const std::string name(function);
  return fail(cudaErrorInvalidSymbol,
              name +
                  " was given the address of a variable. It wants the variable itself, although "
                  "it copies to or from the device's one. Try: drop the &, as in " +
                  (name == "cudaMemcpyToSymbol" ? "cudaMemcpyToSymbol(table, values, sizeof table)."
                                                : name + "(… table …)."));
}

cudaError_t symbol_address(void** pointer, const volatile void* symbol, std::size_t bytes) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *pointer = const_cast<void*>(symbol);
  note_symbol(*pointer, bytes);
  return cudaSuccess;
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from,
                           std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                           cudaStream_t stream, bool wait) {
  const cudaError_t status =
      check_symbol("cudaMemcpyToSymbol", symbol, symbol_bytes, bytes, offset);
  if (status != cudaSuccess) return status;
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  CPU_DEVICE_RETURN_PENDING_ERROR();
  auto* to = static_cast<char*>(symbol) + offset;
  const auto run = [=] { std::memcpy(to, from, bytes); };
  return wait || !find_allocation(from) ? enqueue_and_wait(stream, run) : enqueue(stream, run);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_bytes,
                             std::size_t bytes, std::size_t offset, cudaMemcpyKind kind,
                             cudaStream_t stream, bool wait) {
  const cudaError_t status =
      check_symbol("cudaMemcpyFromSymbol", symbol, symbol_bytes, bytes, offset);
  if (status != cudaSuccess) return status;
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice &&
      kind != cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return cudaSuccess;
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const auto* from = static_cast<const char*>(symbol) + offset;
  const auto run = [=] { std::memcpy(to, from, bytes); };
  return wait || !find_allocation(to) ? enqueue_and_wait(stream, run) : enqueue(stream, run);
}

}  // namespace cpu_device
