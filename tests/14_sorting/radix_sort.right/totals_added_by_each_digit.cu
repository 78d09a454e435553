// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Each thread of the first tile adds up the totals of all smaller digits, so it reads many
// counters. The keys go from registers to the output. Thrust sorts in memory of cudaMalloc.

#include <cuda_runtime.h>
#include <thrust/execution_policy.h>

#include "given.hpp"

namespace lab::radix_sort {
namespace {

// --- the order of keys ---------------------------------------------------------------------------

__host__ __device__ unsigned bits_in_order(unsigned key) { return key; }
__host__ __device__ unsigned bits_in_order(int key) {
  return static_cast<unsigned>(key) ^ 0x8000'0000U;
}
__device__ unsigned bits_in_order(float key) {
  const unsigned bits = __float_as_uint(key);
  return bits >> 31 != 0 ? ~bits : bits | 0x8000'0000U;
}

template <class Key>
__device__ unsigned digit_in(Key key, unsigned first_bit) {
  return bits_in_order(key) >> first_bit & 255U;
}

// --- thrust --------------------------------------------------------------------------------------

/// Floats as ints, whose order is that of the bits; the same function is the way back.
struct fold {
  __device__ int operator()(int bits) const { return bits < 0 ? bits ^ 0x7FFF'FFFF : bits; }
};

template <class Number>
void sort_pointers(Number* keys, unsigned* values, std::size_t n) {
  if (values == nullptr)
    thrust::sort(thrust::device, keys, keys + n);
  else
    thrust::stable_sort_by_key(thrust::device, keys, keys + n, values);
}
void sort_pointers(float* keys, unsigned* values, std::size_t n) {
  int* const bits = reinterpret_cast<int*>(keys);
  thrust::transform(thrust::device, bits, bits + n, bits, fold{});
  sort_pointers(bits, values, n);
  thrust::transform(thrust::device, bits, bits + n, bits, fold{});
}

template <class Key>
result<Key> by_thrust(std::span<const Key> keys, std::span<const std::uint32_t> values) try {
  result<Key> out{{keys.begin(), keys.end()}, {values.begin(), values.end()}};
  device_buffer<Key> k(keys.size());
  device_buffer<unsigned> v(values.size());
  out.kernel_ms = time_kernel([&] { sort_pointers(k.data(), v.data(), keys.size()); },
                              [&] {
                                k.copy_from(keys);
                                v.copy_from(values);
                              });
  k.copy_to(out.keys);
  v.copy_to(out.values);
  return out;
} catch (const thrust::system_error& error) {
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

// --- passes by hand ------------------------------------------------------------------------------

constexpr unsigned kOfBlock = 256;  // threads, one for each digit
constexpr unsigned kEach = 8;       // keys of a thread
constexpr unsigned kOfTile = kOfBlock * kEach;

std::size_t tiles_for(std::size_t n) { return (n + kOfTile - 1) / kOfTile; }

/// How many keys of tile t have digit d: table[d * tiles + t].
template <class Key>
__global__ void __launch_bounds__(kOfBlock)
    count_digits(const Key* keys, std::size_t n, unsigned first_bit, tile_word* table) {
  __shared__ unsigned counts[kDigits];
  counts[threadIdx.x] = 0;
  __syncthreads();
  const std::size_t begin = std::size_t{blockIdx.x} * kOfTile;
  for (unsigned k = threadIdx.x; k < kOfTile; k += kOfBlock)
    if (begin + k < n) atomicAdd(&counts[digit_in(keys[begin + k], first_bit)], 1U);
  __syncthreads();
  table[std::size_t{threadIdx.x} * gridDim.x + blockIdx.x] = counts[threadIdx.x];
}

/// Replaces all numbers by the sums of those before them. One block: each thread has a run.
__global__ void __launch_bounds__(kOfBlock) scan_table(tile_word* table, std::size_t size) {
  __shared__ tile_word sums[kOfBlock];
  const unsigned t = threadIdx.x;
  const std::size_t each = (size + kOfBlock - 1) / kOfBlock;
  const std::size_t begin = min(size, t * each), end = min(size, begin + each);
  tile_word mine = 0;
  for (std::size_t i = begin; i < end; ++i) mine += table[i];
  sums[t] = mine;
  for (unsigned d = 1; d < kOfBlock; d *= 2) {
    __syncthreads();
    const tile_word other = t < d ? 0 : sums[t - d];
    __syncthreads();
    sums[t] += other;
  }
  tile_word before = sums[t] - mine;
  for (std::size_t i = begin; i < end; ++i) {
    const tile_word here = table[i];
    table[i] = before;
    before += here;
  }
}

/// For the step digits: where a tile's keys with a digit go, from the table.
struct from_table {
  const tile_word* table;
  __device__ unsigned draw() const { return blockIdx.x; }
  __device__ tile_word begin(unsigned tile, unsigned digit, unsigned) const {
    return table[std::size_t{digit} * gridDim.x + tile];
  }
};

/// For the step one_sweep: from the earlier tiles.
struct from_tiles {
  tile_word *totals, *words, *next;
  unsigned number;  // of the pass
  __device__ unsigned draw() const {
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = static_cast<unsigned>(atomicAdd(next, tile_word{1}));
    __syncthreads();
    return drawn;
  }
  __device__ tile_word begin(unsigned tile, unsigned digit, unsigned count) const {
    tile_word* const own = words + std::size_t{tile} * kDigits + digit;
    tile_word before = 0;
    if (tile == 0) {
      for (unsigned d = 0; d < digit; ++d) before += totals[d];
    } else {
      publish(own, pack(number, known::aggregate, count));
      for (tile_word* at = own - kDigits;;) {
        const tile_word word = published(at);
        const known state = state_in(word, number);
        if (state == known::nothing) continue;
        before += count_in(word);
        if (state == known::prefix) break;
        at -= kDigits;
      }
    }
    publish(own, pack(number, known::prefix, before + count));
    return before;
  }
};

/// Moves the keys of a tile, and their values. A warp has kEach * 32 neighbours of it.
template <class Key, bool kPairs, class Order>
__global__ void __launch_bounds__(kOfBlock) move_tile(pass<Key> job, Order order) {
  constexpr unsigned kWarpsHere = kOfBlock / 32;
  __shared__ unsigned counts[kWarpsHere][kDigits];
  __shared__ std::size_t target[kDigits];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned tile = order.draw();
  for (unsigned w = 0; w < kWarpsHere; ++w) counts[w][threadIdx.x] = 0;
  __syncthreads();

  const std::size_t first = std::size_t{tile} * kOfTile + warp * 32 * kEach + lane;
  Key key[kEach];
  unsigned rank[kEach];
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    const bool exists = first + k * 32 < job.n;
    key[k] = exists ? job.keys[first + k * 32] : Key{};
    const unsigned digit = digit_in(key[k], job.first_bit);
    // Lanes without a key have a label of their own.
    const unsigned peers = __match_any_sync(kAllLanes, exists ? digit : kDigits);
    const auto lower = static_cast<unsigned>(__popc(peers & ((1U << lane) - 1)));
    const unsigned before = counts[warp][digit];
    __syncwarp();
    if (exists && lower == 0) counts[warp][digit] = before + static_cast<unsigned>(__popc(peers));
    __syncwarp();
    rank[k] = before + lower;
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned w = 0; w < kWarpsHere; ++w) {
    const unsigned here = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = sum;
    sum += here;
  }
  target[threadIdx.x] = order.begin(tile, threadIdx.x, sum);
  __syncthreads();
#pragma unroll
  for (unsigned k = 0; k < kEach; ++k) {
    if (first + k * 32 >= job.n) continue;
    const unsigned digit = digit_in(key[k], job.first_bit);
    const std::size_t to = target[digit] + counts[warp][digit] + rank[k];
    job.keys_out[to] = key[k];
    if constexpr (kPairs) job.values_out[to] = job.values[first + k * 32];
  }
}

/// totals[p * kDigits + d]: keys with digit d in pass p.
template <class Key>
__global__ void __launch_bounds__(kOfBlock)
    count_all_digits(const Key* keys, std::size_t n, tile_word* totals) {
  __shared__ unsigned counts[kPasses * kDigits];
  for (unsigned i = threadIdx.x; i < kPasses * kDigits; i += kOfBlock) counts[i] = 0;
  __syncthreads();
  const std::size_t apart = std::size_t{gridDim.x} * kOfBlock;
  for (std::size_t i = std::size_t{blockIdx.x} * kOfBlock + threadIdx.x; i < n; i += apart) {
    const unsigned bits = bits_in_order(keys[i]);
    for (unsigned p = 0; p < kPasses; ++p)
      atomicAdd(&counts[p * kDigits + (bits >> p * kDigitBits & 255U)], 1U);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kPasses * kDigits; i += kOfBlock)
    if (counts[i] != 0) atomicAdd(&totals[i], tile_word{counts[i]});
}

// --- the host ------------------------------------------------------------------------------------

template <class Key>
struct copies {
  copies(std::span<const Key> k, std::span<const std::uint32_t> v)
      : keys(k.size()),
        other_keys(k.size()),
        values(v.size()),
        other_values(v.size()),
        tiles(static_cast<unsigned>(tiles_for(k.size()))),
        notes((std::size_t{tiles} + kPasses) * kDigits + kPasses) {}

  template <class Order>
  void move(unsigned digit, const Order& order) {
    const pass<Key> job{keys.data(),        values.data(),     keys.size(),
                        digit * kDigitBits, other_keys.data(), other_values.data()};
    if (values.empty())
      move_tile<Key, false><<<tiles, kOfBlock>>>(job, order);
    else
      move_tile<Key, true><<<tiles, kOfBlock>>>(job, order);
    CUDA_CHECK(cudaGetLastError());
    std::swap(keys, other_keys);
    std::swap(values, other_values);
  }
  void by_digit(unsigned digit) {
    tile_word* const table = notes.data();
    count_digits<<<tiles, kOfBlock>>>(keys.data(), keys.size(), digit * kDigitBits, table);
    CUDA_CHECK(cudaGetLastError());
    scan_table<<<1, kOfBlock>>>(table, std::size_t{tiles} * kDigits);
    CUDA_CHECK(cudaGetLastError());
    move(digit, from_table{table});
  }
  void by_sweeps() {
    CUDA_CHECK(cudaMemsetAsync(notes.data(), 0, notes.size_bytes()));
    tile_word* const totals = notes.data();
    tile_word* const next = totals + kPasses * kDigits;
    tile_word* const words = next + kPasses;
    count_all_digits<<<std::min(tiles, 1024U), kOfBlock>>>(keys.data(), keys.size(), totals);
    CUDA_CHECK(cudaGetLastError());
    for (unsigned p = 0; p < kPasses; ++p)
      move(p, from_tiles{totals + p * kDigits, words, next + p, p});
  }

  device_buffer<Key> keys, other_keys;
  device_buffer<unsigned> values, other_values;
  unsigned tiles;
  device_buffer<tile_word> notes;
};

template <class Key, class Passes>
result<Key> sort_by(std::span<const Key> keys, std::span<const std::uint32_t> values,
                    const Passes& passes) {
  result<Key> out{{keys.begin(), keys.end()}, {values.begin(), values.end()}};
  if (keys.empty()) return out;
  copies<Key> data(keys, values);
  out.kernel_ms = time_kernel([&] { passes(data); },
                              [&] {
                                data.keys.copy_from(keys);
                                data.values.copy_from(values);
                              });
  data.keys.copy_to(out.keys);
  data.values.copy_to(out.values);
  return out;
}

void refuse(std::size_t keys, std::size_t values) {
  refuse_if(values != 0 && values != keys, "radix_sort: ", keys, " keys, but ", values, " values");
}

template <class Key>
result<Key> sort_any(step version, std::span<const Key> keys,
                     std::span<const std::uint32_t> values) {
  refuse(keys.size(), values.size());
  switch (version) {
    case step::thrust:
      return by_thrust(keys, values);
    case step::digits:
      return sort_by(keys, values, [](copies<Key>& data) {
        for (unsigned digit = 0; digit < kPasses; ++digit) data.by_digit(digit);
      });
    case step::one_sweep:
      break;
  }
  return sort_by(keys, values, [](copies<Key>& data) { data.by_sweeps(); });
}

}  // namespace

result<std::uint32_t> sort(step version, std::span<const std::uint32_t> keys,
                           std::span<const std::uint32_t> values) {
  return sort_any(version, keys, values);
}
result<std::int32_t> sort(step version, std::span<const std::int32_t> keys,
                          std::span<const std::uint32_t> values) {
  return sort_any(version, keys, values);
}
result<float> sort(step version, std::span<const float> keys,
                   std::span<const std::uint32_t> values) {
  return sort_any(version, keys, values);
}

result<std::uint32_t> sort_by_digit(std::span<const std::uint32_t> keys,
                                    std::span<const std::uint32_t> values, unsigned digit) {
  refuse(keys.size(), values.size());
  refuse_if(digit >= kPasses, "radix_sort: there is no digit ", digit);
  return sort_by(keys, values, [digit](copies<std::uint32_t>& data) { data.by_digit(digit); });
}

}  // namespace lab::radix_sort
