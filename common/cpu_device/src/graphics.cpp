// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// OpenGL's buffers for kernels, by way of host memory: read when they are mapped, written back when
// they are unmapped. What a kernel gets is memory of the CPU device, with its guards and checks.

#include "cpu_device/graphics.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cuda_gl_interop.h"
#include "device.hpp"
#include "engine.hpp"
#include "memory.hpp"
#include "report.hpp"
#include "streams.hpp"

namespace cpu_device {
namespace {

/// One use of a buffer, from map to unmap. Work in a stream may outlive it.
struct mapping {
  char* memory = nullptr;  // null when it is over
  std::size_t bytes = 0;
  unsigned flags = cudaGraphicsMapFlagsNone;
  std::vector<char> contents;  // of the buffer when it was mapped; empty for WriteDiscard
};

}  // namespace
}  // namespace cpu_device

struct cudaGraphicsResource {
  unsigned buffer = 0;
  int device = 0;
  std::size_t bytes = 0;
  unsigned flags = cudaGraphicsMapFlagsNone;
  std::shared_ptr<cpu_device::mapping> mapped;  // null: not mapped
};

namespace cpu_device {
namespace {

std::set<cudaGraphicsResource*>& resources_there_are() {
  static auto* all = new std::set<cudaGraphicsResource*>;
  return *all;
}

// --- OpenGL ------------------------------------------------------------------------------------

// Of OpenGL's specification. Its headers need not be there, and may differ in their version.
constexpr unsigned kArrayBuffer = 0x8892;
constexpr unsigned kArrayBufferBinding = 0x8894;
constexpr unsigned kBufferSize = 0x8764;

/// The functions of the OpenGL context that is current in this host thread.
struct gl_functions {
  unsigned char (*is_buffer)(unsigned) = nullptr;
  void (*bind_buffer)(unsigned, unsigned) = nullptr;
  void (*get_integer)(unsigned, int*) = nullptr;
  void (*get_buffer_parameter)(unsigned, unsigned, int*) = nullptr;
  void (*read)(unsigned, std::intptr_t, std::intptr_t, void*) = nullptr;
  void (*write)(unsigned, std::intptr_t, std::intptr_t, const void*) = nullptr;
  unsigned (*get_error)() = nullptr;
};

/// How a window system tells whether a context of its own is current, and finds OpenGL's functions.
struct window_system {
  const char* current_context;
  const char* find_function;
  const char* libraries[2];
};
constexpr window_system kWindowSystems[] = {
    {"eglGetCurrentContext", "eglGetProcAddress", {"libEGL.so.1", "libEGL.so"}},
    {"glXGetCurrentContext", "glXGetProcAddressARB", {"libGLX.so.0", "libGL.so.1"}},
    {"OSMesaGetCurrentContext", "OSMesaGetProcAddress", {"libOSMesa.so.8", "libOSMesa.so"}},
};

/// A function of the program, or of a library that it has loaded; nothing is loaded for it.
void* loaded_function(const char* name, const window_system& system) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return found;
  for (const char* library : system.libraries)  // GLFW and SDL load them for themselves alone
    if (void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD)) {
      void* found = dlsym(handle, name);
      dlclose(handle);
      if (found != nullptr) return found;
    }
  return nullptr;
}

template <class Function>
bool find(Function*& function, const char* name, void* (*find_function)(const char*)) {
  void* found = find_function(name);
  if (found == nullptr) found = dlsym(RTLD_DEFAULT, name);
  function = reinterpret_cast<Function*>(found);
  return found != nullptr;
}

/// Fails where this thread has no OpenGL context.
cudaError_t find_gl(const char* function, gl_functions& gl) {
  for (const window_system& system : kWindowSystems) {
    const auto current =
        reinterpret_cast<void* (*)()>(loaded_function(system.current_context, system));
    if (current == nullptr || current() == nullptr) continue;
    const auto find_function =
        reinterpret_cast<void* (*)(const char*)>(loaded_function(system.find_function, system));
    if (find_function != nullptr && find(gl.is_buffer, "glIsBuffer", find_function) &&
        find(gl.bind_buffer, "glBindBuffer", find_function) &&
        find(gl.get_integer, "glGetIntegerv", find_function) &&
        find(gl.get_buffer_parameter, "glGetBufferParameteriv", find_function) &&
        find(gl.read, "glGetBufferSubData", find_function) &&
        find(gl.write, "glBufferSubData", find_function) &&
        find(gl.get_error, "glGetError", find_function))
      return cudaSuccess;
    return fail(cudaErrorInvalidGraphicsContext,
                std::string(function) +
                    ": the current OpenGL context has no buffers that can be read "
                    "(glGetBufferSubData). Try: a context of desktop OpenGL 1.5 or later.");
  }
  return fail(cudaErrorInvalidGraphicsContext,
              std::string(function) +
                  ": no OpenGL context is current in this host thread. Try: make the call after "
                  "the window is there (glutCreateWindow, glfwMakeContextCurrent, "
                  "eglMakeCurrent), in the thread that draws.");
}

/// An error that the program's own calls of OpenGL have left must not be taken for one of ours.
void take_old_errors(const gl_functions& gl, const char* function) {
  for (int i = 0; i < 16; ++i) {  // a lost context gives errors without end
    const unsigned error = gl.get_error();
    if (error == 0) return;
    char number[16];
    std::snprintf(number, sizeof number, "0x%04X", error);
    explain(std::string(function) + ": an earlier call of OpenGL had failed (glGetError: " +
            number + "). Try: glGetError() after each of them.");
  }
}

/// Has the buffer bound while it lives. What the program has bound comes back.
class bound {
 public:
  bound(const gl_functions& gl, unsigned buffer) : gl_(gl) {
    gl_.get_integer(kArrayBufferBinding, &before_);
    gl_.bind_buffer(kArrayBuffer, buffer);
  }
  ~bound() { gl_.bind_buffer(kArrayBuffer, static_cast<unsigned>(before_)); }
  bound(const bound&) = delete;
  bound& operator=(const bound&) = delete;

  std::size_t bytes() const {
    int size = 0;
    gl_.get_buffer_parameter(kArrayBuffer, kBufferSize, &size);
    return static_cast<std::size_t>(std::max(size, 0));
  }
  bool read(void* to, std::size_t bytes) const {
    gl_.read(kArrayBuffer, 0, static_cast<std::intptr_t>(bytes), to);
    return gl_.get_error() == 0;
  }
  bool write(const void* from, std::size_t bytes) const {
    gl_.write(kArrayBuffer, 0, static_cast<std::intptr_t>(bytes), from);
    return gl_.get_error() == 0;
  }

 private:
  const gl_functions& gl_;
  int before_ = 0;
};

std::string name_of(const cudaGraphicsResource& resource) {
  return "OpenGL's buffer " + std::to_string(resource.buffer);
}

/// The buffer is still there, in this context, with the storage it was registered with.
cudaError_t check_buffer(const char* function, const gl_functions& gl,
                         const cudaGraphicsResource& resource, cudaError_t error) {
  const std::string what = std::string(function) + ": " + name_of(resource);
  if (gl.is_buffer(resource.buffer) == 0)
    return fail(error, what +
                           " is not there (any more) in the current context. Try: unregister it "
                           "before glDeleteBuffers, and map it where it was registered.");
  const std::size_t bytes = bound(gl, resource.buffer).bytes();
  if (bytes != resource.bytes)
    return fail(error, what + " had " + human_bytes(resource.bytes) +
                           " when it was registered and has " + human_bytes(bytes) +
                           " now. Try: unregister it before glBufferData gives it new storage, "
                           "then register it again.");
  return cudaSuccess;
}

// --- resources ---------------------------------------------------------------------------------

/// What every call here asks first. api_mutex() is not for kernels.
cudaError_t check_call(const char* function) {
  if (inside_kernel())
    return fail(cudaErrorNotSupported, std::string(function) + " was called inside a kernel");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

cudaError_t check_resource(const char* function, cudaGraphicsResource* resource) {
  if (resources_there_are().count(resource) != 0) return cudaSuccess;
  return fail(cudaErrorInvalidResourceHandle,
              std::string(function) +
                  ": this graphics resource does not exist: it was unregistered, or never "
                  "registered (cudaGraphicsGLRegisterBuffer).");
}

cudaError_t already_mapped(const char* function, const cudaGraphicsResource& resource,
                           const char* advice) {
  return fail(cudaErrorAlreadyMapped,
              std::string(function) + ": " + name_of(resource) + " is mapped. Try: " + advice);
}
cudaError_t not_mapped(const char* function, const cudaGraphicsResource& resource) {
  return fail(cudaErrorNotMapped, std::string(function) + ": " + name_of(resource) +
                                      " is not mapped. Try: cudaGraphicsMapResources first.");
}

/// The list of a call that maps or unmaps, and its stream.
cudaError_t check_list(const char* function, int count, cudaGraphicsResource** resources,
                       cudaStream_t stream) {
  if (count < 1 || resources == nullptr) return fail(cudaErrorInvalidValue);
  if (!is_stream(stream)) return bad_stream();
  if (const cudaError_t status = refuse_in_capture(function); status != cudaSuccess) return status;
  if (CUstream_st* on = resolve(stream); on->capture) return refuse_capturing(*on);
  for (int i = 0; i < count; ++i) {
    if (const cudaError_t status = check_resource(function, resources[i]); status != cudaSuccess)
      return status;
    if (std::find(resources, resources + i, resources[i]) != resources + i)
      return fail(cudaErrorInvalidResourceHandle,
                  std::string(function) + ": " + name_of(*resources[i]) + " is named twice.");
  }
  return cudaSuccess;
}

void end_mapping(cudaGraphicsResource& resource) {
  std::string ignored;
  release(resource.mapped->memory, true, &ignored);
  resource.mapped->memory = nullptr;
  resource.mapped = nullptr;
}

cudaError_t map(const char* function, const gl_functions& gl, cudaGraphicsResource& resource,
                cudaStream_t stream, const void* made_at) {
  cudaError_t status = check_buffer(function, gl, resource, cudaErrorMapBufferObjectFailed);
  if (status != cudaSuccess) return status;
  const auto now = std::make_shared<mapping>();
  now->bytes = resource.bytes;
  now->flags = resource.flags;
  if (now->flags != cudaGraphicsMapFlagsWriteDiscard) {
    now->contents.resize(now->bytes);
    if (!bound(gl, resource.buffer).read(now->contents.data(), now->bytes))
      return fail(cudaErrorMapBufferObjectFailed,
                  std::string(function) + ": OpenGL does not give the contents of its buffer " +
                      std::to_string(resource.buffer) +
                      ". Try: glUnmapBuffer, if the program has mapped it with glMapBuffer.");
  }
  now->memory =
      static_cast<char*>(allocate(now->bytes, memory_kind::device, resource.device, 0, made_at));
  if (now->memory == nullptr)
    return fail(cudaErrorMemoryAllocation,
                std::string(function) + ": " + human_bytes(now->bytes) + " do not fit.");
  resource.mapped = now;
  if (now->contents.empty()) return cudaSuccess;
  // Only the work of this stream may count on them.
  return enqueue(stream, [now] {
    if (now->memory != nullptr) std::memcpy(now->memory, now->contents.data(), now->bytes);
  });
}

cudaError_t write_back(const char* function, const gl_functions& gl,
                       const cudaGraphicsResource& resource) {
  const mapping& m = *resource.mapped;
  if (m.flags == cudaGraphicsMapFlagsReadOnly) {
    if (std::memcmp(m.memory, m.contents.data(), m.bytes) != 0)
      report(name_of(resource) +
             " was mapped to be read only, and a kernel or a copy has written to it.\n  OpenGL "
             "keeps what it had. Try: cudaGraphicsRegisterFlagsNone.");
    return cudaSuccess;
  }
  const cudaError_t status = check_buffer(function, gl, resource, cudaErrorUnmapBufferObjectFailed);
  if (status != cudaSuccess) return status;
  if (!bound(gl, resource.buffer).write(m.memory, m.bytes))
    return fail(cudaErrorUnmapBufferObjectFailed,
                std::string(function) + ": OpenGL does not take the contents of its buffer " +
                    std::to_string(resource.buffer) +
                    ". Try: glUnmapBuffer, if the program has mapped it with glMapBuffer.");
  return cudaSuccess;
}

}  // namespace

bool is_graphics_memory(const void* pointer) {
  const std::lock_guard lock(api_mutex());
  return std::any_of(
      resources_there_are().begin(), resources_there_are().end(),
      [&](const auto* r) { return r->mapped != nullptr && r->mapped->memory == pointer; });
}

std::size_t live_graphics_resources() {
  const std::lock_guard lock(api_mutex());
  return resources_there_are().size();
}

void forget_graphics(int device) {
  for (auto it = resources_there_are().begin(); it != resources_there_are().end();) {
    cudaGraphicsResource* resource = *it;
    if (resource->device != device) {
      ++it;
      continue;
    }
    if (resource->mapped != nullptr) end_mapping(*resource);
    it = resources_there_are().erase(it);
    delete resource;
  }
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGLGetDevices(unsigned int* count, int* devices, unsigned int room,
                             cudaGLDeviceList list) {
  if (count == nullptr || devices == nullptr || list < cudaGLDeviceListAll ||
      list > cudaGLDeviceListNextFrame)
    return fail(cudaErrorInvalidValue);
  if (const cudaError_t status = check_call("cudaGLGetDevices"); status != cudaSuccess)
    return status;
  gl_functions gl;
  if (const cudaError_t status = find_gl("cudaGLGetDevices", gl); status != cudaSuccess)
    return status;
  *count = static_cast<unsigned>(device_count());
  for (unsigned i = 0; i < std::min(*count, room); ++i) devices[i] = static_cast<int>(i);
  return cudaSuccess;
}

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, GLuint buffer,
                                         unsigned int flags) {
  constexpr const char* kFunction = "cudaGraphicsGLRegisterBuffer";
  if (resource == nullptr) return fail(cudaErrorInvalidValue);
  if (flags > cudaGraphicsRegisterFlagsWriteDiscard)
    return fail(cudaErrorInvalidValue,
                std::string(kFunction) +
                    ": the flags of a buffer are cudaGraphicsRegisterFlagsNone, …ReadOnly or "
                    "…WriteDiscard.");
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  gl_functions gl;
  if (const cudaError_t status = find_gl(kFunction, gl); status != cudaSuccess) return status;
  take_old_errors(gl, kFunction);
  const bool exists = gl.is_buffer(buffer) != 0;
  const std::size_t bytes = exists ? bound(gl, buffer).bytes() : 0;
  if (bytes == 0)
    return fail(cudaErrorInvalidValue,
                std::string(kFunction) + ": OpenGL's buffer " + std::to_string(buffer) +
                    (exists ? " has no storage yet. Try: glBufferData first."
                            : " does not exist in the current context. Try: glGenBuffers, "
                              "glBindBuffer and glBufferData first."));
  auto* made = new cudaGraphicsResource;
  made->buffer = buffer;
  made->device = current_device();
  made->bytes = bytes;
  made->flags = flags;
  resources_there_are().insert(made);
  *resource = made;
  return cudaSuccess;
}

cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, GLuint, GLenum,
                                        unsigned int) {
  if (resource == nullptr) return fail(cudaErrorInvalidValue);
  return fail(cudaErrorNotSupported,
              "cudaGraphicsGLRegisterImage: the CPU device takes buffers of OpenGL, not its "
              "textures. Try: a pixel buffer object and cudaGraphicsGLRegisterBuffer, then "
              "glTexSubImage2D from that buffer.");
}

cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
  constexpr const char* kFunction = "cudaGraphicsUnregisterResource";
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  if (const cudaError_t status = check_resource(kFunction, resource); status != cudaSuccess)
    return status;
  if (resource->mapped != nullptr)
    return already_mapped(kFunction, *resource, "cudaGraphicsUnmapResources first.");
  resources_there_are().erase(resource);
  delete resource;
  return cudaSuccess;
}

cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags) {
  constexpr const char* kFunction = "cudaGraphicsResourceSetMapFlags";
  if (flags > cudaGraphicsMapFlagsWriteDiscard) return fail(cudaErrorInvalidValue);
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  if (const cudaError_t status = check_resource(kFunction, resource); status != cudaSuccess)
    return status;
  if (resource->mapped != nullptr)
    return already_mapped(kFunction, *resource, "set the flags before it is mapped.");
  resource->flags = flags;
  return cudaSuccess;
}

cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                     cudaStream_t stream) {
  constexpr const char* kFunction = "cudaGraphicsMapResources";
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  cudaError_t status = check_list(kFunction, count, resources, stream);
  if (status != cudaSuccess) return status;
  for (int i = 0; i < count; ++i)
    if (resources[i]->mapped != nullptr)
      return already_mapped(kFunction, *resources[i], "cudaGraphicsUnmapResources first.");
  gl_functions gl;
  if (status = find_gl(kFunction, gl); status != cudaSuccess) return status;
  take_old_errors(gl, kFunction);
  for (int i = 0; i < count && status == cudaSuccess; ++i)
    status = map(kFunction, gl, *resources[i], stream, __builtin_return_address(0));
  if (status == cudaSuccess) return cudaSuccess;
  for (int i = 0; i < count; ++i)
    if (resources[i]->mapped != nullptr) end_mapping(*resources[i]);
  return status;
}

cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream) {
  constexpr const char* kFunction = "cudaGraphicsUnmapResources";
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  cudaError_t status = check_list(kFunction, count, resources, stream);
  if (status != cudaSuccess) return status;
  for (int i = 0; i < count; ++i)
    if (resources[i]->mapped == nullptr) return not_mapped(kFunction, *resources[i]);
  gl_functions gl;
  if (status = find_gl(kFunction, gl); status != cudaSuccess) return status;
  take_old_errors(gl, kFunction);
  // What other streams still do to these buffers comes too late for OpenGL, and before the memory
  // goes.
  if (status = cudaStreamSynchronize(stream); status != cudaSuccess) return status;
  for (int i = 0; i < count; ++i)
    if (status = write_back(kFunction, gl, *resources[i]); status != cudaSuccess) return status;
  for (int d = 0; d < device_count(); ++d) finish_device(d);
  for (int i = 0; i < count; ++i) end_mapping(*resources[i]);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, std::size_t* bytes,
                                                 cudaGraphicsResource_t resource) {
  constexpr const char* kFunction = "cudaGraphicsResourceGetMappedPointer";
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  if (const cudaError_t status = check_resource(kFunction, resource); status != cudaSuccess)
    return status;
  if (resource->mapped == nullptr) return not_mapped(kFunction, *resource);
  *pointer = resource->mapped->memory;
  if (bytes != nullptr) *bytes = resource->mapped->bytes;
  return cudaSuccess;
}

cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array,
                                                  cudaGraphicsResource_t resource, unsigned int,
                                                  unsigned int) {
  constexpr const char* kFunction = "cudaGraphicsSubResourceGetMappedArray";
  if (array == nullptr) return fail(cudaErrorInvalidValue);
  if (const cudaError_t status = check_call(kFunction); status != cudaSuccess) return status;
  const std::lock_guard lock(api_mutex());
  if (const cudaError_t status = check_resource(kFunction, resource); status != cudaSuccess)
    return status;
  if (resource->mapped == nullptr) return not_mapped(kFunction, *resource);
  return fail(cudaErrorNotMappedAsArray,
              std::string(kFunction) + ": " + name_of(*resource) +
                  " is no texture. Try: cudaGraphicsResourceGetMappedPointer.");
}
