// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: no key is compared with another. First the library's, then one by hand.
// Edit:  this file, from TODO(1) to TODO(8). radix_sort.hpp says what is asked for.
// Run:   scripts/lab run 14.3 -- --step thrust     (then --step digits; --key float)
// Test:  scripts/lab test 14.3
// Hints: scripts/lab hint 14.3                     Chapter: docs/14_sorting.md

#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include "given.hpp"

namespace lab::radix_sort {
namespace {

// --- keys as unsigned numbers --------------------------------------------------------------------

constexpr unsigned kSign = 0x80000000U;

// TODO(1): numbers whose unsigned order is the order that the keys are to have. A signed int: its
//          negative half has to come first. A float has its sign in the highest bit, and below
//          that a magnitude: of two negative ones that with the *smaller* magnitude comes later.
//          __float_as_uint() has the bits of a float. from_ordered() is the way back.
__host__ __device__ inline unsigned ordered(unsigned key) { return key; }
__host__ __device__ inline unsigned ordered(int key) {
  // BEGIN SOLUTION
  // STUB: return static_cast<unsigned>(key);  // as it is
  return static_cast<unsigned>(key) ^ kSign;
  // END SOLUTION
}
__device__ inline unsigned ordered(float key) {
  const unsigned bits = __float_as_uint(key);
  // BEGIN SOLUTION
  // STUB: return bits;
  return bits & kSign ? ~bits : bits | kSign;
  // END SOLUTION
}
__device__ inline float from_ordered(unsigned number) {
  // BEGIN SOLUTION
  // STUB: return __uint_as_float(number);  // the way back
  return __uint_as_float(number & kSign ? number ^ kSign : ~number);
  // END SOLUTION
}

// --- thrust --------------------------------------------------------------------------------------

/// Sorts with Thrust; stable where there are values.
template <class Key>
void thrust_sort(thrust::device_vector<Key>& keys, thrust::device_vector<unsigned>& values) {
  // TODO(2): thrust::sort() for keys alone, thrust::stable_sort_by_key() for pairs. Both compare by
  //          `<`, which is what ints and unsigned ints need. (`values` is empty where there are
  //          only keys.)
  // BEGIN SOLUTION
  // STUB: throw not_written("step thrust", 2);
  if (values.empty())
    thrust::sort(keys.begin(), keys.end());
  else
    thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  // END SOLUTION
}

// BEGIN SOLUTION
struct to_ordered {
  __device__ unsigned operator()(float key) const { return ordered(key); }
};
struct to_float {
  __device__ float operator()(unsigned number) const { return from_ordered(number); }
};
// END SOLUTION

/// The same for floats in the order of their bits, which is not that of `<`: -0 < +0 is false, and
/// so is every comparison with a NaN.
void thrust_sort(thrust::device_vector<float>& keys, thrust::device_vector<unsigned>& values) {
  // TODO(2): a thrust::transform() to unsigned numbers, their sort, and a transform back. Each
  //          takes an object that can be called on the device: of a struct with a __device__
  //          operator().
  // BEGIN SOLUTION
  // STUB: throw not_written("step thrust for floats", 2);
  thrust::device_vector<unsigned> numbers(keys.size());
  thrust::transform(keys.begin(), keys.end(), numbers.begin(), to_ordered{});
  thrust_sort(numbers, values);
  thrust::transform(numbers.begin(), numbers.end(), keys.begin(), to_float{});
  // END SOLUTION
}

// --- digits: what is shared by the three kernels of a pass ---------------------------------------
// A pass sorts by one digit of 8 bits: where does each key go? Behind all keys with smaller digits,
// and behind those with the same digit that come before it. Keys are dealt to blocks in tiles: a
// block has some tiles that lie side by side.

template <class Key>
__device__ unsigned digit_of(Key key, unsigned first_bit) {
  return ordered(key) >> first_bit & (kDigits - 1);
}

/// The sum of `mine` over the threads before this one; `total` is that over all threads of the
/// block, all of which call it. `of_warps` is shared memory.
template <class Number>
__device__ Number sum_before(Number mine, Number (&of_warps)[kWarps], Number& total) {
  // TODO(3): first within the warp: with distance 1, 2, 4, 8, 16 each lane adds what the lane that
  //          far below has (__shfl_up_sync). Then the last lanes' sums go through shared memory.
  //          of_warps can be used again as soon as the function returns.
  // BEGIN SOLUTION
  // STUB: return total = mine;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Number sum = mine;
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const Number below = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += below;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();  // all warps' sums are there
  Number before = 0;
  total = 0;
  for (unsigned w = 0; w < kWarps; ++w) {
    if (w < warp) before += of_warps[w];
    total += of_warps[w];
  }
  __syncthreads();  // all have read them
  return before + sum - mine;
  // END SOLUTION
}

// --- count: how many keys of each digit does each block have? ------------------------------------

/// table[d * gridDim.x + b] is how many keys of block b have digit d.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    count(const Key* __restrict__ keys, std::size_t n, unsigned first_bit, std::size_t* table) {
  // TODO(4): counters in shared memory (as in 10.4), here a set for each warp: then only a warp's
  //          own lanes are in each other's way. Invariants: nobody counts before all counters are
  //          0, and nobody adds them up before all have counted.
  // BEGIN SOLUTION
  __shared__ unsigned counters[kWarps][kDigits];
  for (unsigned w = 0; w < kWarps; ++w) counters[w][threadIdx.x] = 0;
  __syncthreads();  // all counters are 0

  const tiles mine = tiles_of_block(n);
  for (std::size_t tile = mine.first; tile < mine.last; ++tile) {
    const std::size_t begin = tile * kTile + threadIdx.x;
    Key key[kItems];
#pragma unroll
    for (unsigned j = 0; j < kItems; ++j)  // all loads are under way before the first is needed
      key[j] = begin + j * kThreads < n ? keys[begin + j * kThreads] : Key{};
#pragma unroll
    for (unsigned j = 0; j < kItems; ++j)
      if (begin + j * kThreads < n)
        atomicAdd(&counters[threadIdx.x / 32][digit_of(key[j], first_bit)], 1U);
  }
  __syncthreads();  // all have counted

  std::size_t sum = 0;
  for (unsigned w = 0; w < kWarps; ++w) sum += counters[w][threadIdx.x];
  table[std::size_t{threadIdx.x} * gridDim.x + blockIdx.x] = sum;
  // END SOLUTION
}

// --- scan: where do a block's keys with digit d begin, among all with digit d? -------------------

/// Block d replaces each number in row d of the table by the sum of those before it; totals[d] is
/// the sum of the row. `columns` is how many blocks count() had.
__global__ void __launch_bounds__(kThreads)
    scan(std::size_t* table, std::size_t columns, std::size_t* totals) {
  __shared__ std::size_t of_warps[kWarps];
  // TODO(5): kThreads numbers at a time, with sum_before(); the sum of the rounds before is carried
  //          along. A row may end anywhere: all threads take part in all rounds.
  // BEGIN SOLUTION
  // STUB: std::size_t total = 0;
  std::size_t* row = table + blockIdx.x * columns;
  std::size_t carried = 0;
  for (std::size_t first = 0; first < columns; first += kThreads) {
    const std::size_t i = first + threadIdx.x;
    std::size_t total = 0;
    const std::size_t before = sum_before(i < columns ? row[i] : 0, of_warps, total);
    if (i < columns) row[i] = carried + before;
    carried += total;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = carried;
  // END SOLUTION
}

// --- scatter: every key goes to its place --------------------------------------------------------

/// The lanes of this warp, as a mask, whose digit is that of this lane. All lanes call it.
__device__ unsigned lanes_with(unsigned digit) {
  // TODO(6): __ballot_sync() tells which lanes have a 1 at some bit. Those that agree in all
  //          kDigitBits bits have the same digit.
  // BEGIN SOLUTION
  // STUB: return 0;
  unsigned same = kAllLanes;
#pragma unroll
  for (unsigned bit = 0; bit < kDigitBits; ++bit) {
    const bool one = (digit >> bit & 1) != 0;
    const unsigned ones = __ballot_sync(kAllLanes, one);
    same &= one ? ones : ~ones;
  }
  return same;
  // END SOLUTION
}

/// Moves keys and values to where the digit sends them. A tile is sorted in shared memory first, so
/// that equal digits leave it side by side.
template <class Key, bool kPairs>
__global__ void __launch_bounds__(kThreads, 3)  // 3 blocks per multiprocessor: at most 85 registers
    scatter(const Key* __restrict__ keys, const unsigned* __restrict__ values, std::size_t n,
            unsigned first_bit, const std::size_t* table, const std::size_t* totals, Key* keys_out,
            unsigned* values_out) {
  __shared__ Key tile_keys[kTile];
  __shared__ unsigned tile_values[kPairs ? kTile : 1];
  __shared__ unsigned position[kWarps]
                              [kDigits];   // of a warp's next key with that digit in the tile
  __shared__ std::size_t target[kDigits];  // + position in the tile = place in the output
  __shared__ std::size_t of_warps[kWarps];
  __shared__ unsigned of_warps_in_tile[kWarps];

  // TODO(7): 1. `next` of thread d: the place of the block's first key with digit d.
  //          2. For each tile: rank its keys. A warp has 512 neighbouring keys, 32 at a time;
  //             in position[warp] it counts how many it has had of each digit, and so each key
  //             learns how many of its digit came before it in the warp.
  //          3. Thread d: the counts of digit d, warp by warp, become positions in the tile.
  //          4. Keys and values go to their positions in the tile, and from there to the output:
  //             thread after thread, place after place.
  //          Stable: before a key come those of its digit from lower warps, earlier rounds, lower
  //          lanes, in this order. All lanes take part in all rounds: behind n are keys with the
  //          highest digit, which come last in the tile, and are not written.
  // BEGIN SOLUTION
  const unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const unsigned lanes_below = (1U << lane) - 1;
  std::size_t all = 0;
  std::size_t next = sum_before(totals[thread], of_warps, all) +
                     table[std::size_t{thread} * gridDim.x + blockIdx.x];

  const tiles mine = tiles_of_block(n);
  for (std::size_t tile = mine.first; tile < mine.last; ++tile) {
    const std::size_t begin = tile * kTile;
    const unsigned there = n - begin < kTile ? static_cast<unsigned>(n - begin) : kTile;
    const unsigned first = warp * (32 * kItems) + lane;  // this lane's first key in the tile
    for (unsigned w = 0; w < kWarps; ++w) position[w][thread] = 0;
    Key key[kItems];
#pragma unroll
    for (unsigned j = 0; j < kItems; ++j)
      key[j] = first + j * 32 < there ? keys[begin + first + j * 32] : Key{};
    __syncthreads();  // all counts are 0, and the tile before has left

    // Of each key its digit, and above that how many of its digit come before it in the warp: one
    // register for both, so that none of them has to go to memory.
    unsigned digit_and_rank[kItems];
#pragma unroll
    for (unsigned j = 0; j < kItems; ++j) {
      const unsigned digit = first + j * 32 < there ? digit_of(key[j], first_bit) : kDigits - 1;
      const unsigned same = lanes_with(digit);
      const unsigned before = position[warp][digit];
      digit_and_rank[j] = digit | (before + static_cast<unsigned>(__popc(same & lanes_below)))
                                      << kDigitBits;
      __syncwarp();                   // all lanes have read
      if ((same & lanes_below) == 0)  // the first of them counts for all
        position[warp][digit] = before + static_cast<unsigned>(__popc(same));
      __syncwarp();  // all lanes have counted
    }
    __syncthreads();  // all warps have counted

    unsigned in_tile = 0, keys_in_tile = 0;
    for (unsigned w = 0; w < kWarps; ++w) in_tile += position[w][thread];
    const unsigned start = sum_before(in_tile, of_warps_in_tile, keys_in_tile);
    unsigned begin_of_warp = start;
    for (unsigned w = 0; w < kWarps; ++w) {
      const unsigned of_warp = position[w][thread];
      position[w][thread] = begin_of_warp;
      begin_of_warp += of_warp;
    }
    // May wrap round, and comes right again when a position is added.
    target[thread] = next - start;
    next += in_tile;
    __syncthreads();  // all positions are there

#pragma unroll
    for (unsigned j = 0; j < kItems; ++j) {
      const unsigned digit = digit_and_rank[j] % kDigits, rank = digit_and_rank[j] / kDigits;
      const unsigned to = position[warp][digit] + rank;
      tile_keys[to] = key[j];
      if constexpr (kPairs)
        tile_values[to] = first + j * 32 < there ? values[begin + first + j * 32] : 0;
    }
    __syncthreads();  // the tile is sorted

#pragma unroll
    for (unsigned j = 0; j < kItems; ++j) {  // neighbours write neighbouring places, mostly
      const unsigned i = j * kThreads + thread;
      if (i < there) {  // behind them lie those from behind n
        const Key moved = tile_keys[i];
        const std::size_t to = target[digit_of(moved, first_bit)] + i;
        keys_out[to] = moved;
        if constexpr (kPairs) values_out[to] = tile_values[i];
      }
    }
  }
  // END SOLUTION
}

// --- passes --------------------------------------------------------------------------------------

/// Two copies of keys and values, and the table between the kernels.
template <class Key>
struct on_device {
  on_device(std::span<const Key> k, std::span<const std::uint32_t> v)
      : keys(k.size()), keys_out(k.size()), values(v.size()), values_out(v.size()) {
    int device = 0, processors = 0, resident = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, scatter<Key, true>,
                                                             static_cast<int>(kThreads), 0));
    const std::size_t all_tiles = (k.size() + kTile - 1) / kTile;
    blocks = static_cast<unsigned>(std::min(
        all_tiles, static_cast<std::size_t>(processors) * static_cast<std::size_t>(resident)));
    table = device_buffer<std::size_t>(std::size_t{blocks} * kDigits);
    totals = device_buffer<std::size_t>(kDigits);
  }
  device_buffer<Key> keys, keys_out;
  device_buffer<unsigned> values, values_out;
  device_buffer<std::size_t> table, totals;
  unsigned blocks = 0;  // no more than run at the same time, and none without a tile
};

/// One pass, from keys and values to keys_out and values_out, which then change places.
template <class Key>
void sort_by_digit(on_device<Key>& data, unsigned first_bit) {
  // TODO(8): the three launches. count() and scatter() must have the same grid: they deal the tiles
  //          out alike. With values it is scatter<Key, true>, else scatter<Key, false>.
  // BEGIN SOLUTION
  // STUB: throw not_written("step digits", 1);  // 1, and 3 to 8
  const std::size_t n = data.keys.size();
  count<Key><<<data.blocks, kThreads>>>(data.keys.data(), n, first_bit, data.table.data());
  CUDA_CHECK(cudaGetLastError());
  scan<<<kDigits, kThreads>>>(data.table.data(), data.blocks, data.totals.data());
  CUDA_CHECK(cudaGetLastError());
  if (data.values.empty())
    scatter<Key, false><<<data.blocks, kThreads>>>(data.keys.data(), nullptr, n, first_bit,
                                                   data.table.data(), data.totals.data(),
                                                   data.keys_out.data(), nullptr);
  else
    scatter<Key, true><<<data.blocks, kThreads>>>(data.keys.data(), data.values.data(), n,
                                                  first_bit, data.table.data(), data.totals.data(),
                                                  data.keys_out.data(), data.values_out.data());
  CUDA_CHECK(cudaGetLastError());
  std::swap(data.keys, data.keys_out);
  std::swap(data.values, data.values_out);
  // END SOLUTION
}

template <class Key>
void sort_by_all_digits(on_device<Key>& data) {
  // TODO(8): a pass for each digit. With which one do you begin, if a later pass keeps the order of
  //          an earlier one only among equal digits?
  // BEGIN SOLUTION
  // STUB: sort_by_digit(data, 0);
  for (unsigned first_bit = 0; first_bit < 32; first_bit += kDigitBits)
    sort_by_digit(data, first_bit);
  // END SOLUTION
}

// --- given ---------------------------------------------------------------------------------------

template <class Key>
void require_sensible(std::span<const Key> keys, std::span<const std::uint32_t> values) {
  refuse_if(!values.empty() && values.size() != keys.size(), "radix_sort: the numbers of keys (",
            keys.size(), ") and of values (", values.size(),
            ") differ; each key has one value, or there are none at all");
}

template <class Key>
result<Key> with_thrust(std::span<const Key> keys, std::span<const std::uint32_t> values) try {
  result<Key> out{{keys.begin(), keys.end()}, {values.begin(), values.end()}};
  thrust::device_vector<Key> device_keys(keys.size());
  thrust::device_vector<unsigned> device_values(values.size());
  out.kernel_ms = time_kernel([&] { thrust_sort(device_keys, device_values); },
                              [&] {
                                thrust::copy(keys.begin(), keys.end(), device_keys.begin());
                                thrust::copy(values.begin(), values.end(), device_values.begin());
                              });
  thrust::copy(device_keys.begin(), device_keys.end(), out.keys.begin());
  thrust::copy(device_values.begin(), device_values.end(), out.values.begin());
  return out;
} catch (const thrust::system_error& error) {  // what Thrust makes of a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

/// `work` is a number of passes.
template <class Key, class Work>
result<Key> by_hand(std::span<const Key> keys, std::span<const std::uint32_t> values, Work work) {
  result<Key> out{{keys.begin(), keys.end()}, {values.begin(), values.end()}};
  if (keys.empty()) return out;  // a grid of no blocks would be an error
  on_device<Key> data(keys, values);
  out.kernel_ms = time_kernel([&] { work(data); },
                              [&] {
                                data.keys.copy_from(keys);
                                data.values.copy_from(values);
                              });
  data.keys.copy_to(out.keys);  // waits until the kernels are done
  data.values.copy_to(out.values);
  return out;
}

template <class Key>
result<Key> sort_keys(step which, std::span<const Key> keys,
                      std::span<const std::uint32_t> values) {
  require_sensible(keys, values);
  if (which == step::thrust) return with_thrust(keys, values);
  return by_hand(keys, values, [](on_device<Key>& data) { sort_by_all_digits(data); });
}

}  // namespace

result<std::uint32_t> sort(step which, std::span<const std::uint32_t> keys,
                           std::span<const std::uint32_t> values) {
  return sort_keys(which, keys, values);
}
result<std::int32_t> sort(step which, std::span<const std::int32_t> keys,
                          std::span<const std::uint32_t> values) {
  return sort_keys(which, keys, values);
}
result<float> sort(step which, std::span<const float> keys, std::span<const std::uint32_t> values) {
  return sort_keys(which, keys, values);
}

result<std::uint32_t> sort_by_digit(std::span<const std::uint32_t> keys,
                                    std::span<const std::uint32_t> values, unsigned digit) {
  require_sensible(keys, values);
  refuse_if(digit > 3, "radix_sort: a key has the digits 0 to 3, not ", digit);
  return by_hand(keys, values, [digit](on_device<std::uint32_t>& data) {
    sort_by_digit(data, digit * kDigitBits);
  });
}

}  // namespace lab::radix_sort
