// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: what hash_table_gpu.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hash_table_gpu.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"

namespace lab::hash_table_gpu {

/// An entry as the book's table has it: linked by a pointer.
struct node {
  std::uint32_t key;
  std::uint32_t value;
  node* next;
};

/// The table as it lay on the device, byte for byte: its links are still addresses there.
struct copied {
  std::vector<node> pool;
  std::vector<node*> heads;
};

inline copied copy_to_host(const device_buffer<node>& pool, const device_buffer<node*>& heads) {
  return {pool.to_vector(), heads.to_vector()};
}

/// Given: the same table, linked by numbers. A pointer that is none into t.pool becomes a number
/// that no entry has.
inline table numbered(const copied& t) {
  constexpr std::uint32_t kNowhere = kEnd - 1;
  const auto begin = reinterpret_cast<std::uintptr_t>(t.pool.data());
  const auto number = [&](const node* link) {
    if (link == nullptr) return kEnd;
    const std::uintptr_t bytes = reinterpret_cast<std::uintptr_t>(link) - begin;
    if (bytes % sizeof(node) != 0 || bytes / sizeof(node) >= t.pool.size()) return kNowhere;
    return static_cast<std::uint32_t>(bytes / sizeof(node));
  };
  table out;
  out.heads.reserve(t.heads.size());
  for (const node* head : t.heads) out.heads.push_back(number(head));
  out.pool.reserve(t.pool.size());
  for (const node& n : t.pool) out.pool.push_back({n.key, n.value, number(n.next)});
  return out;
}

// The lock of 15.1. 0 is free.
__device__ inline void acquire(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) __nanosleep(20);
  __threadfence();  // reads below see what the last owner wrote
}
__device__ inline void release(int* lock) {
  __threadfence();  // writes above are seen by the next owner
  atomicExch(lock, 0);
}

}  // namespace lab::hash_table_gpu
