// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Texture and surface objects.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "api/arrays.hpp"
#include "api/texture_fetch.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"
#include "engine/engine.hpp"

namespace cpu_device {

texture texture_table[kTextureObjects];
surface surface_table[kTextureObjects];

namespace {

constexpr std::size_t kMaxLinear = std::size_t{1} << 30;

/// Handle 0 names the first entry, so that entry must not match it.
[[maybe_unused]] const bool no_object_is_zero = [] {
  texture_table[0].object = surface_table[0].object = 1;
  return true;
}();

struct texture_record {
  cudaResourceDesc resource;
  cudaTextureDesc description;
};
std::map<unsigned long long, texture_record>& textures() {
  static auto* all = new std::map<unsigned long long, texture_record>;
  return *all;
}
std::map<unsigned long long, cudaResourceDesc>& surfaces() {
  static auto* all = new std::map<unsigned long long, cudaResourceDesc>;
  return *all;
}
/// Objects whose array is gone, but which were not destroyed.
std::set<unsigned long long>& orphans() {
  static auto* all = new std::set<unsigned long long>;
  return *all;
}
unsigned long long objects_made = 0;

const object_keeper keeps_textures(object_kind::texture_object, [] { return textures().size(); });
const object_keeper keeps_surfaces(object_kind::surface_object, [] { return surfaces().size(); });

std::string bad_object(unsigned long long object, const char* kind, const char* other_kind,
                       bool is_other) {
  const std::string a = std::string("was given a ") + kind + " object ";
  if (object == 0)
    return a + "that is 0.\n  Try: look at what the function that creates it returned.";
  if (is_other) return std::string("was given a ") + other_kind + " object.";
  if (orphans().count(object) != 0)
    return a + "whose array was freed.\n  Try: free an array only after its last use.";
  if (object >> 16 <= objects_made && object >> 16 != 0)
    return a +
           "that was destroyed.\n  Try: destroy it only after the kernels that use it are done.";
  return a + "that was never created.";
}

}  // namespace

void bad_texture(unsigned long long object, texture_call call) {
  // The launching host thread holds api_mutex() and waits: nothing changes, and a worker that
  // locked it would wait for ever.
  note_misuse(call, cudaErrorIllegalAddress,
              bad_object(object, "texture", "surface", surfaces().count(object) != 0));
  give_up_block(*current_worker());
}
void bad_surface(unsigned long long object, texture_call call) {
  note_misuse(call, cudaErrorIllegalAddress,
              bad_object(object, "surface", "texture", textures().count(object) != 0));
  give_up_block(*current_worker());
}

namespace {

/// Fetches through these objects fail from now on.
template <class Records, class Table, class Resource>
void orphan(Records& records, Table& table, const cudaArray* array, Resource resource_of) {
  for (auto& [object, record] : records) {
    const cudaResourceDesc& resource = resource_of(record);
    if (resource.resType != cudaResourceTypeArray || resource.res.array.array != array) continue;
    table[object % kTextureObjects].object = 0;
    orphans().insert(object);
  }
}

}  // namespace

void orphan_objects_of(const cudaArray* array) {
  orphan(textures(), texture_table, array,
         [](const texture_record& r) -> const cudaResourceDesc& { return r.resource; });
  orphan(surfaces(), surface_table, array,
         [](const cudaResourceDesc& r) -> const cudaResourceDesc& { return r; });
}

namespace {

/// A free entry of a table and its new handle; null when there is none.
template <class Entry>
Entry* new_object(Entry* table, unsigned long long* object) {
  static unsigned next = 0;
  for (unsigned tried = 0; tried < kTextureObjects; ++tried) {
    next = (next + 1) % kTextureObjects;
    if (next == 0 || table[next].object != 0) continue;
    table[next] = {};
    *object = ++objects_made << 16 | next;
    return &table[next];
  }
  return nullptr;
}

struct resource_shape {
  const char* data = nullptr;
  cudaChannelFormatDesc desc{};
  std::size_t width = 0, height = 1, depth = 1, pitch = 0, slice = 0;
  shape looks_into = shape_1d;
};

shape shape_of(const cudaArray& a) {
  if ((a.flags & cudaArrayCubemap) != 0)
    return (a.flags & cudaArrayLayered) != 0 ? shape_cubemap_layered : shape_cubemap;
  if ((a.flags & cudaArrayLayered) != 0)
    return a.extent.height == 0 ? shape_1d_layered : shape_2d_layered;
  return a.extent.depth != 0 ? shape_3d : a.extent.height != 0 ? shape_2d : shape_1d;
}

/// Memory under a texture: on the device, aligned, and all there.
cudaError_t check_texture_memory(const void* pointer, std::size_t bytes) {
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, this_call() + ": " + why);
  };
  cudaDeviceProp p;
  const cudaError_t status = cudaGetDeviceProperties(&p, current_device());
  if (status != cudaSuccess) return status;
  if (pointer == nullptr) return wrong("devPtr is a null pointer.");
  const auto a = find_allocation(pointer);
  if (!a) {
    if (const auto gone = find_freed(pointer)) return wrong("devPtr is " + describe(*gone) + ".");
    return wrong("devPtr is host memory. Try: the pointer that cudaMalloc gave.");
  }
  if (reinterpret_cast<std::uintptr_t>(pointer) % p.textureAlignment != 0)
    return wrong("devPtr is no multiple of " + std::to_string(p.textureAlignment) +
                 " (cudaDeviceProp::textureAlignment). Try: the begin of an allocation.");
  const auto left =
      a->bytes - static_cast<std::size_t>(static_cast<const char*>(pointer) - a->begin);
  if (bytes > left)
    return wrong("the texture has " + std::to_string(bytes) + " bytes, but only " +
                 std::to_string(left) + " are left of " + describe(*a) + ".");
  return cudaSuccess;
}

cudaError_t look_at_resource(const cudaResourceDesc& r, resource_shape& s) {
  const cudaDeviceProp most = [] {
    cudaDeviceProp p{};
    set_texture_limits(p);
    return p;
  }();
  if (r.flags != 0) return fail(cudaErrorInvalidValue);
  switch (r.resType) {
    case cudaResourceTypeArray: {
      const cudaArray* a = find_array(r.res.array.array);
      if (a == nullptr) return no_such_array(r.res.array.array);
      s = {a->data,   a->desc,      a->extent.width,  a->rows,
           a->slices, a->row_bytes, a->slice_bytes(), shape_of(*a)};
      return cudaSuccess;
    }
    case cudaResourceTypeMipmappedArray:
      return fail(cudaErrorNotSupported,
                  "cudaCreateTextureObject: the CPU device has no mipmaps. Try: "
                  "cudaResourceTypeArray.");
    case cudaResourceTypeLinear: {
      const auto& l = r.res.linear;
      const std::size_t texel = bytes_of_texel(l.desc);
      if (texel == 0) return bad_format(l.desc);
      if (l.sizeInBytes / texel > kMaxLinear / std::max<std::size_t>(texel / 4, 1))
        return fail(cudaErrorInvalidValue,
                    "cudaCreateTextureObject: linear memory has more elements than "
                    "cudaDeviceGetTexture1DLinearMaxWidth.");
      s.data = static_cast<const char*>(l.devPtr);
      s.desc = l.desc;
      s.width = l.sizeInBytes / texel;
      s.pitch = s.slice = l.sizeInBytes;
      s.looks_into = shape_linear;
      return check_texture_memory(l.devPtr, l.sizeInBytes);
    }
    case cudaResourceTypePitch2D: {
      const auto& l = r.res.pitch2D;
      const std::size_t texel = bytes_of_texel(l.desc);
      if (texel == 0) return bad_format(l.desc);
      cudaDeviceProp p;
      const cudaError_t status = cudaGetDeviceProperties(&p, current_device());
      if (status != cudaSuccess) return status;
      if (l.pitchInBytes % p.texturePitchAlignment != 0)
        return fail(cudaErrorInvalidValue,
                    "cudaCreateTextureObject: the pitch of " + std::to_string(l.pitchInBytes) +
                        " is no multiple of " + std::to_string(p.texturePitchAlignment) +
                        " (cudaDeviceProp::texturePitchAlignment). Try: cudaMallocPitch.");
      if (l.width == 0 || l.height == 0 || !fits(l.width, most.maxTexture2DLinear[0]) ||
          !fits(l.height, most.maxTexture2DLinear[1]) ||
          !fits(l.pitchInBytes, most.maxTexture2DLinear[2]) || l.width * texel > l.pitchInBytes)
        return fail(
            cudaErrorInvalidValue,
            "cudaCreateTextureObject: " + std::to_string(l.width) + " x " +
                std::to_string(l.height) + " elements with a pitch of " +
                std::to_string(l.pitchInBytes) +
                " bytes cannot be: a size is 0, rows overlap, or "
                "cudaDeviceProp::maxTexture2DLinear is exceeded. The width counts elements.");
      s.data = static_cast<const char*>(l.devPtr);
      s.desc = l.desc;
      s.width = l.width;
      s.height = l.height;
      s.pitch = l.pitchInBytes;
      s.slice = l.pitchInBytes * l.height;
      s.looks_into = shape_pitched;
      return check_texture_memory(l.devPtr, (l.height - 1) * l.pitchInBytes + l.width * texel);
    }
    default:
      return fail(cudaErrorInvalidValue);
  }
}

bool is_cube(const resource_shape& s) {
  return (s.looks_into & (shape_cubemap | shape_cubemap_layered)) != 0;
}

cudaError_t check_description(const cudaTextureDesc& d, const resource_shape& s) {
  const int dimensions = s.looks_into == shape_linear                          ? 0
                         : (s.looks_into & (shape_1d | shape_1d_layered)) != 0 ? 1
                         : s.looks_into == shape_3d                            ? 3
                                                                               : 2;
  for (int i = 0; i < dimensions; ++i)
    if (static_cast<unsigned>(d.addressMode[i]) > cudaAddressModeBorder)
      return fail(cudaErrorInvalidValue);
  if (static_cast<unsigned>(d.filterMode) > cudaFilterModeLinear ||
      static_cast<unsigned>(d.readMode) > cudaReadModeNormalizedFloat ||
      (d.seamlessCubemap != 0 && !is_cube(s)))
    return fail(cudaErrorInvalidValue);
  if (d.seamlessCubemap != 0 && d.filterMode == cudaFilterModeLinear)
    return fail(
        cudaErrorNotSupported,
        "cudaCreateTextureObject: the CPU device filters each face of a cubemap alone. Try: "
        "seamlessCubemap = 0.");
  if (d.sRGB != 0)
    return fail(cudaErrorNotSupported,
                "cudaCreateTextureObject: the CPU device has no sRGB conversion.");
  const bool normalize = d.readMode == cudaReadModeNormalizedFloat;
  const bool narrow = s.desc.f != cudaChannelFormatKindFloat && s.desc.x < 32;
  if (d.filterMode == cudaFilterModeLinear && s.desc.f != cudaChannelFormatKindFloat &&
      !(normalize && narrow))
    return fail(cudaErrorInvalidFilterSetting,
                "cudaCreateTextureObject: integers cannot be filtered. Try: cudaFilterModePoint, "
                "or for 8 and 16 bits cudaReadModeNormalizedFloat.");
  if (normalize && !narrow)
    return fail(cudaErrorInvalidNormSetting,
                "cudaCreateTextureObject: only integers of 8 and 16 bits become normalised floats. "
                "Try: cudaReadModeElementType.");
  return cudaSuccess;
}

void fill_texture(texture& t, const resource_shape& s, const cudaTextureDesc& d) {
  const bool linear = d.filterMode == cudaFilterModeLinear && s.looks_into != shape_linear;
  const bool normalize = d.readMode == cudaReadModeNormalizedFloat;
  t.data = s.data;
  t.pitch = s.pitch;
  t.slice = s.slice;
  t.width = static_cast<int>(s.width);
  t.height = static_cast<int>(s.height);
  t.depth = static_cast<int>(s.depth);
  t.float_width = static_cast<float>(t.width);
  t.float_height = static_cast<float>(t.height);
  t.texel_bytes = bytes_of_texel(s.desc);
  t.looks_into = s.looks_into;
  t.normalized = d.normalizedCoords != 0 || is_cube(s);
  t.gives_float = s.desc.f == cudaChannelFormatKindFloat || normalize;
  bool clamped = !t.normalized;
  for (int i = 0; i < 3; ++i) {
    // Wrap and mirror need normalised coordinates; without them they are clamp.
    const bool periodic =
        d.addressMode[i] == cudaAddressModeWrap || d.addressMode[i] == cudaAddressModeMirror;
    t.mode[i] = periodic && !t.normalized ? cudaAddressModeClamp : d.addressMode[i];
    if (i < 2 && !(i == 1 && s.looks_into == shape_1d))
      clamped = clamped && t.mode[i] == cudaAddressModeClamp;
  }
  if (s.looks_into == shape_1d) t.mode[1] = cudaAddressModeClamp;  // tex2D finds its one row
  if (d.seamlessCubemap != 0) t.mode[0] = t.mode[1] = cudaAddressModeClamp;
  set_border(t, s.desc, d.borderColor, normalize);
  t.read = reader_for(s.desc, linear, normalize);
  t.filters = linear;
  if (linear || normalize) return;
  const unsigned format = texel_format(channels_of(s.desc), s.desc.x, s.desc.f);
  if (s.looks_into == shape_linear) {
    t.linear_format = format;
    return;
  }
  t.point_format = format;
  const bool flat = (s.looks_into & (shape_1d | shape_2d | shape_pitched)) != 0;
  if (flat && clamped) t.clamped_format = format;
}

cudaError_t too_many_objects() {
  return fail(cudaErrorMemoryAllocation, this_call() + ": " + std::to_string(kTextureObjects - 1) +
                                             " objects exist; destroy those not needed.");
}

cudaError_t no_such_object() {
  return fail(cudaErrorInvalidValue,
              this_call() + ": this object does not exist: it was destroyed, or never created.");
}

}  // namespace

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description,
                                    const cudaResourceViewDesc* view) {
  return call(api::cudaCreateTextureObject, [&] {
    if (object == nullptr || resource == nullptr || description == nullptr)
      return fail(cudaErrorInvalidValue);
    if (view != nullptr)
      return fail(cudaErrorNotSupported,
                  "cudaCreateTextureObject: the CPU device has no resource views. Try: nullptr.");
    resource_shape s;
    cudaError_t status = look_at_resource(*resource, s);
    if (status == cudaSuccess) status = check_description(*description, s);
    if (status != cudaSuccess) return status;
    unsigned long long made = 0;
    texture* t = new_object(texture_table, &made);
    if (t == nullptr) return too_many_objects();
    fill_texture(*t, s, *description);
    t->object = made;
    texture_record record{*resource, *description};
    record.description.normalizedCoords = description->normalizedCoords != 0;
    textures()[made] = record;
    *object = made;
    return cudaSuccess;
  });
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return call(api::cudaDestroyTextureObject, [&] {
    if (object == 0) return cudaSuccess;
    if (textures().erase(object) == 0) return no_such_object();
    if (orphans().erase(object) == 0) texture_table[object % kTextureObjects].object = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  return call(api::cudaGetTextureObjectResourceDesc, [&] {
    if (resource == nullptr) return fail(cudaErrorInvalidValue);
    const auto it = textures().find(object);
    if (it == textures().end()) return no_such_object();
    *resource = it->second.resource;
    return cudaSuccess;
  });
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return call(api::cudaGetTextureObjectTextureDesc, [&] {
    if (texture == nullptr) return fail(cudaErrorInvalidValue);
    const auto it = textures().find(object);
    if (it == textures().end()) return no_such_object();
    *texture = it->second.description;
    return cudaSuccess;
  });
}
cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  return call(api::cudaGetTextureObjectResourceViewDesc, [&] {
    if (view == nullptr) return fail(cudaErrorInvalidValue);
    if (textures().count(object) == 0) return no_such_object();
    *view = {};  // none was given
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* elements,
                                                 const cudaChannelFormatDesc* desc, int device) {
  return call(api::cudaDeviceGetTexture1DLinearMaxWidth, [&] {
    if (elements == nullptr || desc == nullptr) return fail(cudaErrorInvalidValue);
    if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
    const std::size_t texel = bytes_of_texel(*desc);
    if (texel == 0) return bad_format(*desc);
    *elements = kMaxLinear / std::max<std::size_t>(texel / 4, 1);
    return cudaSuccess;
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return call(api::cudaCreateSurfaceObject, [&] {
    if (object == nullptr || resource == nullptr) return fail(cudaErrorInvalidValue);
    if (resource->resType != cudaResourceTypeArray)
      return fail(cudaErrorInvalidValue,
                  "cudaCreateSurfaceObject: surfaces look into arrays only (cudaMallocArray with "
                  "cudaArraySurfaceLoadStore).");
    const cudaArray* a = find_array(resource->res.array.array);
    if (a == nullptr) return no_such_array(resource->res.array.array);
    if ((a->flags & cudaArraySurfaceLoadStore) == 0)
      return fail(cudaErrorInvalidValue,
                  "cudaCreateSurfaceObject: the array was allocated without "
                  "cudaArraySurfaceLoadStore.");
    unsigned long long made = 0;
    surface* s = new_object(surface_table, &made);
    if (s == nullptr) return too_many_objects();
    s->data = a->data;
    s->row_bytes = a->row_bytes;
    s->slice = a->slice_bytes();
    s->height = static_cast<unsigned>(a->rows);
    s->depth = static_cast<unsigned>(a->slices);
    s->looks_into = shape_of(*a);
    s->object = made;
    surfaces()[made] = *resource;
    *object = made;
    return cudaSuccess;
  });
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return call(api::cudaDestroySurfaceObject, [&] {
    if (object == 0) return cudaSuccess;
    if (surfaces().erase(object) == 0) return no_such_object();
    if (orphans().erase(object) == 0) surface_table[object % kTextureObjects].object = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object) {
  return call(api::cudaGetSurfaceObjectResourceDesc, [&] {
    if (resource == nullptr) return fail(cudaErrorInvalidValue);
    const auto it = surfaces().find(object);
    if (it == surfaces().end()) return no_such_object();
    *resource = it->second;
    return cudaSuccess;
  });
}
