// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "grid_sync.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::grid_sync::eigenvalue;
using lab::grid_sync::enough_iterations;
using lab::grid_sync::least_eigenvalue;
using lab::grid_sync::norm;
using lab::grid_sync::residual_of;
using lab::grid_sync::result;
using lab::grid_sync::rounding;
using lab::grid_sync::solve;
using lab::grid_sync::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<double>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::many_launches, "many_launches"},
                                 {step::one_launch, "one_launch"}};
constexpr std::size_t kMoreThanEnough = 2000;  // and few enough to wait for a wrong version

struct shape {
  std::size_t width, height;
  std::size_t cells() const { return width * height; }
  friend void PrintTo(const shape& s, std::ostream* out) { *out << s.width << " x " << s.height; }
};

result solve_it(step version, const vector& b, shape s, double tolerance,
                std::size_t most = kMoreThanEnough) {
  return solve(version, b, s.width, s.height, tolerance, most);
}

vector random_side(shape s, std::uint64_t seed) {
  const std::vector<float> numbers = lab::random_floats(s.cells(), seed, -1, 1);
  return {numbers.begin(), numbers.end()};
}

/// An eigenvector of A: so many half waves in a row and in a column.
struct wave {
  std::size_t across, down;
};
/// The sum of eigenvectors, each with a weight of its own.
vector sum_of(const std::vector<wave>& waves, shape s) {
  const auto sine = [](std::size_t half_waves, std::size_t cell, std::size_t cells) {
    return std::sin(std::numbers::pi * static_cast<double>(half_waves * (cell + 1)) /
                    static_cast<double>(cells + 1));
  };
  vector sum(s.cells(), 0.0);
  double weight = 1;
  for (const wave& each : waves) {
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] +=
          weight * sine(each.across, i % s.width, s.width) * sine(each.down, i / s.width, s.height);
    weight *= -1.25;
  }
  return sum;
}

/// An H200 has room for 270,336 threads at once. Two eigenvectors: two iterations.
constexpr shape kManyCells = {641, 433};
const std::vector<wave> kTwoWaves = {{300, 200}, {600, 410}};

/// Whether the result is a solution: judged by its x, not by its other members.
::testing::AssertionResult is_solution(const result& got, const vector& b, shape s,
                                       double tolerance) {
  if (got.x.size() != b.size())
    return ::testing::AssertionFailure()
           << "x has " << got.x.size() << " elements, and b " << b.size();
  if (!got.converged)
    return ::testing::AssertionFailure()
           << "it has not converged after " << got.iterations << " iterations";
  const double residual = norm(residual_of(b, got.x, s.width, s.height));
  const double inexact = rounding(got.x, got.iterations);
  if (!(residual <= tolerance * norm(b) + inexact))
    return ::testing::AssertionFailure()
           << "|b - A x| is " << residual << ", but should be at most " << tolerance * norm(b);
  if (!(std::fabs(got.residual - residual) <= inexact))
    return ::testing::AssertionFailure() << "the residual was returned as " << got.residual
                                         << ", but computed from x it is " << residual;
  const std::size_t enough = enough_iterations(s.width, s.height, tolerance);
  if (got.iterations > enough)
    return ::testing::AssertionFailure() << got.iterations << " iterations, but " << enough
                                         << " are enough for conjugate gradients";
  return ::testing::AssertionSuccess();
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(BlocksThatWaitForEachOtherByLaunchesOrBarriers) {
  constexpr double kTolerance = 0.1;
  for (const shape s : {shape{40, 30}, shape{60, 50}}) {
    const vector b = random_side(s, 1);
    const std::uint64_t threads = s.cells() / 8;  // a thread may have several cells
    for (const auto& [version, name] : kSteps) {
      std::size_t iterations = 0;
      const auto done = work_of([&, version = version] {
        const result got = solve_it(version, b, s, kTolerance);
        iterations = std::max(iterations, got.iterations);  // in case it is called again
        return is_solution(got, b, s, kTolerance);
      });
      const bool once = version == step::one_launch;
      EXPECT_TRUE(as_required(done, {.threads = threads,
                                     .blocks = 2,
                                     .kernels = once ? 1 : 2 * iterations,
                                     .sent = bytes_of(b),
                                     .fetched = bytes_of(b),
                                     .reads = iterations * bytes_of(b),
                                     .writes = iterations * bytes_of(b)}))
          << name;
      // Besides x, three numbers for each iteration: fewer than the blocks have parts of a sum.
      EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost),
                bytes_of(b) + 3 * sizeof(double) * (iterations + 1))
          << name
          << ": the host fetches more than single numbers: the sums over blocks belong on the "
             "device";
      if (done.watched) {
        std::uint64_t accesses = 0, busiest = 0;
        for (const auto& kernel : done.kernels)
          accesses += kernel.accesses, busiest += kernel.busiest;
        // They share the cells: the busiest one does not do the work of more than eight.
        EXPECT_LE(s.cells() * busiest, 8 * accesses)
            << name << ": a few threads do most of the work: all blocks share the cells";
      }
      EXPECT_EQ(done.calls.contains("cudaLaunchCooperativeKernel"), once)
          << name << ": only one_launch is a cooperative launch";
      if (once) {
        EXPECT_EQ(done.kernels.size(), 1U) << name << ": this step needs a single launch";
        EXPECT_GE(done.kernels.empty() ? 0 : done.kernels[0].grid_barriers, 2 * iterations)
            << name << ": all blocks wait for each other at least twice for each iteration";
      }
    }
  }
}

REQUIRED_WORK(BlocksThatShareALargeGrid) {
  // A host that solves only large grids solves none of the small ones above.
  lab::testing::expect_at_full_size([] {
    const vector b = sum_of(kTwoWaves, kManyCells);
    for (const auto& [version, name] : kSteps) {
      const auto done = work_of([&, version = version] {
        return is_solution(solve_it(version, b, kManyCells, 1e-9, 9), b, kManyCells, 1e-9);
      });
      EXPECT_TRUE(as_required(done, {.threads = 1024,
                                     .blocks = 4,
                                     .kernels = version == step::one_launch ? 1U : 4U,
                                     .sent = bytes_of(b),
                                     .fetched = bytes_of(b)}))
          << name;
      if (version != step::one_launch) continue;
      EXPECT_EQ(done.kernels.size(), 1U) << name << ": this step needs a single launch";
      EXPECT_TRUE(done.calls.contains("cudaLaunchCooperativeKernel")) << name;
    }
  });
}

REQUIRED_WORK(TheSameLaunchesWhereOneBlockOrTwoAreEnough) {
  // A single block has nobody to wait for, but the step is still what it is.
  for (const shape s :
       {shape{1, 1}, shape{5, 1}, shape{1, 31}, shape{7, 6}, shape{16, 16}, shape{40, 13}}) {
    const vector b = random_side(s, 5);
    for (const auto& [version, name] : kSteps) {
      const bool once = version == step::one_launch;
      std::size_t iterations = 0;
      const auto done = work_of([&, version = version] {
        const result got = solve_it(version, b, s, 0.1);
        iterations = std::max(iterations, got.iterations);
        return is_solution(got, b, s, 0.1);
      });
      const std::string label = std::string(name) + ", " + std::to_string(s.cells()) + " cells";
      EXPECT_TRUE(as_required(done, {.threads = std::max<std::size_t>(s.cells() / 8, 1),
                                     .kernels = once ? 1 : 2 * iterations,
                                     .sent = bytes_of(b),
                                     .fetched = bytes_of(b),
                                     .reads = iterations * bytes_of(b),
                                     .writes = iterations * bytes_of(b)}))
          << label;
      EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToHost),
                bytes_of(b) + 3 * sizeof(double) * (iterations + 1))
          << label << ": the host fetches more than x and single numbers";
      if (done.watched && s.cells() > 200) {
        std::uint64_t accesses = 0, busiest = 0;
        for (const auto& kernel : done.kernels)
          accesses += kernel.accesses, busiest += kernel.busiest;
        EXPECT_LE(s.cells() / 8 * busiest, accesses)
            << label << ": a few threads do most of the work: they all share the cells";
      }
      EXPECT_EQ(done.calls.contains("cudaLaunchCooperativeKernel"), once)
          << label << ": only one_launch is a cooperative launch";
      if (once) {
        EXPECT_EQ(done.kernels.size(), 1U) << label << ": this step needs a single launch";
        EXPECT_GE(done.kernels.empty() ? 0 : done.kernels[0].grid_barriers, 2 * iterations)
            << label << ": all threads wait at a barrier of the grid at least twice for each "
            << "iteration";
      }
    }
  }
}

REQUIRED_WORK(EventsAroundTheKernels) {
  constexpr shape kShape = {9, 7};
  const vector b = random_side(kShape, 3);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of([&, version = version] {
      return is_solution(solve_it(version, b, kShape, 1e-6), b, kShape, 1e-6);
    });
    EXPECT_TRUE(as_required(
        done, {.threads = 32, .calls = {"cudaEventElapsedTime|cudaEventElapsedTime_v2"}}))
        << name;
    const auto is_launch = [](const std::string& call) {
      return call.starts_with("cudaLaunch") && call != "cudaLaunchHostFunc";
    };
    const auto& calls = done.sequence;
    const auto first = std::find_if(calls.begin(), calls.end(), is_launch);
    const auto last = std::find_if(calls.rbegin(), calls.rend(), is_launch).base();
    const auto is_event = [](const std::string& call) {
      return call.starts_with("cudaEventRecord");
    };
    EXPECT_TRUE(std::any_of(calls.begin(), first, is_event))
        << name << ": kernel_ms is not measured: no event is recorded before the first kernel";
    EXPECT_TRUE(std::any_of(last, calls.end(), is_event))
        << name << ": kernel_ms is not measured: no event is recorded after the last kernel";
  }
}

// --- every step, every shape ---------------------------------------------------------------------

// One cell, one row, one column; around a block of 256; squares and others; primes.
constexpr shape kShapes[] = {{1, 1},   {2, 1},   {1, 2},   {3, 3},   {1, 17},  {31, 1},
                             {255, 1}, {1, 257}, {16, 16}, {33, 23}, {7, 101}, {1, 1009}};

class EachShape : public ::testing::TestWithParam<std::tuple<named_step, shape>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  shape size() const { return std::get<1>(GetParam()); }
};
/// many_launches_7x151
std::string name_of(const ::testing::TestParamInfo<std::tuple<named_step, shape>>& test) {
  const auto& [version, s] = test.param;
  return std::string(version.name) + "_" + std::to_string(s.width) + "x" + std::to_string(s.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, EachShape,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kShapes)),
                         name_of);

TEST_P(EachShape, IsSolvedToTheTolerance) {
  const vector b = random_side(size(), 7);
  for (const double tolerance : {1e-2, 1e-10})
    EXPECT_TRUE(is_solution(solve_it(version(), b, size(), tolerance), b, size(), tolerance))
        << "tolerance " << tolerance;
}

TEST_P(EachShape, IsSolvedAsByManyLaunches) {
  // For any x, |x - solution| <= |b - A x| / (the least eigenvalue).
  const vector b = random_side(size(), 8);
  const double tolerance = 1e-8;
  const result got = solve_it(version(), b, size(), tolerance);
  const result other = solve_it(step::many_launches, b, size(), tolerance);
  ASSERT_EQ(got.x.size(), other.x.size());
  vector apart(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) apart[i] = got.x[i] - other.x[i];
  const double residuals = 2 * tolerance * norm(b) + rounding(got.x, got.iterations) +
                           rounding(other.x, other.iterations);
  EXPECT_LE(norm(apart), residuals / least_eigenvalue(size().width, size().height));
}

TEST_P(EachShape, EndsAsSoonAsItIsGoodEnough) {
  const vector b = random_side(size(), 9);
  const double tolerance = 1e-5;
  const result got = solve_it(version(), b, size(), tolerance);
  ASSERT_GT(got.iterations, 0U);
  EXPECT_LE(got.residual, tolerance * norm(b) * (1 + 1e-12));
  const result before = solve_it(version(), b, size(), tolerance, got.iterations - 1);
  EXPECT_FALSE(before.converged);
  EXPECT_EQ(before.iterations, got.iterations - 1);
  EXPECT_GE(norm(residual_of(b, before.x, size().width, size().height)),
            tolerance * norm(b) - rounding(before.x, before.iterations));
}

TEST_P(EachShape, HasNothingToSolveForZeros) {
  const vector zeros(size().cells(), 0.0);
  const result got = solve_it(version(), zeros, size(), 1e-9);
  EXPECT_TRUE(matches(lab::compare_exact(got.x, zeros)));
  EXPECT_EQ(got.iterations, 0U);
  EXPECT_EQ(got.residual, 0);
  EXPECT_TRUE(got.converged);
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, NeedsOneIterationForEachEigenvalue) {
  // In exact arithmetic conjugate gradients end after as many iterations as b has eigenvectors
  // with different eigenvalues, and not before. The eigenvalues here lie far apart.
  constexpr shape kShape = {37, 23};
  const std::vector<wave> waves = {{5, 3}, {20, 4}, {30, 20}, {12, 15}};
  for (std::size_t count = 1; count <= waves.size(); ++count) {
    const std::vector<wave> some(waves.begin(), waves.begin() + static_cast<std::ptrdiff_t>(count));
    const vector b = sum_of(some, kShape);
    const result got = solve_it(version(), b, kShape, 1e-10);
    EXPECT_EQ(got.iterations, count);
    EXPECT_TRUE(is_solution(got, b, kShape, 1e-10)) << count << " eigenvectors";
  }
}

TEST_P(EachStep, DividesAnEigenvectorByItsEigenvalue) {
  constexpr shape kShape = {19, 45};
  for (const wave each : {wave{1, 1}, wave{19, 45}, wave{4, 1}, wave{1, 30}}) {
    const vector b = sum_of({each}, kShape);
    const result got = solve_it(version(), b, kShape, 1e-9);
    vector expected = b;
    const double lambda = eigenvalue(kShape.width, kShape.height, each.across, each.down);
    for (double& element : expected) element /= lambda;
    const double least = least_eigenvalue(kShape.width, kShape.height);
    const double allowed = (1e-9 * norm(b) + rounding(got.x, got.iterations)) / least;
    EXPECT_TRUE(matches(lab::compare(got.x, expected, {.absolute = allowed})))
        << each.across << ", " << each.down;
  }
}

TEST_P(EachStep, FindsASourceInEveryCell) {
  // A single 1, in the corners, at the edges, and where rows meet in memory.
  constexpr shape kShape = {5, 4};
  for (std::size_t at = 0; at < kShape.cells(); ++at) {
    vector b(kShape.cells(), 0.0);
    b[at] = 1;
    EXPECT_TRUE(is_solution(solve_it(version(), b, kShape, 1e-6), b, kShape, 1e-6)) << at;
  }
}

TEST_P(EachStep, TakesMoreCellsThanThreadsCanBeResident) {
  const vector b = sum_of(kTwoWaves, kManyCells);
  const result got = solve_it(version(), b, kManyCells, 1e-9, 9);
  EXPECT_EQ(got.iterations, 2U);
  EXPECT_TRUE(is_solution(got, b, kManyCells, 1e-9));
}

TEST_P(EachStep, MeasuresTheResidualByTheSizeOfB) {
  // Powers of two change no digit: the same iterations, the same digits of x.
  constexpr shape kShape = {29, 18};
  const vector b = random_side(kShape, 3);
  const result plain = solve_it(version(), b, kShape, 1e-7);
  for (const int exponent : {-300, -20, 20, 300}) {
    vector scaled = b;
    for (double& element : scaled) element = std::ldexp(element, exponent);
    result got = solve_it(version(), scaled, kShape, 1e-7);
    EXPECT_EQ(got.iterations, plain.iterations) << "2 to the power of " << exponent;
    for (double& element : got.x) element = std::ldexp(element, -exponent);
    EXPECT_TRUE(matches(lab::compare_exact(got.x, plain.x))) << exponent;
    EXPECT_EQ(std::ldexp(got.residual, -exponent), plain.residual) << exponent;
  }
}

TEST_P(EachStep, SaysThatTheIterationsWereNotEnough) {
  constexpr shape kShape = {40, 30};
  const vector b = random_side(kShape, 4);
  for (const std::size_t most : {0, 1, 2, 5, 13}) {
    const result got = solve_it(version(), b, kShape, 1e-12, most);
    EXPECT_FALSE(got.converged);
    EXPECT_EQ(got.iterations, most);
    ASSERT_EQ(got.x.size(), b.size());
    const double residual = norm(residual_of(b, got.x, kShape.width, kShape.height));
    // A sum of 1200 squares is inexact, too: by less than 1200 eps of itself, 2.7e-13.
    EXPECT_NEAR(got.residual, residual, rounding(got.x, most) + 1e-12 * norm(b));
    EXPECT_GT(residual, 1e-12 * norm(b));
  }
}

TEST_P(EachStep, TakesTheLargestNumbersForAsManyIterationsAsItTakes) {
  constexpr shape kShape = {12, 9};
  const vector b = random_side(kShape, 11);
  for (const std::size_t most :
       {std::size_t{1} << 32, std::size_t{1} << 63, std::numeric_limits<std::size_t>::max()})
    EXPECT_TRUE(is_solution(solve_it(version(), b, kShape, 1e-6, most), b, kShape, 1e-6)) << most;
}

TEST_P(EachStep, IsContentWithNothingAtAToleranceOfOne) {
  constexpr shape kShape = {9, 8};
  const vector b = random_side(kShape, 5);
  const result got = solve_it(version(), b, kShape, 1);
  EXPECT_TRUE(got.converged);
  EXPECT_EQ(got.iterations, 0U);
  EXPECT_TRUE(matches(lab::compare_exact(got.x, vector(b.size(), 0.0))));
}

TEST_P(EachStep, TakesTheSmallestTolerance) {
  constexpr shape kShape = {20, 11};
  const vector b = random_side(kShape, 6);
  const result got = solve_it(version(), b, kShape, 1e-15);
  EXPECT_TRUE(got.converged);
  EXPECT_LE(norm(residual_of(b, got.x, kShape.width, kShape.height)),
            1e-15 * norm(b) + rounding(got.x, got.iterations));
}

TEST_P(EachStep, GivesTheSameBitsEachTime) {
  // More than 4096 cells: on the CPU device a thread has more than one.
  constexpr shape kShape = {67, 63};
  const vector b = random_side(kShape, 10);
  const result first = solve_it(version(), b, kShape, 1e-9, 12);
  for (int again = 0; again < 2; ++again) {
    const result got = solve_it(version(), b, kShape, 1e-9, 12);
    EXPECT_TRUE(matches(lab::compare_exact(got.x, first.x)));
    EXPECT_EQ(got.residual, first.residual);
    EXPECT_EQ(got.iterations, first.iterations);
  }
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  constexpr shape kLarge = {30, 50}, kSmall = {5, 6};
  for (const shape s : {kLarge, kSmall, kLarge}) {
    const vector b = random_side(s, s.width);
    EXPECT_TRUE(is_solution(solve_it(version(), b, s, 1e-6), b, s, 1e-6));
  }
}

TEST_P(EachStep, HasNothingToSolveWithoutCells) {
  for (const shape s : {shape{0, 0}, shape{0, 7}, shape{7, 0}}) {
    const result got = solve_it(version(), {}, s, 1e-9);
    EXPECT_TRUE(got.x.empty());
    EXPECT_EQ(got.iterations, 0U);
    EXPECT_EQ(got.residual, 0);
    EXPECT_TRUE(got.converged);
  }
}

TEST_P(EachStep, RefusesOtherNumbersOfElements) {
  const vector six(6, 1.0);
  constexpr std::size_t kHalf = std::size_t{1} << 63;  // 2 * kHalf + 6 is 6, modulo 2^64
  for (const shape s : {shape{2, 2}, shape{3, 3}, shape{7, 1}, shape{0, 6}, shape{6, 0},
                        shape{4, 1}, shape{0, 0}, shape{kHalf + 3, 2}, shape{2, kHalf + 3}})
    EXPECT_THROW(solve_it(version(), six, s, 1e-6), lab::invalid_input)
        << s.width << " " << s.height;
  EXPECT_THROW(solve_it(version(), {}, {1, 1}, 1e-6), lab::invalid_input);
}

TEST_P(EachStep, RefusesNumbersThatCannotBeSolvedFor) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr shape kShape = {3, 2};
  for (const double wrong : {kNan, kInfinity, -kInfinity, 1.1e100, -1e300})
    for (const std::size_t at : {0, 3, 5}) {
      vector b(kShape.cells(), 1.0);
      b[at] = wrong;
      EXPECT_THROW(solve_it(version(), b, kShape, 1e-6), lab::invalid_input)
          << wrong << " at " << at;
    }
  EXPECT_THROW(solve_it(version(), vector(6, 0.9e-100), kShape, 1e-6), lab::invalid_input);
  for (const double extreme : {1e100, -1e100, 1e-100}) {
    vector b(kShape.cells(), 0.0);
    b[4] = extreme;
    EXPECT_TRUE(is_solution(solve_it(version(), b, kShape, 1e-12), b, kShape, 1e-12)) << extreme;
  }
  for (const double wrong : {kNan, kInfinity, 0.0, -1e-3, 0.9e-15, 1.01})
    EXPECT_THROW(solve_it(version(), vector(6, 1.0), kShape, wrong), lab::invalid_input) << wrong;
}

TEST_P(EachStep, SaysHowLongItTook) {
  constexpr shape kShape = {50, 40};
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return solve_it(version(), random_side(kShape, 2), kShape, 1e-3).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  constexpr shape kShape = {23, 14};
  const vector b = sum_of({{5, 3}, {20, 10}}, kShape);  // two iterations
  expect_failures_reported(
      [&] { return is_solution(solve_it(version(), b, kShape, 1e-9), b, kShape, 1e-9); }, b);
}

}  // namespace
