// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CPU_DEVICE_COUNTERS in the environment of a program that asks for no counters in its code. (So
// nothing in this file may.)
// This file is compiled the way the check build compiles kernels.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

__global__ void store(int* to) { to[threadIdx.x] = 1; }
__global__ void store_apart(char* to, unsigned stride) {
  if (threadIdx.x != 3) to[threadIdx.x * stride] = 1;
}

TEST(Counting, IsDoneHere) {
  cpu_device_testing::device_array<int> to(32, 0);
  store<<<1, 32>>>(to.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cpu_device_testing::device_array<char> apart(1024, 0);
  for (const unsigned stride : {2U, 32U, 4U}) store_apart<<<1, 32>>>(apart.data(), stride);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(Counting, WritesATableWhenTheProgramEnds) {
  const std::string table = ::testing::TempDir() + "counting_" + std::to_string(::getpid());
  std::array<char, 4096> self{};
  ASSERT_GT(::readlink("/proc/self/exe", self.data(), self.size() - 1), 0);
  const std::string command = "CPU_DEVICE_COUNTERS='" + table + "' '" + self.data() +
                              "' --gtest_filter=Counting.IsDoneHere > /dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(table);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_NE(text.str().find("\tglobal store\t4\t1\t32\t"), std::string::npos)
      << "the table is: " << text.str();
  std::string costliest = "\t0 32 64 -";  // the request of stride 32, and not the first or the last
  for (int lane = 4; lane < 32; ++lane) costliest += " " + std::to_string(lane * 32);
  EXPECT_NE(text.str().find(costliest + "\n"), std::string::npos) << "the table is: " << text.str();
  std::remove(table.c_str());
}

}  // namespace

#endif
