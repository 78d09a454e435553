// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/pinned_buffer.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "lab/errors.hpp"
#include "lab/new_memory.hpp"

namespace {

using lab::pinned_buffer;

// The tests' main function checks that nothing is left behind, on the CPU device.

TEST(PinnedBuffer, IsPinnedAsItWasAskedTo) {
  // One after the other: a GPU's driver may combine small pieces, and then it reports the flags of
  // the first one.
  for (const unsigned asked : {cudaHostAllocPortable, cudaHostAllocDefault}) {
    const pinned_buffer<int> buffer(3, asked);
    cudaPointerAttributes attributes{};
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, buffer.data()), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    unsigned flags = 0;
    ASSERT_EQ(cudaHostGetFlags(&flags, const_cast<int*>(buffer.data())), cudaSuccess);
    EXPECT_EQ(flags & asked, asked);
  }
}

TEST(PinnedBuffer, BeginsWithTheFillOfNewMemoryInAllItsElements) {
  pinned_buffer<int> buffer(1000);
  ASSERT_EQ(buffer.size(), 1000U);
  EXPECT_EQ(buffer.size_bytes(), 4000U);
  int fill = 0;
  std::memset(&fill, lab::detail::new_memory_byte, sizeof fill);
  for (int& value : buffer.span()) {
    EXPECT_EQ(value, fill);
    value = 7;
  }
  EXPECT_EQ(std::as_const(buffer).span()[999], 7);
}

TEST(PinnedBuffer, OwnsNothingWithoutElements) {
  const pinned_buffer<float> none(0), made_of_nothing;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(made_of_nothing.span().empty());
}

TEST(PinnedBuffer, MovesItsMemoryAndIsNotCopied) {
  static_assert(!std::is_copy_constructible_v<pinned_buffer<int>>);
  static_assert(!std::is_copy_assignable_v<pinned_buffer<int>>);
  pinned_buffer<int> first(10);
  first.data()[9] = 5;
  pinned_buffer<int> second(std::move(first));
  EXPECT_EQ(second.span()[9], 5);
  pinned_buffer<int> third(2);
  third = std::move(second);
  EXPECT_EQ(third.size(), 10U);
  EXPECT_EQ(third.span()[9], 5);
}

TEST(PinnedBuffer, RefusesMoreThanAnyMemoryHolds) {
  EXPECT_THROW(pinned_buffer<double>(std::numeric_limits<std::size_t>::max() / 4),
               lab::invalid_input);
}

TEST(PinnedBuffer, SaysWhenThereIsNoMemory) {
  EXPECT_THROW(pinned_buffer<char>(std::size_t{1} << 60), lab::cuda_error);
}

TEST(PinnedBuffer, SaysWhichFlagsThereAreNot) {
  EXPECT_THROW(pinned_buffer<char>(8, ~0U), lab::cuda_error);
}

}  // namespace
