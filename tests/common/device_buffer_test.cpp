// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/device_buffer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using lab::device_buffer;

TEST(DeviceBuffer, IsMoveOnly) {
  static_assert(!std::is_copy_constructible_v<device_buffer<int>>);
  static_assert(!std::is_copy_assignable_v<device_buffer<int>>);
  static_assert(std::is_nothrow_move_constructible_v<device_buffer<int>>);
  static_assert(std::is_nothrow_move_assignable_v<device_buffer<int>>);
  static_assert(!std::is_convertible_v<std::size_t, device_buffer<int>>);
}

TEST(DeviceBuffer, BeginsWithWhatNobodyWouldWrite) {
  // Not the same in all runs of the tests (test_main.cpp).
  EXPECT_EQ(device_buffer<unsigned char>(257).to_vector(),
            std::vector<unsigned char>(257, lab::detail::new_memory_byte));
  EXPECT_NE(device_buffer<int>(1).to_vector(), std::vector<int>(1, 0));
}

TEST(DeviceBuffer, HoldsWhatWasCopiedUp) {
  for (const std::size_t n : {1u, 31u, 32u, 33u, 1009u}) {
    std::vector<int> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(3 * i) - 5;
    const device_buffer<int> buffer(values);
    EXPECT_EQ(buffer.size(), n);
    EXPECT_EQ(buffer.size_bytes(), n * sizeof(int));
    EXPECT_NE(buffer.data(), nullptr);
    EXPECT_EQ(buffer.to_vector(), values);
  }
}

TEST(DeviceBuffer, CopiesBothWaysIntoWhatIsThere) {
  device_buffer<int> buffer(3);
  buffer.copy_from(std::vector<int>{7, 8, 9});
  std::vector<int> values(3);
  buffer.copy_to(values);
  EXPECT_EQ(values, (std::vector<int>{7, 8, 9}));
}

TEST(DeviceBuffer, RefusesOtherLengths) {
  device_buffer<int> buffer(3);
  std::vector<int> four(4);
  std::vector<int> two(2);
  EXPECT_THROW(buffer.copy_from(four), lab::invalid_input);
  EXPECT_THROW(buffer.copy_from(two), lab::invalid_input);
  EXPECT_THROW(buffer.copy_to(four), lab::invalid_input);
  EXPECT_THROW(buffer.copy_to(two), lab::invalid_input);
}

TEST(DeviceBuffer, MayBeEmpty) {
  device_buffer<int> buffer(0);
  EXPECT_TRUE(buffer.empty());
  EXPECT_EQ(buffer.data(), nullptr);
  EXPECT_TRUE(buffer.to_vector().empty());
  EXPECT_NO_THROW(buffer.copy_from(std::span<const int>{}));
  EXPECT_TRUE(device_buffer<int>(std::span<const int>{}).empty());
}

TEST(DeviceBuffer, HandsItsMemoryOn) {
  device_buffer<int> first(std::vector<int>{1, 2, 3});
  const int* memory = first.data();
  device_buffer<int> second = std::move(first);
  EXPECT_EQ(second.data(), memory);
  EXPECT_TRUE(first.empty());  // NOLINT: what a moved-from buffer is like is the point
  EXPECT_EQ(first.data(), nullptr);
  device_buffer<int> third(100);
  third = std::move(second);  // frees the hundred: the test main counts
  EXPECT_EQ(third.to_vector(), (std::vector<int>{1, 2, 3}));
  device_buffer<int>& itself = third;
  third = std::move(itself);
  EXPECT_EQ(third.size(), 3u);
}

TEST(DeviceBuffer, DeducesItsTypeFromASpan) {
  const std::vector<double> values = {1, 2};
  const lab::device_buffer buffer{std::span<const double>(values)};
  static_assert(std::is_same_v<decltype(buffer), const device_buffer<double>>);
  EXPECT_EQ(buffer.to_vector(), values);
}

TEST(DeviceBuffer, RefusesMoreThanThereCanBe) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(device_buffer<int>{kMax}, lab::invalid_input);
  EXPECT_THROW(device_buffer<int>{kMax / sizeof(int)}, lab::cuda_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
