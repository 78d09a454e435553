// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.1 texture_1d: the contract. What the program and the tests expect of texture_1d.cu.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <vector>

namespace lab::texture_1d {

/// How many reads the program times unless it is told otherwise.
inline constexpr std::size_t kDefaultSamples = 1'000'000;

/// How an array is read. The enumerations are CUDA's own.
struct settings {
  cudaTextureFilterMode filter = cudaFilterModePoint;
  cudaTextureAddressMode address_mode = cudaAddressModeClamp;
  bool normalized = false;  ///< coordinates from 0 to 1 for the whole texture, not from 0 to n
  float border = 0;         ///< what is outside with cudaAddressModeBorder
};

struct result {
  std::vector<float> values;  ///< one for each index, or for each coordinate
  float kernel_ms = 0;        ///< the time of the kernel alone
};

/// values[k] = texels[indices[k]], fetched by tex1Dfetch through a texture over linear memory; 0
/// where the index is less than 0 or not less than the number of texels.
///
/// Throws lab::invalid_input when there are no texels, or more than a texture over linear memory
/// can have on this device (most_texels_in_linear_memory() of lab/texture.hpp); lab::cuda_error
/// when CUDA reports an error. Neither leaves memory or a texture object behind.
///
/// Requires: kernels that read the texels by tex1Dfetch and tex1D, through texture objects; no
/// pointer leads there.
///
/// From: the Kazan course on CUDA programming technology, chapter 8 (there with texture references,
/// which are gone). So is sample().
result fetch(std::span<const float> texels, std::span<const int> indices);

/// values[k] is what tex1D finds at coordinates[k] in a texture over a CUDA array with n texels
/// T[0] to T[n - 1]. With u = the coordinate, or n times that if it is normalised, that is
///
///     point:   T[floor(u)]
///     linear:  (1 - w) * T[i] + w * T[i + 1]    with i = floor(u - 0.5), w = u - 0.5 - i,
///                                               where w has 8 bits after the point
///
/// And T[i] outside of the texture is, with
///
///     clamp:   the nearest texel
///     border:  sampling.border
///     wrap:    T[i mod n]: the texture again and again            normalised only
///     mirror:  the same, every second time backwards              normalised only
///
/// The coordinates are finite numbers. The result of the point filter is exact, away from the
/// texels' edges; that of the linear one within the bound of reference.hpp.
///
/// Throws lab::invalid_input when there are no texels, or more than most_texels_in_an_array(), and
/// for wrap or mirror with coordinates that are not normalised (CUDA would clamp without an error
/// message); lab::cuda_error as above.
result sample(std::span<const float> texels, const settings& sampling,
              std::span<const float> coordinates);

}  // namespace lab::texture_1d
