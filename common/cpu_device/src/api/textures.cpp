// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arrays, textures and surfaces.
//
// A linear filter looks between texels: with xB = x - 0.5, i = floor(xB) and a = xB - i it gives
// (1 - a) T[i] + a T[i + 1], and the same in each further dimension. `a` has 8 bits: it is rounded
// to the nearest multiple of 1/256, as GPUs do. Address modes then act on the numbers of the
// texels, which is the same as acting on the coordinate, but exact where a mirror starts.

#include "cpu_device/textures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "engine/engine.hpp"

/// Rows stand one after the other without gaps.
struct cudaArray {
  cudaChannelFormatDesc desc{};
  cudaExtent extent{};  // as the program gave it: 0 for dimensions that it does not have
  unsigned flags = 0;
  int device = 0;
  bool of_graphics = false;  // shows a texture of OpenGL while that is mapped
  char* data = nullptr;
  std::size_t texel_bytes = 0, row_bytes = 0;
  std::size_t rows = 1, slices = 1;  // at least 1 each
  std::size_t slice_bytes() const { return rows * row_bytes; }
  std::size_t bytes() const { return slices * slice_bytes(); }
};

namespace cpu_device {

texture texture_table[kTextureObjects];
surface surface_table[kTextureObjects];

namespace {

constexpr std::size_t kPitchAlignment = 512;  // of cudaMalloc3D, as of cudaMallocPitch
constexpr std::size_t kMaxLinear = std::size_t{1} << 30;

/// Handle 0 names the first entry, so that entry must not match it.
[[maybe_unused]] const bool no_object_is_zero = [] {
  texture_table[0].object = surface_table[0].object = 1;
  return true;
}();

std::set<const cudaArray*>& arrays() {
  static auto* all = new std::set<const cudaArray*>;
  return *all;
}
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

cudaDeviceProp limits() {
  cudaDeviceProp p{};
  set_texture_limits(p);
  return p;
}

bool fits(std::size_t value, int limit) { return value <= static_cast<std::size_t>(limit); }

cudaError_t in_kernel(const char* function) {
  return fail(cudaErrorNotSupported, std::string(function) + " was called inside a kernel");
}

/// A live array; the pointer is not followed before that is known.
const cudaArray* find_array(cudaArray_const_t array) {
  return arrays().count(array) != 0 ? array : nullptr;
}
cudaError_t no_such_array(const char* function, cudaArray_const_t array) {
  return fail(cudaErrorInvalidResourceHandle,
              std::string(function) + (array == nullptr ? ": the array is a null pointer."
                                                        : ": this array does not exist: it was "
                                                          "freed, or never allocated."));
}

/// Bytes of a texel; 0 for a format that textures do not have.
std::size_t bytes_of(const cudaChannelFormatDesc& d) {
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

cudaError_t bad_format(const char* function, const cudaChannelFormatDesc& d) {
  if (d.f == cudaChannelFormatKindFloat && d.x == 16)
    return fail(cudaErrorNotSupported,
                std::string(function) + ": the CPU device has no textures of half precision.");
  return fail(cudaErrorInvalidChannelDescriptor,
              std::string(function) +
                  ": this channel format does not exist. A texel has 1, 2 or 4 channels (not 3) of "
                  "one type: 8, 16 or 32 bits signed or unsigned, or 32 bits float. Try: "
                  "cudaCreateChannelDesc<float>().");
}

}  // namespace

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
  p.maxSurface1D = 32768;
  p.maxSurface2D[0] = 131072;
  p.maxSurface2D[1] = 65536;
  p.maxSurface3D[0] = p.maxSurface3D[1] = p.maxSurface3D[2] = 16384;
  p.maxSurface1DLayered[0] = p.maxSurface2DLayered[0] = p.maxSurface2DLayered[1] = 32768;
  p.maxSurface1DLayered[1] = p.maxSurface2DLayered[2] = 2048;
  p.surfaceAlignment = 512;
}

// --- fetching -----------------------------------------------------------------------------------

namespace {

/// floor(); the value is known to fit.
long long rounded_down(double value) {
  const auto whole = static_cast<long long>(value);
  return whole - (value < static_cast<double>(whole) ? 1 : 0);
}

/// The coordinate in texels, in a range where integers can follow. Exact: a float times a size.
double texel_coordinate(float at, cudaTextureAddressMode mode, int size, bool normalized) {
  double u = normalized ? static_cast<double>(at) * size : static_cast<double>(at);
  if (std::isnan(u)) return 0;
  if (mode == cudaAddressModeClamp || mode == cudaAddressModeBorder)
    return std::clamp(u, -2.0, size + 2.0);
  if (std::fabs(u) < 2147483648.0) return u;
  return std::isinf(u) ? 0 : std::fmod(u, 2.0 * size);
}

/// Texel i as the address mode has it; -1 is the border.
int addressed(long long i, cudaTextureAddressMode mode, int size) {
  if (i >= 0 && i < size) return static_cast<int>(i);
  switch (mode) {
    case cudaAddressModeClamp:
      return i < 0 ? 0 : size - 1;
    case cudaAddressModeBorder:
      return -1;
    case cudaAddressModeWrap: {
      const long long r = i % size;
      return static_cast<int>(r < 0 ? r + size : r);
    }
    default: {
      long long r = i % (2LL * size);
      if (r < 0) r += 2LL * size;
      return static_cast<int>(r < size ? r : 2LL * size - 1 - r);
    }
  }
}

int size_of(const texture& t, int dimension) {
  return dimension == 0 ? t.width : dimension == 1 ? t.height : t.depth;
}

/// A layer that does not exist is the last one, also below 0.
std::size_t layer_of(const texture& t, int layer) {
  return std::min(static_cast<unsigned>(layer), static_cast<unsigned>(t.depth - 1));
}

/// The two texels of a linear filter in one dimension, and their weights.
struct neighbours {
  int index[2] = {0, -1};
  float weight[2] = {1, 0};
};
neighbours between(const texture& t, int dimension, float at) {
  const int size = size_of(t, dimension);
  const cudaTextureAddressMode mode = t.mode[dimension];
  const double xb = texel_coordinate(at, mode, size, t.normalized) - 0.5;
  const long long in_256ths = rounded_down(xb * 256 + 0.5);
  const long long i = in_256ths >> 8;
  const float a = static_cast<float>(in_256ths & 255) / 256.0F;
  return {{addressed(i, mode, size), addressed(i + 1, mode, size)}, {1 - a, a}};
}

template <class Channel>
constexpr float kNormal = static_cast<float>(std::numeric_limits<Channel>::max());

template <class Channel, bool kNormalize>
float channel_value(const char* texel, int channel) {
  Channel value;
  std::memcpy(&value, texel + static_cast<std::size_t>(channel) * sizeof value, sizeof value);
  if constexpr (kNormalize) return static_cast<float>(value) / kNormal<Channel>;
  return static_cast<float>(value);
}

std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// texture::read with a point filter. For linear memory (dimensions = 0) `layer` is the texel.
template <class Channel, int kChannels, bool kNormalize>
void read_point(const texture& t, int dimensions, const float* at, int layer, std::uint32_t* out) {
  const char* texel = dimensions == 0 ? t.data + static_cast<std::size_t>(layer) * sizeof(Channel) *
                                                     std::size_t{kChannels}
                                      : point_texel(t, dimensions, at, layer);
  std::fill(out, out + 4, 0U);
  for (int c = 0; c < kChannels; ++c) {
    if (texel == nullptr) {
      out[c] = t.border[c];
    } else if constexpr (kNormalize) {
      out[c] = bits_of(std::max(-1.0F, channel_value<Channel, true>(texel, c)));
    } else {
      Channel value;
      std::memcpy(&value, texel + static_cast<std::size_t>(c) * sizeof value, sizeof value);
      if constexpr (std::is_floating_point_v<Channel>)
        out[c] = bits_of(value);
      else
        out[c] = static_cast<std::uint32_t>(value);  // with its sign
    }
  }
}

/// texture::read with a linear filter.
template <class Channel, int kChannels, bool kNormalize>
void read_linear(const texture& t, int dimensions, const float* at, int layer, std::uint32_t* out) {
  neighbours x, y, z;
  x = between(t, 0, at[0]);
  if (dimensions >= 2) y = between(t, 1, at[1]);
  if (dimensions >= 3) z = between(t, 2, at[2]);
  const char* const base = t.data + (dimensions < 3 ? layer_of(t, layer) * t.slice : 0);
  float sum[kChannels] = {};
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) {
        const float weight = x.weight[i] * y.weight[j] * z.weight[k];
        if (weight == 0) continue;  // also of dimensions that are not there
        if (x.index[i] < 0 || y.index[j] < 0 || z.index[k] < 0) {
          for (int c = 0; c < kChannels; ++c) sum[c] += weight * t.border_value[c];
          continue;
        }
        const char* texel =
            base + static_cast<std::size_t>(z.index[k]) * t.slice +
            static_cast<std::size_t>(y.index[j]) * t.pitch +
            static_cast<std::size_t>(x.index[i]) * sizeof(Channel) * std::size_t{kChannels};
        for (int c = 0; c < kChannels; ++c)
          sum[c] += weight * channel_value<Channel, kNormalize>(texel, c);
      }
  std::fill(out, out + 4, 0U);
  for (int c = 0; c < kChannels; ++c)
    out[c] = bits_of(kNormalize ? std::max(-1.0F, sum[c]) : sum[c]);
}

using reader = void (*)(const texture&, int, const float*, int, std::uint32_t*);

template <class Channel, int kChannels>
reader reader_for(bool linear, bool normalize) {
  if constexpr (std::is_floating_point_v<Channel>) {
    return linear ? read_linear<Channel, kChannels, false> : read_point<Channel, kChannels, false>;
  } else if constexpr (sizeof(Channel) == 4) {
    return read_point<Channel, kChannels, false>;
  } else {
    if (!normalize) return read_point<Channel, kChannels, false>;
    return linear ? read_linear<Channel, kChannels, true> : read_point<Channel, kChannels, true>;
  }
}
template <class Channel>
reader reader_for(int channels, bool linear, bool normalize) {
  return channels == 1   ? reader_for<Channel, 1>(linear, normalize)
         : channels == 2 ? reader_for<Channel, 2>(linear, normalize)
                         : reader_for<Channel, 4>(linear, normalize);
}
reader reader_for(const cudaChannelFormatDesc& d, bool linear, bool normalize) {
  const int n = channels_of(d);
  if (d.f == cudaChannelFormatKindFloat) return reader_for<float>(n, linear, normalize);
  const bool is_signed = d.f == cudaChannelFormatKindSigned;
  switch (d.x) {
    case 8:
      return is_signed ? reader_for<signed char>(n, linear, normalize)
                       : reader_for<unsigned char>(n, linear, normalize);
    case 16:
      return is_signed ? reader_for<short>(n, linear, normalize)
                       : reader_for<unsigned short>(n, linear, normalize);
    default:
      return is_signed ? reader_for<int>(n, linear, normalize)
                       : reader_for<unsigned>(n, linear, normalize);
  }
}

/// The border as a texel of the format holds it. An integer border is given by its bits.
void set_border(texture& t, const cudaChannelFormatDesc& d, const float* color, bool normalize) {
  for (int c = 0; c < channels_of(d); ++c) {
    if (d.f == cudaChannelFormatKindFloat) {
      t.border_value[c] = color[c];
      t.border[c] = bits_of(color[c]);
    } else if (normalize) {
      const bool is_signed = d.f == cudaChannelFormatKindSigned;
      const auto steps = static_cast<float>((1 << (d.x - (is_signed ? 1 : 0))) - 1);
      const float value = std::clamp(color[c], is_signed ? -1.0F : 0.0F, 1.0F);
      t.border_value[c] = std::round(value * steps) / steps;
      t.border[c] = bits_of(t.border_value[c]);
    } else {
      t.border[c] = bits_of(color[c]);
    }
  }
}

// --- reports ------------------------------------------------------------------------------------

/// Writes down why the block is given up. give_up_block() follows in a statement of its own: it
/// jumps, so that no string may be alive then.
void note_misuse(const texture_call& call, cudaError_t error, const std::string& what) {
  std::string text = std::string(call.function) + " at " + short_name(call.file) + ":" +
                     std::to_string(call.line) + " " + what;
  if (!inside_kernel()) {
    report(text + "\n  It was called by host code, and belongs into a kernel.");
    std::abort();
  }
  worker& w = *current_worker();
  w.problem.what = failure::kind::misuse;
  w.problem.error = error;
  w.problem.text.swap(text);
}

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

std::string shape_name(shape s) {
  switch (s) {
    case shape_1d:
      return "a one-dimensional array";
    case shape_2d:
      return "a two-dimensional array";
    case shape_3d:
      return "a three-dimensional array";
    case shape_1d_layered:
      return "a layered one-dimensional array";
    case shape_2d_layered:
      return "a layered two-dimensional array";
    case shape_linear:
      return "linear memory";
    default:
      return "pitched memory";
  }
}

std::string position(int x, int y, int z) {
  return "(" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ")";
}

}  // namespace

const char* point_texel(const texture& t, int dimensions, const float* at, int layer) {
  int index[3] = {0, 0, 0};
  for (int d = 0; d < dimensions; ++d) {
    const int size = size_of(t, d);
    const double u = texel_coordinate(at[d], t.mode[d], size, t.normalized);
    index[d] = addressed(rounded_down(u), t.mode[d], size);
    if (index[d] < 0) return nullptr;
  }
  const std::size_t slice =
      dimensions < 3 ? layer_of(t, layer) : static_cast<std::size_t>(index[2]);
  return t.data + slice * t.slice + static_cast<std::size_t>(index[1]) * t.pitch +
         static_cast<std::size_t>(index[0]) * t.texel_bytes;
}

void note_filtered(const texture& t, texture_call call, int dimensions, const float* at,
                   int layer) {
  if (&cpu_device_look_at_call == nullptr) return;
  const auto note = [&](const char* texel) {
    cpu_device_look_at_call(texel, t.texel_bytes, 0, 1, call.file, call.line);
  };
  if (!t.filters) {
    if (const char* texel = point_texel(t, dimensions, at, layer)) note(texel);
    return;
  }
  neighbours of[3];
  for (int d = 0; d < dimensions; ++d) of[d] = between(t, d, at[d]);
  const char* const base = t.data + (dimensions < 3 ? layer_of(t, layer) * t.slice : 0);
  for (unsigned corner = 0; corner < 8; ++corner) {
    const unsigned i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
    if (of[0].weight[i] * of[1].weight[j] * of[2].weight[k] == 0) continue;
    if (of[0].index[i] < 0 || of[1].index[j] < 0 || of[2].index[k] < 0) continue;  // the border
    note(base + static_cast<std::size_t>(of[2].index[k]) * t.slice +
         static_cast<std::size_t>(of[1].index[j]) * t.pitch +
         static_cast<std::size_t>(of[0].index[i]) * t.texel_bytes);
  }
}

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

void check_fetch(const texture& t, texture_call call, bool wants_float) {
  if ((t.looks_into & call.shapes) == 0) {
    note_misuse(call, cudaErrorLaunchFailure,
                "cannot look into " + shape_name(t.looks_into) +
                    ", which this texture object is made of.\n  Try: tex1Dfetch for linear memory, "
                    "tex2D for pitched memory and two-dimensional arrays, tex3D for "
                    "three-dimensional ones, tex1DLayered and tex2DLayered for layers.");
    give_up_block(*current_worker());
  }
  if (wants_float == t.gives_float) return;
  note_misuse(call, cudaErrorLaunchFailure,
              wants_float
                  ? "reads floats from a texture that gives integers.\n  Try: the element's type "
                    "between < and >, or cudaReadModeNormalizedFloat."
                  : "reads integers from a texture that gives floats.\n  Try: <float>, <float2> or "
                    "<float4>.");
  give_up_block(*current_worker());
}

char* surface_bytes(const surface& s, texture_call call, int x, int y, int z, std::size_t bytes,
                    cudaSurfaceBoundaryMode mode) {
  if ((s.looks_into & call.shapes) == 0) {
    note_misuse(
        call, cudaErrorLaunchFailure,
        "cannot look into " + shape_name(s.looks_into) + ", which this surface object is made of.");
    give_up_block(*current_worker());
  }
  const auto size = static_cast<int>(bytes);
  if (x % size != 0) {
    note_misuse(call, cudaErrorMisalignedAddress,
                "was given x = " + std::to_string(x) + ", which is no multiple of the element's " +
                    std::to_string(bytes) +
                    " bytes.\n  Surfaces count x in bytes. Try: x * sizeof(element).");
    give_up_block(*current_worker());
  }
  const std::size_t column = static_cast<unsigned>(x);
  if (column + bytes > s.row_bytes || static_cast<unsigned>(y) >= s.height ||
      static_cast<unsigned>(z) >= s.depth) {
    if (mode == cudaBoundaryModeZero) return nullptr;
    if (mode != cudaBoundaryModeClamp) {
      note_misuse(call, cudaErrorIllegalAddress,
                  "was given (x, y, z) = " + position(x, y, z) + ", outside of a surface of " +
                      std::to_string(s.row_bytes) + " bytes by " + std::to_string(s.height) +
                      " by " + std::to_string(s.depth) +
                      ".\n  x counts bytes. Try: compare the thread's index with the size, or "
                      "cudaBoundaryModeZero or cudaBoundaryModeClamp.");
      give_up_block(*current_worker());
    }
    if (bytes > s.row_bytes) return nullptr;
    const auto row_bytes = static_cast<int>(s.row_bytes);
    x = std::clamp(x, 0, (row_bytes - size) / size * size);
    y = std::clamp(y, 0, static_cast<int>(s.height) - 1);
    z = std::clamp(z, 0, static_cast<int>(s.depth) - 1);
  }
  return s.data + static_cast<std::size_t>(z) * s.slice +
         static_cast<std::size_t>(y) * s.row_bytes + static_cast<std::size_t>(x);
}

// --- arrays -------------------------------------------------------------------------------------

namespace {

/// True when the extent is one that arrays with these flags may have.
bool valid_extent(const cudaExtent& e, unsigned flags) {
  const cudaDeviceProp p = limits();
  const bool surface = (flags & cudaArraySurfaceLoadStore) != 0;
  const bool gather = (flags & cudaArrayTextureGather) != 0;
  if (e.width == 0) return false;
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
                       const cudaExtent& extent, unsigned flags, int device, const void* made_at,
                       const char* function) {
  if (inside_kernel()) return in_kernel(function);
  if (array == nullptr || desc == nullptr) return fail(cudaErrorInvalidValue);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  *array = nullptr;
  const std::size_t texel_bytes = bytes_of(*desc);
  if (texel_bytes == 0) return bad_format(function, *desc);
  constexpr unsigned kRefused =
      cudaArrayCubemap | cudaArrayColorAttachment | cudaArraySparse | cudaArrayDeferredMapping;
  if ((flags & kRefused) != 0)
    return fail(cudaErrorNotSupported,
                std::string(function) +
                    ": the CPU device has no cubemaps, sparse or deferred arrays. Try: "
                    "cudaArrayDefault, cudaArrayLayered, cudaArraySurfaceLoadStore.");
  constexpr unsigned kKnown = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayTextureGather;
  if ((flags & ~kKnown) != 0 || !valid_extent(extent, flags))
    return fail(cudaErrorInvalidValue,
                std::string(function) + ": an array of " + std::to_string(extent.width) + " x " +
                    std::to_string(extent.height) + " x " + std::to_string(extent.depth) +
                    " elements with the flags " + std::to_string(flags) +
                    " cannot be. A height or depth that is not used is 0; cudaDeviceProp "
                    "(maxTexture1D, maxTexture2D ...) has the largest sizes.");
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
                std::string(function) + ": " + human_bytes(bytes) + " do not fit.");
  }
  const std::lock_guard lock(api_mutex());
  arrays().insert(made);
  *array = made;
  return cudaSuccess;
}

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

void forget_array(const cudaArray* array) {
  orphan(textures(), texture_table, array,
         [](const texture_record& r) -> const cudaResourceDesc& { return r.resource; });
  orphan(surfaces(), surface_table, array,
         [](const cudaResourceDesc& r) -> const cudaResourceDesc& { return r; });
  arrays().erase(array);
  delete array;
}

// --- copies -------------------------------------------------------------------------------------

/// One side of a copy: rows of bytes, slices of rows.
struct side {
  const char* name;
  char* begin;
  std::size_t pitch, slice;
};

struct box {
  std::size_t width_bytes, height, depth;
};

/// Checks that `s` is the memory that the direction promises, and long enough.
cudaError_t check_memory(const char* function, const side& s, const box& b, bool should_be_device,
                         bool may_be_either, bool* pageable) {
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, std::string(function) + ": the " + s.name + " " + why);
  };
  if (s.begin == nullptr) return wrong("is a null pointer.");
  const auto a = find_allocation(s.begin);
  if (!a) {
    if (const auto gone = find_freed(s.begin)) return wrong("is " + describe(*gone) + ".");
    if (should_be_device && !may_be_either)
      return wrong(
          "is host memory, but the direction says that it is on the device. Try: "
          "cudaMemcpyHostToDevice or cudaMemcpyDeviceToHost, or cudaMemcpyDefault.");
    *pageable = true;
    return cudaSuccess;
  }
  if (!should_be_device && !may_be_either && a->kind == memory_kind::device)
    return wrong("is " + describe(*a) +
                 ", but the direction says that it is host memory. Try: cudaMemcpyDeviceToDevice, "
                 "or cudaMemcpyDefault.");
  const auto left = a->bytes - static_cast<std::size_t>(s.begin - a->begin);
  const std::size_t needed = (b.depth - 1) * s.slice + (b.height - 1) * s.pitch + b.width_bytes;
  if (needed > left)
    return wrong("has only " + std::to_string(left) + " bytes left of " + describe(*a) + ", and " +
                 std::to_string(needed) + " are to be copied.");
  return cudaSuccess;
}

cudaError_t run_copy(const side& to, const side& from, const box& b, cudaStream_t stream,
                     bool wait) {
  const auto run = [=] {
    for (std::size_t z = 0; z < b.depth; ++z)
      for (std::size_t y = 0; y < b.height; ++y)
        std::memmove(to.begin + z * to.slice + y * to.pitch,
                     from.begin + z * from.slice + y * from.pitch, b.width_bytes);
  };
  const cudaError_t status = wait ? enqueue_and_wait(stream, run) : enqueue(stream, run);
  if (status != cudaSuccess) return status;
  if (wait) CPU_DEVICE_RETURN_PENDING_ERROR();
  return cudaSuccess;
}

/// The part of an array that a copy means; false when it leaves the array.
bool array_side(const cudaArray& a, std::size_t x_bytes, std::size_t y, std::size_t z, const box& b,
                side& s) {
  if (x_bytes > a.row_bytes || b.width_bytes > a.row_bytes - x_bytes) return false;
  if (y > a.rows || b.height > a.rows - y || z > a.slices || b.depth > a.slices - z) return false;
  s.begin = a.data + z * a.slice_bytes() + y * a.row_bytes + x_bytes;
  s.pitch = a.row_bytes;
  s.slice = a.slice_bytes();
  return true;
}

cudaError_t outside_array(const char* function, const cudaArray& a, const char* unit) {
  return fail(cudaErrorInvalidValue, std::string(function) +
                                         ": the copy leaves the array, which has " +
                                         std::to_string(a.slices) + " x " + std::to_string(a.rows) +
                                         " rows of " + std::to_string(a.row_bytes) + " bytes (" +
                                         std::to_string(a.extent.width) + " elements). " + unit);
}

enum class direction { to_array, from_array };

/// Between an array and memory, two-dimensional. With `as_one_row` the array's rows are one long
/// row, and the `width_bytes` may go over several of them.
cudaError_t copy_2d(const char* function, direction way, cudaArray_const_t handle,
                    std::size_t x_bytes, std::size_t y, const void* memory, std::size_t pitch,
                    std::size_t width_bytes, std::size_t height, cudaMemcpyKind kind,
                    cudaStream_t stream, bool wait, bool as_one_row = false) {
  if (inside_kernel()) return in_kernel(function);
  const bool to_array = way == direction::to_array;
  const auto host_kind = to_array ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  if (kind != host_kind && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection,
                std::string(function) + ": an array is on the device. Try: " +
                    (to_array ? "cudaMemcpyHostToDevice." : "cudaMemcpyDeviceToHost."));
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  const cudaArray* found = find_array(handle);
  if (found == nullptr) return no_such_array(function, handle);
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  if (width_bytes > pitch)
    return fail(height > 1 ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue,
                std::string(function) + ": a row of " + std::to_string(width_bytes) +
                    " bytes is wider than the pitch of " + std::to_string(pitch) + ".");
  cudaArray a = *found;
  if (as_one_row && y < a.rows && x_bytes < a.row_bytes) {
    x_bytes += y * a.row_bytes;
    y = 0;
    a.row_bytes = a.slice_bytes();
    a.rows = 1;
  }
  const box b{width_bytes, height, 1};
  side in_array{to_array ? "destination" : "source", nullptr, 0, 0};
  if (!array_side(a, x_bytes, y, 0, b, in_array))
    return outside_array(function, *found, "Offsets and widths count bytes.");
  const side in_memory{to_array ? "source" : "destination",
                       static_cast<char*>(const_cast<void*>(memory)), pitch, 0};
  bool pageable = false;
  const cudaError_t status = check_memory(function, in_memory, b, kind == cudaMemcpyDeviceToDevice,
                                          kind == cudaMemcpyDefault, &pageable);
  if (status != cudaSuccess) return status;
  return to_array ? run_copy(in_array, in_memory, b, stream, wait || pageable)
                  : run_copy(in_memory, in_array, b, stream, wait || pageable);
}

/// One side of cudaMemcpy3D.
struct side_3d {
  const char* name;
  cudaArray_const_t array;
  cudaPitchedPtr memory;
  cudaPos at;
};

/// Rows and slices of pitched memory must hold what is copied.
cudaError_t check_pitched(const char* function, const side_3d& s, const box& b,
                          bool with_an_array) {
  const auto wrong = [&](bool pitch, const std::string& why) {
    return fail(pitch && !with_an_array ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue,
                std::string(function) + ": the " + s.name + "'s " + why);
  };
  if (b.width_bytes > s.memory.pitch)
    return wrong(true, "rows are " + std::to_string(s.memory.pitch) + " bytes apart (pitch), and " +
                           std::to_string(b.width_bytes) + " bytes of each are to be copied.");
  if (s.at.x > s.memory.pitch - b.width_bytes)
    return wrong(false, "x and the width go beyond the pitch.");
  const std::string rows =
      "slices have " + std::to_string(s.memory.ysize) + " rows (ysize), and the copy needs more.";
  if (b.depth > 1 && b.height > s.memory.ysize) return wrong(true, rows);
  if (s.memory.ysize != 0 && (s.at.y > s.memory.ysize || b.height > s.memory.ysize - s.at.y))
    return wrong(false, rows);
  return cudaSuccess;
}

cudaError_t copy_3d(const char* function, const cudaMemcpy3DParms* p, cudaStream_t stream,
                    bool wait) {
  if (inside_kernel()) return in_kernel(function);
  if (p == nullptr) return fail(cudaErrorInvalidValue);
  if (static_cast<unsigned>(p->kind) > cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const side_3d from{"source", p->srcArray, p->srcPtr, p->srcPos};
  const side_3d to{"destination", p->dstArray, p->dstPtr, p->dstPos};
  std::size_t element = 1;
  const std::lock_guard lock(api_mutex());
  for (const side_3d* s : {&from, &to}) {
    if ((s->array == nullptr) == (s->memory.ptr == nullptr))
      return fail(cudaErrorInvalidValue, std::string(function) + ": the " + s->name +
                                             " must be an array or a pointer, and only one of "
                                             "them. Try: cudaMemcpy3DParms p = {};");
    if (s->array == nullptr) continue;
    const cudaArray* a = find_array(s->array);
    if (a == nullptr) return no_such_array(function, s->array);
    element = a->texel_bytes;
  }
  if (from.array != nullptr && to.array != nullptr) {
    if (find_array(from.array)->texel_bytes != find_array(to.array)->texel_bytes)
      return fail(cudaErrorInvalidValue,
                  std::string(function) + ": the elements of the two arrays differ in size.");
    if (p->kind != cudaMemcpyDeviceToDevice && p->kind != cudaMemcpyDefault)
      return fail(cudaErrorInvalidValue,
                  std::string(function) +
                      ": both sides are arrays, on the device. Try: cudaMemcpyDeviceToDevice.");
  }
  if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0) return cudaSuccess;
  if (p->extent.width > SIZE_MAX / 16) return fail(cudaErrorInvalidValue);
  const box b{p->extent.width * element, p->extent.height, p->extent.depth};
  const bool with_an_array = from.array != nullptr || to.array != nullptr;
  side sides[2];
  bool pageable = false;
  for (const side_3d* s : {&from, &to}) {
    side& here = sides[s == &to];
    here.name = s->name;
    if (s->array != nullptr) {
      const cudaArray* a = find_array(s->array);
      if (s->at.x > a->extent.width ||
          !array_side(*a, s->at.x * a->texel_bytes, s->at.y, s->at.z, b, here))
        return outside_array(function, *a,
                             "With an array, extent.width and the positions count elements.");
      continue;
    }
    cudaError_t status = check_pitched(function, *s, b, with_an_array);
    if (status != cudaSuccess) return status;
    here.pitch = s->memory.pitch;
    here.slice = s->memory.pitch * s->memory.ysize;
    here.begin =
        static_cast<char*>(s->memory.ptr) + s->at.z * here.slice + s->at.y * here.pitch + s->at.x;
    const bool device_kind =
        s == &to ? p->kind == cudaMemcpyHostToDevice || p->kind == cudaMemcpyDeviceToDevice
                 : p->kind == cudaMemcpyDeviceToHost || p->kind == cudaMemcpyDeviceToDevice;
    status = check_memory(function, here, b, device_kind, p->kind == cudaMemcpyDefault, &pageable);
    if (status != cudaSuccess) return status;
  }
  return run_copy(sides[1], sides[0], b, stream, wait || pageable);
}

// --- objects ------------------------------------------------------------------------------------

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
  if ((a.flags & cudaArrayLayered) != 0)
    return a.extent.height == 0 ? shape_1d_layered : shape_2d_layered;
  return a.extent.depth != 0 ? shape_3d : a.extent.height != 0 ? shape_2d : shape_1d;
}

/// Memory under a texture: on the device, aligned, and all there.
cudaError_t check_texture_memory(const void* pointer, std::size_t bytes) {
  constexpr const char* kFunction = "cudaCreateTextureObject: ";
  const auto wrong = [&](const std::string& why) {
    return fail(cudaErrorInvalidValue, kFunction + why);
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
  constexpr const char* kFunction = "cudaCreateTextureObject";
  const cudaDeviceProp most = limits();
  if (r.flags != 0) return fail(cudaErrorInvalidValue);
  switch (r.resType) {
    case cudaResourceTypeArray: {
      const cudaArray* a = find_array(r.res.array.array);
      if (a == nullptr) return no_such_array(kFunction, r.res.array.array);
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
      const std::size_t texel = bytes_of(l.desc);
      if (texel == 0) return bad_format(kFunction, l.desc);
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
      const std::size_t texel = bytes_of(l.desc);
      if (texel == 0) return bad_format(kFunction, l.desc);
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

cudaError_t check_description(const cudaTextureDesc& d, const resource_shape& s) {
  const int dimensions = s.looks_into == shape_linear                          ? 0
                         : (s.looks_into & (shape_1d | shape_1d_layered)) != 0 ? 1
                         : s.looks_into == shape_3d                            ? 3
                                                                               : 2;
  for (int i = 0; i < dimensions; ++i)
    if (static_cast<unsigned>(d.addressMode[i]) > cudaAddressModeBorder)
      return fail(cudaErrorInvalidValue);
  if (static_cast<unsigned>(d.filterMode) > cudaFilterModeLinear ||
      static_cast<unsigned>(d.readMode) > cudaReadModeNormalizedFloat || d.seamlessCubemap != 0)
    return fail(cudaErrorInvalidValue);
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
  t.texel_bytes = bytes_of(s.desc);
  t.looks_into = s.looks_into;
  t.normalized = d.normalizedCoords != 0;
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

cudaError_t too_many_objects(const char* function) {
  return fail(cudaErrorMemoryAllocation, std::string(function) + ": " +
                                             std::to_string(kTextureObjects - 1) +
                                             " objects exist; destroy those not needed.");
}

cudaError_t no_such_object(const char* function) {
  return fail(
      cudaErrorInvalidValue,
      std::string(function) + ": this object does not exist: it was destroyed, or never created.");
}

}  // namespace

std::size_t live_textures() {
  const std::lock_guard lock(api_mutex());
  return textures().size() + surfaces().size();
}

std::size_t bytes_of_texel(const cudaChannelFormatDesc& desc) { return bytes_of(desc); }

cudaError_t make_graphics_array(cudaArray_t* array, char** texels,
                                const cudaChannelFormatDesc& desc, const cudaExtent& extent,
                                unsigned flags, int device, const void* made_at,
                                const char* function) {
  const cudaError_t status = make_array(array, &desc, extent, flags, device, made_at, function);
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

void forget_textures(int device) {
  const std::lock_guard lock(api_mutex());
  const std::set<const cudaArray*> all = arrays();
  for (const cudaArray* a : all)
    if (a->device == device) forget_array(a);
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                            std::size_t width, std::size_t height, unsigned int flags) {
  if ((flags & cudaArrayLayered) != 0)
    return fail(cudaErrorInvalidValue,
                "cudaMallocArray has no layers. Try: cudaMalloc3DArray with cudaArrayLayered.");
  return make_array(array, desc, {width, height, 0}, flags, current_device(),
                    __builtin_return_address(0), "cudaMallocArray");
}
cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* desc,
                              cudaExtent extent, unsigned int flags) {
  return make_array(array, desc, extent, flags, current_device(), __builtin_return_address(0),
                    "cudaMalloc3DArray");
}
cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t*, const cudaChannelFormatDesc*,
                                     cudaExtent, unsigned int, unsigned int) {
  return fail(cudaErrorNotSupported,
              "cudaMallocMipmappedArray: the CPU device has no mipmaps. Try: cudaMallocArray.");
}
cudaError_t cudaFreeArray(cudaArray_t array) {
  if (inside_kernel()) return in_kernel("cudaFreeArray");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (array == nullptr) return cudaSuccess;
  const std::lock_guard lock(api_mutex());
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
}
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* desc, cudaExtent* extent, unsigned int* flags,
                             cudaArray_t array) {
  const std::lock_guard lock(api_mutex());
  const cudaArray* a = find_array(array);
  if (a == nullptr) return no_such_array("cudaArrayGetInfo", array);
  if (desc != nullptr) *desc = a->desc;
  if (extent != nullptr) *extent = a->extent;
  if (flags != nullptr) *flags = a->flags;
  return cudaSuccess;
}
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* desc, cudaArray_const_t array) {
  const std::lock_guard lock(api_mutex());
  const cudaArray* a = find_array(array);
  if (a == nullptr) return no_such_array("cudaGetChannelDesc", array);
  if (desc == nullptr) return fail(cudaErrorInvalidValue);
  *desc = a->desc;
  return cudaSuccess;
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (pointer == nullptr || extent.width > SIZE_MAX - kPitchAlignment)
    return fail(cudaErrorInvalidValue);
  const std::size_t pitch =
      (extent.width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
  if (extent.height != 0 && extent.depth != 0 && pitch > SIZE_MAX / extent.height / extent.depth)
    return fail(cudaErrorMemoryAllocation);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, pitch * extent.height * extent.depth);
  if (status == cudaSuccess) *pointer = {memory, pitch, extent.width, extent.height};
  return status;
}
cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent extent, cudaStream_t stream) {
  constexpr const char* kFunction = "cudaMemset3D";
  if (inside_kernel()) return in_kernel(kFunction);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  const box b{extent.width, extent.height, extent.depth};
  const side to{"memory", static_cast<char*>(p.ptr), p.pitch, p.pitch * p.ysize};
  if (b.width_bytes > p.pitch || (b.height > p.ysize && (b.depth > 1 || p.ysize != 0)))
    return fail(cudaErrorInvalidValue,
                "cudaMemset3D: the extent is larger than the pitch or the ysize.");
  bool pageable = false;
  const cudaError_t status = check_memory(kFunction, to, b, true, false, &pageable);
  if (status != cudaSuccess) return status;
  return enqueue(stream, [=] {
    for (std::size_t z = 0; z < b.depth; ++z)
      for (std::size_t y = 0; y < b.height; ++y)
        std::memset(to.begin + z * to.slice + y * to.pitch, value, b.width_bytes);
  });
}
cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent) {
  return cudaMemset3DAsync(p, value, extent, nullptr);
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, std::size_t x_bytes, std::size_t y,
                                const void* from, std::size_t from_pitch, std::size_t width_bytes,
                                std::size_t height, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpy2DToArray", direction::to_array, to, x_bytes, y, from, from_pitch,
                 width_bytes, height, kind, nullptr, true);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, std::size_t x_bytes, std::size_t y,
                                     const void* from, std::size_t from_pitch,
                                     std::size_t width_bytes, std::size_t height,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_2d("cudaMemcpy2DToArrayAsync", direction::to_array, to, x_bytes, y, from, from_pitch,
                 width_bytes, height, kind, stream, false);
}
cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t to_pitch, cudaArray_const_t from,
                                  std::size_t x_bytes, std::size_t y, std::size_t width_bytes,
                                  std::size_t height, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpy2DFromArray", direction::from_array, from, x_bytes, y, to, to_pitch,
                 width_bytes, height, kind, nullptr, true);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t to_pitch, cudaArray_const_t from,
                                       std::size_t x_bytes, std::size_t y, std::size_t width_bytes,
                                       std::size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return copy_2d("cudaMemcpy2DFromArrayAsync", direction::from_array, from, x_bytes, y, to,
                 to_pitch, width_bytes, height, kind, stream, false);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, std::size_t x_bytes, std::size_t y, const void* from,
                              std::size_t bytes, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpyToArray", direction::to_array, to, x_bytes, y, from, bytes, bytes, 1,
                 kind, nullptr, true, true);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, std::size_t x_bytes,
                                std::size_t y, std::size_t bytes, cudaMemcpyKind kind) {
  return copy_2d("cudaMemcpyFromArray", direction::from_array, from, x_bytes, y, to, bytes, bytes,
                 1, kind, nullptr, true, true);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, std::size_t to_x_bytes, std::size_t to_y,
                                     cudaArray_const_t from, std::size_t from_x_bytes,
                                     std::size_t from_y, std::size_t width_bytes,
                                     std::size_t height, cudaMemcpyKind kind) {
  constexpr const char* kFunction = "cudaMemcpy2DArrayToArray";
  if (inside_kernel()) return in_kernel(kFunction);
  if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
    return fail(cudaErrorInvalidMemcpyDirection,
                "cudaMemcpy2DArrayToArray: arrays are on the device. Try: "
                "cudaMemcpyDeviceToDevice.");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  const std::lock_guard lock(api_mutex());
  const cudaArray* a = find_array(to);
  if (a == nullptr) return no_such_array(kFunction, to);
  const cudaArray* c = find_array(from);
  if (c == nullptr) return no_such_array(kFunction, from);
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  const box b{width_bytes, height, 1};
  side to_side{"destination", nullptr, 0, 0}, from_side{"source", nullptr, 0, 0};
  if (!array_side(*a, to_x_bytes, to_y, 0, b, to_side))
    return outside_array(kFunction, *a, "Offsets and widths count bytes.");
  if (!array_side(*c, from_x_bytes, from_y, 0, b, from_side))
    return outside_array(kFunction, *c, "Offsets and widths count bytes.");
  return run_copy(to_side, from_side, b, nullptr, true);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  return copy_3d("cudaMemcpy3D", p, nullptr, true);
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copy_3d("cudaMemcpy3DAsync", p, stream, false);
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* description,
                                    const cudaResourceViewDesc* view) {
  if (object == nullptr || resource == nullptr || description == nullptr)
    return fail(cudaErrorInvalidValue);
  if (inside_kernel()) return in_kernel("cudaCreateTextureObject");
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (view != nullptr)
    return fail(cudaErrorNotSupported,
                "cudaCreateTextureObject: the CPU device has no resource views. Try: nullptr.");
  const std::lock_guard lock(api_mutex());
  resource_shape s;
  cudaError_t status = look_at_resource(*resource, s);
  if (status == cudaSuccess) status = check_description(*description, s);
  if (status != cudaSuccess) return status;
  unsigned long long made = 0;
  texture* t = new_object(texture_table, &made);
  if (t == nullptr) return too_many_objects("cudaCreateTextureObject");
  fill_texture(*t, s, *description);
  t->object = made;
  texture_record record{*resource, *description};
  record.description.normalizedCoords = description->normalizedCoords != 0;
  textures()[made] = record;
  *object = made;
  return cudaSuccess;
}
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  if (object == 0) return cudaSuccess;
  const std::lock_guard lock(api_mutex());
  if (textures().erase(object) == 0) return no_such_object("cudaDestroyTextureObject");
  if (orphans().erase(object) == 0) texture_table[object % kTextureObjects].object = 0;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaTextureObject_t object) {
  if (resource == nullptr) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  const auto it = textures().find(object);
  if (it == textures().end()) return no_such_object("cudaGetTextureObjectResourceDesc");
  *resource = it->second.resource;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  if (texture == nullptr) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  const auto it = textures().find(object);
  if (it == textures().end()) return no_such_object("cudaGetTextureObjectTextureDesc");
  *texture = it->second.description;
  return cudaSuccess;
}
cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view,
                                                 cudaTextureObject_t object) {
  if (view == nullptr) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  if (textures().count(object) == 0) return no_such_object("cudaGetTextureObjectResourceViewDesc");
  *view = {};  // none was given
  return cudaSuccess;
}
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* elements,
                                                 const cudaChannelFormatDesc* desc, int device) {
  if (elements == nullptr || desc == nullptr) return fail(cudaErrorInvalidValue);
  if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
  const std::size_t texel = bytes_of(*desc);
  if (texel == 0) return bad_format("cudaDeviceGetTexture1DLinearMaxWidth", *desc);
  *elements = kMaxLinear / std::max<std::size_t>(texel / 4, 1);
  return cudaSuccess;
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  constexpr const char* kFunction = "cudaCreateSurfaceObject";
  if (object == nullptr || resource == nullptr) return fail(cudaErrorInvalidValue);
  if (inside_kernel()) return in_kernel(kFunction);
  CPU_DEVICE_RETURN_PENDING_ERROR();
  if (resource->resType != cudaResourceTypeArray)
    return fail(cudaErrorInvalidValue,
                "cudaCreateSurfaceObject: surfaces look into arrays only (cudaMallocArray with "
                "cudaArraySurfaceLoadStore).");
  const std::lock_guard lock(api_mutex());
  const cudaArray* a = find_array(resource->res.array.array);
  if (a == nullptr) return no_such_array(kFunction, resource->res.array.array);
  if ((a->flags & cudaArraySurfaceLoadStore) == 0)
    return fail(cudaErrorInvalidValue,
                "cudaCreateSurfaceObject: the array was allocated without "
                "cudaArraySurfaceLoadStore.");
  unsigned long long made = 0;
  surface* s = new_object(surface_table, &made);
  if (s == nullptr) return too_many_objects(kFunction);
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
}
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  if (object == 0) return cudaSuccess;
  const std::lock_guard lock(api_mutex());
  if (surfaces().erase(object) == 0) return no_such_object("cudaDestroySurfaceObject");
  if (orphans().erase(object) == 0) surface_table[object % kTextureObjects].object = 0;
  return cudaSuccess;
}
cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource,
                                             cudaSurfaceObject_t object) {
  if (resource == nullptr) return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  const auto it = surfaces().find(object);
  if (it == surfaces().end()) return no_such_object("cudaGetSurfaceObjectResourceDesc");
  *resource = it->second;
  return cudaSuccess;
}
