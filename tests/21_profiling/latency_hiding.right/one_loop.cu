// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// No second loop for the remainder: a missing element counts as 0.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::latency_hiding {
namespace {

// `#pragma unroll 1` before a loop keeps the compiler from joining its rounds: then kInFlight says
// what is in flight. A loop over k from 0 to kInFlight gets `#pragma unroll`: its array is then in
// registers.

/// *total += all values. A thread has the elements i, i + stride, i + 2 * stride, …
template <unsigned kInFlight>
__global__ void sum_kernel(const unsigned* values, std::size_t n, unsigned* total) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned mine = 0;
  // No second loop: a missing element counts as 0. Each of the chains has its own sum.
  unsigned sums[kInFlight] = {};
#pragma unroll 1
  for (; i < n; i += kInFlight * stride) {
    unsigned loaded[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      loaded[k] = i + k * stride < n ? __ldg(values + i + k * stride) : 0;
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += loaded[k];
  }
  for (const unsigned each : sums) mine += each;
  add_up(total, mine);  // outside the loop: all lanes take part
}

/// Each element after `rounds` rounds.
template <unsigned kInFlight>
__global__ void advance_kernel(const float* input, float* output, std::size_t n, unsigned rounds) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (; i < n; i += kInFlight * stride) {
    float y[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) y[k] = i + k * stride < n ? input[i + k * stride] : 0;
    for (unsigned r = 0; r < rounds; ++r)
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) y[k] = fmaf(kScale, y[k], kShift);
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      if (i + k * stride < n) output[i + k * stride] = y[k];
  }
}

__global__ void chase_kernel(const unsigned* next, unsigned hops, unsigned* end) {
  unsigned at = 0;
  for (unsigned h = 0; h < hops; ++h) at = next[at];
  *end = at;
}

template <unsigned kInFlight>
void launch_sum(const launch_shape& shape, const unsigned* values, std::size_t n, unsigned* total) {
  sum_kernel<kInFlight><<<shape.blocks, shape.threads>>>(values, n, total);
  CUDA_CHECK(cudaGetLastError());
}

template <unsigned kInFlight>
void launch_advance(const launch_shape& shape, const float* input, float* output, std::size_t n,
                    unsigned rounds) {
  advance_kernel<kInFlight><<<shape.blocks, shape.threads>>>(input, output, n, rounds);
  CUDA_CHECK(cudaGetLastError());
}

}  // namespace

total sum(step version, std::span<const std::uint32_t> values, const launch_shape& shape) {
  return host_part_of_sum(values, shape, [&](const unsigned* in, std::size_t n, unsigned* out) {
    if (version == step::one) launch_sum<1>(shape, in, n, out);
    if (version == step::two) launch_sum<2>(shape, in, n, out);
    if (version == step::four) launch_sum<4>(shape, in, n, out);
    if (version == step::eight) launch_sum<8>(shape, in, n, out);
  });
}

advanced advance(step version, std::span<const float> values, unsigned rounds,
                 const launch_shape& shape) {
  return host_part_of_advance(values, shape, [&](const float* in, float* out, std::size_t n) {
    if (version == step::one) launch_advance<1>(shape, in, out, n, rounds);
    if (version == step::two) launch_advance<2>(shape, in, out, n, rounds);
    if (version == step::four) launch_advance<4>(shape, in, out, n, rounds);
    if (version == step::eight) launch_advance<8>(shape, in, out, n, rounds);
  });
}

journey chase(std::span<const std::uint32_t> next, unsigned hops) {
  return host_part_of_chase(next, [&](const unsigned* elements, unsigned* end) {
    chase_kernel<<<1, 1>>>(elements, hops, end);
    CUDA_CHECK(cudaGetLastError());
  });
}

occupancy resident_blocks(const block_needs& needs, const multiprocessor& limits) {
  refuse_if(needs.threads == 0, "latency_hiding: a block of 0 threads was asked about");
  occupancy o;
  const unsigned warps = needs.threads / kLanes + (needs.threads % kLanes == 0 ? 0 : 1);
  o.by_blocks = limits.blocks;
  o.by_warps = limits.warps / warps;
  if (needs.registers == 0) {
    o.by_registers = limits.blocks;
  } else {
    const std::size_t of_warp = (std::size_t{needs.registers} * kLanes + limits.register_unit - 1) /
                                limits.register_unit * limits.register_unit;
    const auto of_part = static_cast<unsigned>(limits.registers / limits.parts / of_warp);
    o.by_registers = of_part * limits.parts / warps;
  }
  const std::size_t sum = needs.shared + limits.shared_reserved;
  const std::size_t shared =
      (sum + limits.shared_unit - 1) / limits.shared_unit * limits.shared_unit;
  if (needs.shared > limits.shared_of_block)
    o.by_shared = 0;
  else if (sum == 0)
    o.by_shared = limits.blocks;
  else
    o.by_shared = static_cast<unsigned>(limits.shared / shared);
  o.blocks = std::min({o.by_blocks, o.by_warps, o.by_registers, o.by_shared});
  o.share = static_cast<double>(o.blocks) * warps / limits.warps;
  return o;
}

answer ask_runtime(subject kernel, unsigned threads, std::size_t dynamic_shared) {
  require_question(threads, dynamic_shared);
  answer a;
  a.limits = limits_of_device();
  const void* const function = kernel == subject::many_registers
                                   ? reinterpret_cast<const void*>(many_registers)
                                   : reinterpret_cast<const void*>(sum_kernel<4>);
  CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(dynamic_shared)));
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, function));
  a.needs.threads = threads;
  a.needs.registers = static_cast<unsigned>(attributes.numRegs);
  a.needs.shared = attributes.sharedSizeBytes + dynamic_shared;
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, static_cast<int>(threads), dynamic_shared));
  a.blocks = static_cast<unsigned>(blocks);
  return a;
}

double bytes_in_flight(double warps, unsigned loads, unsigned bytes_of_load) {
  return warps * kLanes * loads * bytes_of_load;
}

double predicted_rate(double in_flight_bytes, double latency_ns, double bandwidth) {
  require_positive("bytes in flight", in_flight_bytes);
  require_positive("a latency", latency_ns);
  require_positive("a bandwidth", bandwidth);
  return std::min(bandwidth, in_flight_bytes / (latency_ns * 1e-9));
}

double warps_needed(double bandwidth, double latency_ns, unsigned loads, unsigned bytes_of_load) {
  require_positive("a bandwidth", bandwidth);
  require_positive("a latency", latency_ns);
  refuse_if(loads == 0 || bytes_of_load == 0, "latency_hiding: ", loads, " loads of ",
            bytes_of_load, " bytes bring nothing");
  return std::ceil(bandwidth * latency_ns / 1e9 / bytes_in_flight(1, loads, bytes_of_load));
}

}  // namespace lab::latency_hiding
