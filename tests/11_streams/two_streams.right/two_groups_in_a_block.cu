// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A kernel of its own, whose blocks have two groups each, in shared memory; the work is a table of
// four stages, which the two steps go through in different orders.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::two_streams {
namespace {

constexpr unsigned kGroups = 2;  // of a block

__global__ void average_groups(const int* a, const int* b, int* c, std::size_t count) {
  __shared__ int as[kGroups][kGroup], bs[kGroups][kGroup];
  const unsigned g = threadIdx.y, k = threadIdx.x;
  const std::size_t first = (std::size_t{blockIdx.x} * kGroups + g) * kGroup;
  const std::size_t left = first < count ? count - first : 0;
  const auto size = static_cast<unsigned>(left < kGroup ? left : kGroup);
  if (k < size) {
    as[g][k] = a[first + k];
    bs[g][k] = b[first + k];
  }
  __syncthreads();
  if (k >= size) return;
  const unsigned next = (k + 1) % size, after = (k + 2) % size;
  const long long sum_a = static_cast<long long>(as[g][k]) + as[g][next] + as[g][after];
  const long long sum_b = static_cast<long long>(bs[g][k]) + bs[g][next] + bs[g][after];
  c[first + k] = static_cast<int>((sum_a / 3 + sum_b / 3) / 2);
}

void launch_groups(cudaStream_t queue, buffers& memory, piece p) {
  constexpr std::size_t kOfBlock = std::size_t{kGroups} * kGroup;
  average_groups<<<static_cast<unsigned>((p.count + kOfBlock - 1) / kOfBlock),
                   dim3(kGroup, kGroups), 0, queue>>>(memory.a.data(), memory.b.data(),
                                                      memory.c.data(), p.count);
  CUDA_CHECK(cudaGetLastError());
}

void queue_stage(unsigned stage, cudaStream_t queue, host_arrays& host, buffers& memory, piece p) {
  switch (stage) {
    case 0:
      return copy_up(queue, host.a, memory.a, p);
    case 1:
      return copy_up(queue, host.b, memory.b, p);
    case 2:
      return launch_groups(queue, memory, p);
    default:
      return copy_down(queue, memory.c, host.c, p);
  }
}

}  // namespace

result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk) {
  return host_part_of_process(version, a, b, chunk, [version](work& all, std::size_t size) {
    make_wait(all.stream1, all.stream0, all.begun);
    for (std::size_t first = 0; first < all.host.n; first += 2 * size)
      for (unsigned turn = 0; turn < 8; ++turn) {
        const bool second = version == step::depth_first ? turn / 4 == 1 : turn % 2 == 1;
        const unsigned stage = version == step::depth_first ? turn % 4 : turn / 2;
        const piece p = piece_at(second ? first + size : first, size, all.host.n);
        if (p.count == 0) continue;
        queue_stage(stage, second ? all.stream1 : all.stream0, all.host,
                    second ? all.memory1 : all.memory0, p);
      }
    make_wait(all.stream0, all.stream1, all.done);
  });
}

}  // namespace lab::two_streams
