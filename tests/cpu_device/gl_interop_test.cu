// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Buffers of OpenGL in kernels. The OpenGL here is the test's own: the few functions that the CPU
// device calls, and a window system that finds them. gl_interop_mesa_test.cu has a real one.

#include <cpu_device.h>
#include <cuda_gl_interop.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

// --- an OpenGL ---------------------------------------------------------------------------------

constexpr unsigned kInvalidOperation = 0x0502;

struct fake_gl {
  bool is_current = true;
  std::map<unsigned, std::vector<unsigned char>> buffers;
  unsigned bound = 0;  // to GL_ARRAY_BUFFER
  unsigned error = 0;
  bool refuses = false;  // as if the program had the buffers mapped by glMapBuffer
  int reads = 0, writes = 0;
};
fake_gl gl;

unsigned char is_buffer(unsigned name) { return gl.buffers.count(name) != 0 ? 1 : 0; }
void bind_buffer(unsigned target, unsigned name) {
  EXPECT_EQ(target, 0x8892U) << "GL_ARRAY_BUFFER";
  gl.bound = name;
}
void get_integer(unsigned what, int* value) {
  EXPECT_EQ(what, 0x8894U) << "GL_ARRAY_BUFFER_BINDING";
  *value = static_cast<int>(gl.bound);
}
void get_buffer_parameter(unsigned, unsigned what, int* value) {
  EXPECT_EQ(what, 0x8764U) << "GL_BUFFER_SIZE";
  *value = static_cast<int>(gl.buffers.at(gl.bound).size());
}
bool is_refused(std::intptr_t offset, std::intptr_t bytes) {
  if (gl.refuses) gl.error = kInvalidOperation;
  EXPECT_EQ(offset, 0);
  EXPECT_LE(static_cast<std::size_t>(bytes), gl.buffers.at(gl.bound).size());
  return gl.refuses;
}
void get_sub_data(unsigned, std::intptr_t offset, std::intptr_t bytes, void* to) {
  ++gl.reads;
  if (!is_refused(offset, bytes))
    std::memcpy(to, gl.buffers.at(gl.bound).data(), static_cast<std::size_t>(bytes));
}
void sub_data(unsigned, std::intptr_t offset, std::intptr_t bytes, const void* from) {
  ++gl.writes;
  if (!is_refused(offset, bytes))
    std::memcpy(gl.buffers.at(gl.bound).data(), from, static_cast<std::size_t>(bytes));
}
unsigned get_error() { return std::exchange(gl.error, 0U); }

}  // namespace

// The CPU device asks the program for these two by name; this program exports them.
extern "C" void* eglGetCurrentContext() { return gl.is_current ? &gl : nullptr; }
extern "C" void* eglGetProcAddress(const char* name) {
  const std::map<std::string, void*> functions = {
      {"glIsBuffer", reinterpret_cast<void*>(&is_buffer)},
      {"glBindBuffer", reinterpret_cast<void*>(&bind_buffer)},
      {"glGetIntegerv", reinterpret_cast<void*>(&get_integer)},
      {"glGetBufferParameteriv", reinterpret_cast<void*>(&get_buffer_parameter)},
      {"glGetBufferSubData", reinterpret_cast<void*>(&get_sub_data)},
      {"glBufferSubData", reinterpret_cast<void*>(&sub_data)},
      {"glGetError", reinterpret_cast<void*>(&get_error)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

namespace {

// --- what the tests share ----------------------------------------------------------------------

constexpr int kCount = 1000;  // not a multiple of a block
constexpr std::size_t kBytes = kCount * sizeof(int);

void give_storage(unsigned name, const std::vector<int>& values) {
  std::vector<unsigned char>& buffer = gl.buffers[name];
  buffer.resize(values.size() * sizeof(int));
  std::memcpy(buffer.data(), values.data(), buffer.size());
}
std::vector<int> stored(unsigned name) {
  const std::vector<unsigned char>& buffer = gl.buffers.at(name);
  std::vector<int> values(buffer.size() / sizeof(int));
  std::memcpy(values.data(), buffer.data(), buffer.size());
  return values;
}
std::vector<int> counting(int from) {
  std::vector<int> values(kCount);
  for (int i = 0; i < kCount; ++i) values[static_cast<std::size_t>(i)] = from + 7 * i;
  return values;
}
std::vector<int> plus(std::vector<int> values, int more) {
  for (int& v : values) v += more;
  return values;
}

__global__ void add(int* data, int n, int more) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += more;
}
__global__ void fill(int* data, int n, int value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = value;
}
__global__ void copy(const int* from, int* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = from[i];
}
constexpr int kBlocks = (kCount + 127) / 128;

/// What a call prints; it must give `error`.
std::string sentence_of(cudaError_t error, const std::function<cudaError_t()>& call) {
  testing::internal::CaptureStderr();
  EXPECT_STREQ(cudaGetErrorName(call()), cudaGetErrorName(error));
  EXPECT_EQ(cudaGetLastError(), error);
  return testing::internal::GetCapturedStderr();
}
void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

/// Buffer 5 is registered, holds counting(3), and OpenGL has buffer 9 bound.
class GlInterop : public testing::Test {
 protected:
  void SetUp() override {
    gl = {};
    give_storage(5, counting(3));
    give_storage(9, {1});
    gl.bound = 9;
    ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&resource, 5, cudaGraphicsRegisterFlagsNone),
              cudaSuccess);
  }
  void TearDown() override {
    gl.is_current = true;
    gl.refuses = false;
    if (resource != nullptr) {
      EXPECT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess) << "still mapped?";
    }
    EXPECT_EQ(gl.bound, 9U) << "the program's binding must be as it was";
    EXPECT_EQ(cpu_device::live_allocations(), 0U);
    cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
  }

  cudaError_t map(cudaStream_t stream = nullptr) {
    return cudaGraphicsMapResources(1, &resource, stream);
  }
  cudaError_t unmap(cudaStream_t stream = nullptr) {
    return cudaGraphicsUnmapResources(1, &resource, stream);
  }
  int* pointer() {
    int* data = nullptr;
    std::size_t bytes = 0;
    EXPECT_EQ(cudaGraphicsResourceGetMappedPointer(&data, &bytes, resource), cudaSuccess);
    EXPECT_EQ(bytes, kBytes);
    return data;
  }

  cudaGraphicsResource_t resource = nullptr;
};

// --- data there and back -----------------------------------------------------------------------

TEST_F(GlInterop, AKernelChangesWhatOpenGlHas) {
  int more = 0;
  in_every_order([&] {
    give_storage(5, counting(++more));
    ASSERT_EQ(map(), cudaSuccess);
    add<<<kBlocks, 128>>>(pointer(), kCount, 1000);
    EXPECT_EQ(stored(5), counting(more)) << "not before it is unmapped";
    ASSERT_EQ(unmap(), cudaSuccess);
    EXPECT_EQ(stored(5), plus(counting(more), 1000));
  });
}

TEST_F(GlInterop, ThePointerIsDeviceMemory) {
  ASSERT_EQ(map(), cudaSuccess);
  cudaPointerAttributes attributes = {};
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pointer()), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(cpu_device::live_bytes(), kBytes);
  ASSERT_EQ(unmap(), cudaSuccess);
}

TEST_F(GlInterop, SeveralResourcesAreMappedAtOnce) {
  give_storage(6, plus(counting(3), 50));
  cudaGraphicsResource_t both[2] = {resource, nullptr};
  ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&both[1], 6, cudaGraphicsRegisterFlagsWriteDiscard),
            cudaSuccess);
  ASSERT_EQ(cudaGraphicsMapResources(2, both), cudaSuccess);
  int* six = nullptr;
  ASSERT_EQ(cudaGraphicsResourceGetMappedPointer(&six, nullptr, both[1]), cudaSuccess);
  copy<<<kBlocks, 128>>>(pointer(), six, kCount);
  ASSERT_EQ(cudaGraphicsUnmapResources(2, both), cudaSuccess);
  EXPECT_EQ(stored(6), counting(3));
  EXPECT_EQ(cudaGraphicsUnregisterResource(both[1]), cudaSuccess);
}

TEST_F(GlInterop, WriteDiscardIsNotReadAndHoldsNoOldData) {
  ASSERT_EQ(cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsWriteDiscard),
            cudaSuccess);
  ASSERT_EQ(map(), cudaSuccess);
  const device_array<int> seen(kCount, 0);
  copy<<<kBlocks, 128>>>(pointer(), seen.data(), kCount);
  EXPECT_EQ(seen.to_host(), std::vector<int>(kCount, -1));
  fill<<<kBlocks, 128>>>(pointer(), kCount - 1, 42);
  ASSERT_EQ(unmap(), cudaSuccess);
  EXPECT_EQ(gl.reads, 0);
  std::vector<int> expected(kCount, 42);
  expected.back() = -1;  // the kernel forgot it
  EXPECT_EQ(stored(5), expected);
}

TEST_F(GlInterop, ReadOnlyIsReadAndNotWrittenBack) {
  ASSERT_EQ(cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsReadOnly), cudaSuccess);
  const std::size_t reports = cpu_device::report_count();
  ASSERT_EQ(map(), cudaSuccess);
  const device_array<int> seen(kCount, 0);
  copy<<<kBlocks, 128>>>(pointer(), seen.data(), kCount);
  EXPECT_EQ(seen.to_host(), counting(3));
  ASSERT_EQ(unmap(), cudaSuccess);
  EXPECT_EQ(gl.writes, 0);
  EXPECT_EQ(cpu_device::report_count(), reports);
}

TEST_F(GlInterop, WritingToAReadOnlyOneIsReported) {
  ASSERT_EQ(cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsReadOnly), cudaSuccess);
  const std::size_t reports = cpu_device::report_count();
  ASSERT_EQ(map(), cudaSuccess);
  fill<<<1, 1>>>(pointer(), 1, 42);
  ASSERT_EQ(unmap(), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), reports + 1);
  expect_parts(cpu_device::last_report(), {"buffer 5", "read only", "Try: "});
  EXPECT_EQ(stored(5), counting(3));
}

TEST_F(GlInterop, FlagsOfRegistrationCountUntilOthersAreSet) {
  cudaGraphicsResource_t discard = nullptr;
  give_storage(6, counting(1));
  ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&discard, 6, cudaGraphicsRegisterFlagsWriteDiscard),
            cudaSuccess);
  ASSERT_EQ(cudaGraphicsMapResources(1, &discard), cudaSuccess);
  EXPECT_EQ(gl.reads, 0);
  ASSERT_EQ(cudaGraphicsUnmapResources(1, &discard), cudaSuccess);
  ASSERT_EQ(cudaGraphicsResourceSetMapFlags(discard, cudaGraphicsMapFlagsNone), cudaSuccess);
  ASSERT_EQ(cudaGraphicsMapResources(1, &discard), cudaSuccess);
  EXPECT_EQ(gl.reads, 1);
  ASSERT_EQ(cudaGraphicsUnmapResources(1, &discard), cudaSuccess);
  EXPECT_EQ(cudaGraphicsUnregisterResource(discard), cudaSuccess);
}

// --- streams -----------------------------------------------------------------------------------

class GlInteropStreams : public GlInterop {
 protected:
  void SetUp() override {
    GlInterop::SetUp();
    cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
    for (cudaStream_t& stream : streams)
      ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    for (const cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    GlInterop::TearDown();
  }
  cudaStream_t streams[2] = {};
};

TEST_F(GlInteropStreams, WorkOfTheStreamIsDoneBeforeOpenGlGoesOn) {
  ASSERT_EQ(map(streams[0]), cudaSuccess);
  add<<<kBlocks, 128, 0, streams[0]>>>(pointer(), kCount, 10);
  ASSERT_EQ(unmap(streams[0]), cudaSuccess);
  EXPECT_EQ(stored(5), plus(counting(3), 10));
}

TEST_F(GlInteropStreams, WorkOfAnotherStreamComesTooLate) {
  ASSERT_EQ(map(streams[0]), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);  // the contents are there
  fill<<<kBlocks, 128, 0, streams[1]>>>(pointer(), kCount, 42);
  ASSERT_EQ(unmap(streams[0]), cudaSuccess);
  EXPECT_EQ(stored(5), counting(3));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(GlInteropStreams, OnlyTheStreamItselfMayCountOnTheContents) {
  const device_array<int> seen(kCount, 0);
  ASSERT_EQ(map(streams[0]), cudaSuccess);
  copy<<<kBlocks, 128, 0, streams[1]>>>(pointer(), seen.data(), kCount);
  EXPECT_EQ(cudaStreamSynchronize(streams[1]), cudaSuccess);
  EXPECT_EQ(seen.to_host(), std::vector<int>(kCount, -1)) << "nobody waited for streams[0]";
  copy<<<kBlocks, 128, 0, streams[0]>>>(pointer(), seen.data(), kCount);
  EXPECT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);
  EXPECT_EQ(seen.to_host(), counting(3));
  ASSERT_EQ(unmap(streams[0]), cudaSuccess);
}

TEST_F(GlInteropStreams, AStreamThatIsNotThereIsRefused) {
  const auto none = reinterpret_cast<cudaStream_t>(std::uintptr_t{0x1234560});
  EXPECT_EQ(map(none), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(map(), cudaSuccess);
  EXPECT_EQ(unmap(none), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(unmap(), cudaSuccess);
  cudaGetLastError();
}

TEST_F(GlInteropStreams, ACapturedStreamIsRefused) {
  ASSERT_EQ(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(map(streams[0]), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(streams[0], &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(graph, nullptr);
  cudaGetLastError();
}

// --- what is refused ---------------------------------------------------------------------------

TEST_F(GlInterop, NullPointersAndUnknownFlagsAreInvalid) {
  cudaGraphicsResource_t other = nullptr;
  int* data = nullptr;
  unsigned count = 0;
  EXPECT_EQ(cudaGraphicsGLRegisterBuffer(nullptr, 5, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsGLRegisterBuffer(&other, 5, cudaGraphicsRegisterFlagsSurfaceLoadStore),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsGLRegisterImage(nullptr, 5, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsResourceSetMapFlags(resource, 3), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsMapResources(0, &resource), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsMapResources(1, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsUnmapResources(1, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGraphicsResourceGetMappedPointer(static_cast<int**>(nullptr), nullptr, resource),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGLGetDevices(nullptr, nullptr, 0, cudaGLDeviceListAll), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGLGetDevices(&count, nullptr, 0, cudaGLDeviceListAll), cudaErrorInvalidValue);

  cudaGraphicsResource_t none = nullptr;
  EXPECT_EQ(cudaGraphicsUnregisterResource(none), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphicsResourceSetMapFlags(none, 0), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphicsMapResources(1, &none), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphicsUnmapResources(1, &none), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaGraphicsResourceGetMappedPointer(&data, nullptr, none),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(data, nullptr);
  cudaGetLastError();
}

TEST_F(GlInterop, ABufferThatIsNotThereOrEmptyIsNotRegistered) {
  cudaGraphicsResource_t other = nullptr;
  expect_parts(sentence_of(cudaErrorInvalidValue,
                           [&] { return cudaGraphicsGLRegisterBuffer(&other, 77, 0); }),
               {"buffer 77 does not exist", "glGenBuffers"});
  gl.buffers[8] = {};
  expect_parts(sentence_of(cudaErrorInvalidValue,
                           [&] { return cudaGraphicsGLRegisterBuffer(&other, 8, 0); }),
               {"buffer 8 has no storage", "glBufferData"});
}

TEST_F(GlInterop, WithoutReadableTexturesThereAreNoImages) {  // as in OpenGL ES
  cudaGraphicsResource_t image = nullptr;
  expect_parts(sentence_of(cudaErrorInvalidGraphicsContext,
                           [&] { return cudaGraphicsGLRegisterImage(&image, 5, 0x0DE1, 0); }),
               {"no textures that can be read", "Try: "});
}

TEST_F(GlInterop, WhatIsMappedIsNotMappedAgain) {
  ASSERT_EQ(map(), cudaSuccess);
  expect_parts(sentence_of(cudaErrorAlreadyMapped, [&] { return map(); }),
               {"cudaGraphicsMapResources: ", "buffer 5 is mapped", "cudaGraphicsUnmapResources"});
  expect_parts(
      sentence_of(cudaErrorAlreadyMapped, [&] { return cudaGraphicsUnregisterResource(resource); }),
      {"cudaGraphicsUnregisterResource: ", "is mapped"});
  expect_parts(sentence_of(cudaErrorAlreadyMapped,
                           [&] { return cudaGraphicsResourceSetMapFlags(resource, 0); }),
               {"cudaGraphicsResourceSetMapFlags: ", "is mapped"});
  add<<<kBlocks, 128>>>(pointer(), kCount, 1);  // it still is
  ASSERT_EQ(unmap(), cudaSuccess);
  EXPECT_EQ(stored(5), plus(counting(3), 1));
}

TEST_F(GlInterop, WhatIsNotMappedHasNoPointerAndIsNotUnmapped) {
  int* data = nullptr;
  cudaArray_t array = nullptr;
  const auto get = [&] { return cudaGraphicsResourceGetMappedPointer(&data, nullptr, resource); };
  const auto get_array = [&] {
    return cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0);
  };
  expect_parts(sentence_of(cudaErrorNotMapped, [&] { return unmap(); }),
               {"buffer 5 is not mapped"});
  expect_parts(sentence_of(cudaErrorNotMapped, get), {"buffer 5 is not mapped"});
  sentence_of(cudaErrorNotMapped, get_array);
  ASSERT_EQ(map(), cudaSuccess);
  EXPECT_EQ(get(), cudaSuccess);
  expect_parts(sentence_of(cudaErrorNotMappedAsArray, get_array), {"no texture"});
  ASSERT_EQ(unmap(), cudaSuccess);
  sentence_of(cudaErrorNotMapped, get);
  sentence_of(cudaErrorNotMapped, [&] { return unmap(); });
}

TEST_F(GlInterop, AllOrNoneOfAListAreMapped) {
  give_storage(6, counting(1));
  cudaGraphicsResource_t other = nullptr;
  ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&other, 6, 0), cudaSuccess);
  cudaGraphicsResource_t twice[] = {resource, resource};
  EXPECT_EQ(cudaGraphicsMapResources(2, twice), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaGraphicsMapResources(1, &other), cudaSuccess);
  cudaGraphicsResource_t both[] = {resource, other};
  EXPECT_EQ(cudaGraphicsMapResources(2, both), cudaErrorAlreadyMapped);
  EXPECT_EQ(cudaGraphicsUnmapResources(2, both), cudaErrorNotMapped);
  ASSERT_EQ(cudaGraphicsUnmapResources(1, &other), cudaSuccess) << "still mapped after that";
  gl.buffers.erase(6);
  EXPECT_EQ(cudaGraphicsMapResources(2, both), cudaErrorMapBufferObjectFailed);
  EXPECT_EQ(unmap(), cudaErrorNotMapped);
  EXPECT_EQ(cpu_device::live_allocations(), 0U);
  EXPECT_EQ(cudaGraphicsUnregisterResource(other), cudaSuccess);
  cudaGetLastError();
}

TEST_F(GlInterop, WhatIsUnregisteredIsGone) {
  cudaGraphicsResource_t old = resource;
  ASSERT_EQ(cudaGraphicsUnregisterResource(resource), cudaSuccess);
  resource = nullptr;
  expect_parts(sentence_of(cudaErrorInvalidResourceHandle,
                           [&] { return cudaGraphicsMapResources(1, &old); }),
               {"does not exist", "unregistered"});
  sentence_of(cudaErrorInvalidResourceHandle, [&] { return cudaGraphicsUnregisterResource(old); });
}

TEST_F(GlInterop, WithoutACurrentContextItSaysSo) {
  unsigned count = 0;
  int devices[8] = {};
  cudaGraphicsResource_t other = nullptr;
  gl.is_current = false;
  for (const auto& call : std::vector<std::function<cudaError_t()>>{
           [&] { return cudaGraphicsGLRegisterBuffer(&other, 5, 0); }, [&] { return map(); },
           [&] { return cudaGLGetDevices(&count, devices, 8, cudaGLDeviceListAll); }})
    expect_parts(sentence_of(cudaErrorInvalidGraphicsContext, call),
                 {"no OpenGL context is current in this host thread", "Try: "});
  EXPECT_EQ(other, nullptr);
  gl.is_current = true;
  ASSERT_EQ(map(), cudaSuccess);
  fill<<<kBlocks, 128>>>(pointer(), kCount, 42);
  gl.is_current = false;
  sentence_of(cudaErrorInvalidGraphicsContext, [&] { return unmap(); });
  gl.is_current = true;
  ASSERT_EQ(unmap(), cudaSuccess) << "it stays mapped";
  EXPECT_EQ(stored(5), std::vector<int>(kCount, 42));
}

TEST_F(GlInterop, ErrorsOfOpenGlAreErrors) {
  gl.refuses = true;
  expect_parts(sentence_of(cudaErrorMapBufferObjectFailed, [&] { return map(); }),
               {"does not give the contents of its buffer 5", "glUnmapBuffer"});
  gl.refuses = false;
  ASSERT_EQ(map(), cudaSuccess);
  gl.refuses = true;
  expect_parts(sentence_of(cudaErrorUnmapBufferObjectFailed, [&] { return unmap(); }),
               {"does not take the contents of its buffer 5"});
  gl.refuses = false;
  ASSERT_EQ(unmap(), cudaSuccess);
}

TEST_F(GlInterop, AnErrorThatWasThereBeforeIsNamedAndIsNotOurs) {
  gl.error = kInvalidOperation;
  expect_parts(sentence_of(cudaSuccess, [&] { return map(); }),
               {"an earlier call of OpenGL had failed", "0x0502"});
  ASSERT_EQ(unmap(), cudaSuccess);
}

TEST_F(GlInterop, ABufferWithNewStorageMustBeRegisteredAgain) {
  give_storage(5, {1, 2, 3});
  expect_parts(sentence_of(cudaErrorMapBufferObjectFailed, [&] { return map(); }),
               {"buffer 5 had 4000 bytes", "has 12 bytes now", "register it again"});
  gl.buffers.erase(5);
  expect_parts(sentence_of(cudaErrorMapBufferObjectFailed, [&] { return map(); }),
               {"buffer 5 is not there", "glDeleteBuffers"});
}

TEST_F(GlInterop, CudaFreeDoesNotTakeTheMemory) {
  ASSERT_EQ(map(), cudaSuccess);
  expect_parts(sentence_of(cudaErrorInvalidValue, [&] { return cudaFree(pointer()); }),
               {"cudaGraphicsUnmapResources gives it back"});
  sentence_of(cudaErrorInvalidValue, [&] { return cudaFreeAsync(pointer(), nullptr); });
  ASSERT_EQ(unmap(), cudaSuccess);
}

// --- what the CPU device finds -----------------------------------------------------------------

struct hidden {  // the launch does not inspect structures
  int* data;
};
__global__ void store(hidden view, int i) { view.data[i] = 1; }

TEST_F(GlInterop, AKernelThatWritesPastTheEndIsReported) {
  ASSERT_EQ(map(), cudaSuccess);
  const std::size_t reports = cpu_device::report_count();
  store<<<1, 1>>>(hidden{pointer()}, kCount);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cpu_device::report_count(), reports + 1);
  expect_parts(cpu_device::last_report(), {"kernel store", "past the end", "gl_interop_test.cu:"});
  EXPECT_EQ(unmap(), cudaErrorIllegalAddress) << "the device is broken";
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(unmap(), cudaErrorInvalidResourceHandle) << "a reset forgets what was registered";
  resource = nullptr;
  cudaGetLastError();
}

TEST_F(GlInterop, ThePointerDoesNotOutliveTheMapping) {
  ASSERT_EQ(map(), cudaSuccess);
  int* old = pointer();
  ASSERT_EQ(unmap(), cudaSuccess);
  const std::string text =
      expect_report([&] { store<<<1, 1>>>(hidden{old}, 0); }, cudaErrorIllegalAddress);
  resource = nullptr;  // forgotten by the reset
  expect_parts(text, {"kernel store", "freed"});
}

TEST_F(GlInterop, WhatIsStillRegisteredIsCounted) {
  const std::size_t before = cpu_device::live_objects(cpu_device::object_kind::graphics_resource);
  give_storage(6, {1, 2, 3});
  cudaGraphicsResource_t other = nullptr;
  ASSERT_EQ(cudaGraphicsGLRegisterBuffer(&other, 6, cudaGraphicsRegisterFlagsNone), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::graphics_resource), before + 1);
  ASSERT_EQ(cudaGraphicsUnregisterResource(other), cudaSuccess);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::graphics_resource), before);
}

TEST_F(GlInterop, EveryDeviceCanUseOpenGlsBuffers) {
  int there_are = 0;
  ASSERT_EQ(cudaGetDeviceCount(&there_are), cudaSuccess);
  ASSERT_GE(there_are, 2);
  unsigned count = 0;
  int devices[2] = {-1, -1};
  ASSERT_EQ(cudaGLGetDevices(&count, devices, 1, cudaGLDeviceListAll), cudaSuccess);
  EXPECT_EQ(static_cast<int>(count), there_are);
  EXPECT_EQ(devices[0], 0);
  EXPECT_EQ(devices[1], -1) << "no more than there is room for";
  ASSERT_EQ(cudaGLGetDevices(&count, devices, 2, cudaGLDeviceListCurrentFrame), cudaSuccess);
  EXPECT_EQ(devices[1], 1);
  EXPECT_EQ(cudaGLGetDevices(&count, devices, 2, static_cast<cudaGLDeviceList>(0)),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaGLSetGLDevice(0), cudaSuccess);
  cudaGetLastError();
}

}  // namespace
