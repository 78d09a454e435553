// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Only the lanes of a warp whose keys have the same bucket take turns. Without locks a thread has
// four neighbouring keys, and its exchanges come first; the grid has as many threads as that takes.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::hash_table_gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;

__device__ unsigned bucket_of(std::uint32_t key, unsigned buckets) { return key % buckets; }

__global__ void insert_with_locks(const std::uint32_t* keys, const std::uint32_t* values,
                                  std::size_t n, node* pool, node** heads, int* locks,
                                  unsigned buckets) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;

  for (std::size_t first = thread - lane; first < n; first += stride) {
    const std::size_t i = first + lane;
    unsigned bucket = 0;
    if (i < n) {
      pool[i].key = keys[i];
      pool[i].value = values[i];
      bucket = bucket_of(keys[i], buckets);
    }
    // Only lanes of the same bucket compete: of these one after the other, by their rank.
    const unsigned with_key = __ballot_sync(0xFFFF'FFFF, i < n);
    unsigned rank = kWarp;
    if (i < n) rank = __popc(__match_any_sync(with_key, bucket) & ((1U << lane) - 1));
    for (unsigned turn = 0; __any_sync(0xFFFF'FFFF, i < n && rank >= turn); ++turn) {
      for (unsigned other = 0; other < kWarp; ++other) {
        if (other == lane && i < n && rank == turn) {
          acquire(&locks[bucket]);
          pool[i].next = heads[bucket];
          heads[bucket] = &pool[i];
          release(&locks[bucket]);
        }
        __syncwarp();
      }
    }
  }
}

void make_empty(device_buffer<node*>& heads, device_buffer<int>& locks) {
  CUDA_CHECK(cudaMemset(heads.data(), 0, heads.size_bytes()));
  CUDA_CHECK(cudaMemset(locks.data(), 0, locks.size_bytes()));
}

void relocate(copied& t, const node* device_pool) {
  const auto moved = [&](node* link) {
    return link == nullptr ? nullptr : t.pool.data() + (link - device_pool);
  };
  for (node*& head : t.heads) head = moved(head);
  for (node& each : t.pool) each.next = moved(each.next);
}

__global__ void insert_lock_free(const std::uint32_t* keys, const std::uint32_t* values,
                                 std::size_t n, entry* pool, std::uint32_t* heads,
                                 unsigned buckets) {
  const std::size_t first = 4 * (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x);
  std::uint32_t next[4];
  for (unsigned k = 0; k < 4; ++k)
    if (first + k < n)
      next[k] = atomicExch(&heads[bucket_of(keys[first + k], buckets)],
                           static_cast<std::uint32_t>(first + k));
  for (unsigned k = 0; k < 4; ++k)
    if (first + k < n) pool[first + k] = entry{keys[first + k], values[first + k], next[k]};
}

void make_empty(device_buffer<std::uint32_t>& heads) {
  CUDA_CHECK(cudaMemset(heads.data(), 0xFF, heads.size_bytes()));
}

/// As many blocks of kThreads threads as n keys need, but no more than the device runs at once.
template <class Kernel>
unsigned blocks_for(std::size_t n, Kernel kernel) {
  int blocks_per_processor = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_processor, kernel,
                                                           static_cast<int>(kThreads), 0));
  const std::size_t resident = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                               static_cast<std::size_t>(blocks_per_processor);
  return static_cast<unsigned>(std::min(resident, (n + kThreads - 1) / kThreads));
}

result build_with_locks(std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
                        std::size_t buckets) {
  const std::size_t n = keys.size();
  const host_timer whole;
  const device_buffer device_keys(keys), device_values(values);
  device_buffer<node> pool(n);
  device_buffer<node*> heads(buckets);
  device_buffer<int> locks(buckets);
  const float kernel_ms = time_kernel(
      [&] {
        if (n != 0)
          insert_with_locks<<<blocks_for(n, insert_with_locks), kThreads>>>(
              device_keys.data(), device_values.data(), n, pool.data(), heads.data(), locks.data(),
              static_cast<unsigned>(buckets));
      },
      [&] { make_empty(heads, locks); });
  const auto whole_ms = static_cast<float>(whole.milliseconds());

  copied on_host = copy_to_host(pool, heads);
  relocate(on_host, pool.data());
  return {numbered(on_host), kernel_ms, whole_ms};
}

result build_lock_free(std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
                       std::size_t buckets) {
  const std::size_t n = keys.size();
  const host_timer whole;
  const device_buffer device_keys(keys), device_values(values);
  device_buffer<entry> pool(n);
  device_buffer<std::uint32_t> heads(buckets);
  const float kernel_ms = time_kernel(
      [&] {
        if (n != 0)
          insert_lock_free<<<static_cast<unsigned>((n + 4 * kThreads - 1) / (4 * kThreads)),
                             kThreads>>>(device_keys.data(), device_values.data(), n, pool.data(),
                                         heads.data(), static_cast<unsigned>(buckets));
      },
      [&] { make_empty(heads); });
  const auto whole_ms = static_cast<float>(whole.milliseconds());

  return {{heads.to_vector(), pool.to_vector()}, kernel_ms, whole_ms};  // nothing to relocate
}

}  // namespace

result build(step version, std::span<const std::uint32_t> keys,
             std::span<const std::uint32_t> values, std::size_t buckets) {
  refuse_if(keys.size() != values.size(), "hash_table_gpu: the numbers of keys (", keys.size(),
            ") and of values (", values.size(), ") differ; each key needs one value");
  refuse_if(buckets == 0, "hash_table_gpu: a table needs at least one bucket");
  refuse_if(keys.size() > kEnd || buckets > kEnd, "hash_table_gpu: at most ", kEnd,
            " keys and as many buckets are possible");
  return version == step::locks ? build_with_locks(keys, values, buckets)
                                : build_lock_free(keys, values, buckets);
}

}  // namespace lab::hash_table_gpu
