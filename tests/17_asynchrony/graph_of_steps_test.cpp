// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "graph_of_steps.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

using lab::graph_of_steps::kDefaultBatch;
using lab::graph_of_steps::kDefaultHeight;
using lab::graph_of_steps::kDefaultPhases;
using lab::graph_of_steps::kDefaultSteps;
using lab::graph_of_steps::kDefaultWidth;
using lab::graph_of_steps::kHottest;
using lab::graph_of_steps::kLongestBatch;
using lab::graph_of_steps::kLongestSide;
using lab::graph_of_steps::reference;
using lab::graph_of_steps::simulate;
using lab::graph_of_steps::step;
using lab::testing::as_required;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using floats = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::launches, "launches"},
                                 {step::captured, "captured"},
                                 {step::updated, "updated"},
                                 {step::built, "built"}};

/// What is simulated; the steps of the contract are what varies.
struct scene {
  int width, height;
  floats initial, heaters;
};
scene random_scene(int width, int height, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  scene s{width, height, lab::random_floats(count, seed, -3, 5), floats(count)};
  const floats temperatures = lab::random_floats(count, seed + 1, -9, 9);
  for (std::size_t i = 0; i < count; i += 3) s.heaters[i] = temperatures[i];
  return s;
}

floats cells_after(step version, const scene& s, const floats& strengths, int steps, int batch) {
  return simulate(version, s.width, s.height, s.initial, s.heaters, strengths, steps, batch).cells;
}

::testing::AssertionResult is_right(step version, const scene& s, const floats& strengths,
                                    int steps, int batch) {
  return matches(
      lab::compare_exact(cells_after(version, s, strengths, steps, batch),
                         reference(s.width, s.height, s.initial, s.heaters, strengths, steps)));
}

// --- who does the work ---------------------------------------------------------------------------

/// How often functions were called whose names begin so.
unsigned calls_of(const lab::testing::work& done, const std::string& begin) {
  unsigned count = 0;
  for (const auto& [name, calls] : done.calls)
    if (name.starts_with(begin)) count += calls;
  return count;
}

struct plan {
  std::size_t phases;
  int steps, batch;
};

REQUIRED_WORK(KernelsOfGraphsAndOfLaunchesAsTheContractHasThem) {
  const scene s = random_scene(33, 20, 1);
  const floats strengths = {1, 2, 0.5F, -1};
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(at_other_sizes([&, version = version](int n) {
      return is_right(version, random_scene(n, n + 1, 1), strengths, 3, 2);
    })) << name;
    // Rows and columns; and a single cell without a heater, in which nothing flows.
    const auto without_heaters = [](int width, int height) {
      scene cells = random_scene(width, height, 1);
      cells.heaters[0] = 0;
      return cells;
    };
    EXPECT_TRUE(at_other_sizes([&, version = version](int n) {
      return is_right(version, without_heaters(n, 1), strengths, 3, 2);
    })) << name
        << ", a row";
    EXPECT_TRUE(at_other_sizes([&, version = version](int n) {
      return is_right(version, without_heaters(1, n), strengths, 3, 2);
    })) << name
        << ", a column";
  }
  for (const auto& [version, name] : kSteps)
    for (const plan& p : {plan{1, 12, 4}, plan{4, 13, 4}, plan{3, 9, 2}, plan{2, 3, 4},
                          plan{4, 6, 6}, plan{3, 11, 10}}) {
      const floats some(strengths.begin(),
                        strengths.begin() + static_cast<std::ptrdiff_t>(p.phases));
      const auto done =
          work_of([&, version = version] { return is_right(version, s, some, p.steps, p.batch); });
      const auto steps = static_cast<std::size_t>(p.steps), time_steps = p.phases * steps;
      EXPECT_TRUE(as_required(done, {.threads = 128,
                                     .blocks = 2,
                                     .kernels = time_steps,
                                     .sent = bytes_of(s.initial),
                                     .fetched = bytes_of(s.initial),
                                     .reads = time_steps * bytes_of(s.initial),
                                     .writes = time_steps * bytes_of(s.initial)}))
          << name;
      if (done.values && !*done.values) continue;  // said
      EXPECT_EQ(done.kernels.size(), time_steps) << name << ": one kernel for each time step";
      const unsigned graphs = calls_of(done, "cudaGraphLaunch");
      if (version == step::launches) {
        EXPECT_EQ(graphs, 0U) << name << ": this step launches kernels only";
        continue;
      }
      const auto batch = static_cast<std::size_t>(p.batch);
      EXPECT_EQ(graphs, p.phases * (steps / batch))
          << name << ": a launch of a graph for each whole batch: " << p.phases << " phases of "
          << p.steps << " time steps, in batches of " << p.batch;
      const unsigned instantiated = calls_of(done, "cudaGraphInstantiate");
      if (version == step::captured)
        EXPECT_LE(instantiated, p.phases) << name << ": a graph is instantiated once a phase";
      else
        EXPECT_LE(instantiated, 1U) << name << ": a graph is instantiated once, and then updated";
      const unsigned captures = calls_of(done, "cudaStreamBeginCapture");
      // A launch that is captured is a call, too.
      const std::size_t in_graphs = version == step::built ? 0 : captures * batch;
      EXPECT_LE(calls_of(done, "cudaLaunch"), p.phases * (steps % batch) + in_graphs)
          << name << ": only what is left of a phase is launched kernel by kernel";
      if (version == step::built)
        EXPECT_EQ(captures, 0U) << name << ": the nodes of its graph are added one by one";
      else
        EXPECT_LE(captures, p.phases) << name << ": a phase needs one capture at most";
    }
}

REQUIRED_WORK(GraphsAsLongAsTheLongestBatch) {
  const scene s = random_scene(5, 3, 5);
  for (const auto& [version, name] : kSteps) {
    const auto done = lab::testing::work_without_values([&, version = version] {
      EXPECT_TRUE(is_right(version, s, {0.5F}, kLongestBatch, kLongestBatch)) << name;
    });
    EXPECT_EQ(calls_of(done, "cudaGraphLaunch"), version == step::launches ? 0U : 1U)
        << name << ": a graph has all " << kLongestBatch << " time steps of a batch";
    EXPECT_EQ(done.kernels.size(), std::size_t{kLongestBatch}) << name;
  }
}

REQUIRED_WORK(AKernelForEachTimeStepEvenIfNothingFlows) {
  // Without heaters, a plate that is cold everywhere, or as warm everywhere, stays as it is.
  constexpr int kCells = 20 * 17, kLong = 7, kBatch = 2;
  for (const float everywhere : {0.0F, 2.5F}) {
    const scene s{20, 17, floats(kCells, everywhere), floats(kCells)};
    for (const auto& [version, name] : kSteps) {
      const auto done = lab::testing::work_without_values([&, version = version] {
        EXPECT_TRUE(is_right(version, s, {1, 2}, kLong, kBatch)) << name;
      });
      EXPECT_EQ(done.kernels.size(), std::size_t{2 * kLong})
          << name << ": one kernel for each time step, also where all cells are " << everywhere;
      EXPECT_EQ(calls_of(done, "cudaGraphLaunch"),
                version == step::launches ? 0U : 2U * (kLong / kBatch))
          << name << ": a launch of a graph for each whole batch";
    }
  }
}

// --- every step, every plate ---------------------------------------------------------------------

// One cell, one row, one column; around a block of 16 x 16; several blocks; primes.
struct size {
  int width, height;
  friend void PrintTo(const size& s, std::ostream* out) { *out << s.width << " x " << s.height; }
};
constexpr size kSizes[] = {{1, 1},   {2, 1},   {1, 3},   {16, 16}, {15, 17},
                           {17, 15}, {1, 257}, {131, 1}, {37, 41}, {48, 32}};

class EachSize : public ::testing::TestWithParam<std::tuple<named_step, size>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  scene random(std::uint64_t seed) const {
    return random_scene(std::get<1>(GetParam()).width, std::get<1>(GetParam()).height, seed);
  }
};
/// captured_17x15
std::string name_of(const ::testing::TestParamInfo<std::tuple<named_step, size>>& test) {
  const auto& [version, s] = test.param;
  return std::string(version.name) + "_" + std::to_string(s.width) + "x" + std::to_string(s.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, EachSize,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(EachSize, HasTheBitsOfTheReference) {
  EXPECT_TRUE(is_right(version(), random(2), {1}, 1, 2));
  EXPECT_TRUE(is_right(version(), random(3), {1, -2, 0.3F}, 7, 4));
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsRightForAnyNumberOfTimeStepsInABatchAndInAPhase) {
  // Fewer than a batch, as many, one more, one less than two, many and some left; odd and even, so
  // that a phase begins with either buffer.
  const scene s = random_scene(11, 7, 4);
  for (const int batch : {2, 4, 6, 10})
    for (const int steps : {0, 1, 2, 3, 4, 5, 9, 10, 11, 12, 13, 39, 40, 41})
      for (const floats& strengths : {floats{1}, floats{1, 2}, floats{0.5F, -3, 0.1F, 2}})
        EXPECT_TRUE(is_right(version(), s, strengths, steps, batch))
            << strengths.size() << " phases of " << steps << " time steps, in batches of " << batch;
}

TEST_P(EachStep, TakesTheStrengthOfEachPhase) {
  // A single cell has the value that its heater had last.
  const scene s{1, 1, {7}, {2}};
  for (const int steps : {1, 2, 4, 5}) {
    EXPECT_EQ(cells_after(version(), s, {3}, steps, 2), floats{6});
    EXPECT_EQ(cells_after(version(), s, {3, 5}, steps, 2), floats{10});
    EXPECT_EQ(cells_after(version(), s, {3, 5, -1}, steps, 2), floats{-2});
    EXPECT_EQ(cells_after(version(), s, {3, 5, -1, 0}, steps, 2), floats{0});
  }
}

TEST_P(EachStep, BeginsAPhaseOfTheSameStrengthWithTheNewestTemperatures) {
  // After an odd number of time steps the buffers have changed their roles, and nothing else.
  const scene s = random_scene(7, 11, 15);
  for (const int steps : {3, 4, 5})
    EXPECT_TRUE(is_right(version(), s, {2, 2, 2, -1, -1}, steps, 2)) << steps << " time steps";
}

TEST_P(EachStep, ChangesTheHeatersOfAllTimeStepsOfABatch) {
  // With strength 0, every time step takes all heat from the cells beside the heater: what a time
  // step with the old strength leaves is seen at the end.
  const scene s{3, 1, {1, 1, 1}, {0, 8, 0}};
  for (const int batch : {2, 4, 6, 8})
    EXPECT_TRUE(is_right(version(), s, {1, 0}, batch, batch)) << batch << " time steps";
}

TEST_P(EachStep, HeatsAPlateThatIsColdEverywhere) {
  for (const int width : {1, 19}) {
    scene s = random_scene(width, 18, 16);
    s.initial.assign(s.initial.size(), 0);
    EXPECT_TRUE(is_right(version(), s, {1}, 5, 2));
    EXPECT_TRUE(is_right(version(), s, {0, -2, 3}, 5, 2)) << "the first phase leaves it cold";
    s.heaters.assign(s.heaters.size(), 0);
    s.heaters.back() = -7;
    EXPECT_TRUE(is_right(version(), s, {1, 2}, 40, 4)) << "a single heater";
  }
}

TEST_P(EachStep, TakesTheLongestBatch) {
  const scene s = random_scene(5, 3, 5);
  EXPECT_TRUE(is_right(version(), s, {1, 0.5F}, kLongestBatch + 1, kLongestBatch));
}

TEST_P(EachStep, TakesTheSmallestNumberForAHeater) {
  // Every value except 0 is a heater. Multiplied by a large strength, or by 0, these show.
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  const scene s{4, 1, {3, -4, 5, 6}, {kLeast, 1e-30F, -1e-7F, 0}};
  for (const floats& strengths : {floats{kHottest}, floats{0, -kHottest}, floats{1}})
    EXPECT_TRUE(is_right(version(), s, strengths, 3, 2));
}

TEST_P(EachStep, TakesManyPhases) {
  const scene s = random_scene(9, 4, 6);
  EXPECT_TRUE(is_right(version(), s, lab::random_floats(50, 7, -2, 2), 5, 2));
}

TEST_P(EachStep, GoesOnWhereItStopped) {
  const scene s = random_scene(19, 23, 8);
  const floats halfway = cells_after(version(), s, {1}, 5, 2);
  EXPECT_TRUE(
      matches(lab::compare_exact(cells_after(version(), {19, 23, halfway, s.heaters}, {3, 4}, 5, 2),
                                 cells_after(version(), s, {1, 3, 4}, 5, 2))));
}

TEST_P(EachStep, LeavesThePlateAloneWithoutPhasesOrTimeSteps) {
  const scene s = random_scene(9, 7, 9);
  EXPECT_EQ(cells_after(version(), s, {}, 5, 4), s.initial);
  EXPECT_EQ(cells_after(version(), s, {}, 0, 4), s.initial);
  EXPECT_EQ(cells_after(version(), s, {1, 2}, 0, 4), s.initial);
}

TEST_P(EachStep, HasNoCellsWithoutAPlate) {
  for (const size extent : {size{0, 0}, size{0, 5}, size{5, 0}, size{kLongestSide, 0}})
    EXPECT_EQ(cells_after(version(), {extent.width, extent.height, {}, {}}, {1, 2}, 5, 2),
              floats{});
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const int width : {30, 6, 30}) {
    const scene s = random_scene(width, 13, 10);
    EXPECT_TRUE(is_right(version(), s, {2, 1}, width, 4));
  }
}

TEST_P(EachStep, TakesBothZerosForNoHeaterAndTheLargestNumbers) {
  const scene s{4, 1, {kHottest, -kHottest, 3, 4}, {0, -0.0F, kHottest, -kHottest}};
  for (const int steps : {1, 4, 5}) EXPECT_TRUE(is_right(version(), s, {kHottest, -1}, steps, 2));
}

TEST_P(EachStep, SaysHowLongItTook) {
  const scene s = random_scene(30, 20, 11);
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return simulate(version(), 30, 20, s.initial, s.heaters, floats{1, 2}, 9, 4).total_ms;
  }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPlatesThatCannotBe) {
  const floats none, ten(10), eleven(11), strengths = {1};
  const auto call = [&](int width, int height, const floats& initial, const floats& heaters) {
    return simulate(version(), width, height, initial, heaters, strengths, 3, 2);
  };
  for (const size extent : {size{-1, 5}, size{5, -1}, size{-2, -5}, size{-1, 0}, size{0, -1},
                            size{kLongestSide + 1, 0}, size{0, kLongestSide + 1}})
    EXPECT_THROW(call(extent.width, extent.height, none, none), lab::invalid_input);
  EXPECT_THROW(call(-2, -5, ten, ten), lab::invalid_input);
  EXPECT_THROW(call(5, 2, eleven, ten), lab::invalid_input);
  EXPECT_THROW(call(5, 2, ten, eleven), lab::invalid_input);
  EXPECT_THROW(call(5, 2, ten, none), lab::invalid_input);
  EXPECT_THROW(call(5, 2, none, ten), lab::invalid_input);
  EXPECT_THROW(call(0, 0, ten, ten), lab::invalid_input);
  EXPECT_NO_THROW(call(5, 2, ten, ten));
}

TEST_P(EachStep, RefusesWhatIsNoTemperatureAndNoStrength) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float beyond = std::nextafter(kHottest, kInfinity);
  const floats good(6, 1.0F);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), beyond, -beyond, kInfinity}) {
    floats wrong = good;
    wrong[5] = bad;
    EXPECT_THROW(simulate(version(), 3, 2, wrong, good, good, 1, 2), lab::invalid_input) << bad;
    EXPECT_THROW(simulate(version(), 3, 2, good, wrong, good, 1, 2), lab::invalid_input) << bad;
    EXPECT_THROW(simulate(version(), 3, 2, good, good, wrong, 1, 2), lab::invalid_input) << bad;
  }
}

TEST_P(EachStep, RefusesTimeStepsAndBatchesThatCannotBe) {
  const floats good(6, 1.0F);
  const auto call = [&](int steps, int batch) {
    return simulate(version(), 3, 2, good, good, floats{1}, steps, batch);
  };
  EXPECT_THROW(call(-1, 2), lab::invalid_input);
  for (const int batch : {-2, -1, 0, 1, 3, 21, kLongestBatch + 1, kLongestBatch + 2})
    EXPECT_THROW(call(4, batch), lab::invalid_input) << batch;
  EXPECT_NO_THROW(call(4, 2));
}

// --- the reference -------------------------------------------------------------------------------

TEST(Reference, AgreesWithAPlateThatWasDoneByHand) {
  // After the heater, whose strength is 4: 8 0 0. The first cell has 8 above, below, at its left.
  const floats cold = {1, 0, 0}, heaters = {2, 0, 0}, phase = {4};
  EXPECT_EQ(reference(3, 1, cold, heaters, phase, 1), (floats{6, 2, 0}));
  // After the heater: 8 2 0.
  EXPECT_EQ(reference(3, 1, cold, heaters, phase, 2), (floats{6.5F, 3, 0.5F}));
  EXPECT_EQ(reference(1, 3, cold, heaters, phase, 2), (floats{6.5F, 3, 0.5F}));
  // One time step with strength 4, and after the heater of strength 1: 2 2 0.
  EXPECT_EQ(reference(3, 1, cold, heaters, floats{4, 1}, 1), (floats{2, 1.5F, 0.5F}));
}

// --- errors --------------------------------------------------------------------------------------

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const scene s = random_scene(17, 5, 12);
  expect_failures_reported(
      [&] {
        return is_right(version(), s, {1, 2}, 5, 2);
      },
      s.initial, s.heaters);
}

TEST_P(EachStep, IsRightOnPlatesOfThousandsOfBlocksEachWay) {
  constexpr int kLong = 4099 * 16;  // more blocks than a guess of what is enough
  expect_at_full_size([&] {
    for (const auto& [width, height] : {std::pair{kLong, 1}, {1, kLong}})
      EXPECT_TRUE(is_right(version(), random_scene(width, height, 17), {1, 2}, 3, 2))
          << width << " x " << height;
  });
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return lab::testing::is_true_by_the_device([&] {
      return is_right(version(), random_scene(kDefaultWidth, kDefaultHeight, 13),
                      lab::random_floats(kDefaultPhases, 14, -1, 1), kDefaultSteps, kDefaultBatch);
    });
  });
}

}  // namespace
