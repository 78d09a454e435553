// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Errors: their numbers and names, how long they stay, and whom they concern. Runs on the CPU
// device and on a GPU. Errors that end a device's work for good are provoked in processes of their
// own.

#include <unistd.h>

#include <thread>

#include "child_process.hpp"
#include "conformance.hpp"
#include "run_tests.hpp"

namespace {

using conformance::device_array;

// --- numbers and names --------------------------------------------------------------------------

struct known_error {
  cudaError_t error;
  int number;
  const char* name;
};
#define KNOWN_ERROR(name, number) \
  { name, number, #name }
constexpr known_error kErrors[] = {
    KNOWN_ERROR(cudaSuccess, 0),
    KNOWN_ERROR(cudaErrorInvalidValue, 1),
    KNOWN_ERROR(cudaErrorMemoryAllocation, 2),
    KNOWN_ERROR(cudaErrorInitializationError, 3),
    KNOWN_ERROR(cudaErrorCudartUnloading, 4),
    KNOWN_ERROR(cudaErrorInvalidConfiguration, 9),
    KNOWN_ERROR(cudaErrorInvalidPitchValue, 12),
    KNOWN_ERROR(cudaErrorInvalidSymbol, 13),
    KNOWN_ERROR(cudaErrorInvalidTexture, 18),
    KNOWN_ERROR(cudaErrorInvalidTextureBinding, 19),
    KNOWN_ERROR(cudaErrorInvalidChannelDescriptor, 20),
    KNOWN_ERROR(cudaErrorInvalidMemcpyDirection, 21),
    KNOWN_ERROR(cudaErrorInvalidFilterSetting, 26),
    KNOWN_ERROR(cudaErrorInvalidNormSetting, 27),
    KNOWN_ERROR(cudaErrorInsufficientDriver, 35),
    KNOWN_ERROR(cudaErrorInvalidSurface, 37),
    KNOWN_ERROR(cudaErrorMissingConfiguration, 52),
    KNOWN_ERROR(cudaErrorInvalidDeviceFunction, 98),
    KNOWN_ERROR(cudaErrorNoDevice, 100),
    KNOWN_ERROR(cudaErrorInvalidDevice, 101),
    KNOWN_ERROR(cudaErrorMapBufferObjectFailed, 205),
    KNOWN_ERROR(cudaErrorUnmapBufferObjectFailed, 206),
    KNOWN_ERROR(cudaErrorAlreadyMapped, 208),
    KNOWN_ERROR(cudaErrorNoKernelImageForDevice, 209),
    KNOWN_ERROR(cudaErrorNotMapped, 211),
    KNOWN_ERROR(cudaErrorNotMappedAsArray, 212),
    KNOWN_ERROR(cudaErrorNotMappedAsPointer, 213),
    KNOWN_ERROR(cudaErrorUnsupportedLimit, 215),
    KNOWN_ERROR(cudaErrorPeerAccessUnsupported, 217),
    KNOWN_ERROR(cudaErrorInvalidGraphicsContext, 219),
    KNOWN_ERROR(cudaErrorOperatingSystem, 304),
    KNOWN_ERROR(cudaErrorInvalidResourceHandle, 400),
    KNOWN_ERROR(cudaErrorIllegalState, 401),
    KNOWN_ERROR(cudaErrorNotReady, 600),
    KNOWN_ERROR(cudaErrorIllegalAddress, 700),
    KNOWN_ERROR(cudaErrorLaunchOutOfResources, 701),
    KNOWN_ERROR(cudaErrorLaunchTimeout, 702),
    KNOWN_ERROR(cudaErrorPeerAccessAlreadyEnabled, 704),
    KNOWN_ERROR(cudaErrorPeerAccessNotEnabled, 705),
    KNOWN_ERROR(cudaErrorAssert, 710),
    KNOWN_ERROR(cudaErrorHostMemoryAlreadyRegistered, 712),
    KNOWN_ERROR(cudaErrorHostMemoryNotRegistered, 713),
    KNOWN_ERROR(cudaErrorHardwareStackError, 714),
    KNOWN_ERROR(cudaErrorMisalignedAddress, 716),
    KNOWN_ERROR(cudaErrorLaunchFailure, 719),
    KNOWN_ERROR(cudaErrorCooperativeLaunchTooLarge, 720),
    KNOWN_ERROR(cudaErrorNotPermitted, 800),
    KNOWN_ERROR(cudaErrorNotSupported, 801),
    KNOWN_ERROR(cudaErrorStreamCaptureUnsupported, 900),
    KNOWN_ERROR(cudaErrorStreamCaptureInvalidated, 901),
    KNOWN_ERROR(cudaErrorStreamCaptureMerge, 902),
    KNOWN_ERROR(cudaErrorStreamCaptureUnmatched, 903),
    KNOWN_ERROR(cudaErrorStreamCaptureUnjoined, 904),
    KNOWN_ERROR(cudaErrorStreamCaptureIsolation, 905),
    KNOWN_ERROR(cudaErrorStreamCaptureImplicit, 906),
    KNOWN_ERROR(cudaErrorCapturedEvent, 907),
    KNOWN_ERROR(cudaErrorStreamCaptureWrongThread, 908),
    KNOWN_ERROR(cudaErrorTimeout, 909),
    KNOWN_ERROR(cudaErrorGraphExecUpdateFailure, 910),
    KNOWN_ERROR(cudaErrorUnknown, 999),
};
#undef KNOWN_ERROR

TEST(Errors, HaveNumbersNamesAndSentences) {
  for (const known_error& e : kErrors) {
    EXPECT_EQ(static_cast<int>(e.error), e.number) << e.name;
    EXPECT_STREQ(cudaGetErrorName(e.error), e.name);
    const std::string sentence = cudaGetErrorString(e.error);
    EXPECT_FALSE(sentence.empty() || sentence == "unrecognized error code") << e.name;
  }
}

TEST(Errors, ThatDoNotExistAreSaidToBeUnknown) {
  const auto none = static_cast<cudaError_t>(12345);
  EXPECT_STREQ(cudaGetErrorName(none), "unrecognized error code");
  EXPECT_STREQ(cudaGetErrorString(none), "unrecognized error code");
}

// --- errors of a call ---------------------------------------------------------------------------

TEST(Errors, StayUntilTheyAreAskedFor) {
  int device = -1;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);  // what succeeds takes nothing back
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);  // the last one counts
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(Errors, OfACallConcernOnlyItsHostThread) {
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  std::thread([] {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(cudaGetDevice(nullptr), cudaErrorInvalidValue);
  }).join();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

__global__ void set(int* data, int value) { *data = value; }

TEST(Errors, OfALaunchLeaveTheDeviceUsable) {
  const device_array<int> data(1, 0);
  set<<<1, 5000>>>(data.data(), 1);
  EXPECT_NE(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);  // nothing was started
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  set<<<1, 1>>>(data.data(), 2);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(data.to_host()[0], 2);
}

// --- errors of a kernel -------------------------------------------------------------------------

__global__ void trap() { __trap(); }
__global__ void move(const int* from, int* to) {
  *reinterpret_cast<int4*>(to) = *reinterpret_cast<const int4*>(from);
}

/// In a child: what the calls after a kernel's failure return. 0: all of them its error.
int fail_and_go_on(const std::string& how) {
  const device_array<int> data(8, 0);
  int host = 0;
  void* memory = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  std::size_t free_bytes = 0, total = 0;
  if (how == "null")
    set<<<1, 1>>>(static_cast<int*>(nullptr), 1);
  else if (how == "misaligned")
    move<<<1, 1>>>(data.data() + 1, data.data() + 4);
  else
    trap<<<1, 1>>>();
  const cudaError_t first = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(first));
  if (cudaGetLastError() != first) return 1;  // asking for it does not end it
  set<<<1, 1>>>(data.data(), 1);
  const cudaError_t after_launch = cudaGetLastError();
  const cudaError_t later[] = {after_launch,
                               cudaDeviceSynchronize(),
                               cudaMalloc(&memory, 16),
                               cudaMallocHost(&memory, 16),
                               cudaMallocManaged(&memory, 16),
                               cudaMemcpy(&host, data.data(), 4, cudaMemcpyDeviceToHost),
                               cudaMemset(data.data(), 0, 4),
                               cudaMemGetInfo(&free_bytes, &total),
                               cudaStreamCreate(&stream),
                               cudaStreamQuery(nullptr),
                               cudaEventCreate(&event),
                               cudaFree(data.data())};
  for (const cudaError_t e : later) std::printf("%s ", cudaGetErrorName(e));
  for (const cudaError_t e : later)
    if (e != first) return 2;
  return 0;
}

/// The error of the kernel, once it was seen that every later call returns it, too.
std::string sticky_error(const std::string& how) {
  const auto child = child_process::run("", how + " 2>/dev/null");
  EXPECT_EQ(child.exit_code, 0) << child.output;
  return child.output.substr(0, child.output.find('\n'));
}

TEST(KernelErrors, StayAndAreReturnedByEveryCall) {
  EXPECT_EQ(sticky_error("null"), "cudaErrorIllegalAddress");
  EXPECT_NE(sticky_error("trap"), "cudaSuccess");  // which one it is, CUDA does not say
#if !defined(__CPU_DEVICE__) || defined(CPU_DEVICE_CHECK) || \
    (defined(__x86_64__) && defined(__OPTIMIZE__))
  EXPECT_EQ(sticky_error("misaligned"), "cudaErrorMisalignedAddress");
#endif
}

// --- a reset ------------------------------------------------------------------------------------

/// In a child: a reset while work is pending; everything after it works as at the start.
int reset_and_go_on() {
  void* left_behind = nullptr;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(&left_behind, 1 << 20) != cudaSuccess) return 1;
  if (cudaStreamCreate(&stream) != cudaSuccess) return 2;
  if (cudaSetDevice(-1) != cudaErrorInvalidDevice) return 3;
  if (cudaDeviceReset() != cudaSuccess) return 4;
  cudaGetLastError();
  if (cudaFree(left_behind) != cudaErrorInvalidValue) return 9;  // the reset has freed it
  cudaGetLastError();
  const device_array<int> data(1, 0);
  if (cudaStreamCreate(&stream) != cudaSuccess) return 5;
  set<<<1, 1, 0, stream>>>(data.data(), 7);
  if (cudaGetLastError() != cudaSuccess || cudaStreamSynchronize(stream) != cudaSuccess) return 6;
  if (cudaStreamDestroy(stream) != cudaSuccess) return 7;
  return data.to_host()[0] == 7 ? 0 : 8;
}

TEST(Reset, LeavesADeviceThatWorks) {
  const auto child = child_process::run("", "reset 2>/dev/null");
  EXPECT_EQ(child.exit_code, 0) << child.output;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--child") == 0)
    return std::strcmp(argv[2], "reset") == 0 ? reset_and_go_on() : fail_and_go_on(argv[2]);
  return run_tests(argc, argv);
}
