// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A second barrier ends the time; speed-ups from rates.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/timer.hpp"

namespace lab::scaling_model {
namespace {

// --- measuring -----------------------------------------------------------------------------------

/// The function of each rank: the seconds of each repetition, and the sum of all sums.
std::tuple<std::vector<double>, double> measure_on_rank(MPI_Comm world, const job_size& size,
                                                        unsigned repetitions, const delay& extra) {
  work mine(world, size, extra);
  std::vector<double> seconds;
  double sum = 0;
  const auto timed = [&](unsigned number) {
    mine.get_ready();
    MPI_CHECK(MPI_Barrier(world));
    const host_timer timer;
    mine.run(number);
    MPI_CHECK(MPI_Barrier(world));  // until the last rank has finished
    return timer.milliseconds() / 1000;
  };
  timed(0);
  for (unsigned number = 1; number <= repetitions; ++number) {
    seconds.push_back(timed(number));
    sum += mine.sum();
  }
  return {seconds, sum};
}

const mpi::job kMeasure("20.4 measure", measure_on_rank);

}  // namespace

samples measure(const job_size& size, unsigned repetitions, const delay& extra) {
  return host_part_of_measure(kMeasure, size, repetitions, extra);
}

// --- speed-up and efficiency ---------------------------------------------------------------------

std::vector<scaling_row> speedups(scaling kind, std::span<const measurement> measured) {
  require_different_ranks(measured);
  std::vector<scaling_row> rows;
  std::vector<measurement> sorted(measured.begin(), measured.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.size.ranks < b.size.ranks; });
  const auto rate = [kind](const measurement& of) {
    return (kind == scaling::weak ? of.size.ranks : 1) / of.seconds;
  };
  const double rate_of_one = rate(sorted[0]) / sorted[0].size.ranks;
  for (const measurement& each : measured) {
    const double speedup = rate(each) / rate_of_one;
    rows.push_back({each.size.ranks, speedup, speedup / each.size.ranks});
  }
  return rows;
}

// --- the model -----------------------------------------------------------------------------------

unsigned levels(int ranks) {
  refuse_if(ranks < 1, "scaling_model: a tree of ", ranks, " ranks");
  unsigned k = 0;
  for (long long reached = 1; reached < ranks; reached *= 2) ++k;
  return k;
}

namespace {

/// The factors of the coefficients of a model, in the order of the coefficients.
terms terms_of(const job_size& size) {
  const double height = levels(size.ranks);
  return {1, static_cast<double>(size.values) * size.sharing, height,
          height * 8 * static_cast<double>(size.message)};
}

}  // namespace

double predict(const model& of, const job_size& size) {
  const terms t = terms_of(size);
  return of.overhead * t[0] + of.per_value * t[1] + of.per_level * t[2] + of.per_byte * t[3];
}

model fit(std::span<const measurement> measured) {
  require_good(measured);
  std::vector<terms> rows;
  for (const measurement& each : measured) {
    terms row = terms_of(each.size);
    for (double& term : row) term /= each.seconds;
    rows.push_back(row);
  }
  return solve_least_squares(rows);
}

double worst_error(const model& of, std::span<const measurement> measured) {
  require_good(measured);
  double worst = 0;
  for (const measurement& each : measured)
    worst = std::max(worst, std::fabs(predict(of, each.size) / each.seconds - 1));
  return worst;
}

}  // namespace lab::scaling_model
