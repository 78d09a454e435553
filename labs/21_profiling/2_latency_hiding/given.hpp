// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: what latency_hiding.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "latency_hiding.hpp"

namespace lab::latency_hiding {

constexpr unsigned kLanes = 32;  // of a warp

/// *total += what all lanes of this warp have. All 32 call it together.
__device__ inline void add_up(unsigned* total, unsigned mine) {
  for (unsigned distance = kLanes / 2; distance > 0; distance /= 2)
    mine += __shfl_xor_sync(0xFFFF'FFFF, mine, distance);
  if (threadIdx.x % kLanes == 0) atomicAdd(total, mine);
}

/// Keeps 64 floats in registers, each of which depends on all: for ask_runtime(). Never launched.
static __global__ void many_registers(const float* input, float* output) {
  constexpr int kMany = 64;
  float y[kMany];
#pragma unroll
  for (int k = 0; k < kMany; ++k) y[k] = input[threadIdx.x * kMany + k];
  for (int round = 0; round < kMany; ++round)
#pragma unroll
    for (int k = 0; k < kMany; ++k) y[k] = fmaf(y[k], y[(k + 1) % kMany], y[(k + 7) % kMany]);
#pragma unroll
  for (int k = 0; k < kMany; ++k) output[threadIdx.x * kMany + k] = y[k];
}

inline void require_shape(const launch_shape& shape) {
  refuse_if(shape.blocks == 0, "latency_hiding: a launch of 0 blocks was asked for");
  refuse_if(shape.threads == 0 || shape.threads % kLanes != 0, "latency_hiding: blocks of ",
            shape.threads, " threads were asked for; take a multiple of 32");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, shape.threads, "threads in a block");
  require_at_most(cudaDevAttrMaxGridDimX, shape.blocks, "blocks");
}

/// sum(), where launch(values, n, total) launches the kernel.
template <class Launch>
total host_part_of_sum(std::span<const std::uint32_t> values, const launch_shape& shape,
                       const Launch& launch) {
  require_shape(shape);
  if (values.empty()) return {};
  const device_buffer<std::uint32_t> input(values);
  device_buffer<std::uint32_t> output(1);
  const auto clear = [&] { CUDA_CHECK(cudaMemset(output.data(), 0, sizeof(std::uint32_t))); };
  const float ms = time_kernel([&] { launch(input.data(), input.size(), output.data()); }, clear);
  return {output.to_vector()[0], ms};
}

/// advance(), where launch(input, output, n) launches the kernel.
template <class Launch>
advanced host_part_of_advance(std::span<const float> values, const launch_shape& shape,
                              const Launch& launch) {
  require_shape(shape);
  if (values.empty()) return {};
  const device_buffer<float> input(values);
  device_buffer<float> output(values.size());
  const float ms = time_kernel([&] { launch(input.data(), output.data(), input.size()); });
  return {output.to_vector(), ms};
}

/// chase(), where launch(next, hops, end) launches the kernel.
template <class Launch>
journey host_part_of_chase(std::span<const std::uint32_t> next, const Launch& launch) {
  refuse_if(next.empty(), "latency_hiding: there is no element to begin at");
  for (const std::uint32_t each : next)
    refuse_if(each >= next.size(), "latency_hiding: ", each, " is no index of ", next.size(),
              " elements");
  const device_buffer<std::uint32_t> input(next);
  device_buffer<std::uint32_t> output(1);
  const float ms = time_kernel([&] { launch(input.data(), output.data()); });
  return {output.to_vector()[0], ms};
}

/// What a multiprocessor of the current device has.
inline multiprocessor limits_of_device() {
  multiprocessor m;
  m.warps = device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / kLanes;
  m.blocks = device_limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  m.registers = device_limit(cudaDevAttrMaxRegistersPerMultiprocessor);
  m.shared = device_limit(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  m.shared_of_block = device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  m.shared_reserved = device_limit(cudaDevAttrReservedSharedMemoryPerBlock);
  // CUDA does not say in which units it gives out shared memory: see cuda_occupancy.h.
  m.shared_unit = device_limit(cudaDevAttrComputeCapabilityMajor) >= 8 ? 128 : 256;
  return m;
}

inline void require_question(unsigned threads, std::size_t dynamic_shared) {
  refuse_if(threads == 0, "latency_hiding: a block of 0 threads was asked about");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, threads, "threads in a block");
  require_at_most(cudaDevAttrMaxSharedMemoryPerBlockOptin, dynamic_shared,
                  "bytes of shared memory");
}

inline void require_positive(const char* name, double value) {
  refuse_if(!(value > 0 && std::isfinite(value)), "latency_hiding: ", name, " of ", value,
            "; it must be positive");
}

}  // namespace lab::latency_hiding
