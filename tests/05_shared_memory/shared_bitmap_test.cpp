// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_bitmap.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::shared_bitmap::draw;
using lab::shared_bitmap::kDefaultPeriod;
using lab::shared_bitmap::kDefaultSize;
using lab::shared_bitmap::reference;
using lab::shared_bitmap::sine_wave;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using wave = std::vector<int>;

::testing::AssertionResult is_right(int width, int height, const wave& across, const wave& down) {
  return matches(lab::compare_exact(draw(width, height, across, down).greens,
                                    reference(width, height, across, down)));
}

/// Periods that have nothing to do with the tiles, two different waves: each tile is unlike its
/// neighbours, so what another block left in shared memory is not right by chance.
wave random_wave(std::size_t period, std::uint64_t seed) {
  return lab::random_ints(period, seed, 0, 255);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TilesInSharedMemory) {
  const wave across = random_wave(101, 1), down = random_wave(67, 2);
  using size = std::pair<std::size_t, std::size_t>;
  for (const auto& [width, height] : {size{1, 1}, size{7, 5}, size{16, 16}, size{1, 100},
                                      size{100, 1}, size{40, 31}, size{97, 80}, size{320, 240}}) {
    const std::string picture = std::to_string(width) + " x " + std::to_string(height) + " pixels";
    const lab::testing::work done =
        work_of([&, w = static_cast<int>(width), h = static_cast<int>(height)] {
          return is_right(w, h, across, down);
        });
    const std::size_t tiles = (width + 15) / 16 * ((height + 15) / 16), pixels = width * height;
    std::size_t points = 0;  // of all tiles: a block may have several
    for (const auto& k : done.kernels) points += k.all_threads();
    EXPECT_TRUE(as_required(done, {.threads = pixels,
                                   .blocks = std::min<std::size_t>((tiles + 3) / 4, 8),
                                   .fetched = pixels * sizeof(int),
                                   .writes = pixels * sizeof(int),
                                   // A point takes a value of each wave. A thread that also
                                   // computes its own pixel's point, and only pretends to exchange
                                   // points, reads twice as many.
                                   .reads_at_most = std::max(points, tiles * 256) * 2 * sizeof(int),
                                   .shared_memory = true,
                                   .exchanges = pixels}))
        << picture;
    EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToHost), pixels * sizeof(int))
        << picture << ": only they come back, and no points outside for the host to rotate";
    std::uint64_t barriers = 0;
    for (const auto& k : done.kernels) barriers += k.barriers + k.warp_functions;
    EXPECT_GT(barriers, 0U) << picture << ": no thread waits for another thread's point";
  }
  EXPECT_TRUE(at_other_sizes([&](int n) { return is_right(n, n + 1, across, down); },
                             {.threads = 1, .fetched = 1, .shared_memory = true}));
}

class Picture : public ::testing::TestWithParam<std::pair<int, int>> {};
// Around a tile (16) and some tiles; wide and high ones; primes.
INSTANTIATE_TEST_SUITE_P(Sizes, Picture,
                         ::testing::Values(std::pair{16, 16}, std::pair{32, 16}, std::pair{16, 48},
                                           std::pair{1, 1}, std::pair{15, 15}, std::pair{17, 16},
                                           std::pair{16, 17}, std::pair{31, 33}, std::pair{1, 100},
                                           std::pair{100, 1}, std::pair{97, 211},
                                           std::pair{211, 101}, std::pair{320, 240}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "x" +
                                  std::to_string(test.param.second);
                         });

TEST_P(Picture, IsExact) {
  const auto [width, height] = GetParam();
  const auto seed = static_cast<std::uint64_t>(1000 * width + height);
  EXPECT_TRUE(is_right(width, height, random_wave(101, seed), random_wave(67, seed + 1)));
}

class EachSeed : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, EachSeed, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return "seed" + std::to_string(test.param); });

TEST_P(EachSeed, IsExactOnManyTiles) {
  EXPECT_TRUE(
      is_right(30 * 16, 20 * 16, random_wave(157, GetParam()), random_wave(211, GetParam() + 10)));
}

TEST(Draw, MakesTheBlobsOfTheBook) {
  const wave sines = sine_wave(128);
  const auto greens = draw(256, 256, sines, sines).greens;
  EXPECT_TRUE(matches(lab::compare_exact(greens, reference(256, 256, sines, sines))));
  // The middle of a blob is at (32, 32). Its tile begins at (32, 32), and turned, that is (47, 47).
  EXPECT_EQ(greens[47 * 256 + 47], 255);
  EXPECT_EQ(greens[(47 + 64) * 256 + 47], 0);  // half a period further down it is dark
}

TEST(Draw, IsExactAtTheProgramsSize) {
  expect_at_full_size([] {
    const wave sines = sine_wave(kDefaultPeriod);
    EXPECT_TRUE(is_right(kDefaultSize, kDefaultSize, sines, sines));
    EXPECT_TRUE(is_right(kDefaultSize, kDefaultSize, random_wave(101, 5), random_wave(67, 6)));
  });
}

TEST(Draw, TakesWavesThatAreLongerThanConstantMemory) {
  expect_at_full_size([] {
    const wave is_long = random_wave(20'011, 7), is_short = random_wave(67, 8);
    EXPECT_TRUE(is_right(20'011, 3, is_long, is_short));
    EXPECT_TRUE(is_right(3, 20'011, is_short, is_long));
  });
}

TEST(Draw, TurnsATileByHalfATurn) {
  wave across(32), down(32);
  across[3] = 255, down[5] = 255;  // one bright point: (3, 5)
  const auto greens = draw(32, 32, across, down).greens;
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x)
      EXPECT_EQ(greens[static_cast<std::size_t>(32 * y + x)], x == 12 && y == 10 ? 255 : 0)
          << "at x = " << x << ", y = " << y;
}

TEST(Draw, ShowsPointsFromBeyondTheEdge) {
  // A picture of 3 x 2 pixels shows only points outside of it.
  wave across(16), down(16);
  for (int i = 0; i < 16; ++i) across[static_cast<std::size_t>(i)] = 10 * i;
  down.assign(16, 255);
  EXPECT_EQ(draw(3, 2, across, down).greens, (std::vector<int>{150, 140, 130, 150, 140, 130}));
}

TEST(Draw, RepeatsShortWaves) {
  EXPECT_TRUE(is_right(50, 40, {255}, {7}));
  EXPECT_TRUE(is_right(50, 40, {255, 0, 9}, {200, 100}));
}

TEST(Draw, TakesWavesLongerThanATileHasThreads) {
  EXPECT_TRUE(is_right(700, 17, random_wave(601, 1), random_wave(5, 2)));
  EXPECT_TRUE(is_right(17, 700, random_wave(5, 3), random_wave(601, 4)));
}

TEST(Draw, IsWiderThan16BitsCanCount) {
  EXPECT_TRUE(is_right(65'570, 1, random_wave(101, 1), random_wave(67, 2)));
}

TEST(Draw, RefusesPicturesOfNothing) {
  const wave ones(4, 1);
  EXPECT_THROW(draw(0, 16, ones, ones), lab::invalid_input);
  EXPECT_THROW(draw(16, 0, ones, ones), lab::invalid_input);
  EXPECT_THROW(draw(-16, 16, ones, ones), lab::invalid_input);
}

TEST(Draw, RefusesPicturesThatAreTooHighForAGrid) {
  const wave ones(4, 1);
  constexpr int kHighest = 65'535 * 16, kWidest = std::numeric_limits<int>::max();
  EXPECT_THROW(draw(1, kHighest + 1, ones, ones), lab::invalid_input);
  EXPECT_TRUE(lab::testing::runs_out_of_memory([&] { draw(kWidest, kHighest, ones, ones); }))
      << "the grid is possible, but 8 PiB are more than any memory";
}

TEST(Draw, RefusesWavesThatAreNone) {
  const wave ones(4, 1), none, negative = {3, -1}, too_bright = {256};
  for (const wave& wrong : {none, negative, too_bright}) {
    EXPECT_THROW(draw(16, 16, wrong, ones), lab::invalid_input);
    EXPECT_THROW(draw(16, 16, ones, wrong), lab::invalid_input);
  }
}

TEST(Draw, ForgetsThePreviousCall) {
  EXPECT_TRUE(is_right(64, 64, random_wave(101, 1), random_wave(67, 2)));
  EXPECT_TRUE(is_right(64, 64, random_wave(101, 3), random_wave(67, 4)));
}

TEST(Draw, SaysHowLongItTook) {
  const wave ones(4, 1);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return draw(64, 64, ones, ones).kernel_ms; }));
}

FAULT_TEST(Draw, ReportsEveryCallThatFails) {
  const wave across = random_wave(7, 1), down = random_wave(11, 2);
  expect_failures_reported([&] { return is_right(17, 33, across, down); }, across, down);
}

}  // namespace
