// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "julia_set.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "palette.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::julia_set::compute;
using lab::julia_set::reference;
using lab::julia_set::step;
using lab::julia_set::view;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_thread_per_block, "one_thread_per_block"},
                                 {step::blocks_16x16, "blocks_16x16"}};

::testing::AssertionResult is_exact(step version, const view& region) {
  return matches(
      lab::julia_set::compare_with_reference(region, compute(version, region).iterations));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AThreadForEachPixel) {
  for (const auto& [version, name] : kSteps)
    for (const auto& [width, height] :
         {std::pair{1, 1}, {7, 5}, {40, 1}, {1, 40}, {31, 33}, {100, 37}, {2065, 1}, {1, 2065}}) {
      const view region{.width = width, .height = height};
      const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
      const lab::testing::work done =
          work_of([&, version = version] { return is_exact(version, region); });
      EXPECT_TRUE(as_required(
          done, {.threads = pixels,
                 .blocks = static_cast<std::uint64_t>((width + 15) / 16 * ((height + 15) / 16)),
                 .fetched = pixels * sizeof(int),
                 .writes = pixels * sizeof(int),
                 // A warp stores 2 x 16 pixels, or 4 x 8, and rows begin anywhere.
                 .sectors = version == step::blocks_16x16 ? 2.5 : 0}))
          << name << ": " << width << " x " << height << " pixels";
      for (const auto& k : done.kernels)
        EXPECT_EQ(std::pair(k.block_x, k.block_y),
                  version == step::blocks_16x16 ? std::pair(16U, 16U) : std::pair(1U, 1U))
            << name << ": the threads of a block";
    }
}

// --- every step, at every size ------------------------------------------------------------------

struct size {
  int width, height;
};

class Pixels : public ::testing::TestWithParam<std::tuple<named_step, size>> {};

std::string name_of(const ::testing::TestParamInfo<Pixels::ParamType>& test) {
  const auto& [version, extent] = test.param;
  return std::string(version.name) + "_" + std::to_string(extent.width) + "x" +
         std::to_string(extent.height);
}

// One pixel, one row, one column; around 16 in each direction; wide, high and odd ones.
constexpr size kSizes[] = {{1, 1},   {17, 1},  {1, 17}, {2, 3},   {15, 16},  {16, 15}, {16, 16},
                           {17, 16}, {16, 17}, {17, 5}, {33, 31}, {100, 37}, {37, 100}};
INSTANTIATE_TEST_SUITE_P(Steps, Pixels,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(Pixels, AreThoseOfTheReference) {
  const auto& [version, extent] = GetParam();
  view region;
  region.width = extent.width;
  region.height = extent.height;
  EXPECT_TRUE(is_exact(version.value, region));
}

TEST_P(Pixels, AreThoseOfTheReferenceAwayFromTheCentre) {
  // Nothing is symmetric here: x and y, left and right, up and down all differ.
  const auto& [version, extent] = GetParam();
  view region{.width = extent.width,
              .height = extent.height,
              .centre_x = 0.31F,
              .centre_y = -0.17F,
              .scale = 0.4F,
              .c_re = -0.4F,
              .c_im = 0.6F,
              .max_iterations = 150};
  EXPECT_TRUE(is_exact(version.value, region));
}

// --- other sets ---------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, DrawsAGoodPartOfTheBooksPicture) {
  view region;
  region.width = region.height = 160;
  const auto iterations = compute(version(), region).iterations;
  EXPECT_TRUE(matches(lab::julia_set::compare_with_reference(region, iterations)));
  // The picture is neither empty nor full: at 1000 x 1000, 4.76 % are in the set.
  const auto members = std::ranges::count(iterations, region.max_iterations);
  EXPECT_GT(members, 160 * 160 / 50);
  EXPECT_LT(members, 160 * 160 / 10);
}

TEST_P(EachStep, DrawsTheBooksPictureAtTheProgramsSize) {
  expect_at_full_size([&] { return is_exact(version(), view{}); });
}

TEST_P(EachStep, FindsTheWholeDiscForCZero) {
  // With z * z alone, exactly the points with |z| <= 1 stay, which is known without iterating.
  const view region{
      .width = 64, .height = 48, .scale = 1.9F, .c_re = 0, .c_im = 0, .max_iterations = 100};
  const auto iterations = compute(version(), region).iterations;
  ASSERT_EQ(iterations.size(), 64U * 48U);
  for (int y = 0; y < region.height; ++y) {
    for (int x = 0; x < region.width; ++x) {
      const double re = 1.9 * (32 - x) / 24, im = 1.9 * (24 - y) / 24;
      const bool inside = re * re + im * im < 1;
      ASSERT_EQ(iterations[static_cast<std::size_t>(y * 64 + x)] == 100, inside)
          << "pixel (" << x << ", " << y << ")";
    }
  }
}

TEST_P(EachStep, StopsAfterOneIteration) {
  // Far out, every point escapes in the first step; near 0 none does.
  EXPECT_EQ(compute(version(), {.width = 20, .height = 3, .centre_x = 500, .max_iterations = 1})
                .iterations,
            std::vector<int>(60, 0));
  EXPECT_EQ(
      compute(version(), {.width = 3, .height = 20, .scale = 0.1F, .max_iterations = 1}).iterations,
      std::vector<int>(60, 1));
}

TEST_P(EachStep, KeepsAPointThatIsExactlyAsFarOutAsAllowed) {
  // z = 0 goes to c. |c|^2 = 30^2 + 10^2 = 1000 is not more than 1000; the step after it is.
  EXPECT_EQ(compute(version(), {.width = 2,
                                .height = 2,
                                .centre_x = 1.5F,
                                .centre_y = 1.5F,
                                .scale = 1.5F,
                                .c_re = 30,
                                .c_im = 10,
                                .max_iterations = 9})
                .iterations,
            reference({.width = 2,
                       .height = 2,
                       .centre_x = 1.5F,
                       .centre_y = 1.5F,
                       .scale = 1.5F,
                       .c_re = 30,
                       .c_im = 10,
                       .max_iterations = 9}));
  const view at_zero{.width = 1,
                     .height = 1,
                     .centre_x = -1.5F,
                     .centre_y = -1.5F,
                     .c_re = 30,
                     .c_im = 10,
                     .max_iterations = 9};
  EXPECT_EQ(compute(version(), at_zero).iterations, std::vector<int>{1});
}

TEST_P(EachStep, CountsLongOrbits) {
  // c = 0.25 is the tip of a cusp: points near 0.5 take their time.
  EXPECT_TRUE(is_exact(version(), {.width = 40,
                                   .height = 23,
                                   .centre_x = 0.5F,
                                   .scale = 0.01F,
                                   .c_re = 0.2501F,
                                   .c_im = 0,
                                   .max_iterations = 1500}));
}

TEST_P(EachStep, FollowsAPointThatHardlyMoves) {
  // Four floats above the cusp, the smallest step of z is 2^-23, two floats, and it escapes after
  // all. So a point that seems to be at rest is not in the set yet.
  const view region{.width = 3,
                    .height = 1,
                    .centre_x = 0.3F,
                    .centre_y = -0.1F,  // the row is the real axis
                    .scale = 0.1F,
                    .c_re = 0.25F + 0x1p-23F,
                    .c_im = 0,
                    .max_iterations = 20'000};
  EXPECT_GT(reference(region).at(1), 9'000);  // 0.4, left of the cusp
  EXPECT_LT(reference(region).at(1), region.max_iterations);
  EXPECT_TRUE(is_exact(version(), region));
}

TEST_P(EachStep, RoundsTheSquaresBeforeItComparesTheirSum) {
  // z = 0 goes to c. Both squares are rounded down, and their sum is 1000; if only one of them is
  // rounded before the sum is, it is the next float.
  const view at_zero{.width = 1,
                     .height = 1,
                     .centre_x = -1.5F,
                     .centre_y = -1.5F,
                     .c_re = 21.622616F,
                     .c_im = 23.07515F,
                     .max_iterations = 9};
  EXPECT_EQ(compute(version(), at_zero).iterations, std::vector<int>{1});
}

TEST_P(EachStep, IteratesAPointThatBeginsFarAway) {
  // 40 goes to 40 * 40 - 1600 = 0: |z|^2 > 1000 counts after an iteration, not before the first.
  const view region{.width = 1,
                    .height = 1,
                    .centre_x = 38.5F,
                    .centre_y = -1.5F,
                    .c_re = -1600,
                    .c_im = 0,
                    .max_iterations = 9};
  EXPECT_EQ(compute(version(), region).iterations, std::vector<int>{1});
}

TEST_P(EachStep, KeepsWhatIsNoNumber) {
  // Infinity minus infinity is NaN, and NaN is not more than 1000.
  const view region{.width = 5, .height = 4, .scale = 1e30F, .max_iterations = 7};
  EXPECT_EQ(reference(region).at(0), 7);
  EXPECT_TRUE(is_exact(version(), region));
  EXPECT_TRUE(is_exact(version(), {.width = 4, .height = 7, .centre_x = 3e38F, .scale = 3e38F}));
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4, 5)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, DrawsRandomViews) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const view region{.width = random.integer(1, 90),
                    .height = random.integer(1, 90),
                    .centre_x = random.real(-1, 1),
                    .centre_y = random.real(-1, 1),
                    .scale = random.real(0.05F, 2),
                    .c_re = random.real(-1, 0.3F),
                    .c_im = random.real(-0.8F, 0.8F),
                    .max_iterations = random.integer(1, 300)};
  EXPECT_TRUE(is_exact(version.value, region));
}

// --- refusals -----------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPicturesWithoutPixels) {
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0}})
    EXPECT_THROW(compute(version(), {.width = extent.width, .height = extent.height}),
                 lab::invalid_input)
        << extent.width << " x " << extent.height;
}

TEST_P(EachStep, RefusesToIterateNever) {
  EXPECT_THROW(compute(version(), {.width = 4, .height = 4, .max_iterations = 0}),
               lab::invalid_input);
  EXPECT_THROW(compute(version(), {.width = 4, .height = 4, .max_iterations = -7}),
               lab::invalid_input);
}

TEST_P(EachStep, RefusesNumbersThatAreNone) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float scale : {0.0F, -1.5F, kNaN, kInfinity})
    EXPECT_THROW(compute(version(), {.width = 4, .height = 4, .scale = scale}), lab::invalid_input)
        << "scale " << scale;
  for (float view::*number : {&view::centre_x, &view::centre_y, &view::c_re, &view::c_im}) {
    view region{.width = 4, .height = 4};
    region.*number = kNaN;
    EXPECT_THROW(compute(version(), region), lab::invalid_input);
    region.*number = kInfinity;
    EXPECT_THROW(compute(version(), region), lab::invalid_input);
  }
}

TEST(OneThreadPerBlock, RefusesMoreRowsThanAGridHas) {
  EXPECT_THROW(compute(step::one_thread_per_block, {.width = 1, .height = 65'536}),
               lab::invalid_input);
}

TEST(OneThreadPerBlock, DrawsAsManyRowsAsAGridHas) {
  EXPECT_TRUE(
      is_exact(step::one_thread_per_block, {.width = 1, .height = 65'535, .max_iterations = 20}));
}

TEST(Blocks16x16, DrawsMoreRowsThanAGridHasBlocks) {
  EXPECT_TRUE(is_exact(step::blocks_16x16, {.width = 2, .height = 65'537, .max_iterations = 20}));
}

TEST_P(EachStep, DrawsMoreColumnsThanAGridHasRowsOfBlocksFor) {
  // Along x, a grid may have far more blocks.
  const int across = version() == step::one_thread_per_block ? 1 : 16;
  expect_at_full_size([&] {
    return is_exact(version(), {.width = 65'535 * across + 1, .height = 1, .max_iterations = 3});
  });
}

TEST(Blocks16x16, RefusesMoreRowsThanAGridHasBlocksFor) {
  EXPECT_THROW(compute(step::blocks_16x16, {.width = 1, .height = 16 * 65'535 + 1}),
               lab::invalid_input);
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(
      timed::kernel, [&] { return compute(version(), {.width = 30, .height = 20}).kernel_ms; }));
}

// --- the palettes -------------------------------------------------------------------------------

TEST(Palette, ClassicIsRedWhereThePointNeverEscaped) {
  const view region{.width = 3, .height = 1, .max_iterations = 200};
  const lab::bitmap picture =
      lab::julia_set::draw(region, std::vector<int>{0, 199, 200}, lab::julia_set::palette::classic);
  EXPECT_EQ(picture.at(0, 0), (lab::rgba{0, 0, 0, 255}));
  EXPECT_EQ(picture.at(1, 0), (lab::rgba{0, 0, 0, 255}));
  EXPECT_EQ(picture.at(2, 0), (lab::rgba{255, 0, 0, 255}));
}

TEST(Palette, ShadesGrowBrighterWithTheIterations) {
  using lab::julia_set::palette;
  const view region{.width = 4, .height = 1, .max_iterations = 200};
  for (const palette colours : {palette::ember, palette::lagoon}) {
    const lab::bitmap picture =
        lab::julia_set::draw(region, std::vector<int>{0, 5, 50, 200}, colours);
    const auto brightness = [&](int x) {
      const lab::rgba pixel = picture.at(x, 0);
      return pixel.r + pixel.g + pixel.b;
    };
    EXPECT_LT(brightness(0), brightness(1));
    EXPECT_LT(brightness(1), brightness(2));
    EXPECT_LT(brightness(2), brightness(3));
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return is_exact(version(), {.width = 17, .height = 5}); });
}

}  // namespace
