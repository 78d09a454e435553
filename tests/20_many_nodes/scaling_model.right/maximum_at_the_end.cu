// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A sum serves as a barrier; one call finds the slowest rank of every repetition; levels() calls
// itself.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_model {
namespace {

// --- measuring -----------------------------------------------------------------------------------

/// The function of each rank: the seconds of each repetition, and the sum of all sums.
std::tuple<std::vector<double>, double> measure_on_rank(MPI_Comm world, const job_size& size,
                                                        unsigned repetitions, const delay& extra) {
  work mine(world, size, extra);
  std::vector<double> seconds;
  double sum = 0;
  std::vector<double> own;
  for (unsigned number = 0; number <= repetitions; ++number) {
    mine.get_ready();
    // No rank leaves this sum before all have entered it, so it is also a barrier.
    int here = 1;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &here, 1, MPI_INT, MPI_SUM, world));
    const double begin = MPI_Wtime();
    mine.run(number);
    own.push_back(MPI_Wtime() - begin);
    if (number > 0) sum += mine.sum();
  }
  // The slowest rank of each repetition, all in one call at the end.
  seconds.resize(repetitions);
  MPI_CHECK(MPI_Allreduce(own.data() + 1, seconds.data(), static_cast<int>(repetitions), MPI_DOUBLE,
                          MPI_MAX, world));
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
  const auto base = std::min_element(
      measured.begin(), measured.end(),
      [](const measurement& a, const measurement& b) { return a.size.ranks < b.size.ranks; });
  for (const measurement& each : measured) {
    const double more = static_cast<double>(each.size.ranks) / base->size.ranks;
    const double sooner = base->seconds / each.seconds;
    const double efficiency = kind == scaling::weak ? sooner : sooner / more;
    rows.push_back({each.size.ranks, efficiency * each.size.ranks, efficiency});
  }
  return rows;
}

// --- the model -----------------------------------------------------------------------------------

unsigned levels(int ranks) {
  refuse_if(ranks < 1, "scaling_model: a tree of ", ranks, " ranks");
  return ranks == 1 ? 0 : 1 + levels(ranks / 2 + ranks % 2);
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
