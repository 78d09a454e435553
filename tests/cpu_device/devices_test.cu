// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Several devices: which ones a program sees, what belongs to each, and host threads that use
// different ones.

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "child_process.hpp"
#include "conformance.hpp"

namespace {

using conformance::device_array;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }

/// In a child process: prints the devices that the program sees, and how the count ended.
int print_devices() {
  int count = -1;
  const cudaError_t status = cudaGetDeviceCount(&count);
  std::printf("%d %s", count, cudaGetErrorName(status));
  for (int d = 0; d < count; ++d) {
    char bus[32] = "";
    int again = -1;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, d) != cudaSuccess) return 1;
    if (cudaDeviceGetByPCIBusId(&again, bus) != cudaSuccess || again != d) return 2;
    std::printf(" %s", bus);
  }
  std::printf("\n");
  return 0;
}

std::string devices_with(const std::string& environment) {
  const auto child = child_process::run(environment, "devices");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  return child.output;
}

#ifdef __CPU_DEVICE__
TEST(VisibleDevices, AreChosenAndOrderedByTheirNumbers) {
  const std::string a = " 0000:01:00.0", b = " 0000:02:00.0", c = " 0000:03:00.0";
  const auto three = [](const std::string& list) {
    return devices_with("CPU_DEVICE_COUNT=3 CUDA_VISIBLE_DEVICES='" + list + "'");
  };
  EXPECT_EQ(devices_with("env -u CPU_DEVICE_COUNT -u CUDA_VISIBLE_DEVICES"),
            "2 cudaSuccess" + a + b + "\n");
  EXPECT_EQ(three("0,1,2"), "3 cudaSuccess" + a + b + c + "\n");
  EXPECT_EQ(three("2,0"), "2 cudaSuccess" + c + a + "\n");
  EXPECT_EQ(three("1"), "1 cudaSuccess" + b + "\n");
  EXPECT_EQ(three(""), "0 cudaErrorNoDevice\n");
  EXPECT_EQ(three("-1"), "0 cudaErrorNoDevice\n");
  EXPECT_EQ(three("0,-1,1"), "1 cudaSuccess" + a + "\n");  // the list ends at what is not there
  EXPECT_EQ(three("2,3,0"), "1 cudaSuccess" + c + "\n");
  EXPECT_EQ(three("1,1"), "1 cudaSuccess" + b + "\n");
  EXPECT_EQ(three("1, 2"), "2 cudaSuccess" + b + c + "\n");
  EXPECT_EQ(three("1x,2"), "0 cudaErrorNoDevice\n");
  EXPECT_EQ(three("GPU-12345678"), "0 cudaErrorNoDevice\n");
  EXPECT_EQ(devices_with("CPU_DEVICE_COUNT=0"), "0 cudaErrorNoDevice\n");
}

TEST(VisibleDevices, WithoutAnyEveryCallSaysSo) {
  const auto child = child_process::run("CUDA_VISIBLE_DEVICES=-1", "no_devices 2>/dev/null");
  EXPECT_EQ(child.exit_code, 0) << child.output;
}
#else
TEST(VisibleDevices, CanAllBeHidden) {
  const std::string text = devices_with("CUDA_VISIBLE_DEVICES=-1");  // the count is left as it was
  EXPECT_NE(text.find(" cudaErrorNoDevice\n"), std::string::npos) << text;
}
#endif

int expect_no_devices() {
  int device = 7;
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  const cudaError_t results[] = {cudaSetDevice(0), cudaMalloc(&memory, 4), cudaDeviceSynchronize(),
                                 cudaStreamCreate(&stream), cudaGetDevice(&device)};
  for (const cudaError_t e : results) std::printf("%s ", cudaGetErrorName(e));
  for (const cudaError_t e : results)
    if (e != cudaErrorNoDevice) return 1;
  return 0;
}

TEST(PciBus, TextsNameOneDevice) {
  char bus[32] = "";
  EXPECT_EQ(cudaDeviceGetPCIBusId(nullptr, 32, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetPCIBusId(bus, 32, -1), cudaErrorInvalidDevice);
  ASSERT_EQ(cudaDeviceGetPCIBusId(bus, 13, 0), cudaSuccess);
  EXPECT_EQ(std::strlen(bus), 12U);
  int value = -1, device = -1;
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 0), cudaSuccess);
  EXPECT_EQ(std::strtol(bus + 5, nullptr, 16), value);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, bus), cudaSuccess);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(&device, "0fff:ff:1f.0"), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetByPCIBusId(nullptr, bus), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Devices, KeepTheirMemoryStreamsAndErrorsApart) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  const device_array<int> zero(1, 1);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const device_array<int> one(1, 2);
    cudaPointerAttributes attributes = {};
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, one.data()), cudaSuccess);
    EXPECT_EQ(attributes.device, 1);
    ASSERT_EQ(cudaMemcpyPeer(one.data(), 1, zero.data(), 0, sizeof(int)), cudaSuccess);
    add<<<1, 1>>>(one.data(), 10);
    EXPECT_EQ(one.to_host()[0], 11);
    EXPECT_EQ(cudaMemcpyPeer(one.data(), count, zero.data(), 0, 4), cudaErrorInvalidDevice);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    ASSERT_EQ(cudaMemcpyPeerAsync(zero.data(), 0, one.data(), 1, sizeof(int), stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(zero.to_host()[0], 11);
  cudaGetLastError();
}

TEST(Devices, SeveralHostThreadsUseDifferentOnes) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const int device = t % count;
      if (cudaSetDevice(device) != cudaSuccess) ++wrong;
      int* data = nullptr;
      std::vector<int> host(32, t);
      if (cudaMalloc(&data, 32 * sizeof(int)) != cudaSuccess) ++wrong;
      cudaMemcpy(data, host.data(), 32 * sizeof(int), cudaMemcpyHostToDevice);
      for (int round = 0; round < 50; ++round) {
        add<<<1, 32>>>(data, 1);
        if (cudaGetLastError() != cudaSuccess) ++wrong;
      }
      if (cudaMemcpy(host.data(), data, 32 * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess)
        ++wrong;
      if (host != std::vector<int>(32, t + 50)) ++wrong;
      int now = -1;
      cudaGetDevice(&now);
      if (now != device) ++wrong;
      cudaFree(data);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PeerToPeer, AttributesFitTheAccess) {
  int count = 0, can = -1, access = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 0),
            cudaErrorInvalidValue);
  cudaGetLastError();
  if (count < 2) GTEST_SKIP() << "needs two devices";
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, 0, 1), cudaSuccess);
  EXPECT_EQ(access, can);
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, 0, count),
            cudaErrorInvalidDevice);
  cudaGetLastError();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--child")
    return std::string(argv[2]) == "devices" ? print_devices() : expect_no_devices();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
