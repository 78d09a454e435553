// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Several devices: which ones a program sees, what belongs to each (its values of variables, too),
// and host threads that use different ones.

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "child_process.hpp"
#include "conformance.hpp"
#include "run_tests.hpp"

namespace {

using conformance::device_array;
using conformance::in_every_policy;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }

/// In a child process: prints the devices that the program sees, and the result of the count.
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

TEST(Devices, HaveNumbersFromZeroOn) {
  int count = 0, device = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  for (const int none : {-1, count, 1000}) {
    cudaDeviceProp properties;
    EXPECT_EQ(cudaSetDevice(none), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, none), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaInitDevice(none, 0, 0), cudaErrorInvalidDevice);
  }
  EXPECT_EQ(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaInitDevice(count - 1, 0, 0), cudaSuccess);
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);  // until another is chosen, and cudaInitDevice chooses none
  cudaGetLastError();
}

TEST(Devices, AreAsCudaDescribesThem) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  for (int d = 0; d < count; ++d) {
    cudaDeviceProp p;
    ASSERT_EQ(cudaGetDeviceProperties(&p, d), cudaSuccess);
    EXPECT_GT(std::strlen(p.name), 0U);
    EXPECT_GT(p.totalGlobalMem, 0U);
    EXPECT_GT(p.multiProcessorCount, 0);
    EXPECT_EQ(p.warpSize, 32);
    EXPECT_EQ(p.maxThreadsPerBlock, 1024);
    EXPECT_EQ(p.maxThreadsDim[0], 1024);
    EXPECT_EQ(p.maxThreadsDim[1], 1024);
    EXPECT_EQ(p.maxThreadsDim[2], 64);
    EXPECT_EQ(p.maxGridSize[0], 2147483647);
    EXPECT_EQ(p.maxGridSize[1], 65535);
    EXPECT_EQ(p.maxGridSize[2], 65535);
    EXPECT_EQ(p.totalConstMem, 65536U);
    EXPECT_EQ(p.sharedMemPerBlock, 48U * 1024);
    EXPECT_GE(p.sharedMemPerBlockOptin, p.sharedMemPerBlock);
    EXPECT_GE(p.sharedMemPerMultiprocessor, p.sharedMemPerBlockOptin);
    EXPECT_EQ(p.regsPerBlock, 65536);
    EXPECT_EQ(p.unifiedAddressing, 1);
    EXPECT_EQ(p.canMapHostMemory, 1);
    EXPECT_EQ(p.managedMemory, 1);
  }
}

TEST(Devices, OneIsChosenThatFits) {
  int count = 0, device = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  cudaDeviceProp wanted = {};
  wanted.major = 5;
  ASSERT_EQ(cudaChooseDevice(&device, &wanted), cudaSuccess);
  EXPECT_TRUE(device >= 0 && device < count);
  EXPECT_EQ(cudaChooseDevice(nullptr, &wanted), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Devices, AreChosenForEachHostThread) {
  int count = 0, here = -1, elsewhere = -1;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(count - 1), cudaSuccess);
  std::thread([&] { EXPECT_EQ(cudaGetDevice(&elsewhere), cudaSuccess); }).join();
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(cudaGetDevice(&here), cudaSuccess);
  EXPECT_EQ(here, count - 1);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

TEST(Devices, KeepTheirFlags) {
  unsigned before = 0, flags = 0;
  ASSERT_EQ(cudaGetDeviceFlags(&before), cudaSuccess);
  ASSERT_EQ(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), cudaSuccess);
  ASSERT_EQ(cudaGetDeviceFlags(&flags), cudaSuccess);
  constexpr unsigned kSchedule =
      cudaDeviceScheduleSpin | cudaDeviceScheduleYield | cudaDeviceScheduleBlockingSync;
  EXPECT_EQ(flags & kSchedule, cudaDeviceScheduleBlockingSync);
  EXPECT_EQ(cudaSetDeviceFlags(before & kSchedule), cudaSuccess);
  EXPECT_EQ(cudaGetDeviceFlags(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaSetDeviceFlags(0x80000000U), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Versions, AreThoseOfTheHeadersAndOfADriverThatFits) {
  int runtime = 0, driver = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&runtime), cudaSuccess);
  ASSERT_EQ(cudaDriverGetVersion(&driver), cudaSuccess);
  EXPECT_EQ(runtime, CUDART_VERSION);
  EXPECT_GE(driver / 1000, runtime / 1000);
  EXPECT_EQ(cudaRuntimeGetVersion(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDriverGetVersion(nullptr), cudaErrorInvalidValue);
  cudaGetLastError();
}

__global__ void with_dynamic_memory(int* data) {
  extern __shared__ int room[];
  room[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = room[threadIdx.x] + 1;
}

TEST(Devices, AreAskedForMoreSharedMemoryEachForItself) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  constexpr int kBytes = 64 * 1024;
  const auto ask = [](int bytes) {
    return cudaFuncSetAttribute(with_dynamic_memory, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes);
  };
  const auto launch = [](int* data) {
    with_dynamic_memory<<<1, 1, kBytes>>>(data);
    return cudaGetLastError();
  };
  const device_array<int> zero(1, 1);
  ASSERT_EQ(ask(kBytes), cudaSuccess);
  EXPECT_EQ(launch(zero.data()), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const device_array<int> one(1, 5);
    EXPECT_EQ(launch(one.data()), cudaErrorInvalidValue);
    ASSERT_EQ(ask(kBytes), cudaSuccess);
    EXPECT_EQ(launch(one.data()), cudaSuccess);
    EXPECT_EQ(one.to_host()[0], 6);
    EXPECT_EQ(ask(48 * 1024), cudaSuccess);  // as it was, should the tests be repeated
  }
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(launch(zero.data()), cudaSuccess);
  EXPECT_EQ(zero.to_host()[0], 3);
  EXPECT_EQ(ask(48 * 1024), cudaSuccess);
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

TEST(Devices, RunWorkOfTheirOwnStreamsOnly) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  const device_array<int> zero(1, 1);
  cudaStream_t here = nullptr, there = nullptr;
  cudaEvent_t of_here = nullptr, of_there = nullptr;
  ASSERT_EQ(cudaStreamCreate(&here), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&of_here), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&there), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&of_there), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);

#ifdef __CPU_DEVICE__  // CUDA 13's runtime launches it on the stream's device, where it faults
  add<<<1, 1, 0, there>>>(zero.data(), 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
#endif
  EXPECT_EQ(cudaEventRecord(of_here, there), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventRecord(of_there, here), cudaErrorInvalidResourceHandle);
  // Fills and copies may be given to any stream, and streams wait for events of any device.
  EXPECT_EQ(cudaMemsetAsync(zero.data(), 0, sizeof(int), here), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(of_here, here), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(there, of_here, 0), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(of_there, there), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(of_there), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(of_here), cudaSuccess);
  EXPECT_EQ(zero.to_host()[0], 0);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, of_here, of_there), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  for (cudaStream_t s : {here, there}) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  for (cudaEvent_t e : {of_here, of_there}) EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
}

// ---- Variables: each device has its own values ----

__device__ int untouched = 7;
__device__ int counter = 40;
__device__ int zeros[1000];
__constant__ int factor = 3;
__constant__ const int fixed[2] = {5, 6};
__managed__ int of_all = 1;

__global__ void count(int* result, int n) {
  counter += n;
  *result = counter * factor + fixed[1];
}
__global__ void count_for_all() { ++of_all; }
__global__ void read_untouched(int* result) { *result = untouched++; }
__global__ void fill_zeros(int value, int* before) {
  before[threadIdx.x] = zeros[threadIdx.x];
  zeros[threadIdx.x] = value;
}

/// Runs with two devices, the first of which is the current one, before and after. The values of
/// `counter` and `factor` are those in the source on both.
class DeviceVariables : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    if (count < 2) GTEST_SKIP() << "needs two devices";
    for (const int d : {1, 0}) {
      use(d);
      set(counter, 40);
      set(factor, 3);
    }
  }
  void TearDown() override { use(0); }

  static void use(int device) { ASSERT_EQ(cudaSetDevice(device), cudaSuccess); }
  /// Of the current device.
  static void set(int& variable, int value) {
    ASSERT_EQ(cudaMemcpyToSymbol(variable, &value, sizeof value), cudaSuccess);
  }
  static int get(const int& variable) {
    int value = -1;
    EXPECT_EQ(cudaMemcpyFromSymbol(&value, variable, sizeof value), cudaSuccess);
    return value;
  }
};

TEST_F(DeviceVariables, BeginWithTheFirstValuesOnEach) {
  const device_array<int> here(1, 0), before(1000, 1);
  read_untouched<<<1, 1>>>(here.data());
  read_untouched<<<1, 1>>>(here.data());
  fill_zeros<<<1, 1000>>>(8, before.data());
  EXPECT_GE(here.to_host()[0], 8);
  use(1);
  const device_array<int> there(1000, 1);
  EXPECT_EQ(get(untouched), 7);
  fill_zeros<<<1, 1000>>>(0, there.data());
  EXPECT_EQ(there.to_host(), std::vector<int>(1000, 0));
  use(0);
  fill_zeros<<<1, 1000>>>(0, before.data());
  EXPECT_EQ(before.to_host(), std::vector<int>(1000, 8));
}

TEST_F(DeviceVariables, AreWhatKernelsOfTheSameDeviceLeftInThem) {
  const device_array<int> zero(1, 0);
  use(1);
  const device_array<int> one(1, 0);
  set(factor, 2);
  for (int round = 1; round <= 3; ++round) {
    use(0);
    count<<<1, 1>>>(zero.data(), 1);
    EXPECT_EQ(zero.to_host()[0], (40 + round) * 3 + 6);
    use(1);
    count<<<1, 1>>>(one.data(), 10);
    EXPECT_EQ(one.to_host()[0], (40 + 10 * round) * 2 + 6);
  }
  EXPECT_EQ(get(counter), 70);
  EXPECT_EQ(get(factor), 2);
  use(0);
  EXPECT_EQ(get(counter), 43);
  EXPECT_EQ(get(factor), 3);
}

TEST_F(DeviceVariables, AreCopiedInStreamsOfTheirDevice) {
  in_every_policy([] {
    int* values = nullptr;  // pinned: what is asynchronous stays so
    ASSERT_EQ(cudaHostAlloc(&values, 4 * sizeof(int), cudaHostAllocPortable), cudaSuccess);
    cudaStream_t streams[2] = {};
    for (const int d : {0, 1}) {
      use(d);
      ASSERT_EQ(cudaStreamCreate(&streams[d]), cudaSuccess);
      values[d] = 100 + d;
      EXPECT_EQ(cudaMemcpyToSymbolAsync(counter, &values[d], sizeof(int), 0, cudaMemcpyHostToDevice,
                                        streams[d]),
                cudaSuccess);
    }
    const device_array<int> one(1, 0);
    count<<<1, 1, 0, streams[1]>>>(one.data(), 5);
    for (const int d : {0, 1}) {
      use(d);
      EXPECT_EQ(cudaMemcpyFromSymbolAsync(&values[2 + d], counter, sizeof(int), 0,
                                          cudaMemcpyDeviceToHost, streams[d]),
                cudaSuccess);
    }
    use(0);
    for (cudaStream_t s : streams) {
      EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
    }
    EXPECT_EQ(values[2], 100);
    EXPECT_EQ(values[3], 106);
    EXPECT_EQ(cudaFreeHost(values), cudaSuccess);
  });
}

TEST_F(DeviceVariables, OfTheCurrentDeviceAreCopiedInAnyStream) {
  use(1);
  cudaStream_t there = nullptr;
  ASSERT_EQ(cudaStreamCreate(&there), cudaSuccess);
  use(0);
  const int value = 50;
  int seen = 0;
  EXPECT_EQ(
      cudaMemcpyToSymbolAsync(counter, &value, sizeof value, 0, cudaMemcpyHostToDevice, there),
      cudaSuccess);
  EXPECT_EQ(
      cudaMemcpyFromSymbolAsync(&seen, counter, sizeof seen, 0, cudaMemcpyDeviceToHost, there),
      cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(there), cudaSuccess);
  EXPECT_EQ(seen, 50);
  EXPECT_EQ(get(counter), 50);
  use(1);
  EXPECT_EQ(get(counter), 40);
  EXPECT_EQ(cudaStreamDestroy(there), cudaSuccess);
}

TEST_F(DeviceVariables, OfAGraphAreThoseOfTheDeviceThatItWasCapturedOn) {
  use(1);
  const device_array<int> from(1, 200), to(1, 0), result(1, 0);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr, clone = nullptr;
  cudaGraphExec_t exec = nullptr;
  void* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress(&address, factor), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
#ifdef __CPU_DEVICE__  // where an address does not tell the device, the stream does
  use(0);
#endif
  EXPECT_EQ(cudaMemsetAsync(address, 0, sizeof(int), stream), cudaSuccess);
  use(1);
  EXPECT_EQ(cudaMemcpyToSymbolAsync(counter, from.data(), sizeof(int), 0, cudaMemcpyDeviceToDevice,
                                    stream),
            cudaSuccess);
  count<<<1, 1, 0, stream>>>(result.data(), 4);
  EXPECT_EQ(cudaMemcpyFromSymbolAsync(to.data(), counter, sizeof(int), 0, cudaMemcpyDeviceToDevice,
                                      stream),
            cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  use(0);
  ASSERT_EQ(cudaGraphClone(&clone, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, clone, 0), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(get(counter), 40);
  EXPECT_EQ(get(factor), 3);
  use(1);
  EXPECT_EQ(to.to_host()[0], 204);
  EXPECT_EQ(result.to_host()[0], 6);
  EXPECT_EQ(get(factor), 0);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(clone), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(DeviceVariables, AreReachedByTheirAddresses) {
  void* addresses[2] = {};
  for (const int d : {0, 1}) {
    use(d);
    ASSERT_EQ(cudaGetSymbolAddress(&addresses[d], counter), cudaSuccess);
    cudaPointerAttributes attributes = {};
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, addresses[d]), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes.device, d);
    const int value = 300 + d;
    EXPECT_EQ(cudaMemcpy(addresses[d], &value, sizeof value, cudaMemcpyHostToDevice), cudaSuccess);
  }
  for (const int d : {0, 1}) {
    use(d);
    int value = 0;
    EXPECT_EQ(cudaMemcpy(&value, addresses[d], sizeof value, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(value, 300 + d);
    EXPECT_EQ(get(counter), 300 + d);
  }
  // From one device to the other.
  EXPECT_EQ(cudaMemcpyPeer(addresses[0], 0, addresses[1], 1, sizeof(int)), cudaSuccess);
  EXPECT_EQ(get(counter), 301);
  EXPECT_EQ(cudaMemset(addresses[1], 0, sizeof(int)), cudaSuccess);
  EXPECT_EQ(get(counter), 0);
  use(0);
  EXPECT_EQ(get(counter), 301);
}

TEST_F(DeviceVariables, AreSetBackWithTheirDevice) {
  set(counter, 1);
  use(1);
  set(counter, 2);
  int last = 3;
  const std::size_t offset = 999 * sizeof last;
  EXPECT_EQ(cudaMemcpyToSymbol(zeros, &last, sizeof last, offset), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(get(counter), 40);
  EXPECT_EQ(cudaMemcpyFromSymbol(&last, zeros, sizeof last, offset), cudaSuccess);
  EXPECT_EQ(last, 0);
  set(counter, 2);
  use(0);
  EXPECT_EQ(get(counter), 1);
  use(1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);  // device 0 has done the last work
  EXPECT_EQ(get(counter), 40);
}

TEST_F(DeviceVariables, ThatAreManagedAreOneForAll) {
  for (const int d : {0, 1}) {
    use(d);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    of_all = 10 * d + 1;
    count_for_all<<<1, 1>>>();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(of_all, 10 * d + 2);
  }
  use(0);
  EXPECT_EQ(of_all, 12);
}

TEST_F(DeviceVariables, BelongToDevicesThatHostThreadsUse) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const int d : {0, 1})
    threads.emplace_back([&, d] {
      int* result = nullptr;
      if (cudaSetDevice(d) != cudaSuccess || cudaMalloc(&result, sizeof(int)) != cudaSuccess)
        ++wrong;
      for (int round = 0; round < 200; ++round) count<<<1, 1>>>(result, d + 1);
      int value = 0;
      if (cudaMemcpyFromSymbol(&value, counter, sizeof value) != cudaSuccess) ++wrong;
      if (value != 40 + 200 * (d + 1)) ++wrong;
      cudaFree(result);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(PeerToPeer, IsSwitchedOnAndOff) {
  int count = 0, can = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(count, 0), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(count), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceCanAccessPeer(&can, 0, count), cudaErrorInvalidDevice);
  cudaGetLastError();
  if (count < 2) GTEST_SKIP() << "needs two devices";
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessUnsupported);  // its own device
  ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 0, 1), cudaSuccess);
  if (can == 0) GTEST_SKIP() << "needs devices that reach each other";
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 7), cudaErrorInvalidValue);  // flags must be 0
  ASSERT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
  cudaGetLastError();
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  {
    const device_array<int> theirs(32, 5);
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    add<<<1, 32>>>(theirs.data(), 37);  // a kernel of device 0 on memory of device 1
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(theirs.to_host(), std::vector<int>(32, 42));
  }
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaSuccess);
  EXPECT_EQ(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
  cudaGetLastError();
}

// ---- Memory of pools: access is granted pool by pool ----

cudaMemAccessDesc access_of(int device, cudaMemAccessFlags flags) {
  cudaMemAccessDesc d = {};
  d.location.type = cudaMemLocationTypeDevice;
  d.location.id = device;
  d.flags = flags;
  return d;
}

/// A pool on device 0, and whether device 1 can be given access.
class PoolAccess : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cudaGetDeviceCount(&count_), cudaSuccess);
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    ASSERT_EQ(cudaMemPoolCreate(&pool_, &properties), cudaSuccess);
    int can = 0;
    if (count_ > 1) {
      ASSERT_EQ(cudaDeviceCanAccessPeer(&can, 1, 0), cudaSuccess);
    }
    two_ = can == 1;
  }
  void TearDown() override {
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
    EXPECT_EQ(cudaMemPoolDestroy(pool_), cudaSuccess);
    cudaGetLastError();
  }

  cudaMemAccessFlags access_from(int device) const {
    cudaMemLocation location = {};
    location.type = cudaMemLocationTypeDevice;
    location.id = device;
    cudaMemAccessFlags flags = cudaMemAccessFlagsProtRead;
    EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool_, &location), cudaSuccess);
    return flags;
  }
  cudaError_t give(int device, cudaMemAccessFlags flags = cudaMemAccessFlagsProtReadWrite) const {
    const cudaMemAccessDesc d = access_of(device, flags);
    return cudaMemPoolSetAccess(pool_, &d, 1);
  }
  /// 32 numbers of device 0's pool, which are `value`.
  int* numbers(int value) const {
    const std::vector<int> host(32, value);
    int* data = nullptr;
    EXPECT_EQ(cudaMallocFromPoolAsync(&data, sizeof(int) * 32, pool_, nullptr), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data, host.data(), sizeof(int) * 32, cudaMemcpyHostToDevice), cudaSuccess);
    return data;
  }
  static std::vector<int> values(const int* data) {
    std::vector<int> host(32);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), data, sizeof(int) * 32, cudaMemcpyDeviceToHost), cudaSuccess);
    return host;
  }

  cudaMemPool_t pool_ = nullptr;
  int count_ = 0;
  bool two_ = false;
};

TEST_F(PoolAccess, BeginsWithThePoolsOwnDevice) {
  EXPECT_EQ(access_from(0), cudaMemAccessFlagsProtReadWrite);
  EXPECT_EQ(give(0), cudaSuccess);
  if (count_ > 1) {
    EXPECT_EQ(access_from(1), cudaMemAccessFlagsProtNone);
  }
}

#ifdef __CPU_DEVICE__  // a driver of a GPU may follow null pointers here
TEST_F(PoolAccess, IsRefusedWhereTheArgumentsAreWrong) {
  cudaMemLocation here = {};
  here.type = cudaMemLocationTypeDevice;
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(cudaMemPoolGetAccess(nullptr, pool_, &here), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool_, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, nullptr, 1), cudaErrorInvalidValue);
  const cudaMemAccessDesc own = access_of(0, cudaMemAccessFlagsProtReadWrite);
  EXPECT_EQ(cudaMemPoolSetAccess(nullptr, &own, 1), cudaErrorInvalidValue);
  EXPECT_EQ(give(count_), cudaErrorInvalidValue);
  EXPECT_EQ(give(0, cudaMemAccessFlagsProtNone), cudaErrorInvalidValue);  // its own device's
  EXPECT_EQ(give(1, cudaMemAccessFlagsProtRead), cudaErrorNotSupported);
  cudaMemAccessDesc several[] = {access_of(1, cudaMemAccessFlagsProtReadWrite),
                                 access_of(count_, cudaMemAccessFlagsProtReadWrite)};
  EXPECT_EQ(cudaMemPoolSetAccess(pool_, several, 2), cudaErrorInvalidValue);
  EXPECT_EQ(access_from(1), cudaMemAccessFlagsProtNone);  // all of it or nothing
  cpu_device::set_peer_group(1);
  EXPECT_EQ(give(1), cudaErrorInvalidDevice);
  cpu_device::set_peer_group(0);
}
#endif

TEST_F(PoolAccess, IsForWhatThePoolHasGivenOutAndWill) {
  if (!two_) GTEST_SKIP() << "needs two devices that reach each other";
  int* const before = numbers(5);
  ASSERT_EQ(give(1), cudaSuccess);
  EXPECT_EQ(access_from(1), cudaMemAccessFlagsProtReadWrite);
  int* const after = numbers(7);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  for (int* data : {before, after}) add<<<1, 32>>>(data, 10);  // device 1 is no peer of device 0
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(values(before), std::vector<int>(32, 15));
  EXPECT_EQ(values(after), std::vector<int>(32, 17));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  for (int* data : {before, after}) EXPECT_EQ(cudaFree(data), cudaSuccess);
  ASSERT_EQ(give(1, cudaMemAccessFlagsProtNone), cudaSuccess);
  EXPECT_EQ(access_from(1), cudaMemAccessFlagsProtNone);
}

TEST_F(PoolAccess, OfAGraphsMemoryIsWhatTheNodeSays) {
  if (!two_) GTEST_SKIP() << "needs two devices that reach each other";
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  const cudaMemAccessDesc access = access_of(1, cudaMemAccessFlagsProtReadWrite);
  cudaMemAllocNodeParams p = {};
  p.poolProps.allocType = cudaMemAllocationTypePinned;
  p.poolProps.location.type = cudaMemLocationTypeDevice;
  p.accessDescs = &access;
  p.accessDescCount = 1;
  p.bytesize = sizeof(int) * 32;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &p), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemset(p.dptr, 0, p.bytesize), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  add<<<1, 32>>>(static_cast<int*>(p.dptr), 3);
  EXPECT_EQ(values(static_cast<int*>(p.dptr)), std::vector<int>(32, 3));
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaFree(p.dptr), cudaSuccess);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

// In a child process: using memory without having access to it breaks the device.
int use_without_access() {
  cudaMemPool_t pool = nullptr;
  int* data = nullptr;
  if (cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess) return 1;
  if (cudaMallocFromPoolAsync(&data, sizeof(int) * 32, pool, nullptr) != cudaSuccess) return 2;
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  if (cudaSetDevice(1) != cudaSuccess) return 4;
  if (cudaDeviceEnablePeerAccess(0, 0) != cudaSuccess) return 5;  // is for cudaMalloc's memory
  add<<<1, 32>>>(data, 1);
  return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 6;
}
TEST_F(PoolAccess, IsNotGivenByPeerAccess) {
  if (!two_) GTEST_SKIP() << "needs two devices that reach each other";
  const auto child = child_process::run("", "no_access 2>&1");
  EXPECT_EQ(child.exit_code, 0) << child.output;
#ifdef __CPU_DEVICE__
  EXPECT_NE(child.output.find("cudaMemPoolSetAccess"), std::string::npos) << child.output;
#endif
}

// The addresses say where the memory is, so the copy is right all the same.
TEST(PeerCopies, AreRightWhereTheWrongDevicesAreNamed) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  const device_array<int> zero(1, 7);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const device_array<int> one(1, 8);
#ifdef __CPU_DEVICE__
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(cudaMemcpyPeerAsync(one.data(), 1, zero.data(), 0, sizeof(int), nullptr), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), before);
#endif
  EXPECT_EQ(cudaMemcpyPeer(one.data(), 0, zero.data(), 1, sizeof(int)), cudaSuccess);
  EXPECT_EQ(one.to_host()[0], 7);
#ifdef __CPU_DEVICE__
  EXPECT_EQ(cpu_device::report_count(), before + 2);  // one for each side
  const std::string text = cpu_device::last_report();
  EXPECT_NE(text.find("cudaMemcpyPeer: the source is device memory"), std::string::npos) << text;
  EXPECT_NE(text.find("of device 0, but the call names device 1"), std::string::npos) << text;
#endif
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
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
    return std::string(argv[2]) == "devices"     ? print_devices()
           : std::string(argv[2]) == "no_access" ? use_without_access()
                                                 : expect_no_devices();
  return run_tests(argc, argv);
}
