// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A key and its value are one word of 64 bits, packed on the host. A word of a descending sequence
// is complemented while it is in a register, so that every comparator is a minimum and a maximum.
// Tiles are in dynamic shared memory.

#include <cuda_runtime.h>

#include <utility>
#include <vector>

#include "given.hpp"

namespace lab::bitonic_sort {
namespace {

template <class Word>
struct words {
  Word* memory;
  std::size_t n;
  unsigned levels;  // of an array
  bool descending;
};

/// Those of the kStages stages from `low` on that are below `bits`, for the 2^kStages words whose
/// positions differ only in these bits. word(position) is a reference to a word; `begin` is the
/// index of position 0 in memory.
template <unsigned kStages, class Word, class WordAt>
__device__ void exchange(const words<Word>& all, std::size_t begin, unsigned level, unsigned bits,
                         unsigned low, std::size_t first, const WordAt& word) {
  constexpr unsigned kCount = 1U << kStages;
  Word mine[kCount], falling[kCount];
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i) {
    const std::size_t position = first + (std::size_t{i} << low);
    const bool falls =
        level == all.levels ? all.descending : ((begin + position) >> level & 1) != 0;
    falling[i] = falls ? ~Word{0} : Word{0};
    mine[i] = word(position) ^ falling[i];
  }
#pragma unroll
  for (unsigned stage = kStages; stage-- > 0;) {
    if (low + stage >= bits) continue;
#pragma unroll
    for (unsigned i = 0; i < kCount; ++i) {
      const unsigned other = i | 1U << stage;
      if (other == i) continue;
      const Word smaller = min(mine[i], mine[other]);
      mine[other] = max(mine[i], mine[other]);
      mine[i] = smaller;
    }
  }
#pragma unroll
  for (unsigned i = 0; i < kCount; ++i)
    word(first + (std::size_t{i} << low)) = mine[i] ^ falling[i];
}

/// The levels first, …, last in a tile of 2^tile_bits words: of each level, the stages below
/// `most`.
template <unsigned kStages, class Word>
__global__ void tiles(words<Word> all, unsigned tile_bits, unsigned first, unsigned last,
                      unsigned most) {
  extern __shared__ unsigned long long memory_of_block[];
  Word* const tile = reinterpret_cast<Word*>(memory_of_block);
  const std::size_t begin = std::size_t{blockIdx.x} << tile_bits;
  const auto count = static_cast<unsigned>(min(all.n - begin, std::size_t{1} << tile_bits));
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
    tile[padded(i)] = all.memory[begin + i];
  for (unsigned level = first; level <= last; ++level) {
    const unsigned bits = min(level, most);
    for (unsigned done = 0; done < bits; done += kStages) {
      const unsigned low = (bits - 1 - done) / kStages * kStages;
      const unsigned position = with_zeros(threadIdx.x, low, kStages);
      __syncthreads();
      if (position < count)
        exchange<kStages>(all, begin, level, bits, low, position, [tile](std::size_t i) -> Word& {
          return tile[padded(static_cast<unsigned>(i))];
        });
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
    all.memory[begin + i] = tile[padded(i)];
}

template <unsigned kStages, class Word>
__global__ void beyond_tiles(words<Word> all, unsigned level, unsigned low) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < all.n >> kStages;
       i += stride)
    exchange<kStages>(all, 0, level, level, low, with_zeros(i, low, kStages),
                      [&](std::size_t position) -> Word& { return all.memory[position]; });
}

template <unsigned kStages, class Word>
unsigned sort_words(const words<Word>& all, unsigned tile_bits) {
  const unsigned threads = 1U << (tile_bits - kStages);
  const std::size_t bytes = padded(1U << tile_bits) * sizeof(Word);
  if (bytes > 48 * 1024)
    CUDA_CHECK(cudaFuncSetAttribute(tiles<kStages, Word>,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(bytes)));
  const unsigned blocks = blocks_for(all.n, std::size_t{1} << tile_bits);
  unsigned launches = 1;
  tiles<kStages>
      <<<blocks, threads, bytes>>>(all, tile_bits, 1, std::min(tile_bits, all.levels), tile_bits);
  CUDA_CHECK(cudaGetLastError());
  for (unsigned level = tile_bits + 1; level <= all.levels; ++level) {
    unsigned left = level;
    while (left > tile_bits) {
      left -= kStages;
      beyond_tiles<kStages><<<std::min(blocks, 1024U), threads>>>(all, level, left);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    }
    tiles<kStages><<<blocks, threads, bytes>>>(all, tile_bits, level, level, left);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
  }
  return launches;
}

/// Sorts the words of the host.
template <class Word>
result sort_on_device(step version, std::vector<Word>& host, std::size_t length, direction order) {
  const auto levels = static_cast<unsigned>(std::countr_zero(length));
  result out;
  if (host.empty() || levels == 0) return out;
  device_buffer<Word> memory(host.size());
  const words<Word> all{memory.data(), host.size(), levels, order == direction::descending};
  out.kernel_ms = time_kernel(
      [&] {
        out.launches = version == step::registers ? sort_words<kBits>(all, kWideBits)
                                                  : sort_words<1>(all, kTileBits);
      },
      [&] { memory.copy_from(host); });
  memory.copy_to(host);
  return out;
}

}  // namespace

result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays, direction order) {
  require_network_input("bitonic_sort", keys, values, arrays);
  if (values.empty()) {
    std::vector<unsigned> host(keys.begin(), keys.end());
    result out = sort_on_device(version, host, arrays.length, order);
    out.sorted.keys = std::move(host);
    return out;
  }
  std::vector<unsigned long long> host(keys.size());
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<unsigned long long>(keys[i]) << 32 | values[i];
  result out = sort_on_device(version, host, arrays.length, order);
  for (const unsigned long long word : host) {
    out.sorted.keys.push_back(static_cast<std::uint32_t>(word >> 32));
    out.sorted.values.push_back(static_cast<std::uint32_t>(word));
  }
  return out;
}

}  // namespace lab::bitonic_sort
