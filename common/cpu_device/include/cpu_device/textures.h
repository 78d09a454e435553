// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA arrays, texture objects and surface objects, with the names, values and error codes of
// CUDA 13. What is not there (mipmaps, resource views, sRGB, gather, filters across the edges of a
// cubemap) is refused with a sentence. A fetch that a GPU leaves undefined (an object that was
// destroyed, tex3D of a flat array, tex2D<float> of integers) is reported.
#pragma once

#include "cpu_device/runtime_api.h"
#ifdef CPU_DEVICE_KERNELS
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// --- arrays -------------------------------------------------------------------------------------

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3,
  cudaChannelFormatKindNV12 = 4,
};

struct cudaChannelFormatDesc {
  int x, y, z, w;  // bits of each channel
  enum cudaChannelFormatKind f;
};

typedef struct cudaArray* cudaArray_t;
typedef const struct cudaArray* cudaArray_const_t;
typedef struct cudaMipmappedArray* cudaMipmappedArray_t;
typedef const struct cudaMipmappedArray* cudaMipmappedArray_const_t;

#define cudaArrayDefault 0x00U
#define cudaArrayLayered 0x01U
#define cudaArraySurfaceLoadStore 0x02U
#define cudaArrayCubemap 0x04U
#define cudaArrayTextureGather 0x08U
#define cudaArrayColorAttachment 0x20U
#define cudaArraySparse 0x40U
#define cudaArrayDeferredMapping 0x80U

struct cudaExtent {
  size_t width, height, depth;
};
struct cudaPos {
  size_t x, y, z;
};
struct cudaPitchedPtr {
  void* ptr;
  size_t pitch, xsize, ysize;
};
struct cudaMemcpy3DParms {
  cudaArray_t srcArray;
  struct cudaPos srcPos;
  struct cudaPitchedPtr srcPtr;
  cudaArray_t dstArray;
  struct cudaPos dstPos;
  struct cudaPitchedPtr dstPtr;
  struct cudaExtent extent;
  enum cudaMemcpyKind kind;
};

CPU_DEVICE_INLINE struct cudaExtent make_cudaExtent(size_t w, size_t h, size_t d) {
  return CPU_DEVICE_VALUE(struct cudaExtent, w, h, d);
}
CPU_DEVICE_INLINE struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  return CPU_DEVICE_VALUE(struct cudaPos, x, y, z);
}
CPU_DEVICE_INLINE struct cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch,
                                                            size_t xsize, size_t ysize) {
  return CPU_DEVICE_VALUE(struct cudaPitchedPtr, pointer, pitch, xsize, ysize);
}

CPU_DEVICE_INLINE struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                     enum cudaChannelFormatKind f) {
  return CPU_DEVICE_VALUE(struct cudaChannelFormatDesc, x, y, z, w, f);
}

cudaError_t cudaMallocArray(cudaArray_t* array, const struct cudaChannelFormatDesc* desc,
                            size_t width, size_t height CPU_DEVICE_DEFAULT(0),
                            unsigned int flags CPU_DEVICE_DEFAULT(0));
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const struct cudaChannelFormatDesc* desc,
                              struct cudaExtent extent, unsigned int flags CPU_DEVICE_DEFAULT(0));
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc* desc, struct cudaExtent* extent,
                             unsigned int* flags, cudaArray_t array);
cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc* desc, cudaArray_const_t array);
/// Refused: the CPU device has no mipmaps.
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t* array,
                                     const struct cudaChannelFormatDesc* desc,
                                     struct cudaExtent extent, unsigned int levels,
                                     unsigned int flags CPU_DEVICE_DEFAULT(0));

cudaError_t cudaMalloc3D(struct cudaPitchedPtr* pointer, struct cudaExtent extent);
cudaError_t cudaMemset3D(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent);
cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pointer, int value, struct cudaExtent extent,
                              cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x_bytes, size_t y, const void* from,
                                size_t from_pitch, size_t width_bytes, size_t height,
                                enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x_bytes, size_t y, const void* from,
                                     size_t from_pitch, size_t width_bytes, size_t height,
                                     enum cudaMemcpyKind kind,
                                     cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemcpy2DFromArray(void* to, size_t to_pitch, cudaArray_const_t from, size_t x_bytes,
                                  size_t y, size_t width_bytes, size_t height,
                                  enum cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t to_pitch, cudaArray_const_t from,
                                       size_t x_bytes, size_t y, size_t width_bytes, size_t height,
                                       enum cudaMemcpyKind kind,
                                       cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
cudaError_t cudaMemcpy2DArrayToArray(
    cudaArray_t to, size_t to_x_bytes, size_t to_y, cudaArray_const_t from, size_t from_x_bytes,
    size_t from_y, size_t width_bytes, size_t height,
    enum cudaMemcpyKind kind CPU_DEVICE_DEFAULT(cudaMemcpyDeviceToDevice));
cudaError_t cudaMemcpy3D(const struct cudaMemcpy3DParms* parameters);
cudaError_t cudaMemcpy3DAsync(const struct cudaMemcpy3DParms* parameters,
                              cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
__attribute__((deprecated("cudaMemcpy2DToArray does it"))) cudaError_t cudaMemcpyToArray(
    cudaArray_t to, size_t x_bytes, size_t y, const void* from, size_t bytes,
    enum cudaMemcpyKind kind);
__attribute__((deprecated("cudaMemcpy2DFromArray does it"))) cudaError_t cudaMemcpyFromArray(
    void* to, cudaArray_const_t from, size_t x_bytes, size_t y, size_t bytes,
    enum cudaMemcpyKind kind);

// --- texture and surface objects ----------------------------------------------------------------

enum cudaResourceType {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3,
};

struct cudaResourceDesc {
  enum cudaResourceType resType;
  union {
    struct {
      cudaArray_t array;
    } array;
    struct {
      cudaMipmappedArray_t mipmap;
    } mipmap;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t sizeInBytes;
    } linear;
    struct {
      void* devPtr;
      struct cudaChannelFormatDesc desc;
      size_t width;  // in elements
      size_t height;
      size_t pitchInBytes;
    } pitch2D;
    struct {
      int reserved[32];
    } reserved;
  } res;
  unsigned int flags;
};

enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3,
};
enum cudaTextureFilterMode {
  cudaFilterModePoint = 0,
  cudaFilterModeLinear = 1,
};
enum cudaTextureReadMode {
  cudaReadModeElementType = 0,
  cudaReadModeNormalizedFloat = 1,
};

struct cudaTextureDesc {
  enum cudaTextureAddressMode addressMode[3];
  enum cudaTextureFilterMode filterMode;
  enum cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned int maxAnisotropy;
  enum cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias;
  float minMipmapLevelClamp;
  float maxMipmapLevelClamp;
  int disableTrilinearOptimization;
  int seamlessCubemap;
};

enum cudaResourceViewFormat { cudaResViewFormatNone = 0 };
struct cudaResourceViewDesc {
  enum cudaResourceViewFormat format;
  size_t width, height, depth;
  unsigned int firstMipmapLevel, lastMipmapLevel;
  unsigned int firstLayer, lastLayer;
  unsigned int reserved[16];
};

enum cudaSurfaceBoundaryMode {
  cudaBoundaryModeZero = 0,
  cudaBoundaryModeClamp = 1,
  cudaBoundaryModeTrap = 2,
};

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

/// `view` must be null: the CPU device has no resource views.
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object,
                                    const struct cudaResourceDesc* resource,
                                    const struct cudaTextureDesc* texture,
                                    const struct cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceDesc(struct cudaResourceDesc* resource,
                                             cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectTextureDesc(struct cudaTextureDesc* texture,
                                            cudaTextureObject_t object);
cudaError_t cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object);
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* elements,
                                                 const struct cudaChannelFormatDesc* desc,
                                                 int device);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object,
                                    const struct cudaResourceDesc* resource);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object);
cudaError_t cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object);

#ifdef __cplusplus
}  // extern "C"

namespace cpu_device {

/// What a texel of type T is: its channels and their type. Types that textures do not have
/// (double, float3) have no channels.
template <class T>
struct texel_type {
  static constexpr int channels = 0;
  using channel = void;
};
#define CPU_DEVICE_TEXEL(T, BASE)      \
  template <>                          \
  struct texel_type<T> {               \
    static constexpr int channels = 1; \
    using channel = T;                 \
  };                                   \
  template <>                          \
  struct texel_type<BASE##1> {         \
    static constexpr int channels = 1; \
    using channel = T;                 \
  };                                   \
  template <>                          \
  struct texel_type<BASE##2> {         \
    static constexpr int channels = 2; \
    using channel = T;                 \
  };                                   \
  template <>                          \
  struct texel_type<BASE##4> {         \
    static constexpr int channels = 4; \
    using channel = T;                 \
  }
CPU_DEVICE_TEXEL(signed char, char);
CPU_DEVICE_TEXEL(unsigned char, uchar);
CPU_DEVICE_TEXEL(short, short);
CPU_DEVICE_TEXEL(unsigned short, ushort);
CPU_DEVICE_TEXEL(int, int);
CPU_DEVICE_TEXEL(unsigned int, uint);
CPU_DEVICE_TEXEL(float, float);
#undef CPU_DEVICE_TEXEL
template <>
struct texel_type<char> {
  static constexpr int channels = 1;
  using channel = char;
};

template <class T>
constexpr cudaChannelFormatKind channel_kind() {
  using channel = typename texel_type<T>::channel;
  return std::is_void<channel>::value             ? cudaChannelFormatKindNone
         : std::is_floating_point<channel>::value ? cudaChannelFormatKindFloat
         : std::is_signed<channel>::value         ? cudaChannelFormatKindSigned
                                                  : cudaChannelFormatKindUnsigned;
}

}  // namespace cpu_device

/// The channels of T; for types that no texture has, none at all (as in CUDA).
template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  const int channels = cpu_device::texel_type<T>::channels;
  const int bits = channels == 0 ? 0 : static_cast<int>(sizeof(T) * 8) / channels;
  return {bits, channels >= 2 ? bits : 0, channels == 4 ? bits : 0, channels == 4 ? bits : 0,
          cpu_device::channel_kind<T>()};
}
#endif

// --- what kernels call --------------------------------------------------------------------------

#ifdef CPU_DEVICE_KERNELS
namespace cpu_device {

/// A number for each format; equal for equal formats, 0 for none.
constexpr unsigned texel_format(int channels, int bits, cudaChannelFormatKind kind) {
  return static_cast<unsigned>(channels | bits << 4 | static_cast<int>(kind) << 12);
}
template <class T>
constexpr unsigned texel_format_of() {
  constexpr int kChannels = texel_type<T>::channels;
  static_assert(
      kChannels != 0,
      "a texel is a char, short, int (signed or unsigned) or float, or 1, 2 or 4 of them");
  return texel_format(kChannels, static_cast<int>(sizeof(T) * 8 / kChannels), channel_kind<T>());
}

/// What a texture or surface looks into; a bit each, so that a function can name several.
enum shape : unsigned {
  shape_1d = 1,
  shape_2d = 2,
  shape_3d = 4,
  shape_1d_layered = 8,
  shape_2d_layered = 16,
  shape_linear = 32,
  shape_pitched = 64,
  shape_cubemap = 128,
  shape_cubemap_layered = 256,
};

/// A texture object as a fetch sees it. The first line is all that the common fetch reads: point
/// filter, clamped texel coordinates, texels read as they are.
struct texture {
  unsigned long long object = 0;  // its handle; another value: it is gone
  const char* data = nullptr;
  std::size_t pitch = 0;
  int width = 0, height = 0;
  float float_width = 0, float_height = 0;
  unsigned clamped_format = 0;  // texel format of a flat one of that kind, else 0
  unsigned point_format = 0;    // texel format with a point filter and no conversion, else 0
  unsigned linear_format = 0;   // texel format of linear memory read without conversion, else 0
  shape looks_into{};

  std::size_t slice = 0, texel_bytes = 0;
  int depth = 0;  // or layers
  bool normalized = false;
  bool gives_float = false;
  bool filters = false;  // a linear filter: several texels make one
  cudaTextureAddressMode mode[3] = {};
  std::uint32_t border[4] = {};  // bits, as a fetch gives them
  float border_value[4] = {};    // for the linear filter
  void (*read)(const texture& t, int dimensions, const float* at, int layer,
               std::uint32_t* channels) = nullptr;  // any filter, any conversion
};

struct surface {
  unsigned long long object = 0;
  char* data = nullptr;
  std::size_t row_bytes = 0, slice = 0;
  unsigned height = 0, depth = 0;
  shape looks_into{};
};

constexpr unsigned kTextureObjects = 1U << 16;  // that can exist at a time; likewise surfaces
// All of it is zero to begin with: the twelve megabytes are not part of a program's file.
extern texture texture_table[kTextureObjects];
extern surface surface_table[kTextureObjects];

/// A call in a kernel: which function, which shapes it can look into, where it stands. Passed by
/// value, so that it is only built where something is wrong.
struct texture_call {
  const char* function;
  unsigned shapes;
  const char* file;
  int line;
};

/// These write the report and give the block up.
[[noreturn]] void bad_texture(unsigned long long object, texture_call call);
[[noreturn]] void bad_surface(unsigned long long object, texture_call call);
void check_fetch(const texture& t, texture_call call, bool wants_float);

#ifdef CPU_DEVICE_CHECK
/// Has the check build look at what a texture or surface function accesses.
CPU_DEVICE_UNWATCHED inline void note_access(const void* address, std::size_t bytes, bool write,
                                             bool texture, const texture_call& call) {
  cpu_device_look_at_call(address, bytes, write ? 1 : 0, texture ? 1 : 0, call.file, call.line);
}
#else
inline void note_access(const void*, std::size_t, bool, bool, const texture_call&) {}
#endif
/// The same for all texels from which a filter makes one.
void note_filtered(const texture& t, texture_call call, int dimensions, const float* at, int layer);

/// The texel that a point filter chooses; null when that is the border.
const char* point_texel(const texture& t, int dimensions, const float* at, int layer);
/// The bytes that a surface function means outside of the simple case; null when it means none.
char* surface_bytes(const surface& s, texture_call call, int x, int y, int z, std::size_t bytes,
                    cudaSurfaceBoundaryMode mode);

template <class T>
CPU_DEVICE_UNWATCHED inline T load_texel(const char* from) {
  T value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

/// Channels as the texture unit delivers them, 32 bits each, as a T.
template <class T>
CPU_DEVICE_UNWATCHED inline T texel_of_channels(const std::uint32_t* channels) {
  using channel = typename texel_type<T>::channel;
  channel values[texel_type<T>::channels];
  for (int i = 0; i < texel_type<T>::channels; ++i) {
    if constexpr (std::is_floating_point_v<channel>)
      __builtin_memcpy(&values[i], &channels[i], sizeof values[i]);
    else
      values[i] = static_cast<channel>(channels[i]);
  }
  T texel;
  __builtin_memcpy(&texel, values, sizeof texel);
  return texel;
}

CPU_DEVICE_UNWATCHED inline const texture& find_texture(unsigned long long object,
                                                        const texture_call& call) {
  const texture& t = texture_table[object % kTextureObjects];
  if (t.object != object) [[unlikely]]
    bad_texture(object, call);
  return t;
}

template <class T>
CPU_DEVICE_UNWATCHED T fetch(const texture& t, texture_call call, int dimensions, const float* at,
                             int layer) {
  constexpr unsigned kFormat = texel_format_of<T>();
  check_fetch(t, call, channel_kind<T>() == cudaChannelFormatKindFloat);
  if (t.point_format == kFormat) {
    const char* texel = point_texel(t, dimensions, at, layer);
    if (texel != nullptr) note_access(texel, sizeof(T), false, true, call);
    return texel != nullptr ? load_texel<T>(texel) : texel_of_channels<T>(t.border);
  }
  std::uint32_t channels[4];
#ifdef CPU_DEVICE_CHECK
  note_filtered(t, call, dimensions, at, layer);
#endif
  t.read(t, dimensions, at, layer, channels);
  return texel_of_channels<T>(channels);
}

/// The face that a direction from the middle of a cube points at, and where on it, from 0 to 1.
int cube_face(float x, float y, float z, float* at);

/// Of a cubemap, or of the one with this number. One that does not exist is the last one.
template <class T>
CPU_DEVICE_UNWATCHED T fetch_cube(unsigned long long object, const texture_call& call, float x,
                                  float y, float z, int cubemap) {
  const texture& t = find_texture(object, call);
  const auto last = static_cast<unsigned>(t.depth / 6 - 1), wanted = static_cast<unsigned>(cubemap);
  float at[3] = {0, 0, 0};
  const int face = cube_face(x, y, z, at);
  return fetch<T>(t, call, 2, at, 6 * static_cast<int>(wanted < last ? wanted : last) + face);
}

/// Clamped to 0 .. size - 1 and rounded down; 0 for NaN.
CPU_DEVICE_UNWATCHED inline int clamped_index(float x, float float_size, int size) {
  if (!(x > 0)) return 0;
  return x < float_size ? static_cast<int>(x) : size - 1;
}

template <class T>
CPU_DEVICE_UNWATCHED inline T fetch_2d(unsigned long long object, float x, float y,
                                       const texture_call& call) {
  const texture& t = find_texture(object, call);
  if (t.clamped_format == texel_format_of<T>()) [[likely]] {
    const int column = clamped_index(x, t.float_width, t.width);
    const int row = clamped_index(y, t.float_height, t.height);
    const char* texel = t.data + static_cast<std::size_t>(row) * t.pitch +
                        static_cast<std::size_t>(column) * sizeof(T);
    note_access(texel, sizeof(T), false, true, call);
    return load_texel<T>(texel);
  }
  const float at[3] = {x, y, 0};
  return fetch<T>(t, call, 2, at, 0);
}

CPU_DEVICE_UNWATCHED inline char* find_surface_bytes(unsigned long long object, int x, int y, int z,
                                                     std::size_t bytes,
                                                     cudaSurfaceBoundaryMode mode,
                                                     const texture_call& call) {
  const surface& s = surface_table[object % kTextureObjects];
  if (s.object != object) [[unlikely]]
    bad_surface(object, call);
  const std::size_t column = static_cast<unsigned>(x);
  if (column + bytes <= s.row_bytes && static_cast<unsigned>(y) < s.height &&
      static_cast<unsigned>(z) < s.depth && column % bytes == 0 &&
      (s.looks_into & call.shapes) != 0) [[likely]]
    return s.data + static_cast<unsigned>(z) * s.slice + static_cast<unsigned>(y) * s.row_bytes +
           column;
  return surface_bytes(s, call, x, y, z, bytes, mode);
}

template <class T>
CPU_DEVICE_UNWATCHED inline T surface_load(unsigned long long object, int x, int y, int z,
                                           cudaSurfaceBoundaryMode mode, const texture_call& call) {
  static_assert(
      std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16,
      "surfaces are read and written in units of 1, 2, 4, 8 or 16 bytes");
  T value{};
  const char* from = find_surface_bytes(object, x, y, z, sizeof(T), mode, call);
  if (from != nullptr) {
    note_access(from, sizeof value, false, false, call);
    __builtin_memcpy(&value, from, sizeof value);
  }
  return value;
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surface_store(const T& value, unsigned long long object, int x,
                                               int y, int z, cudaSurfaceBoundaryMode mode,
                                               const texture_call& call) {
  static_assert(
      std::is_trivially_copyable_v<T> && (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16,
      "surfaces are read and written in units of 1, 2, 4, 8 or 16 bytes");
  char* to = find_surface_bytes(object, x, y, z, sizeof(T), mode, call);
  if (to == nullptr) return;
  note_access(to, sizeof value, true, false, call);
  __builtin_memcpy(to, &value, sizeof value);
}

}  // namespace cpu_device

/// Texel x of linear memory; 0 outside.
template <class T>
CPU_DEVICE_UNWATCHED inline T tex1Dfetch(cudaTextureObject_t object, int x, CPU_DEVICE_HERE) {
  const cpu_device::texture_call call{"tex1Dfetch", cpu_device::shape_linear, file, line};
  const cpu_device::texture& t = cpu_device::find_texture(object, call);
  const bool inside = static_cast<unsigned>(x) < static_cast<unsigned>(t.width);
  if (inside)
    cpu_device::note_access(t.data + static_cast<std::size_t>(x) * t.texel_bytes, t.texel_bytes,
                            false, true, call);
  if (t.linear_format == cpu_device::texel_format_of<T>()) [[likely]]
    return inside ? cpu_device::load_texel<T>(t.data + static_cast<std::size_t>(x) * sizeof(T))
                  : T{};
  cpu_device::check_fetch(t, call, cpu_device::channel_kind<T>() == cudaChannelFormatKindFloat);
  std::uint32_t channels[4] = {};
  if (inside) t.read(t, 0, nullptr, x, channels);
  return cpu_device::texel_of_channels<T>(channels);
}
template <class T>
CPU_DEVICE_UNWATCHED inline T tex1D(cudaTextureObject_t object, float x, CPU_DEVICE_HERE) {
  return cpu_device::fetch_2d<T>(
      object, x, 0, {"tex1D", cpu_device::shape_1d | cpu_device::shape_2d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T tex2D(cudaTextureObject_t object, float x, float y, CPU_DEVICE_HERE) {
  return cpu_device::fetch_2d<T>(
      object, x, y,
      {"tex2D", cpu_device::shape_1d | cpu_device::shape_2d | cpu_device::shape_pitched, file,
       line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T tex3D(cudaTextureObject_t object, float x, float y, float z,
                                    CPU_DEVICE_HERE) {
  const cpu_device::texture_call call{"tex3D", cpu_device::shape_3d, file, line};
  const float at[3] = {x, y, z};
  return cpu_device::fetch<T>(cpu_device::find_texture(object, call), call, 3, at, 0);
}
template <class T>
CPU_DEVICE_UNWATCHED inline T tex1DLayered(cudaTextureObject_t object, float x, int layer,
                                           CPU_DEVICE_HERE) {
  const cpu_device::texture_call call{"tex1DLayered", cpu_device::shape_1d_layered, file, line};
  const float at[3] = {x, 0, 0};
  return cpu_device::fetch<T>(cpu_device::find_texture(object, call), call, 1, at, layer);
}
template <class T>
CPU_DEVICE_UNWATCHED inline T tex2DLayered(cudaTextureObject_t object, float x, float y, int layer,
                                           CPU_DEVICE_HERE) {
  const cpu_device::texture_call call{"tex2DLayered", cpu_device::shape_2d_layered, file, line};
  const float at[3] = {x, y, 0};
  return cpu_device::fetch<T>(cpu_device::find_texture(object, call), call, 2, at, layer);
}
template <class T>
CPU_DEVICE_UNWATCHED inline T texCubemap(cudaTextureObject_t object, float x, float y, float z,
                                         CPU_DEVICE_HERE) {
  return cpu_device::fetch_cube<T>(object, {"texCubemap", cpu_device::shape_cubemap, file, line}, x,
                                   y, z, 0);
}
template <class T>
CPU_DEVICE_UNWATCHED inline T texCubemapLayered(cudaTextureObject_t object, float x, float y,
                                                float z, int layer, CPU_DEVICE_HERE) {
  return cpu_device::fetch_cube<T>(
      object, {"texCubemapLayered", cpu_device::shape_cubemap_layered, file, line}, x, y, z, layer);
}

// The forms that write the texel through a pointer.
template <class T>
CPU_DEVICE_UNWATCHED inline void tex1Dfetch(T* to, cudaTextureObject_t object, int x,
                                            CPU_DEVICE_HERE) {
  *to = tex1Dfetch<T>(object, x, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void tex1D(T* to, cudaTextureObject_t object, float x,
                                       CPU_DEVICE_HERE) {
  *to = tex1D<T>(object, x, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void tex2D(T* to, cudaTextureObject_t object, float x, float y,
                                       CPU_DEVICE_HERE) {
  *to = tex2D<T>(object, x, y, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void tex3D(T* to, cudaTextureObject_t object, float x, float y, float z,
                                       CPU_DEVICE_HERE) {
  *to = tex3D<T>(object, x, y, z, file, line);
}

// Surfaces. x counts bytes: x * sizeof(element).
template <class T>
CPU_DEVICE_UNWATCHED inline T surf1Dread(cudaSurfaceObject_t object, int x,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                         CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(object, x, 0, 0, mode,
                                     {"surf1Dread", cpu_device::shape_1d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T surf2Dread(cudaSurfaceObject_t object, int x, int y,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                         CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(object, x, y, 0, mode,
                                     {"surf2Dread", cpu_device::shape_2d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T surf3Dread(cudaSurfaceObject_t object, int x, int y, int z,
                                         cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                         CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(object, x, y, z, mode,
                                     {"surf3Dread", cpu_device::shape_3d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T surf1DLayeredread(cudaSurfaceObject_t object, int x, int layer,
                                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                                CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(
      object, x, 0, layer, mode, {"surf1DLayeredread", cpu_device::shape_1d_layered, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T surf2DLayeredread(cudaSurfaceObject_t object, int x, int y, int layer,
                                                cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                                CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(
      object, x, y, layer, mode, {"surf2DLayeredread", cpu_device::shape_2d_layered, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline T surfCubemapread(cudaSurfaceObject_t object, int x, int y, int face,
                                              cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                              CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(object, x, y, face, mode,
                                     {"surfCubemapread", cpu_device::shape_cubemap, file, line});
}
// Of layered cubemaps, a face is 6 times its layer and its number there.
template <class T>
CPU_DEVICE_UNWATCHED inline T surfCubemapLayeredread(
    cudaSurfaceObject_t object, int x, int y, int face,
    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CPU_DEVICE_HERE) {
  return cpu_device::surface_load<T>(
      object, x, y, face, mode,
      {"surfCubemapLayeredread", cpu_device::shape_cubemap_layered, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf1Dread(T* to, cudaSurfaceObject_t object, int x,
                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                            CPU_DEVICE_HERE) {
  *to = surf1Dread<T>(object, x, mode, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf2Dread(T* to, cudaSurfaceObject_t object, int x, int y,
                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                            CPU_DEVICE_HERE) {
  *to = surf2Dread<T>(object, x, y, mode, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf3Dread(T* to, cudaSurfaceObject_t object, int x, int y, int z,
                                            cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                            CPU_DEVICE_HERE) {
  *to = surf3Dread<T>(object, x, y, z, mode, file, line);
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf1Dwrite(T value, cudaSurfaceObject_t object, int x,
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                             CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, 0, 0, mode,
                            {"surf1Dwrite", cpu_device::shape_1d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf2Dwrite(T value, cudaSurfaceObject_t object, int x, int y,
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                             CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, y, 0, mode,
                            {"surf2Dwrite", cpu_device::shape_2d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf3Dwrite(T value, cudaSurfaceObject_t object, int x, int y,
                                             int z,
                                             cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap,
                                             CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, y, z, mode,
                            {"surf3Dwrite", cpu_device::shape_3d, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf1DLayeredwrite(
    T value, cudaSurfaceObject_t object, int x, int layer,
    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, 0, layer, mode,
                            {"surf1DLayeredwrite", cpu_device::shape_1d_layered, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surf2DLayeredwrite(
    T value, cudaSurfaceObject_t object, int x, int y, int layer,
    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, y, layer, mode,
                            {"surf2DLayeredwrite", cpu_device::shape_2d_layered, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surfCubemapwrite(
    T value, cudaSurfaceObject_t object, int x, int y, int face,
    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CPU_DEVICE_HERE) {
  cpu_device::surface_store(value, object, x, y, face, mode,
                            {"surfCubemapwrite", cpu_device::shape_cubemap, file, line});
}
template <class T>
CPU_DEVICE_UNWATCHED inline void surfCubemapLayeredwrite(
    T value, cudaSurfaceObject_t object, int x, int y, int face,
    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap, CPU_DEVICE_HERE) {
  cpu_device::surface_store(
      value, object, x, y, face, mode,
      {"surfCubemapLayeredwrite", cpu_device::shape_cubemap_layered, file, line});
}
#endif
