// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// While one lane works in wmma's functions for all of its warp, no other lane starts: no thread is
// preempted there. The watchdog's own signals are so rare that a lane would have to run for many
// seconds to get one there; this test sends more.

#include <cpu_device.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <mma.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

constexpr int kSize = 16, kRounds = 20000;  // all sums stay below 2^24: exact

/// What the kernel says of itself meanwhile.
struct news {
  pthread_t runner;  // the OS thread that runs it
  int rounds;
};

__global__ void multiply(const __half* a, const __half* b, float* c, volatile news* now) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, kSize, kSize, kSize, __half, row_major> of_a;
  fragment<matrix_b, kSize, kSize, kSize, __half, row_major> of_b;
  fragment<accumulator, kSize, kSize, kSize, float> sums;
  fill_fragment(sums, 0.0F);
  store_matrix_sync(c, sums, kSize, mem_row_major);
  for (int i = 0; i < kRounds; ++i) {
    if (threadIdx.x == 0) {
      now->runner = pthread_self();
      now->rounds = i + 1;
    }
    load_matrix_sync(of_a, a, kSize);
    load_matrix_sync(of_b, b, kSize);
    load_matrix_sync(sums, c, kSize, mem_row_major);
    mma_sync(sums, of_a, of_b, sums);
    store_matrix_sync(c, sums, kSize, mem_row_major);
  }
}

/// Sends the signal that makes the engine check the running thread (src/engine/turns.cpp), at most
/// one per round, since they would pile up.
class impatience {
 public:
  explicit impatience(const volatile news* now) : now_(now) {}
  ~impatience() {
    over_ = true;
    thread_.join();
  }

 private:
  void send_signals() {
    for (unsigned random = 1; !over_; random = random * 1103515245U + 12345U) {
      const int before = now_->rounds;
      if (before != 0) pthread_kill(now_->runner, SIGRTMIN + 6);
      while (now_->rounds == before && !over_) std::this_thread::yield();
      std::atomic<unsigned> wait{random >> 18};  // another place of the next round
      while (!over_ && wait-- != 0) {
      }
    }
  }

  const volatile news* now_;
  std::atomic<bool> over_{false};
  std::thread thread_{[this] { send_signals(); }};
};

TEST(WmmaTurns, ALaneThatWorksForItsWarpKeepsItsTurn) {
  std::vector<__half> a, b;
  std::vector<float> expected;
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x) {
      a.push_back(__float2half(static_cast<float>((3 * y + x) % 4 - 1)));
      b.push_back(__float2half(static_cast<float>((y + 5 * x) % 3 - 1)));
    }
  for (int y = 0; y < kSize; ++y)
    for (int x = 0; x < kSize; ++x) {
      float sum = 0;
      for (int k = 0; k < kSize; ++k)
        sum += __half2float(a[y * kSize + k]) * __half2float(b[k * kSize + x]);
      expected.push_back(kRounds * sum);
    }
  const device_array<__half> of_a(a), of_b(b);
  news* now = nullptr;
  ASSERT_EQ(cudaMallocManaged(&now, sizeof *now), cudaSuccess);
  for (int launch = 0; launch < 8; ++launch) {
    const device_array<float> c(kSize * kSize, 0);
    *now = {};
    {
      const impatience signals(now);
      multiply<<<1, 32>>>(of_a.data(), of_b.data(), c.data(), now);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    }
    ASSERT_EQ(c.to_host(), expected);
  }
  EXPECT_EQ(cudaFree(now), cudaSuccess);
}

}  // namespace
