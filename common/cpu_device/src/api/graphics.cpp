// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// OpenGL's buffers and textures for kernels, by way of host memory: read when they are mapped,
// written back when they are unmapped. What a kernel gets is memory of the CPU device, with its
// guards and checks.

#include "cpu_device/graphics.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/arrays.hpp"
#include "api/memory_api.hpp"
#include "api/opengl.hpp"
#include "api/streams.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "cuda_gl_interop.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

/// One use of a buffer or texture, from map to unmap. Work in a stream may outlive it.
struct mapping {
  char* memory = nullptr;  // null when it is over
  std::size_t bytes = 0;
  cudaArray_t array = nullptr;  // of a texture: its texels are in `memory`
  unsigned flags = cudaGraphicsMapFlagsNone;
  std::vector<char> contents;  // what OpenGL had when it was mapped; empty for WriteDiscard
};

}  // namespace
}  // namespace cpu_device

struct cudaGraphicsResource {
  unsigned name = 0;                                    // OpenGL's
  const cpu_device::texture_target* texture = nullptr;  // null: it is a buffer
  cpu_device::texture_image image;                      // of a texture
  unsigned array_flags = cudaArrayDefault;              // of a texture
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

// --- what OpenGL has -----------------------------------------------------------------------------

std::string name_of(const cudaGraphicsResource& resource) {
  return (resource.texture != nullptr ? "OpenGL's texture " : "OpenGL's buffer ") +
         std::to_string(resource.name);
}

std::string size_of(const texture_image& image) {
  std::string text =
      std::to_string(image.extent.width) + " x " + std::to_string(image.extent.height);
  return image.extent.depth == 0 ? text : text + " x " + std::to_string(image.extent.depth);
}

/// The texture is still there, in this context, with the image it was registered with.
cudaError_t check_texture(const std::string& what, const gl_functions& gl,
                          const cudaGraphicsResource& resource, cudaError_t error) {
  if (gl.is_texture(resource.name) == 0)
    return fail(error, what +
                           " is not there (any more) in the current context. Try: unregister it "
                           "before glDeleteTextures, and map it where it was registered.");
  const texture_image image = bound_texture(gl, *resource.texture, resource.name).image();
  if (image == resource.image) return cudaSuccess;
  return fail(error, what + " had " + size_of(resource.image) +
                         " texels when it was registered and has " + size_of(image) +
                         (size_of(image) == size_of(resource.image) ? " of another format" : "") +
                         " now. Try: unregister it before glTexImage gives it a new image, then "
                         "register it again.");
}

/// The buffer is still there, in this context, with the storage it was registered with.
cudaError_t check_buffer(const std::string& what, const gl_functions& gl,
                         const cudaGraphicsResource& resource, cudaError_t error) {
  if (gl.is_buffer(resource.name) == 0)
    return fail(error, what +
                           " is not there (any more) in the current context. Try: unregister it "
                           "before glDeleteBuffers, and map it where it was registered.");
  const std::size_t bytes = bound_buffer(gl, resource.name).bytes();
  if (bytes != resource.bytes)
    return fail(error, what + " had " + human_bytes(resource.bytes) +
                           " when it was registered and has " + human_bytes(bytes) +
                           " now. Try: unregister it before glBufferData gives it new storage, "
                           "then register it again.");
  return cudaSuccess;
}

cudaError_t check_object(const gl_functions& gl, const cudaGraphicsResource& resource,
                         cudaError_t error) {
  const std::string what = this_call() + ": " + name_of(resource);
  return resource.texture != nullptr ? check_texture(what, gl, resource, error)
                                     : check_buffer(what, gl, resource, error);
}

bool read_object(const gl_functions& gl, const cudaGraphicsResource& resource, char* to) {
  if (resource.texture != nullptr)
    return bound_texture(gl, *resource.texture, resource.name).read(resource.image, to);
  return bound_buffer(gl, resource.name).read(to, resource.bytes);
}
bool write_object(const gl_functions& gl, const cudaGraphicsResource& resource, const char* from) {
  if (resource.texture != nullptr)
    return bound_texture(gl, *resource.texture, resource.name).write(resource.image, from);
  return bound_buffer(gl, resource.name).write(from, resource.bytes);
}

/// The functions that these resources need.
cudaError_t find_gl_for(int count, cudaGraphicsResource** resources, gl_functions& gl) {
  const bool textures = std::any_of(resources, resources + count,
                                    [](const auto* r) { return r->texture != nullptr; });
  return textures ? find_gl_textures(gl) : find_gl(gl);
}

// --- resources ---------------------------------------------------------------------------------

cudaError_t check_resource(cudaGraphicsResource* resource) {
  if (resources_there_are().count(resource) != 0) return cudaSuccess;
  return fail(cudaErrorInvalidResourceHandle,
              this_call() +
                  ": this graphics resource does not exist: it was unregistered, or never "
                  "registered (cudaGraphicsGLRegisterBuffer, cudaGraphicsGLRegisterImage).");
}

cudaError_t already_mapped(const cudaGraphicsResource& resource, const char* advice) {
  return fail(cudaErrorAlreadyMapped,
              this_call() + ": " + name_of(resource) + " is mapped. Try: " + advice);
}
cudaError_t not_mapped(const cudaGraphicsResource& resource) {
  return fail(cudaErrorNotMapped, this_call() + ": " + name_of(resource) +
                                      " is not mapped. Try: cudaGraphicsMapResources first.");
}

/// The list of a call that maps or unmaps, and its stream.
cudaError_t check_list(int count, cudaGraphicsResource** resources, cudaStream_t stream) {
  if (count < 1 || resources == nullptr) return fail(cudaErrorInvalidValue);
  if (!is_stream(stream)) return bad_stream();
  if (CUstream_st* on = resolve(stream); on->capture) return refuse_capturing(*on);
  for (int i = 0; i < count; ++i) {
    if (const cudaError_t status = check_resource(resources[i]); status != cudaSuccess)
      return status;
    if (std::find(resources, resources + i, resources[i]) != resources + i)
      return fail(cudaErrorInvalidResourceHandle,
                  this_call() + ": " + name_of(*resources[i]) + " is named twice.");
  }
  return cudaSuccess;
}

void end_mapping(cudaGraphicsResource& resource) {
  std::string ignored;
  if (resource.mapped->array != nullptr)
    free_graphics_array(resource.mapped->array);
  else
    release(resource.mapped->memory, true, &ignored);
  resource.mapped->memory = nullptr;
  resource.mapped = nullptr;
}

cudaError_t map(const gl_functions& gl, cudaGraphicsResource& resource, cudaStream_t stream,
                const void* made_at) {
  cudaError_t status = check_object(gl, resource, cudaErrorMapBufferObjectFailed);
  if (status != cudaSuccess) return status;
  const auto now = std::make_shared<mapping>();
  now->bytes = resource.bytes;
  now->flags = resource.flags;
  if (now->flags != cudaGraphicsMapFlagsWriteDiscard) {
    now->contents.resize(now->bytes);
    if (!read_object(gl, resource, now->contents.data()))
      return fail(cudaErrorMapBufferObjectFailed,
                  this_call() + ": OpenGL does not give the contents of its " +
                      name_of(resource).substr(9) +
                      ". Try: glUnmapBuffer, if the program has mapped it with glMapBuffer.");
  }
  if (resource.texture != nullptr) {
    status =
        make_graphics_array(&now->array, &now->memory, resource.image.desc, resource.image.extent,
                            resource.array_flags, resource.device, made_at);
    if (status != cudaSuccess) return status;
  } else {
    now->memory =
        static_cast<char*>(allocate(now->bytes, memory_kind::device, resource.device, 0, made_at));
    if (now->memory == nullptr)
      return fail(cudaErrorMemoryAllocation,
                  this_call() + ": " + human_bytes(now->bytes) + " do not fit.");
  }
  resource.mapped = now;
  if (now->contents.empty()) return cudaSuccess;
  // Only the work of this stream may count on them.
  return enqueue(stream, [now] {
    if (now->memory != nullptr) std::memcpy(now->memory, now->contents.data(), now->bytes);
  });
}

cudaError_t write_back(const gl_functions& gl, const cudaGraphicsResource& resource) {
  const mapping& m = *resource.mapped;
  if (m.flags == cudaGraphicsMapFlagsReadOnly) {
    if (std::memcmp(m.memory, m.contents.data(), m.bytes) != 0)
      report(name_of(resource) +
             " was mapped to be read only, and a kernel or a copy has written to it.\n  OpenGL "
             "keeps what it had. Try: cudaGraphicsRegisterFlagsNone.");
    return cudaSuccess;
  }
  const cudaError_t status = check_object(gl, resource, cudaErrorUnmapBufferObjectFailed);
  if (status != cudaSuccess) return status;
  if (!write_object(gl, resource, m.memory))
    return fail(cudaErrorUnmapBufferObjectFailed,
                this_call() + ": OpenGL does not take the contents of its " +
                    name_of(resource).substr(9) +
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

const object_keeper keeps_resources(object_kind::graphics_resource,
                                    [] { return resources_there_are().size(); });

static void forget_graphics(int device) {
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
const bool resets_graphics = on_reset(reset_step::graphics, forget_graphics);

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaGLGetDevices(unsigned int* count, int* devices, unsigned int room,
                             cudaGLDeviceList list) {
  return call(api::cudaGLGetDevices, [&] {
    if (count == nullptr || devices == nullptr || list < cudaGLDeviceListAll ||
        list > cudaGLDeviceListNextFrame)
      return fail(cudaErrorInvalidValue);
    gl_functions gl;
    if (const cudaError_t status = find_gl(gl); status != cudaSuccess) return status;
    *count = static_cast<unsigned>(device_count());
    for (unsigned i = 0; i < std::min(*count, room); ++i) devices[i] = static_cast<int>(i);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, GLuint buffer,
                                         unsigned int flags) {
  return call(api::cudaGraphicsGLRegisterBuffer, [&] {
    if (resource == nullptr) return fail(cudaErrorInvalidValue);
    if (flags > cudaGraphicsRegisterFlagsWriteDiscard)
      return fail(cudaErrorInvalidValue,
                  this_call() +
                      ": the flags of a buffer are cudaGraphicsRegisterFlagsNone, …ReadOnly or "
                      "…WriteDiscard.");
    gl_functions gl;
    if (const cudaError_t status = find_gl(gl); status != cudaSuccess) return status;
    take_old_errors(gl);
    const bool exists = gl.is_buffer(buffer) != 0;
    const std::size_t bytes = exists ? bound_buffer(gl, buffer).bytes() : 0;
    if (bytes == 0)
      return fail(cudaErrorInvalidValue,
                  this_call() + ": OpenGL's buffer " + std::to_string(buffer) +
                      (exists ? " has no storage yet. Try: glBufferData first."
                              : " does not exist in the current context. Try: glGenBuffers, "
                                "glBindBuffer and glBufferData first."));
    auto* made = new cudaGraphicsResource;
    made->name = buffer;
    made->device = current_device();
    made->bytes = bytes;
    made->flags = flags;
    resources_there_are().insert(made);
    *resource = made;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, GLuint texture,
                                        GLenum target, unsigned int flags) {
  return call(api::cudaGraphicsGLRegisterImage, [&] {
    constexpr unsigned kForReading = cudaGraphicsRegisterFlagsReadOnly,
                       kForWriting = cudaGraphicsRegisterFlagsWriteDiscard,
                       kSurface = cudaGraphicsRegisterFlagsSurfaceLoadStore,
                       kGather = cudaGraphicsRegisterFlagsTextureGather;
    if (resource == nullptr) return fail(cudaErrorInvalidValue);
    if ((flags & ~(kForReading | kForWriting | kSurface | kGather)) != 0 ||
        (flags & (kForReading | kForWriting)) == (kForReading | kForWriting))
      return fail(cudaErrorInvalidValue,
                  this_call() +
                      ": the flags of a texture are cudaGraphicsRegisterFlagsNone, …ReadOnly or "
                      "…WriteDiscard, and …SurfaceLoadStore where a kernel writes to it.");
    const texture_target* kind = find_texture_target(target);
    if (kind == nullptr)
      return fail(
          cudaErrorNotSupported,
          this_call() +
              ": the CPU device takes GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE and GL_TEXTURE_3D, "
              "no cubemaps, layers and render buffers. Try: a texture of these kinds.");
    gl_functions gl;
    if (const cudaError_t status = find_gl_textures(gl); status != cudaSuccess) return status;
    take_old_errors(gl);
    const std::string what = this_call() + ": OpenGL's texture " + std::to_string(texture);
    if (gl.is_texture(texture) == 0)
      return fail(cudaErrorInvalidValue,
                  what +
                      " does not exist in the current context. Try: glGenTextures, glBindTexture "
                      "and glTexImage2D first.");
    const bound_texture bound(gl, *kind, texture);
    if (!bound.is_of_this_kind())
      return fail(cudaErrorInvalidValue,
                  what + " is no " + kind->name + ". Try: the target that it was first bound to.");
    const texture_image image = bound.image();
    if (image.extent.width == 0)
      return fail(cudaErrorInvalidValue, what + " has no image yet. Try: glTexImage2D first.");
    if (image.type == 0)
      return fail(cudaErrorInvalidValue,
                  what +
                      "'s format is none that CUDA has: 1, 2 or 4 channels (not 3) of 8, 16 or 32 "
                      "bits. Try: GL_RGBA8, GL_R32F and the like for glTexImage2D.");
    const std::size_t texel_bytes = bytes_of_texel(image.desc);
    if (texel_bytes == 0)
      return fail(cudaErrorNotSupported,
                  what +
                      " has texels of half precision, which the CPU device has not. Try: "
                      "GL_RGBA32F and the like.");
    auto* made = new cudaGraphicsResource;
    made->name = texture;
    made->texture = kind;
    made->image = image;
    if ((flags & kSurface) != 0) made->array_flags |= cudaArraySurfaceLoadStore;
    if ((flags & kGather) != 0) made->array_flags |= cudaArrayTextureGather;
    made->device = current_device();
    made->bytes = image.extent.width * image.extent.height *
                  std::max<std::size_t>(image.extent.depth, 1) * texel_bytes;
    made->flags = flags & (kForReading | kForWriting);
    resources_there_are().insert(made);
    *resource = made;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource) {
  return call(api::cudaGraphicsUnregisterResource, [&] {
    if (const cudaError_t status = check_resource(resource); status != cudaSuccess) return status;
    if (resource->mapped != nullptr)
      return already_mapped(*resource, "cudaGraphicsUnmapResources first.");
    resources_there_are().erase(resource);
    delete resource;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags) {
  return call(api::cudaGraphicsResourceSetMapFlags, [&] {
    if (flags > cudaGraphicsMapFlagsWriteDiscard) return fail(cudaErrorInvalidValue);
    if (const cudaError_t status = check_resource(resource); status != cudaSuccess) return status;
    if (resource->mapped != nullptr)
      return already_mapped(*resource, "set the flags before it is mapped.");
    resource->flags = flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                     cudaStream_t stream) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaGraphicsMapResources, [&] {
    cudaError_t status = check_list(count, resources, stream);
    if (status != cudaSuccess) return status;
    for (int i = 0; i < count; ++i)
      if (resources[i]->mapped != nullptr)
        return already_mapped(*resources[i], "cudaGraphicsUnmapResources first.");
    gl_functions gl;
    if (status = find_gl_for(count, resources, gl); status != cudaSuccess) return status;
    take_old_errors(gl);
    for (int i = 0; i < count && status == cudaSuccess; ++i)
      status = map(gl, *resources[i], stream, made_at);
    if (status == cudaSuccess) return cudaSuccess;
    for (int i = 0; i < count; ++i)
      if (resources[i]->mapped != nullptr) end_mapping(*resources[i]);
    return status;
  });
}

cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream) {
  return call(api::cudaGraphicsUnmapResources, [&] {
    cudaError_t status = check_list(count, resources, stream);
    if (status != cudaSuccess) return status;
    for (int i = 0; i < count; ++i)
      if (resources[i]->mapped == nullptr) return not_mapped(*resources[i]);
    gl_functions gl;
    if (status = find_gl_for(count, resources, gl); status != cudaSuccess) return status;
    take_old_errors(gl);
    // What other streams still do to these buffers comes too late for OpenGL, and before the memory
    // goes.
    if (status = cudaStreamSynchronize(stream); status != cudaSuccess) return status;
    for (int i = 0; i < count; ++i)
      if (status = write_back(gl, *resources[i]); status != cudaSuccess) return status;
    for (int d = 0; d < device_count(); ++d) finish_device(d);
    for (int i = 0; i < count; ++i) end_mapping(*resources[i]);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, std::size_t* bytes,
                                                 cudaGraphicsResource_t resource) {
  return call(api::cudaGraphicsResourceGetMappedPointer, [&] {
    if (pointer == nullptr) return fail(cudaErrorInvalidValue);
    if (const cudaError_t status = check_resource(resource); status != cudaSuccess) return status;
    if (resource->mapped == nullptr) return not_mapped(*resource);
    if (resource->texture != nullptr)
      return fail(cudaErrorNotMappedAsPointer,
                  this_call() + ": " + name_of(*resource) +
                      " is no buffer. Try: cudaGraphicsSubResourceGetMappedArray.");
    *pointer = resource->mapped->memory;
    if (bytes != nullptr) *bytes = resource->mapped->bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array,
                                                  cudaGraphicsResource_t resource,
                                                  unsigned int index, unsigned int level) {
  return call(api::cudaGraphicsSubResourceGetMappedArray, [&] {
    if (array == nullptr) return fail(cudaErrorInvalidValue);
    if (const cudaError_t status = check_resource(resource); status != cudaSuccess) return status;
    if (resource->mapped == nullptr) return not_mapped(*resource);
    if (resource->texture == nullptr)
      return fail(cudaErrorNotMappedAsArray,
                  this_call() + ": " + name_of(*resource) +
                      " is no texture. Try: cudaGraphicsResourceGetMappedPointer.");
    if (index != 0 || level != 0)
      return fail(cudaErrorInvalidValue,
                  this_call() + ": " + name_of(*resource) +
                      " has one image here: index 0, level 0. Mipmaps are not there.");
    *array = resource->mapped->array;
    return cudaSuccess;
  });
}
