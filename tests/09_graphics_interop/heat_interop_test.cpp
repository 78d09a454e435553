// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "heat_interop.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "opengl_buffers.hpp"
#include "opengl_uploads.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

namespace {

using lab::bitmap;
using lab::gl_canvas;
using lab::rgba;
using lab::heat_interop::animate;
using lab::heat_interop::compare_with;
using lab::heat_interop::frame_callback;
using lab::heat_interop::heat_colours;
using lab::heat_interop::kDefaultSize;
using lab::heat_interop::kDefaultSteps;
using lab::heat_interop::kHottest;
using lab::heat_interop::kLongestSide;
using lab::heat_interop::reference;
using lab::heat_interop::step;
using lab::testing::another_context;
using lab::testing::at_other_sizes;
using lab::testing::buffers;
using lab::testing::buffers_before;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::no_buffer_is_bound;
using lab::testing::nowhere_to_draw;
using lab::testing::timed;
using lab::testing::work_of;

std::unique_ptr<lab::gl_context> context;
const lab::testing::needs needs_opengl([] { context = std::make_unique<lab::gl_context>(); });

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::through_host, "through_host"}, {step::interop, "interop"}};

struct plate {
  int width, height;
  std::vector<float> initial, heaters;
  lab::heat_interop::plate view() const { return {width, height, initial, heaters}; }
};

/// Temperatures below 0 and above 1 too, and a heater on about every fifth cell.
plate random_plate(int width, int height, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  plate made{width, height, lab::random_floats(count, seed, -1, 2), std::vector<float>(count)};
  lab::random_source random(seed + 1000);
  for (float& heater : made.heaters)
    if (random.integer(0, 4) == 0) heater = static_cast<float>(random.real(-1, 3));
  return made;
}

/// 256 colours, no two alike, so that an index that is off by one is seen.
std::vector<rgba> test_colours() {
  std::vector<rgba> colours;
  for (int i = 0; i < 256; ++i)
    colours.push_back({static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(255 - i),
                       static_cast<std::uint8_t>(37 * i), static_cast<std::uint8_t>(255 - i / 2)});
  return colours;
}

/// Draws the plate that the reference has after `steps` time steps, and compares.
::testing::AssertionResult draws(const frame_callback& draw, const plate& p, int steps) {
  const gl_canvas canvas(p.width, p.height);
  draw();
  return matches(compare_with(reference(p.width, p.height, p.initial, p.heaters, steps),
                              test_colours(), canvas.read(), p.width, p.height));
}

/// Draws `frames` frames, and compares each.
::testing::AssertionResult is_right(step version, const plate& p, int steps, int frames = 1) {
  const auto colours = test_colours();
  const gl_canvas canvas(p.width, p.height);
  const frame_callback draw = animate(version, p.view(), colours, steps);
  std::vector<float> cells = p.initial;
  for (int frame = 1; frame <= frames; ++frame) {
    draw();
    cells = reference(p.width, p.height, cells, p.heaters, steps);
    const auto result = compare_with(cells, colours, canvas.read(), p.width, p.height);
    if (!result.ok) return matches(result) << " in frame " << frame;
  }
  return ::testing::AssertionSuccess();
}

struct size {
  int width, height;
};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(APathForThePixels) {
  const plate p = random_plate(150, 47, 1);
  constexpr std::size_t kBytes = 2 * 150 * 47 * sizeof(rgba);  // two frames
  const std::string registers = "cudaGraphicsGLRegisterBuffer";
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected{
        .threads = 150 * 47 / 8, .blocks = 4, .kernels = 2 * (3 + 1), .writes = kBytes};
    if (version == step::interop)
      expected.calls = {registers, "cudaGraphicsMapResources",
                        "cudaGraphicsResourceGetMappedPointer"};
    else
      expected.not_called = {registers};
    const lab::testing::work done =
        work_of([&, version = version] { return is_right(version, p, 3, 2); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToHost) >= kBytes, version == step::through_host)
        << name << ": are the pixels copied to the host?";
    EXPECT_TRUE(at_other_sizes(
        [version = version](int n) { return is_right(version, random_plate(n, n + 1, 1), 3, 2); },
        {.threads = 1, .fetched = version == step::through_host ? 1U : 0, .writes = 1}))
        << name;
  }
}

REQUIRED_WORK(AKernelForTheColours) {
  // Without time steps, a frame is its colours, and the way to OpenGL.
  const plate p = random_plate(150, 47, 1);
  const auto colours = test_colours();
  const std::vector<rgba> reversed(colours.rbegin(), colours.rend());
  constexpr std::size_t kBytes = 150 * 47 * sizeof(rgba);
  const gl_canvas canvas(150, 47);
  for (const auto& [version, name] : kSteps) {
    std::multiset<std::uint64_t> came_back;
    for (const auto& palette : {colours, reversed}) {
      const frame_callback draw = animate(version, p.view(), palette, 0);
      const auto is_drawn = [&] {
        draw();
        return matches(compare_with(p.initial, palette, canvas.read(), 150, 47));
      };
      EXPECT_TRUE(is_drawn()) << name;
      const lab::testing::work done = work_of(is_drawn);
      EXPECT_TRUE(as_required(done, {.threads = 150 * 47 / 8,
                                     .blocks = 4,
                                     .not_called = {"cudaGraphicsGLRegisterBuffer"},
                                     .writes = kBytes}))
          << name << ": the second frame";
      EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToDevice), 0U)
          << name << ": the pixels are not made where they are needed";
      for (const std::uint64_t content : done.came_back()) {
        EXPECT_FALSE(came_back.contains(content))
            << name << ": the same comes back with another palette, so it is no colours";
        came_back.insert(content);
      }
    }
  }
}

class Pixels : public ::testing::TestWithParam<std::tuple<named_step, size>> {};

// One cell, one row, one column; around 16 in each direction; wide, high and odd ones.
constexpr size kSizes[] = {{1, 1},   {2, 1},   {1, 2},   {3, 2},   {17, 1}, {1, 17}, {15, 16},
                           {16, 15}, {16, 16}, {17, 16}, {16, 17}, {31, 5}, {5, 34}, {67, 35}};
std::string name_of(const ::testing::TestParamInfo<Pixels::ParamType>& test) {
  const auto& [version, extent] = test.param;
  return std::string(version.name) + "_" + std::to_string(extent.width) + "x" +
         std::to_string(extent.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, Pixels,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(Pixels, HaveTheColoursOfTheReferenceFrameByFrame) {
  const auto& [version, extent] = GetParam();
  const plate p = random_plate(extent.width, extent.height, 1);
  for (const int steps : {0, 1, 2, 3}) EXPECT_TRUE(is_right(version.value, p, steps, 3)) << steps;
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(11, 12, 13, 14)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, DrawsRandomPlates) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const int width = random.integer(1, 80), height = random.integer(1, 80);
  EXPECT_TRUE(is_right(version.value, random_plate(width, height, seed), random.integer(1, 12), 2));
}

TEST_P(EachStep, IsTheReferenceAfterTheBooksNinetySteps) {
  EXPECT_TRUE(is_right(version(), random_plate(37, 21, 2), 90, 2));
  EXPECT_TRUE(is_right(version(), random_plate(13, 40, 3), 89, 2));
}

TEST_P(EachStep, GivesEachTemperatureItsColour) {
  // No steps, so that the cells are the test's own.
  std::vector<float> cells = {-kHottest,
                              -1,
                              -0.0F,
                              0,
                              std::numeric_limits<float>::denorm_min(),
                              1,
                              std::nextafter(1.0F, 0.0F),
                              std::nextafter(1.0F, 2.0F),
                              kHottest};
  for (int i = 0; i < 256; ++i) {  // around each border of two colours
    const float root = static_cast<float>(i) / 255, border = root * root;
    for (const float t : {std::nextafter(border, -1.0F), border, std::nextafter(border, 2.0F)})
      cells.push_back(t);
  }
  const int width = static_cast<int>(cells.size());
  const std::vector<float> none(cells.size());
  EXPECT_TRUE(is_right(version(), {width, 1, cells, none}, 0));

  const gl_canvas canvas(4, 1);
  const auto colours = test_colours();
  const std::vector<float> four = {-5, 0.25F, 1, 77}, no_heaters(4);
  animate(version(), {4, 1, four, no_heaters}, colours, 0)();
  const bitmap picture = canvas.read();
  EXPECT_EQ(picture.at(0, 0), colours[0]);
  EXPECT_EQ(picture.at(1, 0), colours[127]);  // 255 / 2
  EXPECT_EQ(picture.at(2, 0), colours[255]);
  EXPECT_EQ(picture.at(3, 0), colours[255]);
}

TEST_P(EachStep, HasItsUpperRowAbove) {
  const gl_canvas canvas(1, 3);
  const auto colours = test_colours();
  const std::vector<float> cells = {1, 0, 0}, none(3);
  animate(version(), {1, 3, cells, none}, colours, 0)();
  EXPECT_EQ(canvas.read().at(0, 0), colours[255]);
  EXPECT_EQ(canvas.read().at(0, 2), colours[0]);
}

TEST_P(EachStep, DrawsTheLongestPlates) {
  EXPECT_TRUE(is_right(version(), random_plate(kLongestSide, 1, 15), 1));
  EXPECT_TRUE(is_right(version(), random_plate(1, kLongestSide, 16), 1));
}

// --- the animation -------------------------------------------------------------------------------

TEST_P(EachStep, AnimatesTwoPlatesAtOnceAndGoesOnInACopy) {
  const auto colours = test_colours();
  const plate a = random_plate(30, 9, 5), b = random_plate(9, 30, 6);
  frame_callback of_a = animate(version(), a.view(), colours, 3);
  const frame_callback of_b = animate(version(), b.view(), colours, 2);
  of_a();
  of_b();
  const frame_callback copy = of_a;
  of_a = nullptr;
  {
    const gl_canvas canvas(30, 9);
    copy();
    EXPECT_TRUE(matches(
        compare_with(reference(30, 9, a.initial, a.heaters, 6), colours, canvas.read(), 30, 9)));
  }
  const gl_canvas canvas(9, 30);
  of_b();
  EXPECT_TRUE(matches(
      compare_with(reference(9, 30, b.initial, b.heaters, 4), colours, canvas.read(), 9, 30)));
}

TEST_P(EachStep, HasAPaletteForEachPlate) {
  const auto colours = test_colours();
  const std::vector<rgba> reversed(colours.rbegin(), colours.rend());
  const plate a = random_plate(30, 9, 5), b = random_plate(30, 9, 6);
  const frame_callback of_a = animate(version(), a.view(), colours, 0);
  const frame_callback of_b = animate(version(), b.view(), reversed, 0);
  const gl_canvas canvas(30, 9);
  for (int i = 0; i < 2; ++i) {
    of_a();
    EXPECT_TRUE(matches(compare_with(a.initial, colours, canvas.read(), 30, 9))) << "the first";
    of_b();
    EXPECT_TRUE(matches(compare_with(b.initial, reversed, canvas.read(), 30, 9))) << "the second";
  }
}

TEST_P(EachStep, SharesThePlateWithItsCopies) {
  const auto colours = test_colours();
  const plate p = random_plate(30, 9, 5);
  const frame_callback first = animate(version(), p.view(), colours, 1), second = first;
  const gl_canvas canvas(30, 9);
  int steps = 0;
  for (const frame_callback* draw : {&first, &second, &second, &first, &second}) {
    (*draw)();
    EXPECT_TRUE(matches(compare_with(reference(30, 9, p.initial, p.heaters, ++steps), colours,
                                     canvas.read(), 30, 9)))
        << "frame " << steps;
  }
}

TEST_P(EachStep, AnimatesInTwoContexts) {
  // The same plate: what the first animation has of OpenGL means nothing in the other context.
  const plate p = random_plate(12, 9, 12);
  const frame_callback first = animate(version(), p.view(), test_colours(), 2);
  {
    const another_context current(*context);
    EXPECT_TRUE(draws(animate(version(), p.view(), test_colours(), 2), p, 2));
  }
  EXPECT_TRUE(draws(first, p, 2));
}

TEST_P(EachStep, MakesItsBuffersOnceAndLeavesNothingBound) {
  const int before = buffers();
  {
    const plate p = random_plate(18, 19, 8);
    const gl_canvas canvas(18, 19);
    const frame_callback draw = animate(version(), p.view(), test_colours(), 1);
    const int made = buffers();
    EXPECT_EQ(made > before, version() == step::interop) << made - before << " buffers";
    for (int i = 0; i < 3; ++i) {
      draw();
      EXPECT_TRUE(no_buffer_is_bound());
    }
    EXPECT_EQ(buffers(), made);
  }
  EXPECT_EQ(buffers(), before);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_P(EachStep, LeavesNoBufferBoundWhenOpenGlReportsAnError) {
  const plate p = random_plate(18, 19, 13);
  const frame_callback draw = animate(version(), p.view(), test_colours(), 0);
  {
    const nowhere_to_draw meanwhile;
    EXPECT_THROW(draw(), lab::gl_error);
    EXPECT_TRUE(no_buffer_is_bound());
  }
  EXPECT_TRUE(draws(draw, p, 0));
}

TEST(Interop, GivesOpenGlNoPixelsOfTheHost) {
  const std::size_t before = lab::testing::uploads_from_the_host;
  EXPECT_TRUE(is_right(step::interop, random_plate(33, 20, 11), 2, 2));
  EXPECT_EQ(lab::testing::uploads_from_the_host, before)
      << "pixels are drawn from host memory, with no buffer bound";
}

#ifdef __CPU_DEVICE__
TEST_P(EachStep, KeepsThePlateAndNoMoreOnTheDevice) {
  const std::size_t memory = cpu_device::live_allocations();
  const std::size_t registered =
      cpu_device::live_objects(cpu_device::object_kind::graphics_resource);
  const plate p = random_plate(32, 20, 9);
  const gl_canvas canvas(32, 20);
  const frame_callback draw = animate(version(), p.view(), test_colours(), 1);
  // Heaters, two times the cells, colours; pixels, where they are not OpenGL's, and on the host, if
  // there they are pinned. Some of them may be in one allocation.
  const std::size_t own = version() == step::interop ? 4 : 6;
  const std::size_t made = cpu_device::live_allocations();
  EXPECT_GT(made, memory);
  EXPECT_LE(made, memory + own);
  const std::size_t buffers_of_cuda =
      cpu_device::live_objects(cpu_device::object_kind::graphics_resource);
  EXPECT_EQ(buffers_of_cuda > registered, version() == step::interop);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cpu_device::live_allocations(), made) << "after " << i << " frames";
    EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::graphics_resource),
              buffers_of_cuda);
    draw();
  }
}

TEST_P(EachStep, WaitsForKernelsThatTakeTheirTime) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  EXPECT_TRUE(is_right(version(), random_plate(33, 20, 10), 4, 3));
}
#endif

TEST_P(EachStep, SaysHowLongItTook) {
  const plate p = random_plate(30, 20, 7);
  const gl_canvas canvas(30, 20);
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return animate(version(), p.view(), test_colours(), 2)(); }));
}

TEST_P(EachStep, SaysOfEachFrameHowLongItTook) {
  const plate p = random_plate(30, 20, 7);
  const gl_canvas canvas(30, 20);
  const frame_callback draw = animate(version(), p.view(), test_colours(), 2);
  draw();
  EXPECT_TRUE(is_time_of(timed::kernel, draw));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesWhatIsNoPlate) {
  const auto colours = test_colours();
  const std::vector<float> six(6, 1.0F), five(5, 1.0F);
  for (const size extent : {size{-2, -3}, size{3, 3}, size{-3, 2}})
    EXPECT_THROW(animate(version(), {extent.width, extent.height, six, six}, colours, 1),
                 lab::invalid_input)
        << extent.width << " x " << extent.height;
  // With as many cells as such a plate would have: it is the side that is refused.
  for (const size extent :
       {size{0, 5}, size{5, 0}, size{0, 0}, size{kLongestSide + 1, 1}, size{1, kLongestSide + 1}}) {
    const std::vector<float> cells(static_cast<std::size_t>(extent.width * extent.height), 1.0F);
    EXPECT_THROW(animate(version(), {extent.width, extent.height, cells, cells}, colours, 1),
                 lab::invalid_input)
        << extent.width << " x " << extent.height;
  }
  EXPECT_THROW(animate(version(), {3, 2, five, six}, colours, 1), lab::invalid_input);
  EXPECT_THROW(animate(version(), {3, 2, six, five}, colours, 1), lab::invalid_input);
  EXPECT_THROW(animate(version(), {3, 2, six, six}, colours, -1), lab::invalid_input);
  EXPECT_NO_THROW(animate(version(), {3, 2, six, six}, colours, 0));
}

TEST_P(EachStep, RefusesWhatIsNoTemperatureOrNoPalette) {
  const auto colours = test_colours();
  const std::vector<float> good(6, 1.0F);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), 2 * kHottest, -2 * kHottest,
                          std::numeric_limits<float>::infinity()}) {
    std::vector<float> cells = good;
    cells[5] = bad;
    EXPECT_THROW(animate(version(), {3, 2, cells, good}, colours, 1), lab::invalid_input) << bad;
    EXPECT_THROW(animate(version(), {3, 2, good, cells}, colours, 1), lab::invalid_input) << bad;
  }
  const std::vector<rgba> fewer(colours.begin(), colours.end() - 1);
  EXPECT_THROW(animate(version(), {3, 2, good, good}, fewer, 1), lab::invalid_input);
}

// --- the comparison, the colours -----------------------------------------------------------------

TEST(Comparison, RejectsOneWrongPixel) {
  const auto colours = test_colours();
  const std::vector<float> cells = {0, 0.3F, 1, 0.5F, 0.7F, 2};
  bitmap picture(3, 2);
  for (std::size_t i = 0; i < 6; ++i)
    picture.pixels()[i] = colours[lab::heat_interop::index_of(cells[i])];
  EXPECT_TRUE(compare_with(cells, colours, picture, 3, 2).ok);
  --picture.at(1, 1).g;
  const auto result = compare_with(cells, colours, picture, 3, 2);
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.message.find("1 of 6 pixels differ; first at x = 1, y = 1"), std::string::npos)
      << result.message;
  EXPECT_FALSE(compare_with(cells, colours, picture, 2, 3).ok);
}

TEST(Colours, AreThoseOf084) {
  const auto colours = heat_colours();
  ASSERT_EQ(colours.size(), 256U);
  EXPECT_EQ(colours.front(), lab::heat_transfer::colour_of(0));
  EXPECT_EQ(colours.back(), lab::heat_transfer::colour_of(1));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const plate p = random_plate(17, 5, 1);
  const buffers_before before;
  expect_failures_reported(
      [&] {
        EXPECT_TRUE(before.nothing_left()) << "when a call had failed";
        return is_right(version(), p, 2, 2);
      },
      p.initial, p.heaters);
}

FAULT_TEST_P(EachStep, GoesOnAfterAFrameThatFailed) {
  // Without time steps, so that all frames are the same.
  const plate p = random_plate(17, 5, 1);
  const frame_callback draw = animate(version(), p.view(), test_colours(), 0);
  const buffers_before before;
  expect_failures_reported([&] {
    EXPECT_TRUE(before.nothing_left()) << "when a frame had failed";
    return draws(draw, p, 0);
  });
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return is_right(version(), random_plate(kDefaultSize, kDefaultSize, 4), kDefaultSteps);
  });
}

}  // namespace
