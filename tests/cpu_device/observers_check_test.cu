// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Observers of what kernels access, of fences, of barriers, of allocations and of launches.
// This file is compiled the way the check build compiles kernels.

#include <cpu_device.h>
#include <cpu_device/events.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device::event_kind;
using cpu_device::event_scope;
using cpu_device_testing::device_array;

class recorder final : public cpu_device::observer {
 public:
  explicit recorder(cpu_device::event_set kinds) { add_observer(*this, kinds); }
  ~recorder() override { remove_observer(*this); }

  std::vector<cpu_device::access_event> accesses;
  std::vector<cpu_device::fence_event> fences;
  std::vector<cpu_device::fetch_event> fetches;
  std::uintptr_t begin = 0, end = 0;  // of what the host accesses: only that is kept
  std::vector<cpu_device::host_access_event> by_host;
  std::vector<cpu_device::allocation_event> allocations, frees;
  std::vector<cpu_device::barrier_event> barriers;
  std::vector<std::string> kernels;

 private:
  void accessed(const cpu_device::access_event& e) override {
    const std::lock_guard lock(mutex_);
    accesses.push_back(e);
  }
  void fenced(const cpu_device::fence_event& e) override {
    const std::lock_guard lock(mutex_);
    fences.push_back(e);
  }
  void fetched(const cpu_device::fetch_event& e) override {
    const std::lock_guard lock(mutex_);
    fetches.push_back(e);
  }
  void host_accessed(const cpu_device::host_access_event& e) override {
    const std::lock_guard lock(mutex_);
    if (e.address >= begin && e.address < end) by_host.push_back(e);
  }
  void barrier_passed(const cpu_device::barrier_event& e) override {
    const std::lock_guard lock(mutex_);
    barriers.push_back(e);
  }
  void allocated(const cpu_device::allocation_event& e) override { allocations.push_back(e); }
  void freed(const cpu_device::allocation_event& e) override { frees.push_back(e); }
  void launch_begins(const cpu_device::launch_event& e) override {
    kernels.push_back(std::string("begins ") + e.kernel);
  }
  void launch_ends(const cpu_device::launch_event& e) override {
    kernels.push_back(std::string("ends ") + e.kernel + " " + std::to_string(e.status));
  }
  std::mutex mutex_;
};

__global__ void work(int* data, long* sum) {
  __shared__ short cache[8];
  cache[threadIdx.x] = 1;
  if (threadIdx.x != 5) return;
  data[3] = cache[5];
  __threadfence_block();
  atomicAdd_block(data, 2);
  atomicAdd(data + 1, 2);
  atomicAdd_system(data + 2, 2);
  __threadfence();
  *sum = 4;
}

TEST(Observers, AreToldOfAccessesAndFences) {
  const device_array<int> data(8, 0);
  const device_array<long> sum(1, 0);
  const recorder seen(event_kind::access | event_kind::fence);
  work<<<1, 8>>>(data.data(), sum.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  unsigned shared = 0;
  std::vector<cpu_device::access_event> global;
  for (const auto& e : seen.accesses)
    if (e.shared)
      shared += e.bytes == 2 ? 1 : 100;
    else
      global.push_back(e);
  EXPECT_EQ(shared, 8U + 1U);
  ASSERT_EQ(global.size(), 5U);
  EXPECT_EQ(global[0].address, reinterpret_cast<std::uintptr_t>(data.data() + 3));
  EXPECT_TRUE(global[0].writes && !global[0].atomic);
  EXPECT_TRUE(global[1].atomic);
  EXPECT_EQ(global[1].scope, event_scope::block);
  EXPECT_EQ(global[2].scope, event_scope::device);
  EXPECT_EQ(global[3].scope, event_scope::system);
  EXPECT_EQ(global[4].bytes, sizeof(long));
  for (const auto& e : global) EXPECT_EQ(e.thread, 5U);
  ASSERT_EQ(seen.fences.size(), 2U);
  EXPECT_EQ(seen.fences[0].scope, event_scope::block);
  EXPECT_EQ(seen.fences[1].scope, event_scope::device);
}

TEST(Observers, AreToldOfWhatTheHostAccesses) {
  int* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 4 * sizeof(int)), cudaSuccess);
  int own = 0;
  {
    recorder seen(event_kind::access | event_kind::by_host);
    seen.begin = reinterpret_cast<std::uintptr_t>(managed);
    seen.end = seen.begin + 4 * sizeof(int);
    managed[1] = 3;
    own = managed[0];
    std::atomic_ref(managed[2]).store(own);
    EXPECT_TRUE(seen.accesses.empty());
    const auto at = [&](int i) { return reinterpret_cast<std::uintptr_t>(managed + i); };
    ASSERT_EQ(seen.by_host.size(), 3U);
    EXPECT_EQ(seen.by_host[0].address, at(1));
    EXPECT_TRUE(seen.by_host[0].writes && !seen.by_host[0].atomic);
    EXPECT_EQ(seen.by_host[1].address, at(0));
    EXPECT_FALSE(seen.by_host[1].writes);
    EXPECT_EQ(seen.by_host[2].address, at(2));
    EXPECT_TRUE(seen.by_host[2].writes && seen.by_host[2].atomic);
  }
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
}

__global__ void fetch_some(cudaTextureObject_t texels, const float* memory, float* sums) {
  const int i = static_cast<int>(threadIdx.x);
  if (i % 2 == 0) sums[i] = tex1Dfetch<float>(texels, i) + memory[i];
}

TEST(Observers, AreToldOfFetches) {
  const device_array<float> texels(6, 1), sums(8, 0);
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {texels.data(), cudaCreateChannelDesc<float>(), 5 * sizeof(float)};
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  cudaTextureObject_t object = 0;
  ASSERT_EQ(cudaCreateTextureObject(&object, &resource, &description, nullptr), cudaSuccess);
  recorder seen(event_kind::access | event_kind::fetch);
  fetch_some<<<1, 6>>>(object, texels.data(), sums.data());
  fetch_some<<<1, 8>>>(object, sums.data(), sums.data());  // texel 6 is outside
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(object), cudaSuccess);
  ASSERT_EQ(seen.fetches.size(), 6U);
  std::ranges::sort(seen.fetches, {}, &cpu_device::fetch_event::thread);
  for (unsigned i = 0; i < 6; ++i) {
    EXPECT_EQ(seen.fetches[i].thread, i / 2 * 2);
    EXPECT_EQ(seen.fetches[i].texel, texels.data() + i / 2 * 2);
    EXPECT_EQ(seen.fetches[i].bytes, sizeof(float));
  }
  EXPECT_EQ(seen.accesses.size(), 2U * (3 + 4));
}

TEST(Observers, AreToldOfWhatTheyAskedForAndUntilTheyLeave) {
  recorder launches(static_cast<cpu_device::event_set>(event_kind::launch));
  recorder memory(static_cast<cpu_device::event_set>(event_kind::allocation));
  const int* begin = nullptr;
  {
    const device_array<int> data(8, 0);
    const device_array<long> sum(1, 0);
    begin = data.data();
    work<<<1, 8>>>(data.data(), sum.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  EXPECT_EQ(launches.kernels, (std::vector<std::string>{"begins work", "ends work 0"}));
  EXPECT_TRUE(launches.accesses.empty() && launches.allocations.empty());
  ASSERT_EQ(memory.allocations.size(), 2U);
  EXPECT_EQ(memory.allocations[0].address, begin);
  EXPECT_EQ(memory.allocations[0].bytes, 32U);
  EXPECT_EQ(memory.frees.size(), 2U);
  EXPECT_TRUE(memory.kernels.empty());
  remove_observer(launches);
  const device_array<int> data(8, 0);
  const device_array<long> sum(1, 0);
  work<<<1, 8>>>(data.data(), sum.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(launches.kernels.size(), 2U);
}

__global__ void exchange(int* data) {
  __shared__ int cache[64];
  cache[threadIdx.x] = static_cast<int>(threadIdx.x);
  __syncthreads();
  data[64 * blockIdx.x + threadIdx.x] = cache[63 - threadIdx.x];
}

// What an observer does when it is called is not the kernel's work, though it is compiled like it.
TEST(Observers, AreNotWatchedThemselvesWhenTheyAreToldOfBarriers) {
  const device_array<int> data(512, 0);
  const recorder seen(static_cast<cpu_device::event_set>(event_kind::barrier));
  const std::size_t reports = cpu_device::report_count();
  exchange<<<8, 64>>>(data.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), reports);
  EXPECT_EQ(seen.barriers.size(), 8U);
  EXPECT_EQ(data.to_host()[0], 63);
}

}  // namespace

#else

TEST(Observers, OfTheCheckBuildAreNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the check build and AddressSanitizer cannot be combined";
}

#endif
