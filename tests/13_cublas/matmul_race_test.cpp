// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "matmul_race.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_device.hpp"
#include "full_size.hpp"
#include "lab/cublas_check.hpp"
#include "lab/errors.hpp"
#include "lab/known_product.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "product_tests.hpp"
#include "required_work.hpp"

namespace {

using lab::compare_product;
using lab::make_known_product;
using lab::matmul_race::kDefaultLargest;
using lab::matmul_race::kRacers;
using lab::matmul_race::race;
using lab::matmul_race::racer;
using lab::matmul_race::shape;
using lab::testing::at_other_sizes;
using lab::testing::by_library;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::full_device;
using lab::testing::is_time_with;
using lab::testing::is_time_without;
using lab::testing::matches;
using lab::testing::work_of;
using vector = std::vector<float>;

#ifdef __CPU_DEVICE__
// A device that is soon full, as in chapter 12, but with room for cuBLAS-Xt's tiles.
const lab::testing::setting kRoomForTiles("CPU_DEVICE_MEMORY_MB", "64");
#endif

std::string name_of(racer contender) {
  const char* const names[] = {"own_kernel", "cublas", "cublas_xt", "host"};
  return names[static_cast<int>(contender)];
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(EveryRacerByItsOwnMeans) {
  const shape size{64, 48, 32};
  const auto given = make_known_product(size.m, size.n, size.k, 1);
  const auto runs = [&](racer contender) {
    return work_of([&] {
      return matches(lab::compare_exact(race(contender, given.a, given.b, size, 1).c, given.c));
    });
  };
  const auto expect_small_races = [](racer contender, const lab::testing::required& expected) {
    EXPECT_TRUE(at_other_sizes(
        [contender](std::size_t n) {
          const auto small = make_known_product(n, n + 1, n, 1);
          return matches(
              lab::compare_exact(race(contender, small.a, small.b, {n, n + 1, n}, 1).c, small.c));
        },
        expected))
        << name_of(contender);
    EXPECT_TRUE(at_other_sizes(
        [contender](std::size_t n) {
          const auto small = make_known_product(n, 1, n, 1);
          return matches(
              lab::compare_exact(race(contender, small.a, small.b, {n, 1, n}, 1).c, small.c));
        },
        expected))
        << name_of(contender) << ": a column, or a single element";
  };
  EXPECT_TRUE(as_required(runs(racer::own_kernel),
                          {.threads = 256,
                           .blocks = 2,
                           .sent = bytes_of(given.a) + bytes_of(given.b),
                           .fetched = bytes_of(given.c),
                           .reads = bytes_of(given.a) + bytes_of(given.b),
                           .writes = bytes_of(given.c),
                           .reads_at_most = 2 * size.m * size.n * size.k * sizeof(float) / 4,
                           .shared_memory = true}));
  expect_small_races(racer::own_kernel, {.threads = 1, .fetched = 1, .writes = 1});
  for (const shape thin :
       {shape{1, 200, 40}, shape{200, 1, 40}, shape{3, 200, 40}, shape{15, 15, 40}}) {
    const auto matrices = make_known_product(thin.m, thin.n, thin.k, 1);
    const auto run = [&] {
      const vector c = race(racer::own_kernel, matrices.a, matrices.b, thin, 1).c;
      return matches(lab::compare_exact(c, matrices.c));
    };
    EXPECT_TRUE(as_required(work_of(run), {.shared_memory = true}))
        << "own_kernel, " << thin.m << " x " << thin.n;
  }
  const shape large{150, 130, 90};
  const auto large_product = make_known_product(large.m, large.n, large.k, 1);
  const auto runs_large = [&](racer contender) {
    return work_of([&] {
      const vector c = race(contender, large_product.a, large_product.b, large, 1).c;
      return matches(lab::compare_exact(c, large_product.c));
    });
  };
  EXPECT_TRUE(as_required(runs_large(racer::own_kernel),
                          {.threads = 256,
                           .blocks = 2,
                           .reads_at_most = 2 * large.m * large.n * large.k * sizeof(float) / 4,
                           .shared_memory = true}));
  const std::pair<racer, const char*> libraries[] = {{racer::cublas, "cublasSgemm"},
                                                     {racer::cublas_xt, "cublasXtSgemm"}};
  for (const auto& [contender, routine] : libraries) {
    const lab::testing::work done = runs(contender);
    EXPECT_TRUE(as_required(done, by_library({routine}))) << name_of(contender);
    EXPECT_TRUE(done.kernels.empty()) << name_of(contender) << ": a kernel multiplies as well";
    expect_small_races(contender, by_library({routine}));
    const lab::testing::work done_large = runs_large(contender);
    EXPECT_TRUE(as_required(done_large, by_library({routine}))) << name_of(contender);
    EXPECT_TRUE(done_large.kernels.empty()) << name_of(contender);
  }
  const lab::testing::work on_host = runs(racer::host);
  EXPECT_TRUE(as_required(on_host, {.kernels = 0}));
  EXPECT_TRUE(on_host.kernels.empty());
}

/// How many calls of `product` have nothing that allocates or copies between the events around
/// them.
std::size_t timed_alone(const lab::testing::work& done, const std::string& product) {
  const auto is_mark = [](const std::string& call) { return call.starts_with("cudaEventRecord"); };
  const auto is_other = [](const std::string& call) {
    return call.starts_with("cudaMalloc") || call.starts_with("cudaMemcpy");
  };
  std::size_t count = 0;
  const auto& calls = done.sequence;
  for (auto it = calls.begin(); it != calls.end(); ++it) {
    if (*it != product) continue;
    const auto before = std::find_if(std::reverse_iterator(it), calls.rend(), is_mark).base();
    const auto after = std::find_if(it, calls.end(), is_mark);
    if (before != calls.begin() && after != calls.end() && std::none_of(before, after, is_other))
      ++count;
  }
  return count;
}

void expect_laps_that_begin_anew(const shape& size, std::size_t laps) {
  SCOPED_TRACE(std::to_string(size.m) + " x " + std::to_string(size.n) + ", " +
               std::to_string(laps) + " laps");
  const auto given = make_known_product(size.m, size.n, size.k, 2);
  const std::size_t in = bytes_of(given.a) + bytes_of(given.b), out = bytes_of(given.c);
  const std::pair<racer, std::string> products[] = {{racer::own_kernel, "cudaLaunchKernel"},
                                                    {racer::cublas, "cublasSgemm"},
                                                    {racer::cublas_xt, "cublasXtSgemm"}};
  for (const auto& [contender, product] : products) {
    const auto done = work_of([&, contender = contender] {
      return matches(lab::compare_exact(race(contender, given.a, given.b, size, laps).c, given.c));
    });
    const bool by_kernel = contender == racer::own_kernel, on_host = contender == racer::cublas_xt;
    EXPECT_TRUE(as_required(done, {.kernels = by_kernel ? laps : 0,
                                   .sent = on_host ? 0 : laps * in,
                                   .fetched = on_host ? 0 : laps * out,
                                   .library = !by_kernel}))
        << name_of(contender);
    const auto calls = [&done](const std::string& name) {
      const auto it = done.calls.find(name);
      return it == done.calls.end() ? 0U : it->second;
    };
    EXPECT_GE(calls(product), laps) << name_of(contender) << ": a product in each lap";
    EXPECT_LE(calls("cublasCreate") + calls("cublasXtCreate"), 1U)
        << name_of(contender) << ": one handle for all laps";
    if (on_host) continue;
    std::size_t allocated = 0;
    for (const auto& memory : {done.device_memory, done.host_memory})
      for (const std::size_t bytes : memory) allocated += bytes;
    EXPECT_GE(allocated, laps * (in + out)) << name_of(contender) << ": new memory in each lap";
    EXPECT_GE(timed_alone(done, product), laps)
        << name_of(contender) << ": only the product may be between the two events";
  }
}

REQUIRED_WORK(EveryLapBeginsAnew) {
  expect_laps_that_begin_anew({40, 24, 56}, 3);
  expect_laps_that_begin_anew({1, 1, 1}, 2);
  expect_laps_that_begin_anew({100, 70, 40}, 4);
}

class Race : public ::testing::TestWithParam<std::tuple<racer, shape>> {};
// All sides different; rows, columns; around a tile of 16 and around a warp; primes. A of 64 x 5
// and B of 64 x 5 have 1280 bytes, a multiple of 256: on the CPU device their guard pages begin
// right after them.
INSTANTIATE_TEST_SUITE_P(
    Racers, Race,
    ::testing::Combine(::testing::ValuesIn(kRacers),
                       ::testing::Values(shape{1, 1, 1}, shape{40, 40, 40}, shape{2, 3, 4},
                                         shape{5, 1, 7}, shape{1, 6, 3}, shape{15, 16, 17},
                                         shape{17, 15, 16}, shape{16, 17, 15}, shape{16, 32, 48},
                                         shape{33, 31, 32}, shape{61, 67, 129}, shape{101, 40, 3},
                                         shape{64, 3, 5}, shape{3, 5, 64})),
    [](const auto& test) {
      const shape size = std::get<1>(test.param);
      return name_of(std::get<0>(test.param)) + "_" + std::to_string(size.m) + "x" +
             std::to_string(size.n) + "x" + std::to_string(size.k);
    });

TEST_P(Race, MakesTheProductExactlyForWholeNumbers) {
  const auto [contender, size] = GetParam();
  const auto given = make_known_product(size.m, size.n, size.k, size.m + size.n);
  EXPECT_TRUE(matches(lab::compare_exact(race(contender, given.a, given.b, size, 1).c, given.c)));
}

TEST_P(Race, IsWithinTheBoundForRealNumbers) {
  const auto [contender, size] = GetParam();
  const vector a = lab::random_floats(size.m * size.k, 1, -1, 1);
  const vector b = lab::random_floats(size.k * size.n, 2, -100, 300);
  EXPECT_TRUE(matches(compare_product(race(contender, a, b, size, 1).c, a, b, size)));
}

class EachRacer : public ::testing::TestWithParam<racer> {};
INSTANTIATE_TEST_SUITE_P(Racers, EachRacer, ::testing::ValuesIn(kRacers),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(EachRacer, HasATimeForEveryLap) {
  const auto given = make_known_product(20, 30, 40, 5);
  for (const std::size_t laps : {1, 2, 12}) {
    const auto result = race(GetParam(), given.a, given.b, {20, 30, 40}, laps);
    EXPECT_TRUE(matches(lab::compare_exact(result.c, given.c)));
    ASSERT_EQ(result.total_ms.size(), laps);
    for (const float ms : result.total_ms) {
      EXPECT_GT(ms, 0.0F);
      EXPECT_LT(ms, 60'000.0F);
    }
    EXPECT_TRUE(laps < 12 || std::ranges::minmax(result.total_ms).min !=
                                 std::ranges::minmax(result.total_ms).max)
        << "twelve laps that all take the same time: is each of them run, and measured?";
    const bool on_device = GetParam() == racer::own_kernel || GetParam() == racer::cublas;
    ASSERT_EQ(result.product_ms.size(), on_device ? laps : 0);
    for (std::size_t lap = 0; lap < result.product_ms.size(); ++lap) {
      EXPECT_GT(result.product_ms[lap], 0.0F);
      // The product is a part of the way: memory and copies come before and after it.
      EXPECT_LT(result.product_ms[lap], result.total_ms[lap]);
    }
  }
}

#ifdef __CPU_DEVICE__
TEST_P(EachRacer, CountsAllOfALapInTheTotalButNoHandles) {
  const auto given = make_known_product(20, 30, 40, 5);
  const auto total_ms = [&] {
    return race(GetParam(), given.a, given.b, {20, 30, 40}, 1).total_ms.at(0);
  };
  EXPECT_TRUE(is_time_with(lab::testing::kAllocations, total_ms));
  EXPECT_TRUE(is_time_with(lab::testing::kCopies, total_ms));
  EXPECT_TRUE(is_time_with("cudaLaunchKernel|cublasSgemm|cublasXtSgemm", total_ms));
  EXPECT_TRUE(is_time_without("cublasCreate|cublasXtCreate", total_ms));
}
#endif

TEST(Host, MultipliesInEveryLap) {
  // A lap reads 8 MB: within 2 microseconds no processor does. An older result is there sooner.
  constexpr std::size_t k = 1'000'000;
  const vector a(k, 1), b(k, 2);
  const auto result = race(racer::host, a, b, {1, 1, k}, 5);
  EXPECT_EQ(result.c, vector{2 * k});
  for (const float ms : result.total_ms) EXPECT_GT(ms, 0.002F);
}

TEST_P(EachRacer, MakesZerosOfSumsWithoutTerms) {
  const auto result = race(GetParam(), {}, {}, {3, 2, 0}, 2);
  EXPECT_EQ(result.c, vector(6));
  EXPECT_TRUE(result.total_ms.empty());
  EXPECT_TRUE(result.product_ms.empty());
}

TEST_P(EachRacer, MakesNothingOfNothing) {
  EXPECT_TRUE(race(GetParam(), {}, {}, {}, 1).c.empty());
  EXPECT_TRUE(race(GetParam(), {}, vector(12), {0, 3, 4}, 1).c.empty());
  EXPECT_TRUE(race(GetParam(), vector(12), {}, {3, 0, 4}, 1).c.empty());
}

TEST_P(EachRacer, PassesNaNOnInItsRowOnly) {
  for (const std::size_t column : {0U, 2U, 3U}) {
    auto given = make_known_product(3, 2, 4, 9);
    given.a[1 * 4 + column] = std::numeric_limits<float>::quiet_NaN();
    const auto c = race(GetParam(), given.a, given.b, {3, 2, 4}, 1).c;
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(c.at(i)), i / 2 == 1) << i;
  }
}

TEST_P(EachRacer, SpreadsNoInfinities) {
  // Tiles reach beyond the edges, where nothing is left that a zero must not be multiplied by.
  const auto product = [](const vector& a, const vector& b, std::size_t m, std::size_t n,
                          std::size_t k) {
    return race(GetParam(), a, b, {m, n, k}, 1).c;
  };
  lab::testing::expect_infinities_to_stay_in_their_row(product);
  lab::testing::expect_infinities_to_end_with_k(product);
  lab::testing::expect_zeros_to_be_multiplied(product);
}

TEST_P(EachRacer, ForgetsThePreviousRace) {
  const auto first = make_known_product(20, 20, 20, 1), second = make_known_product(5, 6, 7, 2);
  (void)race(GetParam(), first.a, first.b, {20, 20, 20}, 1);
  EXPECT_TRUE(
      matches(lab::compare_exact(race(GetParam(), second.a, second.b, {5, 6, 7}, 1).c, second.c)));
}

TEST_P(EachRacer, RefusesOtherLengthsAndRacesWithoutLaps) {
  const vector six(6), four(4), none;
  EXPECT_NO_THROW(race(GetParam(), six, six, {2, 2, 3}, 1));
  EXPECT_THROW(race(GetParam(), six, six, {2, 2, 3}, 0), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), four, six, {2, 2, 3}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), six, four, {2, 2, 3}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), six, none, {2, 2, 3}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), six, six, {2, 2, 0}, 1), lab::invalid_input);
}

TEST_P(EachRacer, RefusesSidesThatAreTooLong) {
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // kHuge * kHuge is 0 in std::size_t
  EXPECT_THROW(race(GetParam(), {}, {}, {kHuge, 1, 0}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), {}, {}, {1, kHuge, 0}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), {}, {}, {0, 0, kHuge}, 1), lab::invalid_input);
  EXPECT_THROW(race(GetParam(), {}, {}, {kHuge, kHuge, kHuge}, 1), lab::invalid_input);
}

TEST_P(EachRacer, TakesSidesThatAreJustNotTooLong) {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  constexpr std::size_t kMostRows = std::size_t{65535} * 16;  // of blocks, and of a block
  EXPECT_TRUE(race(GetParam(), {}, {}, {kMostRows, 0, 0}, 1).c.empty());
  EXPECT_TRUE(race(GetParam(), {}, {}, {0, kMost, 0}, 1).c.empty());
  EXPECT_TRUE(race(GetParam(), {}, {}, {0, 0, kMost}, 1).c.empty());
}

TEST(AllRacers, AgreeOnTallWideAndDeepProducts) {
  // A row of blocks, a column of blocks, a single one with many slices.
  for (const shape size : {shape{3, 1000, 5}, shape{1000, 3, 5}, shape{3, 5, 1000}}) {
    const auto given = make_known_product(size.m, size.n, size.k, 4);
    for (const racer contender : kRacers)
      EXPECT_TRUE(
          matches(lab::compare_exact(race(contender, given.a, given.b, size, 1).c, given.c)))
          << name_of(contender);
  }
}

TEST(Host, NeedsNoDevice) {
  if (!lab::on_cpu_device())
    GTEST_SKIP() << "needs a device whose memory is small enough to be filled";
  const full_device occupied(lab::testing::current_device());  // C, of 4 MiB, has no room there
  const auto given = make_known_product(1030, 1030, 3, 1);
  const auto run = [&](racer contender) {
    return race(contender, given.a, given.b, {1030, 1030, 3}, 1).c;
  };
  EXPECT_TRUE(matches(lab::compare_exact(run(racer::host), given.c)));
  EXPECT_THROW(run(racer::own_kernel), lab::cuda_error);
  EXPECT_THROW(run(racer::cublas), lab::cuda_error);
  EXPECT_THROW(run(racer::cublas_xt), lab::cublas_error);
  (void)cudaGetLastError();
}

TEST(Check, RejectsWhatIsNoProduct) {
  const shape size{7, 5, 30};
  const vector a = lab::random_floats(210, 1, -1, 1), b = lab::random_floats(150, 2, -1, 1);
  const vector right = race(racer::host, a, b, size, 1).c;
  ASSERT_TRUE(matches(compare_product(right, a, b, size)));
  for (const float wrong : {right[17] + 1e-4F, std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::infinity()}) {
    vector changed = right;
    changed[17] = wrong;
    EXPECT_FALSE(compare_product(changed, a, b, size).ok) << wrong;
  }
  EXPECT_FALSE(compare_product(vector(35), a, b, size).ok);
  EXPECT_FALSE(compare_product(vector(34), a, b, size).ok);
}

FAULT_TEST_P(EachRacer, ReportsEveryCallThatFails) {
  if (GetParam() == racer::host) return;  // which makes no calls
  const auto given = make_known_product(5, 3, 7, 1);
  expect_failures_reported(
      [&] {
        return race(GetParam(), given.a, given.b, {5, 3, 7}, 2).c;
      },
      given.a, given.b);
}

TEST_P(EachRacer, TakesMoreColumnsThanRows) {
  // A grid has more blocks along x than along y, and the contract limits the rows only.
  expect_at_full_size([&] {
    constexpr std::size_t kColumns = lab::testing::kManyBlocks * 16;
    const auto given = make_known_product(1, kColumns, 1, 3);
    return matches(
        lab::compare_exact(race(GetParam(), given.a, given.b, {1, kColumns, 1}, 1).c, given.c));
  });
}

TEST_P(EachRacer, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    constexpr shape kSize = {kDefaultLargest, kDefaultLargest, kDefaultLargest};
    const auto given = make_known_product(kSize.m, kSize.n, kSize.k, 1);
    return matches(lab::compare_exact(race(GetParam(), given.a, given.b, kSize, 1).c, given.c));
  });
}

}  // namespace
