// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// One-sided: each rank fetches its part from a window of rank 0. The ranks' sums are gathered, and
// each rank that needs the sum of all adds them in the order of the ranks.

#include <cuda_runtime.h>

#include <numeric>

#include "given.hpp"

namespace lab::mpi_dot {

std::vector<std::size_t> cut(std::size_t n, int ranks) {
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_dot: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
  std::vector<std::size_t> cuts{0};
  // Each takes its share of what is left.
  for (auto left = static_cast<std::size_t>(ranks); left > 0; --left)
    cuts.push_back(cuts.back() + (n - cuts.back()) / left);
  return cuts;
}

namespace {

int choose_device(MPI_Comm world) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int local_rank = 0;
  MPI_CHECK(MPI_Comm_rank(node, &local_rank));
  MPI_CHECK(MPI_Comm_free(&node));
  CUDA_CHECK(cudaSetDevice(local_rank % device_count()));
  return local_rank % device_count();
}

/// Fetches this rank's part of a vector in host memory of rank 0. All ranks call it.
void fetch(MPI_Comm world, std::span<const float> all, const parts& split, float* mine) {
  const int begin = split.displacements[static_cast<std::size_t>(split.rank)];
  MPI_Win window = MPI_WIN_NULL;
  MPI_CHECK(MPI_Win_create(const_cast<float*>(all.data()), static_cast<MPI_Aint>(all.size_bytes()),
                           sizeof(float), MPI_INFO_NULL, world, &window));
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOPRECEDE, window));
  MPI_CHECK(MPI_Get(mine, split.mine(), MPI_FLOAT, 0, begin, split.mine(), MPI_FLOAT, window));
  MPI_CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, window));  // the part is complete
  MPI_CHECK(MPI_Win_free(&window));
}

/// The sum of the values of all ranks: on `root`, and 0 on the others; on all ranks, if root is -1.
double sum_of_ranks(MPI_Comm world, double mine, int root) {
  int ranks = 0;
  MPI_CHECK(MPI_Comm_size(world, &ranks));
  std::vector<double> all(static_cast<std::size_t>(ranks));
  if (root < 0)
    MPI_CHECK(MPI_Allgather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, world));
  else
    MPI_CHECK(MPI_Gather(&mine, 1, MPI_DOUBLE, all.data(), 1, MPI_DOUBLE, root, world));
  return std::accumulate(all.begin(), all.end(), 0.0);
}

/// reduce and allreduce, which differ in which ranks get the sum.
rank_result by_way_of_hosts(MPI_Comm world, std::size_t n, std::span<const float> x,
                            std::span<const float> y, int root) {
  rank_result mine{.device = choose_device(world)};
  const parts split = parts_of(world, n);
  stopwatch watch;
  std::vector<float> my_x(static_cast<std::size_t>(split.mine())), my_y(my_x.size());
  fetch(world, x, split, my_x.data());
  fetch(world, y, split, my_y.data());
  mine.scatter_ms = watch.lap();
  const device_buffer<float> a{std::span<const float>(my_x)}, b{std::span<const float>(my_y)};
  device_buffer<double> sum(1);
  mine.kernel_ms = dot_on_device(a.data(), b.data(), a.size(), sum.data());
  const double own = sum.to_vector()[0];
  watch.lap();
  mine.sum = sum_of_ranks(world, own, root);
  mine.reduce_ms = watch.lap();
  return mine;
}

rank_result reduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                           std::span<const float> y) {
  return by_way_of_hosts(world, n, x, y, 0);
}

rank_result allreduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                              std::span<const float> y) {
  return by_way_of_hosts(world, n, x, y, -1);
}

/// This rank's part of a vector on the device of rank 0. Few MPI libraries have windows of device
/// memory, so without staging it is scattered.
device_buffer<float> part_on_device(MPI_Comm world, const device_buffer<float>& all,
                                    const parts& split, bool staged) {
  device_buffer<float> mine(static_cast<std::size_t>(split.mine()));
  if (staged) {
    pinned_buffer<float> whole(all.size()), part(mine.size());
    CUDA_CHECK(cudaMemcpy(whole.data(), all.data(), all.size_bytes(), cudaMemcpyDeviceToHost));
    fetch(world, {whole.data(), whole.size()}, split, part.data());
    CUDA_CHECK(cudaMemcpy(mine.data(), part.data(), part.size_bytes(), cudaMemcpyHostToDevice));
  } else {
    CUDA_CHECK(cudaDeviceSynchronize());
    MPI_CHECK(MPI_Scatterv(all.data(), split.counts.data(), split.displacements.data(), MPI_FLOAT,
                           mine.data(), split.mine(), MPI_FLOAT, 0, world));
  }
  return mine;
}

rank_result device_buffers_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                                   std::span<const float> y) {
  rank_result mine{.device = choose_device(world)};
  const parts split = parts_of(world, n);
  const device_buffer all_x(x), all_y(y);
  stopwatch watch;
  const mpi::cuda_support support = mpi::query_cuda_support();
  mine.staged = !support.compiled || !support.running;
  const device_buffer<float> a = part_on_device(world, all_x, split, mine.staged);
  const device_buffer<float> b = part_on_device(world, all_y, split, mine.staged);
  mine.scatter_ms = watch.lap();
  device_buffer<double> sum(1), total(1);
  mine.kernel_ms = dot_on_device(a.data(), b.data(), a.size(), sum.data());
  watch.lap();
  if (mine.staged) {
    pinned_buffer<double> number(1);
    CUDA_CHECK(cudaMemcpy(number.data(), sum.data(), sizeof(double), cudaMemcpyDeviceToHost));
    *number.data() = sum_of_ranks(world, *number.data(), -1);
    CUDA_CHECK(cudaMemcpy(total.data(), number.data(), sizeof(double), cudaMemcpyHostToDevice));
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
  result all = run(version == step::reduce      ? kReduce
                   : version == step::allreduce ? kAllreduce
                                                : kDeviceBuffers,
                   x, y, ranks, ranks_per_node);
  if (version == step::reduce) all.sums.resize(1);
  return all;
}

}  // namespace lab::mpi_dot
