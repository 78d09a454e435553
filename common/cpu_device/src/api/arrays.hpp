// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arrays as the runtime keeps them. Internal to the CPU device; under api_mutex().
#pragma once

#include <cstddef>
#include <set>

#include "api/calls.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "cpu_device/textures.h"

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

/// A size, and one of the limits of cudaDeviceProp.
inline bool fits(std::size_t value, int limit) { return value <= static_cast<std::size_t>(limit); }

/// A live array, or null; the pointer is not followed before that is known.
const cudaArray* find_array(cudaArray_const_t array);
cudaError_t no_such_array(cudaArray_const_t array);

/// The bytes of a texel; 0 for a format that arrays and textures do not have.
std::size_t bytes_of_texel(const cudaChannelFormatDesc& desc);
int channels_of(const cudaChannelFormatDesc& desc);
cudaError_t bad_format(const cudaChannelFormatDesc& desc);

/// What a device says of its textures.
void set_texture_limits(cudaDeviceProp& properties);

/// An array that shows a texture of OpenGL while that is mapped; `texels` are its rows without
/// gaps. Only free_graphics_array() frees it.
cudaError_t make_graphics_array(cudaArray_t* array, char** texels,
                                const cudaChannelFormatDesc& desc, const cudaExtent& extent,
                                unsigned flags, int device, const void* made_at);
void free_graphics_array(cudaArray_t array);

/// texture_objects.cpp: fetches through objects that look into this array fail from now on.
void orphan_objects_of(const cudaArray* array);

}  // namespace cpu_device
