// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: the contract. What the program and the tests expect of scaling_study.cu.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace lab::scaling_study {

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major.
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  friend bool operator==(const shape&, const shape&) = default;
};

/// What is measured: two matrices of whole numbers, and their product, which is exact in floats.
struct problem {
  shape size;
  std::vector<float> a, b;
  std::vector<float> c;  ///< what A · B is
};

/// The sides of a block: B x B threads make B x B elements of C, with tiles as large.
inline constexpr unsigned kBlocks[] = {4, 8, 16, 32};

/// How to measure.
struct plan {
  unsigned samples = 20;  ///< how many samples a row has
  float sample_ms = 1;    ///< how many milliseconds a sample takes at least; from 0 to 1000
};

/// One row of the study: one problem with one block size.
struct row {
  shape size;
  unsigned block = 0;            ///< one of kBlocks
  double operations = 0;         ///< multiplications and additions in a launch: 2 · m · n · k
  unsigned launches = 0;         ///< in a sample: 1, 2, 4, 8, …
  std::vector<float> sample_ms;  ///< what each sample took, all its launches together
  double ms = 0;                 ///< a launch: the median of the samples, divided by `launches`
  double gflops = 0;             ///< 10⁹ operations a second: operations / (ms · 10⁶)
};

/// A kernel has made something else than the problem's c. what() says of which problem, with which
/// block size, and where the first wrong element is. A study that meets one has no result: a time
/// of a wrong product means nothing.
class wrong_product : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A row for every problem and every block size: those of the first problem first, each in the
/// order of `blocks`.
///
/// - Before anything is timed, a launch into fresh memory makes C, and every element of it is
///   compared with the problem's c. That launch also warms up.
/// - The launches of a sample are timed together. Their number is doubled until a sample takes
///   sample_ms; samples that are too short are thrown away. All samples of a row have as many.
/// - Memory is allocated, filled and freed outside of what is timed.
///
/// Without problems, or without block sizes, there are no rows.
///
/// Throws lab::invalid_input for a problem with m, n or k = 0, with a, b or c of another length
/// than its size says, or with more rows than a grid has blocks for; for a block size that is not
/// in kBlocks; for a plan without samples, or with another sample_ms than from 0 to 1000. Nothing
/// is measured then. Throws wrong_product as said above, and lab::cuda_error when CUDA reports an
/// error. None of them leaves device memory behind.
///
/// Requires: for each block size a launch of blocks as large, with tiles in shared memory, for each
/// sample; the host compares and takes the time.
///
/// From: the UVT report on data parallelism, which asks how the rate of a matrix product depends on
/// its size and on the number of threads in a block.
std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options);

}  // namespace lab::scaling_study
