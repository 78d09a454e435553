// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "ripple.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

namespace {

using lab::bitmap;
using lab::ripple::animate;
using lab::ripple::compare_with_reference;
using lab::ripple::frame;
using lab::ripple::frame_callback;
using lab::ripple::step;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::work_without_values;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::blocks_16x16, "blocks_16x16"},
                                 {step::flat_256, "flat_256"}};

::testing::AssertionResult is_right(step version, int width, int height, int tick) {
  return matches(
      compare_with_reference(frame(version, width, height, tick).picture, width, height, tick));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AThreadForEachPixel) {
  constexpr std::size_t kPixels = 150 * 47;
  for (const auto& [version, name] : kSteps) {
    for (const auto& [width, height] : {std::pair{150, 47}, {47, 150}}) {
      const lab::testing::work done =
          work_of([&, version = version] { return is_right(version, width, height, 5); });
      EXPECT_TRUE(as_required(done, {.threads = kPixels,
                                     .blocks = 28,
                                     .fetched = kPixels * sizeof(lab::rgba),
                                     .writes = kPixels * sizeof(lab::rgba),
                                     .sectors = 2}))
          << name << ": " << width << " x " << height << " pixels";
      for (const auto& k : done.kernels)
        EXPECT_EQ(std::pair(k.block_x, k.block_y),
                  version == step::blocks_16x16 ? std::pair(16U, 16U) : std::pair(256U, 1U))
            << name << ": the threads of a block";
      if (version == step::flat_256) {
        for (const auto& k : done.kernels)
          EXPECT_LT(k.all_threads(), kPixels + 2 * 256)
              << name << ": over all pixels, a block begins where the previous one ends";
      }
    }
    for (const int more : {0, 1})
      EXPECT_TRUE(at_other_sizes([=, version = version](int n) {
        return is_right(version, n, n + more, 5);
      })) << name;
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

// One pixel, one row, one column; around 16 in each direction; around 256 pixels in all; wide,
// high and odd ones.
constexpr size kSizes[] = {{1, 1},   {17, 1},  {1, 17},  {2, 3},    {15, 16}, {16, 15},
                           {16, 16}, {17, 16}, {16, 17}, {17, 5},   {5, 51},  {257, 1},
                           {1, 257}, {33, 31}, {32, 64}, {150, 47}, {47, 150}};
INSTANTIATE_TEST_SUITE_P(Steps, Pixels,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(Pixels, HaveTheReferencesGrey) {
  const auto& [version, extent] = GetParam();
  for (const int tick : {0, 1, 5, 22, 100, -1, -3})
    EXPECT_TRUE(is_right(version.value, extent.width, extent.height, tick));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, IsWhiteInTheMiddleAtTickZeroAndNearlyBlackHalfAPeriodLater) {
  // d = 0: 128 + 127 cos(0), and 128 + 127 cos(22 / 7), where 22 / 7 is nearly pi: 1.0001.
  const bitmap crest = frame(version(), 20, 10, 0).picture;
  const auto in_words = [](const lab::rgba& pixel) { return lab::detail::text_of(pixel); };
  EXPECT_EQ(in_words(crest.at(10, 5)), in_words({255, 255, 255, 255}));
  const bitmap trough = frame(version(), 20, 10, 22).picture;
  EXPECT_EQ(in_words(trough.at(10, 5)), in_words({1, 1, 1, 255}));
}

TEST_P(EachStep, IsAsSharpAfterAVeryLongTime) {
  constexpr int kMost = std::numeric_limits<int>::max();
  constexpr int kLeast = std::numeric_limits<int>::min();
  for (const int tick : {1'000'003, 99'999'989, -1'000'000'007, kMost, kMost - 1, kLeast})
    EXPECT_TRUE(is_right(version(), 61, 40, tick));
}

TEST_P(EachStep, ReachesFarFromTheMiddle) {
  EXPECT_TRUE(is_right(version(), 3, 20'011, 8));
  EXPECT_TRUE(is_right(version(), 20'011, 3, 8));
}

TEST_P(EachStep, DrawsTheLongestPictures) {
  EXPECT_TRUE(is_right(version(), 1, lab::ripple::kLongestSide, 9));
  EXPECT_TRUE(is_right(version(), lab::ripple::kLongestSide, 1, 9));
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4, 5)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, DrawsRandomSizesAndTicks) {
  const auto& [version, seed] = GetParam();
  lab::random_source random(seed);
  const int width = random.integer(1, 200), height = random.integer(1, 200);
  EXPECT_TRUE(is_right(version.value, width, height, random.integer(-1'000'000, 1'000'000)));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return frame(version(), 30, 20, 1).kernel_ms; }));
}

// --- the animation ------------------------------------------------------------------------------

TEST_P(EachStep, AnimatesAnyTicksInAnyOrder) {
  const frame_callback draw = animate(version(), 37, 21);
  bitmap picture(37, 21);
  for (const int tick : {0, 1, 2, 40, 40, 3, 0, -7}) {
    EXPECT_GT(draw(picture, tick), 0.0F);
    EXPECT_TRUE(matches(compare_with_reference(picture, 37, 21, tick)));
  }
}

TEST_P(EachStep, AnimatesTwoPondsAtOnce) {
  const frame_callback wide = animate(version(), 50, 9), high = animate(version(), 9, 50);
  bitmap wide_picture(50, 9), high_picture(9, 50);
  for (const int tick : {4, 30}) {
    wide(wide_picture, tick);
    high(high_picture, tick + 1);
    EXPECT_TRUE(matches(compare_with_reference(wide_picture, 50, 9, tick)));
    EXPECT_TRUE(matches(compare_with_reference(high_picture, 9, 50, tick + 1)));
  }
}

TEST_P(EachStep, AnimatesOnAfterTheOriginalIsGone) {
  frame_callback copy;
  {
    const frame_callback original = animate(version(), 18, 19);
    copy = original;
  }
  bitmap picture(18, 19);
  copy(picture, 12);
  EXPECT_TRUE(matches(compare_with_reference(picture, 18, 19, 12)));
}

TEST_P(EachStep, AnimatesByCopiesInTurns) {
  // They share device memory: what one has drawn there is gone once the other draws.
  const frame_callback one = animate(version(), 19, 23), other = one;
  bitmap picture(19, 23);
  for (int turn = 0; turn < 2; ++turn) {
    one(picture, 6);
    EXPECT_TRUE(matches(compare_with_reference(picture, 19, 23, 6)));
    other(picture, 20);
    EXPECT_TRUE(matches(compare_with_reference(picture, 19, 23, 20)));
  }
}

TEST_P(EachStep, RefusesToAnimateAPictureOfAnotherSize) {
  const frame_callback draw = animate(version(), 17, 5);
  bitmap turned(5, 17), larger(18, 5), smaller(17, 4), good(17, 5);
  EXPECT_THROW(draw(turned, 0), lab::invalid_input);  // as many pixels, but in other rows
  EXPECT_THROW(draw(larger, 0), lab::invalid_input);
  EXPECT_THROW(draw(smaller, 0), lab::invalid_input);
  EXPECT_EQ(larger, bitmap(18, 5)) << "a picture that was refused was drawn on";
  draw(good, 3);
  EXPECT_TRUE(matches(compare_with_reference(good, 17, 5, 3)));
}

#ifdef __CPU_DEVICE__
TEST_P(EachStep, AnimatesInOneBlockOfDeviceMemory) {
  const std::size_t before = cpu_device::live_allocations();
  frame_callback draw = animate(version(), 32, 20);
  EXPECT_EQ(cpu_device::live_allocations(), before + 1);
  frame_callback copy = draw;
  bitmap picture(32, 20);
  const lab::testing::work drawing = work_without_values([&] {
    for (int tick = 0; tick < 4; ++tick) draw(picture, tick);
    copy(picture, 4);
  });
  EXPECT_TRUE(drawing.device_memory.empty()) << "drawing a frame allocates device memory";
  EXPECT_EQ(cpu_device::live_allocations(), before + 1);
  draw = nullptr;
  EXPECT_EQ(cpu_device::live_allocations(), before + 1);
  copy = nullptr;
  EXPECT_EQ(cpu_device::live_allocations(), before);
}
#endif

// --- refusals -----------------------------------------------------------------------------------

TEST_P(EachStep, RefusesPicturesThatCannotBe) {
  constexpr int kTooLong = lab::ripple::kLongestSide + 1;
  for (const size extent : {size{0, 5}, size{5, 0}, size{-1, 5}, size{5, -3}, size{0, 0},
                            size{kTooLong, 1}, size{1, kTooLong}}) {
    EXPECT_THROW(frame(version(), extent.width, extent.height, 0), lab::invalid_input)
        << extent.width << " x " << extent.height;
    EXPECT_THROW(animate(version(), extent.width, extent.height), lab::invalid_input)
        << extent.width << " x " << extent.height;
  }
}

// --- the comparison itself ----------------------------------------------------------------------

/// The reference as a picture, drawn on the host.
bitmap reference_picture(int width, int height, int tick) {
  bitmap picture(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto grey =
          static_cast<std::uint8_t>(lab::ripple::reference_at(width, height, tick, x, y));
      picture.at(x, y) = {grey, grey, grey, 255};
    }
  return picture;
}

TEST(Comparison, AcceptsTheReference) {
  EXPECT_TRUE(matches(compare_with_reference(reference_picture(40, 30, 6), 40, 30, 6)));
}

TEST(Comparison, RejectsOneWrongPixel) {
  const bitmap good = reference_picture(40, 30, 6);
  for (const int change : {-2, -1, 1, 2}) {
    bitmap picture = good;
    const auto grey = static_cast<std::uint8_t>(picture.at(7, 3).r + change);
    picture.at(7, 3) = {grey, grey, grey, 255};
    const auto result = compare_with_reference(picture, 40, 30, 6);
    EXPECT_FALSE(result.ok) << "changed by " << change;
    EXPECT_NE(result.message.find("1 of 1200 pixels differ; first at x = 7, y = 3"),
              std::string::npos)
        << result.message;
  }
}

TEST(Comparison, RejectsColoursTransparencyAndOtherSizesAndTicks) {
  const bitmap good = reference_picture(40, 30, 6);
  for (std::uint8_t lab::rgba::*channel :
       {&lab::rgba::r, &lab::rgba::g, &lab::rgba::b, &lab::rgba::a}) {
    bitmap picture = good;
    --(picture.at(39, 29).*channel);
    EXPECT_FALSE(compare_with_reference(picture, 40, 30, 6).ok);
  }
  EXPECT_FALSE(compare_with_reference(good, 30, 40, 6).ok);
  EXPECT_FALSE(compare_with_reference(good, 40, 30, 7).ok);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return is_right(version(), 17, 5, 3); });
}

FAULT_TEST_P(EachStep, AnimationReportsEveryCallThatFails) {
  expect_failures_reported([&] {
    bitmap picture(17, 5);
    animate(version(), 17, 5)(picture, 3);
    return matches(compare_with_reference(picture, 17, 5, 3));
  });
}

TEST(Flat256, DrawsThePixelsOfManyBlocks) {
  // The rings are the same above the middle and below it: row y is row kHeight - y. A float
  // cannot hold the numbers of the last pixels.
  expect_at_full_size([] {
    constexpr int kWidth = 33, kHeight = lab::ripple::kLongestSide;
    static_assert(kWidth * (kHeight / 256) > lab::testing::kManyBlocks);
    (void)frame(step::flat_256, 16, 16, 3);  // what is not written yet says so
    bitmap picture(1, 1);
    [[maybe_unused]] const auto drawing =
        work_without_values([&] { picture = frame(step::flat_256, kWidth, kHeight, 3).picture; });
#ifdef __CPU_DEVICE__
    if (!drawing.kernels.empty()) {
      EXPECT_GE(drawing.kernels[0].all_threads(), std::uint64_t{kWidth} * kHeight)
          << "a thread for each pixel";
    }
#endif
    EXPECT_EQ(picture.at(kWidth / 2, kHeight / 2).a, 255);
    for (int y = 1; y <= kHeight / 2; ++y)
      for (int x = 0; x < kWidth; ++x)
        if (picture.at(x, y) != picture.at(x, kHeight - y))
          return ::testing::AssertionFailure() << "column " << x << ", rows " << y << " and "
                                               << kHeight - y << ": they should be equal";
    return ::testing::AssertionSuccess();
  });
}

}  // namespace
