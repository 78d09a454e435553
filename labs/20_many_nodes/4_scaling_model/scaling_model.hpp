// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: the contract. What the program and the tests expect of scaling_model.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::scaling_model {

inline constexpr int kMostRanks = 64;  ///< that can be measured; a model predicts for any number

/// How large the program's jobs are unless it is told otherwise, on a GPU and on the CPU device:
/// values of all ranks together.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 26;
inline constexpr std::size_t kDefaultSizeOnCpu = std::size_t{1} << 17;

/// What a job is about: each rank adds up its own values on its device, then all ranks add up a
/// vector, element by element (MPI_Allreduce).
struct job_size {
  int ranks = 1;
  std::size_t values = 0;   ///< of each rank
  std::size_t message = 1;  ///< elements of the vector, doubles
  int sharing = 1;          ///< ranks on each device; measure() does not need to know
};

/// Delays that make a mistake in measuring visible: before each repetition rank `rank` needs late_s
/// seconds longer to get ready, and after the last communication of each repetition slow_s seconds
/// longer to finish.
struct delay {
  int rank = 0;
  double late_s = 0, slow_s = 0;
};

struct samples {
  std::vector<double> seconds;  ///< of each repetition
  double sum = 0;               ///< of what all repetitions have added up (reference.hpp)
};

/// Runs a job of size.ranks processes, which do the work `repetitions` times, after one run that
/// does not count. The time of a repetition begins when every rank is ready, and ends when the last
/// rank has finished. Getting ready is not part of it.
///
/// Throws lab::invalid_input unless there are 1 to kMostRanks ranks, 1 or more elements in the
/// message, 1 or more repetitions, and a delay that is not negative, of a rank that there is;
/// lab::cuda_error when CUDA reports an error in any rank; lab::mpi_error when MPI does, or when a
/// rank ends or does not answer.
///
/// Requires: each rank runs a kernel for its values in each repetition.
samples measure(const job_size& size, unsigned repetitions, const delay& extra = {});

struct measurement {
  job_size size;
  double seconds = 0;
};

enum class scaling {
  strong,  ///< the same work for all numbers of ranks: each rank has fewer values
  weak,    ///< the same work for each rank: all together have more values
};

struct scaling_row {
  int ranks = 0;
  double speedup = 0;     ///< how many times the work per second of one rank
  double efficiency = 0;  ///< the speed-up per rank: 1 is ideal; caches can make it larger
};

/// A row for each measurement, in their order. The one with the fewest ranks, p0, is what the
/// others are compared with, and has an efficiency of 1.
///
/// Throws lab::invalid_input when there are no measurements, when one has less than 1 rank or a
/// time that is not greater than 0, or when two have the same number of ranks.
///
/// From: Amdahl (1967) for strong scaling, Gustafson (1988) for weak scaling.
std::vector<scaling_row> speedups(scaling kind, std::span<const measurement> measured);

/// Levels of a tree in which each level joins two groups of ranks: the smallest k with 2^k >=
/// ranks.
///
/// Throws lab::invalid_input when ranks < 1.
unsigned levels(int ranks);

/// seconds = overhead + per_value * values * sharing
///         + levels(ranks) * (per_level + per_byte * 8 * message)
///
/// Ranks that share a device take turns: with two of them, the values of a rank take twice as long.
///
/// From: Hockney's model of a message, whose time is a latency and its bytes divided by a
/// bandwidth; Thakur, Rabenseifner, Gropp, Optimization of Collective Communication Operations in
/// MPICH (2005), for recursive doubling.
struct model {
  double overhead = 0;   ///< seconds of every job: launches, the barrier
  double per_value = 0;  ///< seconds for a value on a device
  double per_level = 0;  ///< latency: seconds for each level of the tree
  double per_byte = 0;   ///< seconds for a byte of the message, in each level: 1 / bandwidth
};

double predict(const model& of, const job_size& size);

/// The model for which the sum of (predict(size) / seconds - 1)^2 over all measurements is
/// smallest: relative errors count, so that short jobs count as much as long ones. Its coefficients
/// may be negative where the measurements are noisy.
///
/// Throws lab::invalid_input when a measurement has less than 1 rank, less than 1 rank on each
/// device or a time that is not greater than 0; and when the measurements do not determine the
/// coefficients: fewer than four, all with the same number of ranks, with the same message, with as
/// many values …
model fit(std::span<const measurement> measured);

/// The largest |predict(size) / seconds - 1|. 0 without measurements.
///
/// Throws lab::invalid_input when a measurement has less than 1 rank, less than 1 rank on each
/// device or a time that is not greater than 0.
double worst_error(const model& of, std::span<const measurement> measured);

}  // namespace lab::scaling_model
