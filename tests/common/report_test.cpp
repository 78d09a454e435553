// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/report.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "lab/errors.hpp"

namespace {

TEST(Summarize, TakesTheMiddleOfAnyOrder) {
  const std::vector<float> times = {5, 1, 9, 2, 4};
  const auto time = lab::summarize(times);
  EXPECT_EQ(time.median_ms, 4);
  EXPECT_EQ(time.min_ms, 1);
  EXPECT_EQ(time.max_ms, 9);
  EXPECT_EQ(time.runs, 5u);
}

TEST(Summarize, TakesTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(lab::summarize(std::vector<float>{8, 1, 2, 4}).median_ms, 3);
  EXPECT_EQ(lab::summarize(std::vector<float>{7}).median_ms, 7);
}

TEST(Summarize, RefusesNothing) {
  EXPECT_THROW(lab::summarize(std::vector<float>{}), lab::invalid_input);
}

TEST(DescribeKernel, GivesTimeRateAndFractionOfTheDevicesLimit) {
  EXPECT_EQ(
      lab::describe_kernel({0.5, 0.25, 1, 20}, {.bytes = 1e9}, 4e12, false),
      "kernel: 0.500 ms (median of 20, 0.250 to 1.000), 2000 GB/s: 50 % of this device's copy "
      "bandwidth (4000 GB/s)");
  EXPECT_EQ(lab::describe_kernel({2, 2, 2, 1}, {.bytes = 1e6}, std::nullopt, false),
            "kernel: 2.000 ms, 0.500 GB/s");
}

TEST(DescribeKernel, CountsOtherThingsThanBytes) {
  EXPECT_EQ(lab::describe_kernel({1, 1, 1, 1}, {.items = 1e6, .item_name = "pixels"}, std::nullopt,
                                 false),
            "kernel: 1.000 ms, 1.000 G pixels/s");
}

TEST(DescribeKernel, NamesWhatElseWasTimed) {
  EXPECT_EQ(lab::describe_kernel({2, 2, 2, 1}, {.name = "copies and kernels"}, 4e12, false),
            "copies and kernels: 2.000 ms");
}

TEST(DescribeKernel, GivesNoRateOnTheCpuDevice) {
  EXPECT_EQ(lab::describe_kernel({12.5, 12, 13, 3},
                                 {.bytes = 1e9, .items = 1, .item_name = "pixels"}, 4e12, true),
            "kernel: 12.50 ms (median of 3, 12.00 to 13.00) (CPU device: not a GPU time)");
}

TEST(DescribeKernel, SaysWhenNobodyMeasured) {
  EXPECT_EQ(lab::describe_kernel({0, 0, 0, 20}, {.bytes = 1e9}, 4e12, false),
            "kernel: not timed (the exercise reported 0 ms)");
  EXPECT_TRUE(
      lab::describe_kernel({std::numeric_limits<double>::quiet_NaN(), 0, 0, 20}, {}, 4e12, false)
          .starts_with("kernel: not timed"));
}

TEST(DescribeLibrary, GivesTheFractionOfTheLibrarysSpeed) {
  EXPECT_EQ(lab::describe_library("cublasSdot", 0.5, {1, 1, 1, 20}),
            "cublasSdot: 0.500 ms; this kernel reaches 50 % of its speed");
}

TEST(HumanBytes, ChoosesTheUnit) {
  EXPECT_EQ(lab::human_bytes(0), "0 bytes");
  EXPECT_EQ(lab::human_bytes(1), "1 byte");
  EXPECT_EQ(lab::human_bytes(1023), "1023 bytes");
  EXPECT_EQ(lab::human_bytes(1024), "1 KiB");
  EXPECT_EQ(lab::human_bytes(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
  EXPECT_EQ(lab::human_bytes(141.0 * 1024 * 1024 * 1024), "141 GiB");
}

}  // namespace
