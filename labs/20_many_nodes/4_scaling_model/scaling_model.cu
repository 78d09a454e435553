// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: how a job scales, measured on a few ranks and predicted for many.
// Edit:  this nearly empty file: TODO(1) to TODO(5). scaling_model.hpp has the contract.
// Run:   scripts/lab run 20.4 -- --ranks 8      (mpirun is started by the program)
// Test:  scripts/lab test 20.4
// Hints: scripts/lab hint 20.4                  Chapter: docs/20_many_nodes.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_model {
namespace {

// TODO(1): the work of a rank, and below it an mpi::job of it, as in 20.1. It gets (MPI_Comm world,
//          const job_size& size, unsigned repetitions, const delay& extra), and returns a
//          std::tuple of the seconds of each repetition, and the sum of all sums. Repetition 0
//          warms up; 1 to `repetitions` count. Each one: get_ready() of a `work` (given.hpp), then
//          run(number), which is timed (MPI_Wtime), then add its sum(). The clock starts when all
//          ranks are ready. A repetition takes as long as the slowest rank takes, and all ranks
//          return the same seconds.

}  // namespace

samples measure(const job_size& size, unsigned repetitions, const delay& extra) {
  // TODO(1): host_part_of_measure() of given.hpp runs the job.
  throw not_written("measure", 1);
}

std::vector<scaling_row> speedups(scaling kind, std::span<const measurement> measured) {
  // TODO(2): require_different_ranks() rejects what the contract rejects. Compare with the
  //          measurement with the fewest ranks, p0: one rank would do 1 / p0 of its work per
  //          second. In strong scaling all jobs do the same work; in weak scaling the work is
  //          proportional to the number of ranks. Efficiency is the speed-up per rank.
  throw not_written("speedups", 2);
}

unsigned levels(int ranks) {
  // TODO(3): reject what the contract rejects. Each level doubles the number of ranks that have a
  //          common sum. How many levels are needed for all of them?
  throw not_written("levels", 3);
}

double predict(const model& of, const job_size& size) {
  // TODO(4): the formula at `model`: four terms, each with its coefficient. fit() needs the same
  //          terms.
  throw not_written("predict", 4);
}

model fit(std::span<const measurement> measured) {
  // TODO(5): require_good() rejects what the contract rejects. Make a row of terms for each
  //          measurement, so that (row · coefficients - 1) is the relative error of the prediction.
  //          solve_least_squares(rows) returns the model for which the sum of their squares is
  //          smallest.
  throw not_written("fit", 5);
}

double worst_error(const model& of, std::span<const measurement> measured) {
  // TODO(5): the largest relative error of a prediction, as a fraction of the measured time.
  //          require_good() rejects what the contract rejects.
  throw not_written("worst_error", 5);
}

}  // namespace lab::scaling_model
