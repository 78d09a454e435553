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
// BEGIN SOLUTION
/// The function of each rank: the seconds of each repetition, and the sum of all sums.
std::tuple<std::vector<double>, double> measure_on_rank(MPI_Comm world, const job_size& size,
                                                        unsigned repetitions, const delay& extra) {
  work mine(world, size, extra);
  std::vector<double> seconds;
  double sum = 0;
  for (unsigned number = 0; number <= repetitions; ++number) {
    mine.get_ready();
    MPI_CHECK(MPI_Barrier(world));  // no rank waits in run() for one that is not ready
    const double begin = MPI_Wtime();
    mine.run(number);
    double time = MPI_Wtime() - begin;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, world));
    if (number == 0) continue;
    seconds.push_back(time);
    sum += mine.sum();
  }
  return {seconds, sum};
}

const mpi::job kMeasure("20.4 measure", measure_on_rank);
// END SOLUTION

}  // namespace

samples measure(const job_size& size, unsigned repetitions, const delay& extra) {
  // TODO(1): host_part_of_measure() of given.hpp runs the job.
  // BEGIN SOLUTION
  // STUB: throw not_written("measure", 1);
  return host_part_of_measure(kMeasure, size, repetitions, extra);
  // END SOLUTION
}

std::vector<scaling_row> speedups(scaling kind, std::span<const measurement> measured) {
  // TODO(2): require_different_ranks() rejects what the contract rejects. Compare with the
  //          measurement with the fewest ranks, p0: one rank would do 1 / p0 of its work per
  //          second. In strong scaling all jobs do the same work; in weak scaling the work is
  //          proportional to the number of ranks. Efficiency is the speed-up per rank.
  // BEGIN SOLUTION
  // STUB: throw not_written("speedups", 2);
  require_different_ranks(measured);
  std::vector<scaling_row> rows;
  const measurement& first =
      *std::min_element(measured.begin(), measured.end(),
                        [](const auto& a, const auto& b) { return a.size.ranks < b.size.ranks; });
  for (const measurement& each : measured) {
    const double faster = first.seconds / each.seconds;
    const double work = kind == scaling::strong ? first.size.ranks : each.size.ranks;
    rows.push_back({each.size.ranks, work * faster, work * faster / each.size.ranks});
  }
  return rows;
  // END SOLUTION
}

unsigned levels(int ranks) {
  // TODO(3): reject what the contract rejects. Each level doubles the number of ranks that have a
  //          common sum. How many levels are needed for all of them?
  // BEGIN SOLUTION
  // STUB: throw not_written("levels", 3);
  refuse_if(ranks < 1, "scaling_model: a tree of ", ranks, " ranks");
  unsigned k = 0;
  for (long long reached = 1; reached < ranks; reached *= 2) ++k;
  return k;
  // END SOLUTION
}

// BEGIN SOLUTION
/// The factors of the coefficients of a model, in the order of the coefficients.
static terms terms_of(const job_size& size) {
  const double depth = levels(size.ranks);
  const double bytes = 8 * static_cast<double>(size.message);
  return {1, static_cast<double>(size.values) * size.sharing, depth, depth * bytes};
}
// END SOLUTION

double predict(const model& of, const job_size& size) {
  // TODO(4): the formula at `model`: four terms, each with its coefficient. fit() needs the same
  //          terms.
  // BEGIN SOLUTION
  // STUB: throw not_written("predict", 4);
  const terms t = terms_of(size);
  return of.overhead * t[0] + of.per_value * t[1] + of.per_level * t[2] + of.per_byte * t[3];
  // END SOLUTION
}

model fit(std::span<const measurement> measured) {
  // TODO(5): require_good() rejects what the contract rejects. Make a row of terms for each
  //          measurement, so that (row · coefficients - 1) is the relative error of the prediction.
  //          solve_least_squares(rows) returns the model for which the sum of their squares is
  //          smallest.
  // BEGIN SOLUTION
  // STUB: throw not_written("fit", 5);
  require_good(measured);
  std::vector<terms> rows;
  for (const measurement& each : measured) {
    terms row = terms_of(each.size);
    for (double& term : row) term /= each.seconds;
    rows.push_back(row);
  }
  return solve_least_squares(rows);
  // END SOLUTION
}

double worst_error(const model& of, std::span<const measurement> measured) {
  // TODO(5): the largest relative error of a prediction, as a fraction of the measured time.
  //          require_good() rejects what the contract rejects.
  // BEGIN SOLUTION
  // STUB: throw not_written("worst_error", 5);
  require_good(measured);
  double worst = 0;
  for (const measurement& each : measured)
    worst = std::max(worst, std::fabs(predict(of, each.size) / each.seconds - 1));
  return worst;
  // END SOLUTION
}

}  // namespace lab::scaling_model
