// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One pass over the elements: a block of one warp keeps them and its votes in registers, waits for
// the number of elements that were kept before, and passes it on. partition counts them beforehand.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::compaction {
namespace {

namespace cg = cooperative_groups;
using shared_count = cuda::atomic_ref<count, cuda::thread_scope_device>;

constexpr unsigned kRounds = 8;
constexpr unsigned kOfBlock = kRounds * kLanes;

/// All are 0 at first.
struct progress {
  count kept;     ///< by all blocks
  unsigned next;  ///< the number of the next block to start
};

__global__ void keep_in_any_order(const int* values, std::size_t n, int limit, int* out,
                                  progress* all) {
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = (std::size_t{blockIdx.x} * kRounds + r) * kLanes + threadIdx.x;
    const unsigned votes = __ballot_sync(kAllLanes, i < n && values[i] < limit);
    if ((votes >> threadIdx.x & 1) == 0) continue;
    const cg::coalesced_group kept = cg::coalesced_threads();
    count position = 0;
    if (kept.thread_rank() == 0) position = atomicAdd(&all->kept, count{kept.size()});
    out[kept.shfl(position, 0) + kept.thread_rank()] = values[i];
  }
}

__global__ void count_all(const int* values, std::size_t n, int limit, count* kept) {
  unsigned mine = 0;
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = (std::size_t{blockIdx.x} * kRounds + r) * kLanes + threadIdx.x;
    mine += static_cast<unsigned>(__popc(__ballot_sync(kAllLanes, i < n && values[i] < limit)));
  }
  if (threadIdx.x == 0) atomicAdd(kept, count{mine});
}

/// chain[b]: one more than the number of elements that blocks 0 to b - 1 keep; 0: not known yet.
/// `kept` points to the number of all kept elements if the others are to follow them, and is null
/// if not.
__global__ void keep_in_order(const int* values, std::size_t n, int limit, int* out, progress* all,
                              count* chain, const count* kept) {
  unsigned block = 0;
  if (threadIdx.x == 0) block = atomicAdd(&all->next, 1U);
  block = __shfl_sync(kAllLanes, block, 0);

  int mine[kRounds];
  unsigned votes[kRounds], of_block = 0;
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = std::size_t{block} * kOfBlock + r * kLanes + threadIdx.x;
    mine[r] = i < n ? values[i] : 0;
    votes[r] = __ballot_sync(kAllLanes, i < n && mine[r] < limit);
    of_block += static_cast<unsigned>(__popc(votes[r]));
  }

  count position = 0;
  if (threadIdx.x == 0) {
    const shared_count before(chain[block]);
    while (block > 0 && (position = before.load(cuda::memory_order_relaxed)) == 0) __nanosleep(50);
    if (block > 0) --position;
    shared_count(chain[block + 1]).store(position + of_block + 1, cuda::memory_order_relaxed);
    if (block + 1 == gridDim.x) all->kept = position + of_block;
  }
  position = __shfl_sync(kAllLanes, position, 0);

#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = std::size_t{block} * kOfBlock + r * kLanes + threadIdx.x;
    const count before =
        position + static_cast<unsigned>(__popc(votes[r] & ((1U << threadIdx.x) - 1)));
    if ((votes[r] >> threadIdx.x & 1) != 0)
      out[before] = mine[r];
    else if (kept != nullptr && i < n)
      out[*kept + i - before] = mine[r];
    position += static_cast<unsigned>(__popc(votes[r]));
  }
}

}  // namespace

result compact(step version, std::span<const std::int32_t> values, std::int32_t limit) {
  const std::size_t n = values.size();
  result done;
  if (n == 0) return done;
  const auto blocks = static_cast<unsigned>((n + kOfBlock - 1) / kOfBlock);
  const device_buffer device_values(values);
  device_buffer<int> out(n);
  device_buffer<progress> all(1);
  device_buffer<count> chain(blocks + 1), total(1);
  const auto zero = [](auto& buffer) {
    CUDA_CHECK(cudaMemsetAsync(buffer.data(), 0, buffer.size_bytes(), nullptr));
  };
  done.kernel_ms = time_kernel([&] {
    zero(all);
    const int* const from = device_values.data();
    if (version == step::any_order) {
      keep_in_any_order<<<blocks, kLanes>>>(from, n, limit, out.data(), all.data());
      return;
    }
    zero(chain);
    zero(total);
    if (version == step::partition) {
      count_all<<<blocks, kLanes>>>(from, n, limit, total.data());
      CUDA_CHECK(cudaGetLastError());
    }
    keep_in_order<<<blocks, kLanes>>>(from, n, limit, out.data(), all.data(), chain.data(),
                                      version == step::partition ? total.data() : nullptr);
  });
  done.kept = all.to_vector()[0].kept;
  done.values.resize(version == step::partition ? n : done.kept);
  CUDA_CHECK(cudaMemcpy(done.values.data(), out.data(), done.values.size() * sizeof(int),
                        cudaMemcpyDefault));
  return done;
}

}  // namespace lab::compaction
