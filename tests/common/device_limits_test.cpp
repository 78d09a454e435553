// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/device_limits.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "lab/bare_kernels.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/random.hpp"
#include "lab/transpose_baseline.hpp"
#include "lab_testing.hpp"

namespace {

const lab::testing::device_may_change kByDesign;  // select_device() does

/// The sentence of the invalid_input that `action` throws.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const lab::invalid_input& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Device, IsDescribedByNumberAndName) {
  const std::string text = lab::describe_device(0);
  EXPECT_TRUE(text.starts_with("device 0: ")) << text;
  EXPECT_GT(text.size(), std::string("device 0: ").size());
  EXPECT_EQ(text.find("times are not GPU times") != std::string::npos, lab::on_cpu_device());
}

TEST(SelectDevice, MakesEachDeviceCurrent) {
  const int count = lab::device_count();
  ASSERT_GE(count, 1);
  for (int id = count - 1; id >= 0; --id) {
    lab::select_device(id);
    int current = -1;
    CUDA_CHECK(cudaGetDevice(&current));
    EXPECT_EQ(current, id);
  }
}

TEST(SelectDevice, SaysWhichDevicesThereAre) {
  const int count = lab::device_count();
  const std::string there =
      count == 1 ? "only device 0" : "devices 0 to " + std::to_string(count - 1);
  for (const int id : {count, 12345, -1})
    EXPECT_EQ(refusal([&] { lab::select_device(id); }),
              "there is no device " + std::to_string(id) + ": this machine has " + there);
}

TEST(CopyBandwidth, IsAboveThatOfAnyOldMachineAndBelowAnyNewOne) {
  const double rate = lab::copy_bandwidth();
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e14);
}

TEST(PinnedCopyBandwidth, IsAboveThatOfAnyOldMachineAndBelowAnyNewOne) {
  const double rate = lab::pinned_copy_bandwidth();
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e13);
}

TEST(LibraryDot, HasATimeOnAGpuOnly) {
  const auto a = lab::random_floats(1000, 1, -1, 1);
  const auto time = lab::library_dot_milliseconds(a, a);
  EXPECT_EQ(time.has_value(), !lab::on_cpu_device());
  if (time) {
    EXPECT_GT(*time, 0);
  }
}

TEST(LibraryDot, RefusesUnequalLengths) {
  const std::vector<float> two(2), three(3);
  EXPECT_THROW(lab::library_dot_milliseconds(two, three), lab::invalid_input);
}

TEST(LibraryTranspose, HasATimeOnAGpuOnly) {
  const auto matrix = lab::random_floats(1000, 1, -1, 1);
  const auto time = lab::library_transpose_milliseconds(matrix, 20, 50);
  EXPECT_EQ(time.has_value(), !lab::on_cpu_device());
  if (time) {
    EXPECT_GT(*time, 0);
  }
  EXPECT_FALSE(lab::library_transpose_milliseconds({}, 0, 50));
}

TEST(LibraryTranspose, RefusesAMatrixOfAnotherSize) {
  const std::vector<float> five(5);
  EXPECT_THROW(lab::library_transpose_milliseconds(five, 2, 3), lab::invalid_input);
}

TEST(BareKernels, HaveATimeOnAGpuOnly) {
  for (const auto time :
       {lab::reading_milliseconds(1 << 20), lab::bare_add_milliseconds(1 << 18)}) {
    EXPECT_EQ(time.has_value(), !lab::on_cpu_device());
    if (time) {
      EXPECT_GT(*time, 0);
    }
  }
  EXPECT_FALSE(lab::reading_milliseconds(15));
  EXPECT_FALSE(lab::bare_add_milliseconds(3));
}

TEST(FastestMatmul, HasATimeOnAGpuOnly) {
  const auto a = lab::random_floats(20 * 30, 1, -1, 1), b = lab::random_floats(30 * 50, 2, -1, 1);
  const auto time = lab::fastest_matmul_milliseconds(a, b, 20, 50, 30);
  EXPECT_EQ(time.has_value(), !lab::on_cpu_device());
  if (time) {
    EXPECT_GT(*time, 0);
  }
  EXPECT_FALSE(lab::fastest_matmul_milliseconds({}, b, 0, 50, 30));
  EXPECT_THROW(lab::fastest_matmul_milliseconds(a, b, 20, 50, 31), lab::invalid_input);
}

TEST(RequireMemory, LetsSmallThingsPass) {
  EXPECT_NO_THROW(lab::require_memory(0, 0));
  EXPECT_NO_THROW(lab::require_memory(1 << 20, 1 << 20));
}

TEST(RequireMemory, SaysHowMuchIsNeededAndFree) {
  constexpr std::size_t kPebi = std::size_t{1} << 50;
  const std::string host = refusal([] { lab::require_memory(kPebi, 0); });
  EXPECT_TRUE(host.starts_with("this needs 1 PiB of host memory, and ")) << host;
  EXPECT_TRUE(host.ends_with(" are free; try a smaller size")) << host;
  const std::string device = refusal([] { lab::require_memory(0, kPebi); });
  EXPECT_TRUE(device.starts_with("this needs 1 PiB of device memory, and ")) << device;
}

TEST(RequireMemory, DoesNotOverflow) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  EXPECT_NE(refusal([] { lab::require_memory(kMax, kMax); }), "not refused");
  EXPECT_NE(refusal([] { lab::require_memory(kMax, 1); }), "not refused");
  EXPECT_NE(refusal([] { lab::require_memory(1, kMax); }), "not refused");
}

}  // namespace
