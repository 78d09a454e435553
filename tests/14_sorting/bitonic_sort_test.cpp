// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "bitonic_sort.hpp"

#include <cstddef>
#include <cstdint>

#include "reference.hpp"
#include "steps.hpp"

namespace {

namespace network = lab::bitonic_sort;

using named_step = lab::testing::named<network::step>;
constexpr named_step kSteps[] = {{network::step::shared_tiles, "shared_tiles"},
                                 {network::step::registers, "registers"}};

struct tile {
  std::size_t length;
  std::uint64_t barriers;
};
/// What a step sorts in one launch: with at most a barrier before and one after each of the 55
/// stages; or with one for each group of up to four stages, of which the levels 1 to 12 have 24.
/// Two more are for loading and storing the tile.
constexpr tile tile_of(network::step version) {
  return version == network::step::shared_tiles ? tile{1024, 2 * 55 + 2} : tile{4096, 24 + 2};
}

}  // namespace

#include "network_tests.hpp"  // needs the names above

namespace {

REQUIRED_WORK(TilesInSharedMemoryForTheShortestArrays) {
  // Arrays that a thread could sort by itself, as in step registers. (Of two elements, it may also
  // load and store both: then no thread needs what another one has loaded.)
  const std::string name = "shared_tiles";
  for (const batch arrays : {batch{1, 2}, {3, 4}, {512, 2}, {128, 8}, {64, 16}}) {
    const key_values input = make_key_values(arrays.count * arrays.length, 15);
    EXPECT_TRUE(as_required(work_of([&] { return sorts(step::shared_tiles, input, arrays); }),
                            {.threads = arrays.length == 2 ? 1 : arrays.count,
                             .fetched = 2 * bytes_of(input.keys),
                             .shared_memory = true}))
        << name << ", " << arrays.count << " arrays of " << arrays.length;
  }
}

REQUIRED_WORK(SixteenElementsForEachThreadWhateverTheLength) {
  const std::string name = "registers";
  const key_values input = make_key_values(16384, 15);
  for (const std::size_t length :
       {std::size_t{2}, std::size_t{8}, std::size_t{64}, std::size_t{1024}, std::size_t{16384}}) {
    const lab::testing::work done = work_of([&] {
      return sorts(step::registers, input, {16384 / length, length});
    });
    EXPECT_TRUE(as_required(done, {.threads = 512, .fetched = 2 * bytes_of(input.keys)})) << name;
    for (const auto& k : done.kernels)
      EXPECT_LE(16 * k.all_threads(), input.keys.size())
          << name << ", arrays of " << length << ": there are threads with fewer elements";
  }
}

TEST(Registers, GoToGlobalMemoryLessOften) {
  // Levels 13 to 16: a launch for up to four stages, and one for the tiles.
  const auto input = make_key_values(65536, 9);
  EXPECT_LE(sort(step::registers, input.keys, input.values, {1, 65536}).launches, 9U);
}

TEST(SharedTiles, HaveNoLaunchForWhatHappensWithinThem) {
  // Levels 11 to 14: a launch for each stage beyond the tiles, one to four of them, and one for the
  // others.
  const auto input = make_key_values(16384, 10);
  EXPECT_LE(sort(step::shared_tiles, input.keys, input.values, {1, 16384}).launches, 15U);
}

TEST(Stages, AreThoseOfTheNetwork) {
  EXPECT_EQ(lab::bitonic_sort::stages(1), 0U);
  EXPECT_EQ(lab::bitonic_sort::stages(2), 1U);
  EXPECT_EQ(lab::bitonic_sort::stages(1024), 55U);
  EXPECT_EQ(lab::bitonic_sort::stages(std::size_t{1} << 20), 210U);
}

}  // namespace
