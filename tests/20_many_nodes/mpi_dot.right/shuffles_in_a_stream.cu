// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Another kernel, with shuffles and an atomic sum, in a stream; each part is fetched separately.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/stream.hpp"

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

/// Adds the products of a warp's elements to *sum, which is 0 before.
__global__ void add_products(const float* x, const float* y, std::size_t n, double* sum) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  double mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += static_cast<double>(x[i]) * y[i];
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(0xffffffff, mine, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

/// Puts the dot product of n elements into *sum, in this stream. Returns the time in ms.
float own_dot(const float* x, const float* y, std::size_t n, double* sum, cudaStream_t queue) {
  CUDA_CHECK(cudaMemsetAsync(sum, 0, sizeof(double), queue));
  if (n == 0) return 0;
  constexpr unsigned kBlock = 128;
  event_timer timer;
  timer.start(queue);
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>((n + kBlock - 1) / kBlock, 64));
  add_products<<<blocks, kBlock, 0, queue>>>(x, y, n, sum);
  CUDA_CHECK(cudaGetLastError());
  timer.stop();
  return timer.milliseconds();
}

/// This rank's part of a vector that rank 0 has. `all` is empty on the other ranks.
std::vector<float> scatter(MPI_Comm world, std::span<const float> all, const parts& split) {
  std::vector<float> mine(static_cast<std::size_t>(split.mine()));
  MPI_CHECK(MPI_Scatterv(all.data(), split.counts.data(), split.displacements.data(), MPI_FLOAT,
                         mine.data(), split.mine(), MPI_FLOAT, 0, world));
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
  const stream queue;
  mine.kernel_ms = own_dot(a.data(), b.data(), a.size(), sum.data(), queue);
  CUDA_CHECK(cudaMemcpyAsync(&mine.sum, sum.data(), sizeof(double), cudaMemcpyDeviceToHost, queue));
  CUDA_CHECK(cudaStreamSynchronize(queue));
  return mine;
}

rank_result reduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                           std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  double total = 0;
  MPI_CHECK(MPI_Reduce(&mine.sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, world));
  mine.sum = total;
  mine.reduce_ms = watch.lap();
  return mine;
}

rank_result allreduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                              std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  double total = 0;
  MPI_CHECK(MPI_Allreduce(&mine.sum, &total, 1, MPI_DOUBLE, MPI_SUM, world));
  mine.sum = total;
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
  // Each part is copied to the host separately, and then sent to its rank at once.
  const bool root = split.rank == 0;
  pinned_buffer<float> from(root ? all.size() : 0), to(mine.size());
  const stream queue;
  if (root) {
    for (std::size_t k = 0; k < split.counts.size(); ++k)
      CUDA_CHECK(cudaMemcpyAsync(from.data() + split.displacements[k],
                                 all.data() + split.displacements[k],
                                 static_cast<std::size_t>(split.counts[k]) * sizeof(float),
                                 cudaMemcpyDeviceToHost, queue));
    CUDA_CHECK(cudaStreamSynchronize(queue));
  }
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
  const stream queue;
  mine.kernel_ms = own_dot(a.data(), b.data(), a.size(), sum.data(), queue);
  CUDA_CHECK(cudaStreamSynchronize(queue));
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
