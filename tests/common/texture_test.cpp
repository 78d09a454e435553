// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/texture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"

namespace {

using lab::array_owner;
using lab::texture_view;

array_owner array_of(std::size_t width) {
  const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
  cudaArray_t handle = nullptr;
  CUDA_CHECK(cudaMallocArray(&handle, &a_float, width));
  return array_owner(handle);
}

texture_view view_of(const array_owner& array) {
  cudaResourceDesc memory = {};
  memory.resType = cudaResourceTypeArray;
  memory.res.array.array = array.get();
  return texture_view(memory, {});
}

/// Whether there is such an object. Only the CPU device is sure to know.
bool exists(cudaTextureObject_t object) {
  cudaResourceDesc memory = {};
  const bool found = cudaGetTextureObjectResourceDesc(&memory, object) == cudaSuccess;
  (void)cudaGetLastError();
  return found;
}

TEST(TextureView, IsMoveOnly) {
  static_assert(!std::is_copy_constructible_v<texture_view>);
  static_assert(!std::is_copy_assignable_v<texture_view>);
  static_assert(std::is_nothrow_move_constructible_v<texture_view>);
}

TEST(TextureView, OwnsItsObjectWhereverItIsMoved) {
  const array_owner array = array_of(5);
  cudaTextureObject_t object = 0;
  {
    texture_view first = view_of(array);
    object = first.object();
    EXPECT_NE(object, 0U);
    const texture_view second = std::move(first);
    EXPECT_EQ(second.object(), object);
    EXPECT_EQ(first.object(), 0U) << "two owners would destroy it twice";
    EXPECT_TRUE(exists(object));
  }
  if (lab::on_cpu_device()) {
    EXPECT_FALSE(exists(object));
  }
}

TEST(TextureView, ThrowsWhereThereIsNothingToLookAt) {
  EXPECT_THROW(view_of(array_owner()), lab::cuda_error);
}

TEST(ArrayOwner, FreesItsArray) {  // else the watch over leaks fails this test
  array_owner one = array_of(5), other = array_of(7);
  one = std::move(other);
  EXPECT_NE(one.get(), nullptr);
}

TEST(Limits, OfArraysAreThoseOfTheDevice) {
  const std::size_t most = lab::most_texels_in_an_array();
  EXPECT_NE(array_of(most).get(), nullptr);
  EXPECT_THROW(array_of(most + 1), lab::cuda_error);
}

TEST(Limits, OfLinearMemoryAreLarger) {
  const std::size_t most = lab::most_texels_in_linear_memory();
  EXPECT_GT(most, lab::most_texels_in_an_array());
  EXPECT_LE(most, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  const lab::device_buffer<float> memory(1);
  cudaResourceDesc too_much = {};
  too_much.resType = cudaResourceTypeLinear;
  too_much.res.linear.devPtr = const_cast<float*>(memory.data());
  too_much.res.linear.sizeInBytes = (most + 1) * sizeof(float);
  too_much.res.linear.desc = cudaCreateChannelDesc<float>();
  EXPECT_THROW(texture_view(too_much, {}), lab::cuda_error);

  // Nor is it less than the device says. (As large a texture would take gigabytes.)
  const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
  int device = 0;
  std::size_t asked = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetTexture1DLinearMaxWidth(&asked, &a_float, device));
  EXPECT_EQ(most, std::min<std::size_t>(asked, std::numeric_limits<int>::max()));
}

}  // namespace
