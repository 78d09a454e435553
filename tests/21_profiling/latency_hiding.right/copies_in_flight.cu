// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// sum: the loads in flight are asynchronous copies to shared memory, which need no registers.
// advance: the chains are a parameter pack, and the remainder is left to half as many chains.

#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <utility>

#include "given.hpp"

namespace lab::latency_hiding {
namespace {

/// The index of this thread in the grid, and the number of threads in the grid.
__device__ std::size_t index_in_grid() {
  return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}
__device__ std::size_t threads_of_grid() { return gridDim.x * std::size_t{blockDim.x}; }

/// *total += all values. Needs kInFlight words of dynamic shared memory for each thread: a column
/// that only this thread accesses, so no barrier is needed.
template <unsigned kInFlight>
__global__ void sum_kernel(const unsigned* values, std::size_t n, unsigned* total) {
  extern __shared__ unsigned columns[];
  unsigned* const column = columns + threadIdx.x;
  const std::size_t stride = threads_of_grid();
  unsigned mine = 0;
#pragma unroll 1
  for (std::size_t i = index_in_grid(); i < n; i += kInFlight * stride) {
    const std::size_t left = (n - i - 1) / stride + 1;  // elements of this thread, from i on
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      if (k < left)
        __pipeline_memcpy_async(column + k * blockDim.x, values + i + k * stride, sizeof(unsigned));
    __pipeline_commit();
    __pipeline_wait_prior(0);
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      if (k < left) mine += column[k * blockDim.x];
  }
  add_up(total, mine);
}

template <class... Floats>
__device__ void advance_together(unsigned rounds, Floats&... y) {
#pragma unroll 8
  for (; rounds > 0; --rounds) ((y = fmaf(kScale, y, kShift)), ...);
}

/// The elements 0, stride, 2 * stride, … through all rounds, side by side.
template <std::size_t... k>
__device__ void advance_elements(const float* input, float* output, std::size_t stride,
                                 unsigned rounds, std::index_sequence<k...>) {
  float y[] = {input[k * stride]...};
  advance_together(rounds, y[k]...);
  ((output[k * stride] = y[k]), ...);
}

/// Each element after `rounds` rounds. Elements that are too few for kInFlight chains are left to
/// half as many.
template <unsigned kInFlight>
__device__ void advance_from(std::size_t i, const float* input, float* output, std::size_t n,
                             unsigned rounds) {
  const std::size_t stride = threads_of_grid();
#pragma unroll 1
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride)
    advance_elements(input + i, output + i, stride, rounds, std::make_index_sequence<kInFlight>());
  if constexpr (kInFlight > 1) advance_from<kInFlight / 2>(i, input, output, n, rounds);
}

template <unsigned kInFlight>
__global__ void advance_kernel(const float* input, float* output, std::size_t n, unsigned rounds) {
  advance_from<kInFlight>(index_in_grid(), input, output, n, rounds);
}

__global__ void chase_kernel(const unsigned* next, unsigned hops, unsigned* end) {
  const unsigned* here = next;
  for (; hops > 1; --hops) here = next + *here;
  *end = hops == 0 ? 0 : *here;
}

/// Calls launch(std::integral_constant<unsigned, k>{}), where k is in_flight(version).
template <class Launch>
void for_step(step version, const Launch& launch) {
  if (version == step::one) launch(std::integral_constant<unsigned, 1>{});
  if (version == step::two) launch(std::integral_constant<unsigned, 2>{});
  if (version == step::four) launch(std::integral_constant<unsigned, 4>{});
  if (version == step::eight) launch(std::integral_constant<unsigned, 8>{});
}

}  // namespace

total sum(step version, std::span<const std::uint32_t> values, const launch_shape& shape) {
  return host_part_of_sum(values, shape, [&](const unsigned* in, std::size_t n, unsigned* out) {
    for_step(version, [&](auto k) {
      const std::size_t shared = k * shape.threads * sizeof(unsigned);
      sum_kernel<k><<<shape.blocks, shape.threads, shared>>>(in, n, out);
    });
  });
}

advanced advance(step version, std::span<const float> values, unsigned rounds,
                 const launch_shape& shape) {
  return host_part_of_advance(values, shape, [&](const float* in, float* out, std::size_t n) {
    for_step(version, [&](auto k) {
      advance_kernel<k><<<shape.blocks, shape.threads>>>(in, out, n, rounds);
    });
  });
}

journey chase(std::span<const std::uint32_t> next, unsigned hops) {
  return host_part_of_chase(next, [&](const unsigned* elements, unsigned* end) {
    chase_kernel<<<1, 1>>>(elements, hops, end);
  });
}

occupancy resident_blocks(const block_needs& needs, const multiprocessor& limits) {
  refuse_if(needs.threads == 0, "latency_hiding: a block of 0 threads was asked about");
  const auto units = [](std::size_t value, std::size_t unit) { return (value + unit - 1) / unit; };
  const auto warps = static_cast<unsigned>(units(needs.threads, kLanes));
  occupancy o{limits.blocks, limits.warps / warps, limits.blocks, limits.blocks, limits.blocks};
  if (needs.registers > 0) {
    // In allocation units: how many a warp needs, and how many a part has.
    const std::size_t of_warp = units(std::size_t{kLanes} * needs.registers, limits.register_unit);
    const std::size_t of_part = limits.registers / limits.parts / limits.register_unit;
    o.by_registers = static_cast<unsigned>(of_part / of_warp) * limits.parts / warps;
  }
  const std::size_t of_block = units(needs.shared + limits.shared_reserved, limits.shared_unit);
  if (needs.shared > limits.shared_of_block)
    o.by_shared = 0;
  else if (of_block > 0)
    o.by_shared = static_cast<unsigned>(limits.shared / limits.shared_unit / of_block);
  for (const unsigned limit : {o.by_warps, o.by_registers, o.by_shared})
    o.blocks = std::min(o.blocks, limit);
  o.share = 1.0 * o.blocks * warps / limits.warps;
  return o;
}

answer ask_runtime(subject kernel, unsigned threads, std::size_t dynamic_shared) {
  require_question(threads, dynamic_shared);
  const auto* function = reinterpret_cast<const void*>(sum_kernel<4>);
  if (kernel == subject::many_registers) function = reinterpret_cast<const void*>(many_registers);
  // What is set here also limits the launches of sum(), so it is never less than they need.
  const std::size_t most = std::max<std::size_t>(dynamic_shared, 4 * 1024 * sizeof(unsigned));
  CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(most)));
  cudaFuncAttributes its{};
  CUDA_CHECK(cudaFuncGetAttributes(&its, function));
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, static_cast<int>(threads), dynamic_shared));
  return {{threads, static_cast<unsigned>(its.numRegs), its.sharedSizeBytes + dynamic_shared},
          limits_of_device(),
          static_cast<unsigned>(blocks)};
}

double bytes_in_flight(double warps, unsigned loads, unsigned bytes_of_load) {
  return kLanes * warps * (1.0 * loads * bytes_of_load);
}

double predicted_rate(double in_flight_bytes, double latency_ns, double bandwidth) {
  require_positive("bytes in flight", in_flight_bytes);
  require_positive("a latency", latency_ns);
  require_positive("a bandwidth", bandwidth);
  return std::min(bandwidth, 1e9 * in_flight_bytes / latency_ns);
}

double warps_needed(double bandwidth, double latency_ns, unsigned loads, unsigned bytes_of_load) {
  require_positive("a bandwidth", bandwidth);
  require_positive("a latency", latency_ns);
  refuse_if(loads == 0 || bytes_of_load == 0, "latency_hiding: ", loads, " loads of ",
            bytes_of_load, " bytes bring nothing");
  const double bytes = bandwidth * (latency_ns / 1e9);  // in flight, to reach the bandwidth
  return std::ceil(bytes / bytes_in_flight(1, loads, bytes_of_load));
}

}  // namespace lab::latency_hiding
