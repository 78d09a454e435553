// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: a sum in double of float data, and types as arguments.
// Edit:  this file, from TODO(1) to TODO(4). mixed_precision_dot.hpp has the contract.
// Run:   scripts/lab run 13.4                      (then --step in_float)
// Test:  scripts/lab test 13.4
// Hints: scripts/lab hint 13.4                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::mixed_precision_dot {
namespace {

// cublasDotEx(handle, n, x, type of x, incx, y, type of y, incy, result, type of result, type of
// the arithmetic): the pointers are void*, and the types are arguments, CUDA_R_32F (float) and
// CUDA_R_64F (double) among them. Its documentation lists the supported combinations.

// --- step in_float -------------------------------------------------------------------------------

float dot_in_float(cublasHandle_t handle, int n, const float* x, const float* y) {
  // TODO(1): one checked call, all of it in float. What type must the variable for the result have?
  throw not_written("step in_float", 1);
}

// --- step in_double: the inputs must be double, too ----------------------------------------------

__global__ void widen(const float* from, double* to, std::size_t n) {
  // TODO(2): to[i] = from[i] for i < n. Nothing at or past n is accessed.
}

/// Converts n floats to doubles, 0 < n <= kPiece; both are in device memory.
void widen_on_device(const float* from, double* to, int n) {
  const unsigned blocks = (static_cast<unsigned>(n) + kThreads - 1) / kThreads;
  widen<<<blocks, kThreads>>>(from, to, static_cast<std::size_t>(n));
  CUDA_CHECK(cudaGetLastError());
}

/// `wide_x` and `wide_y` are device memory for as many doubles as the longest piece has elements.
double dot_in_double(cublasHandle_t handle, int n, const float* x, const float* y, double* wide_x,
                     double* wide_y) {
  // TODO(3): the sum over pieces of at most kPiece elements: convert the piece of x and the piece
  //          of y to doubles, and let cublasDotEx do the rest in double. All pieces use the same
  //          two buffers. What waits until a buffer may be overwritten?
  throw not_written("step in_double", 2);
}

// --- mixed types, as in the text -----------------------------------------------------------------

std::optional<double> dot_of_mixed_types(cublasHandle_t handle, int n, const float* x,
                                         const float* y) {
  // TODO(4): request float vectors, and result and arithmetic in double. If the status is
  //          CUBLAS_STATUS_NOT_SUPPORTED, return std::nullopt; all other failures are checked.
  throw not_written("ask_for_mixed_types", 4);
}

}  // namespace

result dot(step version, std::span<const float> x, std::span<const float> y) {
  return host_part_of_dot(dot_in_float, dot_in_double, version, x, y);
}

std::optional<double> ask_for_mixed_types(std::span<const float> x, std::span<const float> y) {
  const int n = common_length(x, y);
  const device_buffer device_x(x), device_y(y);
  const cublas_handle handle;
  return dot_of_mixed_types(handle, n, device_x.data(), device_y.data());
}

}  // namespace lab::mixed_precision_dot
