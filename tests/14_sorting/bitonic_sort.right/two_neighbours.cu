// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread loads and stores two neighbours of the tile, so arrays of two elements are not exchanged
// between threads. Of a level with more stages than groups of four, those left over come first.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::bitonic_sort {
namespace {

struct free_it {
  void operator()(void* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};
using owned = std::unique_ptr<unsigned, free_it>;
owned room_for(std::span<const std::uint32_t> from) {
  void* memory = nullptr;
  if (!from.empty()) CUDA_CHECK(cudaMalloc(&memory, from.size_bytes()));
  return owned(static_cast<unsigned*>(memory));
}

/// Of a level: the bit of a position that says whether its run falls. In the last level none does,
/// or all do.
struct level_of {
  unsigned number, mask;
  bool falling;
  __host__ __device__ level_of(const arrays_on_device& data, unsigned level)
      : number(level),
        mask(level < 32 && 1U << level < data.length ? 1U << level : 0),
        falling(mask == 0 && data.descending) {}
  __device__ bool falls(unsigned position) const { return falling || (position & mask) != 0; }
};

__device__ bool out_of_order(unsigned left, unsigned right, bool falling) {
  return left != right && (left < right) == falling;
}

/// Keys alone, or pairs, as elements of one array.
template <bool kPairs>
struct element;
template <>
struct element<false> {
  using type = unsigned;
  __device__ static type load(const arrays_on_device& from, std::size_t i) { return from.keys[i]; }
  __device__ static void store(const arrays_on_device& to, std::size_t i, type key) {
    to.keys[i] = key;
  }
  __device__ static unsigned key(type one) { return one; }
};
template <>
struct element<true> {
  using type = uint2;
  __device__ static type load(const arrays_on_device& from, std::size_t i) {
    return {from.keys[i], from.values[i]};
  }
  __device__ static void store(const arrays_on_device& to, std::size_t i, type both) {
    to.keys[i] = both.x;
    to.values[i] = both.y;
  }
  __device__ static unsigned key(type both) { return both.x; }
};

// --- shared_tiles --------------------------------------------------------------------------------

template <bool kPairs>
__global__ void __launch_bounds__(kThreads)
    tile_of_levels(arrays_on_device data, unsigned first, unsigned last) {
  using one = element<kPairs>;
  __shared__ typename one::type tile[kTile];
  const unsigned t = threadIdx.x;
  const std::size_t begin = std::size_t{blockIdx.x} * kTile;
  // Two neighbours for each thread. Arrays have an even number of elements.
  const bool exists = begin + 2 * t < data.n;
  if (exists) {
    tile[2 * t] = one::load(data, begin + 2 * t);
    tile[2 * t + 1] = one::load(data, begin + 2 * t + 1);
  }
  for (unsigned number = first; number <= last; ++number) {
    const level_of level(data, number);
    for (unsigned distance = min(1U << (number - 1), kTile / 2); distance > 0; distance /= 2) {
      __syncthreads();
      const unsigned left = 2 * t - (t & (distance - 1)), right = left + distance;
      if (begin + right < data.n) {
        const auto a = tile[left], b = tile[right];
        if (out_of_order(one::key(a), one::key(b),
                         level.falls(static_cast<unsigned>(begin + left)))) {
          tile[left] = b;
          tile[right] = a;
        }
      }
    }
  }
  __syncthreads();
  if (exists) {
    one::store(data, begin + 2 * t, tile[2 * t]);
    one::store(data, begin + 2 * t + 1, tile[2 * t + 1]);
  }
}

template <bool kPairs>
__global__ void __launch_bounds__(kThreads)
    far_stage(arrays_on_device data, unsigned number, unsigned bit) {
  const std::size_t comparator = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (comparator >= data.n / 2) return;
  const std::size_t left = with_zeros(comparator, bit, 1), right = left + (std::size_t{1} << bit);
  const unsigned a = data.keys[left], b = data.keys[right];
  if (!out_of_order(a, b, level_of(data, number).falls(static_cast<unsigned>(left)))) return;
  data.keys[left] = b;
  data.keys[right] = a;
  if constexpr (kPairs) {
    const unsigned value = data.values[left];
    data.values[left] = data.values[right];
    data.values[right] = value;
  }
}

template <bool kPairs>
unsigned sort_tiles(const arrays_on_device& data, unsigned levels) {
  unsigned launches = 0;
  const auto launched = [&launches] {
    CUDA_CHECK(cudaGetLastError());
    ++launches;
  };
  const unsigned blocks = blocks_for(data.n, kTile), halves = blocks_for(data.n / 2, kThreads);
  tile_of_levels<kPairs><<<blocks, kThreads>>>(data, 1, std::min(kTileBits, levels));
  launched();
  for (unsigned level = kTileBits + 1; level <= levels; ++level) {
    for (unsigned bit = level; bit > kTileBits; --bit) {
      far_stage<kPairs><<<halves, kThreads>>>(data, level, bit - 1);
      launched();
    }
    tile_of_levels<kPairs><<<blocks, kThreads>>>(data, level, level);
    launched();
  }
  return launches;
}

// --- registers: given.hpp has the tile, and what a thread holds ----------------------------------

/// The stages 3, …, 4 - kStages among what a thread holds.
template <bool kPairs, class Falls>
__device__ void stages(held& mine, unsigned how_many, const Falls& falls) {
#pragma unroll
  for (unsigned done = 0; done < kBits; ++done) {
    if (done >= how_many) break;
    const unsigned bit = kBits - 1 - done;
#pragma unroll
    for (unsigned c = 0; c < kHeld / 2; ++c) {
      const unsigned i = with_zeros(c, bit, 1), j = i + (1U << bit);
      const unsigned a = mine.key[i], b = mine.key[j];
      const bool swap = out_of_order(a, b, falls(i));
      mine.key[i] = swap ? b : a;
      mine.key[j] = swap ? a : b;
      if constexpr (kPairs) {
        const unsigned u = mine.value[i], v = mine.value[j];
        mine.value[i] = swap ? v : u;
        mine.value[j] = swap ? u : v;
      }
    }
  }
}

/// The stages left - 1, …, 0 of a level above kBits. What is left over from groups of four comes
/// first: then the last group begins at bit 0 in any case.
template <bool kPairs>
__device__ void stages_of_tile(wide_tile& tile, std::size_t begin, const level_of& level,
                               unsigned left) {
  while (left > 0) {
    const unsigned now = left % kBits == 0 ? kBits : left % kBits;
    const unsigned low = left - kBits;  // left is at least kBits: after one group, a multiple of it
    const unsigned position = with_zeros(threadIdx.x, low, kBits);
    const bool falling = level.falls(static_cast<unsigned>(begin) + position);
    __syncthreads();
    held mine = taken<kPairs>(tile, position, low);
    stages<kPairs>(mine, now, [falling](unsigned) { return falling; });
    put<kPairs>(mine, tile, position, low);
    left -= now;
  }
}

template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads) wide_levels(arrays_on_device data, unsigned last) {
  __shared__ wide_tile tile;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  load_tile<kPairs>(tile, data, begin);
  __syncthreads();
  const unsigned position = threadIdx.x * kHeld;
  held mine = taken<kPairs>(tile, position, 0);
#pragma unroll
  for (unsigned number = 1; number <= kBits; ++number) {
    if (number > last) break;
    const level_of level(data, number);
#pragma unroll
    for (unsigned bit = kBits; bit-- > 0;) {
      if (bit >= number) continue;
#pragma unroll
      for (unsigned c = 0; c < kHeld / 2; ++c) {
        const unsigned i = with_zeros(c, bit, 1), j = i + (1U << bit);
        const unsigned a = mine.key[i], b = mine.key[j];
        const bool swap =
            out_of_order(a, b, level.falls(static_cast<unsigned>(begin) + position + i));
        mine.key[i] = swap ? b : a;
        mine.key[j] = swap ? a : b;
        if constexpr (kPairs) {
          const unsigned u = mine.value[i], v = mine.value[j];
          mine.value[i] = swap ? v : u;
          mine.value[j] = swap ? u : v;
        }
      }
    }
  }
  put<kPairs>(mine, tile, position, 0);
  for (unsigned number = kBits + 1; number <= last; ++number)
    stages_of_tile<kPairs>(tile, begin, level_of(data, number), number);
  __syncthreads();
  store_tile<kPairs>(tile, data, begin);
}

template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads) wide_merge(arrays_on_device data, unsigned number) {
  __shared__ wide_tile tile;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  load_tile<kPairs>(tile, data, begin);
  stages_of_tile<kPairs>(tile, begin, level_of(data, number), kWideBits);
  __syncthreads();
  store_tile<kPairs>(tile, data, begin);
}

template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads)
    long_stages(arrays_on_device data, unsigned number, unsigned left, unsigned how_many) {
  const unsigned low = left - kBits;
  const std::size_t thread = std::size_t{blockIdx.x} * kWideThreads + threadIdx.x;
  const std::size_t position = with_zeros(thread, low, kBits);
  if (position >= data.n) return;
  const bool falling = level_of(data, number).falls(static_cast<unsigned>(position));
  held mine = taken<kPairs>(data, position, low);
  stages<kPairs>(mine, how_many, [falling](unsigned) { return falling; });
  put<kPairs>(mine, data, position, low);
}

template <bool kPairs>
unsigned sort_registers(const arrays_on_device& data, unsigned levels) {
  unsigned launches = 1;
  const unsigned blocks = blocks_for(data.n, kWide);
  wide_levels<kPairs><<<blocks, kWideThreads>>>(data, std::min(levels, kWideBits));
  CUDA_CHECK(cudaGetLastError());
  for (unsigned level = kWideBits + 1; level <= levels; ++level) {
    for (unsigned left = level; left > kWideBits;) {  // until just a tile's 12 stages remain
      const unsigned now = (left - 1) % kBits + 1;
      long_stages<kPairs><<<blocks, kWideThreads>>>(data, level, left, now);
      CUDA_CHECK(cudaGetLastError());
      left -= now;
      ++launches;
    }
    wide_merge<kPairs><<<blocks, kWideThreads>>>(data, level);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
  }
  return launches;
}

}  // namespace

result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays, direction order) {
  require_network_input("bitonic_sort", keys, values, arrays);
  result out;
  out.sorted.keys.assign(keys.begin(), keys.end());
  out.sorted.values.assign(values.begin(), values.end());
  if (keys.empty() || arrays.length == 1) return out;
  const owned device_keys = room_for(keys), device_values = room_for(values);
  const arrays_on_device data{device_keys.get(), device_values.get(), keys.size(),
                              static_cast<unsigned>(arrays.length), order == direction::descending};
  const auto levels = static_cast<unsigned>(std::bit_width(arrays.length) - 1);
  const bool pairs = !values.empty(), tiles = version == step::shared_tiles;
  out.kernel_ms = time_kernel(
      [&] {
        out.launches = tiles ? (pairs ? sort_tiles<true> : sort_tiles<false>)(data, levels)
                             : (pairs ? sort_registers<true> : sort_registers<false>)(data, levels);
      },
      [&] {
        CUDA_CHECK(cudaMemcpy(data.keys, keys.data(), keys.size_bytes(), cudaMemcpyHostToDevice));
        if (pairs)
          CUDA_CHECK(
              cudaMemcpy(data.values, values.data(), values.size_bytes(), cudaMemcpyHostToDevice));
      });
  CUDA_CHECK(
      cudaMemcpy(out.sorted.keys.data(), data.keys, keys.size_bytes(), cudaMemcpyDeviceToHost));
  if (pairs)
    CUDA_CHECK(cudaMemcpy(out.sorted.values.data(), data.values, values.size_bytes(),
                          cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::bitonic_sort
