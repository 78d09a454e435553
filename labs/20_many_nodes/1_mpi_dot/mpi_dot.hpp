// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.1 mpi_dot: the contract. What the program and the tests expect of mpi_dot.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::mpi_dot {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 22;
inline constexpr int kMostRanks = 64;

enum class step {
  reduce,          ///< parts of host memory are scattered; rank 0 receives the sum (MPI_Reduce)
  allreduce,       ///< the same, but every rank receives the sum (MPI_Allreduce)
  device_buffers,  ///< parts and sums go from device to device, sent by MPI itself where it can
};

struct result {
  std::vector<double> sums;  ///< what each rank has received; in `reduce`, only rank 0: one element
  std::vector<int> devices;  ///< which device each rank has used, by rank
  /// MPI was given pointers to host memory, because the library does not take others. In
  /// `device_buffers` that means copies through pinned memory; always true in the other steps.
  bool staged = true;
  float scatter_ms = 0;  ///< of the slowest rank: until it has its part
  float kernel_ms = 0;   ///< of the slowest rank's kernels
  float reduce_ms = 0;   ///< of the slowest rank: from its own sum to that of all
};

/// Where n elements are cut so that rank k of `ranks` gets the elements from cuts[k] to
/// cuts[k + 1] - 1 of the returned cuts. The first is 0, the last n, and no two parts differ by
/// more than one element. With fewer elements than ranks, some parts are empty. n is below 2^58, as
/// the length of any vector: then n times a number of ranks is no more than a std::size_t can hold.
///
/// Throws lab::invalid_input unless there are 1 to kMostRanks ranks.
std::vector<std::size_t> cut(std::size_t n, int ranks);

/// x[0] * y[0] + x[1] * y[1] + …, by an MPI job of `ranks` processes. Rank 0 has both vectors at
/// first; the other ranks receive their parts (MPI_Scatterv). Each rank multiplies and adds its
/// part on its device. In allreduce and device_buffers all ranks end with the same bits.
///
/// On each node, the ranks count from 0 (their local rank), and use device number (local rank) mod
/// (devices of the node). All ranks run on this machine. With ranks_per_node > 0 they behave as if
/// each node had so many: 0 to ranks_per_node - 1 on the first one, and so on.
///
/// Accuracy: at most dot_error_bound(x, y) (lab/dot_reference.hpp) from the exact sum. Where
/// products and sums are whole numbers below 2^24, the result is exact.
///
/// Throws lab::invalid_input when the lengths differ, when cut() does, when ranks_per_node is
/// negative, or when there are more elements than an int can count; lab::cuda_error when CUDA
/// reports an error in any rank; lab::mpi_error when MPI does, or when a rank ends or does not
/// answer within 20 seconds: the sentence names it. Nothing of the job is left behind.
///
/// Requires: a kernel on every rank that has elements, for its own part, with at least 1024 threads
/// where a part has more elements. No rank receives more of the vectors than its part.
///
/// From: MPI: A Message-Passing Interface Standard, version 3.1, chapter 5 (collective
/// communication) and 6.4.2 (MPI_Comm_split_type); Open MPI's documentation of CUDA support
/// (MPIX_Query_cuda_support).
result dot(step version, std::span<const float> x, std::span<const float> y, int ranks,
           int ranks_per_node = 0);

}  // namespace lab::mpi_dot
