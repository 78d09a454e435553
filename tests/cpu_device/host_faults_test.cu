// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A crash of host code names its line, too, and so does host code that never ends when it is asked.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <thread>

namespace {

int* volatile nowhere = nullptr;
volatile int zero = 0;

constexpr int kStoreLine = __LINE__ + 1;
void store() { *nowhere = 1; }

__global__ void nothing() {}

std::string at(int line) { return " at host_faults_test.cu:" + std::to_string(line) + "[.]"; }

#ifndef __SANITIZE_ADDRESS__  // it reports crashes itself

TEST(HostFault, NamesTheLineOfABadAccess) {
  EXPECT_EXIT(store(), ::testing::KilledBySignal(SIGSEGV), "segmentation fault.*" + at(kStoreLine));
}

constexpr int kFreeLine = __LINE__ + 1;
void give_back(void* memory) { free(memory); }

TEST(HostFault, NamesTheLineThatGivesDeviceMemoryToFree) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 100), cudaSuccess);
  EXPECT_EXIT(give_back(memory), ::testing::KilledBySignal(SIGABRT), "aborted" + at(kFreeLine));
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

constexpr int kLoopLine = __LINE__ + 2;
void run_for_ever() {
  while (zero == 0) raise(SIGXCPU);
}

constexpr int kWaitLine = __LINE__ + 3;
void wait_for_a_thread() {
  std::thread other([] { raise(SIGXCPU); });
  while (zero == 0) usleep(1);
}

TEST(HostFault, NamesTheLineOfALoopWhenAsked) {
  EXPECT_EXIT(run_for_ever(), ::testing::KilledBySignal(SIGXCPU), "stopped" + at(kLoopLine));
}

TEST(HostFault, NamesTheLineOfTheProgramWhicheverThreadIsAsked) {
  EXPECT_EXIT(wait_for_a_thread(), ::testing::KilledBySignal(SIGXCPU), "stopped" + at(kWaitLine));
}

TEST(HostFault, NamesTheLineAfterALaunchToo) {
  EXPECT_EXIT(
      {
        nothing<<<1, 1>>>();
        (void)cudaDeviceSynchronize();
        store();
      },
      ::testing::KilledBySignal(SIGSEGV), "segmentation fault.*" + at(kStoreLine));
}

#ifdef __x86_64__  // others do not stop there
volatile int quotient = 0;

constexpr int kDivisionLine = __LINE__ + 1;
void divide() { quotient = 7 / zero; }

TEST(HostFault, NamesTheLineOfADivisionByZero) {
  EXPECT_EXIT(divide(), ::testing::KilledBySignal(SIGFPE), "division by zero" + at(kDivisionLine));
}
#endif

#endif

}  // namespace
