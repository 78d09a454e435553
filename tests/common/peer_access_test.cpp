// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/peer_access.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "lab/device_limits.hpp"
#include "lab/keep_current_device.hpp"
#include "lab_testing.hpp"

namespace {

const lab::testing::device_may_change kByDesign;  // cases here choose devices

#ifdef __CPU_DEVICE__
const lab::testing::setting kThree("CPU_DEVICE_COUNT", "3");
#endif

int current_device() {
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  return device;
}

/// Whether device can already access peer's memory; there are two devices that can.
bool is_allowed(int device, int peer) {
  EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  (void)cudaGetLastError();
  if (status == cudaSuccess) {
    EXPECT_EQ(cudaDeviceDisablePeerAccess(peer), cudaSuccess);
  }
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  return status == cudaErrorPeerAccessAlreadyEnabled;
}

class PeerAccess : public ::testing::Test {
 protected:
  void SetUp() override {
    int possible = 0;
    if (lab::device_count() > 1) {
      EXPECT_EQ(cudaDeviceCanAccessPeer(&possible, 0, 1), cudaSuccess);
    }
    if (possible == 0) GTEST_SKIP() << "needs two devices that can access each other";
  }
};

TEST(KeepCurrentDevice, IsTheOneBeforeAfterwards) {
  for (int before = 0; before < lab::device_count(); ++before) {
    EXPECT_EQ(cudaSetDevice(before), cudaSuccess);
    {
      const lab::keep_current_device keep;
      EXPECT_EQ(cudaSetDevice(lab::device_count() - 1), cudaSuccess);
    }
    EXPECT_EQ(current_device(), before);
  }
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST_F(PeerAccess, IsThereWhileItLives) {
  const lab::keep_current_device keep;
  EXPECT_FALSE(is_allowed(0, 1));
  {
    const lab::access_to_all_peers access(2);
    EXPECT_TRUE(is_allowed(0, 1));
    EXPECT_TRUE(is_allowed(1, 0));
  }
  EXPECT_FALSE(is_allowed(0, 1));
  EXPECT_FALSE(is_allowed(1, 0));
}

TEST_F(PeerAccess, OfSomebodyElseStays) {
  const lab::keep_current_device keep;
  {
    const lab::access_to_all_peers before(2);
    { const lab::access_to_all_peers again(lab::device_count()); }
    EXPECT_TRUE(is_allowed(0, 1));
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_FALSE(is_allowed(0, 1));
}

TEST_F(PeerAccess, OfOneDeviceIsNothing) {
  const lab::access_to_all_peers alone(1);
  EXPECT_FALSE(is_allowed(0, 1));
}

}  // namespace
