// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a fetch reads.
//
// A linear filter looks between texels: with xB = x - 0.5, i = floor(xB) and a = xB - i it gives
// (1 - a) T[i] + a T[i + 1], and the same in each further dimension. `a` has 8 bits: it is rounded
// to the nearest multiple of 1/256, as GPUs do. Address modes then act on the numbers of the
// texels, which is the same as acting on the coordinate, but exact where a mirror starts.

#include "api/texture_fetch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "api/arrays.hpp"
#include "base/report.hpp"
#include "engine/engine.hpp"

namespace cpu_device {
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

template <class Channel, int kChannels>
texel_reader reader_of(bool linear, bool normalize) {
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
texel_reader reader_of(int channels, bool linear, bool normalize) {
  return channels == 1   ? reader_of<Channel, 1>(linear, normalize)
         : channels == 2 ? reader_of<Channel, 2>(linear, normalize)
                         : reader_of<Channel, 4>(linear, normalize);
}
}  // namespace

texel_reader reader_for(const cudaChannelFormatDesc& d, bool linear, bool normalize) {
  const int n = channels_of(d);
  if (d.f == cudaChannelFormatKindFloat) return reader_of<float>(n, linear, normalize);
  const bool is_signed = d.f == cudaChannelFormatKindSigned;
  switch (d.x) {
    case 8:
      return is_signed ? reader_of<signed char>(n, linear, normalize)
                       : reader_of<unsigned char>(n, linear, normalize);
    case 16:
      return is_signed ? reader_of<short>(n, linear, normalize)
                       : reader_of<unsigned short>(n, linear, normalize);
    default:
      return is_signed ? reader_of<int>(n, linear, normalize)
                       : reader_of<unsigned>(n, linear, normalize);
  }
}

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

int cube_face(float x, float y, float z, float* at) {
  const float sizes[] = {std::fabs(x), std::fabs(y), std::fabs(z)};
  const int axis = sizes[0] >= sizes[1] && sizes[0] >= sizes[2] ? 0 : sizes[1] >= sizes[2] ? 1 : 2;
  const float ahead[] = {x, y, z};
  const bool negative = ahead[axis] < 0;
  const float s = axis == 0 ? (negative ? z : -z) : axis == 2 && negative ? -x : x;
  const float t = axis == 1 ? (negative ? -z : z) : -y;
  at[0] = (s / sizes[axis] + 1) / 2;
  at[1] = (t / sizes[axis] + 1) / 2;
  return 2 * axis + (negative ? 1 : 0);
}

// --- reports ------------------------------------------------------------------------------------

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

namespace {

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
    case shape_cubemap:
      return "a cubemap";
    case shape_cubemap_layered:
      return "a layered cubemap";
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

void check_fetch(const texture& t, texture_call call, bool wants_float) {
  if ((t.looks_into & call.shapes) == 0) {
    note_misuse(
        call, cudaErrorLaunchFailure,
        "cannot look into " + shape_name(t.looks_into) +
            ", which this texture object is made of.\n  Try: tex1Dfetch for linear memory, "
            "tex2D for pitched memory and two-dimensional arrays, tex3D for "
            "three-dimensional ones, tex1DLayered and tex2DLayered for layers, texCubemap for "
            "cubemaps.");
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

}  // namespace cpu_device
