// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "bank_conflicts.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "counted.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::bank_conflicts::conflict_free_pitch;
using lab::bank_conflicts::count_shared_reads;
using lab::bank_conflicts::kDefaultRows;
using lab::bank_conflicts::kMostColumns;
using lab::bank_conflicts::kMostRounds;
using lab::bank_conflicts::layout;
using lab::bank_conflicts::reference_pitch;
using lab::bank_conflicts::reference_sums;
using lab::bank_conflicts::reference_wavefronts;
using lab::bank_conflicts::row_sums;
using lab::bank_conflicts::wavefronts;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

// --- predictions ---------------------------------------------------------------------------------

class Element : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Bytes, Element, ::testing::Values(1, 2, 4),
                         [](const auto& test) { return std::to_string(test.param) + "_bytes"; });

TEST_P(Element, WavefrontsAreThoseOfPlayingItThrough) {
  for (std::size_t stride = 0; stride <= 300; ++stride)
    for (std::size_t first = 0; first < 9; ++first)
      ASSERT_EQ(wavefronts(GetParam(), stride, first),
                reference_wavefronts(GetParam(), stride, first))
          << "stride " << stride << ", first " << first;
}

TEST_P(Element, LargeStridesAndPlacesCount) {
  for (const std::size_t stride : {4096U, 65'537U, 1'000'000U, 2'147'483'648U, 4'294'967'295U})
    for (const std::size_t first : {0U, 97U, 4'294'967'295U})
      EXPECT_EQ(wavefronts(GetParam(), stride, first),
                reference_wavefronts(GetParam(), stride, first))
          << "stride " << stride << ", first " << first;
}

TEST_P(Element, TheLeastPitchWithoutConflictIsFound) {
  for (std::size_t columns = 1; columns <= kMostColumns; ++columns)
    EXPECT_EQ(conflict_free_pitch(GetParam(), columns), reference_pitch(GetParam(), columns))
        << columns << " columns of " << GetParam() << "-byte elements";
}

TEST(Wavefronts, OfFloatsAreTheGreatestCommonDivisorWith32) {
  const int expected[] = {1, 1, 2, 1, 4, 1, 2, 1, 8, 1, 2, 1, 4, 1, 2, 1, 16, 1};
  for (std::size_t stride = 0; stride < std::size(expected); ++stride)
    EXPECT_EQ(wavefronts(4, stride), expected[stride]) << "stride " << stride;
  EXPECT_EQ(wavefronts(4, 31), 1);
  EXPECT_EQ(wavefronts(4, 32), 32);
  EXPECT_EQ(wavefronts(4, 33), 1);
  EXPECT_EQ(wavefronts(4, 64), 32);
  EXPECT_EQ(wavefronts(4, 96), 32);
}

TEST(Wavefronts, LanesOfOneWordDoNotConflict) {
  // Four chars or two shorts lie in a word: neighbours are served together.
  EXPECT_EQ(wavefronts(1, 1), 1);
  EXPECT_EQ(wavefronts(1, 2), 1);
  EXPECT_EQ(wavefronts(1, 4), 1);
  EXPECT_EQ(wavefronts(2, 1), 1);
  EXPECT_EQ(wavefronts(2, 2), 1);
  EXPECT_EQ(wavefronts(4, 0), 1);
}

TEST(Wavefronts, OfSmallElementsBeginWhereLanesLeaveTheirWord) {
  EXPECT_EQ(wavefronts(1, 8), 2);
  EXPECT_EQ(wavefronts(1, 32), 8);
  EXPECT_EQ(wavefronts(1, 128), 32);
  EXPECT_EQ(wavefronts(2, 3), 2);
  EXPECT_EQ(wavefronts(2, 4), 2);
  EXPECT_EQ(wavefronts(2, 6), 1);
  EXPECT_EQ(wavefronts(2, 64), 32);
}

TEST(Wavefronts, DependOnWhereTheFirstElementIs) {
  // Five chars apart: lanes 0 and 26 want bytes 0 and 130, words 0 and 32 of one bank.
  EXPECT_EQ(wavefronts(1, 5, 0), reference_wavefronts(1, 5, 0));
  EXPECT_EQ(wavefronts(1, 1, 3), 1);
  EXPECT_EQ(wavefronts(2, 1, 1), 1);
}

TEST(Wavefronts, AreRefusedForOtherElements) {
  for (const std::size_t bytes : {0U, 3U, 8U, 16U}) {
    EXPECT_THROW(wavefronts(bytes, 1), lab::invalid_input) << bytes;
    EXPECT_THROW(conflict_free_pitch(bytes, 1), lab::invalid_input) << bytes;
  }
}

TEST(Pitch, OfFloatsIsOdd) {
  EXPECT_EQ(conflict_free_pitch(4, 1), 1U);
  EXPECT_EQ(conflict_free_pitch(4, 2), 3U);
  EXPECT_EQ(conflict_free_pitch(4, 32), 33U);
  EXPECT_EQ(conflict_free_pitch(4, 33), 33U);
}

TEST(Pitch, IsRefusedForTooManyColumnsOrNone) {
  EXPECT_THROW(conflict_free_pitch(4, 0), lab::invalid_input);
  EXPECT_THROW(conflict_free_pitch(4, kMostColumns + 1), lab::invalid_input);
}

// --- who does the work ---------------------------------------------------------------------------

/// Of rows whose sums are not 0.
template <class T>
::testing::AssertionResult are_added(layout tile_layout, std::size_t rows, std::size_t columns) {
  const std::vector<int> whole = lab::random_ints(rows * columns, rows + columns, 1, 9);
  const std::vector<T> table(whole.begin(), whole.end());
  const std::span<const T> view(table);
  return matches(lab::compare(row_sums(tile_layout, view, columns, 3).sums,
                              reference_sums(view, columns, 3), {}));
}

/// The host must not compute any type, a single column, or a short or long table itself.
template <class T>
void expect_no_host_in(layout tile_layout) {
  for (const std::size_t columns : {1U, 5U})
    EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return are_added<T>(tile_layout, n, columns); },
                               {.threads = 1, .fetched = 1, .writes = 1, .shared_memory = true},
                               {1, 3, 31, 40, 1000}))
        << columns << " columns, elements of " << sizeof(T) << " bytes";
  expect_at_full_size([&] {
    return as_required(
        work_of([&] { return are_added<T>(tile_layout, kDefaultRows, kMostColumns); }),
        {.threads = kDefaultRows, .blocks = 2, .fetched = kDefaultRows * sizeof(float)});
  });
}

REQUIRED_WORK(ThePredictionsOfTheHostAlone) {
  for (const std::size_t bytes : {1, 2, 4}) {
    const auto predict = [bytes] {
      return wavefronts(bytes, 32) == reference_wavefronts(bytes, 32, 0) &&
             conflict_free_pitch(bytes, 64) == reference_pitch(bytes, 64);
    };
    const lab::testing::work done = work_of(predict);
    EXPECT_TRUE(as_required(done, {.kernels = 0}));
    EXPECT_TRUE(done.calls.empty())
        << "no device is used for them, but " << done.calls.begin()->first << " was called";
  }
}

REQUIRED_WORK(AThreadForEachRowInSharedMemory) {
  for (const layout tile_layout : {layout::packed, layout::padded}) {
    for (const std::size_t rows : {1, 3, 7, 31, 40, 256, 1000}) {
      const std::vector<float> table = lab::testing::whole_numbers(rows * 32, 1, 1, 9);
      const std::span<const float> view(table);
      EXPECT_TRUE(as_required(work_of([&] {
                                return matches(lab::compare(row_sums(tile_layout, view, 32, 4).sums,
                                                            reference_sums(view, 32, 4), {}));
                              }),
                              {.threads = rows,
                               .blocks = rows < 256 ? 1U : 2U,
                               .sent = bytes_of(table),
                               .fetched = rows * sizeof(float),
                               .reads = bytes_of(table),
                               .shared_memory = true,
                               .sectors = lab::testing::kNeighbours,
                               .wavefronts = tile_layout == layout::padded ? 1.1 : 0}))
          << rows << " rows";
    }
    expect_no_host_in<signed char>(tile_layout);
    expect_no_host_in<short>(tile_layout);
    expect_no_host_in<float>(tile_layout);
  }
}

// --- row sums ------------------------------------------------------------------------------------

constexpr layout kLayouts[] = {layout::packed, layout::padded};

template <class T>
std::vector<T> numbers(std::size_t n, std::uint64_t seed) {
  const std::vector<int> whole = lab::random_ints(n, seed, -128, 127);
  return std::vector<T>(whole.begin(), whole.end());
}

/// Both layouts, whole numbers: exact.
template <class T>
void expect_right(std::size_t rows, std::size_t columns, unsigned rounds, std::uint64_t seed) {
  const std::vector<T> table = numbers<T>(rows * columns, seed);
  const std::span<const T> view(table);
  for (const layout tile_layout : kLayouts)
    EXPECT_TRUE(matches(lab::compare(row_sums(tile_layout, view, columns, rounds).sums,
                                     reference_sums(view, columns, rounds), {})))
        << (tile_layout == layout::packed ? "packed, " : "padded, ") << sizeof(T) << " bytes, "
        << rows << " rows of " << columns << ", " << rounds << " rounds";
}

void expect_right_in_all_types(std::size_t rows, std::size_t columns, unsigned rounds,
                               std::uint64_t seed) {
  expect_right<signed char>(rows, columns, rounds, seed);
  expect_right<short>(rows, columns, rounds, seed + 1);
  expect_right<float>(rows, columns, rounds, seed + 2);
}

class Table : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};
// Rows around a warp (32) and a block (128); a prime. Columns that do conflict and that do not.
INSTANTIATE_TEST_SUITE_P(RowsAndColumns, Table,
                         ::testing::Combine(::testing::Values(0, 1, 31, 32, 33, 127, 128, 129, 257,
                                                              521),
                                            ::testing::Values(1, 2, 5, 16, 31, 32, 33, 64)),
                         [](const auto& test) {
                           return std::to_string(std::get<0>(test.param)) + "x" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Table, RowsAreAddedUpExactly) {
  const auto [rows, columns] = GetParam();
  expect_right_in_all_types(rows, columns, 1, 100 * rows + columns);
}

TEST(RowSums, AreRightForEveryNumberOfColumns) {
  for (std::size_t columns = 1; columns <= kMostColumns; ++columns)
    expect_right_in_all_types(130, columns, 1, columns);
}

TEST(RowSums, GrowWithTheRounds) {
  for (const unsigned rounds : {2U, 7U, kMostRounds}) expect_right_in_all_types(33, 4, rounds, 9);
}

TEST(RowSums, KeepValuesThatOnlyTheirTypeCanHold) {
  const std::vector<short> shorts = {32'767, -32'768, 300, 255, 256, -257};
  EXPECT_EQ(row_sums(layout::padded, std::span<const short>(shorts), 2).sums,
            (std::vector<float>{-1, 555, -1}));
  const std::vector<float> floats = {0.5F, 100'000.25F, -0.125F, 0};
  EXPECT_EQ(row_sums(layout::padded, std::span<const float>(floats), 2).sums,
            (std::vector<float>{100'000.75F, -0.125F}));
}

TEST(RowSums, RefuseTablesThatAreNone) {
  const std::vector<float> table(12);
  const std::span<const float> view(table);
  for (const layout tile_layout : kLayouts) {
    EXPECT_THROW(row_sums(tile_layout, view, 0), lab::invalid_input);
    EXPECT_THROW(row_sums(tile_layout, view, 5), lab::invalid_input);
    EXPECT_THROW(row_sums(tile_layout, view, kMostColumns + 1), lab::invalid_input);
    EXPECT_THROW(row_sums(tile_layout, view, 4, 0), lab::invalid_input);
    EXPECT_THROW(row_sums(tile_layout, view, 4, kMostRounds + 1), lab::invalid_input);
  }
}

TEST(RowSums, RefuseMoreRowsThanAGridHasThreads) {
  // The starter's blocks have 128 rows; others of whole warps are as good. The table is never read:
  // only its size matters. One that is not refused takes at least 256 GiB, more than there is.
  static constexpr float kOne = 1;
  for (const layout tile_layout : kLayouts)
    EXPECT_TRUE(lab::testing::refuses_what_needs_too_many_blocks(32, [&](std::size_t rows) {
      row_sums(tile_layout, std::span<const float>(&kOne, rows), 1);
    }));
}

TEST(RowSums, ForgetThePreviousCall) {
  expect_right_in_all_types(256, 8, 1, 1);
  expect_right_in_all_types(256, 8, 1, 50);
}

TEST(RowSums, SayHowLongTheyTook) {
  const std::vector<float> table(1024, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return row_sums(layout::packed, std::span<const float>(table), 8).kernel_ms;
  }));
}

// --- what is counted -----------------------------------------------------------------------------

/// Only where reads are counted.
template <class T>
void expect_as_many_wavefronts_as_predicted(std::size_t columns, std::size_t rows = 256) {
  const std::size_t warps = rows / lab::bank_conflicts::kLanes;
  constexpr unsigned kRounds = 2;
  const std::vector<T> table = numbers<T>(rows * columns, columns);
  for (const layout tile_layout : kLayouts) {
    const auto counted = count_shared_reads(
        [&] { row_sums(tile_layout, std::span<const T>(table), columns, kRounds); });
    ASSERT_TRUE(counted) << "no row of " << columns << " columns was read from shared memory";
    const std::size_t pitch =
        tile_layout == layout::packed ? columns : reference_pitch(sizeof(T), columns);
    std::size_t expected = 0;
    for (std::size_t column = 0; column < columns; ++column)
      expected += static_cast<std::size_t>(reference_wavefronts(sizeof(T), pitch, column));
    EXPECT_EQ(counted->requests, warps * kRounds * columns)
        << "loads by a warp: is there a thread for each of the " << rows << " rows?";
    EXPECT_EQ(counted->wavefronts, warps * kRounds * expected)
        << (tile_layout == layout::packed ? "packed, " : "padded, ") << sizeof(T) << " bytes, "
        << rows << " rows of " << columns << " columns";
  }
}

TEST(RowSums, TakeAsManyWavefrontsAsPredicted) {
  const std::vector<float> few(64);
  const auto once = [&] { row_sums(layout::packed, std::span<const float>(few), 2); };
  if (!count_shared_reads(once))
    GTEST_SKIP() << "only `scripts/lab check 05.4` counts reads, on the CPU device";
  for (const std::size_t columns : {1U, 2U, 3U, 4U, 8U, 12U, 31U, 32U, 33U, 64U}) {
    expect_as_many_wavefronts_as_predicted<signed char>(columns);
    expect_as_many_wavefronts_as_predicted<short>(columns);
    expect_as_many_wavefronts_as_predicted<float>(columns);
  }
  for (const std::size_t rows : {32U, 96U})  // a block that is not full
    expect_as_many_wavefronts_as_predicted<float>(32, rows);
}

FAULT_TEST(RowSums, ReportEveryCallThatFails) {
  const auto sums_of = [](const auto& table) {
    for (const layout tile_layout : kLayouts)
      expect_failures_reported([&] { return row_sums(tile_layout, std::span(table), 5).sums; },
                               table);
  };
  sums_of(numbers<signed char>(33 * 5, 1));
  sums_of(numbers<short>(33 * 5, 2));
  sums_of(numbers<float>(33 * 5, 3));
}

TEST(RowSums, AreExactAtTheProgramsSize) {
  expect_at_full_size([] {
    for (const std::size_t columns : {std::size_t{33}, kMostColumns})
      expect_right_in_all_types(kDefaultRows, columns, 4, columns);
  });
}

}  // namespace
