// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: how much must be in flight to keep the hardware busy.
// Edit:  this file, from TODO(1) to TODO(7). latency_hiding.hpp has the contract.
// Run:   scripts/lab run 21.2 -- --step one        (then two, four and eight)
// Test:  scripts/lab test 21.2
// Hints: scripts/lab hint 21.2                  Chapter: docs/21_profiling.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::latency_hiding {
namespace {

// --- kernels with a chosen amount of work in flight ----------------------------------------------
// `#pragma unroll 1` before a loop keeps the compiler from merging its iterations: then kInFlight
// is the number in flight. A loop over k from 0 to kInFlight gets `#pragma unroll`: its array is
// then in registers.

/// *total += all values. A thread has the elements i, i + stride, i + 2 * stride, …
template <unsigned kInFlight>
__global__ void sum_kernel(const unsigned* values, std::size_t n, unsigned* total) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  unsigned mine = 0;
  // TODO(1): while at least kInFlight elements are left, load that many (into an array), and only
  //          then add them. After that, one at a time. Invariant: each element is loaded once.
  // BEGIN SOLUTION
#pragma unroll 1
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    unsigned loaded[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) loaded[k] = values[i + k * stride];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) mine += loaded[k];
  }
#pragma unroll 1
  for (; i < n; i += stride) mine += values[i];
  // END SOLUTION
  add_up(total, mine);  // outside the loop: all lanes take part
}

/// Each element after `rounds` rounds.
template <unsigned kInFlight>
__global__ void advance_kernel(const float* input, float* output, std::size_t n, unsigned rounds) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // TODO(2): the same with chains of fmaf(): all kInFlight elements go through a round before any
  //          of them goes through the next one. The loop over rounds may be unrolled.
  // BEGIN SOLUTION
#pragma unroll 1
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    float y[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) y[k] = input[i + k * stride];
#pragma unroll 16
    for (unsigned round = 0; round < rounds; ++round)
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) y[k] = fmaf(kScale, y[k], kShift);
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) output[i + k * stride] = y[k];
  }
#pragma unroll 1
  for (; i < n; i += stride) {
    float y = input[i];
    for (unsigned round = 0; round < rounds; ++round) y = fmaf(kScale, y, kShift);
    output[i] = y;
  }
  // END SOLUTION
}

__global__ void chase_kernel(const unsigned* next, unsigned hops, unsigned* end) {
  // TODO(3): a single thread follows the hops, starting at element 0.
  // BEGIN SOLUTION
  unsigned here = 0;
  for (unsigned i = 0; i < hops; ++i) here = next[here];
  *end = here;
  // END SOLUTION
}

template <unsigned kInFlight>
void launch_sum(const launch_shape& shape, const unsigned* values, std::size_t n, unsigned* total) {
  // TODO(1): launch sum_kernel<kInFlight> in exactly this shape.
  // BEGIN SOLUTION
  // STUB: throw not_written("the sum", 1);
  sum_kernel<kInFlight><<<shape.blocks, shape.threads>>>(values, n, total);
  // END SOLUTION
}

template <unsigned kInFlight>
void launch_advance(const launch_shape& shape, const float* input, float* output, std::size_t n,
                    unsigned rounds) {
  // TODO(2): launch advance_kernel<kInFlight> in exactly this shape.
  // BEGIN SOLUTION
  // STUB: throw not_written("the chains", 2);
  advance_kernel<kInFlight><<<shape.blocks, shape.threads>>>(input, output, n, rounds);
  // END SOLUTION
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
    // TODO(3): launch chase_kernel.
    // BEGIN SOLUTION
    // STUB: throw not_written("the chase", 3);
    chase_kernel<<<1, 1>>>(elements, hops, end);
    // END SOLUTION
  });
}

// --- occupancy -----------------------------------------------------------------------------------

occupancy resident_blocks(const block_needs& needs, const multiprocessor& limits) {
  refuse_if(needs.threads == 0, "latency_hiding: a block of 0 threads was asked about");
  occupancy o;
  // TODO(4): the four limits of the contract, and the smallest of them.
  // BEGIN SOLUTION
  // STUB: throw not_written("the occupancy", 4);
  const auto rounded_up = [](auto value, auto unit) { return (value + unit - 1) / unit * unit; };
  const unsigned warps = needs.threads / kLanes + (needs.threads % kLanes != 0 ? 1 : 0);
  o.by_blocks = limits.blocks;
  o.by_warps = limits.warps / warps;

  o.by_registers = limits.blocks;
  if (needs.registers > 0) {
    const std::size_t of_warp =
        rounded_up(std::size_t{needs.registers} * kLanes, limits.register_unit);
    const auto warps_of_part = static_cast<unsigned>(limits.registers / limits.parts / of_warp);
    o.by_registers = limits.parts * warps_of_part / warps;
  }

  const std::size_t of_block =
      rounded_up(needs.shared + limits.shared_reserved, limits.shared_unit);
  if (needs.shared > limits.shared_of_block)
    o.by_shared = 0;
  else if (of_block == 0)
    o.by_shared = limits.blocks;
  else
    o.by_shared = static_cast<unsigned>(limits.shared / of_block);

  o.blocks = std::min({o.by_blocks, o.by_warps, o.by_registers, o.by_shared});
  o.share = static_cast<double>(o.blocks * warps) / limits.warps;
  // END SOLUTION
  return o;
}

answer ask_runtime(subject kernel, unsigned threads, std::size_t dynamic_shared) {
  require_question(threads, dynamic_shared);
  answer a;
  a.limits = limits_of_device();
  const void* const function = kernel == subject::many_registers
                                   ? reinterpret_cast<const void*>(many_registers)
                                   : reinterpret_cast<const void*>(sum_kernel<4>);
  // TODO(5): allow the kernel its dynamic shared memory, get its attributes (its needs are numRegs
  //          and sharedSizeBytes), and query how many blocks can be resident.
  // BEGIN SOLUTION
  // STUB: throw not_written("the question", 5);
  CUDA_CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(dynamic_shared)));
  cudaFuncAttributes attributes{};
  CUDA_CHECK(cudaFuncGetAttributes(&attributes, function));
  a.needs = {threads, static_cast<unsigned>(attributes.numRegs),
             attributes.sharedSizeBytes + dynamic_shared};
  int blocks = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function, static_cast<int>(threads), dynamic_shared));
  a.blocks = static_cast<unsigned>(blocks);
  // END SOLUTION
  return a;
}

// --- Little's law --------------------------------------------------------------------------------

double bytes_in_flight(double warps, unsigned loads, unsigned bytes_of_load) {
  // TODO(6): every lane of every warp issues its own loads.
  // BEGIN SOLUTION
  // STUB: throw not_written("Little's law", 6);
  return warps * kLanes * loads * bytes_of_load;
  // END SOLUTION
}

double predicted_rate(double in_flight_bytes, double latency_ns, double bandwidth) {
  require_positive("bytes in flight", in_flight_bytes);
  require_positive("a latency", latency_ns);
  require_positive("a bandwidth", bandwidth);
  // TODO(6): bytes per second, while the latency is in nanoseconds.
  // BEGIN SOLUTION
  // STUB: throw not_written("Little's law", 6);
  return std::min(in_flight_bytes / (latency_ns * 1e-9), bandwidth);
  // END SOLUTION
}

double warps_needed(double bandwidth, double latency_ns, unsigned loads, unsigned bytes_of_load) {
  require_positive("a bandwidth", bandwidth);
  require_positive("a latency", latency_ns);
  refuse_if(loads == 0 || bytes_of_load == 0, "latency_hiding: ", loads, " loads of ",
            bytes_of_load, " bytes bring nothing");
  // TODO(7): a whole number of warps, such that one fewer would not be enough.
  // BEGIN SOLUTION
  // STUB: throw not_written("the warps that are needed", 7);
  return std::ceil(bandwidth * latency_ns * 1e-9 / bytes_in_flight(1, loads, bytes_of_load));
  // END SOLUTION
}

}  // namespace lab::latency_hiding
