// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: thousands of threads push into the same chains, and no entry gets lost.
// Edit:  this file, from TODO(1) to TODO(5). hash_table_gpu.hpp has the contract.
// Run:   scripts/lab run 15.4 -- --step locks     (then lock_free)
// Test:  scripts/lab test 15.4, and scripts/lab check 15.4, which finds hidden races
// Hints: scripts/lab hint 15.4                    Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::hash_table_gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
static_assert(kThreads % kWarp == 0, "a warp's 32 keys are neighbours");

/// Which chain a key belongs to; it depends on the key alone.
__device__ unsigned bucket_of(std::uint32_t key, unsigned buckets) { return key % buckets; }

// --- locks: the thread that has a bucket's lock may change its chain -----------------------------
// Requires a lock for each bucket, and that the lanes of a warp take turns.

__global__ void insert_with_locks(const std::uint32_t* keys, const std::uint32_t* values,
                                  std::size_t n, node* pool, node** heads, int* locks,
                                  unsigned buckets) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;

  // Counted from the warp's first lane: all lanes make the same number of rounds, even in the last
  // warp, in which some lanes no longer have a key.
  for (std::size_t first = thread - lane; first < n; first += stride) {
    const std::size_t i = first + lane;
    // TODO(1): if there is an i-th key: key and value go into entry i of the pool, which no other
    //          thread accesses, so it needs no lock.
    //          Then the lanes take turns, as in 15.1: the lane whose turn it is (if it has a key)
    //          locks the bucket, puts the entry at the front of its chain and unlocks the bucket.
    //          A __syncwarp(), which all lanes reach, ends each turn.
    // BEGIN SOLUTION
    const bool mine = i < n;
    unsigned bucket = 0;
    if (mine) {
      pool[i].key = keys[i];
      pool[i].value = values[i];
      bucket = bucket_of(keys[i], buckets);
    }
    for (unsigned turn = 0; turn < kWarp; ++turn) {
      if (mine && lane == turn) {
        acquire(&locks[bucket]);
        pool[i].next = heads[bucket];
        heads[bucket] = &pool[i];
        release(&locks[bucket]);
      }
      __syncwarp();  // outside the if: all lanes arrive, and the next turn begins
    }
    // END SOLUTION
  }
}

void make_empty(device_buffer<node*>& heads, device_buffer<int>& locks) {
  // TODO(2): all chains are empty: null pointers. All locks are free: 0. (cudaMemset. The buffers
  //          are filled with 0xFF bytes at first.)
  // BEGIN SOLUTION
  // STUB: throw not_written("step locks", 1);  // 1, 2 and 3 are this step
  CUDA_CHECK(cudaMemset(heads.data(), 0, heads.size_bytes()));
  CUDA_CHECK(cudaMemset(locks.data(), 0, locks.size_bytes()));
  // END SOLUTION
}

/// Turns the links of a copied table into pointers that the host can follow.
void relocate(copied& t, const node* device_pool) {
  // TODO(3): a link that pointed to the i-th node of device_pool has to point to the i-th node of
  //          t.pool. Null pointers stay null. There are links in two places.
  //          (Subtracting two device pointers is fine. The host must not dereference one.)
  // BEGIN SOLUTION
  const auto moved = [&](const node* link) {
    return link == nullptr ? nullptr : t.pool.data() + (link - device_pool);
  };
  for (node*& head : t.heads) head = moved(head);
  for (node& n : t.pool) n.next = moved(n.next);
  // END SOLUTION
}

// --- lock_free: one atomic exchange replaces the lock --------------------------------------------
// Requires that no thread follows a chain before the kernel has finished: between the exchange and
// the write of `next`, the chain is broken.

__global__ void insert_lock_free(const std::uint32_t* keys, const std::uint32_t* values,
                                 std::size_t n, entry* pool, std::uint32_t* heads,
                                 unsigned buckets) {
  // TODO(4): each thread strides through the keys. atomicExch() stores the entry's number in the
  //          head of the bucket and returns the number that was there: the entry that follows this
  //          one. No other thread gets the same number, so no entry is linked twice.
  // BEGIN SOLUTION
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const std::uint32_t key = keys[i];
    const std::uint32_t next =
        atomicExch(&heads[bucket_of(key, buckets)], static_cast<std::uint32_t>(i));
    pool[i] = {key, values[i], next};
  }
  // END SOLUTION
}

void make_empty(device_buffer<std::uint32_t>& heads) {
  // TODO(5): all chains are empty: each head is kEnd. cudaMemset sets bytes: which ones?
  //          When it is right: compare the kernel's time with that of step locks.
  // BEGIN SOLUTION
  // STUB: throw not_written("step lock_free", 4);  // 4 and 5 are this step
  static_assert(kEnd == 0xFFFFFFFF, "four bytes of 0xFF");
  CUDA_CHECK(cudaMemset(heads.data(), 0xFF, heads.size_bytes()));
  // END SOLUTION
}

// --- given: the host code of the steps -----------------------------------------------------------

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
          insert_lock_free<<<blocks_for(n, insert_lock_free), kThreads>>>(
              device_keys.data(), device_values.data(), n, pool.data(), heads.data(),
              static_cast<unsigned>(buckets));
      },
      [&] { make_empty(heads); });
  const auto whole_ms = static_cast<float>(whole.milliseconds());

  return {{heads.to_vector(), pool.to_vector()}, kernel_ms, whole_ms};  // nothing to relocate
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

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
