// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Blocks draw tickets, and are admitted by number; threads take the lock by atomicExch. Nothing of
// the given host part is used.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::lock {
namespace {

struct door {
  unsigned drawn, admitted;  ///< tickets
  unsigned taken;            ///< the other lock
  tally t;
};

struct by_ticket {
  static __device__ void open(door* d) {
    const unsigned ticket = atomicAdd(&d->drawn, 1U);
    while (atomicAdd(&d->admitted, 0U) != ticket) __nanosleep(50);
    __threadfence();
  }
  static __device__ void close(door* d) {
    __threadfence();
    atomicAdd(&d->admitted, 1U);
  }
};

struct by_fences {
  static __device__ void open(door* d) {
    while (atomicExch(&d->taken, 1U) != 0) __nanosleep(50);
    __threadfence();
  }
  static __device__ void close(door* d) {
    __threadfence();
    atomicAnd(&d->taken, 0U);
  }
};

struct by_orders {
  using number = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
  static __device__ void open(door* d) {
    while (number(d->taken).fetch_or(1U, cuda::memory_order_acquire) != 0) __nanosleep(50);
  }
  static __device__ void close(door* d) {
    number(d->taken).fetch_and(0U, cuda::memory_order_release);
  }
};

template <class Door>
__device__ void count_in(door* d, unsigned amount) {
  Door::open(d);
  enter(&d->t, amount);
  Door::close(d);
}

__global__ void one_per_block(door* d, unsigned times) {
  if (threadIdx.x + 1 == blockDim.x)
    for (unsigned i = 0; i < times; ++i) count_in<by_ticket>(d, blockDim.x);
}

/// The last lane first.
template <class Door>
__global__ void lanes_in_turn(door* d, unsigned times) {
  for (unsigned i = 0; i < times; ++i) {
    for (int turn = warpSize - 1; turn >= 0; --turn) {
      if (static_cast<int>(threadIdx.x) % warpSize == turn) count_in<Door>(d, 1);
      __syncwarp();
    }
  }
}

}  // namespace

result count(step version, const work& job) {
  require_at_most(cudaDevAttrMaxGridDimX, job.blocks, "blocks");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, job.threads, "threads in a block");
  if (job.blocks == 0 || job.threads == 0) return {};
  device_buffer<door> d(1);
  auto* kernel = one_per_block;
  if (version == step::lanes_in_turn) kernel = lanes_in_turn<by_fences>;
  if (version == step::atomic_ref) kernel = lanes_in_turn<by_orders>;
  const float ms = time_kernel([&] { kernel<<<job.blocks, job.threads>>>(d.data(), job.times); },
                               [&] { CUDA_CHECK(cudaMemset(d.data(), 0, sizeof(door))); });
  const tally t = d.to_vector()[0].t;
  return {t.count, t.entries, ms};
}

}  // namespace lab::lock
