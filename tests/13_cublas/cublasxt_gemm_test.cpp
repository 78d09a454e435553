// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "cublasxt_gemm.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_device.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::cublasxt_gemm::check;
using lab::cublasxt_gemm::element;
using lab::cublasxt_gemm::matrix;
using lab::cublasxt_gemm::multiply;
using lab::cublasxt_gemm::op;
using lab::cublasxt_gemm::plan;
using lab::cublasxt_gemm::row_of_product;
using lab::cublasxt_gemm::row_of_sum_times_product;
using lab::cublasxt_gemm::sum_times_product;
using lab::testing::expect_failures_reported;
using lab::testing::full_device;
using lab::testing::is_time_with;
using lab::testing::matches;
using lab::testing::work_of;

#ifdef __CPU_DEVICE__
// Three devices that are soon full, as in chapter 12, but with room for tiles of the default size.
const lab::testing::setting kRoomForTiles("CPU_DEVICE_MEMORY_MB", "64");
#endif

matrix whole_numbers(std::size_t rows, std::size_t columns, std::uint64_t seed, int low, int high) {
  const auto numbers = lab::random_ints(rows * columns, seed, low, high);
  return {rows, columns, {numbers.begin(), numbers.end()}};
}
matrix real_numbers(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  return {rows, columns, lab::random_floats(rows * columns, seed, -1, 1)};
}
plan tiles_of(int block_dim) { return {{}, block_dim}; }

/// C has to be op(A) · B exactly: all numbers are whole, and all sums below 2^24.
::testing::AssertionResult is_product(const matrix& c, op first, const matrix& a, const matrix& b) {
  const std::size_t rows = first == op::none ? a.rows : a.columns;
  return matches(check(c, rows, b.columns, [&](std::size_t row) {
    auto exact = row_of_product(first, a, b, row);
    for (double& each : exact.error_bound) each = 0;
    return exact;
  }));
}
::testing::AssertionResult is_sum_times_product(const matrix& c, op first, const matrix& a,
                                                const matrix& b) {
  return matches(check(c, a.rows, a.rows, [&](std::size_t row) {
    auto exact = row_of_sum_times_product(first, a, b, row);
    for (double& each : exact.error_bound) each = 0;
    return exact;
  }));
}

constexpr op kOps[] = {op::none, op::transpose};
std::string name_of(op operation) { return operation == op::none ? "none" : "transpose"; }

// --- op(A) · B -----------------------------------------------------------------------------------

struct shape {
  std::size_t m, n, k;
};
// --- who does the work ---------------------------------------------------------------------------

/// What both contracts do for square matrices of order n.
lab::testing::work work_for(bool two_products, std::size_t n, const plan& options,
                            op first = op::none) {
  const matrix a = whole_numbers(n, n, 1, -5, 3), b = whole_numbers(n, n, 2, -3, 2);
  return work_of([&] {
    return two_products
               ? is_sum_times_product(sum_times_product(first, a, b, options).c, first, a, b)
               : is_product(multiply(first, a, b, options).c, first, a, b);
  });
}

REQUIRED_WORK(EachProductInCublasXt) {
  for (const auto& [n, first] : {std::pair{2U, op::none},
                                 {40U, op::none},
                                 {100U, op::none},
                                 {2U, op::transpose},
                                 {40U, op::transpose},
                                 {100U, op::transpose}})
    for (const bool two_products : {false, true}) {
      const lab::testing::work done = work_for(two_products, n, tiles_of(32), first);
      EXPECT_TRUE(as_required(
          done, {.kernels = 0,
                 .fetched = std::size_t{n} * n * sizeof(float),
                 .calls = {"cublasXtDeviceSelect", "cublasXtSetBlockDim", "cublasXtSgemm"},
                 .library = true}))
          << "n = " << n << ", op is " << name_of(first);
      if (two_products && done.calls.contains("cublasXtSgemm")) {
        EXPECT_GE(done.calls.at("cublasXtSgemm"), 2U) << "op(A + B) · (A · B) has two products";
      }
    }
  // Vectors are matrices, too.
  for (const auto& [m, n, k] : {std::tuple{1U, 6U, 3U}, {5U, 1U, 7U}, {4U, 5U, 1U}}) {
    const matrix left = whole_numbers(m, k, 1, 1, 9), right = whole_numbers(k, n, 2, 1, 9);
    EXPECT_TRUE(as_required(work_of([&] {
                              return is_product(multiply(op::none, left, right, tiles_of(32)).c,
                                                op::none, left, right);
                            }),
                            {.kernels = 0,
                             .fetched = std::size_t{m} * n * sizeof(float),
                             .calls = {"cublasXtSgemm"},
                             .library = true}))
        << m << " x " << k << " times " << k << " x " << n;
  }
}

REQUIRED_WORK(TilesOfTheSizeAskedForOnTheDevicesAskedFor) {
  // The CPU device's library has memory for three tiles on each of its devices, in each call.
  const auto devices = static_cast<std::size_t>(lab::device_count());
  for (const bool two_products : {false, true})
    for (const int block : {16, 64}) {
      const lab::testing::work one = work_for(two_products, 100, {{0}, block});
      const lab::testing::work all = work_for(two_products, 100, tiles_of(block));
      for (const lab::testing::work& done : {one, all}) {
        EXPECT_TRUE(as_required(done, {.kernels = 0, .library = true}));
        for (const std::size_t bytes : done.device_memory)
          EXPECT_EQ(bytes, sizeof(float) * static_cast<std::size_t>(block * block))
              << "tiles of " << block;
      }
      EXPECT_GT(one.device_memory.size(), 0U);
      EXPECT_EQ(all.device_memory.size(), devices * one.device_memory.size())
          << "not all devices have tiles";
    }
  // All of them are selected, too, where C has fewer tiles than there are devices.
  for (const bool two_products : {false, true}) {
    const lab::testing::work one = work_for(two_products, 20, {{0}, 64});
    const lab::testing::work all = work_for(two_products, 20, tiles_of(64));
    EXPECT_TRUE(as_required(all, {.kernels = 0, .library = true}));
    EXPECT_EQ(all.device_memory.size(), devices * one.device_memory.size())
        << "C is a single tile, and not all devices are selected";
  }
}

REQUIRED_WORK(MemoryThatIsPinnedForEachProductWhereThePlanSaysSo) {
  for (const bool two_products : {false, true})
    for (const bool pinned : {false, true})
      for (const std::size_t n : {2U, 100U}) {
        const lab::testing::work done = work_for(two_products, n, {{}, 64, pinned});
        EXPECT_TRUE(as_required(done, {.kernels = 0, .library = true}));
        const auto calls_of = [&](const char* function) {
          return done.calls.contains(function) ? done.calls.at(function) : 0;
        };
        const auto pins = calls_of("cudaHostRegister");
        // Two products have five matrices, of which A and B may stay pinned for both.
        EXPECT_TRUE(pinned ? pins >= 3 : pins == 0)
            << pins << " calls of cudaHostRegister " << (pinned ? "with" : "without")
            << " plan::pinned; n = " << n;
        EXPECT_EQ(calls_of("cudaHostUnregister"), pins) << "all is unpinned again; n = " << n;
        for (const auto& copy : done.copies)
          EXPECT_EQ(copy.pinned, pinned) << "while the library copies; n = " << n;
      }
}

REQUIRED_WORK(TilesLargerThanTheLibrarysOwn) {
  const matrix column = whole_numbers(1100, 1, 1, -9, 9), row = whole_numbers(1, 1100, 2, -9, 9);
  const lab::testing::work done = work_of([&] {
    return is_product(multiply(op::none, row, column, {{0}, 2048}).c, op::none, row, column);
  });
  EXPECT_TRUE(as_required(done, {.kernels = 0, .library = true}));
  for (const std::size_t bytes : done.device_memory)
    EXPECT_EQ(bytes, sizeof(float) * 1100 * 1100) << "one tile has the whole matrix";
  // As long as can be: these tiles have a single column, as the library sees them.
  const matrix factor{1, 1, {3}};
  for (const std::size_t n : {5000U, 100'000U}) {
    const matrix long_row = whole_numbers(1, n, 3, -9, 9);
    const lab::testing::work whole = work_of([&] {
      return is_product(multiply(op::none, factor, long_row, {{0}, 1 << 20}).c, op::none, factor,
                        long_row);
    });
    EXPECT_TRUE(as_required(whole, {.kernels = 0, .library = true}));
    for (const std::size_t bytes : whole.device_memory)
      EXPECT_EQ(bytes, sizeof(float) * n) << "one tile has the whole row";
  }
}

class Shapes : public ::testing::TestWithParam<std::tuple<op, shape>> {};
// All sides different; rows, columns; on both sides of a tile of 32, and primes.
INSTANTIATE_TEST_SUITE_P(
    Ops, Shapes,
    ::testing::Combine(::testing::ValuesIn(kOps),
                       ::testing::Values(shape{1, 1, 1}, shape{40, 40, 40}, shape{2, 3, 4},
                                         shape{5, 1, 7}, shape{1, 6, 3}, shape{31, 32, 33},
                                         shape{33, 31, 32}, shape{32, 64, 96}, shape{65, 67, 129},
                                         shape{101, 40, 3})),
    [](const auto& test) {
      const shape size = std::get<1>(test.param);
      return name_of(std::get<0>(test.param)) + "_" + std::to_string(size.m) + "x" +
             std::to_string(size.n) + "x" + std::to_string(size.k);
    });

TEST_P(Shapes, MultipliesWholeNumbersExactlyInOneTileAndInMany) {
  const auto [first, size] = GetParam();
  const auto [m, n, k] = size;
  const bool turned = first == op::transpose;
  const matrix a = whole_numbers(turned ? k : m, turned ? m : k, m + n, -9, 14);
  const matrix b = whole_numbers(k, n, m + k, -20, 5);
  for (const int block : {32, 2048})
    EXPECT_TRUE(is_product(multiply(first, a, b, tiles_of(block)).c, first, a, b))
        << "tiles of " << block;
}

TEST_P(Shapes, IsWithinTheBoundForRealNumbers) {
  const auto [first, size] = GetParam();
  const auto [m, n, k] = size;
  const bool turned = first == op::transpose;
  const matrix a = real_numbers(turned ? k : m, turned ? m : k, m + n);
  const matrix b = real_numbers(k, n, m + k);
  EXPECT_TRUE(matches(check(
      multiply(first, a, b, tiles_of(32)).c, m, n,
      [&, operation = first](std::size_t row) { return row_of_product(operation, a, b, row); })));
}

TEST(Multiply, IsNotTheProductTheOtherWayRound) {
  // Two by two, where nothing but the numbers tells A · B from B · A and from their transposes.
  const matrix a{2, 2, {1, 2, 3, 4}}, b{2, 2, {5, 6, 7, 9}};
  EXPECT_EQ(multiply(op::none, a, b, tiles_of(64)).c.elements,
            (std::vector<float>{19, 24, 43, 54}));
  EXPECT_EQ(multiply(op::transpose, a, b, tiles_of(64)).c.elements,
            (std::vector<float>{26, 33, 38, 48}));
}

TEST(Multiply, WithoutTermsIsZero) {
  const auto c = multiply(op::none, {3, 0, {}}, {0, 2, {}}).c;
  EXPECT_EQ(c.rows, 3U);
  EXPECT_EQ(c.columns, 2U);
  EXPECT_EQ(c.elements, std::vector<float>(6));
}

TEST(Multiply, WithoutElementsIsEmpty) {
  const auto nothing = multiply(op::none, {0, 4, {}}, whole_numbers(4, 3, 1, 0, 9));
  EXPECT_EQ(nothing.host_ms, 0) << "the library has nothing to do";
  const matrix& no_rows = nothing.c;
  EXPECT_EQ(no_rows.rows, 0U);
  EXPECT_EQ(no_rows.columns, 3U);
  EXPECT_TRUE(no_rows.elements.empty());
  const auto turned = multiply(op::transpose, whole_numbers(4, 3, 1, 0, 9), {4, 0, {}}).c;
  EXPECT_EQ(turned.rows, 3U);
  EXPECT_EQ(turned.columns, 0U);
  EXPECT_TRUE(multiply(op::none, {}, {}).c.elements.empty());
}

TEST(Multiply, PassesNaNOnInItsRowOnly) {
  matrix a = whole_numbers(3, 4, 1, 1, 9), b = whole_numbers(4, 2, 2, 1, 9);
  a.elements[1 * 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  const auto c = multiply(op::none, a, b).c;
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(std::isnan(c.elements.at(i)), i / 2 == 1) << i;
}

TEST(Multiply, GivesNaNForZeroTimesInfinity) {
  const matrix b{2, 2, {1, std::numeric_limits<float>::infinity(), 3, 4}};
  const auto c = multiply(op::none, {1, 2, {0, 0}}, b).c.elements;
  ASSERT_EQ(c.size(), 2U);
  EXPECT_EQ(c[0], 0.0F);
  EXPECT_TRUE(std::isnan(c[1])) << c[1];
}

// --- op(A + B) · (A · B) -------------------------------------------------------------------------

class Squares : public ::testing::TestWithParam<std::tuple<op, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(Ops, Squares,
                         ::testing::Combine(::testing::ValuesIn(kOps),
                                            ::testing::Values(1, 2, 3, 31, 32, 33, 64, 101)),
                         [](const auto& test) {
                           return name_of(std::get<0>(test.param)) + "_n" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Squares, MultipliesSumAndProductExactly) {
  const auto [first, n] = GetParam();
  // At most n terms of 8 · (n · 15): below 2^24 for n = 101.
  const matrix a = whole_numbers(n, n, n, -5, 3), b = whole_numbers(n, n, n + 1, -3, 2);
  for (const int block : {32, 2048})
    EXPECT_TRUE(
        is_sum_times_product(sum_times_product(first, a, b, tiles_of(block)).c, first, a, b))
        << "tiles of " << block;
}

TEST_P(Squares, IsWithinTheBoundForRealNumbers) {
  const auto [first, n] = GetParam();
  const matrix a = real_numbers(n, n, n), b = real_numbers(n, n, n + 1);
  EXPECT_TRUE(matches(check(sum_times_product(first, a, b, tiles_of(64)).c, n, n,
                            [&, operation = first](std::size_t row) {
                              return row_of_sum_times_product(operation, a, b, row);
                            })));
}

TEST(SumTimesProduct, IsWithinTheBoundWhereAAndBNearlyCancel) {
  // op(A) · (A · B) + op(B) · (A · B) would have the rounding errors of two much larger products.
  const matrix a = real_numbers(33, 33, 5);
  matrix b = a;
  for (float& each : b.elements) each = 0x1p-18F - each;
  for (const op first : kOps)
    EXPECT_TRUE(
        matches(check(sum_times_product(first, a, b, tiles_of(64)).c, 33, 33, [&](std::size_t row) {
          return row_of_sum_times_product(first, a, b, row);
        })));
}

TEST(SumTimesProduct, IsWhatOneGetsByHand) {
  // A + B = ((3, 1), (1, 3)) is symmetric: op must not matter here.
  const matrix a{2, 2, {1, 1, 0, 1}}, b{2, 2, {2, 0, 1, 2}};
  const std::vector<float> c{10, 8, 6, 8};  // A · B = ((3, 2), (1, 2))
  EXPECT_EQ(sum_times_product(op::none, a, b).c.elements, c);
  EXPECT_EQ(sum_times_product(op::transpose, a, b).c.elements, c);
  const matrix other{2, 2, {2, 4, 1, 2}};  // A + B = ((3, 5), (1, 3)), A · B = ((3, 6), (1, 2))
  EXPECT_EQ(sum_times_product(op::none, a, other).c.elements, (std::vector<float>{14, 28, 6, 12}));
  EXPECT_EQ(sum_times_product(op::transpose, a, other).c.elements,
            (std::vector<float>{10, 20, 18, 36}));
}

TEST(SumTimesProduct, OfNothingIsNothing) {
  EXPECT_TRUE(sum_times_product(op::none, {}, {}).c.elements.empty());
}

TEST(SumTimesProduct, RefusesWhatIsNotSquare) {
  // A + B would be possible for the first, A · B for the second.
  EXPECT_THROW(
      sum_times_product(op::none, whole_numbers(2, 3, 1, 0, 9), whole_numbers(2, 3, 2, 0, 9)),
      lab::invalid_input);
  EXPECT_THROW(
      sum_times_product(op::transpose, whole_numbers(2, 3, 1, 0, 9), whole_numbers(3, 2, 2, 0, 9)),
      lab::invalid_input);
  EXPECT_THROW(
      sum_times_product(op::none, whole_numbers(3, 3, 1, 0, 9), whole_numbers(2, 2, 2, 0, 9)),
      lab::invalid_input);
  // One of the two is square, and only the sum is impossible.
  EXPECT_THROW(
      sum_times_product(op::none, whole_numbers(2, 3, 1, 0, 9), whole_numbers(3, 3, 2, 0, 9)),
      lab::invalid_input);
  EXPECT_THROW(
      sum_times_product(op::none, whole_numbers(3, 3, 1, 0, 9), whole_numbers(3, 2, 2, 0, 9)),
      lab::invalid_input);
}

// --- devices -------------------------------------------------------------------------------------

TEST(Devices, GiveTheSameInWhateverNumberAndOrder) {
  const matrix a = whole_numbers(100, 70, 1, -9, 9), b = whole_numbers(70, 130, 2, -9, 9);
  std::vector<std::vector<int>> lists{{}, {0}};
  const int count = lab::device_count();
  if (count > 1) lists.insert(lists.end(), {{1}, {1, 0}, {0, count - 1}});
  if (count > 2) lists.push_back({2, 0, 1});
  for (const auto& devices : lists)
    EXPECT_TRUE(is_product(multiply(op::none, a, b, {devices, 32}).c, op::none, a, b))
        << devices.size() << " devices";
}

TEST(Devices, AllWorkWhoAreAsked) {
  if (!lab::on_cpu_device() || lab::device_count() < 3)
    GTEST_SKIP() << "needs three devices taken memory is small enough to be filled";
  constexpr int kBlock = 1024;  // 4 MiB a tile
  const matrix a = whole_numbers(1030, 3, 1, -9, 9), b = whole_numbers(3, 1030, 2, -9, 9);
  for (const int full : {0, 1, 2}) {
    // This device has no room for a tile. A call that leaves it out does not notice.
    const full_device occupied(full);
    const std::vector<int> others{(full + 1) % 3, (full + 2) % 3};
    EXPECT_TRUE(is_product(multiply(op::none, a, b, {others, kBlock}).c, op::none, a, b));
    for (const std::vector<int>& devices : {std::vector<int>{}, {0, 1, 2}, {full}}) {
      EXPECT_THROW(multiply(op::none, a, b, {devices, kBlock}), lab::cublas_error);
      (void)cudaGetLastError();
    }
    // Small tiles fit.
    EXPECT_TRUE(is_product(multiply(op::none, a, b, {{}, 128}).c, op::none, a, b));
  }
}

TEST(Refuses, DevicesThatAreNotThereAndThoseNamedTwice) {
  const matrix one{1, 1, {1}};
  for (const std::vector<int>& devices :
       {std::vector<int>{-1}, {lab::device_count()}, {0, 0}, {0, 99}}) {
    EXPECT_THROW(multiply(op::none, one, one, {devices, 64}), lab::invalid_input);
    EXPECT_THROW(sum_times_product(op::none, one, one, {devices, 64}), lab::invalid_input);
  }
}

TEST(Refuses, DevicesByTheirNumber) {
  const matrix one{1, 1, {1}};
  const auto refusal = [&](const std::vector<int>& devices) -> std::string {
    try {
      multiply(op::none, one, one, {devices, 64});
    } catch (const lab::invalid_input& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  EXPECT_NE(refusal({99, 0}).find("device 99"), std::string::npos) << refusal({99, 0});
  EXPECT_NE(refusal({0, 0, 99}).find("device 0"), std::string::npos) << refusal({0, 0, 99});
}

TEST(Refuses, TilesWithoutElements) {
  const matrix one{1, 1, {1}};
  for (const int block : {0, -64}) {
    EXPECT_THROW(multiply(op::none, one, one, tiles_of(block)), lab::invalid_input);
    EXPECT_THROW(sum_times_product(op::none, one, one, tiles_of(block)), lab::invalid_input);
  }
  EXPECT_NO_THROW(multiply(op::none, {3, 0, {}}, {0, 2, {}}, tiles_of(1)));
}

TEST(Refuses, TheSameWhereThereIsNothingToDo) {
  const matrix tall{3, 0, {}}, wide{0, 2, {}}, nothing;
  for (const plan& wrong : {plan{{}, 0}, plan{{lab::device_count()}, 64}, plan{{0, 0}, 64}}) {
    EXPECT_THROW(multiply(op::none, tall, wide, wrong), lab::invalid_input);
    EXPECT_THROW(multiply(op::none, nothing, nothing, wrong), lab::invalid_input);
    EXPECT_THROW(sum_times_product(op::none, nothing, nothing, wrong), lab::invalid_input);
  }
  EXPECT_THROW(multiply(op::none, {3, 0, {}}, {1, 0, {}}), lab::invalid_input);
  EXPECT_THROW(sum_times_product(op::none, {3, 0, {}}, {0, 3, {}}), lab::invalid_input);
}

TEST(Refuses, ShapesWithoutAProduct) {
  const matrix a = whole_numbers(2, 3, 1, 0, 9), b = whole_numbers(3, 4, 2, 0, 9);
  EXPECT_NO_THROW(multiply(op::none, a, b));
  EXPECT_THROW(multiply(op::transpose, a, b), lab::invalid_input);
  EXPECT_THROW(multiply(op::none, b, a), lab::invalid_input);
}

TEST(Refuses, MatricesWithAnotherNumberOfElements) {
  const matrix right = whole_numbers(3, 3, 1, 0, 9);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // kHuge * kHuge is 0 in std::size_t
  for (const matrix& wrong :
       {matrix{3, 3, std::vector<float>(8)}, matrix{3, 3, std::vector<float>(10)}, matrix{3, 3, {}},
        matrix{0, 3, std::vector<float>(3)}, matrix{kHuge, kHuge, {}}}) {
    EXPECT_THROW(multiply(op::none, wrong, right), lab::invalid_input);
    EXPECT_THROW(multiply(op::none, right, wrong), lab::invalid_input);
    EXPECT_THROW(sum_times_product(op::none, wrong, right), lab::invalid_input);
    EXPECT_THROW(sum_times_product(op::none, right, wrong), lab::invalid_input);
  }
}

TEST(Multiply, LeavesItsOperandsAlone) {
  const matrix a = whole_numbers(5, 5, 1, -9, 9), b = whole_numbers(5, 5, 2, -9, 9);
  const matrix a_before = a, b_before = b;
  (void)multiply(op::transpose, a, b);
  (void)sum_times_product(op::none, a, b);
  EXPECT_EQ(a.elements, a_before.elements);
  EXPECT_EQ(b.elements, b_before.elements);
}

TEST(Multiply, SaysHowLongItTook) {
  const matrix a = whole_numbers(5, 5, 1, -9, 9);
  for (const bool pinned : {false, true})
    for (const auto& done : {multiply(op::none, a, a, {{}, 64, pinned}),
                             sum_times_product(op::none, a, a, {{}, 64, pinned})}) {
      EXPECT_GT(done.host_ms, 0);
      EXPECT_EQ(done.pin_ms > 0, pinned);
    }
}

#ifdef __CPU_DEVICE__
TEST(SumTimesProduct, CountsTheTimesOfBothProducts) {
  const matrix a = whole_numbers(5, 5, 1, -9, 9);
  const auto done = [&] { return sum_times_product(op::none, a, a, {{}, 64, true}); };
  EXPECT_TRUE(is_time_with("cublasXtSgemm", [&] { return done().host_ms; }));
  EXPECT_TRUE(is_time_with("cudaHostRegister", [&] { return done().pin_ms; }));
}
#endif

// --- pinned operands -----------------------------------------------------------------------------

TEST_P(Shapes, AreMultipliedFromPinnedMemoryToo) {
  const auto [first, size] = GetParam();
  const auto [m, n, k] = size;
  const bool turned = first == op::transpose;
  const matrix a = whole_numbers(turned ? k : m, turned ? m : k, m + n, -9, 14);
  const matrix b = whole_numbers(k, n, m + k, -20, 5);
  const plan options{{}, 32, true};
  EXPECT_TRUE(is_product(multiply(first, a, b, options).c, first, a, b));
  EXPECT_TRUE(is_product(multiply(first, a, b, options).c, first, a, b)) << "once more";
}

TEST(Pinned, OneMatrixTwiceIsPinnedOnce) {
  const matrix a = whole_numbers(40, 40, 1, -5, 3);
  const plan options{{}, 32, true};
  EXPECT_TRUE(is_product(multiply(op::none, a, a, options).c, op::none, a, a));
  EXPECT_TRUE(is_sum_times_product(sum_times_product(op::none, a, a, options).c, op::none, a, a));
}

FAULT_TEST(Pinned, MemoryThatIsPinnedAlreadyIsAnError) {
  // It is the caller's, who would find it no longer pinned.
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail cannot be chosen across processes";
  const matrix a = whole_numbers(40, 40, 1, -5, 3), b = whole_numbers(40, 40, 2, -5, 3);
  for (const bool two_products : {false, true}) {
    const lab::testing::detail::next_call_fails fault("cudaHostRegister",
                                                      cudaErrorHostMemoryAlreadyRegistered);
    const auto call = two_products ? sum_times_product : multiply;
    ASSERT_THROW(call(op::none, a, b, {{}, 32, true}), lab::cuda_error);
    EXPECT_TRUE(fault.has_failed()) << "cudaHostRegister was not called";
  }
  EXPECT_TRUE(is_product(multiply(op::none, a, b, {{}, 32, true}).c, op::none, a, b));
}

FAULT_TEST(Errors, OfEveryCallAreReported) {
  const matrix a = whole_numbers(33, 33, 1, -9, 9), b = whole_numbers(33, 33, 2, -9, 9);
  for (const bool pinned : {false, true})
    expect_failures_reported(
        [&] {
          return is_product(multiply(op::none, a, b, {{}, 32, pinned}).c, op::none, a, b);
        },
        a.elements, b.elements);
  expect_failures_reported(
      [&] {
        return is_sum_times_product(sum_times_product(op::none, a, b, tiles_of(32)).c, op::none, a,
                                    b);
      },
      a.elements, b.elements);
}

}  // namespace
