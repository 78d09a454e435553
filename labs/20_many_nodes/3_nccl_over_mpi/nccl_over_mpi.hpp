// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.3 nccl_over_mpi: the contract. What the program and the tests expect of nccl_over_mpi.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::nccl_over_mpi {

inline constexpr int kMostRanks = 64;
/// How many elements the program's vectors have unless it is told otherwise, on a GPU and on the
/// CPU device.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 24;
inline constexpr std::size_t kDefaultSizeOnCpu = std::size_t{1} << 18;

enum class step {
  mpi,           ///< MPI alone: the vectors go through host memory
  nccl,          ///< one NCCL communicator of all ranks, which MPI brings together
  hierarchical,  ///< NCCL within each node, MPI between the nodes
};

struct result {
  std::vector<float> sums;   ///< what each rank has in the end, rank after rank
  std::vector<int> devices;  ///< which device each rank has used, by rank
  float setup_ms = 0;        ///< of the slowest rank: until its communicators are made
  float sum_ms = 0;  ///< of the slowest rank: from its vector on the device to the sum there
};

/// Adds up a vector of each rank, element by element, in device memory: afterwards each rank has
/// the sum. `vectors` are those of all ranks, rank after rank, so there are vectors.size() / ranks
/// elements in each; result::sums has as many elements as `vectors`, and is the same for each rank,
/// bit for bit. Vectors without elements are added up, too.
///
/// All ranks are processes on this machine. With ranks_per_node > 0 they behave as if each node had
/// so many: 0 to ranks_per_node - 1 on the first one, and so on; the last node may have fewer. A
/// rank uses the device whose number is its local rank, the number among the ranks of its node.
///
/// Accuracy: at most error_bound() (reference.hpp) from the exact sum. Where all sums of some of
/// the vectors are whole numbers up to 2^24, the result is exact.
///
/// Throws lab::invalid_input unless there are 1 to kMostRanks ranks and vectors.size() is a
/// multiple of `ranks`; when ranks_per_node is negative; in step nccl, when ranks_per_node is
/// greater than 0 and less than `ranks`: then two ranks would use one device, and NCCL takes a
/// device only once. Throws lab::not_possible when a node has more ranks than this machine has
/// devices. (The CPU device has as many as are needed.) Throws lab::cuda_error, lab::nccl_error or
/// lab::mpi_error when a call of any rank fails, or when a rank ends or does not answer. Nothing of
/// the job is left behind.
///
/// Requires: in nccl and hierarchical, sums made by NCCL from device memory. In hierarchical, only
/// the first rank of each node copies its vector to the host and back. (If there is a single node,
/// it need not.)
///
/// From: NCCL's documentation, Creating a Communicator (NCCL 2, User Guide), where MPI_Bcast sends
/// the unique id; MPI: A Message-Passing Interface Standard, version 3.1, 6.4.2 (MPI_Comm_split).
result sum(step version, std::span<const float> vectors, int ranks, int ranks_per_node = 0);

}  // namespace lab::nccl_over_mpi
