// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "tma_tiles.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::as_required;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::tma_tiles::apply;
using lab::tma_tiles::kDefaultHeight;
using lab::tma_tiles::kDefaultWidth;
using lab::tma_tiles::kLongestSide;
using lab::tma_tiles::kMostBlocks;
using lab::tma_tiles::reference;
using lab::tma_tiles::step;
using numbers = std::vector<std::uint32_t>;

const lab::testing::needs bulk_copies([] {
  if (lab::device_limit(cudaDevAttrComputeCapabilityMajor) < 9)
    throw lab::not_possible("bulk copies need a device of compute capability 9.0");
});

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::loads, "loads"},
                                 {step::row_copies, "row_copies"},
                                 {step::tensor_copy, "tensor_copy"},
                                 {step::two_stages, "two_stages"}};
constexpr std::size_t kTile = 32;

struct size {
  std::size_t width, height;
  std::size_t tiles() const {
    return ((width + kTile - 1) / kTile) * ((height + kTile - 1) / kTile);
  }
  friend void PrintTo(const size& s, std::ostream* out) { *out << s.width << " x " << s.height; }
};

::testing::AssertionResult is_right(step version, size s, unsigned blocks, std::uint64_t seed) {
  const numbers values = lab::random_words(s.width * s.height, seed);
  return matches(lab::compare_exact(apply(version, values, s.width, s.height, blocks).values,
                                    reference(values, s.width, s.height)));
}

// --- who does the work ---------------------------------------------------------------------------

lab::testing::required tiles_for(size s) {
  const std::size_t bytes = s.width * s.height * sizeof(std::uint32_t);
  return {.threads = 128,
          .blocks = 2,
          .sent = bytes,
          .fetched = bytes,
          .reads = 0,
          .writes = bytes,
          .shared_memory = true};
}

REQUIRED_WORK(TilesThatTheCopyEngineBrings) {
  const size s{150, 70};
  const std::size_t bytes = s.width * s.height * sizeof(std::uint32_t);
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected = tiles_for(s);
    // A tile of 32 x 32 needs at most 40 x 40 values, and the cross nearly all of them. What is
    // outside of the matrix may be read as well, if it is there: padding, or a margin of zeros.
    const auto of_boxes = [](size of) { return of.tiles() * 40 * 40 * sizeof(std::uint32_t); };
    expected.reads_at_most = version == step::loads ? of_boxes(s) : bytes / 8;
    if (version == step::loads) expected.reads = bytes;
    if (version == step::row_copies) expected.bulk_bytes = bytes;
    if (version == step::tensor_copy || version == step::two_stages) expected.tensor_bytes = bytes;
    const auto done = work_of([&, version = version] { return is_right(version, s, 4, 1); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    // A single tile, a row of tiles, a column, and a single value are copied by the same means.
    for (const size other : {size{1, 1}, size{3, 4}, size{31, 7}, size{1, 40}, size{40, 1},
                             size{41, 40}, size{300, 5}, size{5, 300}}) {
      const std::size_t some = other.width * other.height * sizeof(std::uint32_t);
      const auto scaled = [&](std::size_t all) { return all == 0 ? 0 : some; };
      EXPECT_TRUE(
          as_required(work_of([&, version = version] { return is_right(version, other, 1, 1); }),
                      {.threads = std::min<std::size_t>(8, some / sizeof(std::uint32_t)),
                       .sent = some,
                       .fetched = some,
                       .bulk_bytes = scaled(expected.bulk_bytes),
                       .tensor_bytes = scaled(expected.tensor_bytes),
                       .reads = scaled(expected.reads),
                       .writes = some,
                       .reads_at_most = version == step::loads ? of_boxes(other) : some / 8,
                       .shared_memory = true}))
          << name << ": " << other.width << " x " << other.height;
    }
    if (expected.tensor_bytes == 0 || (done.values && !*done.values)) continue;
    std::uint64_t copies = 0;
    for (const auto& kernel : done.kernels) copies += kernel.tensor_copies;
    EXPECT_LE(copies, s.tiles()) << name << ": a tile and its halo are one copy";
  }
}

REQUIRED_WORK(TheNextTileIsUnderWayWhileThisOneIsUsed) {
  const std::pair<size, unsigned> cases[] = {{{150, 70}, 1}, {{150, 70}, 2}, {{150, 70}, 3},
                                             {{150, 70}, 7}, {{150, 70}, 8}, {{150, 70}, 14},
                                             {{64, 32}, 1},  {{640, 64}, 3}};
  for (const auto& [s, blocks] : cases) {
    lab::testing::required expected = tiles_for(s);
    expected.blocks = std::min(blocks, 2U);
    // All tiles of a block but its last one: each value needs 17 others, some of which a thread may
    // have already.
    expected.shared_meanwhile = (s.tiles() - blocks) * kTile * kTile * 9;
    // One for each tile, whichever block has it; of each block, one for its barriers and one to
    // spare.
    expected.barriers_of_all = s.tiles() + 2 * blocks;
    const auto done =
        work_of([&, s = s, blocks = blocks] { return is_right(step::two_stages, s, blocks, 2); });
    EXPECT_TRUE(as_required(done, expected)) << "two_stages";
    std::uint64_t early = 0;
    for (const auto& kernel : done.kernels) {
      EXPECT_LE(kernel.blocks, blocks) << "two_stages: more blocks than were requested";
      early += kernel.copies_meanwhile;
    }
    if (done.watched && done.values && *done.values) {
      EXPECT_GE(early, s.tiles() - blocks)
          << "two_stages: only the first tile of each block has to be copied while there is none "
             "to use. Others are, too: start the next copy before the block, and the thread that "
             "starts it, use this tile";
    }
  }
}

REQUIRED_WORK(AsManyBlocksAsTheDeviceRunsAtTheSameTimeUnlessANumberIsAskedFor) {
  const auto processors = lab::device_limit(cudaDevAttrMultiProcessorCount),
             threads = lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  // More tiles than there can be blocks of 128 threads.
  const size s{1, (std::size_t{processors} * threads / 128 + 3) * kTile};
  const auto all = work_of([&] { return is_right(step::two_stages, s, 0, 11); });
  for (const auto& kernel : all.kernels) {
    EXPECT_LE(kernel.all_threads(), std::uint64_t{processors} * threads)
        << "two_stages: more blocks than the device can run at the same time";
    EXPECT_GE(kernel.blocks, processors) << "two_stages: a multiprocessor has no block";
    EXPECT_GE(4 * kernel.all_threads(), std::uint64_t{processors} * threads)
        << "two_stages: a multiprocessor has room for many more blocks than it has";
  }
  const size few{70, 40};
  const auto more_than_run = static_cast<unsigned>(s.tiles()) - 1;
  const std::pair<size, unsigned> cases[] = {{few, 1},           {few, 2},          {few, 5},
                                             {few, 6},           {few, 100},        {few, 65'537U},
                                             {few, kMostBlocks}, {s, more_than_run}};
  for (const auto& [given, blocks] : cases) {
    const auto asked_for = work_of(
        [given = given, blocks = blocks] { return is_right(step::two_stages, given, blocks, 12); });
    for (const auto& kernel : asked_for.kernels) {
      if (kernel.tensor_copies == 0) continue;
      EXPECT_EQ(kernel.blocks, std::min<std::size_t>(blocks, given.tiles()))
          << "two_stages: as many blocks as were requested (" << blocks
          << "), and none without a tile";
      EXPECT_EQ(kernel.copying_blocks, kernel.blocks)
          << "two_stages: " << kernel.blocks << " blocks share " << given.tiles()
          << " tiles, and some block is without one";
    }
  }
}

// --- every step, every size ----------------------------------------------------------------------

// One value, one row, one column; around a tile of 32 x 32; rows that end at a multiple of 16 bytes
// and 4, 8 and 12 bytes past it; a few tiles; a halo that is all there is of the next tile.
constexpr size kSizes[] = {{1, 1},   {2, 1},   {1, 2},   {5, 9},    {1, 40},  {40, 1},
                           {31, 33}, {32, 32}, {33, 31}, {36, 28},  {64, 64}, {65, 97},
                           {3, 129}, {129, 3}, {34, 34}, {97, 130}, {66, 67}, {131, 41}};

class EachSize : public ::testing::TestWithParam<std::tuple<named_step, size>> {};
/// two_stages_33x31
std::string name_of(const ::testing::TestParamInfo<std::tuple<named_step, size>>& test) {
  const auto& [version, s] = test.param;
  return std::string(version.name) + "_" + std::to_string(s.width) + "x" + std::to_string(s.height);
}
INSTANTIATE_TEST_SUITE_P(Steps, EachSize,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kSizes)),
                         name_of);

TEST_P(EachSize, HasTheReferencesValues) {
  const auto& [version, s] = GetParam();
  EXPECT_TRUE(is_right(version.value, s, 1, 3));
  EXPECT_TRUE(is_right(version.value, s, 0, 4));
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, SpreadsASingleOneAsTheWeightsSay) {
  // Everywhere at the edges of tiles and of the matrix, where halos and zeros meet.
  constexpr std::size_t kWidth = 69, kHeight = 66;
  for (const std::size_t x : {0, 1, 4, 27, 28, 31, 32, 35, 36, 63, 64, 68})
    for (const std::size_t y : {0, 31, 32, 36, 65}) {
      numbers values(kWidth * kHeight);
      values[y * kWidth + x] = 1;
      EXPECT_TRUE(matches(lab::compare_exact(apply(version(), values, kWidth, kHeight, 2).values,
                                             reference(values, kWidth, kHeight))))
          << "at " << x << ", " << y;
    }
}

TEST_P(EachStep, TakesAnyNumberOfBlocks) {
  // From all tiles for one block to none for most, so that phases end often, and not once.
  for (const unsigned blocks : {0U, 1U, 2U, 3U, 4U, 5U, 11U, 12U, 13U, 100U, kMostBlocks})
    EXPECT_TRUE(is_right(version(), {100, 90}, blocks, 5)) << blocks << " blocks";
  for (const unsigned blocks : {1U, 2U, 5U})
    EXPECT_TRUE(is_right(version(), {33, 1000}, blocks, 6)) << blocks << " blocks";
}

TEST_P(EachStep, WrapsAround) {
  // All bits set: -1, so each value is minus the sum of its weights.
  const numbers values(40 * 40, 0xFFFFFFFF);
  const numbers sums = apply(version(), values, 40, 40, 1).values;
  EXPECT_EQ(sums[20 * 40 + 20], 0U - (9 * 5 + 9 * 11));
  EXPECT_EQ(sums[0], 0U - (5 + 6 + 7 + 8 + 9) - (11 + 13 + 15 + 17 + 19));
}

TEST_P(EachStep, HasNoValuesWithoutAMatrix) {
  for (const size s : {size{0, 0}, size{0, 5}, size{5, 0}, size{kLongestSide, 0}})
    EXPECT_EQ(apply(version(), {}, s.width, s.height, 1).values, numbers{});
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::size_t width : {90, 7, 90})
    EXPECT_TRUE(is_right(version(), {width, 50}, 2, width));
}

TEST_P(EachStep, TakesALongRowAndALongColumn) {
  EXPECT_TRUE(is_right(version(), {10'001, 2}, 3, 7));
  EXPECT_TRUE(is_right(version(), {2, 10'001}, 3, 7));
}

TEST_P(EachStep, TakesSidesOfThousandsOfTilesThatDoNotFitInto16Bits) {
  expect_at_full_size([&] {
    EXPECT_TRUE(is_right(version(), {140'001, 1}, 0, 14));
    EXPECT_TRUE(is_right(version(), {1, 140'001}, 0, 15));
  });
}

TEST_P(EachStep, SaysHowLongItTook) {
  const numbers values = lab::random_words(100 * 50, 8);
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return apply(version(), values, 100, 50, 2).kernel_ms; }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesThatCannotBe) {
  const numbers none, ten(10);
  const auto call = [&](const numbers& values, std::size_t width, std::size_t height,
                        unsigned blocks) {
    return apply(version(), values, width, height, blocks);
  };
  EXPECT_THROW(call(ten, 5, 3, 1), lab::invalid_input);
  EXPECT_THROW(call(ten, 11, 1, 1), lab::invalid_input);
  EXPECT_THROW(call(ten, 0, 0, 1), lab::invalid_input);
  EXPECT_THROW(call(none, 1, 1, 1), lab::invalid_input);
  EXPECT_THROW(call(none, kLongestSide + 1, 0, 1), lab::invalid_input);
  EXPECT_THROW(call(none, 0, kLongestSide + 1, 1), lab::invalid_input);
  constexpr std::size_t kHalf = std::size_t{1} << 32;  // squared it is 0, modulo 2^64
  EXPECT_THROW(call(none, kHalf, kHalf, 1), lab::invalid_input);
  EXPECT_THROW(call(ten, 5, 2, kMostBlocks + 1), lab::invalid_input);
  EXPECT_NO_THROW(call(ten, 5, 2, 1));
}

// --- the reference -------------------------------------------------------------------------------

TEST(Reference, AgreesWithMatricesThatWereDoneByHand) {
  // From itself 5 + 11, from the right 6, from below 13, from the left 4, from above 9.
  EXPECT_EQ(reference(numbers{1, 0, 0, 0}, 2, 2), (numbers{16, 4, 9, 0}));
  EXPECT_EQ(reference(numbers{0, 0, 0, 1}, 2, 2), (numbers{0, 13, 6, 16}));
  EXPECT_EQ(reference(numbers{1, 0, 0, 0, 0, 0}, 6, 1), (numbers{16, 4, 3, 2, 1, 0}));
  EXPECT_EQ(reference(numbers{0, 0, 0, 0, 0, 1}, 1, 6), (numbers{0, 19, 17, 15, 13, 16}));
}

// --- errors --------------------------------------------------------------------------------------

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const numbers values = lab::random_words(70 * 35, 9);
  expect_failures_reported(
      [&] {
        return matches(lab::compare_exact(apply(version(), values, 70, 35, 0).values,
                                          reference(values, 70, 35)));
      },
      values);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] { return is_right(version(), {kDefaultWidth, kDefaultHeight}, 0, 10); });
}

}  // namespace
