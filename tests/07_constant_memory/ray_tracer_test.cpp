// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "ray_tracer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "fenced_copy.hpp"
#include "full_size.hpp"
#include "lab/bitmap.hpp"
#include "lab/closeness.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "scene.hpp"
#include "steps.hpp"

namespace {

using lab::rgba;
using lab::ray_tracer::kDefaultSize;
using lab::ray_tracer::kDefaultSpheres;
using lab::ray_tracer::kMostInConstantMemory;
using lab::ray_tracer::reference;
using lab::ray_tracer::render;
using lab::ray_tracer::sphere;
using lab::ray_tracer::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::fenced_copy;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::timed;
using lab::testing::work_of;

// A __constant__ variable is one on each device.
const lab::testing::setting kTwoDevices("CPU_DEVICE_COUNT", "2",
                                        lab::testing::setting::when::unless_given);

using scene_of_spheres = std::vector<sphere>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::global_memory, "global_memory"},
                                 {step::constant_memory, "constant_memory"}};

::testing::AssertionResult is_exact(step version, const scene_of_spheres& scene, int width,
                                    int height) {
  return matches(lab::compare_exact(render(version, scene, width, height).picture,
                                    reference(scene, width, height)));
}

// Spheres that fill a picture of this size, and overlap; some reach beyond its edges.
scene_of_spheres scene_for(int width, int height, std::size_t count, std::uint64_t seed) {
  lab::random_source random(seed);
  const auto half_width = static_cast<float>(width) / 2;
  const auto half_height = static_cast<float>(height) / 2;
  const float largest = std::max(2.0F, static_cast<float>(std::max(width, height)) / 3);
  scene_of_spheres scene(count);
  for (sphere& ball : scene) {
    ball.x = random.real(-half_width, half_width);
    ball.y = random.real(-half_height, half_height);
    ball.z = random.real(-largest, largest);
    ball.radius = random.real(largest / 8, largest);
    ball.r = random.real(0, 1);
    ball.g = random.real(0, 1);
    ball.b = random.real(0, 1);
  }
  return scene;
}

std::ptrdiff_t black_pixels(const lab::bitmap& picture) {
  return std::ranges::count(picture.pixels(), rgba{0, 0, 0, 255});
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(SpheresInMemoryOfTheKindThatWasAskedFor) {
  const auto scene = scene_for(100, 37, 20, 1);
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected{.threads = 100 * 37,
                                    .blocks = 4,
                                    .fetched = 100 * 37 * sizeof(rgba),
                                    .writes = 100 * 37 * sizeof(rgba)};
    const std::string to_symbol = "cudaMemcpyToSymbol|cudaMemcpyToSymbolAsync|cudaGetSymbolAddress";
    if (version == step::constant_memory) {
      expected.calls = {to_symbol};
      expected.constant_memory = true;
    } else {
      expected.not_called = {to_symbol};
      expected.sent = bytes_of(scene);
      expected.reads = bytes_of(scene);
    }
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, scene, 100, 37); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    if (version == step::constant_memory) {
      EXPECT_EQ(std::ranges::count(done.device_memory, bytes_of(scene)), 0)
          << name << ": the spheres are in device memory, too";
    }
    EXPECT_TRUE(at_other_sizes([version = version](int n) {
      return is_exact(version, scene_for(n, n + 1, 3, 1), n, n + 1);
    })) << name;
  }
}

REQUIRED_WORK(ConstantMemoryForTheLargestSceneToo) {
  const auto scene = scene_for(5, 4, kMostInConstantMemory, 2);
  const lab::testing::work done =
      work_of([&] { return is_exact(step::constant_memory, scene, 5, 4); });
  EXPECT_TRUE(as_required(
      done, {.threads = 5 * 4,
             .fetched = 5 * 4 * sizeof(rgba),
             .calls = {"cudaMemcpyToSymbol|cudaMemcpyToSymbolAsync|cudaGetSymbolAddress"},
             .constant_memory = true}))
      << "constant_memory";
  EXPECT_EQ(std::ranges::count(done.device_memory, bytes_of(scene)), 0)
      << "constant_memory: the spheres are in device memory, however many they are";
}

// --- every step, at every size -------------------------------------------------------------------

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
  const auto scene = scene_for(extent.width, extent.height, 7, 1);
  EXPECT_TRUE(is_exact(version.value, scene, extent.width, extent.height));
}

TEST_P(Pixels, AreAllCoveredByALargeSphere) {
  // Each pixel must be written, and its colour tells its distance from a centre that is in no
  // symmetric place.
  const auto& [version, extent] = GetParam();
  const scene_of_spheres scene{{3.3F, -7.1F, 5, 150, 1, 0.9F, 0.8F}};
  const auto picture = render(version.value, scene, extent.width, extent.height).picture;
  EXPECT_TRUE(matches(lab::compare_exact(picture, reference(scene, extent.width, extent.height))));
  EXPECT_EQ(black_pixels(picture), 0);
}

// --- what is to be seen --------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, DrawsASphereThatCanBeToldByHand) {
  // Radius 5 around the ray of pixel (8, 6). Three pixels to the right of the centre the sphere is
  // 4 high, since 3 * 3 + 4 * 4 = 5 * 5: 4/5 as bright. Four pixels away, 3/5. Five away is no hit.
  const scene_of_spheres scene{{0, 0, 0, 5, 1, 0.5F, 0}};
  const auto picture = render(version(), scene, 16, 12).picture;
  ASSERT_EQ(picture.width(), 16);
  ASSERT_EQ(picture.height(), 12);
  EXPECT_EQ(picture.at(8, 6), (rgba{255, 127, 0, 255}));
  EXPECT_EQ(picture.at(11, 6), (rgba{204, 102, 0, 255}));
  EXPECT_EQ(picture.at(8, 3), (rgba{204, 102, 0, 255}));
  EXPECT_EQ(picture.at(4, 6), (rgba{153, 76, 0, 255}));
  EXPECT_EQ(picture.at(8, 10), (rgba{153, 76, 0, 255}));
  EXPECT_EQ(picture.at(13, 6), (rgba{0, 0, 0, 255}));
  EXPECT_EQ(picture.at(8, 1), (rgba{0, 0, 0, 255}));
  EXPECT_EQ(picture.at(0, 0), (rgba{0, 0, 0, 255}));
}

TEST_P(EachStep, PutsXToTheRightAndYDownwards) {
  const scene_of_spheres scene{{10, 0, 0, 2, 1, 0, 0}, {0, 4, 0, 2, 0, 1, 0}};
  const auto picture = render(version(), scene, 40, 20).picture;
  EXPECT_EQ(picture.at(30, 10), (rgba{255, 0, 0, 255}));
  EXPECT_EQ(picture.at(20, 14), (rgba{0, 255, 0, 255}));
  EXPECT_EQ(black_pixels(picture), 40 * 20 - 2 * 9);  // 9 pixels each are less than 2 away
}

TEST_P(EachStep, ShowsTheNearerSphereInEitherOrder) {
  const sphere near{0, 0, 30, 5, 1, 0, 0}, far{0, 0, -30, 8, 0, 1, 0};
  for (const scene_of_spheres& scene : {scene_of_spheres{near, far}, scene_of_spheres{far, near}}) {
    const auto picture = render(version(), scene, 20, 20).picture;
    EXPECT_EQ(picture.at(10, 10), (rgba{255, 0, 0, 255}));
    EXPECT_EQ(picture.at(16, 10).r, 0);  // next to the red one, the green one is visible
    EXPECT_GT(picture.at(16, 10).g, 0);
    EXPECT_TRUE(matches(lab::compare_exact(picture, reference(scene, 20, 20))));
  }
}

TEST_P(EachStep, ComparesSurfacesAndNotCentres) {
  // The large sphere's centre is the farther one, its surface the nearer.
  const scene_of_spheres scene{{0, 0, 0, 2, 1, 0, 0}, {0, 0, -3, 9, 0, 0, 1}};
  EXPECT_EQ(render(version(), scene, 8, 8).picture.at(4, 4), (rgba{0, 0, 255, 255}));
}

TEST_P(EachStep, ShowsTheFirstOfEquallyNearOnes) {
  const scene_of_spheres scene{{0, 0, 0, 5, 0, 1, 0}, {0, 0, 0, 5, 1, 0, 0}, {0, 0, 0, 5, 0, 0, 1}};
  EXPECT_EQ(render(version(), scene, 8, 8).picture.at(4, 4), (rgba{0, 255, 0, 255}));
}

TEST_P(EachStep, ShowsTheFirstOfEquallyNearHitsOnDifferentSpheres) {
  // The ray hits `low` at its top, at depth 5. It hits `high` beside its top: that is at depth 6,
  // but three pixels away, where 3 * 3 + 4 * 4 = 5 * 5, the surface is at depth 5, too.
  const sphere low{0, 0, 0, 5, 0, 1, 0}, high{3, 0, 1, 5, 1, 0, 0};
  const auto in_the_middle = [&](const scene_of_spheres& scene) {
    return render(version(), scene, 8, 8).picture.at(4, 4);
  };
  EXPECT_EQ(in_the_middle({low, high}), (rgba{0, 255, 0, 255}));
  EXPECT_EQ(in_the_middle({high, low}), (rgba{204, 0, 0, 255}));
}

TEST_P(EachStep, ComparesTheSquaresOfDistanceAndRadius) {
  // The squared distance is a whole number, and its root in float is the radius. But the square of
  // this radius is rounded up: the ray hits the rim, which is black, and sees nothing behind it.
  constexpr std::pair<float, float> kRims[] = {{6, 1}, {6, 5}, {9, 5}};
  for (const auto& [dx, dy] : kRims) {
    const float squared = dx * dx + dy * dy, radius = std::sqrt(squared);
    ASSERT_GT(radius * radius, squared);
    const scene_of_spheres scene{{dx, dy, 10, radius, 1, 1, 1}, {0, 0, 0, 5, 1, 0, 0}};
    EXPECT_EQ(render(version(), scene, 8, 8).picture.at(4, 4), (rgba{0, 0, 0, 255}))
        << dx << ", " << dy;
    EXPECT_TRUE(is_exact(version(), scene, 8, 8));
  }
}

TEST_P(EachStep, SeesSpheresHoweverFarAway) {
  const scene_of_spheres scene{{0, 0, -1e9F, 5, 1, 1, 1}};
  EXPECT_EQ(render(version(), scene, 8, 8).picture.at(4, 4), (rgba{255, 255, 255, 255}));
}

TEST_P(EachStep, LooksAtTheLastSphereToo) {
  for (const std::size_t count : {1, 2, 5}) {
    scene_of_spheres scene(count, sphere{0, 0, 0, 3, 1, 0, 0});
    scene.back().z = 50;
    scene.back().g = 1;
    EXPECT_EQ(render(version(), scene, 8, 8).picture.at(4, 4), (rgba{255, 255, 0, 255})) << count;
  }
}

TEST_P(EachStep, DrawsABlackPictureOfAnEmptyScene) {
  // The previous scene, which constant memory still holds, must not be visible.
  EXPECT_LT(black_pixels(render(version(), scene_for(30, 20, 9, 3), 30, 20).picture), 600);
  EXPECT_EQ(render(version(), {}, 30, 20).picture, lab::bitmap(30, 20));
}

TEST_P(EachStep, ForgetsTheSceneBefore) {
  for (const std::size_t count : {9, 3, 1, 4}) {
    const auto scene = scene_for(40, 30, count, 100 + count);
    EXPECT_TRUE(is_exact(version(), scene, 40, 30)) << count << " spheres";
  }
}

TEST_P(EachStep, DrawsTheSameSceneOnEachDevice) {
  const auto scene = scene_for(40, 30, 5, 2);
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_TRUE(is_exact(version(), scene, 40, 30)) << "device " << device;
  }
}

TEST_P(EachStep, ReadsNothingBeyondTheEndOfTheScene) {
  for (const std::size_t count : {1, 20}) {
    const auto scene = scene_for(9, 7, count, 3);
    const fenced_copy<sphere> fenced(scene);
    EXPECT_TRUE(matches(
        lab::compare_exact(render(version(), fenced.span(), 9, 7).picture, reference(scene, 9, 7))))
        << count << " spheres";
  }
}

TEST_P(EachStep, RoundsAsTheReferenceDoes) {
  // Only a piece of the rim of such a large sphere is visible, where dz is the root of a small
  // difference of large squares: one rounding more or less shows in many pixels.
  for (const float radius : {1e3F, 1e4F, 1e5F, 1e6F}) {
    const scene_of_spheres scene{
        {0.6F * radius + 11.3F, 0.8F * radius - 7.7F, 0.1F, radius, 1, 0.9F, 0.7F}};
    EXPECT_TRUE(is_exact(version(), scene, 150, 110)) << "radius " << radius;
  }
}

TEST_P(EachStep, DrawsAGoodPartOfTheBooksScene) {
  const auto scene = lab::ray_tracer::random_scene(20, 1);
  const auto picture = render(version(), scene, 500, 330).picture;
  EXPECT_TRUE(matches(lab::compare_exact(picture, reference(scene, 500, 330))));
  EXPECT_GT(black_pixels(picture), 500 * 330 / 20);
  EXPECT_LT(black_pixels(picture), 500 * 330 * 19 / 20);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    const auto scene = scene_for(kDefaultSize, kDefaultSize, kDefaultSpheres, 14);
    return is_exact(version(), scene, kDefaultSize, kDefaultSize);
  });
}

TEST(BothSteps, DrawTheSamePicture) {
  const auto scene = scene_for(90, 70, 25, 12);
  EXPECT_TRUE(matches(lab::compare_exact(render(step::constant_memory, scene, 90, 70).picture,
                                         render(step::global_memory, scene, 90, 70).picture)));
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4, 5)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, DrawsRandomScenes) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const int width = random.integer(20, 120), height = random.integer(20, 120);
  const auto count = static_cast<std::size_t>(random.integer(1, 40));
  EXPECT_TRUE(is_exact(version.value, scene_for(width, height, count, seed), width, height));
}

// --- how many spheres ----------------------------------------------------------------------------

TEST_P(EachStep, DrawsAsManySpheresAsConstantMemoryHolds) {
  ASSERT_EQ(kMostInConstantMemory, 2340U);  // 28 bytes each
  for (const std::size_t count : {kMostInConstantMemory - 1, kMostInConstantMemory}) {
    auto scene = scene_for(21, 19, count, 8);
    scene.back() = {4, 3, 100, 5, 0.5F, 1, 0.25F};  // in front of all others
    EXPECT_TRUE(is_exact(version(), scene, 21, 19)) << count << " spheres";
  }
}

TEST(GlobalMemory, DrawsMoreSpheresThanConstantMemoryHolds) {
  auto scene = scene_for(21, 19, kMostInConstantMemory + 1, 8);
  scene.back() = {4, 3, 100, 5, 0.5F, 1, 0.25F};
  EXPECT_TRUE(is_exact(step::global_memory, scene, 21, 19));
}

TEST(ConstantMemory, RefusesMoreSpheresThanItHolds) {
  for (const std::size_t count : {kMostInConstantMemory + 1, kMostInConstantMemory * 3}) {
    try {
      render(step::constant_memory, scene_for(21, 19, count, 8), 21, 19);
      FAIL() << count << " spheres were accepted";
    } catch (const lab::invalid_input& refusal) {
      const std::string sentence = refusal.what();
      EXPECT_NE(sentence.find(std::to_string(count)), std::string::npos) << sentence;
      EXPECT_NE(sentence.find("2340"), std::string::npos) << sentence;
    }
  }
  // And all is well afterwards.
  EXPECT_TRUE(is_exact(step::constant_memory, scene_for(21, 19, 5, 8), 21, 19));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPicturesWithoutPixels) {
  const auto scene = scene_for(9, 9, 2, 1);
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0}}) {
    const std::string sides = std::to_string(extent.width) + " x " + std::to_string(extent.height);
    try {
      render(version(), scene, extent.width, extent.height);
      ADD_FAILURE() << "a picture of " << sides << " pixels was drawn";
    } catch (const lab::invalid_input& refusal) {
      // Before anything is allocated: the refusal must come from here, not from the bitmap.
      EXPECT_EQ(std::string(refusal.what()).find("ray_tracer: a picture of " + sides), 0U)
          << refusal.what();
    }
  }
}

/// How many rows of pixels a grid covers depends on the blocks, and what it does not cover is
/// refused. One row for each row of blocks always fits.
template <class Draw>
void draw_or_refuse(int rows, const Draw& draw) {
  try {
    draw();
  } catch (const lab::invalid_input&) {
    EXPECT_GT(rows, 65'535);
  }
}

TEST_P(EachStep, DrawsOrRefusesAsManyRowsAsAGridHasAndOneMore) {
  expect_at_full_size([&] {
    for (const int rows : {65'535 * 16, 65'535 * 16 + 1})  // of the given blocks
      draw_or_refuse(rows, [&] {
        const scene_of_spheres scene{// on the last two rows
                                     {0, 0.5F * static_cast<float>(rows) - 1, 0, 1.5F, 1, 1, 1}};
        const auto picture = render(version(), scene, 1, rows).picture;
        EXPECT_EQ(black_pixels(picture), rows - 2);
        EXPECT_NE(picture.at(0, rows - 1), (rgba{0, 0, 0, 255}));
      });
  });
}

TEST_P(EachStep, DrawsPicturesOfThousandsOfBlocksEachWay) {
  constexpr int kLong = 4099 * 16;  // more blocks than a guess of what is enough
  expect_at_full_size([&] {
    for (const auto& [width, height] : {std::pair{kLong, 1}, {1, kLong}})
      draw_or_refuse(height, [&, width = width, height = height] {
        EXPECT_TRUE(is_exact(version(), scene_for(width, height, 9, 15), width, height))
            << width << " x " << height;
      });
  });
}

TEST_P(EachStep, RefusesSpheresThatAreNone) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto good = scene_for(9, 9, 3, 1);
  const auto refuses = [&](float sphere::*number, float value) {
    for (const std::size_t which_one : {0, 1, 2}) {
      auto scene = good;
      scene[which_one].*number = value;
      EXPECT_THROW(render(version(), scene, 9, 9), lab::invalid_input)
          << value << " in sphere " << which_one;
    }
  };
  for (float sphere::*position : {&sphere::x, &sphere::y, &sphere::z, &sphere::radius})
    for (const float value : {kNaN, kInfinity, -kInfinity, 1.1e9F, -1.1e9F})
      refuses(position, value);
  for (const float value : {0.0F, -0.0F, -3.0F, 0.9e-9F}) refuses(&sphere::radius, value);
  for (float sphere::*part : {&sphere::r, &sphere::g, &sphere::b})
    for (const float value : {kNaN, kInfinity, -0.01F, 1.01F}) refuses(part, value);
}

TEST_P(EachStep, TakesNumbersAtTheirLimits) {
  EXPECT_TRUE(is_exact(version(),
                       {{1e9F, -1e9F, 1e9F, 1e9F, 0, 1, 0},
                        {0, 0, -1e9F, 1e9F, 1, 1, 1},
                        {0.5F, 0.5F, 1e9F, 1e-9F, 1, 0, 1}},
                       9, 9));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(
      timed::kernel, [&] { return render(version(), scene_for(30, 20, 3, 1), 30, 20).kernel_ms; }));
}

// --- the scene -----------------------------------------------------------------------------------

TEST(Scene, IsTheBooksKindOfSpheres) {
  const auto scene = lab::ray_tracer::random_scene(500, 7);
  ASSERT_EQ(scene.size(), 500U);
  const auto spread = [&](float sphere::*number, float low, float high) {
    const auto [least, most] = std::ranges::minmax(scene, {}, number);
    EXPECT_GE(least.*number, low);
    EXPECT_LT(most.*number, high);
    EXPECT_GT(most.*number - least.*number, 0.9F * (high - low));  // nearly the whole range
  };
  for (float sphere::*part : {&sphere::r, &sphere::g, &sphere::b}) spread(part, 0, 1);
  for (float sphere::*position : {&sphere::x, &sphere::y, &sphere::z}) spread(position, -500, 500);
  spread(&sphere::radius, 20, 120);
}

TEST(Scene, DependsOnTheSeedAlone) {
  const auto picture = [](std::uint64_t seed) {
    return reference(lab::ray_tracer::random_scene(20, seed), 300, 200);
  };
  EXPECT_EQ(picture(3), picture(3));
  EXPECT_NE(picture(3), picture(4));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const scene_of_spheres scene = scene_for(17, 5, 3, 1);
  expect_failures_reported([&] { return is_exact(version(), scene, 17, 5); });
}

}  // namespace
