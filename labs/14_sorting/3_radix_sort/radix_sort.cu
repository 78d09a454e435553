// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: a sort without comparisons. First the library's, then your own.
// Edit:  this file, from TODO(1) to TODO(11); TODO(12) to TODO(15) are a bonus. radix_sort.hpp has
//        the contract, given.hpp the code to start from.
// Run:   scripts/lab run 14.3 -- --step thrust     (then digits and one_sweep; --key float)
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

// TODO(1): numbers whose unsigned order is the order that the keys should have. A signed int: its
//          negative half must come first. A float has its sign in the highest bit, and below it
//          the magnitude: of two negative ones that with the *smaller* magnitude comes later.
//          __float_as_uint() returns the bits of a float. from_ordered() is the inverse.
__host__ __device__ inline unsigned ordered(unsigned key) { return key; }
__host__ __device__ inline unsigned ordered(int key) {
  return static_cast<unsigned>(key);  // as it is
}
__device__ inline unsigned ordered(float key) {
  const unsigned bits = __float_as_uint(key);
  return bits;
}
__device__ inline float from_ordered(unsigned number) {
  return __uint_as_float(number);  // the way back
}

// --- thrust --------------------------------------------------------------------------------------

/// Sorts with Thrust; stable where there are values.
template <class Key>
void thrust_sort(thrust::device_vector<Key>& keys, thrust::device_vector<unsigned>& values) {
  // TODO(2): thrust::sort() for keys alone, thrust::stable_sort_by_key() for pairs. Both compare
  //          with `<`, which is right for ints and unsigned ints. (`values` is empty if there are
  //          only keys.)
  throw not_written("step thrust", 2);
}

/// The same for floats in the order of their bits, which is not that of `<`: -0 < +0 is false, and
/// so is every comparison with a NaN.
void thrust_sort(thrust::device_vector<float>& keys, thrust::device_vector<unsigned>& values) {
  // TODO(2): a thrust::transform() to unsigned numbers, their sort, and a transform back. Each
  //          takes an object that can be called on the device: of a struct with a __device__
  //          operator().
  throw not_written("step thrust for floats", 2);
}

// --- digits: what is shared by the kernels of a pass ---------------------------------------------
// A pass sorts by one digit of 8 bits: where does each key go? After all keys with smaller digits,
// and after those with the same digit that come before it. Keys are assigned to blocks in tiles: a
// block has some consecutive tiles.

template <class Key>
__device__ unsigned digit_of(Key key, unsigned first_bit) {
  return ordered(key) >> first_bit & (kDigits - 1);
}

/// The sum of `mine` over the threads before this one; `total` is that over all threads of the
/// block, all of which call it. `of_warps` is shared memory.
template <class Number>
__device__ Number sum_before(Number mine, Number (&of_warps)[kWarps], Number& total) {
  // TODO(3): first within the warp: with distance 1, 2, 4, 8, 16 each lane adds the value of a lane
  //          that far below (__shfl_up_sync). Then the last lanes' sums go through shared memory.
  //          of_warps can be used again as soon as the function returns.
  return total = mine;
}

// --- count: how many keys of each digit does each block have? ------------------------------------

/// table[d * gridDim.x + b] is how many keys of block b have digit d.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    count(const Key* __restrict__ keys, std::size_t n, unsigned first_bit, std::size_t* table) {
  // TODO(4): counters in shared memory (as in 10.4), here a set for each warp: then only the lanes
  //          of a warp compete. Invariants: no thread counts before all counters
  //          are 0, and none adds them up before all have counted.
}

// --- scan: where do a block's keys with digit d begin, among all with digit d? -------------------

/// Block d replaces each number in row d of the table with the sum of those before it; totals[d] is
/// the sum of the row. `columns` is the number of blocks of count().
__global__ void __launch_bounds__(kThreads)
    scan(std::size_t* table, std::size_t columns, std::size_t* totals) {
  __shared__ std::size_t of_warps[kWarps];
  // TODO(5): kThreads numbers at a time, with sum_before(); carry the sum of the previous rounds
  //          along. A row may end anywhere: all threads take part in all rounds.
  std::size_t total = 0;
}

// --- a tile: its keys are counted, sorted in shared memory, and stored ---------------------------

/// Loads the keys of a tile and counts their digits: after that, memory.position[w][d] is how many
/// keys with digit d warp w has. Thread d returns how many of them the tile has. Elements past n
/// count as keys with the highest digit: they come last in their tile, and are never written.
template <class Key>
__device__ unsigned count_tile(const pass<Key>& job, tile_of_thread<Key>& mine,
                               tile_memory<Key>& memory) {
  clear(memory.position);
  mine.load(mine.key, job.keys, last_key<Key>());
  __syncthreads();  // all counts are 0, and the previous tile is stored
  clear(memory.masks);
  // TODO(6): each warp counts its own keys, in memory.position[warp].
  __syncthreads();  // all warps have counted
  return threadIdx.x < kDigits ? sum_of_warps(memory.position) : 0;
}

/// The lanes of this warp, as a mask, that have the same digit as this lane. All lanes call it.
/// The warp has a mask for each digit, all of them 0.
__device__ unsigned lanes_with(unsigned digit, unsigned* masks) {
  // TODO(7): each lane sets its own bit in the mask of its digit, and reads the mask when all have.
  return masks[digit];
}

/// Sorts a counted tile in shared memory. Thread d passes the result of count_tile(), and
/// gets the position in the tile where the keys with digit d begin.
template <class Key>
__device__ unsigned order_tile(const pass<Key>& job, tile_of_thread<Key>& mine, unsigned in_tile,
                               tile_memory<Key>& memory) {
  // TODO(8): 1. Thread d: the counts of digit d, warp by warp, become positions in the tile.
  //          2. The position of each key in the tile: the warp's position of its digit, plus the
  //             number of lower lanes with the same digit. Then advance the position. Stable:
  //             earlier rounds and lower lanes come first. All lanes take part in all rounds.
  //          3. When all warps have finished with the masks, store the keys at their positions.
  return in_tile;
}

/// From shared memory to the output: neighbours mostly write neighbouring elements. Thread d says
/// where position 0 of the tile would go if it had digit d. (That may be below 0, and wrap around:
/// it is right again when a position is added.)
template <class Key, bool kPairs>
__device__ void leave_tile(const pass<Key>& job, const tile_of_thread<Key>& mine,
                           std::size_t target, tile_memory<Key>& memory) {
  if (threadIdx.x < kDigits) memory.target[threadIdx.x] = target;
  __syncthreads();  // the tile is sorted, and all targets are known
  // TODO(9): consecutive threads store consecutive keys: key i of the tile goes to i + the
  //          target of its digit. Keys that stand for elements past n are at the end of the tile,
  //          and are not stored. Then the same for the values, in the memory of the keys.
}

// --- scatter: every key goes to its position -----------------------------------------------------

/// Moves keys and values to where the digit sends them.
template <class Key, bool kPairs>
__global__ void __launch_bounds__(kThreads, kBlocks)
    scatter(pass<Key> job, const std::size_t* table, const std::size_t* totals) {
  tile_memory<Key>& memory = memory_of_block<Key>();
  __shared__ std::size_t of_warps[kWarps];
  // TODO(10): `next` of thread d is the position of the block's next key with digit d. Then one
  //           tile after the other: count, sort, store. All keys of the tile advance `next`.
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
    allow_memory<Key>(scatter<Key, false>);
    allow_memory<Key>(scatter<Key, true>);
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, scatter<Key, true>, static_cast<int>(kThreads), sizeof(tile_memory<Key>)));
    const std::size_t all_tiles = (k.size() + kTile - 1) / kTile;
    blocks = static_cast<unsigned>(std::min(
        all_tiles, static_cast<std::size_t>(processors) * static_cast<std::size_t>(resident)));
    table = device_buffer<std::size_t>(std::size_t{blocks} * kDigits);
    totals = device_buffer<std::size_t>(kDigits);
  }
  pass<Key> job(unsigned first_bit) {
    return {keys.data(), values.data(), keys.size(), first_bit, keys_out.data(), values_out.data()};
  }
  void swap() {
    std::swap(keys, keys_out);
    std::swap(values, values_out);
  }

  device_buffer<Key> keys, keys_out;
  device_buffer<unsigned> values, values_out;
  device_buffer<std::size_t> table, totals;
  unsigned blocks = 0;  // no more than can run at the same time, and none without a tile
};

/// One pass, from keys and values to keys_out and values_out, which are then swapped.
template <class Key>
void sort_by_digit(on_device<Key>& data, unsigned first_bit) {
  // TODO(11): the three launches. count() and scatter() must have the same grid: they assign tiles
  //           to blocks alike. With values it is scatter<Key, true>, else scatter<Key, false>. Each
  //           of its blocks has sizeof(tile_memory<Key>) bytes of dynamic shared memory.
  throw not_written("step digits", 1);  // 1, and 3 to 11
}

template <class Key>
void sort_by_all_digits(on_device<Key>& data) {
  // TODO(11): a pass for each digit. With which one do you begin, if a later pass keeps the order
  //           of an earlier one only among equal digits?
  sort_by_digit(data, 0);
}

// --- one_sweep: a pass reads and writes every key once ------------------------------------------
// Requires that a block waits only for blocks that have already started.

/// totals[p * kDigits + d] becomes how many keys have digit d in pass p. At first it is 0.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    count_all(const Key* __restrict__ keys, std::size_t n, tile_word* totals) {
  // TODO(12, bonus): as count(), for all four digits of a key that is loaded once.
}

/// Thread d: the position of the tile's first key with digit d, from the words of earlier tiles.
__device__ tile_word look_back(tile_word* words, std::size_t tile, unsigned number) {
  tile_word before = 0;
  // TODO(13, bonus): from the tile before this one backwards. An aggregate counts, and the
  //           search continues; a prefix counts, and ends it. While nothing is known, read again.
  return before;
}

/// Pass `number`, like scatter(): each block takes the next tile. `words` has kDigits for each
/// tile, and *next is the number of the next tile.
template <class Key, bool kPairs>
__global__ void __launch_bounds__(kThreads, kBlocks)
    sweep(pass<Key> job, unsigned number, const tile_word* totals, tile_word* words,
          tile_word* next) {
  tile_memory<Key>& memory = memory_of_block<Key>();
  __shared__ tile_word of_warps[kWarps], drawn;
  // TODO(14, bonus): 1. The block draws its tile from *next.
  //           2. Count the tile. Thread d publishes its keys with digit d as the aggregate.
  //           3. Sort it, and look back. For tile 0 the position of the first key with digit d is
  //              the number of keys with smaller digits: `totals`.
  //           4. Thread d publishes its prefix: the position after the tile's keys with digit d.
  //           5. Store it.
}

template <class Key>
void sweep_all_digits(on_device<Key>& data, notes& shared) {
  // TODO(15, bonus): all words are 0 before each sort: cudaMemsetAsync(). Then count_all(), and a
  //           sweep() for each pass, with a block for each tile and as much shared memory as that
  //           of scatter().
  throw not_written("step one_sweep", 12);  // 12 to 15
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
} catch (const thrust::system_error& error) {  // this is how Thrust reports a CUDA error
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
  data.keys.copy_to(out.keys);  // waits until the kernels have finished
  data.values.copy_to(out.values);
  return out;
}

template <class Key>
result<Key> sort_keys(step version, std::span<const Key> keys,
                      std::span<const std::uint32_t> values) {
  require_sensible(keys, values);
  if (version == step::thrust) return with_thrust(keys, values);
  if (version == step::digits)
    return by_hand(keys, values, [](on_device<Key>& data) { sort_by_all_digits(data); });
  allow_memory<Key>(sweep<Key, false>);
  allow_memory<Key>(sweep<Key, true>);
  notes shared(keys.size());
  return by_hand(keys, values, [&](on_device<Key>& data) { sweep_all_digits(data, shared); });
}

}  // namespace

result<std::uint32_t> sort(step version, std::span<const std::uint32_t> keys,
                           std::span<const std::uint32_t> values) {
  return sort_keys(version, keys, values);
}
result<std::int32_t> sort(step version, std::span<const std::int32_t> keys,
                          std::span<const std::uint32_t> values) {
  return sort_keys(version, keys, values);
}
result<float> sort(step version, std::span<const float> keys,
                   std::span<const std::uint32_t> values) {
  return sort_keys(version, keys, values);
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
