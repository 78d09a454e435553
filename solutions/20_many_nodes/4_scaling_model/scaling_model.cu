// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.4 scaling_model: how a job scales, measured on a few ranks and predicted for many.
// Edit:  this file, from TODO(1) to TODO(5). scaling_model.hpp says what is asked for.
// Run:   scripts/lab run 20.4 -- --ranks 8      (mpirun is started by the program)
// Test:  scripts/lab test 20.4
// Hints: scripts/lab hint 20.4                  Chapter: docs/20_many_nodes.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_model {
namespace {

/// What each rank does: the seconds of each repetition, and the sum of all of them.
std::tuple<std::vector<double>, double> measure_on_rank(MPI_Comm world, const job_size& size,
                                                        unsigned repetitions, const delay& extra) {
  work mine(world, size, extra);
  std::vector<double> seconds;
  double sum = 0;
  // TODO(1): repetition 0 warms up; 1 to `repetitions` count. Each one: mine.get_ready(), then
  //          mine.run(number), which is timed (MPI_Wtime), then mine.sum() is added. The clock
  //          starts when all ranks are ready. A repetition takes as long as it takes the slowest
  //          rank, and all ranks return the same seconds.
  // BEGIN SOLUTION
  // STUB: throw not_written("measure", 1);
  for (unsigned number = 0; number <= repetitions; ++number) {
    mine.get_ready();
    MPI_CHECK(MPI_Barrier(world));  // nobody waits in run() for a rank that is not ready
    const double begin = MPI_Wtime();
    mine.run(number);
    double time = MPI_Wtime() - begin;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, world));
    if (number == 0) continue;
    seconds.push_back(time);
    sum += mine.sum();
  }
  // END SOLUTION
  return {seconds, sum};
}

const mpi::job kMeasure("20.4 measure", measure_on_rank);

}  // namespace

samples measure(const job_size& size, unsigned repetitions, const delay& extra) {
  return host_part_of_measure(kMeasure, size, repetitions, extra);
}

std::vector<scaling_row> speedups(scaling which, std::span<const measurement> measured) {
  require_different_ranks(measured);
  // TODO(2): compare with the measurement with the fewest ranks, p0: one rank would do p0 times
  //          less work per second. In strong scaling all jobs do the same work; in weak scaling the
  //          work is as large as the number of ranks. Efficiency is the speed-up for each rank.
  // BEGIN SOLUTION
  // STUB: throw not_written("speedups", 2);
  std::vector<scaling_row> rows;
  const measurement& first =
      *std::min_element(measured.begin(), measured.end(),
                        [](const auto& a, const auto& b) { return a.size.ranks < b.size.ranks; });
  for (const measurement& each : measured) {
    const double faster = first.seconds / each.seconds;
    const double work = which == scaling::strong ? first.size.ranks : each.size.ranks;
    rows.push_back({each.size.ranks, work * faster, work * faster / each.size.ranks});
  }
  return rows;
  // END SOLUTION
}

unsigned levels(int ranks) {
  refuse_if(ranks < 1, "scaling_model: a tree of ", ranks, " ranks");
  // TODO(3): each level doubles how many ranks have the sum. How many are needed for all of them?
  // BEGIN SOLUTION
  // STUB: throw not_written("levels", 3);
  unsigned k = 0;
  for (long long reached = 1; reached < ranks; reached *= 2) ++k;
  return k;
  // END SOLUTION
}

/// What the coefficients of a model are multiplied with, in their order.
static terms terms_of(const job_size& size) {
  // TODO(4): four numbers, from the formula at `model`.
  // BEGIN SOLUTION
  // STUB: throw not_written("terms_of", 4);
  const double depth = levels(size.ranks);
  const double bytes = 8 * static_cast<double>(size.message);
  return {1, static_cast<double>(size.values) * size.sharing, depth, depth * bytes};
  // END SOLUTION
}

double predict(const model& of, const job_size& size) {
  const terms t = terms_of(size);
  return of.overhead * t[0] + of.per_value * t[1] + of.per_level * t[2] + of.per_byte * t[3];
}

model fit(std::span<const measurement> measured) {
  require_good(measured);
  // TODO(5): make a row of terms for each measurement, so that (row · coefficients - 1) is the
  //          relative error of the prediction. solve_least_squares(rows) returns the model for
  //          which the sum of their squares is smallest.
  // BEGIN SOLUTION
  // STUB: throw not_written("fit", 5);
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
  require_good(measured);
  double worst = 0;
  for (const measurement& each : measured)
    worst = std::max(worst, std::fabs(predict(of, each.size) / each.seconds - 1));
  return worst;
}

}  // namespace lab::scaling_model
