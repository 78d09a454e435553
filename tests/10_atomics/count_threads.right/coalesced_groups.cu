// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: of the threads of a warp that are to be counted, one adds the size of
// their group (cooperative_groups::coalesced_threads()); the counter is a __device__ variable.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::count_threads {
namespace {

namespace cg = cooperative_groups;

__device__ unsigned long long counted;

__global__ void count_together(condition criterion) {
  const std::uint64_t column = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::uint64_t row = std::uint64_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const bool mine = criterion == condition::every_thread           ? true
                    : criterion == condition::on_or_below_diagonal ? row >= column
                    : criterion == condition::on_diagonal          ? row == column
                                                                   : (row + column) % 2 == 0;
  if (!mine) return;
  const cg::coalesced_group group = cg::coalesced_threads();
  const auto together = static_cast<unsigned long long>(group.size());
  if (group.thread_rank() == 0) atomicAdd(&counted, together);
}

}  // namespace

result count(condition criterion, const shape& grid) {
  require_possible(grid);
  const std::uint64_t blocks = std::uint64_t{grid.blocks.x} * grid.blocks.y;
  const std::uint64_t threads = std::uint64_t{grid.threads.x} * grid.threads.y;
  if (blocks == 0 || threads == 0) return {};

  const dim3 in_grid(grid.blocks.x, grid.blocks.y), in_block(grid.threads.x, grid.threads.y);
  result r;
  const unsigned long long none = 0;
  r.kernel_ms = time_kernel([&] { count_together<<<in_grid, in_block>>>(criterion); },
                            [&] { CUDA_CHECK(cudaMemcpyToSymbol(counted, &none, sizeof none)); });
  unsigned long long total = 0;
  CUDA_CHECK(cudaMemcpyFromSymbol(&total, counted, sizeof total));
  r.count = total;
  return r;
}

}  // namespace lab::count_threads
