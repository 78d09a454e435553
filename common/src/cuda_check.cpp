// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/cuda_check.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "without_folder.hpp"

namespace lab {
namespace {

/// What a student can do about it; empty where the error's own name says enough.
const char* what_to_try(cudaError_t code) {
  switch (code) {
    case cudaErrorMemoryAllocation:
      return "try a smaller size";
    case cudaErrorInvalidDevice:
      return "there is no such device here; leave --device out to use device 0";
    case cudaErrorInvalidConfiguration:
      return "look at the grid and block sizes: none may be 0, and a block has at most 1024 "
             "threads";
    case cudaErrorLaunchOutOfResources:
      return "the kernel needs more registers than a block of this size gets; try smaller blocks";
    case cudaErrorNotReady:
      return "the device is still at work: wait first, for the event or the stream";
    case cudaErrorInvalidMemcpyDirection:
      return "the last argument says from where to where: cudaMemcpyHostToDevice or DeviceToHost";
    case cudaErrorInvalidValue:
      return "look at the arguments: pointers, sizes, and which side each pointer is on; after a "
             "launch: no grid and no block may be empty, and a block has at most 1024 threads";
    case cudaErrorIllegalAddress:
      return "a kernel accessed memory that is not its own; `scripts/lab check` names the line, on "
             "the CPU device";
    case cudaErrorMisalignedAddress:
      return "a kernel read or wrote at an address that is not a multiple of the type's size";
    case cudaErrorNoDevice:
      return "CUDA sees no GPU; is CUDA_VISIBLE_DEVICES set?";
    case cudaErrorInsufficientDriver:
      return "the NVIDIA driver is missing, or older than the CUDA toolkit";
    case cudaErrorNoKernelImageForDevice:
      return "the program was built for another GPU; set CMAKE_CUDA_ARCHITECTURES and build again";
    default:
      return "";
  }
}

std::string sentence(cudaError_t code, const char* expression, const char* file, int line) {
  std::string text = std::string(without_folder(file)) + ":" + std::to_string(line) + ": " +
                     expression + " failed: " + cudaGetErrorName(code) + " (" +
                     cudaGetErrorString(code) + ")";
  if (const char* advice = what_to_try(code); *advice != '\0') text += std::string("; ") + advice;
  return text;
}

/// The error that was thrown last, by any thread.
std::atomic<cudaError_t> thrown = cudaSuccess;

/// Whether a kernel fails with this, after which every call of its device does, too.
bool stays(cudaError_t code) {
  constexpr std::array kThoseOfKernels = {cudaErrorIllegalAddress, cudaErrorMisalignedAddress,
                                          cudaErrorLaunchTimeout, cudaErrorLaunchFailure,
                                          cudaErrorAssert};
  return std::find(kThoseOfKernels.begin(), kThoseOfKernels.end(), code) != kThoseOfKernels.end();
}

}  // namespace

cuda_error::cuda_error(cudaError_t code, const char* expression, const char* file, int line)
    : std::runtime_error(sentence(code, expression, file, line)),
      code_(code),
      expression_(expression),
      file_(without_folder(file)),
      line_(line) {}

namespace detail {

void throw_cuda_error(cudaError_t code, const char* expression, const char* file, int line) {
  (void)cudaGetLastError();  // the runtime remembers the last error until it is asked
  thrown = code;
  throw cuda_error(code, expression, file, line);
}

void print_cuda_error(cudaError_t code, const char* expression, const char* file,
                      int line) noexcept {
  // Static objects are destroyed when the runtime is already gone; nothing is lost then.
  if (code == cudaErrorCudartUnloading) return;
  (void)cudaGetLastError();
  // Destructors that run because of a kernel's error meet it again: to say so would hide the first.
  if (code == thrown && stays(code)) return;
  // Piece by piece, since building a string could throw.
  const char* advice = what_to_try(code);
  std::fprintf(stderr, "%s:%d: %s failed: %s (%s)%s%s\n", without_folder(file), line, expression,
               cudaGetErrorName(code), cudaGetErrorString(code), *advice != '\0' ? "; " : "",
               advice);
}

}  // namespace detail
}  // namespace lab
