// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.5 open_addressing: what open_addressing.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cuda/atomic>
#include <span>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "open_addressing.hpp"

namespace lab::open_addressing {

// --- slots ---------------------------------------------------------------------------------------

/// 64 bits that atomic functions take.
using word = unsigned long long;
static_assert(sizeof(word) == 8);

/// kNone as a Number: no key and no value.
template <class Number>
constexpr Number kNothing = static_cast<Number>(kNone);

/// What a thread sees in a slot.
template <class Number>
struct entry {
  Number key;
  Number value;
};

// A word of two halves: the upper one is a key, and the lower one its value.
__host__ __device__ constexpr word pack(std::uint32_t key, std::uint32_t value) {
  return word{key} << 32 | value;
}
__host__ __device__ constexpr std::uint32_t key_of(word both) {
  return static_cast<std::uint32_t>(both >> 32);
}
__host__ __device__ constexpr std::uint32_t value_of(word both) {
  return static_cast<std::uint32_t>(both);
}

/// What is in a word now, even if other threads change it.
__device__ inline word load(word& w) {
  return cuda::atomic_ref<word, cuda::thread_scope_device>(w).load(cuda::memory_order_relaxed);
}

// --- where a key may be --------------------------------------------------------------------------

/// Slots that are next to each other: 32 or 64 bytes, which the memory delivers together.
constexpr unsigned kWindow = 4;

/// Spreads the bits of a key: those of keys that are neighbours differ everywhere.
__device__ inline std::uint32_t hash_of(std::uint32_t key) {
  return (key ^ key >> 16) * 0x9E37'79B9;  // 2^32 times the golden ratio
}
__device__ inline word hash_of(word key) { return (key ^ key >> 32) * 0x9E37'79B9'7F4A'7C15; }

/// The window at which every search for the key begins: 0 … windows - 1.
__device__ inline unsigned home_of(std::uint32_t key, unsigned windows) {
  return static_cast<unsigned>(std::uint64_t{hash_of(key)} * windows >> 32);
}
__device__ inline unsigned home_of(word key, unsigned windows) {
  return static_cast<unsigned>(__umul64hi(hash_of(key), windows));
}

/// The slot of each window with which the key begins: 0 … kWindow - 1.
template <class Number>
__device__ unsigned first_slot_of(Number key) {
  return static_cast<unsigned>(hash_of(key) >> 8) % kWindow;
}

/// How far it is from one window of the key to the next (double hashing): keys with the same home
/// part soon. Any distance visits all windows before it comes back: their number is a prime.
__device__ inline unsigned stride_of(std::uint32_t key, unsigned windows) {
  return 1 + static_cast<unsigned>(std::uint64_t{key * 0xC2B2'AE35} * (windows - 1) >> 32);
}
__device__ inline unsigned stride_of(word key, unsigned windows) {
  return 1 + static_cast<unsigned>(__umul64hi(key * 0xC2B2'AE3D'27D4'EB4F, windows - 1));
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

// --- the host's side -----------------------------------------------------------------------------

constexpr unsigned kThreads = 256;

/// The kernels of a step.
template <class Slot, class Number = typename Slot::number>
struct kernels {
  void (*insert)(const Number* keys, const Number* values, std::size_t n, Slot* table,
                 unsigned windows, word* without_slot);
  void (*find)(const Number* keys, std::size_t n, const Slot* table, unsigned windows,
               Number* values);
  void (*erase)(const Number* keys, std::size_t n, Slot* table, unsigned windows);
};

inline void refuse_wrong(step version, std::size_t slots, std::span<const batch> batches) {
  refuse_if(slots == 0, "open_addressing: a table needs at least one slot");
  refuse_if(slots > kMostSlots, "open_addressing: at most ", kMostSlots, " slots are possible");
  for (const batch& b : batches) {
    const std::size_t values = b.op == operation::insert ? b.keys.size() : 0;
    refuse_if(b.values.size() != values, "open_addressing: the number of values of a batch, ",
              b.values.size(), ", should be ", values, "; only keys to be inserted have values");
    for (const auto& numbers : {std::span(b.keys), std::span(b.values)})
      for (const std::uint64_t number : numbers)
        refuse_if(number > largest(version), "open_addressing: ", number,
                  " cannot be a key or a value of this step; the largest is ", largest(version));
  }
}

/// As many blocks of kThreads threads as n keys need. With more blocks than the device runs at
/// once, a new one takes the place of each that is done, and none of them waits for the slowest.
inline unsigned blocks_for(std::size_t n) {
  const std::size_t blocks = (n + kThreads - 1) / kThreads;
  require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks");
  return static_cast<unsigned>(blocks);
}

/// Applies one batch to the table. Measures the kernel if `kernel_ms` is not null.
template <class Slot, class Number = typename Slot::number>
std::vector<std::uint64_t> apply_one(const batch& b, const kernels<Slot>& by,
                                     device_buffer<Slot>& table, float* kernel_ms) {
  const std::size_t n = b.keys.size();
  if (n == 0) return {};
  const auto on_device = [](const std::vector<std::uint64_t>& numbers) {
    const std::vector<Number> host(numbers.begin(), numbers.end());
    return device_buffer<Number>(std::span<const Number>(host));
  };
  const auto windows = static_cast<unsigned>(table.size() / kWindow);
  const device_buffer<Number> keys = on_device(b.keys), values = on_device(b.values);
  device_buffer<Number> found(b.op == operation::find ? n : 0);
  device_buffer<word> without_slot(1);
  const auto count_anew = [&] {
    CUDA_CHECK(cudaMemset(without_slot.data(), 0, without_slot.size_bytes()));
  };
  const auto launch = [&] {
    const auto insert = by.insert;
    const auto find = by.find;
    const auto erase = by.erase;
    switch (b.op) {
      case operation::insert:
        insert<<<blocks_for(n), kThreads>>>(keys.data(), values.data(), n, table.data(), windows,
                                            without_slot.data());
        break;
      case operation::find:
        find<<<blocks_for(n), kThreads>>>(keys.data(), n, table.data(), windows, found.data());
        break;
      case operation::erase:
        erase<<<blocks_for(n), kThreads>>>(keys.data(), n, table.data(), windows);
        break;
    }
  };
  count_anew();
  if (kernel_ms == nullptr) {
    launch();
    CUDA_CHECK(cudaGetLastError());
  } else if (b.op == operation::find) {
    *kernel_ms = time_kernel(launch);
  } else {
    // The table as it is now, to which a program applies the batch many times.
    device_buffer<Slot> now(table.size());
    const auto copy = [](device_buffer<Slot>& to, const device_buffer<Slot>& from) {
      CUDA_CHECK(cudaMemcpy(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToDevice));
    };
    copy(now, table);
    *kernel_ms = time_kernel(launch, [&] {
      copy(table, now);
      count_anew();
    });
  }
  const word lost = without_slot.to_vector()[0];
  refuse_if(lost != 0, "open_addressing: the table of ", table.size(),
            " slots is full; keys that found none: ", lost,
            ". Give it more slots; those of erased keys stay in use");
  std::vector<std::uint64_t> answers;
  for (const Number value : found.to_vector())
    answers.push_back(value == kNothing<Number> ? kNone : value);
  return answers;
}

}  // namespace lab::open_addressing
