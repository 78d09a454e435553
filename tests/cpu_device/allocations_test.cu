// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Memory of every kind: how it is aligned, who can use it, what its pointers say, how it is freed.
// Runs on the CPU device and on a GPU.

#include <cstdlib>
#include <memory>

#include "conformance.hpp"

namespace {

using conformance::device_array;

__global__ void add(int* data, int n) { data[blockIdx.x * blockDim.x + threadIdx.x] += n; }

std::uintptr_t number(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// --- device memory ------------------------------------------------------------------------------

TEST(DeviceMemory, IsAlignedTo256Bytes) {
  for (const std::size_t bytes : {1, 255, 256, 257, 4096, 100000}) {
    unsigned char* p = nullptr;
    ASSERT_EQ(cudaMalloc(&p, bytes), cudaSuccess);
    EXPECT_NE(p, nullptr);
    EXPECT_EQ(number(p) % 256, 0U);
    EXPECT_EQ(cudaFree(p), cudaSuccess);
  }
}

TEST(DeviceMemory, OfZeroBytesIsANullPointer) {
  void* p = &p;
  EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
}

TEST(DeviceMemory, ThatDoesNotFitIsRefusedAndTheProgramGoesOn) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_GT(free_bytes, 0U);
  EXPECT_LE(free_bytes, total);
  for (const std::size_t bytes : {total + 1, 4 * total, 64 * total}) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, bytes), cudaErrorMemoryAllocation) << bytes;
    EXPECT_EQ(p, nullptr);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const device_array<int> works(10, 1);
  EXPECT_EQ(works.to_host()[9], 1);
}

TEST(DeviceMemory, NeedsAPlaceForItsPointer) {
  void** const nowhere = nullptr;
  void* p = nullptr;
  std::size_t pitch = 0;
  EXPECT_EQ(cudaMalloc(nowhere, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocPitch(nowhere, &pitch, 16, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocPitch(&p, nullptr, 16, 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(nowhere, 16), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostAlloc(nowhere, 16, cudaHostAllocDefault), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocHost(nowhere, 16), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(DeviceMemory, IsFreedOnceByItsOwnFunction) {
  int* device = nullptr;
  int* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(device + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
  int on_the_stack = 0;
  EXPECT_EQ(cudaFree(&on_the_stack), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  cudaGetLastError();
}

__global__ void number_rows(char* base, std::size_t pitch, int width) {
  const auto row = static_cast<int>(blockIdx.x);
  int* elements = reinterpret_cast<int*>(base + static_cast<std::size_t>(row) * pitch);
  for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x))
    elements[i] = row * 1000 + i;
}

TEST(PitchedMemory, HasRowsThatAreAlignedAndApart) {
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  for (const std::size_t width : {1, 31, 32, 100, 129, 999}) {
    constexpr std::size_t kRows = 7;
    char* p = nullptr;
    std::size_t pitch = 0;
    ASSERT_EQ(cudaMallocPitch(&p, &pitch, width * sizeof(int), kRows), cudaSuccess);
    EXPECT_GE(pitch, width * sizeof(int));
    EXPECT_EQ(pitch % device.texturePitchAlignment, 0U);  // a texture can look into it
    EXPECT_EQ(number(p) % device.textureAlignment, 0U);
    number_rows<<<kRows, 32>>>(p, pitch, static_cast<int>(width));
    std::vector<int> host(width * kRows), expected;
    const std::size_t bytes = width * sizeof(int);
    ASSERT_EQ(cudaMemcpy2D(host.data(), bytes, p, pitch, bytes, kRows, cudaMemcpyDeviceToHost),
              cudaSuccess);
    for (std::size_t i = 0; i < host.size(); ++i)
      expected.push_back(static_cast<int>(i / width * 1000 + i % width));
    EXPECT_EQ(host, expected);
    EXPECT_EQ(cudaFree(p), cudaSuccess);
  }
}

TEST(PitchedMemory, OfThreeDimensionsKnowsItsExtent) {
  cudaPitchedPtr p = {};
  ASSERT_EQ(cudaMalloc3D(&p, make_cudaExtent(100, 5, 3)), cudaSuccess);
  EXPECT_NE(p.ptr, nullptr);
  EXPECT_GE(p.pitch, 100U);
  EXPECT_EQ(p.xsize, 100U);
  EXPECT_EQ(p.ysize, 5U);
  EXPECT_EQ(cudaMemset(p.ptr, 0, p.pitch * 5 * 3), cudaSuccess);  // all of it is there
  EXPECT_EQ(cudaFree(p.ptr), cudaSuccess);
}

TEST(Arrays, KnowTheirChannels) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc wanted = cudaCreateChannelDesc<float2>();
  ASSERT_EQ(cudaMallocArray(&array, &wanted, 8, 4, cudaArraySurfaceLoadStore), cudaSuccess);
  cudaChannelFormatDesc channels = {};
  ASSERT_EQ(cudaGetChannelDesc(&channels, array), cudaSuccess);
  EXPECT_EQ(channels.x, 32);
  EXPECT_EQ(channels.y, 32);
  EXPECT_EQ(channels.z, 0);
  EXPECT_EQ(channels.f, cudaChannelFormatKindFloat);
  cudaResourceDesc resource = {}, told = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(cudaCreateSurfaceObject(&surface, &resource), cudaSuccess);
  ASSERT_EQ(cudaGetSurfaceObjectResourceDesc(&told, surface), cudaSuccess);
  EXPECT_EQ(told.resType, cudaResourceTypeArray);
  EXPECT_EQ(told.res.array.array, array);
  EXPECT_EQ(cudaDestroySurfaceObject(surface), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(array), cudaSuccess);
}

// --- the host's memory --------------------------------------------------------------------------

TEST(PinnedMemory, IsUsedByKernelsThroughItsDevicePointer) {
  const std::vector<unsigned> all = {cudaHostAllocDefault, cudaHostAllocPortable,
                                     cudaHostAllocMapped,
                                     cudaHostAllocMapped | cudaHostAllocWriteCombined};
  for (const unsigned flags : all) {
    int *host = nullptr, *device = nullptr;
    ASSERT_EQ(cudaHostAlloc(&host, 64 * sizeof(int), flags), cudaSuccess);
    for (int i = 0; i < 64; ++i) host[i] = i;
    ASSERT_EQ(cudaHostGetDevicePointer(&device, host, 0), cudaSuccess);
    // Unified addressing: all pinned memory is mapped, at its own address except for this kind.
    if ((flags & cudaHostAllocWriteCombined) == 0) {
      EXPECT_EQ(device, host);
    }
    add<<<2, 32>>>(device, 100);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(host[i], 100 + i);
    unsigned kept = 0;
    EXPECT_EQ(cudaHostGetFlags(&kept, host), cudaSuccess);
    EXPECT_EQ(kept & flags, flags);
    EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  }
}

TEST(PinnedMemory, RefusesFlagsAndPointersThatAreNone) {
  int *p = nullptr, *device = nullptr;
  unsigned flags = 0;
  EXPECT_EQ(cudaHostAlloc(&p, 64, 0x100), cudaErrorInvalidValue);
  EXPECT_EQ(p, nullptr);
  ASSERT_EQ(cudaHostAlloc(&p, 64, cudaHostAllocDefault), cudaSuccess);
  EXPECT_EQ(cudaHostGetDevicePointer(&device, p, 1), cudaErrorInvalidValue);  // flags must be 0
  EXPECT_EQ(cudaHostGetFlags(nullptr, p), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(p), cudaSuccess);
  const device_array<int> memory(1, 0);
  EXPECT_EQ(cudaHostGetFlags(&flags, memory.data()), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(RegisteredMemory, IsUsedByKernelsUntilItIsUnregistered) {
  constexpr std::size_t kBytes = 2 * 4096;
  const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(4096, kBytes),
                                                           &std::free);
  auto* host = static_cast<int*>(memory.get());
  const std::vector<unsigned> all = {cudaHostRegisterDefault, cudaHostRegisterPortable,
                                     cudaHostRegisterMapped};
  for (const unsigned flags : all) {
    for (int i = 0; i < 64; ++i) host[i] = i;
    ASSERT_EQ(cudaHostRegister(host, kBytes, flags), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(host, kBytes, flags), cudaErrorHostMemoryAlreadyRegistered);
    cudaPointerAttributes attributes = {};
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.hostPointer, host);
    int* device = nullptr;
    ASSERT_EQ(cudaHostGetDevicePointer(&device, host, 0), cudaSuccess);
    EXPECT_EQ(attributes.devicePointer, device);
    add<<<2, 32>>>(device, 100);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(host[i], 100 + i);
    EXPECT_EQ(cudaHostUnregister(host), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
    ASSERT_EQ(cudaPointerGetAttributes(&attributes, host), cudaSuccess);
    EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  }
  EXPECT_EQ(cudaHostRegister(nullptr, kBytes, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(host, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaHostRegister(host, kBytes, 0x100), cudaErrorInvalidValue);
  cudaGetLastError();
}

// --- managed memory -----------------------------------------------------------------------------

TEST(ManagedMemory, IsUsedByTheHostAndByKernels) {
  for (const unsigned flags : std::vector<unsigned>{cudaMemAttachGlobal, cudaMemAttachHost}) {
    int* data = nullptr;
    ASSERT_EQ(cudaMallocManaged(&data, 64 * sizeof(int), flags), cudaSuccess);
    for (int i = 0; i < 64; ++i) data[i] = i;
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    // Memory of the host is attached to the stream before a kernel may access it.
    ASSERT_EQ(cudaStreamAttachMemAsync(stream, data, 0, cudaMemAttachSingle), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    add<<<2, 32, 0, stream>>>(data, 5);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (int i = 0; i < 64; ++i) EXPECT_EQ(data[i], i + 5);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaFree(data), cudaSuccess);
  }
}

TEST(ManagedMemory, RefusesOtherFlagsAndGivesNoBytesToWhoAsksForNone) {
  int* data = nullptr;
  EXPECT_EQ(cudaMallocManaged(&data, 0), cudaSuccess);  // as cudaMalloc does
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  EXPECT_EQ(cudaMallocManaged(&data, 64, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocManaged(&data, 64, cudaMemAttachGlobal | cudaMemAttachHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
}

TEST(ManagedMemory, TellsSeveralThingsInOneCall) {
  int* data = nullptr;
  ASSERT_EQ(cudaMallocManaged(&data, 4096), cudaSuccess);
  int read_mostly = -77, preferred = -77;
  void* values[] = {&read_mostly, &preferred};
  std::size_t sizes[] = {sizeof read_mostly, sizeof preferred};
  cudaMemRangeAttribute what[] = {cudaMemRangeAttributeReadMostly,
                                  cudaMemRangeAttributePreferredLocation};
  EXPECT_EQ(cudaMemRangeGetAttributes(values, sizes, what, 2, data, 4096), cudaSuccess);
  EXPECT_EQ(read_mostly, 0);
  EXPECT_EQ(preferred, cudaInvalidDeviceId);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

// --- pointers -----------------------------------------------------------------------------------

TEST(Pointers, TellWhatTheyPointTo) {
  const device_array<int> device(4, 0);
  int *pinned = nullptr, *managed = nullptr, *ordered = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&ordered, 64, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  int local = 0;
  const auto attributes_of = [](const void* p) {
    cudaPointerAttributes attributes = {};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    return attributes;
  };
  const cudaPointerAttributes of_device = attributes_of(device.data() + 1);
  EXPECT_EQ(of_device.type, cudaMemoryTypeDevice);
  EXPECT_EQ(of_device.device, 0);
  EXPECT_EQ(of_device.devicePointer, device.data() + 1);
  EXPECT_EQ(of_device.hostPointer, nullptr);
  const cudaPointerAttributes of_pinned = attributes_of(pinned);
  EXPECT_EQ(of_pinned.type, cudaMemoryTypeHost);
  EXPECT_EQ(of_pinned.devicePointer, pinned);
  EXPECT_EQ(of_pinned.hostPointer, pinned);
  const cudaPointerAttributes of_managed = attributes_of(managed);
  EXPECT_EQ(of_managed.type, cudaMemoryTypeManaged);
  EXPECT_EQ(of_managed.devicePointer, managed);
  EXPECT_EQ(of_managed.hostPointer, managed);
  EXPECT_EQ(attributes_of(ordered).type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes_of(&local).type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaPointerGetAttributes(nullptr, pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeAsync(ordered, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  cudaGetLastError();
}

// --- stream-ordered memory ----------------------------------------------------------------------

TEST(StreamOrderedMemory, LivesFromItsAllocationToItsFreeing) {
  conformance::in_every_policy([] {
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    int *data = nullptr, *pinned = nullptr;
    ASSERT_EQ(cudaMallocHost(&pinned, 64 * sizeof(int)), cudaSuccess);
    for (int round = 0; round < 3; ++round) {
      ASSERT_EQ(cudaMallocAsync(&data, 64 * sizeof(int), stream), cudaSuccess);
      ASSERT_EQ(cudaMemsetAsync(data, 0, 64 * sizeof(int), stream), cudaSuccess);
      add<<<2, 32, 0, stream>>>(data, round + 1);
      ASSERT_EQ(cudaMemcpyAsync(pinned, data, 64 * sizeof(int), cudaMemcpyDeviceToHost, stream),
                cudaSuccess);
      ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      for (int i = 0; i < 64; ++i) EXPECT_EQ(pinned[i], round + 1);
    }
    EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

TEST(StreamOrderedMemory, AndPlainMemoryAreFreedEitherWay) {
  int *ordered = nullptr, *plain = nullptr;
  ASSERT_EQ(cudaMallocAsync(&ordered, 64, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&plain, 64), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaFree(ordered), cudaSuccess);
  EXPECT_EQ(cudaFreeAsync(plain, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
