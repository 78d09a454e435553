// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a kernel of one block of 1024 threads, which add in double; and what
// all ranks receive is reduced by rank 0, and broadcast.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::mpi_dot {

// --- all steps: how the data is divided ----------------------------------------------------------

std::vector<std::size_t> cut(std::size_t n, int ranks) {
  refuse_if(ranks < 1 || ranks > kMostRanks, "mpi_dot: ", ranks, " ranks; there must be 1 to ",
            kMostRanks);
  std::vector<std::size_t> cuts;
  const auto count = static_cast<std::size_t>(ranks);
  for (std::size_t k = 0; k <= count; ++k) cuts.push_back(n * k / count);
  return cuts;
}

namespace {

/// Makes this rank's device the current one, and returns its number.
int choose_device(MPI_Comm world) {
  MPI_Comm node = MPI_COMM_NULL;
  int local_rank = 0;
  MPI_CHECK(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  MPI_CHECK(MPI_Comm_rank(node, &local_rank));
  MPI_CHECK(MPI_Comm_free(&node));
  const int device = local_rank % device_count();
  CUDA_CHECK(cudaSetDevice(device));
  return device;
}

// --- reduce and allreduce: MPI uses host memory --------------------------------------------------
// All ranks of the communicator must make a collective call, even those with an empty part: a rank
// that does not make it leaves the others waiting forever.

/// This rank's part of a vector that rank 0 has. `all` is empty on the other ranks.
std::vector<float> scatter(MPI_Comm world, std::span<const float> all, const parts& split) {
  std::vector<float> mine(static_cast<std::size_t>(split.mine()));
  MPI_CHECK(MPI_Scatterv(all.data(), split.counts.data(), split.displacements.data(), MPI_FLOAT,
                         mine.data(), split.mine(), MPI_FLOAT, 0, world));
  return mine;
}

__global__ void whole_sum(const float* x, const float* y, std::size_t n, double* sum) {
  __shared__ double warps[32];
  double mine = 0;
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x)
    mine += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  for (unsigned o = 16; o > 0; o /= 2)
    mine += __shfl_xor_sync(0xFFFFFFFFU, mine, static_cast<int>(o));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    double all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) all += warps[w];
    *sum = all;
  }
}

/// The beginning of both steps: the sum of this rank's part.
rank_result sum_of_part(MPI_Comm world, std::size_t n, std::span<const float> x,
                        std::span<const float> y) {
  rank_result mine;
  mine.device = choose_device(world);
  const parts split = parts_of(world, n);
  stopwatch watch;
  const std::vector<float> my_x = scatter(world, x, split), my_y = scatter(world, y, split);
  mine.scatter_ms = watch.lap();
  mine.sum = 0;
  if (!my_x.empty()) {
    const std::size_t bytes = my_x.size() * sizeof(float);
    cudaStream_t stream = nullptr;
    CUDA_CHECK(cudaStreamCreate(&stream));
    const std::unique_ptr<CUstream_st, decltype([](cudaStream_t s) {
                            CUDA_CHECK_NOTHROW(cudaStreamDestroy(s));
                          })>
        owner(stream);
    device_buffer<float> dx(my_x.size()), dy(my_x.size());
    device_buffer<double> sum(1);
    CUDA_CHECK(cudaMemcpyAsync(dx.data(), my_x.data(), bytes, cudaMemcpyHostToDevice, stream));
    CUDA_CHECK(cudaMemcpyAsync(dy.data(), my_y.data(), bytes, cudaMemcpyHostToDevice, stream));
    event_timer timer;
    CUDA_CHECK(cudaStreamSynchronize(stream));
    timer.start();
    whole_sum<<<1, 1024>>>(dx.data(), dy.data(), my_x.size(), sum.data());
    CUDA_CHECK(cudaGetLastError());
    timer.stop();
    mine.kernel_ms = timer.milliseconds();
    mine.sum = sum.to_vector()[0];
  }
  return mine;
}

rank_result reduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                           std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  double total = 0;
  MPI_CHECK(MPI_Reduce(&mine.sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, world));
  mine.sum = total;  // which is 0 on the other ranks
  mine.reduce_ms = watch.lap();
  return mine;
}

rank_result allreduce_of_rank(MPI_Comm world, std::size_t n, std::span<const float> x,
                              std::span<const float> y) {
  rank_result mine = sum_of_part(world, n, x, y);
  stopwatch watch;
  const double sum = mine.sum;
  MPI_CHECK(MPI_Reduce(&sum, &mine.sum, 1, MPI_DOUBLE, MPI_SUM, 0, world));
  MPI_CHECK(MPI_Bcast(&mine.sum, 1, MPI_DOUBLE, 0, world));
  mine.reduce_ms = watch.lap();
  return mine;
}

// --- device_buffers: from device memory to device memory -----------------------------------------
// A CUDA-aware MPI library accepts pointers to device memory. Any other would read them as
// host memory, and crash. Requires that both the header (support.compiled) and the loaded library
// (support.running) report this; otherwise data is staged: copied to pinned host memory, sent from
// there, and copied back to the device.

/// Like scatter(), from rank 0's device to the devices of all ranks.
device_buffer<float> scatter_on_devices(MPI_Comm world, const device_buffer<float>& all,
                                        const parts& split, bool staged) {
  device_buffer<float> mine(static_cast<std::size_t>(split.mine()));
  const auto scatter_from = [&](const float* from, float* to) {
    MPI_CHECK(MPI_Scatterv(from, split.counts.data(), split.displacements.data(), MPI_FLOAT, to,
                           split.mine(), MPI_FLOAT, 0, world));
  };
  if (!staged) {
    CUDA_CHECK(cudaDeviceSynchronize());
    scatter_from(all.data(), mine.data());
    return mine;
  }
  pinned_buffer<float> from(all.size()), to(mine.size());
  CUDA_CHECK(cudaMemcpy(from.data(), all.data(), from.size_bytes(), cudaMemcpyDeviceToHost));
  scatter_from(from.data(), to.data());
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
  const mpi::cuda_support support = mpi::query_cuda_support();
  mine.staged = !(support.compiled && support.running);
  const auto my_x = scatter_on_devices(world, all_x, split, mine.staged);
  const auto my_y = scatter_on_devices(world, all_y, split, mine.staged);
  mine.scatter_ms = watch.lap();
  device_buffer<double> sum(1), total(1);
  mine.kernel_ms = dot_on_device(my_x.data(), my_y.data(), my_x.size(), sum.data());
  (void)watch.lap();
  if (mine.staged) {
    pinned_buffer<double> from(1), to(1);
    CUDA_CHECK(cudaMemcpy(from.data(), sum.data(), sizeof(double), cudaMemcpyDeviceToHost));
    MPI_CHECK(MPI_Allreduce(from.data(), to.data(), 1, MPI_DOUBLE, MPI_SUM, world));
    CUDA_CHECK(cudaMemcpy(total.data(), to.data(), sizeof(double), cudaMemcpyHostToDevice));
  } else {
    CUDA_CHECK(cudaDeviceSynchronize());  // the kernels have written the sum
    MPI_CHECK(MPI_Allreduce(sum.data(), total.data(), 1, MPI_DOUBLE, MPI_SUM, world));
  }
  mine.reduce_ms = watch.lap();
  mine.sum = total.to_vector()[0];
  return mine;
}

// --- given ---------------------------------------------------------------------------------------
// mpirun starts this program once for each rank. In these processes, a function that is selected
// by its name runs instead of main().

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
