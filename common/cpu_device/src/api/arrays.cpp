// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arrays: allocating, freeing, and what they say of themselves.

#include "api/arrays.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "api/stream_queue.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"

namespace cpu_device {
namespace {

std::set<const cudaArray*>& arrays() {
  static auto* all = new std::set<const cudaArray*>;
  return *all;
}

cudaDeviceProp limits() {
  cudaDeviceProp p{};
  set_texture_limits(p);
  return p;
}

}  // namespace

/// A live array; the pointer is not followed before that is known.
const cudaArray* find_array(cudaArray_const_t array) {
  return arrays().count(array) != 0 ? array : nullptr;
}
cudaError_t no_such_array(cudaArray_const_t array) {
  return fail(cudaErrorInvalidResourceHandle,
              this_call() + (array == nullptr ? ": the array is a null pointer."
                                              : ": this array does not exist: it was "
                                                "freed, or never allocated."));
}

/// Bytes of a texel; 0 for a format that textures do not have.
std::size_t bytes_of_texel(const cudaChannelFormatDesc& d) {
  const int bits = d.x;
  const bool float_kind = d.f == cudaChannelFormatKindFloat;
  const bool integer_kind =
      d.f == cudaChannelFormatKindSigned || d.f == cudaChannelFormatKindUnsigned;
  if (!(float_kind && bits == 32) && !(integer_kind && (bits == 8 || bits == 16 || bits == 32)))
    return 0;
  const bool one = d.y == 0 && d.z == 0 && d.w == 0;
  const bool two = d.y == bits && d.z == 0 && d.w == 0;
  const bool four = d.y == bits && d.z == bits && d.w == bits;
  return static_cast<std::size_t>(bits / 8) * (one ? 1 : two ? 2 : four ? 4 : 0);
}
int channels_of(const cudaChannelFormatDesc& d) { return d.w != 0 ? 4 : d.y != 0 ? 2 : 1; }

cudaError_t bad_format(const cudaChannelFormatDesc& d) {
  if (d.f == cudaChannelFormatKindFloat && d.x == 16)
    return fail(cudaErrorNotSupported,
                this_call() + ": the CPU device has no textures of half precision.");
  return fail(cudaErrorInvalidChannelDescriptor,
              this_call() +
                  ": this channel format does not exist. A texel has 1, 2 or 4 channels (not 3) of "
                  "one type: 8, 16 or 32 bits signed or unsigned, or 32 bits float. Try: "
                  "cudaCreateChannelDesc<float>().");
}

void set_texture_limits(cudaDeviceProp& p) {
  p.maxTexture1D = 131072;
  p.maxTexture2D[0] = 131072;
  p.maxTexture2D[1] = 65536;
  p.maxTexture2DLinear[0] = 131072;
  p.maxTexture2DLinear[1] = 65000;
  p.maxTexture2DLinear[2] = 2097120;
  p.maxTexture2DGather[0] = p.maxTexture2DGather[1] = 32768;
  p.maxTexture3D[0] = p.maxTexture3D[1] = p.maxTexture3D[2] = 16384;
  p.maxTexture3DAlt[0] = p.maxTexture3DAlt[1] = 8192;
  p.maxTexture3DAlt[2] = 32768;
  p.maxTexture1DLayered[0] = p.maxTexture2DLayered[0] = p.maxTexture2DLayered[1] = 32768;
  p.maxTexture1DLayered[1] = p.maxTexture2DLayered[2] = 2048;
  p.maxTextureCubemap = p.maxTextureCubemapLayered[0] = 32768;
  p.maxTextureCubemapLayered[1] = 2046;
  p.maxSurfaceCubemap = p.maxSurfaceCubemapLayered[0] = 32768;
  p.maxSurfaceCubemapLayered[1] = 2046;
  p.maxSurface1D = 32768;
  p.maxSurface2D[0] = 131072;
  p.maxSurface2D[1] = 65536;
  p.maxSurface3D[0] = p.maxSurface3D[1] = p.maxSurface3D[2] = 16384;
  p.maxSurface1DLayered[0] = p.maxSurface2DLayered[0] = p.maxSurface2DLayered[1] = 32768;
  p.maxSurface1DLayered[1] = p.maxSurface2DLayered[2] = 2048;
  p.surfaceAlignment = 512;
}

namespace {

/// True when the extent is one that arrays with these flags may have.
bool valid_extent(const cudaExtent& e, unsigned flags) {
  const cudaDeviceProp p = limits();
  const bool surface = (flags & cudaArraySurfaceLoadStore) != 0;
  const bool gather = (flags & cudaArrayTextureGather) != 0;
  if (e.width == 0) return false;
  if ((flags & cudaArrayCubemap) != 0)
    return !gather && e.width == e.height && fits(e.width, p.maxTextureCubemap) && e.depth != 0 &&
           ((flags & cudaArrayLayered) != 0
                ? e.depth % 6 == 0 && fits(e.depth, p.maxTextureCubemapLayered[1])
                : e.depth == 6);
  if ((flags & cudaArrayLayered) != 0) {
    if (e.depth == 0 || gather) return false;
    return e.height == 0
               ? fits(e.width, p.maxTexture1DLayered[0]) && fits(e.depth, p.maxTexture1DLayered[1])
               : fits(e.width, p.maxTexture2DLayered[0]) &&
                     fits(e.height, p.maxTexture2DLayered[1]) &&
                     fits(e.depth, p.maxTexture2DLayered[2]);
  }
  if (e.depth != 0) {
    const auto within = [&](const int* most) {
      return fits(e.width, most[0]) && fits(e.height, most[1]) && fits(e.depth, most[2]);
    };
    return e.height != 0 && !gather &&
           (within(p.maxTexture3D) || (!surface && within(p.maxTexture3DAlt)));
  }
  if (e.height != 0) {
    const int* most = gather ? p.maxTexture2DGather : p.maxTexture2D;
    return fits(e.width, most[0]) && fits(e.height, most[1]);
  }
  return !gather && fits(e.width, surface ? p.maxSurface1D : p.maxTexture1D);
}

cudaError_t make_array(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                       const cudaExtent& extent, unsigned flags, int device, const void* made_at) {
  if (array == nullptr || desc == nullptr) return fail(cudaErrorInvalidValue);
  *array = nullptr;
  const std::size_t texel_bytes = bytes_of_texel(*desc);
  if (texel_bytes == 0) return bad_format(*desc);
  constexpr unsigned kRefused =
      cudaArrayColorAttachment | cudaArraySparse | cudaArrayDeferredMapping;
  if ((flags & kRefused) != 0)
    return fail(cudaErrorNotSupported,
                this_call() +
                    ": the CPU device has no sparse or deferred arrays. Try: cudaArrayDefault, "
                    "cudaArrayLayered, cudaArrayCubemap, cudaArraySurfaceLoadStore.");
  constexpr unsigned kKnown =
      cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap | cudaArrayTextureGather;
  if ((flags & ~kKnown) != 0 || !valid_extent(extent, flags))
    return fail(cudaErrorInvalidValue,
                this_call() + ": an array of " + std::to_string(extent.width) + " x " +
                    std::to_string(extent.height) + " x " + std::to_string(extent.depth) +
                    " elements with the flags " + std::to_string(flags) +
                    " cannot be. A height or depth that is not used is 0, a cubemap is as wide as "
                    "high and has 6 faces a layer; cudaDeviceProp (maxTexture1D, maxTexture2D ...) "
                    "has the largest sizes.");
  auto* made = new cudaArray;
  made->desc = *desc;
  made->extent = extent;
  made->flags = flags;
  made->device = device;
  made->texel_bytes = texel_bytes;
  made->row_bytes = extent.width * texel_bytes;
  made->rows = std::max<std::size_t>(extent.height, 1);
  made->slices = std::max<std::size_t>(extent.depth, 1);
  made->data =
      static_cast<char*>(allocate(made->bytes(), memory_kind::device, made->device, 0, made_at));
  if (made->data == nullptr) {
    const std::size_t bytes = made->bytes();
    delete made;
    return fail(cudaErrorMemoryAllocation,
                this_call() + ": " + human_bytes(bytes) + " do not fit.");
  }
  arrays().insert(made);
  *array = made;
  return cudaSuccess;
}

void forget_array(const cudaArray* array) {
  orphan_objects_of(array);
  arrays().erase(array);
  delete array;
}

void forget_arrays(int device) {
  const std::set<const cudaArray*> all = arrays();
  for (const cudaArray* a : all)
    if (a->device == device) forget_array(a);
}

const bool resets_arrays = on_reset(reset_step::arrays, forget_arrays);
const object_keeper keeps_arrays(object_kind::array, [] {
  return static_cast<std::size_t>(
      std::count_if(arrays().begin(), arrays().end(), [](auto* a) { return !a->of_graphics; }));
});

}  // namespace

cudaError_t make_graphics_array(cudaArray_t* array, char** texels,
                                const cudaChannelFormatDesc& desc, const cudaExtent& extent,
                                unsigned flags, int device, const void* made_at) {
  const cudaError_t status = make_array(array, &desc, extent, flags, device, made_at);
  if (status != cudaSuccess) return status;
  (*array)->of_graphics = true;
  *texels = (*array)->data;
  return cudaSuccess;
}

void free_graphics_array(cudaArray_t array) {
  std::string ignored;
  release(array->data, true, &ignored);
  forget_array(array);
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                            std::size_t width, std::size_t height, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocArray, [&] {
    if ((flags & cudaArrayLayered) != 0)
      return fail(cudaErrorInvalidValue,
                  "cudaMallocArray has no layers. Try: cudaMalloc3DArray with cudaArrayLayered.");
    return make_array(array, desc, {width, height, 0}, flags, current_device(), made_at);
  });
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                              cudaExtent extent, unsigned int flags) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMalloc3DArray,
              [&] { return make_array(array, desc, extent, flags, current_device(), made_at); });
}
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t*, const cudaChannelFormatDesc*,
                                     cudaExtent, unsigned int, unsigned int) {
  return call(api::cudaMallocMipmappedArray, [&] {
    return fail(cudaErrorNotSupported,
                "cudaMallocMipmappedArray: the CPU device has no mipmaps. Try: cudaMallocArray.");
  });
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  return call(api::cudaFreeArray, [&] {
    if (array == nullptr) return cudaSuccess;
    const cudaArray* a = find_array(array);
    if (a == nullptr)
      return fail(cudaErrorInvalidValue,
                  "cudaFreeArray: this array does not exist: it was freed before, or never "
                  "allocated. (cudaFree is for cudaMalloc.)");
    if (a->of_graphics)
      return fail(cudaErrorInvalidValue,
                  "cudaFreeArray: this array is a mapped texture of OpenGL. "
                  "cudaGraphicsUnmapResources gives it back.");
    for (int d = 0; d < device_count(); ++d) finish_device(d);  // nobody may still use it
    std::string ignored;
    release(a->data, true, &ignored);
    forget_array(a);
    return cudaSuccess;
  });
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  return call(api::cudaArrayGetInfo, [&] {
    const cudaArray* a = find_array(array);
    if (a == nullptr) return no_such_array(array);
    if (desc != nullptr) *desc = a->desc;
    if (extent != nullptr) *extent = a->extent;
    if (flags != nullptr) *flags = a->flags;
    return cudaSuccess;
  });
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  return call(api::cudaGetChannelDesc, [&] {
    const cudaArray* a = find_array(array);
    if (a == nullptr) return no_such_array(array);
    if (desc == nullptr) return fail(cudaErrorInvalidValue);
    *desc = a->desc;
    return cudaSuccess;
  });
}
