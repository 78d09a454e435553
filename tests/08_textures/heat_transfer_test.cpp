// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "heat_transfer.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "scene.hpp"
#include "steps.hpp"

namespace {

const lab::testing::timed_once kInPlace;  // a launch goes on with the temperatures that are there

using lab::heat_transfer::compare_with;
using lab::heat_transfer::kDefaultSize;
using lab::heat_transfer::kHottest;
using lab::heat_transfer::kLongestSide;
using lab::heat_transfer::kRounding;
using lab::heat_transfer::reference;
using lab::heat_transfer::simulate;
using lab::heat_transfer::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::global_memory, "global_memory"},
                                 {step::texture_1d, "texture_1d"},
                                 {step::texture_2d, "texture_2d"},
                                 {step::fused, "fused"},
                                 {step::several_steps, "several_steps"}};

struct plate {
  int width, height;
  std::vector<float> initial, heaters;
};

/// Any temperatures, negative ones too, and a heater on about every fifth cell.
plate random_plate(int width, int height, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  plate made{width, height, lab::random_floats(count, seed, -3, 5), std::vector<float>(count)};
  lab::random_source random(seed + 1000);
  for (float& heater : made.heaters)
    if (random.integer(0, 4) == 0) heater = static_cast<float>(random.real(-10, 20));
  return made;
}

::testing::AssertionResult is_right(step version, const plate& p, int steps) {
  const auto result = simulate(version, p.width, p.height, p.initial, p.heaters, steps);
  const auto expected = reference(p.width, p.height, p.initial, p.heaters, steps);
  return matches(compare_with(expected, result.cells, p.width, steps));
}

// --- every step, at every size -------------------------------------------------------------------

struct size {
  int width, height;
};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(KernelsForEveryStep) {
  // A single cell, a few, a row, a column; and more than a block has.
  for (const auto& [version, name] : kSteps)
    for (const auto& [width, height, times] :
         std::initializer_list<std::tuple<unsigned, unsigned, std::size_t>>{
             {1, 1, 3}, {7, 5, 3}, {40, 1, 3}, {1, 40, 3}, {31, 33, 3}, {67, 131, 10}}) {
      if (version == step::several_steps) continue;
      const plate p = random_plate(static_cast<int>(width), static_cast<int>(height), 1);
      const std::size_t bytes = bytes_of(p.initial);
      const bool fused = version == step::fused;
      lab::testing::required expected{.threads = std::max(width * height / (fused ? 32U : 8U), 1U),
                                      .blocks = width * height < 67 * 131 ? 1U : 2U,
                                      .kernels = fused ? times : 2 * times,
                                      .sent = 2 * bytes,
                                      .fetched = bytes,
                                      .writes = times * bytes};
      if (version == step::texture_1d || version == step::texture_2d) {
        expected.calls = {"cudaCreateTextureObject"};
        expected.reads_at_most = 1;  // by pointers: none
      } else {
        expected.not_called = {"cudaCreateTextureObject"};
        expected.reads = 2 * times * bytes;
      }
      const lab::testing::work done = work_of(
          [&, version = version, n = static_cast<int>(times)] { return is_right(version, p, n); });
      EXPECT_TRUE(as_required(done, expected))
          << name << ": " << width << " x " << height << " cells";
      for (const auto& k : done.kernels)
        EXPECT_GE(k.all_threads(), expected.threads) << name << ": the threads of " << k.name;
      if (fused) {
        EXPECT_LT(done.kernels.size(), 2U * times) << name << ": one kernel per step";
      }
    }
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(at_other_sizes([version = version](int n) {
      return is_right(version, random_plate(n, n + 1, 1), 5);
    })) << name;
}

REQUIRED_WORK(OneKernelForSeveralSteps) {
  constexpr std::size_t kTimes = 16;
  const plate p = random_plate(167, 131, 1);
  const std::size_t bytes = bytes_of(p.initial);
  const lab::testing::required expected{
      .threads = 167 * 131 / 32,
      .blocks = 2,
      .sent = 2 * bytes,
      .fetched = bytes,
      .not_called = {"cudaCreateTextureObject"},
      .reads = 2 * bytes,
      .writes = bytes,
      .reads_at_most = 2 * kTimes * bytes};  // as a kernel per step reads the cells and the heaters
  const lab::testing::work done = work_of([&] { return is_right(step::several_steps, p, kTimes); });
  EXPECT_TRUE(as_required(done, expected)) << "several_steps";
  for (const auto& k : done.kernels)
    EXPECT_GE(k.all_threads(), expected.threads) << "several_steps: the threads of " << k.name;
  EXPECT_LE(done.kernels.size(), kTimes / 4 + 1)
      << "several_steps: one kernel for at least four steps, and one for the heaters";

  // A small plate is no reason for a launch for each step.
  for (const auto& [width, height] : {std::pair{1, 1}, {7, 5}, {40, 1}, {1, 40}, {40, 31}}) {
    const plate small = random_plate(width, height, 1);
    const lab::testing::work of_small =
        work_of([&] { return is_right(step::several_steps, small, kTimes); });
    EXPECT_TRUE(
        as_required(of_small, {.threads = std::max<std::size_t>(small.initial.size() / 32, 1),
                               .sent = 2 * bytes_of(small.initial),
                               .fetched = bytes_of(small.initial),
                               .not_called = {"cudaCreateTextureObject"}}))
        << "several_steps: " << width << " x " << height << " cells";
    EXPECT_LE(of_small.kernels.size(), kTimes / 4 + 1)
        << "several_steps: " << width << " x " << height << " cells, one kernel for at least four "
        << "steps, and one for the heaters";
  }

  // Those that are left are several steps, too.
  constexpr std::size_t kFew = 7;
  const lab::testing::work few = work_of([&] { return is_right(step::several_steps, p, kFew); });
  EXPECT_TRUE(as_required(few, {.blocks = 2, .sent = 2 * bytes, .fetched = bytes}))
      << "several_steps: " << kFew << " steps";
  EXPECT_LE(few.kernels.size(), (kFew + 3) / 4 + 1)
      << "several_steps: one kernel for at least four steps of " << kFew;
}

TEST(ManySteps, AreAllTaken) {
  const plate p = random_plate(19, 17, 2);
  for (const auto& [version, name] : kSteps) EXPECT_TRUE(is_right(version, p, 300)) << name;
}

class Cells : public ::testing::TestWithParam<std::tuple<named_step, size>> {};

// One cell, one row, one column; around 16 and 32 in each direction; wide, high and odd ones.
constexpr size kSizes[] = {{1, 1},   {2, 1},   {1, 2},   {3, 2},   {17, 1},  {1, 17},  {1, 133},
                           {133, 1}, {15, 16}, {16, 15}, {16, 16}, {17, 16}, {16, 17}, {31, 5},
                           {32, 32}, {33, 31}, {31, 33}, {5, 34},  {67, 35}, {35, 66}};
std::string name_of(const ::testing::TestParamInfo<Cells::ParamType>& test) {
  const auto& [version, extent] = test.param;
  return std::string(version.name) + "_" + std::to_string(extent.width) + "x" +
         std::to_string(extent.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, Cells,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(Cells, AreTheReferencesAfterEachOfTheFirstSteps) {
  const auto& [version, extent] = GetParam();
  const plate p = random_plate(extent.width, extent.height, 1);
  for (const int steps : {0, 1, 2, 3, 4}) EXPECT_TRUE(is_right(version.value, p, steps));
}

// However many steps a launch does, one of these numbers leaves a remainder for the last launch.
TEST(SeveralSteps, TakesAnyNumberOfSteps) {
  const plate p = random_plate(71, 53, 16);
  std::vector<float> expected = p.initial;
  for (int steps = 1; steps <= 36; ++steps) {
    expected =
        lab::heat_transfer::reference_step(p.width, p.height, std::move(expected), p.heaters);
    const auto result =
        simulate(step::several_steps, p.width, p.height, p.initial, p.heaters, steps);
    EXPECT_TRUE(matches(compare_with(expected, result.cells, p.width, steps)));
  }
}

// Tiles of 32, 64 or 128 cells, less a halo of 4, 8 or 16 on each side: around what one stores,
// what it loads, and what two of them store.
TEST(SeveralSteps, AreRightAroundTheBordersOfTilesAndHalos) {
  for (const int border : {24, 48, 56, 64, 112, 128}) {
    for (const int side : {border - 1, border, border + 1}) {
      EXPECT_TRUE(is_right(step::several_steps, random_plate(side, 21, 17), 17)) << side << " wide";
      EXPECT_TRUE(is_right(step::several_steps, random_plate(13, side, 18), 17)) << side << " high";
    }
  }
}

// Lower and narrower than a halo.
TEST(SeveralSteps, AreRightOnPlatesSmallerThanAHalo) {
  for (int width = 1; width <= 9; ++width)
    for (int height = 1; height <= 9; ++height)
      EXPECT_TRUE(is_right(step::several_steps, random_plate(width, height, 19), 17))
          << width << " x " << height;
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsTheReferenceAfterTheBooksNinetySteps) {
  EXPECT_TRUE(is_right(version(), random_plate(37, 21, 2), 90));
  EXPECT_TRUE(is_right(version(), random_plate(13, 40, 3), 90));
}

TEST_P(EachStep, ReadsTheRightBufferAfterAnOddNumberOfSteps) {
  EXPECT_TRUE(is_right(version(), random_plate(20, 18, 4), 89));
  EXPECT_TRUE(is_right(version(), random_plate(20, 18, 4), 91));
}

TEST_P(EachStep, SimulatesTheBooksPlateShrunk) {
  const auto [initial, heaters] = lab::heat_transfer::book_scene(96, 64);
  EXPECT_TRUE(is_right(version(), {96, 64, initial, heaters}, 45));
}

TEST_P(EachStep, IsTheReferenceAtTheProgramsSize) {
  // Few steps: smaller plates take the 90 of the book.
  expect_at_full_size(
      [&] { return is_right(version(), random_plate(kDefaultSize, kDefaultSize, 20), 17); });
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(11, 12, 13, 14)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, SimulatesRandomPlates) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const int width = random.integer(1, 80), height = random.integer(1, 80);
  EXPECT_TRUE(is_right(version.value, random_plate(width, height, seed), random.integer(1, 12)));
}

// --- by hand, and what holds without any reference -----------------------------------------------

TEST_P(EachStep, AgreesWithAPlateThatWasDoneByHand) {
  // After the heater: 8 0 0. The first cell has 8 above, below and to its left: itself.
  const std::vector<float> cold = {1, 0, 0}, heaters = {8, 0, 0};
  EXPECT_EQ(simulate(version(), 3, 1, cold, heaters, 1).cells, (std::vector<float>{6, 2, 0}));
  // After the heater: 8 2 0.
  EXPECT_EQ(simulate(version(), 3, 1, cold, heaters, 2).cells, (std::vector<float>{6.5F, 3, 0.5F}));
  EXPECT_EQ(simulate(version(), 1, 3, cold, heaters, 2).cells, (std::vector<float>{6.5F, 3, 0.5F}));
}

TEST_P(EachStep, LeavesThePlateAloneInNoSteps) {
  const plate p = random_plate(9, 7, 5);
  EXPECT_EQ(simulate(version(), 9, 7, p.initial, p.heaters, 0).cells, p.initial);
}

TEST_P(EachStep, GoesOnWhereItStopped) {
  const plate p = random_plate(19, 23, 6);
  const auto halfway = simulate(version(), 19, 23, p.initial, p.heaters, 3).cells;
  EXPECT_EQ(simulate(version(), 19, 23, halfway, p.heaters, 4).cells,
            simulate(version(), 19, 23, p.initial, p.heaters, 7).cells);
}

TEST_P(EachStep, KeepsAnEvenTemperature) {
  const std::vector<float> even(17 * 5, 0.3F), no_heaters(17 * 5);
  EXPECT_EQ(simulate(version(), 17, 5, even, no_heaters, 10).cells, even);
}

TEST_P(EachStep, KeepsTheHeatOnThePlateAndBetweenItsColdestAndItsHottest) {
  constexpr int kWidth = 41, kHeight = 29, kTimes = 60;
  const auto initial = lab::random_floats(kWidth * kHeight, 7, -3, 5);
  const std::vector<float> no_heaters(initial.size());
  const auto cells = simulate(version(), kWidth, kHeight, initial, no_heaters, kTimes).cells;

  const auto [coldest, hottest] = std::ranges::minmax(initial);
  const double slack = kTimes * kRounding * 5;  // no temperature is above 5, in magnitude
  const auto [now_coldest, now_hottest] = std::ranges::minmax(cells);
  EXPECT_GE(now_coldest, coldest - slack);
  EXPECT_LE(now_hottest, hottest + slack);
  EXPECT_LT(now_hottest - now_coldest, 0.5F * (hottest - coldest)) << "no heat has flowed";

  // Each cell hands a quarter to each side, and the edges to themselves: the sum stays.
  const double before = std::accumulate(initial.begin(), initial.end(), 0.0);
  const double after = std::accumulate(cells.begin(), cells.end(), 0.0);
  EXPECT_NEAR(after, before, slack * static_cast<double>(cells.size()));
}

TEST_P(EachStep, FlipsACheckerboardForEverAsTheLargestStableSpeedDoes) {
  // With 0.25, a cell becomes the mean of its neighbours: here -1 from four 1s. The edges, which
  // see themselves, disturb this; they come one cell nearer with each step.
  constexpr int kWidth = 20, kHeight = 18, kTimes = 5;
  std::vector<float> board;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) board.push_back((x + y) % 2 == 0 ? 1.0F : -1.0F);
  const auto cells =
      simulate(version(), kWidth, kHeight, board, std::vector<float>(board.size()), kTimes).cells;
  for (int y = kTimes; y < kHeight - kTimes; ++y)
    for (int x = kTimes; x < kWidth - kTimes; ++x) {
      const auto i = static_cast<std::size_t>(y * kWidth + x);
      EXPECT_EQ(cells[i], -board[i]) << x << ", " << y;
    }
}

TEST_P(EachStep, TakesBothZerosForNoHeaterAndTheSmallestNumberForOne) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const plate p{4, 1, {1, 2, 3, 4}, {0, -0.0F, tiny, -tiny}};
  for (const int steps : {1, 2, 3}) EXPECT_TRUE(is_right(version(), p, steps));
}

TEST_P(EachStep, TakesTheHottestTemperatures) {
  const plate p{2, 2, {kHottest, kHottest, -kHottest, kHottest}, {0, kHottest, -kHottest, 0}};
  EXPECT_TRUE(is_right(version(), p, 5));
}

TEST_P(EachStep, SaysHowLongItTook) {
  const plate p = random_plate(30, 20, 8);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] {
    return simulate(version(), 30, 20, p.initial, p.heaters, 2).kernel_ms;
  }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPlatesThatCannotBe) {
  const std::vector<float> none, ten(10), eleven(11),
      long_one(static_cast<std::size_t>(kLongestSide) + 1);
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0}})
    EXPECT_THROW(simulate(version(), extent.width, extent.height, none, none, 1),
                 lab::invalid_input);
  EXPECT_THROW(simulate(version(), -2, -5, ten, ten, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), kLongestSide + 1, 1, long_one, long_one, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 1, kLongestSide + 1, long_one, long_one, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, eleven, ten, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, eleven, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, none, 1), lab::invalid_input);
  EXPECT_THROW(simulate(version(), 5, 2, ten, ten, -1), lab::invalid_input);
  EXPECT_NO_THROW(simulate(version(), 5, 2, ten, ten, 1));
}

TEST(GlobalMemory, TakesTheLongestSides) {
  const std::vector<float> cells = lab::random_floats(kLongestSide, 15, -3, 5);
  for (const size extent : {size{kLongestSide, 1}, size{1, kLongestSide}})
    EXPECT_EQ(simulate(step::global_memory, extent.width, extent.height, cells, cells, 0).cells,
              cells);
}

TEST_P(EachStep, TakesMoreRowsThanAGridMayHaveBlocksInY) {
  if (version() == step::texture_2d) return;  // textures of rows end before that
  // With eight rows, of the highest plate only the last blocks are too many. (Tiles have more rows
  // than that, and take longer.)
  const int rows =
      version() == step::several_steps ? static_cast<int>(lab::testing::kManyBlocks) : kLongestSide;
  expect_at_full_size([&] { return is_right(version(), random_plate(1, rows, 21), 1); });
}

TEST_P(EachStep, RefusesWhatIsNoTemperature) {
  const float beyond = std::nextafter(kHottest, std::numeric_limits<float>::infinity());
  const std::vector<float> good(6, 1.0F);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), beyond, -beyond,
                          std::numeric_limits<float>::infinity()}) {
    std::vector<float> cells = good;
    cells[5] = bad;
    EXPECT_THROW(simulate(version(), 3, 2, cells, good, 1), lab::invalid_input) << bad;
    EXPECT_THROW(simulate(version(), 3, 2, good, cells, 1), lab::invalid_input) << bad;
  }
}

TEST_P(EachStep, GoesUpToTheLimitsOfTheTexturesAndRefusesMore) {
  if (version() == step::several_steps) return;  // no textures, and slow: whole tiles for one row
  int device = 0;
  ASSERT_EQ(cudaGetDevice(&device), cudaSuccess);
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  const int* most = properties.maxTexture2DLinear;
  const int widest = std::min(most[0], most[2] / static_cast<int>(sizeof(float)));
  for (const size extent : {size{widest, 1}, size{1, most[1]}}) {
    if (std::max(extent.width, extent.height) >= kLongestSide) continue;
    EXPECT_TRUE(is_right(version(), random_plate(extent.width, extent.height, 9), 1));
    const bool is_wide = extent.width > 1;
    const int width = extent.width + (is_wide ? 1 : 0), height = extent.height + (is_wide ? 0 : 1);
    const plate larger = random_plate(width, height, 9);
    if (version() == step::texture_2d)
      EXPECT_THROW(simulate(version(), width, height, larger.initial, larger.heaters, 1),
                   lab::invalid_input);
    else
      EXPECT_TRUE(is_right(version(), larger, 1));
  }
}

// --- the reference, its comparison, the scene ----------------------------------------------------

TEST(Reference, IsTheMeanOfTheNeighboursForWholeNumbers) {
  const std::vector<float> cells = {4, 8, 12, 16, 20, 24}, none(6);  // 3 x 2
  EXPECT_EQ(reference(3, 2, cells, none, 1), (std::vector<float>{8, 11, 14, 14, 17, 20}));
}

TEST(Comparison, RejectsOneBitOfOneCell) {
  const plate p = random_plate(8, 6, 10);
  std::vector<float> cells = p.initial;
  EXPECT_TRUE(matches(compare_with(p.initial, cells, 8, 1)));
  cells[19] = std::nextafter(cells[19], 100.0F);
  const auto result = compare_with(p.initial, cells, 8, 1);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.message.find("this is cell (3, 2)"), std::string::npos) << result.message;
  cells[19] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(compare_with(p.initial, cells, 8, 1).ok);
  cells.pop_back();
  EXPECT_FALSE(compare_with(p.initial, cells, 8, 1).ok);
}

TEST(Scene, HasTheBooksHeatersAtTheBooksSize) {
  constexpr int kBook = 1024;
  const auto [initial, heaters] = lab::heat_transfer::book_scene(kBook, kBook);
  std::size_t wrong = 0;
  for (int i = 0; i < kBook * kBook; ++i) {
    const int x = i % kBook, y = i / kBook;
    float heater = 0;
    if (x > 300 && x < 600 && y > 310 && y < 601) heater = 1;
    if (x == 100 && y == 100) heater = (1.0F + 0.0001F) / 2;
    if ((x == 100 && y == 700) || (x == 300 && y == 300) || (x == 700 && y == 200))
      heater = 0.0001F;
    if (x >= 400 && x < 500 && y >= 800 && y < 900) heater = 0.0001F;
    const float cell = x < 200 && y >= 800 ? 1 : heater;
    if (heaters[static_cast<std::size_t>(i)] != heater) ++wrong;
    if (initial[static_cast<std::size_t>(i)] != cell) ++wrong;
  }
  EXPECT_EQ(wrong, 0U);
}

TEST(Scene, FitsOnTheSmallestPlates) {
  for (const size extent : {size{1, 1}, size{1, 9}, size{7, 2}}) {
    const auto [initial, heaters] = lab::heat_transfer::book_scene(extent.width, extent.height);
    EXPECT_EQ(initial.size(), static_cast<std::size_t>(extent.width * extent.height));
    EXPECT_EQ(heaters.size(), initial.size());
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const plate p = random_plate(17, 5, 1);
  expect_failures_reported([&] { return is_right(version(), p, 2); }, p.initial, p.heaters);
}

}  // namespace
