// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "gl_image.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/opengl.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "opengl_buffers.hpp"
#include "opengl_uploads.hpp"
#include "reference.hpp"
#include "required_work.hpp"

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

namespace {

using lab::bitmap;
using lab::rgba;
using lab::gl_image::compare_with_reference;
using lab::gl_image::draw;
using lab::testing::another_context;
using lab::testing::at_other_sizes;
using lab::testing::buffers;
using lab::testing::buffers_before;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::no_buffer_is_bound;
using lab::testing::timed;
using lab::testing::work_of;

std::unique_ptr<lab::gl_context> context;
const lab::testing::needs needs_opengl([] { context = std::make_unique<lab::gl_context>(); });

::testing::AssertionResult is_right(int width, int height) {
  return matches(compare_with_reference(draw(width, height).picture, width, height));
}

struct size {
  int width, height;
};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatDrawsIntoTheBufferOfOpenGl) {
  const lab::testing::work done = work_of([] { return is_right(150, 47); });
  EXPECT_TRUE(as_required(
      done, {.threads = 150 * 47,
             .blocks = 4,
             .calls = {"cudaGraphicsGLRegisterBuffer", "cudaGraphicsMapResources",
                       "cudaGraphicsResourceGetMappedPointer", "cudaGraphicsUnmapResources"},
             .writes = 150 * 47 * sizeof(rgba)}));
  EXPECT_LT(done.bytes_copied(cudaMemcpyDeviceToHost), 150 * 47 * sizeof(rgba))
      << "the pixels were copied to the host";
  EXPECT_LT(done.bytes_copied(cudaMemcpyDeviceToDevice), 150 * 47 * sizeof(rgba))
      << "the pixels were copied to OpenGL's buffer: the kernel must draw there";
  EXPECT_TRUE(at_other_sizes([](int n) { return is_right(n, n + 1); },
                             {.threads = 1, .writes = sizeof(rgba)}));
  // More pixels than 512 x 512: a grid that stops growing there has too few threads.
  EXPECT_TRUE(as_required(work_of([] { return is_right(1030, 270); }), {.threads = 1030 * 270}));
}

REQUIRED_WORK(AClockThatDoesNotRunWhileTheBufferIsMapped) {
  // From the event before the launch to the one after it, the buffer does not change hands.
  const lab::testing::work done = work_of([] { return is_right(30, 20); });
  std::string seen;  // e: an event; k: a kernel; m: the buffer is mapped or unmapped
  for (const std::string& call : done.sequence)
    seen += call == "cudaEventRecord"              ? "e"
            : call == "cudaLaunchKernel"           ? "k"
            : call == "cudaGraphicsMapResources"   ? "m"
            : call == "cudaGraphicsUnmapResources" ? "m"
                                                   : "";
  const std::size_t first = seen.find('k'), last = seen.rfind('k');
  ASSERT_NE(first, seen.npos) << "no kernel was launched";
  const std::size_t start = seen.rfind('e', first), stop = seen.find('e', last);
  if (start == seen.npos || stop == seen.npos) return;  // by the host's clock
  const std::string timed_calls = seen.substr(start, stop - start);
  EXPECT_EQ(timed_calls.find('m'), timed_calls.npos)
      << "mapping or unmapping (m) is timed, too, between the events (e) around the kernel (k)";
}

class Pixels : public ::testing::TestWithParam<size> {};

// One pixel, one row, one column; around 16 in each direction; wide, high and odd ones.
INSTANTIATE_TEST_SUITE_P(Sizes, Pixels,
                         ::testing::Values(size{1, 1}, size{17, 1}, size{1, 17}, size{2, 3},
                                           size{15, 16}, size{16, 15}, size{16, 16}, size{17, 16},
                                           size{16, 17}, size{17, 5}, size{257, 1}, size{1, 257},
                                           size{33, 31}, size{150, 47}, size{47, 150}),
                         [](const auto& test) {
                           return std::to_string(test.param.width) + "x" +
                                  std::to_string(test.param.height);
                         });

TEST_P(Pixels, AreTheReferencesWhenOpenGlHasDrawnThem) {
  EXPECT_TRUE(is_right(GetParam().width, GetParam().height));
}

class EachSeed : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EachSeed, ::testing::Values(1, 2, 3, 4),
                         [](const auto& test) { return "seed" + std::to_string(test.param); });

TEST_P(EachSeed, DrawsRandomSizes) {
  lab::random_source random(GetParam());
  const int width = random.integer(1, 300), height = random.integer(1, 300);
  EXPECT_TRUE(is_right(width, height)) << width << " x " << height;
}

TEST(GlImage, DrawsTheBooksSize) { EXPECT_TRUE(is_right(512, 512)); }

TEST(GlImage, HasItsUpperRowAbove) {
  const bitmap picture = draw(3, 6).picture;
  EXPECT_EQ(picture.at(1, 0).b, 0);
  EXPECT_EQ(picture.at(1, 3).b, 127);
  EXPECT_EQ(picture.at(1, 5).b, 212);
}

TEST(GlImage, HasTheGreenThatIsKnownByHand) {
  // In the middle, and wherever |fx| = |fy|, the sine is that of 0.
  const bitmap picture = draw(40, 40).picture;
  EXPECT_EQ(picture.at(20, 20), (rgba{0, 128, 127, 255}));
  // fx = -1/2, fy = 0: 128 + 127 sin(50) = 94.7.
  EXPECT_EQ(picture.at(0, 20), (rgba{0, 94, 127, 255}));
  // fx = 0, fy = -1/2: 128 + 127 sin(-50) = 161.3.
  EXPECT_EQ(picture.at(20, 0), (rgba{0, 161, 0, 255}));
}

TEST(GlImage, DrawsAgainAndInOtherSizes) {
  const bitmap first = draw(20, 30).picture;
  EXPECT_TRUE(is_right(50, 10));
  EXPECT_EQ(draw(20, 30).picture, first);
}

TEST(GlImage, DrawsInAnotherContext) {
  EXPECT_TRUE(is_right(20, 30));
  {
    const another_context current(*context);
    EXPECT_TRUE(is_right(20, 30));
  }
  EXPECT_TRUE(is_right(20, 30));
}

TEST(GlImage, DrawsIntoAPictureOfItsOwn) {
  const lab::gl_canvas before(8, 8);
  EXPECT_TRUE(is_right(8, 8));
  const bitmap undrawn = before.read();
  for (const rgba& pixel : undrawn.pixels()) EXPECT_EQ(pixel, lab::gl_canvas::kUndrawn);
}

TEST(GlImage, GivesOpenGlNoPixelsOfTheHost) {
  const std::size_t before = lab::testing::uploads_from_the_host;
  EXPECT_TRUE(is_right(33, 20));
  EXPECT_EQ(lab::testing::uploads_from_the_host, before)
      << "pixels are drawn from host memory, with no buffer bound";
}

TEST(GlImage, LeavesNoBufferAndNothingBound) {
  const int before = buffers();
  EXPECT_TRUE(is_right(18, 12));
  EXPECT_EQ(buffers(), before);
  EXPECT_TRUE(no_buffer_is_bound());
  EXPECT_EQ(glGetError(), GLenum{GL_NO_ERROR});
}

TEST(GlImage, LeavesOpenGlAsItWas) {
  EXPECT_TRUE(is_right(18, 13));
  // As at the beginning of a context: nobody else has changed it.
  struct state {
    const char* name;
    GLenum number;
    GLint value;
  };
  constexpr state kStates[] = {{"GL_ZOOM_X", GL_ZOOM_X, 1},
                               {"GL_ZOOM_Y", GL_ZOOM_Y, 1},
                               {"GL_UNPACK_ALIGNMENT", GL_UNPACK_ALIGNMENT, 4},
                               {"GL_UNPACK_ROW_LENGTH", GL_UNPACK_ROW_LENGTH, 0},
                               {"GL_UNPACK_SKIP_ROWS", GL_UNPACK_SKIP_ROWS, 0},
                               {"GL_UNPACK_SKIP_PIXELS", GL_UNPACK_SKIP_PIXELS, 0},
                               {"GL_PIXEL_PACK_BUFFER_BINDING", GL_PIXEL_PACK_BUFFER_BINDING, 0},
                               {"GL_ARRAY_BUFFER_BINDING", GL_ARRAY_BUFFER_BINDING, 0},
                               {"GL_TEXTURE_BINDING_2D", GL_TEXTURE_BINDING_2D, 0},
                               {"GL_FRAMEBUFFER_BINDING", GL_FRAMEBUFFER_BINDING, 0}};
  for (const auto& [name, number, value] : kStates) {
    GLint now = -1;
    glGetIntegerv(number, &now);
    EXPECT_EQ(now, value) << name;
  }
}

FAULT_TEST(GlImage, DoesNotDrawABufferThatIsNotUnmapped) {
  // OpenGL's drawing waits for the kernel only if the unmap succeeds.
  ASSERT_TRUE(is_right(8, 8));
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail cannot be chosen across processes";
  const lab::testing::detail::next_call_fails fault("cudaGraphicsUnmapResources",
                                                    cudaErrorOperatingSystem);
  ::testing::internal::CaptureStderr();  // a destructor may print the same error
  EXPECT_THROW(draw(8, 8), lab::cuda_error);
  (void)::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fault.has_failed());
}

TEST(GlImage, UnmapsAndUnregistersOnce) {
  ASSERT_TRUE(is_right(8, 8));  // what throws does so here, where nothing is captured
  // A destructor can only print what CUDA refuses.
  ::testing::internal::CaptureStderr();
  (void)draw(8, 8);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

#ifdef __CPU_DEVICE__
TEST(GlImage, WaitsForKernelsThatTakeTheirTime) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  EXPECT_TRUE(is_right(33, 20));
}
#endif

TEST(GlImage, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return draw(30, 20).kernel_ms; }));
}

TEST(GlImage, RefusesPicturesThatCannotBe) {
  constexpr int kTooLong = lab::gl_image::kLongestSide + 1;
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0},
                            size{kTooLong, 1}, size{1, kTooLong}}) {
    const std::string sides = std::to_string(extent.width) + " x " + std::to_string(extent.height);
    try {
      draw(extent.width, extent.height);
      ADD_FAILURE() << "a picture of " << sides << " pixels was drawn";
    } catch (const lab::invalid_input& refusal) {
      // Before anything is created: the refusal must come from here, not from the canvas.
      EXPECT_EQ(std::string(refusal.what()).find("gl_image: a picture of " + sides), 0U)
          << refusal.what();
    }
  }
}

TEST(GlImage, DrawsTheLongestPictures) {
  EXPECT_TRUE(is_right(lab::gl_image::kLongestSide, 1));
  EXPECT_TRUE(is_right(1, lab::gl_image::kLongestSide));
}

TEST(GlImage, SaysWhenNoContextIsCurrent) {
  context->leave();
  EXPECT_THROW(draw(4, 4), lab::not_possible);
  context->enter();
  EXPECT_TRUE(is_right(4, 4));
}

// --- the comparison itself -----------------------------------------------------------------------

bitmap reference_picture(int width, int height) {
  bitmap picture(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      picture.at(x, y) = {
          0, static_cast<std::uint8_t>(lab::gl_image::reference_green(width, height, x, y)),
          static_cast<std::uint8_t>(255 * y / height), 255};
  return picture;
}

TEST(Comparison, AcceptsTheReferenceAndRejectsOneWrongPixel) {
  const bitmap good = reference_picture(40, 30);
  EXPECT_TRUE(compare_with_reference(good, 40, 30).ok);
  for (std::uint8_t rgba::*channel : {&rgba::r, &rgba::g, &rgba::b, &rgba::a})
    for (const int change : {-1, 1}) {
      bitmap picture = good;
      picture.at(7, 3).*channel = static_cast<std::uint8_t>(picture.at(7, 3).*channel + change);
      const auto result = compare_with_reference(picture, 40, 30);
      EXPECT_FALSE(result.ok);
      EXPECT_NE(result.message.find("1 of 1200 pixels differ; first at x = 7, y = 3"),
                std::string::npos)
          << result.message;
    }
}

TEST(Comparison, RejectsOtherSizesAndThePictureUpsideDown) {
  const bitmap good = reference_picture(40, 30);
  EXPECT_FALSE(compare_with_reference(good, 30, 40).ok);
  bitmap turned = good;
  for (int y = 0; y < 30; ++y)
    for (int x = 0; x < 40; ++x) turned.at(x, y) = good.at(x, 29 - y);
  EXPECT_FALSE(compare_with_reference(turned, 40, 30).ok);
}

FAULT_TEST(GlImage, ReportsEveryCallThatFails) {
  const buffers_before before;
  expect_failures_reported([&] {
    EXPECT_TRUE(before.nothing_left()) << "when a call had failed";
    return is_right(17, 5);
  });
}

}  // namespace
