// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Atomic functions and <cuda/atomic>: what they store, what they return, and that threads which
// wait for each other with them finish. Runs on the CPU device and on a GPU.

#include <algorithm>
#include <cuda/atomic>
#include <numeric>

#include "conformance.hpp"

namespace {

using namespace conformance;

constexpr int kBlocks = 7, kThreads = 96, kTotal = kBlocks * kThreads;

__device__ int my_number() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

// --- each function, once, by definition ---------------------------------------------------------

// Applies a function twice to a cell: returns both old values and the final one.
template <class T>
struct outcome {
  T first, second, end;
};
#define TWICE(NAME, T, FUNCTION)                                         \
  struct NAME {                                                          \
    static __device__ outcome<T> of(three<T> x) {                        \
      __shared__ T cell[kThreads + 32];                                  \
      T* const mine = &cell[threadIdx.x];                                \
      *mine = x.a;                                                       \
      const T first = FUNCTION(mine, x.b), second = FUNCTION(mine, x.c); \
      return {first, second, *mine};                                     \
    }                                                                    \
  }

template <class Function, class T, class Change>
void expect_twice(const char* name, T start, T b, T c, Change change) {
  const outcome<T> r = one_on_device<Function>(three<T>{start, b, c});
  EXPECT_EQ(r.first, start) << name;
  EXPECT_EQ(r.second, change(start, b)) << name;
  EXPECT_EQ(r.end, change(change(start, b), c)) << name;
}

#define FAMILY(ID, T, NAME)           \
  TWICE(ID##_plain, T, NAME);         \
  TWICE(ID##_block, T, NAME##_block); \
  TWICE(ID##_system, T, NAME##_system);
#define EXPECT_FAMILY(ID, T, START, B, C, ...)                                      \
  do {                                                                              \
    const auto change = []([[maybe_unused]] T a, T b) -> T { return __VA_ARGS__; }; \
    expect_twice<ID##_plain, T>(#ID, START, B, C, change);                          \
    expect_twice<ID##_block, T>(#ID "_block", START, B, C, change);                 \
    expect_twice<ID##_system, T>(#ID "_system", START, B, C, change);               \
  } while (false)

using uint = unsigned int;
using ull = unsigned long long;
using ll = long long;

FAMILY(add_int, int, atomicAdd)
FAMILY(add_uint, uint, atomicAdd)
FAMILY(add_ull, ull, atomicAdd)
FAMILY(add_float, float, atomicAdd)
FAMILY(add_double, double, atomicAdd)
FAMILY(sub_int, int, atomicSub)
FAMILY(sub_uint, uint, atomicSub)
FAMILY(exch_int, int, atomicExch)
FAMILY(exch_uint, uint, atomicExch)
FAMILY(exch_ull, ull, atomicExch)
FAMILY(exch_float, float, atomicExch)
FAMILY(min_int, int, atomicMin)
FAMILY(min_uint, uint, atomicMin)
FAMILY(min_ll, ll, atomicMin)
FAMILY(min_ull, ull, atomicMin)
FAMILY(max_int, int, atomicMax)
FAMILY(max_uint, uint, atomicMax)
FAMILY(max_ll, ll, atomicMax)
FAMILY(max_ull, ull, atomicMax)
FAMILY(and_int, int, atomicAnd)
FAMILY(and_ull, ull, atomicAnd)
FAMILY(or_uint, uint, atomicOr)
FAMILY(or_ull, ull, atomicOr)
FAMILY(xor_int, int, atomicXor)
FAMILY(xor_ull, ull, atomicXor)
FAMILY(inc, uint, atomicInc)
FAMILY(dec, uint, atomicDec)

TEST(Atomics, FollowTheirDefinitions) {
  EXPECT_FAMILY(add_int, int, 0x7fffffff, 5, -3,
                static_cast<int>(static_cast<uint>(a) + static_cast<uint>(b)));
  EXPECT_FAMILY(add_uint, uint, 5U, 0xffffffffU, 2U, a + b);
  EXPECT_FAMILY(add_ull, ull, 1ULL << 40, ~0ULL, 1ULL << 33, a + b);
  EXPECT_FAMILY(add_float, float, 0.5F, 0.25F, -3.0F, a + b);
  EXPECT_FAMILY(add_double, double, 1.0, 1e-16, 3.0, a + b);
  EXPECT_FAMILY(sub_int, int, -5, 7, -9, a - b);
  EXPECT_FAMILY(sub_uint, uint, 5U, 7U, 1U, a - b);
  EXPECT_FAMILY(exch_int, int, 1, -2, -2, b);
  EXPECT_FAMILY(exch_uint, uint, 1U, 2U, 3U, b);
  EXPECT_FAMILY(exch_ull, ull, 1ULL, 1ULL << 60, 3ULL, b);
  EXPECT_FAMILY(exch_float, float, 1.5F, -2.5F, 3.5F, b);
  EXPECT_FAMILY(min_int, int, 3, -4, 0, std::min(a, b));
  EXPECT_FAMILY(min_uint, uint, 3U, 0x80000000U, 2U, std::min(a, b));
  EXPECT_FAMILY(min_ll, ll, 3LL, -(1LL << 40), 5LL, std::min(a, b));
  EXPECT_FAMILY(min_ull, ull, 1ULL << 50, ~0ULL, 1ULL << 40, std::min(a, b));
  EXPECT_FAMILY(max_int, int, -3, -4, 7, std::max(a, b));
  EXPECT_FAMILY(max_uint, uint, 3U, 0x80000000U, 2U, std::max(a, b));
  EXPECT_FAMILY(max_ll, ll, -3LL, -(1LL << 40), 1LL << 40, std::max(a, b));
  EXPECT_FAMILY(max_ull, ull, 1ULL << 50, ~0ULL, 1ULL << 40, std::max(a, b));
  EXPECT_FAMILY(and_int, int, 0x7f0f, 0x0ff0, 0x0303, a& b);
  EXPECT_FAMILY(and_ull, ull, ~0ULL, 0xff00ff00ff00ff00ULL, 0x1234567890abcdefULL, a & b);
  EXPECT_FAMILY(or_uint, uint, 1U, 2U, 0x80000000U, a | b);
  EXPECT_FAMILY(or_ull, ull, 1ULL, 1ULL << 63, 6ULL, a | b);
  EXPECT_FAMILY(xor_int, int, 0x5555, 0x7777, -1, a ^ b);
  EXPECT_FAMILY(xor_ull, ull, 1ULL, ~0ULL, 1ULL << 40, a ^ b);
  // atomicInc counts from 0 up to the value and starts again; atomicDec counts down to 0.
  const auto inc = [](uint old, uint end) -> uint { return old >= end ? 0U : old + 1; };
  const auto dec = [](uint old, uint end) -> uint { return old == 0 || old > end ? end : old - 1; };
  for (const uint start : {0U, 3U, 4U, 5U, 9U}) {
    EXPECT_EQ(one_on_device<inc_plain>(three<uint>{start, 4, 4}).end, inc(inc(start, 4), 4));
    EXPECT_EQ(one_on_device<inc_system>(three<uint>{start, 4, 4}).end, inc(inc(start, 4), 4));
    EXPECT_EQ(one_on_device<inc_block>(three<uint>{start, 4, 4}).second, inc(start, 4));
    EXPECT_EQ(one_on_device<dec_plain>(three<uint>{start, 4, 4}).end, dec(dec(start, 4), 4));
    EXPECT_EQ(one_on_device<dec_system>(three<uint>{start, 4, 4}).end, dec(dec(start, 4), 4));
    EXPECT_EQ(one_on_device<dec_block>(three<uint>{start, 4, 4}).second, dec(start, 4));
  }
}

template <class T>
__global__ void swap(T* cell, T* old) {
  old[0] = atomicCAS(cell, T{5}, T{6});  // fails: the cell holds 4
  old[1] = atomicCAS(cell, T{4}, T{7});
  if constexpr (sizeof(T) > 2) {  // the 16-bit one has no other forms
    old[2] = atomicCAS_block(cell, T{7}, T{8});
    old[3] = atomicCAS_system(cell, T{7}, T{9});
  }
}
template <class T>
void expect_swaps(const std::vector<T>& expected, T end) {
  const device_array<T> cell(1, T{4}), old(expected.size(), T{0});
  swap<T><<<1, 1>>>(cell.data(), old.data());
  EXPECT_EQ(old.to_host(), expected);
  EXPECT_EQ(cell.to_host()[0], end);
}
TEST(Atomics, CompareAndSwap) {
  expect_swaps<int>({4, 4, 7, 8}, 8);
  expect_swaps<unsigned int>({4, 4, 7, 8}, 8);
  expect_swaps<unsigned long long>({4, 4, 7, 8}, 8);
  expect_swaps<unsigned short>({4, 4}, 7);
}

// --- all threads at once ------------------------------------------------------------------------

struct totals {
  int add, low, high, bits_or;
  unsigned wrapped;
  unsigned long long sum;
  float halves;
  double quarters;
  float2 pair;
};
__global__ void all_add(totals* t, int* tickets) {
  const int n = my_number();
  tickets[atomicAdd(&t->add, 1)] = n;
  atomicMin(&t->low, 1000 - n);
  atomicMax(&t->high, 1000 - n);
  atomicOr(&t->bits_or, 1 << (n % 31));
  atomicInc(&t->wrapped, 9);
  atomicAdd(&t->sum, 1ULL << 33);
  atomicAdd(&t->halves, 0.5F);
  atomicAdd(&t->quarters, 0.25);
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  atomicAdd(&t->pair, make_float2(1, -2));
#endif
}

TEST(Atomics, LoseNothing) {
  in_every_order([] {
    const device_array<totals> t(1, totals{0, 1 << 30, -(1 << 30), 0, 0, 0, 0, 0, {0, 0}});
    const device_array<int> tickets(kTotal, -1);
    all_add<<<kBlocks, kThreads>>>(t.data(), tickets.data());
    const totals r = t.to_host()[0];
    EXPECT_EQ(r.add, kTotal);
    EXPECT_EQ(r.low, 1000 - kTotal + 1);
    EXPECT_EQ(r.high, 1000);
    EXPECT_EQ(r.bits_or, 0x7fffffff);
    EXPECT_EQ(r.wrapped, kTotal % 10U);
    EXPECT_EQ(r.sum, static_cast<unsigned long long>(kTotal) << 33);
    EXPECT_EQ(r.halves, 0.5F * kTotal);
    EXPECT_EQ(r.quarters, 0.25 * kTotal);
    EXPECT_EQ(r.pair.x, kTotal);
    EXPECT_EQ(r.pair.y, -2 * kTotal);
    std::vector<int> numbers = tickets.to_host(), expected(kTotal);
    std::sort(numbers.begin(), numbers.end());
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(numbers, expected);
  });
}

// --- waiting for each other ---------------------------------------------------------------------

enum class lock_kind { cas, exchange, cuda_exchange, cuda_weak, cuda_strong };

__global__ void locked(lock_kind kind, int* lock, int* counter) {
  const cuda::atomic_ref<int, cuda::thread_scope_device> ref(*lock);
  for (bool done = false; !done;) {  // the work inside: also right for lanes in lockstep
    int expected = 0;
    bool mine = false;
    switch (kind) {
      case lock_kind::cas:
        mine = atomicCAS(lock, 0, 1) == 0;
        break;
      case lock_kind::exchange:
        mine = atomicExch(lock, 1) == 0;
        break;
      case lock_kind::cuda_exchange:
        mine = ref.exchange(1, cuda::memory_order_acquire) == 0;
        break;
      case lock_kind::cuda_weak:
        mine = ref.compare_exchange_weak(expected, 1, cuda::std::memory_order_acquire);
        break;
      default:
        mine = ref.compare_exchange_strong(expected, 1, cuda::memory_order_acq_rel,
                                           cuda::memory_order_relaxed);
        break;
    }
    if (!mine) continue;
    __threadfence();
    const int seen = *static_cast<volatile int*>(counter);
#ifdef __CPU_DEVICE__
    __nanosleep(1);  // others run now: without the lock they would read the same number
#endif
    *static_cast<volatile int*>(counter) = seen + 1;
    __threadfence();
    atomicExch(lock, 0);
    done = true;
  }
}

TEST(Waiting, LocksOfEveryKindLetOneThreadIn) {
  in_every_order([] {
    for (const auto kind : {lock_kind::cas, lock_kind::exchange, lock_kind::cuda_exchange,
                            lock_kind::cuda_weak, lock_kind::cuda_strong}) {
      const device_array<int> lock(1, 0), counter(1, 0);
      locked<<<4, 64>>>(kind, lock.data(), counter.data());
      EXPECT_EQ(counter.to_host()[0], 256);
    }
  });
}

// Thread t of a block goes on when thread t + 1 has: in forward order, everybody waits at first.
__global__ void relay(int kind, int* baton, int* order) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  if (threadIdx.x == 0) flag.store(static_cast<int>(blockDim.x), cuda::memory_order_relaxed);
  __syncthreads();
  const int turn = static_cast<int>(threadIdx.x) + 1;
  if (kind == 0)
    while (flag.load(cuda::memory_order_acquire) != turn) {
    }
  else if (kind == 1)
    while (atomicAdd(baton, 0) != turn) {
    }
  else
    while (atomicOr(baton, 0) != turn) {
    }
  order[static_cast<int>(blockDim.x) - turn] = turn;
  __threadfence();
  if (kind == 0)
    flag.fetch_sub(1, cuda::memory_order_release);
  else
    atomicSub(baton, 1);
}

TEST(Waiting, ALoopOverAnAtomicLoadLetsTheOthersRun) {
  in_every_order([] {
    for (int kind = 0; kind < 3; ++kind) {
      const device_array<int> baton(1, 100), order(100, 0);
      relay<<<1, 100>>>(kind, baton.data(), order.data());
      std::vector<int> expected(100);
      std::iota(expected.rbegin(), expected.rend(), 1);
      EXPECT_EQ(order.to_host(), expected) << "kind " << kind;
    }
  });
}

// The last block to finish sees what all the others wrote.
__global__ void last_block_sums(int* parts, unsigned* finished, int* total) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
    last = atomicInc(finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += *static_cast<volatile int*>(&parts[b]);
    *total = sum;
  }
}

TEST(Waiting, TheLastBlockIsKnown) {
  in_every_order([] {
    const device_array<int> parts(50, 0), total(1, 0);
    const device_array<unsigned> finished(1, 0U);
    last_block_sums<<<50, 32>>>(parts.data(), finished.data(), total.data());
    EXPECT_EQ(total.to_host()[0], 50 * 51 / 2);
    EXPECT_EQ(finished.to_host()[0], 0U);  // ready for the next launch
  });
}

// --- <cuda/atomic> ------------------------------------------------------------------------------

__device__ cuda::atomic<int, cuda::thread_scope_device> global_counter;

__global__ void interface(int* wrong) {
  const auto check = [&](bool right, int bit) {
    if (!right) *wrong |= 1 << bit;
  };
  global_counter = 5;
  check(global_counter.fetch_add(3) == 5 && global_counter.load() == 8, 0);
  check(global_counter.fetch_sub(2) == 8 && global_counter == 6, 1);
  check(global_counter.fetch_max(9) == 6 && global_counter.fetch_max(1) == 9, 2);
  check(global_counter.fetch_min(4) == 9 && global_counter.fetch_min(7) == 4, 3);
  check(global_counter.fetch_and(6) == 4 && global_counter.fetch_or(3) == 4, 4);
  check(global_counter.fetch_xor(1) == 7 && global_counter.load() == 6, 5);
  check(++global_counter == 7 && global_counter++ == 7, 6);
  check(--global_counter == 7 && global_counter-- == 7, 7);
  check((global_counter += 10) == 16 && (global_counter -= 6) == 10, 8);
  check((global_counter |= 1) == 11 && (global_counter &= 9) == 9 && (global_counter ^= 8) == 1, 9);
  int expected = 2;
  check(!global_counter.compare_exchange_strong(expected, 7) && expected == 1, 10);
  check(global_counter.compare_exchange_strong(expected, 7) && global_counter == 7, 11);
  check(global_counter.exchange(3, cuda::std::memory_order_relaxed) == 7, 12);
  check(global_counter.is_lock_free(), 13);

  cuda::atomic<float, cuda::thread_scope_thread> number{1.5F};
  check(number.fetch_add(0.25F) == 1.5F && number == 1.75F, 14);
  int cells[4] = {1, 2, 3, 4};
  cuda::atomic<int*, cuda::thread_scope_thread> pointer{cells};
  check(pointer.fetch_add(2) == cells && *pointer.load() == 3, 15);
  double plain = 2;
  const cuda::atomic_ref<double, cuda::thread_scope_thread> ref(plain);
  check(ref.fetch_add(0.5) == 2 && plain == 2.5, 16);
  ref.store(7);
  check(plain == 7 && ref.exchange(8) == 7 && ref == 8, 17);
  unsigned char byte = 250;
  const cuda::atomic_ref<unsigned char, cuda::thread_scope_thread> small(byte);
  check(small.fetch_add(10) == 250 && byte == 4, 18);
  cuda::std::atomic<bool> flag{false};
  check(!flag.exchange(true) && flag.load(), 19);
}

TEST(CudaAtomic, HasTheInterfaceOfStdAtomic) {
  const device_array<int> wrong(1, 0);
  interface<<<1, 1>>>(wrong.data());
  EXPECT_EQ(wrong.to_host()[0], 0);
}

__global__ void waits_for_a_change(int* seen) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> state;
  if (threadIdx.x == 0) state.store(0);
  __syncthreads();
  if (threadIdx.x < 32) {
    state.wait(0);
    seen[threadIdx.x] = state.load();
  } else if (threadIdx.x == 64) {
    state.store(42);
    state.notify_all();
  }
}

TEST(CudaAtomic, WaitsForAChange) {
  in_every_order([] {
    const device_array<int> seen(32, 0);
    waits_for_a_change<<<1, 96>>>(seen.data());
    EXPECT_EQ(seen.to_host(), std::vector<int>(32, 42));
  });
}

TEST(CudaAtomic, WorksInHostCode) {
  cuda::atomic<int, cuda::thread_scope_system> counter{1};
  int expected = 5;
  EXPECT_FALSE(counter.compare_exchange_weak(expected, 9));
  EXPECT_EQ(expected, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(counter.load(), 1);
  EXPECT_EQ(counter.exchange(1), 1);
  EXPECT_EQ(counter.fetch_add(4), 1);
  EXPECT_EQ(counter.load(), 5);
}

}  // namespace
