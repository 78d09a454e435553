// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: what scaling_model.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/mpi_job.hpp"
#include "lab/refuse_if.hpp"
#include "reference.hpp"
#include "scaling_model.hpp"

namespace lab::scaling_model {

// --- the work of a rank --------------------------------------------------------------------------

__global__ void add_up(const unsigned* values, std::size_t n, unsigned number,
                       unsigned long long* total) {
  unsigned long long mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += values[i] + number;
  if (mine != 0) atomicAdd(total, mine);
}

class work {
 public:
  work(MPI_Comm world, const job_size& size, const delay& extra)
      : world_(world),
        size_(size),
        rank_(rank_with_a_device(world)),
        message_(size.message),
        result_(size.message),
        values_(std::span<const unsigned>(values_of(rank_, size.values))),
        total_(1) {
    if (rank_ == extra.rank) extra_ = extra;
  }

  /// Makes the data of the next repetition. Ranks are ready at different times.
  void get_ready() {
    wait(extra_.late_s);
    for (std::size_t j = 0; j < message_.size(); ++j) message_[j] = element_of(rank_, j);
    CUDA_CHECK(cudaMemset(total_.data(), 0, total_.size_bytes()));
    CUDA_CHECK(cudaDeviceSynchronize());
  }

  /// Repetition `number`, from 1 on. Each rank must call it.
  void run(unsigned number) {
    constexpr unsigned kThreads = 256, kMostBlocks = 256;
    if (size_.values > 0) {
      const auto blocks = static_cast<unsigned>(
          std::min<std::size_t>((size_.values + kThreads - 1) / kThreads, kMostBlocks));
      add_up<<<blocks, kThreads>>>(values_.data(), size_.values, number, total_.data());
      CUDA_CHECK(cudaGetLastError());
    }
    message_[0] += static_cast<double>(total_.to_vector()[0]);  // waits for the kernel
    MPI_CHECK(MPI_Allreduce(message_.data(), result_.data(), static_cast<int>(message_.size()),
                            MPI_DOUBLE, MPI_SUM, world_));
    wait(extra_.slow_s);
  }

  /// The sum of what the last run() has added up.
  double sum() const {
    double all = 0;
    for (const double element : result_) all += element;
    return all;
  }

 private:
  static int rank_with_a_device(MPI_Comm world) {
    int rank = 0;
    MPI_CHECK(MPI_Comm_rank(world, &rank));
    // All ranks are on this machine, so the rank is the local rank, too. Across nodes it is not.
    CUDA_CHECK(cudaSetDevice(rank % device_count()));
    return rank;
  }
  static std::vector<unsigned> values_of(int rank, std::size_t n) {
    std::vector<unsigned> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = value_of(rank, i);
    return values;
  }
  /// The delay that a test gives a rank, to see whether the time is that of the slowest one.
  static void wait(double seconds) {
    if (seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  MPI_Comm world_;
  job_size size_;
  int rank_;
  delay extra_;
  std::vector<double> message_, result_;
  device_buffer<unsigned> values_;
  device_buffer<unsigned long long> total_;
};

// --- checks --------------------------------------------------------------------------------------

inline void require_good(const job_size& size, unsigned repetitions, const delay& extra) {
  refuse_if(size.ranks < 1 || size.ranks > kMostRanks, "scaling_model: ", size.ranks,
            " ranks; there must be 1 to ", kMostRanks);
  refuse_if(size.message < 1 || size.message > (std::size_t{1} << 30),
            "scaling_model: ", size.message, " elements in a message; there must be 1 to 2^30");
  refuse_if(repetitions == 0, "scaling_model: no repetitions, so there is no time");
  refuse_if(!(extra.late_s >= 0 && extra.slow_s >= 0), "scaling_model: a delay is negative");
  refuse_if(extra.rank < 0 || extra.rank >= size.ranks, "scaling_model: there is no rank ",
            extra.rank, " that could be late");
}

inline void require_good(std::span<const measurement> measured) {
  for (const measurement& each : measured) {
    refuse_if(each.size.ranks < 1, "scaling_model: a measurement with ", each.size.ranks, " ranks");
    refuse_if(each.size.sharing < 1, "scaling_model: a measurement with ", each.size.sharing,
              " ranks on each device");
    refuse_if(!(each.seconds > 0 && std::isfinite(each.seconds)),
              "scaling_model: a measurement took ", each.seconds, " seconds");
  }
}

/// Also throws lab::invalid_input if there are none, or two with the same number of ranks.
inline void require_different_ranks(std::span<const measurement> measured) {
  require_good(measured);
  refuse_if(measured.empty(), "scaling_model: there are no measurements");
  std::vector<int> ranks;
  for (const measurement& each : measured) ranks.push_back(each.size.ranks);
  std::sort(ranks.begin(), ranks.end());
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  refuse_if(twice != ranks.end(), "scaling_model: two measurements have the same number of ranks");
}

/// measure(), where `job` is what each rank does.
template <class Job>
samples host_part_of_measure(const Job& job, const job_size& size, unsigned repetitions,
                             const delay& extra) {
  require_good(size, repetitions, extra);
  const auto answers =
      job.run(size.ranks, [&](int) { return std::tuple(size, repetitions, extra); });
  return {std::get<0>(answers[0]), std::get<1>(answers[0])};
}

// --- least squares -------------------------------------------------------------------------------

inline constexpr std::size_t kTerms = 4;
using terms = std::array<double, kTerms>;

/// The model x for which the sum over all rows of (row · x - 1)^2 is smallest, by Householder
/// reflections. Throws lab::invalid_input if more than one x is.
inline model solve_least_squares(std::vector<terms> rows) {
  std::vector<double> right(rows.size(), 1.0);
  terms scale{}, x{};
  const auto determined = [](bool is) {
    refuse_if(!is,
              "scaling_model: these measurements do not determine a model; take different numbers "
              "of ranks, values and elements of the message");
  };
  determined(rows.size() >= kTerms);
  // Columns of length 1, or nobody could tell a small coefficient from none.
  for (std::size_t k = 0; k < kTerms; ++k) {
    for (const terms& row : rows) scale[k] += row[k] * row[k];
    scale[k] = std::sqrt(scale[k]);
    determined(scale[k] > 0 && std::isfinite(scale[k]));
    for (terms& row : rows) row[k] /= scale[k];
  }
  for (std::size_t k = 0; k < kTerms; ++k) {
    double length = 0;
    for (std::size_t i = k; i < rows.size(); ++i) length += rows[i][k] * rows[i][k];
    length = std::sqrt(length);
    determined(length > 1e-9);
    const double diagonal = rows[k][k] > 0 ? -length : length;
    std::vector<double> v(rows.size());
    double norm = 0;
    for (std::size_t i = k; i < rows.size(); ++i) {
      v[i] = rows[i][k] - (i == k ? diagonal : 0);
      norm += v[i] * v[i];
    }
    const auto reflect = [&](auto&& at) {
      double dot = 0;
      for (std::size_t i = k; i < rows.size(); ++i) dot += v[i] * at(i);
      for (std::size_t i = k; i < rows.size(); ++i) at(i) -= 2 * dot / norm * v[i];
    };
    for (std::size_t j = k; j < kTerms; ++j)
      reflect([&](std::size_t i) -> double& { return rows[i][j]; });
    reflect([&](std::size_t i) -> double& { return right[i]; });
  }
  for (std::size_t k = kTerms; k-- > 0;) {
    x[k] = right[k];
    for (std::size_t j = k + 1; j < kTerms; ++j) x[k] -= rows[k][j] * x[j];
    x[k] /= rows[k][k];
  }
  return {x[0] / scale[0], x[1] / scale[1], x[2] / scale[2], x[3] / scale[3]};
}

}  // namespace lab::scaling_model
