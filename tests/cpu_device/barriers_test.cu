// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// <cuda/barrier>, <cuda/pipeline> and the pipeline primitives: arriving and waiting in two steps,
// and copies that a barrier or a pipeline finishes. Runs on the CPU device and on a GPU.

#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#include <algorithm>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/chrono>
#include <new>
#include <utility>

#include "conformance.hpp"

#ifdef __NVCC__  // a barrier in shared memory has a constructor, and does not need it
#pragma nv_diag_suppress static_var_with_dynamic_init
#endif

namespace {

using namespace conformance;
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kThreads = 96;

// Round by round, each thread takes the value of its neighbour, so that after n rounds it has the
// value that was n elements further on.
__global__ void rotate(int* data, int rounds) {
  __shared__ int values[kThreads];
  __shared__ block_barrier written, read;
  const int t = static_cast<int>(threadIdx.x);
  if (t == 0) {
    init(&written, kThreads);
    init(&read, kThreads);
  }
  __syncthreads();
  int mine = data[t];
  for (int i = 0; i < rounds; ++i) {
    values[t] = mine;
    block_barrier::arrival_token token = written.arrive();
    const int next = (t + 1) % kThreads;  // work that needs no other thread
    written.wait(std::move(token));
    mine = values[next];
    read.arrive_and_wait();
  }
  data[t] = mine;
}

std::vector<int> count_from(int first, int n = kThreads) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = first + i;
  return v;
}

TEST(Barrier, SeparatesWhatIsBeforeArrivingFromWhatIsAfterWaiting) {
  in_every_order([] {
    const device_array<int> data(count_from(1000));
    rotate<<<1, kThreads>>>(data.data(), 7);
    std::vector<int> expected = count_from(1000);
    std::rotate(expected.begin(), expected.begin() + 7, expected.end());
    EXPECT_EQ(data.to_host(), expected);
  });
}

// The first warp only gives, and does not wait; the others take.
__global__ void hand_over(int* data) {
  __shared__ int value;
  __shared__ block_barrier given;
  if (threadIdx.x == 0) init(&given, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 17) value = 4711;
    if (threadIdx.x % 2 == 0) static_cast<void>(given.arrive(2));
  } else {
    given.wait_parity(false);
    data[threadIdx.x] = value;
  }
}

TEST(Barrier, IsWaitedForByThreadsThatDoNotArrive) {
  in_every_order([] {
    const device_array<int> data(kThreads, 0);
    hand_over<<<1, kThreads>>>(data.data());
    std::vector<int> expected(kThreads, 4711);
    std::fill(expected.begin(), expected.begin() + 32, 0);
    EXPECT_EQ(data.to_host(), expected);
  });
}

// Thread 0 arrives only after all others have waited in vain.
__global__ void wait_in_vain_at_first(int* data, int* in_vain) {
  namespace chrono = cuda::std::chrono;
  __shared__ int value, tried;
  __shared__ block_barrier all;
  if (threadIdx.x == 0) {
    init(&all, blockDim.x);
    tried = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    while (atomicAdd(&tried, 0) < static_cast<int>(blockDim.x) - 1) continue;
    value = 4711;
    all.arrive_and_wait();
  } else {
    block_barrier::arrival_token token = all.arrive(), same = token;
    const auto soon = chrono::system_clock::now() + chrono::microseconds(3);
    if (!all.try_wait_for(static_cast<block_barrier::arrival_token&&>(same),
                          chrono::nanoseconds(0)) &&
        !all.try_wait_parity_for(false, chrono::microseconds(2)) &&
        !all.try_wait_parity_until(false, soon) &&
        all.try_wait_parity_for(true, chrono::seconds(9)))
      atomicAdd(in_vain, 1);
    atomicAdd(&tried, 1);
    same = token;
    while (!all.try_wait_until(static_cast<block_barrier::arrival_token&&>(same),
                               chrono::system_clock::now() + chrono::milliseconds(1)))
      same = token;
    data[threadIdx.x] = value;
  }
}

TEST(Barrier, IsWaitedForForALimitedTime) {
  in_every_order([] {
    const device_array<int> data(kThreads, -1), in_vain(1, 0);
    wait_in_vain_at_first<<<1, kThreads>>>(data.data(), in_vain.data());
    std::vector<int> expected(kThreads, 4711);
    expected[0] = -1;
    EXPECT_EQ(data.to_host(), expected);
    EXPECT_EQ(in_vain.to_host(), std::vector<int>{kThreads - 1});
  });
}

// Thread t leaves after t rounds; in each round those who stay add one.
__global__ void leave_one_by_one(int* sum) {
  __shared__ block_barrier all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  for (unsigned round = 0; round < threadIdx.x; ++round) {
    atomicAdd(&sum[round], 1);
    all.arrive_and_wait();
    if (sum[round] != static_cast<int>(blockDim.x - 1 - round)) atomicAdd(&sum[kThreads], 1);
  }
  all.arrive_and_drop();
}

TEST(Barrier, ExpectsNoLongerWhoDropped) {
  in_every_order([] {
    const device_array<int> sum(kThreads + 1, 0);
    leave_one_by_one<<<1, kThreads>>>(sum.data());
    std::vector<int> expected(kThreads + 1, 0);
    for (int i = 0; i < kThreads - 1; ++i) expected[static_cast<std::size_t>(i)] = kThreads - 1 - i;
    EXPECT_EQ(sum.to_host(), expected);
  });
}

// Every round has two phases: an even one and an odd one.
__global__ void wait_for_even_phases(int* rounds, int* wrong) {
  __shared__ block_barrier all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  for (int i = 0; i < 5; ++i) {
    if (threadIdx.x == 0) ++*rounds;
    static_cast<void>(all.arrive());
    all.wait_parity(false);
    if (*rounds != i + 1) atomicAdd(wrong, 1);
    static_cast<void>(all.arrive());
    all.wait_parity(true);
  }
}

TEST(Barrier, HasPhasesOfBothParitiesInTurn) {
  in_every_order([] {
    const device_array<int> rounds(1, 0), wrong(1, 0);
    wait_for_even_phases<<<1, kThreads>>>(rounds.data(), wrong.data());
    EXPECT_EQ(wrong.to_host(), std::vector<int>{0});
    EXPECT_EQ(rounds.to_host(), std::vector<int>{5});
  });
}

struct count_phases {
  int* phases;
  __host__ __device__ void operator()() const { ++*phases; }
};

__global__ void complete(int* phases) {
  using counting = cuda::barrier<cuda::thread_scope_block, count_phases>;
  __shared__ alignas(counting) char storage[sizeof(counting)];
  auto* const all = reinterpret_cast<counting*>(storage);
  if (threadIdx.x == 0) new (all) counting(blockDim.x, count_phases{phases});
  __syncthreads();
  for (int i = 0; i < 3; ++i) {
    all->arrive_and_wait();
    if (*phases != i + 1) phases[1] = 1;
    all->arrive_and_wait();
    if (threadIdx.x == 0) --*phases;
    __syncthreads();
  }
}

TEST(Barrier, RunsItsCompletionBeforeAnybodyGoesOn) {
  in_every_order([] {
    const device_array<int> phases(2, 0);
    complete<<<1, kThreads>>>(phases.data());
    EXPECT_EQ(phases.to_host(), (std::vector<int>{3, 0}));
  });
}

// --- copies -------------------------------------------------------------------------------------

enum class how { each_thread, group, aligned_group };

template <how How>
__global__ void copy_reversed(const int* in, int* out, int n) {
  extern __shared__ int staged[];
  __shared__ block_barrier done;
  const cg::thread_block block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&done, block.size());
  block.sync();
  const auto bytes = sizeof(int) * static_cast<std::size_t>(n);
  if constexpr (How == how::each_thread) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
      cuda::memcpy_async(&staged[i], &in[i], sizeof(int), done);
  } else if constexpr (How == how::group) {
    cuda::memcpy_async(block, staged, in, bytes, done);
  } else {
    cuda::memcpy_async(block, staged, in, cuda::aligned_size_t<4>(bytes), done);
  }
  done.arrive_and_wait();
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    out[i] = staged[n - 1 - i];
}

template <how How>
void expect_reversed() {
  in_every_order([] {
    for (const int n : {1, 4, 5, 95, 96, 97, 1021}) {
      const device_array<int> in(count_from(5, n)), out(static_cast<std::size_t>(n), -1);
      copy_reversed<How>
          <<<1, kThreads, sizeof(int) * static_cast<std::size_t>(n)>>>(in.data(), out.data(), n);
      std::vector<int> expected = count_from(5, n);
      std::reverse(expected.begin(), expected.end());
      EXPECT_EQ(out.to_host(), expected) << n;
    }
  });
}

TEST(AsynchronousCopy, OfEachThreadIsDoneAfterTheBarrier) { expect_reversed<how::each_thread>(); }
TEST(AsynchronousCopy, OfAGroupIsDoneAfterTheBarrier) {
  expect_reversed<how::group>();
  expect_reversed<how::aligned_group>();
}

// Sums of tiles that a pipeline copies to shared memory, two stages ahead.
constexpr int kTile = 64, kStages = 3;

__global__ void sum_tiles_alone(const int* in, int* sums, int tiles) {
  __shared__ int staged[kStages][kTile];
  auto pipe = cuda::make_pipeline();
  const auto t = threadIdx.x;
  int sum = 0;
  for (int ahead = 0, i = 0; i < tiles; ++i) {
    for (; ahead < tiles && ahead < i + kStages; ++ahead) {
      pipe.producer_acquire();
      cuda::memcpy_async(&staged[ahead % kStages][t], &in[ahead * kTile + static_cast<int>(t)],
                         cuda::aligned_size_t<4>(4), pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += staged[i % kStages][t];
    pipe.consumer_release();
  }
  sums[t] = sum;
}

enum class roles { all_do_both, first_produce, said_by_each };

template <roles Roles>
__global__ void sum_tiles(const int* in, int* sums, int tiles) {
  __shared__ int staged[kStages][kTile];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  const cg::thread_block block = cg::this_thread_block();
  constexpr unsigned kProducers = 32;
  const bool produces = Roles == roles::all_do_both || block.thread_rank() < kProducers;
  const bool consumes = Roles == roles::all_do_both || !produces;
  auto pipe = [&] {
    if constexpr (Roles == roles::all_do_both)
      return cuda::make_pipeline(block, &state);
    else if constexpr (Roles == roles::first_produce)
      return cuda::make_pipeline(block, &state, std::size_t{kProducers});
    else
      return cuda::make_pipeline(
          block, &state, produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
  }();
  const unsigned copiers = Roles == roles::all_do_both ? blockDim.x : kProducers;
  const unsigned summers = Roles == roles::all_do_both ? blockDim.x : blockDim.x - kProducers;
  const unsigned rank =
      Roles == roles::all_do_both || produces ? threadIdx.x : threadIdx.x - kProducers;
  int sum = 0;
  for (int ahead = 0, i = 0; i < tiles; ++i) {
    if (produces)
      for (; ahead < tiles && ahead < i + kStages; ++ahead) {
        pipe.producer_acquire();
        for (unsigned k = rank; k < kTile; k += copiers)
          cuda::memcpy_async(&staged[ahead % kStages][k], &in[ahead * kTile + static_cast<int>(k)],
                             sizeof(int), pipe);
        pipe.producer_commit();
      }
    if (consumes) {
      pipe.consumer_wait();
      for (unsigned k = rank; k < kTile; k += summers) sum += staged[i % kStages][kTile - 1 - k];
      pipe.consumer_release();
    }
  }
  if (consumes) sums[rank] = sum;
}

/// Sum over all tiles for each place in a tile, or for each from the end of it.
std::vector<int> column_sums(const std::vector<int>& in, bool from_the_end) {
  std::vector<int> sums(kTile, 0);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t place = i % kTile;
    sums[from_the_end ? kTile - 1 - place : place] += in[i];
  }
  return sums;
}

template <class Launch>
void expect_column_sums(bool from_the_end, Launch launch) {
  in_every_order([&] {
    for (const int tiles : {1, kStages - 1, kStages, kStages + 1, 4 * kStages + 1}) {
      const std::vector<int> values = count_from(-7, tiles * kTile);
      const device_array<int> in(values), sums(kTile, -1);
      launch(in.data(), sums.data(), tiles);
      EXPECT_EQ(sums.to_host(), column_sums(values, from_the_end)) << tiles << " tiles";
    }
  });
}

TEST(Pipeline, OfOneThreadKeepsStagesApart) {
  expect_column_sums(false, [](const int* in, int* sums, int tiles) {
    sum_tiles_alone<<<1, kTile>>>(in, sums, tiles);
  });
}
TEST(Pipeline, OfABlockWhoseThreadsProduceAndConsume) {
  expect_column_sums(true, [](const int* in, int* sums, int tiles) {
    sum_tiles<roles::all_do_both><<<1, kTile>>>(in, sums, tiles);
  });
}
TEST(Pipeline, OfABlockWhoseFirstThreadsProduce) {
  expect_column_sums(true, [](const int* in, int* sums, int tiles) {
    sum_tiles<roles::first_produce><<<1, 32 + kTile>>>(in, sums, tiles);
  });
}
TEST(Pipeline, OfABlockWhoseThreadsSayWhatTheyDo) {
  expect_column_sums(true, [](const int* in, int* sums, int tiles) {
    sum_tiles<roles::said_by_each><<<1, 32 + kTile>>>(in, sums, tiles);
  });
}

__global__ void copy_with_primitives(const int4* in, int4* out) {
  __shared__ int4 staged[kThreads];
  const auto t = threadIdx.x;
  // Odd threads read only one of the four words.
  __pipeline_memcpy_async(&staged[t], &in[t], sizeof(int4), t % 2 == 0 ? 0 : 12);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = staged[blockDim.x - 1 - t];
}

TEST(PipelinePrimitives, CopyAndFillUpWithZeros) {
  in_every_order([] {
    const device_array<int> in(count_from(1, 4 * kThreads)), out(4 * kThreads, -1);
    copy_with_primitives<<<1, kThreads>>>(reinterpret_cast<const int4*>(in.data()),
                                          reinterpret_cast<int4*>(out.data()));
    std::vector<int> expected;
    for (int t = kThreads - 1; t >= 0; --t)
      for (int k = 0; k < 4; ++k) expected.push_back(k > 0 && t % 2 != 0 ? 0 : 1 + 4 * t + k);
    EXPECT_EQ(out.to_host(), expected);
  });
}

}  // namespace
