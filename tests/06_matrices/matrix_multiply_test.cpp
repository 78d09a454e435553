// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "matrix_multiply.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "required_work.hpp"

namespace lab::matrix_multiply {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::matrix_multiply

namespace {

using lab::matrix_multiply::multiply;
using lab::matrix_multiply::shape;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::kManyBlocks;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

#ifdef __CPU_DEVICE__
const lab::testing::setting kTwoDevices("CPU_DEVICE_COUNT", "2",
                                        lab::testing::setting::when::unless_given);
#endif

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

/// Random numbers that need all the bits of T: a double made of two floats.
template <class T>
std::vector<T> random_matrix(std::size_t n, std::uint64_t seed, float low, float high) {
  const auto coarse = lab::random_floats(n, seed, low, high);
  const auto fine = lab::random_floats(n, seed + 1000, -1, 1);
  std::vector<T> values(n);
  for (std::size_t i = 0; i < n; ++i)
    values[i] = static_cast<T>(coarse[i]) + static_cast<T>(fine[i]) * static_cast<T>(0x1p-27);
  return values;
}

template <class T>
lab::comparison check(const std::vector<T>& c, const std::vector<T>& a, const std::vector<T>& b,
                      shape size, std::size_t row_stride = 1) {
  return lab::compare_product(view(c), view(a), view(b), size, row_stride);
}

template <class T>
::testing::AssertionResult is_right(shape size, std::uint64_t seed) {
  const auto a = random_matrix<T>(size.m * size.k, seed, -1, 3);
  const auto b = random_matrix<T>(size.k * size.n, seed + 1, -20, 10);
  return matches(check(multiply(view(a), view(b), size).c, a, b, size));
}
template <class T>
void expect_right_product(shape size, std::uint64_t seed) {
  EXPECT_TRUE(is_right<T>(size, seed)) << ::testing::PrintToString(size);
}

/// Where C begins to have elements that no thread has written; they are NaN.
template <class T>
std::string first_unwritten(const std::vector<T>& c, shape size) {
  for (std::size_t i = 0; i < c.size(); ++i)
    if (std::isnan(c[i]))
      return "no thread has written row " + std::to_string(i / size.n) + ", column " +
             std::to_string(i % size.n) + ": are the grid's x blocks enough for the " +
             std::to_string(size.n) + " columns, and its y blocks for the " +
             std::to_string(size.m) + " rows?";
  return "";
}

/// Whole numbers up to `most`: nothing is rounded, so every order of the sums gives the same.
template <class T>
void expect_exact_product(shape size, int most = 70) {
  const auto a_ints = lab::random_ints(size.m * size.k, 1, -most / 2, most);
  const auto b_ints = lab::random_ints(size.k * size.n, 2, -most, most);
  ASSERT_LT(1.0 * most * most * static_cast<double>(size.k), 0x1p24) << "sums would be rounded";
  const std::vector<T> a(a_ints.begin(), a_ints.end()), b(b_ints.begin(), b_ints.end());
  std::vector<double> expected(size.m * size.n);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column)
        expected[row * size.n + column] +=
            static_cast<double>(a_ints[row * size.k + i] * b_ints[i * size.n + column]);
  const std::vector<T> c = multiply(view(a), view(b), size).c;
  EXPECT_TRUE(matches(lab::compare_exact(c, expected))) << first_unwritten(c, size);
}

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

// --- who does the work ---------------------------------------------------------------------------

template <class T>
void expect_a_thread_for_each_element() {
  const shape size{33, 47, 20};
  const std::size_t sent = (size.m + size.n) * size.k * sizeof(T);
  EXPECT_TRUE(as_required(work_of([&] { return is_right<T>(size, 1); }),
                          {.threads = size.m * size.n,
                           .blocks = 4,
                           .sent = sent,
                           .fetched = size.m * size.n * sizeof(T),
                           .reads = sent,
                           .writes = size.m * size.n * sizeof(T)}));
  EXPECT_TRUE(at_other_sizes([](std::size_t n) { return is_right<T>({n, n + 1, n}, 1); }));
  // One element of C, and one column.
  EXPECT_TRUE(at_other_sizes([](std::size_t n) { return is_right<T>({1, 1, n}, 1); }));
  EXPECT_TRUE(at_other_sizes([](std::size_t n) { return is_right<T>({n + 1, 1, 2}, 1); }));
  lab::testing::expect_at_full_size([] {
    return as_required(work_of([] {
                         return is_right<T>({257, 600, 2}, 1);
                       }),
                       {.threads = 257 * 600, .fetched = 257 * 600 * sizeof(T)});
  });
}
REQUIRED_WORK(AThreadForEachElement) {
  expect_a_thread_for_each_element<float>();
  expect_a_thread_for_each_element<double>();
}

// --- every shape, in both precisions -------------------------------------------------------------

class Product : public ::testing::TestWithParam<shape> {};

TEST_P(Product, OfFloatsIsRightToTheLastBit) { expect_exact_product<float>(GetParam()); }
TEST_P(Product, OfDoublesIsRightToTheLastBit) { expect_exact_product<double>(GetParam()); }

// The text's shape, and Ulm's 16 x 16; around the block's side of 16 in each direction, and no two
// directions alike; thin ones; primes.
INSTANTIATE_TEST_SUITE_P(Shapes, Product,
                         ::testing::Values(shape{100, 150, 200}, shape{16, 16, 16}, shape{1, 1, 1},
                                           shape{1, 5, 3}, shape{3, 1, 7}, shape{7, 4, 1},
                                           shape{15, 17, 16}, shape{16, 15, 17}, shape{17, 16, 15},
                                           shape{31, 33, 32}, shape{32, 31, 33}, shape{33, 32, 31},
                                           shape{1, 200, 100}, shape{200, 1, 100}, shape{3, 5, 515},
                                           shape{101, 103, 107}),
                         [](const auto& info) { return name_of(info.param); });

template <class T>
class Precision : public ::testing::Test {};

struct name_of_type {
  template <class T>
  static std::string GetName(int) {
    return std::is_same_v<T, float> ? "float" : "double";
  }
};
using both = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Precision, both, name_of_type);

TYPED_TEST(Precision, MultipliesTheMatricesOfTheTextForSeeds1To3) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    expect_right_product<TypeParam>({100, 150, 200}, 100 * seed);
}

TYPED_TEST(Precision, StaysWithinTheBoundOfItsType) {
  // Doubles that are added up in float are off by 2^29 times as much as is allowed.
  expect_right_product<TypeParam>({33, 47, 1000}, 5);
}

TEST(Floats, AreAddedUpInFloat) {
  // Of a thousand sums in float hardly any is what the sum in double would be rounded to, whatever
  // their order is.
  const shape size{13, 17, 1000};
  const auto a = random_matrix<float>(size.m * size.k, 21, -1, 3);
  const auto b = random_matrix<float>(size.k * size.n, 22, -20, 10);
  const auto c = multiply(view(a), view(b), size).c;
  ASSERT_EQ(c.size(), size.m * size.n);
  std::size_t rounded_once = 0;
  for (std::size_t row = 0; row < size.m; ++row) {
    const auto exact = lab::multiply_row(view(a), view(b), size.n, size.k, row).value;
    for (std::size_t column = 0; column < size.n; ++column)
      if (c[row * size.n + column] == static_cast<float>(exact[column])) ++rounded_once;
  }
  EXPECT_LT(rounded_once, c.size() / 20 * 19)
      << "of " << c.size() << " sums are those of doubles, rounded once: which type has the sum?";
}

TYPED_TEST(Precision, KeepsRowsWithInfinitiesApart) {
  const shape size{20, 21, 19};
  auto a = random_matrix<TypeParam>(size.m * size.k, 5, 1, 2);
  const auto b = random_matrix<TypeParam>(size.k * size.n, 6, 1, 2);
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  a[11 * size.k] = kInfinity;
  const auto c = multiply(view(a), view(b), size).c;
  ASSERT_EQ(c.size(), size.m * size.n);
  for (std::size_t row = 0; row < size.m; ++row)
    for (std::size_t column = 0; column < size.n; ++column)
      EXPECT_TRUE(row == 11 ? c[row * size.n + column] == kInfinity
                            : std::isfinite(c[row * size.n + column]))
          << row << ", " << column;
}

TYPED_TEST(Precision, MultipliesZerosAndWhatIsInfinite) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  const std::vector<TypeParam> a = {0, 1}, b = {infinity, 2};  // 0 * infinity is no number
  EXPECT_TRUE(std::isnan(multiply(view(a), view(b), {1, 1, 2}).c.at(0)));
}

TYPED_TEST(Precision, MultipliesZerosOfB) {
  const TypeParam infinity = std::numeric_limits<TypeParam>::infinity();
  const std::vector<TypeParam> a = {infinity, 1}, b = {0, 2};
  EXPECT_TRUE(std::isnan(multiply(view(a), view(b), {1, 1, 2}).c.at(0)));
}

TYPED_TEST(Precision, KeepsTinyNumbers) {
  // Powers of two: nothing is rounded, though 2^-140 is below the least float with 24 bits.
  const std::vector<TypeParam> a = {0x1p-70F, 0x1p-60F}, b = {0x1p-70F, 0x1p-78F};
  EXPECT_EQ(multiply(view(a), view(b), {1, 1, 2}).c,
            (std::vector<TypeParam>{static_cast<TypeParam>(0x1p-140 + 0x1p-138)}));
}

TYPED_TEST(Precision, MultipliesAMatrixByItself) {
  // One array for both factors; it is not symmetric.
  const auto a = random_matrix<TypeParam>(33 * 33, 11, -1, 3);
  EXPECT_TRUE(matches(check(multiply(view(a), view(a), {33, 33, 33}).c, a, a, {33, 33, 33})));
}

TYPED_TEST(Precision, HasNoLimitOfColumnsAndOfTerms) {
  // More columns of blocks than a grid may have rows of them; more terms than 16 bits can count.
  for (const shape size : {shape{1, kManyBlocks * 16, 1}, shape{1, 1, 70'001}}) {
    const std::vector<TypeParam> a(size.m * size.k, 1), b(size.k * size.n, 2);
    const std::vector<TypeParam> expected(size.m * size.n, static_cast<TypeParam>(2 * size.k));
    EXPECT_TRUE(matches(lab::compare_exact(multiply(view(a), view(b), size).c, expected)));
  }
}

TEST(Floats, MayBeMoreThanAFloatCanCount) {
  // Above 2^24 not every whole number is a float: an index that is computed in float finds the
  // wrong element. A and B have as many elements in the first product, C in the second.
  lab::testing::expect_at_full_size([] {
    expect_exact_product<float>({3, 3, 6'000'001}, 1);
    expect_exact_product<float>({4099, 4097, 1}, 1);
  });
}

TYPED_TEST(Precision, MakesAnEmptyProduct) {
  const std::vector<TypeParam> none, six(6, TypeParam{1});
  EXPECT_TRUE(multiply(view(none), view(six), {0, 3, 2}).c.empty());
  EXPECT_TRUE(multiply(view(six), view(none), {3, 0, 2}).c.empty());
  EXPECT_TRUE(multiply(view(none), view(none), {0, 0, 0}).c.empty());
}

TYPED_TEST(Precision, AddsNothingWhereKIsZero) {
  const std::vector<TypeParam> none;
  const auto c = multiply(view(none), view(none), {3, 5, 0}).c;
  EXPECT_TRUE(matches(lab::compare_exact(c, std::vector<TypeParam>(15))));
}

TYPED_TEST(Precision, LeavesItsInputsAlone) {
  const auto a = random_matrix<TypeParam>(30 * 40, 7, -1, 1);
  const auto b = random_matrix<TypeParam>(40 * 50, 8, -1, 1);
  auto a_given = a, b_given = b;
  multiply(view(a_given), view(b_given), {30, 50, 40});
  EXPECT_EQ(a_given, a);
  EXPECT_EQ(b_given, b);
}

TYPED_TEST(Precision, MultipliesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  expect_right_product<TypeParam>({50, 60, 70}, 1);
  expect_right_product<TypeParam>({50, 60, 70}, 2);
}

TYPED_TEST(Precision, IsTheSameProductWhereTheKernelIsRepeated) {
  // As a program repeats it to measure its time: C has the previous launch's elements then.
  const lab::repeated_timing samples(3);
  expect_right_product<TypeParam>({17, 18, 19}, 3);
}

// --- refusals ------------------------------------------------------------------------------------

TYPED_TEST(Precision, RefusesMatricesOfOtherSizes) {
  const std::vector<TypeParam> six(6, TypeParam{1}), twelve(12, TypeParam{1}), none;
  EXPECT_NO_THROW(multiply(view(six), view(twelve), {2, 4, 3}));
  EXPECT_THROW(multiply(view(six), view(twelve), {2, 4, 2}), lab::invalid_input);
  EXPECT_THROW(multiply(view(six), view(twelve), {3, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(view(six), view(twelve), {2, 3, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(view(none), view(twelve), {2, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(view(six), view(none), {2, 4, 3}), lab::invalid_input);
  EXPECT_THROW(multiply(view(six), view(six), {2, 0, 3}), lab::invalid_input);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(multiply(view(none), view(none), {kHuge, kHuge, kHuge}), lab::invalid_input);
  EXPECT_THROW(multiply(view(none), view(none), {0, kHuge, kHuge}), lab::invalid_input);
  EXPECT_THROW(multiply(view(none), view(none), {kHuge, 0, kHuge}), lab::invalid_input);
}

/// Rows of blocks in a grid.
std::size_t grid_limit() { return lab::device_limit(cudaDevAttrMaxGridDimY); }

TEST(Rows, MayBeAsManyAsAGridHasBlocksFor) {
  expect_right_product<float>({grid_limit() * 16, 1, 1}, 9);
}

TYPED_TEST(Precision, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  const std::size_t limit = grid_limit(), rows = limit * 16 + 1;
  const std::vector<TypeParam> a(rows), b(1);
  try {
    multiply(view(a), view(b), {rows, 1, 1});
    FAIL() << rows << " rows were not refused: in blocks of 16 x 16 threads they need " << limit + 1
           << " rows of blocks, and a grid has at most " << limit;
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(limit)), std::string::npos)
        << error.what();
  }
  expect_right_product<TypeParam>({3, 4, 5}, 1);  // and works again afterwards
}

TYPED_TEST(Precision, RefusesTooManyRowsOfZeros) {
  const std::vector<TypeParam> none;  // k is 0
  const std::size_t rows = grid_limit() * 16 + 1;
  EXPECT_THROW(multiply(view(none), view(none), {rows, 1, 0}), lab::invalid_input);
}

#ifdef __CPU_DEVICE__
TYPED_TEST(Precision, AsksTheDeviceForItsLimit) {
  const lab::testing::pretended_devices low([](cudaDeviceProp& p) { p.maxGridSize[1] = 3; });
  expect_right_product<TypeParam>({48, 2, 5}, 4);
  const std::vector<TypeParam> a(49), b(1);
  EXPECT_THROW(multiply(view(a), view(b), {49, 1, 1}), lab::invalid_input);
}

TYPED_TEST(Precision, AsksTheCurrentDevice) {
  if (lab::device_count() < 2) GTEST_SKIP() << "there is one device";
  const std::vector<TypeParam> a(49, TypeParam{1}), b(1, TypeParam{1});
  for (const int low : {0, 1}) {
    const lab::testing::pretended_devices one([](cudaDeviceProp& p) { p.maxGridSize[1] = 3; }, low);
    for (const int current : {0, 1}) {
      const lab::testing::on_device here(current);
      if (current == low) {
        EXPECT_THROW(multiply(view(a), view(b), {49, 1, 1}), lab::invalid_input) << current;
      } else {
        EXPECT_EQ(multiply(view(a), view(b), {49, 1, 1}).c, a) << current;
      }
    }
  }
}
#endif

// --- time ----------------------------------------------------------------------------------------

TYPED_TEST(Precision, SaysHowLongItTook) {
  const std::vector<TypeParam> a(40 * 40, TypeParam{1});
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(view(a), view(a), {40, 40, 40}).kernel_ms;
  }));
}

// --- the check itself ----------------------------------------------------------------------------

TYPED_TEST(Precision, CheckSeesOneWrongElementAndNamesIt) {
  const shape size{3, 4, 2};
  const std::vector<TypeParam> a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<TypeParam> c = {11, 14, 17, 20, 23, 30, 37, 44, 35, 46, 57, 68};
  EXPECT_TRUE(check(c, a, b, size));
  c[6] += 100 * std::numeric_limits<TypeParam>::epsilon() * c[6];
  EXPECT_FALSE(check(c, a, b, size));
  EXPECT_NE(check(c, a, b, size).message.find("row 1, column 2"), std::string::npos);
  EXPECT_TRUE(check(c, a, b, size, 2)) << "rows 0 and 2 only";
  c[6] = 37;
  c[11] = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_FALSE(check(c, a, b, size));
  EXPECT_FALSE(check(c, a, b, size, 100)) << "the last row is always checked";
  c.pop_back();
  EXPECT_FALSE(check(c, a, b, size));
}

template <class T>
void expect_failures_reported_in() {
  const auto a = random_matrix<T>(5 * 7, 1, -1, 1), b = random_matrix<T>(7 * 3, 2, -1, 1);
  expect_failures_reported([&] { return multiply(view(a), view(b), {5, 3, 7}).c; }, a, b);
}

FAULT_TEST(Multiply, ReportsEveryCallThatFails) {
  expect_failures_reported_in<float>();
  expect_failures_reported_in<double>();
}

}  // namespace
