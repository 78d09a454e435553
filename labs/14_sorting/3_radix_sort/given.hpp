// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: what radix_sort.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include <algorithm>
#include <cstddef>
#include <cuda/atomic>
#include <string>
#include <type_traits>
#include <utility>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "radix_sort.hpp"

namespace lab::radix_sort {

constexpr unsigned kDigitBits = 8;
constexpr unsigned kDigits = 1U << kDigitBits;
constexpr unsigned kThreads = 512;
constexpr unsigned kBlocks = 2;  // on a multiprocessor: a thread may have 64 registers
constexpr unsigned kWarps = kThreads / 32;
constexpr unsigned kItems = 20;  // keys of a thread in a tile
constexpr unsigned kTile = kThreads * kItems;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;
static_assert(kDigits <= kThreads, "thread d looks after digit d");
static_assert(kItems % 2 == 0 && kTile <= 1U << 16, "two places of a tile fit in a register");

/// The tiles [first, last) of a block.
struct tiles {
  std::size_t first, last;
};
__device__ inline tiles tiles_of_block(std::size_t n) {
  const std::size_t all = (n + kTile - 1) / kTile;
  return {all * blockIdx.x / gridDim.x, all * (blockIdx.x + std::size_t{1}) / gridDim.x};
}

/// What a pass moves from where to where. `values` and `values_out` are null for keys alone.
template <class Key>
struct pass {
  const Key* keys;
  const unsigned* values;
  std::size_t n;
  unsigned first_bit;  ///< of the digit
  Key* keys_out;
  unsigned* values_out;
};

// --- a tile --------------------------------------------------------------------------------------

/// The key that no other one comes after: all of its digits are kDigits - 1.
template <class Key>
__device__ Key last_key() {
  constexpr unsigned kBits = std::is_same_v<Key, unsigned> ? 0xFFFF'FFFF : 0x7FFF'FFFF;
  if constexpr (std::is_same_v<Key, float>)
    return __uint_as_float(kBits);
  else
    return static_cast<Key>(kBits);
}

/// The shared memory of a block that moves a tile.
template <class Key>
struct tile_memory {
  union {                             // one after the other
    unsigned masks[kWarps][kDigits];  ///< of the lanes of a warp with that digit
    Key keys[kTile];
    unsigned values[kTile];
  };
  unsigned position[kWarps][kDigits];  ///< of a warp's next key with that digit in the tile
  std::size_t target[kDigits];         ///< + position in the tile = place in the output
  unsigned of_warps[kWarps];
};

/// The dynamic shared memory of a block: a tile needs more than a kernel has otherwise.
template <class Key>
__device__ tile_memory<Key>& memory_of_block() {
  extern __shared__ std::size_t memory[];
  return *reinterpret_cast<tile_memory<Key>*>(memory);
}

/// Allows a kernel to have that much.
template <class Key, class Kernel>
void allow_memory(Kernel kernel) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(sizeof(tile_memory<Key>))));
}

/// What a thread has of its block's tile. A warp has 32 * kItems neighbouring keys, and this thread
/// every 32nd of them.
template <class Key>
struct tile_of_thread {
  __device__ tile_of_thread(std::size_t n, std::size_t tile)
      : begin(tile * kTile),
        first(threadIdx.x / 32 * (32 * kItems) + threadIdx.x % 32),
        there(n - begin < kTile ? static_cast<unsigned>(n - begin) : kTile) {}

  /// The thread's elements of the tile, of keys or of values; `rest` for those past n. In a full
  /// tile no load has a condition, and the addresses differ by constants, which saves registers.
  template <class T>
  __device__ void load(T (&mine)[kItems], const T* from, T rest) const {
    from += begin + first;
    if (there == kTile) {
#pragma unroll
      for (unsigned j = 0; j < kItems; ++j) mine[j] = from[j * 32];
    } else {
#pragma unroll
      for (unsigned j = 0; j < kItems; ++j) mine[j] = first + j * 32 < there ? from[j * 32] : rest;
    }
  }

  std::size_t begin;
  unsigned first;  ///< of the thread's keys, in the tile
  unsigned there;  ///< keys in the tile
  Key key[kItems];

  /// Where in the tile key j belongs, when it is in order. Two places share a register.
  __device__ unsigned rank(unsigned j) const { return two_ranks[j / 2] >> 16 * (j % 2) & 0xFFFF; }
  __device__ void set_rank(unsigned j, unsigned rank) {
    two_ranks[j / 2] = j % 2 == 0 ? rank : two_ranks[j / 2] | rank << 16;
  }
  unsigned two_ranks[kItems / 2];
};

/// Sets counters to 0, with all threads of the block.
template <unsigned kRows>
__device__ void clear(unsigned (&counters)[kRows][kDigits]) {
  for (unsigned i = threadIdx.x; i < kRows * kDigits; i += kThreads)
    counters[i / kDigits][i % kDigits] = 0;
}

/// What the warps have counted of digit threadIdx.x.
__device__ inline unsigned sum_of_warps(const unsigned (&counters)[kWarps][kDigits]) {
  unsigned sum = 0;
  for (unsigned w = 0; w < kWarps; ++w) sum += counters[w][threadIdx.x];
  return sum;
}

// --- what the blocks of one_sweep tell each other ------------------------------------------------

constexpr unsigned kPasses = 32 / kDigitBits;
constexpr unsigned kWindow = 4;  // tiles that a thread looks back at together

/// What is known of a digit in a tile: 64 bits, which are read and written together.
using tile_word = unsigned long long;
using shared_word = cuda::atomic_ref<tile_word, cuda::thread_scope_device>;
__device__ inline void publish(tile_word* word, tile_word value) {
  shared_word(*word).store(value, cuda::memory_order_relaxed);
}
__device__ inline tile_word published(tile_word* word) {
  return shared_word(*word).load(cuda::memory_order_relaxed);
}

enum class known : unsigned {
  nothing,    ///< a word of zeros says that, and one of an earlier pass
  aggregate,  ///< how many keys of the tile have the digit
  prefix,     ///< where in the output those of the next tile begin
};

/// The pass and the state are in the highest byte, above a count that never gets there.
__device__ inline tile_word pack(unsigned pass, known state, std::size_t count) {
  return tile_word{2 * pass + static_cast<unsigned>(state)} << 56 | count;
}
__device__ inline known state_in(tile_word word, unsigned pass) {
  const unsigned of_passes = static_cast<unsigned>(word >> 56);
  return of_passes > 2 * pass ? static_cast<known>(of_passes - 2 * pass) : known::nothing;
}
__device__ inline std::size_t count_in(tile_word word) { return word & ((1ULL << 56) - 1); }

/// For all passes of a sort of n keys. In one piece, so that one call sets all of it to 0.
struct notes {
  explicit notes(std::size_t n)
      : tiles(static_cast<unsigned>((n + kTile - 1) / kTile)),
        memory(kPasses * (kDigits + 1) + std::size_t{tiles} * kDigits) {}
  tile_word* totals(unsigned pass) { return memory.data() + pass * kDigits; }
  tile_word* next(unsigned pass) { return memory.data() + kPasses * kDigits + pass; }
  tile_word* words() { return memory.data() + kPasses * (kDigits + 1); }

  unsigned tiles;
  device_buffer<tile_word> memory;
};

}  // namespace lab::radix_sort
