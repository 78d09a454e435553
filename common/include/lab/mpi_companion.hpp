// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What goes to the ranks of an MPI job besides the work (lab/mpi_job.hpp): tests record what the
// ranks' devices do, and make their calls fail. There is no MPI in here.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "lab/packed.hpp"

namespace lab::mpi {

class companion {
 public:
  companion() = default;
  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;
  virtual ~companion() = default;
  /// In the process that starts the job: what this rank is told before its work.
  virtual bytes before(int rank) = 0;
  /// In the rank.
  virtual void work_begins(std::span<const std::byte> told) = 0;
  /// This function of MPI is about to be called, in an MPI_CHECK.
  virtual void mpi_call(std::string_view function) = 0;
  virtual bytes work_ends() = 0;
  /// In the process that started the job, with what work_ends() has returned; also after an
  /// exception.
  virtual void after(int rank, std::span<const std::byte> heard) = 0;
};

/// The one of this program, or nullptr. It lives until the program ends.
inline companion*& the_companion() {
  static companion* one = nullptr;
  return one;
}

/// In a rank: what query_cuda_support() says of `compiled` and `running`; empty: the truth.
inline std::optional<std::pair<bool, bool>>& said_of_cuda_support() {
  static std::optional<std::pair<bool, bool>> said;
  return said;
}

/// In a rank: how many bytes broadcasts, scatters and messages have brought until now, at most.
inline std::atomic<std::size_t>& received_bytes() {
  static std::atomic<std::size_t> count = 0;
  return count;
}

}  // namespace lab::mpi
