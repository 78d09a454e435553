// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Messages between two ranks in place of collective calls; the sum goes up a tree.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::mpi_dot {

// --- all steps: how the data is divided ----------------------------------------------------------

std::vector<std::size_t> cut(std::size_t n, int ranks) {
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_dot: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
  const auto count = static_cast<std::size_t>(ranks);
  const std::size_t each = n / count, more = n % count;
  std::vector<std::size_t> cuts;
  for (std::size_t k = 0; k <= count; ++k) cuts.push_back(k * each + std::min(k, more));
  return cuts;
}

namespace {

/// Makes this rank's device the current one, and returns its number.
int choose_device(MPI_Comm world) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int local = 0;
  MPI_CHECK(MPI_Comm_rank(node, &local));
  MPI_CHECK(MPI_Comm_free(&node));
  const int device = local % device_count();
  CUDA_CHECK(cudaSetDevice(device));
  return device;
}

constexpr int kPart = 1, kSum = 2;  // tags

/// The sum of all ranks' values on rank 0, along a tree: in each round, half of the remaining ranks
/// send their sums.
double sum_on_rank_0(MPI_Comm world, double mine) {
  int ranks = 0, rank = 0;
  MPI_CHECK(MPI_Comm_size(world, &ranks));
  MPI_CHECK(MPI_Comm_rank(world, &rank));
  for (int step = 1; step < ranks; step *= 2) {
    if (rank % (2 * step) != 0) {
      MPI_CHECK(MPI_Send(&mine, 1, MPI_DOUBLE, rank - step, kSum, world));
      return 0;
    }
    if (rank + step >= ranks) continue;
    double other = 0;
    MPI_CHECK(MPI_Recv(&other, 1, MPI_DOUBLE, rank + step, kSum, world, MPI_STATUS_IGNORE));
    mine += other;
  }
  return mine;
}

/// This rank's part of a vector that rank 0 has. `all` is empty on the other ranks.
std::vector<float> scatter(MPI_Comm world, std::span<const float> all, const parts& split) {
  std::vector<float> mine(static_cast<std::size_t>(split.mine()));
  if (split.rank != 0) {
    MPI_CHECK(MPI_Recv(mine.data(), split.mine(), MPI_FLOAT, 0, kPart, world, MPI_STATUS_IGNORE));
    return mine;
  }
  std::vector<MPI_Request> sends(split.counts.size() - 1);
  for (std::size_t k = 1; k < split.counts.size(); ++k)
    MPI_CHECK(MPI_Isend(all.data() + split.displacements[k], split.counts[k], MPI_FLOAT,
                        static_cast<int>(k), kPart, world, &sends[k - 1]));
  std::copy_n(all.begin(), mine.size(), mine.begin());
  MPI_CHECK(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE));
  return mine;
}

/// The beginning of both steps: the sum of this rank's part.
rank_result sum_of_part(MPI_Comm world, std::size_t n, std::span<const float> x,
                        std::span<const float> y) {
  rank_result mine;
  mine.device = choose_device(world);
  const parts split = parts_of(world, n);
  stopwatch watch;
  const std::vector<float> my_x = scatter(world, x, split);
  const std::vector<float> my_y = scatter(world, y, split);
  mine.scatter_ms = watch.lap();
  const device_buffer<float> a{std::span<const float>(my_x)}, b{std::span<const float>(my_y)};
  device_buffer<double> sum(1);
  mine.kernel_ms = dot_on_device(a.data(), b.data(), a.size(), sum.data());
  mine.sum = sum.to_vector()[0];
  return mine;
}

rank_result reduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                           std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  mine.sum = sum_on_rank_0(world, mine.sum);
  mine.reduce_ms = watch.lap();
  return mine;
}

rank_result allreduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                              std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  mine.sum = sum_on_rank_0(world, mine.sum);
  MPI_CHECK(MPI_Bcast(&mine.sum, 1, MPI_DOUBLE, 0, world));
  mine.reduce_ms = watch.lap();
  return mine;
}

/// Like scatter(), from rank 0's device to the devices of all ranks.
device_buffer<float> scatter_on_devices(MPI_Comm world, const device_buffer<float>& all,
                                        const parts& split, bool staged) {
  device_buffer<float> mine(static_cast<std::size_t>(split.mine()));
  if (!staged) {
    CUDA_CHECK(cudaDeviceSynchronize());
    MPI_CHECK(MPI_Scatterv(all.data(), split.counts.data(), split.displacements.data(), MPI_FLOAT,
                           mine.data(), split.mine(), MPI_FLOAT, 0, world));
    return mine;
  }
  pinned_buffer<float> from(all.size()), to(mine.size());
  if (!all.empty())
    CUDA_CHECK(cudaMemcpy(from.data(), all.data(), all.size_bytes(), cudaMemcpyDeviceToHost));
  MPI_CHECK(MPI_Scatterv(from.data(), split.counts.data(), split.displacements.data(), MPI_FLOAT,
                         to.data(), split.mine(), MPI_FLOAT, 0, world));
  if (!mine.empty())
    CUDA_CHECK(cudaMemcpy(mine.data(), to.data(), to.size_bytes(), cudaMemcpyHostToDevice));
  return mine;
}

rank_result device_buffers_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                                   std::span<const float> y) {
  rank_result mine;
  mine.device = choose_device(world);
  const parts split = parts_of(world, n);
  // Rank 0's vectors are on its device from the start, like the results of a kernel.
  const device_buffer all_x(x), all_y(y);
  stopwatch watch;
  const auto support = mpi::query_cuda_support();
  mine.staged = !(support.compiled && support.running);
  const device_buffer<float> a = scatter_on_devices(world, all_x, split, mine.staged);
  const device_buffer<float> b = scatter_on_devices(world, all_y, split, mine.staged);
  mine.scatter_ms = watch.lap();
  device_buffer<double> sum(1), total(1);
  mine.kernel_ms = dot_on_device(a.data(), b.data(), a.size(), sum.data());
  watch.lap();
  if (mine.staged) {
    pinned_buffer<double> before(1), after(1);
    CUDA_CHECK(cudaMemcpy(before.data(), sum.data(), sizeof(double), cudaMemcpyDeviceToHost));
    MPI_CHECK(MPI_Allreduce(before.data(), after.data(), 1, MPI_DOUBLE, MPI_SUM, world));
    CUDA_CHECK(cudaMemcpy(total.data(), after.data(), sizeof(double), cudaMemcpyHostToDevice));
  } else {
    CUDA_CHECK(cudaDeviceSynchronize());
    MPI_CHECK(MPI_Allreduce(sum.data(), total.data(), 1, MPI_DOUBLE, MPI_SUM, world));
  }
  mine.reduce_ms = watch.lap();
  mine.sum = total.to_vector()[0];
  return mine;
}

// mpirun starts this program once for each rank. In these processes, a function that is selected by
// its name runs instead of main().

const mpi::job kReduce("20.1 reduce", reduce_of_rank);
const mpi::job kAllreduce("20.1 allreduce", allreduce_of_rank);
const mpi::job kDeviceBuffers("20.1 device_buffers", device_buffers_of_rank);

}  // namespace

result dot(step version, std::span<const float> x, std::span<const float> y, int ranks,
           int ranks_per_node) {
  require_good(x, y, ranks, ranks_per_node);
  if (version == step::allreduce) return run(kAllreduce, x, y, ranks, ranks_per_node);
  if (version == step::device_buffers) return run(kDeviceBuffers, x, y, ranks, ranks_per_node);
  result all = run(kReduce, x, y, ranks, ranks_per_node);
  all.sums.resize(1);
  return all;
}

}  // namespace lab::mpi_dot
