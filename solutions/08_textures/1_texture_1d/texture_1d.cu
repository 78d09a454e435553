// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.1 texture_1d: texture objects over linear memory and over a CUDA array.
// Edit:  this file, from TODO(1) to TODO(5). texture_1d.hpp has the formulas.
// Run:   scripts/lab run 08.1 -- --address-mode border
// Test:  scripts/lab test 08.1
// Hints: scripts/lab hint 08.1             Chapter: docs/08_textures.md

#include "given.hpp"

namespace lab::texture_1d {
namespace {

// --- linear memory: an index, and no rules -------------------------------------------------------

/// A view of floats in ordinary device memory. (texture_view, in lab/texture.hpp, owns the object.)
texture_view view_of(const device_buffer<float>& texels) {
  // TODO(1): two structs, both = {} at first. The cudaResourceDesc describes the memory: linear,
  //          its address (devPtr is a void*, so cast away const), how many bytes, in which format
  //          (cudaCreateChannelDesc<float>()). The cudaTextureDesc: cudaReadModeElementType.
  // BEGIN SOLUTION
  // STUB: throw not_written("fetch()", 1);
  cudaResourceDesc memory = {};
  memory.resType = cudaResourceTypeLinear;
  memory.res.linear.devPtr = const_cast<float*>(texels.data());  // a texture does not write
  memory.res.linear.sizeInBytes = texels.size_bytes();
  memory.res.linear.desc = cudaCreateChannelDesc<float>();
  cudaTextureDesc sampling = {};
  sampling.readMode = cudaReadModeElementType;
  return texture_view(memory, sampling);
  // END SOLUTION
}

__global__ void fetch_each(cudaTextureObject_t view, const int* indices, float* values,
                           std::size_t n) {
  // TODO(2): this thread's value is tex1Dfetch<float>(object, index) for its index. An index
  //          outside the texture needs no guard; a thread past n does.
  // BEGIN SOLUTION
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < n) values[k] = tex1Dfetch<float>(view, indices[k]);
  // END SOLUTION
}

// --- a CUDA array: a coordinate, and rules for reads between texels and outside ------------------

array_owner array_of(std::span<const float> texels) {
  // TODO(3): cudaMallocArray for this number of floats, its owner, then copy the texels to it:
  //          cudaMemcpy2DToArray, one row. Nothing may leak if the copy fails.
  // BEGIN SOLUTION
  // STUB: throw not_written("sample()", 3);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t handle = nullptr;
  CUDA_CHECK(cudaMallocArray(&handle, &format, texels.size()));
  array_owner array(handle);
  const std::size_t row = texels.size_bytes();
  CUDA_CHECK(cudaMemcpy2DToArray(handle, 0, 0, texels.data(), row, row, 1, cudaMemcpyHostToDevice));
  return array;
  // END SOLUTION
}

texture_view view_of(const array_owner& array, const settings& settings) {
  // TODO(4): the same two structs. Set the address mode ([0], of x), the filter, the border's
  //          colour ([0], of the only channel), and whether coordinates are normalised, too.
  // BEGIN SOLUTION
  // STUB: throw not_written("sample()", 4);
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
  // END SOLUTION
}

__global__ void sample_each(cudaTextureObject_t view, const float* coordinates, float* values,
                            std::size_t n) {
  // TODO(5): like fetch_each, with tex1D<float>(object, coordinate).
  // BEGIN SOLUTION
  const std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (k < n) values[k] = tex1D<float>(view, coordinates[k]);
  // END SOLUTION
}

}  // namespace

result fetch(std::span<const float> texels, std::span<const int> indices) {
  require_texels(texels.size(), most_texels_in_linear_memory());
  const device_buffer memory(texels);
  const texture_view view = view_of(memory);  // made after the memory, destroyed before it
  return values_at(indices, [&](unsigned blocks, const int* at, float* values, std::size_t n) {
    fetch_each<<<blocks, kThreads>>>(view.object(), at, values, n);
  });
}

result sample(std::span<const float> texels, const settings& sampling,
              std::span<const float> coordinates) {
  require_texels(texels.size(), most_texels_in_an_array());
  const bool periodic = sampling.address_mode == cudaAddressModeWrap ||
                        sampling.address_mode == cudaAddressModeMirror;
  // TODO(4): without normalised coordinates CUDA silently uses clamp instead of wrap and mirror.
  //          Reject that: throw invalid_input, with a sentence.
  // BEGIN SOLUTION
  if (periodic && !sampling.normalized)
    throw invalid_input("texture_1d: wrap and mirror need normalised coordinates (0 to 1)");
  // END SOLUTION
  const array_owner array = array_of(texels);
  const texture_view view = view_of(array, sampling);
  return values_at(coordinates,
                   [&](unsigned blocks, const float* at, float* values, std::size_t n) {
                     sample_each<<<blocks, kThreads>>>(view.object(), at, values, n);
                   });
}

}  // namespace lab::texture_1d
