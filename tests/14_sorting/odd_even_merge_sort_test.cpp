// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "odd_even_merge_sort.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <cstddef>
#include <cstdint>

#include "lab/device_limits.hpp"
#include "reference.hpp"
#include "steps.hpp"

namespace {

namespace network = lab::odd_even_merge_sort;

using named_step = lab::testing::named<network::step>;
constexpr named_step kSteps[] = {{network::step::shared_tiles, "shared_tiles"},
                                 {network::step::columns_and_windows, "columns_and_windows"}};

struct tile {
  std::size_t length;
  std::uint64_t barriers;
};
/// What a step sorts in one launch, with at most a barrier before and one after each of the 55
/// stages, and two for loading and storing the tile. (Ours has tiles of 4096 elements in
/// columns_and_windows, which the contract leaves open.)
constexpr tile tile_of(network::step) { return {1024, 2 * 55 + 2}; }

}  // namespace

#include "network_tests.hpp"  // needs the names above

namespace {

REQUIRED_WORK(TilesInSharedMemoryForTheShortestArrays) {
  // Arrays that a thread could sort by itself: many of them, and a single one. (Of two elements, it
  // may also load and store both: then no thread needs what another one has loaded.)
  for (const auto& [version, name] : kSteps)
    for (const batch arrays :
         {batch{512, 2}, {256, 4}, {128, 8}, {64, 16}, {1, 2}, {1, 8}, {1, 16}, {3, 4}}) {
      const std::size_t n = arrays.count * arrays.length;
      const key_values input = make_key_values(n, 15);
      EXPECT_TRUE(
          as_required(work_of([&, version = version] { return sorts(version, input, arrays); }),
                      {.threads = n == 1024 && arrays.length > 2 ? 128U : 1U,
                       .fetched = 2 * bytes_of(input.keys),
                       .shared_memory = true}))
          << name << ", " << arrays.count << " arrays of " << arrays.length;
    }
}

TEST(ColumnsAndWindows, TakeTwoLaunchesALevel) {
  const auto input = make_key_values(32768, 9);
  const auto result = sort(step::columns_and_windows, input.keys, input.values, {1, 32768});
  EXPECT_LE(result.launches, 11U);  // with tiles of 1024: levels 11 to 15
}

TEST(ColumnsAndWindows, SortArraysWhoseColumnsAreLongerThanATile) {
  if (lab::on_cpu_device()) GTEST_SKIP() << "8 million elements take too long there";
  constexpr std::size_t kLength = std::size_t{1} << 23;
  const auto input = make_key_values(kLength, 13);
  const auto result = sort(step::columns_and_windows, input.keys, input.values, {1, kLength});
  EXPECT_TRUE(
      matches(lab::check_sorted(result.sorted, input, {1, kLength}, lab::direction::ascending)));
  // With tiles of 4096 elements there are 35: 21 as above; in level 23 one for each bit of the
  // columns,
  // 13. With smaller ones more levels are like that, but shared_tiles would need 222.
  EXPECT_LE(result.launches, 222U / 3);
}

TEST(SharedTiles, HaveOneLaunchForAllThatHappensWithinThemAndOneForEachStageBeyond) {
  const auto input = make_key_values(4096, 10);
  const auto result = sort(step::shared_tiles, input.keys, input.values, {1, 4096});
  EXPECT_EQ(result.launches, 24U);  // one for the tiles, 11 for level 11, 12 for level 12
}

#ifdef __CPU_DEVICE__
TEST(ColumnsAndWindows, NeverKeepTwoLanesWaitingForABank) {
  const auto input = make_key_values(8192, 12);
  cpu_device::reset_counters();
  cpu_device::count_accesses(true);
  sort(step::columns_and_windows, input.keys, input.values, {1, 8192});
  cpu_device::count_accesses(false);
  std::uint64_t requests = 0;
  for (const cpu_device::access_counters& each : cpu_device::read_counters()) {
    if (each.kind != cpu_device::access_kind::shared_load &&
        each.kind != cpu_device::access_kind::shared_store)
      continue;
    requests += each.requests;
    EXPECT_EQ(each.wavefronts, each.ideal_wavefronts)
        << "columns_and_windows: lanes of a warp access different words of the same bank, at "
        << each.file << ":" << each.line;
  }
  if (requests == 0) GTEST_SKIP() << "only the check build counts what a kernel does";
}
#endif

TEST(Comparators, AreFewerThanThoseOfTheBitonicSort) {
  using lab::odd_even_merge_sort::bitonic_comparators;
  using lab::odd_even_merge_sort::comparators;
  EXPECT_EQ(comparators(1), 0U);
  EXPECT_EQ(comparators(4), 5U);  // two pairs; then two, and one in the middle
  EXPECT_EQ(comparators(8), 19U);
  EXPECT_EQ(bitonic_comparators(8), 24U);
  EXPECT_EQ(comparators(16), 63U);
  EXPECT_EQ(bitonic_comparators(16), 80U);
}

}  // namespace
