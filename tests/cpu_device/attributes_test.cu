// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What devices, kernels, streams and pools report about themselves, and the settings they keep.

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>

#include <algorithm>

#include "conformance.hpp"

// Names that are easily numbered wrong: nvcc compiles this against the numbers of the toolkit.
static_assert(
    cudaDevAttrMaxTexture1DWidth == 21 && cudaDevAttrSurfaceAlignment == 30 &&
    cudaDevAttrPciBusId == 33 && cudaDevAttrTccDriver == 35 &&
    cudaDevAttrMaxTexture1DLayeredLayers == 43 && cudaDevAttrMaxTexture2DGatherWidth == 45 &&
    cudaDevAttrPciDomainId == 50 && cudaDevAttrMaxTextureCubemapWidth == 52 &&
    cudaDevAttrMaxSurface1DWidth == 55 && cudaDevAttrMaxSurfaceCubemapLayeredLayers == 68 &&
    cudaDevAttrMaxTexture1DLinearWidth == 69 && cudaDevAttrMaxTexture2DMipmappedHeight == 74 &&
    cudaDevAttrMaxTexture1DMipmappedWidth == 77 && cudaDevAttrMultiGpuBoardGroupID == 85 &&
    cudaDevAttrSingleToDoublePrecisionPerfRatio == 87 &&
    cudaDevAttrCanUseHostPointerForRegisteredMem == 91 && cudaDevAttrCanFlushRemoteWrites == 98 &&
    cudaDevAttrDirectManagedMemAccessFromHost == 101 &&
    cudaDevAttrMaxPersistingL2CacheSize == 108 && cudaDevAttrMaxAccessPolicyWindowSize == 109 &&
    cudaDevAttrReservedSharedMemoryPerBlock == 111 &&
    cudaDevAttrMemoryPoolSupportedHandleTypes == 119 && cudaDevAttrClusterLaunch == 120 &&
    cudaDevAttrDeferredMappingCudaArraySupported == 121 && cudaDevAttrIpcEventSupport == 125 &&
    cudaDevAttrMemSyncDomainCount == 126 && cudaDevAttrNumaConfig == 130 &&
    cudaDevAttrNumaId == 131 && cudaDevAttrMpsEnabled == 133 && cudaDevAttrHostNumaId == 134);
static_assert(cudaErrorUnsupportedLimit == 215 && cudaErrorGraphExecUpdateFailure == 910 &&
              cudaMemAdviseUnsetAccessedBy == 6 && cudaMemPoolAttrUsedMemHigh == 8 &&
              cudaLimitPersistingL2CacheSize == 6 && cudaLaunchAttributeCooperative == 2 &&
              cudaGraphNodeTypeEventRecord == 7 && cudaMemLocationTypeHost == 2 &&
              cudaSharedmemCarveoutDefault == -1 && cudaSharedmemCarveoutMaxShared == 100);

namespace {

using conformance::device_array;

__global__ void add(int* data) { data[threadIdx.x] += 1; }
__device__ int variable[3];

struct shared_for_each_thread {
  __host__ __device__ std::size_t operator()(int block) const {
    return static_cast<std::size_t>(block) * 512;
  }
};

int attribute(cudaDeviceAttr a) {
  int value = -12345;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, a, 0), cudaSuccess) << static_cast<int>(a);
  return value;
}

TEST(Attributes, AreTheProperties) {
  cudaDeviceProp p;
  ASSERT_EQ(cudaGetDeviceProperties(&p, 0), cudaSuccess);
  EXPECT_EQ(attribute(cudaDevAttrMaxThreadsPerBlock), p.maxThreadsPerBlock);
  EXPECT_EQ(attribute(cudaDevAttrMaxBlockDimZ), p.maxThreadsDim[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxGridDimX), p.maxGridSize[0]);
  EXPECT_EQ(attribute(cudaDevAttrWarpSize), 32);
  EXPECT_EQ(attribute(cudaDevAttrPciBusId), p.pciBusID);
  EXPECT_EQ(attribute(cudaDevAttrPciDomainId), p.pciDomainID);
  EXPECT_EQ(attribute(cudaDevAttrMaxTexture2DHeight), p.maxTexture2D[1]);
  EXPECT_EQ(attribute(cudaDevAttrMaxTexture3DDepth), p.maxTexture3D[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxTexture2DLayeredLayers), p.maxTexture2DLayered[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxTexture2DLinearPitch), p.maxTexture2DLinear[2]);
  EXPECT_EQ(attribute(cudaDevAttrMaxSurface2DWidth), p.maxSurface2D[0]);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin),
            static_cast<int>(p.sharedMemPerBlockOptin));
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
            static_cast<int>(p.sharedMemPerMultiprocessor));
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), p.major);
  EXPECT_EQ(attribute(cudaDevAttrCooperativeLaunch), p.cooperativeLaunch);
  EXPECT_EQ(attribute(cudaDevAttrMaxBlocksPerMultiprocessor), p.maxBlocksPerMultiProcessor);
  EXPECT_EQ(attribute(cudaDevAttrMemoryPoolsSupported), p.memoryPoolsSupported);
  EXPECT_GT(attribute(cudaDevAttrClockRate), 0);
  EXPECT_GT(attribute(cudaDevAttrMaxTexture1DLinearWidth), 0);
  std::size_t elements = 0;
  const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  EXPECT_EQ(cudaDeviceGetTexture1DLinearMaxWidth(&elements, &floats, 0), cudaSuccess);
  EXPECT_GT(elements, 0U);
}

TEST(Attributes, RefuseWhatIsNotThere) {
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(5000), 0),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Limits, AreKept) {
  std::size_t stack = 0, value = 0;
  ASSERT_EQ(cudaDeviceGetLimit(&stack, cudaLimitStackSize), cudaSuccess);
  EXPECT_GE(stack, 1024U);
  ASSERT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, 4096), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetLimit(&value, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(value, 4096U);
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, stack), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize), cudaSuccess);
  EXPECT_EQ(value, std::size_t{8} << 20);
  EXPECT_EQ(cudaDeviceGetLimit(nullptr, cudaLimitStackSize), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetLimit(&value, static_cast<cudaLimit>(77)), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(CacheConfig, IsAHintForDevicesAndKernels) {
  cudaFuncCache before = cudaFuncCachePreferNone, now = cudaFuncCachePreferNone;
  ASSERT_EQ(cudaDeviceGetCacheConfig(&before), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetCacheConfig(&now), cudaSuccess);
  EXPECT_EQ(cudaDeviceSetCacheConfig(before), cudaSuccess);
  EXPECT_EQ(cudaFuncSetCacheConfig(add, cudaFuncCachePreferShared), cudaSuccess);
  EXPECT_EQ(cudaCtxResetPersistingL2Cache(), cudaSuccess);
}

// Public code (NVIDIA's samples) asks CUDA's include guards for what it may use.
#if !defined(__CUDA_RUNTIME_H__) || !defined(__CUDA_RUNTIME_API_H__) || \
    !defined(__DRIVER_TYPES_H__) || !defined(__VECTOR_TYPES_H__) ||     \
    !defined(__VECTOR_FUNCTIONS_H__)
#error "an include guard of CUDA is not there"
#endif

#ifdef __CPU_DEVICE__  // deprecated since CUDA 12.4: nvcc warns
TEST(SharedMemoryBanks, HaveFourBytes) {
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeEightByte), cudaSuccess);
  cudaSharedMemConfig config = cudaSharedMemBankSizeDefault;
  EXPECT_EQ(cudaDeviceGetSharedMemConfig(&config), cudaSuccess);
  EXPECT_EQ(config, cudaSharedMemBankSizeFourByte);
  EXPECT_EQ(cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(3)),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetSharedMemConfig(nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetSharedMemConfig(add, cudaSharedMemBankSizeEightByte), cudaSuccess);
  cudaGetLastError();
}
#endif

TEST(FunctionAttributes, ShowWhatAKernelMayAskFor) {
  cudaFuncAttributes a = {};
  ASSERT_EQ(cudaFuncGetAttributes(&a, add), cudaSuccess);
  EXPECT_EQ(a.maxThreadsPerBlock, 1024);
  EXPECT_EQ(a.maxDynamicSharedSizeBytes, 48 * 1024);
  EXPECT_GT(a.numRegs, 0);
  ASSERT_EQ(cudaFuncSetAttribute(add, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024),
            cudaSuccess);
  ASSERT_EQ(cudaFuncGetAttributes(&a, add), cudaSuccess);
  EXPECT_EQ(a.maxDynamicSharedSizeBytes, 64 * 1024);
  // The default comes last: on a GPU the others say how many blocks the cases below have room for.
  for (const int percent : {int{cudaSharedmemCarveoutMaxShared}, int{cudaSharedmemCarveoutMaxL1},
                            50, int{cudaSharedmemCarveoutDefault}})
    EXPECT_EQ(cudaFuncSetAttribute(add, cudaFuncAttributePreferredSharedMemoryCarveout, percent),
              cudaSuccess);
}

TEST(Occupancy, EveryFormFitsTheOthers) {
  int blocks = 0, flagged = 0, grid = 0, size = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&flagged, add, 256, 0,
                                                                   cudaOccupancyDefault),
            cudaSuccess);
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(flagged, blocks);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0), cudaSuccess);
  EXPECT_EQ(blocks, 2048 / 1024);
  ASSERT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &size, add, 0, 0), cudaSuccess);
  EXPECT_EQ(size % 32, 0);
  EXPECT_GT(size, 0);
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, size, 0), cudaSuccess);
  EXPECT_EQ(grid, blocks * attribute(cudaDevAttrMultiProcessorCount));
  int grid_again = 0, size_again = 0;
  ASSERT_EQ(cudaOccupancyMaxPotentialBlockSizeWithFlags(&grid_again, &size_again, add, 0, 0,
                                                        cudaOccupancyDefault),
            cudaSuccess);
  EXPECT_EQ(grid_again, grid);
  EXPECT_EQ(size_again, size);
  ASSERT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &size, add, 0, 128), cudaSuccess);
  EXPECT_LE(size, 128);
  // 512 bytes for each thread: 1024 threads would ask for more than a block may have.
  ASSERT_EQ(
      cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &size, add, shared_for_each_thread{}),
      cudaSuccess);
  EXPECT_LE(size * 512, attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  ASSERT_EQ(cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
                &grid_again, &size_again, add, shared_for_each_thread{}, 0, cudaOccupancyDefault),
            cudaSuccess);
  EXPECT_EQ(grid_again, grid);
  EXPECT_EQ(size_again, size);
  std::size_t bytes = 0;
  ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, add, 2, 256), cudaSuccess);
  EXPECT_GT(bytes, 0U);
}

__global__ void wants_much(int* out) {
  extern __shared__ int much[];
  *out = much[0];
}

TEST(Occupancy, CountsNoBlocksThatTheKernelIsNotAllowed) {
  constexpr std::size_t kMost = 48 * 1024, kMore = 100'000;
  const auto blocks_with = [](std::size_t bytes) {
    int blocks = -1;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, wants_much, 256, bytes),
              cudaSuccess);
    return blocks;
  };
  EXPECT_GT(blocks_with(kMost), 0);
  EXPECT_EQ(blocks_with(kMost + 1), 0);
  EXPECT_EQ(blocks_with(kMore), 0);
  ASSERT_EQ(cudaFuncSetAttribute(wants_much, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(kMore)),
            cudaSuccess);
  EXPECT_GE(blocks_with(kMore), 1);
  EXPECT_EQ(blocks_with(kMore + 1), 0);
}

TEST(Occupancy, GivesOutSharedMemoryInUnitsWithWhatIsReserved) {
  if (attribute(cudaDevAttrComputeCapabilityMajor) < 8) GTEST_SKIP() << "units of 256 bytes";
  const int all = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const int reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const int most = std::min(attribute(cudaDevAttrMaxBlocksPerMultiprocessor),
                            attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 64);
  const auto blocks_with = [](int bytes) {
    int blocks = 0;
    EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 64,
                                                            static_cast<std::size_t>(bytes)),
              cudaSuccess);
    return blocks;
  };
  // With 1 KiB reserved, 10,001 bytes are 11,136: 20 of them fit into 228 KiB, and not 21.
  for (const int bytes : {0, 1, 127, 128, 8000, 10'001, 15'000, 31'999, 44'000, 48'000})
    EXPECT_EQ(blocks_with(bytes), std::min(most, all / ((bytes + reserved + 127) / 128 * 128)))
        << bytes << " bytes";
  for (const int blocks : {5, 6, 7, 9}) {
    if (blocks > most) break;
    std::size_t bytes = 0;
    ASSERT_EQ(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, add, blocks, 64), cudaSuccess);
    // An H200's answer leaves out what is reserved for each block, so one block less has room.
#ifdef __CPU_DEVICE__
    const int rest = 0;
#else
    const int rest = reserved;
#endif
    EXPECT_GE(blocks_with(static_cast<int>(bytes) - rest), blocks);
    EXPECT_LT(blocks_with(static_cast<int>(bytes) - rest + 129), blocks);
  }
}

TEST(Symbols, HaveAnAddressAndASize) {
  void* address = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(cudaGetSymbolAddress(&address, variable), cudaSuccess);
  ASSERT_EQ(cudaGetSymbolSize(&bytes, variable), cudaSuccess);
  EXPECT_EQ(bytes, 3 * sizeof(int));
  const int values[] = {5, 6, 7};
  ASSERT_EQ(cudaMemcpyToSymbol(variable, values, sizeof values), cudaSuccess);
  add<<<1, 3>>>(static_cast<int*>(address));
  int back[3] = {};
  ASSERT_EQ(cudaMemcpyFromSymbol(back, variable, sizeof back), cudaSuccess);
  EXPECT_EQ(back[0] + back[1] + back[2], 21);
#ifdef __CPU_DEVICE__  // a GPU's library follows the null pointer
  EXPECT_EQ(cudaGetSymbolSize(nullptr, variable), cudaErrorInvalidValue);
#endif
  cudaGetLastError();
}

TEST(Streams, KeepFlagsPriorityAndIdentity) {
  int least = -1, greatest = 1;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&least, &greatest), cudaSuccess);
  EXPECT_LE(greatest, least);
  EXPECT_EQ(cudaDeviceGetStreamPriorityRange(nullptr, nullptr), cudaSuccess);
  cudaStream_t high = nullptr, plain = nullptr, clamped = nullptr;
  ASSERT_EQ(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithPriority(&clamped, cudaStreamDefault, greatest - 100), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&plain), cudaSuccess);
  int priority = 99;
  unsigned flags = 99;
  EXPECT_EQ(cudaStreamGetPriority(high, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetPriority(clamped, &priority), cudaSuccess);
  EXPECT_EQ(priority, greatest);
  EXPECT_EQ(cudaStreamGetPriority(plain, &priority), cudaSuccess);
  EXPECT_EQ(priority, 0);
  EXPECT_EQ(cudaStreamGetFlags(high, &flags), cudaSuccess);
  EXPECT_EQ(flags, cudaStreamNonBlocking);
  unsigned long long id[3] = {};
  EXPECT_EQ(cudaStreamGetId(high, &id[0]), cudaSuccess);
  EXPECT_EQ(cudaStreamGetId(plain, &id[1]), cudaSuccess);
  EXPECT_EQ(cudaStreamGetId(high, &id[2]), cudaSuccess);
  EXPECT_NE(id[0], id[1]);
  EXPECT_EQ(id[0], id[2]);
  EXPECT_EQ(cudaStreamGetPriority(plain, nullptr), cudaErrorInvalidValue);
  for (cudaStream_t s : {high, plain, clamped}) EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  cudaGetLastError();
}

TEST(Streams, KeepTheirAccessPolicy) {
  float* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 4096), cudaSuccess);
  cudaStream_t stream = nullptr, other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  cudaStreamAttrValue value = {};
  value.accessPolicyWindow.base_ptr = data;
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5F;
  value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  const auto set = [&] {
    return cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value);
  };
  ASSERT_EQ(set(), cudaSuccess);
  cudaStreamAttrValue kept = {};
  ASSERT_EQ(cudaStreamCopyAttributes(other, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamGetAttribute(other, cudaStreamAttributeAccessPolicyWindow, &kept),
            cudaSuccess);
  EXPECT_EQ(kept.accessPolicyWindow.base_ptr, data);
  EXPECT_EQ(kept.accessPolicyWindow.num_bytes, 4096U);
  EXPECT_EQ(kept.accessPolicyWindow.hitRatio, 0.5F);
  EXPECT_EQ(kept.accessPolicyWindow.hitProp, cudaAccessPropertyPersisting);
  EXPECT_EQ(kept.accessPolicyWindow.missProp, cudaAccessPropertyStreaming);
  add<<<1, 1, 0, stream>>>(reinterpret_cast<int*>(data));  // a launch with it works as without
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);

  value.accessPolicyWindow.hitRatio = 1.5F;
  EXPECT_EQ(set(), cudaErrorInvalidValue);
  value.accessPolicyWindow.hitRatio = 1;
  value.accessPolicyWindow.missProp = cudaAccessPropertyPersisting;
  EXPECT_EQ(set(), cudaErrorInvalidValue);
  value.accessPolicyWindow.missProp = cudaAccessPropertyNormal;
  value.accessPolicyWindow.num_bytes = 0;  // how a window is closed
  EXPECT_EQ(set(), cudaSuccess);
  EXPECT_EQ(cudaCtxResetPersistingL2Cache(), cudaSuccess);

  value.syncPolicy = cudaSyncPolicyBlockingSync;
  EXPECT_EQ(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &value),
            cudaSuccess);
  EXPECT_EQ(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &kept),
            cudaSuccess);
  EXPECT_EQ(kept.syncPolicy, cudaSyncPolicyBlockingSync);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  cudaGetLastError();
}

struct managed_int {
  int* data = nullptr;
  managed_int() { EXPECT_EQ(cudaMallocManaged(&data, 4096), cudaSuccess); }
  ~managed_int() { cudaFree(data); }
};

TEST(ManagedMemory, KeepsAdviceAndTheLastPrefetch) {
  const managed_int memory;
  const auto asked = [&](cudaMemRangeAttribute what) {
    int value = -77;
    EXPECT_EQ(cudaMemRangeGetAttribute(&value, sizeof value, what, memory.data, 4096), cudaSuccess);
    return value;
  };
  EXPECT_EQ(asked(cudaMemRangeAttributeReadMostly), 0);
  EXPECT_EQ(asked(cudaMemRangeAttributePreferredLocation), cudaInvalidDeviceId);
  EXPECT_EQ(asked(cudaMemRangeAttributeLastPrefetchLocation), cudaInvalidDeviceId);
#if CUDART_VERSION >= 13000
  const cudaMemLocation here = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetReadMostly, here), cudaSuccess);
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetPreferredLocation, host), cudaSuccess);
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetAccessedBy, here), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(memory.data, 4096, here, 0, nullptr), cudaSuccess);
#else
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetReadMostly, 0), cudaSuccess);
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId),
            cudaSuccess);
  ASSERT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetAccessedBy, 0), cudaSuccess);
  ASSERT_EQ(cudaMemPrefetchAsync(memory.data, 4096, 0, nullptr), cudaSuccess);
#endif
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(asked(cudaMemRangeAttributeReadMostly), 1);
  EXPECT_EQ(asked(cudaMemRangeAttributePreferredLocation), cudaCpuDeviceId);
  EXPECT_EQ(asked(cudaMemRangeAttributeLastPrefetchLocation), 0);
  int devices[2] = {};
  EXPECT_EQ(cudaMemRangeGetAttribute(devices, sizeof devices, cudaMemRangeAttributeAccessedBy,
                                     memory.data, 4096),
            cudaSuccess);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], cudaInvalidDeviceId);
}

#ifdef __CPU_DEVICE__
TEST(ManagedMemory, TakesTheFormsOfCuda12) {
  const managed_int memory;
  int value = -77;
  EXPECT_EQ(cudaMemAdvise(memory.data, 4096, cudaMemAdviseSetPreferredLocation, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(memory.data, 4096, cudaCpuDeviceId), cudaSuccess);
  EXPECT_EQ(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributePreferredLocation,
                                     memory.data, 4096),
            cudaSuccess);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(cudaMemPrefetchAsync(memory.data, 8192, 0), cudaErrorInvalidValue);  // too long
  const device_array<int> plain(4, 0);
  EXPECT_EQ(cudaMemPrefetchAsync(plain.data(), 16, 0), cudaErrorInvalidValue);
  cudaGetLastError();
}
#endif

std::uint64_t pool_value(cudaMemPool_t pool, cudaMemPoolAttr what) {
  std::uint64_t value = 12345;
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, what, &value), cudaSuccess);
  return value;
}

TEST(MemoryPools, CountWhatIsTakenFromThem) {
  cudaMemPool_t standard = nullptr, current = nullptr, mine = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&standard, 0), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetMemPool(&current, 0), cudaSuccess);
  EXPECT_EQ(current, standard);
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = 0;
  ASSERT_EQ(cudaMemPoolCreate(&mine, &properties), cudaSuccess);
  EXPECT_EQ(pool_value(mine, cudaMemPoolAttrUsedMemCurrent), 0U);
  EXPECT_EQ(pool_value(mine, cudaMemPoolAttrReleaseThreshold), 0U);
  std::uint64_t keep = 1 << 20;
  ASSERT_EQ(cudaMemPoolSetAttribute(mine, cudaMemPoolAttrReleaseThreshold, &keep), cudaSuccess);
  EXPECT_EQ(pool_value(mine, cudaMemPoolAttrReleaseThreshold), keep);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  int *a = nullptr, *b = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&a, 4096, mine, stream), cudaSuccess);
  EXPECT_GE(pool_value(mine, cudaMemPoolAttrUsedMemCurrent), 4096U);
  ASSERT_EQ(cudaDeviceSetMemPool(0, mine), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&b, 4096, stream), cudaSuccess);
  ASSERT_EQ(cudaDeviceSetMemPool(0, standard), cudaSuccess);
  EXPECT_GE(pool_value(mine, cudaMemPoolAttrUsedMemCurrent), 2U * 4096U);
  add<<<1, 32, 0, stream>>>(a);
  ASSERT_EQ(cudaFreeAsync(a, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(b, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pool_value(mine, cudaMemPoolAttrUsedMemCurrent), 0U);
  EXPECT_GE(pool_value(mine, cudaMemPoolAttrUsedMemHigh), 2U * 4096U);
  EXPECT_EQ(cudaMemPoolTrimTo(mine, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolDestroy(mine), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&mine, -1), cudaErrorInvalidDevice);
  cudaGetLastError();
}

TEST(MemoryPools, KeepWhatTheirThresholdSaysUntilTheyAreTrimmed) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  for (const std::uint64_t threshold : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    cudaMemPool_t pool = nullptr;
    ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
    std::uint64_t keep = threshold;
    ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), cudaSuccess);
    int* a = nullptr;
    ASSERT_EQ(cudaMallocFromPoolAsync(&a, kBytes, pool, stream), cudaSuccess);
    EXPECT_GE(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kBytes);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_GE(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kBytes);  // in use
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    EXPECT_GE(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kBytes);
    ASSERT_EQ(cudaFreeAsync(a, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    const std::uint64_t kept = pool_value(pool, cudaMemPoolAttrReservedMemCurrent);
    if (threshold == 0)
      EXPECT_LT(kept, kBytes);
    else
      EXPECT_GE(kept, kBytes);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, kept), cudaSuccess);
    EXPECT_EQ(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kept);
    EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
    EXPECT_LT(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kBytes);
    EXPECT_GE(pool_value(pool, cudaMemPoolAttrReservedMemHigh), kBytes);
    EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  }
  EXPECT_EQ(cudaMemPoolTrimTo(nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  cudaGetLastError();
}

#ifdef __CPU_DEVICE__
TEST(MemoryPools, ReserveWholePieces) {
  constexpr std::uint64_t kPiece = 1000;
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  cpu_device::set_pool_piece(kPiece);
  std::uint64_t keep = kPiece;
  ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), cudaSuccess);
  void *a = nullptr, *b = nullptr;
  ASSERT_EQ(cudaMallocFromPoolAsync(&a, kPiece - 1, pool, nullptr), cudaSuccess);
  EXPECT_EQ(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kPiece);
  ASSERT_EQ(cudaMallocFromPoolAsync(&b, 2, pool, nullptr), cudaSuccess);
  EXPECT_EQ(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), 2 * kPiece);
  EXPECT_EQ(pool_value(pool, cudaMemPoolAttrUsedMemCurrent), kPiece + 1);
  ASSERT_EQ(cudaFreeAsync(a, nullptr), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(b, nullptr), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), kPiece);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, kPiece - 1), cudaSuccess);
  EXPECT_EQ(pool_value(pool, cudaMemPoolAttrReservedMemCurrent), 0U);
  EXPECT_EQ(cudaMemPoolDestroy(pool), cudaSuccess);
  cpu_device::set_pool_piece(1);
}
#endif

TEST(HostCallbacks, RunInTheStreamsOrder) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<int> seen;
  ASSERT_EQ(cudaLaunchHostFunc(
                stream, [](void* p) { static_cast<std::vector<int>*>(p)->push_back(1); }, &seen),
            cudaSuccess);
  ASSERT_EQ(cudaStreamAddCallback(
                stream,
                [](cudaStream_t, cudaError_t status, void* p) {
                  static_cast<std::vector<int>*>(p)->push_back(status == cudaSuccess ? 2 : -2);
                },
                &seen, 0),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(seen, (std::vector<int>{1, 2}));
  EXPECT_EQ(cudaStreamAddCallback(stream, nullptr, nullptr, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  cudaGetLastError();
}

#ifdef __CPU_DEVICE__
TEST(NotThere, TheDriverApi) {
  void* address = &address;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuInit", &address, 0, &result), cudaErrorNotSupported);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(result, cudaDriverEntryPointSymbolNotFound);
  cudaGetLastError();
}

TEST(Profiling, IsThereAndDoesNothing) {
  EXPECT_EQ(cudaProfilerStart(), cudaSuccess);
  EXPECT_EQ(cudaProfilerStop(), cudaSuccess);
  EXPECT_EQ(nvtxRangePushA("outer"), 0);
  EXPECT_EQ(nvtxRangePush("inner"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);
  nvtxMarkA("here");
  nvtxRangeEnd(nvtxRangeStartA("span"));
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  nvtxNameCudaStreamA(stream, "copies");
  nvtxNameCudaDevice(0, "the only one");
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}
#endif

}  // namespace
