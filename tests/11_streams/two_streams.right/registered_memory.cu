// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The host's vectors are page-locked where they are (cudaHostRegister), a block stages its group in
// shared memory, and a list gives the order in which a step queues its work.

#include <cuda_runtime.h>

#include <array>
#include <cstdint>

#include "given.hpp"

namespace lab::two_streams {
namespace {

class page_locked {
 public:
  explicit page_locked(std::vector<int>& values) : memory_(values.data()) {
    CUDA_CHECK(cudaHostRegister(memory_, values.size() * sizeof(int), cudaHostRegisterDefault));
  }
  ~page_locked() { CUDA_CHECK_NOTHROW(cudaHostUnregister(memory_)); }
  page_locked(const page_locked&) = delete;
  page_locked& operator=(const page_locked&) = delete;

 private:
  int* memory_;
};

__global__ void average_of_group(const int* a, const int* b, int* c, std::size_t count) {
  __shared__ int group[2][kGroup];
  const std::size_t first = blockIdx.x * kGroup;
  const auto size = static_cast<unsigned>(min(count - first, kGroup));
  const unsigned k = threadIdx.x;
  if (k < size) {
    group[0][k] = a[first + k];
    group[1][k] = b[first + k];
  }
  __syncthreads();
  if (k >= size) return;
  const auto mean = [&](const int* of) {
    return (std::int64_t{of[k]} + of[(k + 1) % size] + of[(k + 2) % size]) / 3;
  };
  c[first + k] = static_cast<int>((mean(group[0]) + mean(group[1])) / 2);
}

enum class job { copy_a, copy_b, calculate, copy_back };
constexpr std::array kJobs = {job::copy_a, job::copy_b, job::calculate, job::copy_back};

struct workspace {
  stream queue;
  device_buffer<int> a, b, c;
  explicit workspace(std::size_t chunk) : a(chunk), b(chunk), c(chunk) {}
};

class pipeline {
 public:
  pipeline(const std::vector<int>& a, const std::vector<int>& b, std::vector<int>& c,
           std::size_t chunk)
      : a_(a), b_(b), c_(c), chunk_(chunk) {}

  void queue(job stage, workspace& to, std::size_t number) const {
    const std::size_t first = number * chunk_;
    if (first >= c_.size()) return;
    const std::size_t count = std::min(chunk_, c_.size() - first), bytes = count * sizeof(int);
    switch (stage) {
      case job::copy_a:
        CUDA_CHECK(
            cudaMemcpyAsync(to.a.data(), &a_[first], bytes, cudaMemcpyHostToDevice, to.queue));
        break;
      case job::copy_b:
        CUDA_CHECK(
            cudaMemcpyAsync(to.b.data(), &b_[first], bytes, cudaMemcpyHostToDevice, to.queue));
        break;
      case job::calculate:
        average_of_group<<<static_cast<unsigned>((count + kGroup - 1) / kGroup), kGroup, 0,
                           to.queue>>>(to.a.data(), to.b.data(), to.c.data(), count);
        CUDA_CHECK(cudaGetLastError());
        break;
      case job::copy_back:
        CUDA_CHECK(
            cudaMemcpyAsync(&c_[first], to.c.data(), bytes, cudaMemcpyDeviceToHost, to.queue));
        break;
    }
  }

 private:
  const std::vector<int>&a_, &b_;
  std::vector<int>& c_;
  std::size_t chunk_;
};

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "two_streams: ", n, " elements of a, and ", b.size(), " of b");
  refuse_if(chunk == 0 || chunk % kGroup != 0, "two_streams: chunks of ", chunk,
            " elements do not consist of groups");
  result r;
  if (n == 0) return r;
  std::vector<int> host_a(a.begin(), a.end()), host_b(b.begin(), b.end());
  r.c.resize(n);
  const page_locked lock_a(host_a), lock_b(host_b), lock_c(r.c);
  const std::size_t pieces = (n + chunk - 1) / chunk, room = std::min(chunk, n);
  workspace even(room), odd(version == step::one_stream ? 0 : room);
  const pipeline work(host_a, host_b, r.c, chunk);

  event_timer timer;
  timer.start(even.queue);
  const event begun, done;
  make_wait(odd.queue, even.queue, begun);
  if (version == step::breadth_first) {
    for (std::size_t i = 0; i < pieces; i += 2) {
      for (const job stage : kJobs) {
        work.queue(stage, even, i);
        work.queue(stage, odd, i + 1);
      }
    }
  } else {
    for (std::size_t i = 0; i < pieces; ++i)
      for (const job stage : kJobs)
        work.queue(stage, version == step::depth_first && i % 2 == 1 ? odd : even, i);
  }
  make_wait(even.queue, odd.queue, done);
  timer.stop();
  CUDA_CHECK(cudaStreamSynchronize(even.queue));
  r.total_ms = timer.milliseconds();
  return r;
}

}  // namespace lab::two_streams
