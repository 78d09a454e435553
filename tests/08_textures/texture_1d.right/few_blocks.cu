// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: fetch() launches few blocks, with a grid-stride loop.

#include "given.hpp"

namespace lab::texture_1d {
namespace {

// --- linear memory: an index, and no rules -------------------------------------------------------

/// A view of floats in ordinary device memory. (texture_view, in lab/texture.hpp, owns the object.)
texture_view view_of(const device_buffer<float>& texels) {
  cudaResourceDesc memory = {};
  memory.resType = cudaResourceTypeLinear;
  memory.res.linear.devPtr = const_cast<float*>(texels.data());  // a texture does not write
  memory.res.linear.sizeInBytes = texels.size_bytes();
  memory.res.linear.desc = cudaCreateChannelDesc<float>();
  cudaTextureDesc sampling = {};
  sampling.readMode = cudaReadModeElementType;
  return texture_view(memory, sampling);
}

__global__ void fetch_each(cudaTextureObject_t view, const int* indices, float* values,
                           std::size_t n) {
  for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < n;
       k += std::size_t{gridDim.x} * blockDim.x)
    values[k] = tex1Dfetch<float>(view, indices[k]);
}

// --- a CUDA array: a coordinate, and rules for reads between texels and outside ------------------

array_owner array_of(std::span<const float> texels) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t handle = nullptr;
  CUDA_CHECK(cudaMallocArray(&handle, &format, texels.size()));
  array_owner array(handle);
  const std::size_t row = texels.size_bytes();
  CUDA_CHECK(cudaMemcpy2DToArray(handle, 0, 0, texels.data(), row, row, 1, cudaMemcpyHostToDevice));
  return array;
}

texture_view view_of(const array_owner& array, const settings& settings) {
  cudaResourceDesc memory = {};
  memory.resType = cudaResourceTypeArray;
  memory.res.array.array = array.get();
  cudaTextureDesc sampling = {};
  sampling.addressMode[0] = settings.address_mode;
  sampling.addressMode[1] = cudaAddressModeClamp;  // there is only one row
  sampling.filterMode = settings.filter;
  sampling.readMode = cudaReadModeElementType;
  sampling.borderColor[0] = settings.border;
  sampling.normalizedCoords = settings.normalized ? 1 : 0;
  return texture_view(memory, sampling);
}

__global__ void sample_each(cudaTextureObject_t view, const float* coordinates, float* values,
                            std::size_t n) {
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < n) values[k] = tex1D<float>(view, coordinates[k]);
}

}  // namespace

result fetch(std::span<const float> texels, std::span<const int> indices) {
  require_texels(texels.size(), most_texels_in_linear_memory());
  const device_buffer memory(texels);
  const texture_view view = view_of(memory);  // made after the memory, destroyed before it
  return values_at(indices, [&](unsigned blocks, const int* at, float* values, std::size_t n) {
    fetch_each<<<std::min(blocks, 64u), 128>>>(view.object(), at, values, n);
  });
}

result sample(std::span<const float> texels, const settings& sampling,
              std::span<const float> coordinates) {
  require_texels(texels.size(), most_texels_in_an_array());
  const bool periodic = sampling.address_mode == cudaAddressModeWrap ||
                        sampling.address_mode == cudaAddressModeMirror;
  if (periodic && !sampling.normalized)
    throw invalid_input("texture_1d: wrap and mirror need normalised coordinates (0 to 1)");
  const array_owner array = array_of(texels);
  const texture_view view = view_of(array, sampling);
  return values_at(coordinates,
                   [&](unsigned blocks, const float* at, float* values, std::size_t n) {
                     sample_each<<<blocks, kThreads>>>(view.object(), at, values, n);
                   });
}

}  // namespace lab::texture_1d
