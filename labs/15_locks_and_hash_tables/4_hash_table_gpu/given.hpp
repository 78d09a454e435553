// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: what hash_table_gpu.cu starts from. There is nothing to do in here.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cuda/atomic>
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

// --- step open_addressing -----------------------------------------------------------------------

/// A key in the upper half and its value in the lower one: 64 bits that atomic functions take.
using slot = unsigned long long;
static_assert(sizeof(slot) == 8);

__host__ __device__ constexpr slot pack(std::uint32_t key, std::uint32_t value) {
  return slot{key} << 32 | value;
}
__device__ inline std::uint32_t key_of(slot s) { return static_cast<std::uint32_t>(s >> 32); }
__device__ inline std::uint32_t value_of(slot s) { return static_cast<std::uint32_t>(s); }

// No entry has the key kNone, so slots with this key can be marks.
constexpr slot kEmpty = pack(kNone, kNone);  ///< never used; all its bytes are 0xFF
constexpr slot kErased = pack(kNone, 0);     ///< what was here is gone, and nothing comes here

/// kWindow neighbouring threads of a warp.
using tile = cooperative_groups::thread_block_tile<kWindow>;

/// What is in a slot now, even if other threads change it.
__device__ inline slot look_at(slot& s) {
  return cuda::atomic_ref<slot, cuda::thread_scope_device>(s).load(cuda::memory_order_relaxed);
}

/// The window at which every search for the key begins: neighbouring keys have distant homes.
__device__ inline unsigned home_of(std::uint32_t key, unsigned windows) {
  key ^= key >> 16;
  key *= 0x9E3779B9;  // 2^32 times the golden ratio: all its bits reach the upper ones
  return static_cast<unsigned>(std::uint64_t{key} * windows >> 32);  // 0 … windows - 1
}

/// How far it is from one window of the key's search to the next (double hashing): keys with the
/// same home part soon. Any step visits all windows before it comes back: their number is a prime.
__device__ inline unsigned step_of(std::uint32_t key, unsigned windows) {
  return 1 + static_cast<unsigned>(std::uint64_t{key * 0xC2B2AE35} * (windows - 1) >> 32);
}

__device__ inline unsigned window_after(unsigned window, unsigned step, unsigned windows) {
  return window + step < windows ? window + step : window + step - windows;
}

/// As many windows as `slots` slots need, rounded up to a prime (or 1).
inline unsigned windows_for(std::size_t slots) {
  const auto has_divisor = [](std::size_t n) {
    for (std::size_t d = 2; d * d <= n; ++d)
      if (n % d == 0) return true;
    return false;
  };
  std::size_t windows = (slots + kWindow - 1) / kWindow;
  while (has_divisor(windows)) ++windows;
  return static_cast<unsigned>(windows);
}

/// The slot of the window that is this thread's to look at.
__device__ inline slot& slot_of(const tile& threads, slot* slots, unsigned window) {
  return slots[std::size_t{window} * kWindow + threads.thread_rank()];
}

inline void refuse_wrong(std::size_t slots, std::span<const batch> batches) {
  refuse_if(slots == 0, "hash_table_gpu: a table needs at least one slot");
  refuse_if(slots > kEnd, "hash_table_gpu: at most ", kEnd, " slots are possible");
  const auto has_none = [](const std::vector<std::uint32_t>& numbers) {
    return std::find(numbers.begin(), numbers.end(), kNone) != numbers.end();
  };
  for (const batch& b : batches) {
    const std::size_t values = b.what == operation::insert ? b.keys.size() : 0;
    refuse_if(b.values.size() != values, "hash_table_gpu: the number of values of a batch, ",
              b.values.size(), ", should be ", values, "; only keys to be inserted have values");
    refuse_if(has_none(b.keys) || has_none(b.values), "hash_table_gpu: ", kNone,
              " is neither a key nor a value: it stands for none");
  }
}

}  // namespace lab::hash_table_gpu
