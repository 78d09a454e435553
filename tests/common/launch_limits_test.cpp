// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/launch_limits.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

#include "lab/errors.hpp"

namespace {

TEST(DeviceLimit, IsWhatThePropertiesSay) {
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(lab::device_limit(cudaDevAttrMaxThreadsPerBlock),
            static_cast<unsigned>(properties.maxThreadsPerBlock));
  EXPECT_EQ(lab::device_limit(cudaDevAttrMaxGridDimX),
            static_cast<unsigned>(properties.maxGridSize[0]));
  EXPECT_EQ(lab::device_limit(cudaDevAttrMaxGridDimY),
            static_cast<unsigned>(properties.maxGridSize[1]));
  EXPECT_EQ(lab::device_limit(cudaDevAttrMultiProcessorCount),
            static_cast<unsigned>(properties.multiProcessorCount));
}

TEST(RequireAtMost, TakesTheLimitAndNothing) {
  const unsigned most = lab::device_limit(cudaDevAttrMaxThreadsPerBlock);
  EXPECT_NO_THROW(lab::require_at_most(cudaDevAttrMaxThreadsPerBlock, most, "threads in a block"));
  EXPECT_NO_THROW(lab::require_at_most(cudaDevAttrMaxThreadsPerBlock, 0, "threads in a block"));
}

TEST(RequireAtMost, RefusesMoreAndNamesBothNumbers) {
  const std::size_t most = lab::device_limit(cudaDevAttrMaxThreadsPerBlock);
  for (const std::size_t asked_for : {most + 1, std::numeric_limits<std::size_t>::max()}) {
    try {
      lab::require_at_most(cudaDevAttrMaxThreadsPerBlock, asked_for, "threads in a block");
      ADD_FAILURE() << asked_for << " were taken";
    } catch (const lab::invalid_input& refusal) {
      EXPECT_EQ(refusal.what(), std::to_string(asked_for) +
                                    " threads in a block were asked for, and this device allows "
                                    "at most " +
                                    std::to_string(most));
    }
  }
}

}  // namespace
