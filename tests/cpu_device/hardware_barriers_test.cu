// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Barriers and warp functions of compute capability 7.0 and later wait for the threads that have
// not left the kernel. That is what CUDA documents; the CPU device does so when it is told to. Runs
// on the CPU device and on a GPU.

#include "conformance.hpp"

namespace {

using conformance::device_array;
using conformance::in_every_order;

class HardwareBarriers : public ::testing::Test {
#ifdef __CPU_DEVICE__
 protected:
  HardwareBarriers() { cpu_device::set_barrier_mode(cpu_device::barrier_mode::hardware); }
  ~HardwareBarriers() override { cpu_device::set_barrier_mode(cpu_device::barrier_mode::strict); }
#endif
};

constexpr int kThreads = 96;

// Tree reduction from which threads exit as soon as they have nothing more to add.
__global__ void sum_and_leave(const int* in, int* out) {
  __shared__ int values[128];
  const int t = static_cast<int>(threadIdx.x);
  values[t] = in[t];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t >= half) return;
    values[t] += values[t + half];
    __syncthreads();
  }
  *out = values[0];
}

TEST_F(HardwareBarriers, ABlockDoesNotWaitForThreadsThatHaveLeft) {
  in_every_order([] {
    std::vector<int> numbers(128);
    for (int i = 0; i < 128; ++i) numbers[static_cast<std::size_t>(i)] = 3 * i - 50;
    const device_array<int> in(numbers), out(1, -1);
    sum_and_leave<<<1, 128>>>(in.data(), out.data());
    EXPECT_EQ(out.to_host()[0], 3 * 127 * 64 - 50 * 128);
  });
}

__global__ void vote_of_those_that_stay(int* out) {
  const int t = static_cast<int>(threadIdx.x);
  if (t % 3 == 0) return;
  const int count = __syncthreads_count(t % 2);
  const int all = __syncthreads_and(t % 3 != 0);
  out[t] = 10 * count + all;
}

TEST_F(HardwareBarriers, AVoteOfABlockCountsThoseThatStay) {
  in_every_order([] {
    const device_array<int> out(kThreads, -1);
    vote_of_those_that_stay<<<1, kThreads>>>(out.data());
    int odd = 0;
    for (int t = 0; t < kThreads; ++t) odd += t % 3 != 0 && t % 2 != 0;
    const std::vector<int> results = out.to_host();
    for (int t = 0; t < kThreads; ++t)
      EXPECT_EQ(results[static_cast<std::size_t>(t)], t % 3 == 0 ? -1 : 10 * odd + 1) << t;
  });
}

// Lanes write, synchronize, and read what their neighbour wrote; every fourth lane exits before.
__global__ void exchange_in_warps(int* out) {
  __shared__ volatile int values[kThreads];
  const int t = static_cast<int>(threadIdx.x);
  if (t % 4 == 3) return;
  values[t] = 7 * t;
  __syncwarp();
  const int from = t - t % 4 + (t % 4 + 1) % 3;
  out[t] = values[from];
}

TEST_F(HardwareBarriers, AWarpDoesNotWaitForLanesThatHaveLeft) {
  in_every_order([] {
    const device_array<int> out(kThreads, -1);
    exchange_in_warps<<<1, kThreads>>>(out.data());
    const std::vector<int> results = out.to_host();
    for (int t = 0; t < kThreads; ++t)
      EXPECT_EQ(results[static_cast<std::size_t>(t)],
                t % 4 == 3 ? -1 : 7 * (t - t % 4 + (t % 4 + 1) % 3))
          << t;
  });
}

__global__ void vote_in_warps(unsigned* ballots, int* all) {
  const unsigned t = threadIdx.x, lane = t % 32;
  if (lane >= 20) return;
  ballots[t] = __ballot_sync(0xffffffffU, lane % 5 == 0);
  all[t] = __all_sync(0xffffffffU, lane < 20);
}

TEST_F(HardwareBarriers, VotesAreOfLanesThatStay) {
  in_every_order([] {
    const device_array<unsigned> ballots(kThreads, 0);
    const device_array<int> all(kThreads, -1);
    vote_in_warps<<<1, kThreads>>>(ballots.data(), all.data());
    const auto votes = ballots.to_host();
    const auto all_of_warps = all.to_host();
    for (std::size_t t = 0; t < kThreads; ++t) {
      EXPECT_EQ(votes[t], t % 32 < 20 ? 0x00008421U : 0U) << t;
      EXPECT_EQ(all_of_warps[t], t % 32 < 20 ? 1 : -1) << t;
    }
  });
}

// The lane exits late: a thread of another warp spins until those that synchronized continue.
__global__ void meet_while_another_spins(int* flag, int* out) {
  const int t = static_cast<int>(threadIdx.x);
  if (t == 40) {
    while (atomicAdd(flag, 0) == 0) {
    }
    *out = 1;
  }
  if (t >= 31) return;
  __syncwarp();
  if (t == 0) atomicExch(flag, 1);
}

TEST_F(HardwareBarriers, AWarpGoesOnWhileAnotherThreadSpins) {
  in_every_order([] {
    const device_array<int> flag(1, 0), out(1, 0);
    meet_while_another_spins<<<1, 64>>>(flag.data(), out.data());
    EXPECT_EQ(out.to_host()[0], 1);
  });
}

}  // namespace
