// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A tile has a flag and two sums in place of one word, so a block that looks back reads more. With
// vectorized, a row is a column in shared memory, whose banks lanes have to share.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::device_scan {
namespace {

using shared_number = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

/// Of one tile. All of it is 0 before a launch.
struct note {
  unsigned state;  // 1: the aggregate is there, 2: the prefix, too
  unsigned aggregate, prefix;
};

struct free_it {
  void operator()(void* memory) const { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};
template <class T>
std::unique_ptr<T, free_it> on_device(std::size_t n) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, n * sizeof(T)));
  return std::unique_ptr<T, free_it>(static_cast<T*>(memory));
}

__global__ void first_launch(job array, unsigned* totals) {
  const scanned_tile mine = scan_tile(array, blockIdx.x);
  store_tile(array, blockIdx.x, mine, 0);
  if (threadIdx.x == blockDim.x / 2) totals[blockIdx.x] = mine.total;
}

/// Hillis and Steele in shared memory, a block's worth of totals after the other.
__global__ void second_launch(unsigned* totals, unsigned tiles) {
  __shared__ unsigned sums[kMostThreads];
  const unsigned t = threadIdx.x;
  unsigned carry = 0;
  for (unsigned begin = 0; begin < tiles; begin += blockDim.x) {
    const unsigned mine = begin + t < tiles ? totals[begin + t] : 0;
    sums[t] = mine;
    for (unsigned d = 1; d < blockDim.x; d *= 2) {
      __syncthreads();
      const unsigned other = t < d ? 0 : sums[t - d];
      __syncthreads();
      sums[t] += other;
    }
    __syncthreads();
    if (begin + t < tiles) totals[begin + t] = carry + sums[t] - mine;
    carry += sums[blockDim.x - 1];
    __syncthreads();
  }
}

__global__ void third_launch(job array, const unsigned* before) {
  if (blockIdx.x == 0) return;  // nothing comes before it
  const unsigned sum = before[blockIdx.x];
  const std::size_t first = first_element(blockIdx.x);
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r)
    if (first + r * kLanes < array.n) array.out[first + r * kLanes] += sum;
}

__device__ unsigned next_tile(unsigned* tickets) {
  __shared__ unsigned ticket;
  if (threadIdx.x == 0) ticket = shared_number(*tickets).fetch_add(1, cuda::memory_order_relaxed);
  __syncthreads();
  return ticket;
}

__device__ unsigned before_block(note* notes, unsigned tile, unsigned total) {
  __shared__ unsigned found;
  const unsigned lane = threadIdx.x;
  if (lane < kLanes) {
    note& own = notes[tile];
    if (lane == 0 && tile != 0) {
      shared_number(own.aggregate).store(total, cuda::memory_order_relaxed);
      shared_number(own.state).store(1, cuda::memory_order_release);
    }
    unsigned before = 0;
    for (unsigned end = tile; end != 0;) {  // tiles 0 to end - 1 have not been added
      unsigned state = 0, sum = 0;
      if (lane < end) {
        note& other = notes[end - 1 - lane];
        while ((state = shared_number(other.state).load(cuda::memory_order_acquire)) == 0) {
        }
        sum = shared_number(state == 2 ? other.prefix : other.aggregate)
                  .load(cuda::memory_order_relaxed);
      }
      __syncwarp();
      const unsigned with_prefix = __ballot_sync(kAllLanes, state == 2);
      // The lanes up to the first with a prefix.
      const unsigned counting = with_prefix == 0 ? kAllLanes : (with_prefix ^ (with_prefix - 1));
      before += sum_of_warp((counting >> lane & 1) != 0 ? sum : 0);
      end = with_prefix != 0 ? 0 : end - kLanes;
    }
    if (lane == 0) {
      found = before;
      shared_number(own.prefix).store(before + total, cuda::memory_order_relaxed);
      shared_number(own.state).store(2, cuda::memory_order_release);
    }
  }
  __syncthreads();
  return found;
}

__global__ void single_launch(job array, note* notes, unsigned* tickets) {
  const unsigned tile = next_tile(tickets);
  const scanned_tile mine = scan_tile(array, tile);
  const unsigned before = before_block(notes, tile, mine.total);
  store_tile(array, tile, mine, before);
}

/// Shared memory has a column for each thread of the block: its fours are blockDim.x apart, which
/// makes the accesses to one's own column free of conflicts.
__global__ void __launch_bounds__(kMostThreads)
    single_launch_of_fours(job array, note* notes, unsigned* tickets) {
  extern __shared__ uint4 columns[];
  const unsigned tile = next_tile(tickets), lane = threadIdx.x % kLanes;
  const unsigned first_of_warp = threadIdx.x - lane;
  pause_if_late(array, tile);
  const part of_warp = part_of_warp(array, tile);
  uint4* const cells = columns;
  const auto at = [cells, first_of_warp](unsigned number) -> uint4& {  // four `number` of the part
    return cells[number % kFours * blockDim.x + first_of_warp + number / kFours];
  };
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r)
    at(r * kLanes + lane) = load_four(of_warp, r * kLanes + lane);
  __syncwarp();
  uint4 mine[kFours];
  unsigned sum = 0;
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) {
    mine[f] = columns[f * blockDim.x + threadIdx.x];
    for (unsigned* element : {&mine[f].x, &mine[f].y, &mine[f].z, &mine[f].w}) {
      const unsigned before = sum;
      sum += *element;
      *element = array.mode == kind::inclusive ? sum : before;
    }
  }
  const unsigned up_to = scan_warp(sum);
  const of_tile warps = scan_warps(__shfl_sync(kAllLanes, up_to, kLanes - 1));
  const unsigned before = before_block(notes, tile, warps.total) + warps.before + up_to - sum;
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f)
    columns[f * blockDim.x + threadIdx.x] = plus(mine[f], before);
  __syncwarp();
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r)
    store_four(of_warp, r * kLanes + lane, at(r * kLanes + lane));
}

}  // namespace

result scan(step version, kind mode, std::span<const std::uint32_t> values, unsigned threads,
            unsigned late) {
  const unsigned tiles = tiles_of(version, values.size(), threads);
  if (tiles == 0) return {};
  const std::size_t bytes = values.size_bytes();
  const auto in = on_device<unsigned>(values.size()), out = on_device<unsigned>(values.size());
  const auto totals = on_device<unsigned>(tiles);  // its first one counts tickets in one launch
  const auto notes = on_device<note>(tiles);
  CUDA_CHECK(cudaMemcpy(in.get(), values.data(), bytes, cudaMemcpyHostToDevice));
  const job array{in.get(), out.get(), values.size(), mode, late};
  const std::size_t shared =
      version == step::vectorized ? std::size_t{threads} * kFours * sizeof(uint4) : 0;
  if (shared != 0)
    CUDA_CHECK(cudaFuncSetAttribute(single_launch_of_fours,
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared)));
  result done;
  done.kernel_ms = time_kernel([&] {
    if (version == step::three_launches) {
      first_launch<<<tiles, threads>>>(array, totals.get());
      CUDA_CHECK(cudaGetLastError());
      second_launch<<<1, threads>>>(totals.get(), tiles);
      CUDA_CHECK(cudaGetLastError());
      third_launch<<<tiles, threads>>>(array, totals.get());
    } else {
      CUDA_CHECK(cudaMemsetAsync(notes.get(), 0, tiles * sizeof(note)));
      CUDA_CHECK(cudaMemsetAsync(totals.get(), 0, sizeof(unsigned)));
      const auto kernel = version == step::vectorized ? single_launch_of_fours : single_launch;
      kernel<<<tiles, threads, shared>>>(array, notes.get(), totals.get());
    }
    CUDA_CHECK(cudaGetLastError());
  });
  done.values.resize(values.size());
  CUDA_CHECK(cudaMemcpy(done.values.data(), out.get(), bytes, cudaMemcpyDeviceToHost));
  return done;
}

}  // namespace lab::device_scan
