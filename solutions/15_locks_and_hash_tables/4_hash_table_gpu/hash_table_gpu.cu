// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: thousands of threads push into the same chains, and no entry gets lost.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) to TODO(10) are a bonus. hash_table_gpu.hpp
//        says what is asked for.
// Run:   scripts/lab run 15.4 -- --step locks     (then lock_free, open_addressing)
// Test:  scripts/lab test 15.4, and scripts/lab check 15.4: what luck hides, the checks find
// Hints: scripts/lab hint 15.4                    Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::hash_table_gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
static_assert(kThreads % kWarp == 0, "a warp's 32 keys are neighbours");

/// Which chain a key belongs to: of the key, and of nothing else.
__device__ unsigned bucket_of(std::uint32_t key, unsigned buckets) { return key % buckets; }

// --- locks: whoever has the bucket's lock may change its chain -----------------------------------
// Requires a lock for each bucket, and that the lanes of a warp take turns.

__global__ void insert_with_locks(const std::uint32_t* keys, const std::uint32_t* values,
                                  std::size_t n, node* pool, node** heads, int* locks,
                                  unsigned buckets) {
  const unsigned lane = threadIdx.x % kWarp;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;

  // Counted from the warp's first lane: all lanes make the same number of rounds, also in the last
  // warp, some of whose lanes have no key any more.
  for (std::size_t first = thread - lane; first < n; first += stride) {
    const std::size_t i = first + lane;
    // TODO(1): if there is an i-th key: key and value go into entry i of the pool, which no other
    //          thread touches, so it needs no lock.
    //          Then the lanes take turns, as in 15.1: whose turn it is (and who has a key) locks
    //          the bucket, puts the entry to the front of its chain and unlocks the bucket.
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
  //          have come filled with 0xFF bytes.)
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
  //          (Subtracting two device pointers is fine. Following one is not: this is the host.)
  // BEGIN SOLUTION
  const auto moved = [&](const node* link) {
    return link == nullptr ? nullptr : t.pool.data() + (link - device_pool);
  };
  for (node*& head : t.heads) head = moved(head);
  for (node& n : t.pool) n.next = moved(n.next);
  // END SOLUTION
}

// --- lock_free: one atomic exchange does what the lock was for -----------------------------------
// Requires that nobody walks along a chain before the kernel is over: between the exchange and the
// write of `next`, the chain is cut in two.

__global__ void insert_lock_free(const std::uint32_t* keys, const std::uint32_t* values,
                                 std::size_t n, entry* pool, std::uint32_t* heads,
                                 unsigned buckets) {
  // TODO(4): each thread strides through the keys. atomicExch() puts the entry's number into the
  //          head of the bucket and gives back the number that was there: that is what follows
  //          this entry. Nobody else gets the same number, so nobody else writes the same link.
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

// --- open_addressing: the keys themselves are in the table, and can be searched for --------------
// A key and its value are one slot of 64 bits: one atomicCAS writes both. kWindow slots that are
// next to each other are a window, 32 bytes in one sector of memory, and a tile of kWindow threads
// looks at all of them in one access. Of a key that is in the table, this is always true:
//
//      home         second         …   its own        The windows of its search, from home_of() on
//      [k|k|x|k]    [k|x|k|k]          [k|KEY|0|0]    in steps of step_of(), have no empty slot (0)
//                                                     before its own: they are full of other keys
//                                                     (k) and of slots that have been erased (x).
//
// So who comes to an empty slot knows: the key is not in the table.

void make_empty(device_buffer<slot>& table) {
  // TODO(6, bonus): all slots are kEmpty. (cudaMemset)
  // BEGIN SOLUTION
  // STUB: throw not_written("step open_addressing", 6);  // 6 to 10 are this step
  static_assert(kEmpty == ~slot{0}, "eight bytes of 0xFF");
  CUDA_CHECK(cudaMemset(table.data(), 0xFF, table.size_bytes()));
  // END SOLUTION
}

/// Each thread of a tile brings a key, and all of them call work(threads, i, key) for one key after
/// the other: i is its number. So neighbouring threads load neighbouring keys.
template <class Work>
__device__ void for_each_key(const std::uint32_t* keys, std::size_t n, const Work& work) {
  const tile threads =
      cooperative_groups::tiled_partition<kWindow>(cooperative_groups::this_thread_block());
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t first = thread - threads.thread_rank(); first < n; first += stride) {
    const std::size_t i = first + threads.thread_rank();
    // TODO(7, bonus): load the i-th key; a thread that has none takes kNone instead, and stays: the
    //          tile needs all its threads. In kWindow turns, threads.shfl() gives everybody the key
    //          of the thread whose turn it is; call work() with it and its number, unless it is
    //          kNone.
    // BEGIN SOLUTION
    const std::uint32_t mine = i < n ? keys[i] : kNone;
    for (unsigned turn = 0; turn < kWindow; ++turn) {
      const std::uint32_t key = threads.shfl(mine, turn);
      if (key != kNone) work(threads, first + turn, key);  // all threads of the tile, or none
    }
    // END SOLUTION
  }
}

/// Puts the key into the table, or gives it the larger value if it is there. False: the table is
/// full. Called by all threads of a tile, with the same key.
__device__ bool insert(const tile& threads, slot* slots, unsigned windows, std::uint32_t key,
                       std::uint32_t value) {
  // TODO(8, bonus): probe the windows of the search, each slot_of() a window by its thread
  //          (look_at()). threads.ballot(condition) has a 1 for each thread of the tile whose
  //          condition is true: is the key there? Then atomicMax() on its slot: equal keys, so the
  //          larger value wins.
  //          Is a slot empty? Then the first thread that has one tries to claim it by atomicCAS(),
  //          and tells the others (shfl()) what was there. If it was not empty any more, another
  //          tile was faster, perhaps with the same key: look at the *same* window again.
  //          Neither: on to the next window. After all windows: the table is full.
  // BEGIN SOLUTION
  const unsigned step = step_of(key, windows);
  unsigned window = home_of(key, windows);
  for (unsigned probed = 0; probed < windows;) {
    slot& mine = slot_of(threads, slots, window);
    const slot seen = look_at(mine);
    if (threads.any(key_of(seen) == key)) {
      if (key_of(seen) == key) atomicMax(&mine, pack(key, value));
      return true;
    }
    const unsigned empty = threads.ballot(seen == kEmpty);
    if (empty == 0) {
      window = window_after(window, step, windows);
      ++probed;
      continue;
    }
    const unsigned first = __ffs(empty) - 1;
    slot before = kErased;
    if (threads.thread_rank() == first) before = atomicCAS(&mine, kEmpty, pack(key, value));
    if (threads.shfl(before, first) == kEmpty) return true;
    // Another tile was faster, perhaps with the same key: this window again.
  }
  // END SOLUTION
  return false;
}

struct hit {
  slot* place;
  slot seen;  ///< kEmpty: the key is not there, and `place` is of no use
};

/// Looks for the key. Called by all threads of a tile, which all get the same answer.
__device__ hit search(const tile& threads, slot* slots, unsigned windows, std::uint32_t key) {
  // TODO(9, bonus): as in TODO(8), but nothing is written. The thread that sees the key tells the
  //          others what it saw. When can the search end without it? An erased slot is not empty.
  // BEGIN SOLUTION
  const unsigned step = step_of(key, windows);
  unsigned window = home_of(key, windows);
  for (unsigned probed = 0; probed < windows; ++probed) {
    const slot seen = look_at(slot_of(threads, slots, window));
    const unsigned there = threads.ballot(key_of(seen) == key);
    if (there != 0) {
      const unsigned owner = __ffs(there) - 1;
      return {&slots[std::size_t{window} * kWindow + owner], threads.shfl(seen, owner)};
    }
    if (threads.any(seen == kEmpty)) break;
    window = window_after(window, step, windows);
  }
  // END SOLUTION
  return {nullptr, kEmpty};
}

__global__ void insert_all(const std::uint32_t* keys, const std::uint32_t* values, std::size_t n,
                           slot* slots, unsigned windows, unsigned long long* without_slot) {
  for_each_key(keys, n, [&](const tile& threads, std::size_t i, std::uint32_t key) {
    if (!insert(threads, slots, windows, key, values[i]) && threads.thread_rank() == 0)
      atomicAdd(without_slot, 1ULL);
  });
}

__global__ void find_all(const std::uint32_t* keys, std::size_t n, slot* slots, unsigned windows,
                         std::uint32_t* values) {
  for_each_key(keys, n, [&](const tile& threads, std::size_t i, std::uint32_t key) {
    const hit found = search(threads, slots, windows, key);
    if (threads.thread_rank() == 0) values[i] = value_of(found.seen);  // of kEmpty: kNone
  });
}

__global__ void erase_all(const std::uint32_t* keys, std::size_t n, slot* slots, unsigned windows) {
  for_each_key(keys, n, [&](const tile& threads, std::size_t, std::uint32_t key) {
    const hit found = search(threads, slots, windows, key);
    // TODO(10, bonus): one thread of the tile marks the slot as erased, if there is one. Why not as
    //           empty? Other tiles look at the slot meanwhile: write it by atomicExch().
    //           When it works, compare --load 0.5 with --load 0.95.
    // BEGIN SOLUTION
    if (found.seen != kEmpty && threads.thread_rank() == 0) atomicExch(found.place, kErased);
    // END SOLUTION
  });
}

// --- given: the host's side of the steps ---------------------------------------------------------

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

/// Applies one batch to the table. Measures the kernel if `kernel_ms` is not null.
std::vector<std::uint32_t> apply_one(const batch& b, device_buffer<slot>& table, float* kernel_ms) {
  const std::size_t n = b.keys.size();
  if (n == 0) return {};
  const auto windows = static_cast<unsigned>(table.size() / kWindow);
  const std::span<const std::uint32_t> host_keys(b.keys), host_values(b.values);
  const device_buffer keys(host_keys), values(host_values);
  device_buffer<std::uint32_t> found(b.what == operation::find ? n : 0);
  device_buffer<unsigned long long> without_slot(1);
  const auto count_anew = [&] {
    CUDA_CHECK(cudaMemset(without_slot.data(), 0, without_slot.size_bytes()));
  };
  const auto launch = [&] {
    switch (b.what) {
      case operation::insert:
        insert_all<<<blocks_for(n, insert_all), kThreads>>>(
            keys.data(), values.data(), n, table.data(), windows, without_slot.data());
        break;
      case operation::find:
        find_all<<<blocks_for(n, find_all), kThreads>>>(keys.data(), n, table.data(), windows,
                                                        found.data());
        break;
      case operation::erase:
        erase_all<<<blocks_for(n, erase_all), kThreads>>>(keys.data(), n, table.data(), windows);
        break;
    }
  };
  count_anew();
  if (kernel_ms == nullptr) {
    launch();
    CUDA_CHECK(cudaGetLastError());
  } else if (b.what == operation::find) {
    *kernel_ms = time_kernel(launch);
  } else {
    // The table as it is now, to which a program applies the batch many times.
    device_buffer<slot> now(table.size());
    const auto copy = [](device_buffer<slot>& to, const device_buffer<slot>& from) {
      CUDA_CHECK(cudaMemcpy(to.data(), from.data(), to.size_bytes(), cudaMemcpyDeviceToDevice));
    };
    copy(now, table);
    *kernel_ms = time_kernel(launch, [&] {
      copy(table, now);
      count_anew();
    });
  }
  const auto lost = without_slot.to_vector()[0];
  refuse_if(lost != 0, "hash_table_gpu: the table of ", table.size(),
            " slots is full; keys that found none: ", lost,
            ". Give it more slots; those of erased keys stay in use");
  return found.to_vector();
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result build(step which, std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
             std::size_t buckets) {
  refuse_if(keys.size() != values.size(), "hash_table_gpu: the numbers of keys (", keys.size(),
            ") and of values (", values.size(), ") differ; each key needs one value");
  refuse_if(buckets == 0, "hash_table_gpu: a table needs at least one bucket");
  refuse_if(keys.size() > kEnd || buckets > kEnd, "hash_table_gpu: at most ", kEnd,
            " keys and as many buckets are possible");
  refuse_if(which == step::open_addressing,
            "hash_table_gpu: step open_addressing has no chains; apply_batches() makes its table");
  return which == step::locks ? build_with_locks(keys, values, buckets)
                              : build_lock_free(keys, values, buckets);
}

applied apply_batches(std::size_t slots, std::span<const batch> batches) {
  refuse_wrong(slots, batches);
  device_buffer<slot> table(std::size_t{windows_for(slots)} * kWindow);
  make_empty(table);
  applied result;
  for (const batch& b : batches)
    result.found.push_back(
        apply_one(b, table, &b == &batches.back() ? &result.kernel_ms : nullptr));
  return result;
}

}  // namespace lab::hash_table_gpu
