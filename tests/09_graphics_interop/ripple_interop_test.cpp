// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "ripple_interop.hpp"

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <memory>
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
using lab::ripple_interop::animate;
using lab::ripple_interop::compare_with_reference;
using lab::ripple_interop::frame;
using lab::ripple_interop::frame_callback;
using lab::ripple_interop::kDefaultSize;
using lab::ripple_interop::step;
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

::testing::AssertionResult is_right(step version, int width, int height, int tick) {
  return matches(
      compare_with_reference(frame(version, width, height, tick).picture, width, height, tick));
}

/// Draws on the canvas, and compares.
::testing::AssertionResult draws(const frame_callback& draw, const gl_canvas& canvas, int width,
                                 int height, int tick) {
  draw(tick);
  return matches(compare_with_reference(canvas.read(), width, height, tick));
}

struct size {
  int width, height;
};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(APathForThePixels) {
  constexpr std::size_t kBytes = 150 * 47 * sizeof(rgba);
  const std::string registers = "cudaGraphicsGLRegisterBuffer";
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected{.threads = 150 * 47, .blocks = 4, .writes = kBytes};
    if (version == step::interop)
      expected.calls = {registers, "cudaGraphicsMapResources",
                        "cudaGraphicsResourceGetMappedPointer"};
    else
      expected.not_called = {registers};
    const lab::testing::work done =
        work_of([&, version = version] { return is_right(version, 150, 47, 22); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    const std::size_t to_the_host = done.bytes_copied(cudaMemcpyDeviceToHost);
    if (version == step::interop) {
      EXPECT_EQ(to_the_host, 0U) << name << ": pixels are copied to the host";
      EXPECT_EQ(done.device_memory, std::vector<std::size_t>{kBytes})
          << name << ": more is allocated than the buffer that is mapped";
    } else {
      EXPECT_GE(to_the_host, kBytes) << name << ": no pixels are copied to the host";
    }
    EXPECT_TRUE(
        at_other_sizes([version = version](int n) { return is_right(version, n, n + 1, 22); },
                       {.threads = 1, .writes = sizeof(rgba)}))
        << name;
  }
}

REQUIRED_WORK(OnePondForAllFrames) {
  const gl_canvas canvas(40, 20);
  for (const auto& [version, name] : kSteps) {
    const frame_callback draw = animate(version, 40, 20);
    EXPECT_TRUE(draws(draw, canvas, 40, 20, 1));
    const lab::testing::work done = work_of([&] { return draws(draw, canvas, 40, 20, 22); });
    EXPECT_TRUE(as_required(done, {.threads = 40 * 20,
                                   .not_called = {"cudaGraphicsGLRegisterBuffer"},
                                   .writes = 40 * 20 * sizeof(rgba)}))
        << name << ": the second frame";
  }
}

class Pixels : public ::testing::TestWithParam<std::tuple<named_step, size>> {};

// One pixel, one row, one column; around 16 in each direction; wide, high and odd ones.
constexpr size kSizes[] = {{1, 1},   {17, 1},  {1, 17},  {2, 3},    {15, 16},
                           {16, 15}, {16, 16}, {17, 16}, {16, 17},  {17, 5},
                           {257, 1}, {1, 257}, {33, 31}, {150, 47}, {47, 150}};
std::string name_of(const ::testing::TestParamInfo<Pixels::ParamType>& test) {
  const auto& [version, extent] = test.param;
  return std::string(version.name) + "_" + std::to_string(extent.width) + "x" +
         std::to_string(extent.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, Pixels,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(Pixels, HaveTheReferencesGreyWhenOpenGlHasDrawnThem) {
  const auto& [version, extent] = GetParam();
  for (const int tick : {0, 1, 22, 100, -3})
    EXPECT_TRUE(is_right(version.value, extent.width, extent.height, tick));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, DrawsRandomSizesAndTicks) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const int width = random.integer(1, 200), height = random.integer(1, 200);
  EXPECT_TRUE(is_right(version.value, width, height, random.integer(-1'000'000, 1'000'000)));
}

TEST_P(EachStep, IsAsSharpAfterAVeryLongTime) {
  for (const int tick :
       {99'999'989, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
    EXPECT_TRUE(is_right(version(), 61, 40, tick));
}

TEST_P(EachStep, HasItsUpperRowAbove) {
  // The middle of an even height is the first pixel of its lower half: crest is white there.
  const bitmap crest = frame(version(), 8, 10, 0).picture;
  EXPECT_EQ(crest.at(4, 5), (rgba{255, 255, 255, 255}));
  EXPECT_NE(crest.at(4, 4), (rgba{255, 255, 255, 255}));
}

TEST_P(EachStep, DrawsTheLongestPictures) {
  EXPECT_TRUE(is_right(version(), 1, lab::ripple_interop::kLongestSide, 9));
  EXPECT_TRUE(is_right(version(), lab::ripple_interop::kLongestSide, 1, 9));
}

// --- the animation -------------------------------------------------------------------------------

TEST_P(EachStep, AnimatesAnyTicksInAnyOrder) {
  const gl_canvas canvas(37, 21);
  const frame_callback draw = animate(version(), 37, 21);
  for (const int tick : {0, 1, 2, 40, 3, 0, -7}) EXPECT_TRUE(draws(draw, canvas, 37, 21, tick));
}

TEST_P(EachStep, DrawsWhereOpenGlDrawsAtTheMoment) {
  const frame_callback draw = animate(version(), 12, 9);
  for (const int tick : {3, 8}) {
    const gl_canvas canvas(12, 9);
    EXPECT_TRUE(draws(draw, canvas, 12, 9, tick));
  }
}

TEST_P(EachStep, DrawsATickAsOftenAsItIsAsked) {
  const frame_callback draw = animate(version(), 12, 9);
  for (int time = 0; time < 3; ++time) {
    const gl_canvas canvas(12, 9);
    EXPECT_TRUE(draws(draw, canvas, 12, 9, 5));
  }
}

TEST_P(EachStep, AnimatesTwoPondsAtOnce) {
  const frame_callback wide = animate(version(), 50, 9), high = animate(version(), 9, 50);
  for (const int tick : {4, 30}) {
    const gl_canvas first(50, 9);
    EXPECT_TRUE(draws(wide, first, 50, 9, tick));
    const gl_canvas second(9, 50);
    EXPECT_TRUE(draws(high, second, 9, 50, tick + 1));
  }
}

TEST_P(EachStep, AnimatesOnAfterTheOriginalIsGone) {
  frame_callback copy;
  {
    const frame_callback original = animate(version(), 18, 19);
    copy = original;
  }
  const gl_canvas canvas(18, 19);
  EXPECT_TRUE(draws(copy, canvas, 18, 19, 12));
}

TEST_P(EachStep, AnimatesInTwoContexts) {
  // Of one size: what the first pond has of OpenGL means nothing in the other context.
  const frame_callback first = animate(version(), 12, 9);
  {
    const another_context current(*context);
    const gl_canvas canvas(12, 9);
    EXPECT_TRUE(draws(animate(version(), 12, 9), canvas, 12, 9, 5));
  }
  const gl_canvas canvas(12, 9);
  EXPECT_TRUE(draws(first, canvas, 12, 9, 6));
}

TEST_P(EachStep, MakesItsBufferOnceAndDeletesIt) {
  const int before = buffers();
  {
    const gl_canvas canvas(18, 19);
    const frame_callback draw = animate(version(), 18, 19);
    const int made = buffers();
    EXPECT_EQ(made, version() == step::interop ? before + 1 : before);
    for (int tick = 0; tick < 3; ++tick) draw(tick);
    const frame_callback copy = draw;
    copy(3);
    EXPECT_EQ(buffers(), made);
  }
  EXPECT_EQ(buffers(), before);
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST_P(EachStep, LeavesNoBufferBound) {
  const gl_canvas canvas(18, 19);
  const frame_callback draw = animate(version(), 18, 19);
  for (int tick = 0; tick < 2; ++tick) {
    EXPECT_TRUE(no_buffer_is_bound());
    draw(tick);
    EXPECT_TRUE(no_buffer_is_bound());
  }
}

TEST_P(EachStep, LeavesNoBufferBoundWhenOpenGlReportsAnError) {
  const gl_canvas canvas(18, 19);
  const frame_callback draw = animate(version(), 18, 19);
  {
    const nowhere_to_draw meanwhile;
    EXPECT_THROW(draw(3), lab::gl_error);
    EXPECT_TRUE(no_buffer_is_bound());
  }
  EXPECT_TRUE(draws(draw, canvas, 18, 19, 4));
}

TEST(Interop, GivesOpenGlNoPixelsOfTheHost) {
  const std::size_t before = lab::testing::uploads_from_the_host;
  EXPECT_TRUE(is_right(step::interop, 33, 20, 22));
  EXPECT_EQ(lab::testing::uploads_from_the_host, before)
      << "pixels are drawn from host memory, with no buffer bound";
}

#ifdef __CPU_DEVICE__
TEST(Interop, NeedsNoDeviceMemoryOfItsOwnAndRegistersOnce) {
  const std::size_t memory = cpu_device::live_allocations();
  const std::size_t registered =
      cpu_device::live_objects(cpu_device::object_kind::graphics_resource);
  const gl_canvas canvas(32, 20);
  const frame_callback draw = animate(step::interop, 32, 20);
  for (int tick = 0; tick < 3; ++tick) {
    EXPECT_EQ(cpu_device::live_allocations(), memory) << "is the buffer mapped between frames?";
    EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::graphics_resource), registered + 1);
    draw(tick);
  }
}

TEST_P(EachStep, WaitsForKernelsThatTakeTheirTime) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  const gl_canvas canvas(33, 20);
  const frame_callback draw = animate(version(), 33, 20);
  for (int tick = 0; tick < 3; ++tick) EXPECT_TRUE(draws(draw, canvas, 33, 20, tick));
}
#endif

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return frame(version(), 30, 20, 1).kernel_ms; }));
}

TEST_P(EachStep, SaysOfEachFrameHowLongItTook) {
  const gl_canvas canvas(30, 20);
  const frame_callback draw = animate(version(), 30, 20);
  draw(1);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return draw(2); }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPicturesThatCannotBe) {
  constexpr int kTooLong = lab::ripple_interop::kLongestSide + 1;
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0},
                            size{kTooLong, 1}, size{1, kTooLong}}) {
    EXPECT_THROW(frame(version(), extent.width, extent.height, 0), lab::invalid_input)
        << extent.width << " x " << extent.height;
    EXPECT_THROW(animate(version(), extent.width, extent.height), lab::invalid_input)
        << extent.width << " x " << extent.height;
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const buffers_before before;
  expect_failures_reported([&] {
    EXPECT_TRUE(before.nothing_left()) << "when a call had failed";
    return is_right(version(), 17, 5, 3);
  });
}

FAULT_TEST_P(EachStep, AnimationReportsEveryCallThatFails) {
  const buffers_before before;
  expect_failures_reported([&] {
    EXPECT_TRUE(before.nothing_left()) << "when a call had failed";
    const gl_canvas canvas(17, 5);
    return draws(animate(version(), 17, 5), canvas, 17, 5, 3);
  });
}

FAULT_TEST_P(EachStep, GoesOnAfterAFrameThatFailed) {
  const frame_callback draw = animate(version(), 17, 5);
  const buffers_before before;
  expect_failures_reported([&] {
    EXPECT_TRUE(before.nothing_left()) << "when a frame had failed";
    const gl_canvas canvas(17, 5);
    return draws(draw, canvas, 17, 5, 3);
  });
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] { return is_right(version(), kDefaultSize, kDefaultSize, 11); });
}

}  // namespace
