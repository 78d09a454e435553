// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "gemv.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "library_calls.hpp"
#include "matrix_tests.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::by_library;
using lab::testing::bytes_of;
using lab::testing::calculated;
using lab::testing::expect_at_full_size;
using lab::testing::work_of;
using namespace lab::gemv;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::kScalars;
using lab::testing::matches;
using lab::testing::padded;
using lab::testing::timed;
using lab::testing::whole_numbers;
using vector = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::normal, "normal"}, {step::transposed, "transposed"}};

std::size_t x_length(step version, std::size_t rows, std::size_t cols) {
  return version == step::normal ? cols : rows;
}
std::size_t y_length(step version, std::size_t rows, std::size_t cols) {
  return version == step::normal ? rows : cols;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(OneCallOfCublas) {
  const vector a = whole_numbers(40 * 70, 1, 1, 14);
  for (const auto& [version, name] : kSteps) {
    const auto is_right = [&, version = version](std::size_t rows, std::size_t cols) {
      const vector x = whole_numbers(x_length(version, rows, cols), 2, 1, 14);
      const vector y(y_length(version, rows, cols), 1);
      const row_major m{a, rows, cols, 70};
      return matches(lab::compare_exact(multiply(version, 2, m, x, 3, y).y,
                                        reference(version, 2, m, x, 3, y).value));
    };
    const std::size_t x = x_length(version, 40, 70), y = y_length(version, 40, 70);
    const lab::testing::work done = work_of([&] { return is_right(40, 70); });
    EXPECT_TRUE(as_required(done, {.kernels = 0,
                                   .sent = bytes_of(a) + (x + y) * sizeof(float),
                                   .fetched = y * sizeof(float),
                                   .calls = {"cublasSgemv"},
                                   .library = true}))
        << name;
    if (done.values && !*done.values) continue;  // that has been said
    EXPECT_TRUE(done.kernels.empty()) << name;
    EXPECT_EQ(calculated(done), "1 cublasSgemv ") << name << ": one call, and no other";
    for (const std::size_t more : {0, 1})
      EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return is_right(n, n + more); },
                                 by_library({"cublasSgemv"})))
          << name;
  }
}

REQUIRED_WORK(OneCallForManyRowsAndForNothingOfTheProduct) {
  // More rows than a grid has blocks along two of its dimensions, then as many columns; many of
  // both; alpha = 0, which is a number like others, whatever beta is; and what another function of
  // cuBLAS could do: the dot product of a row or a column, without anything to scale or to add, and
  // a vector times a number.
  for (const auto& [version, name] : kSteps)
    for (const auto& [rows, cols, alpha, beta] :
         {std::tuple<std::size_t, std::size_t, float, float>{70'001, 1, 2, 3},
          {1, 70'001, 2, 3},
          {1100, 1050, 2, 3},
          {5, 7, 0, 3},
          {5, 7, 0, 0},
          {5, 7, 0, 1},
          {1, 50, 1, 0},
          {50, 1, 1, 0},
          {1, 50, 1, 1},
          {50, 1, 1, 1},
          {1, 1, 1, 0}}) {
      const vector a = whole_numbers(rows * cols, 1, 1, 3);
      const vector x = whole_numbers(x_length(version, rows, cols), 2, 1, 3);
      const vector y = whole_numbers(y_length(version, rows, cols), 3, 1, 9);
      const row_major m{a, rows, cols, cols};
      const auto done = work_of([&, version = version, alpha = alpha, beta = beta] {
        return matches(lab::compare_exact(multiply(version, alpha, m, x, beta, y).y,
                                          reference(version, alpha, m, x, beta, y).value));
      });
      lab::testing::required call = by_library({"cublasSgemv"});
      if (alpha == 0 && beta == 0) call.fetched = 0;  // only zeros come back
      EXPECT_TRUE(as_required(done, call)) << name;
      EXPECT_EQ(calculated(done), "1 cublasSgemv ")
          << name << ": " << rows << " x " << cols << ", alpha is " << alpha << ", beta is "
          << beta;
    }
}

REQUIRED_WORK(NothingIsReadBehindTheLastRow) {
  // The data ends with the last row's last element, 995 elements before the next row would begin.
  constexpr std::size_t kRows = 3, kCols = 5, kPitch = 1000;
  const vector all = whole_numbers(kRows * kPitch, 1, 1, 9);
  const row_major m{std::span(all).first((kRows - 1) * kPitch + kCols), kRows, kCols, kPitch};
  for (const auto& [version, name] : kSteps) {
    const vector x = whole_numbers(x_length(version, kRows, kCols), 2, 1, 9);
    const vector y = whole_numbers(y_length(version, kRows, kCols), 3, 1, 9);
    const auto done = work_of([&, version = version] {
      return matches(lab::compare_exact(multiply(version, 2, m, x, 3, y).y,
                                        reference(version, 2, m, x, 3, y).value));
    });
    EXPECT_TRUE(as_required(done, by_library({"cublasSgemv"}))) << name;
    constexpr std::size_t kVectors = 100 * sizeof(float);  // x, y and two numbers have less
    EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), bytes_of(m.data) + kVectors)
        << name << ": bytes copied to the device";
  }
}

// --- every step, at every shape ------------------------------------------------------------------

struct shape {
  std::size_t rows, cols, padding;
};

class Gemv : public ::testing::TestWithParam<std::tuple<named_step, shape>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  shape size() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(
    Steps, Gemv,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 0}, shape{1, 5, 2}, shape{5, 1, 0},
                                         shape{5, 1, 3}, shape{2, 3, 0}, shape{3, 2, 0},
                                         shape{31, 33, 0}, shape{33, 31, 1}, shape{32, 32, 0},
                                         shape{32, 32, 32}, shape{127, 257, 0}, shape{257, 127, 5},
                                         shape{1000, 3, 1}, shape{3, 1000, 0}, shape{509, 701, 0})),
    [](const auto& test) {
      const shape s = std::get<1>(test.param);
      return std::string(std::get<0>(test.param).name) + "_" + std::to_string(s.rows) + "x" +
             std::to_string(s.cols) + "_padding" + std::to_string(s.padding);
    });

TEST_P(Gemv, IsExactForWholeNumbers) {
  const auto [rows, cols, padding] = size();
  const vector a = padded(whole_numbers(rows * cols, rows + cols, -9, 14), rows, cols, padding);
  const vector x = whole_numbers(x_length(version(), rows, cols), 2, -5, 9);
  const vector y = whole_numbers(y_length(version(), rows, cols), 3, -50, 90);
  const row_major m{a, rows, cols, cols + padding};
  // 701 products of at most 14 * 9, three times that, and 180: below 2^24.
  EXPECT_TRUE(matches(lab::compare_exact(multiply(version(), 3, m, x, -2, y).y,
                                         reference(version(), 3, m, x, -2, y).value)));
}

TEST_P(Gemv, IsWithinTheBoundForRandomNumbers) {
  const auto [rows, cols, padding] = size();
  const vector a = padded(lab::random_floats(rows * cols, rows * cols, -1, 2), rows, cols, padding);
  const vector x = lab::random_floats(x_length(version(), rows, cols), 5, -2, 1);
  const vector y = lab::random_floats(y_length(version(), rows, cols), 6, -30, 10);
  const row_major m{a, rows, cols, cols + padding};
  EXPECT_TRUE(matches(check(multiply(version(), 0.7F, m, x, 1.3F, y).y,
                            reference(version(), 0.7F, m, x, 1.3F, y))));
}

TEST_P(Gemv, DoesNotReadTheOldYWhenBetaIsZero) {
  const auto [rows, cols, padding] = size();
  const vector a = padded(whole_numbers(rows * cols, 7, 1, 5), rows, cols, padding);
  const vector x = whole_numbers(x_length(version(), rows, cols), 8, 1, 5);
  const vector y(y_length(version(), rows, cols), kNaN);
  const row_major m{a, rows, cols, cols + padding};
  EXPECT_TRUE(matches(lab::compare_exact(multiply(version(), 1, m, x, 0, y).y,
                                         reference(version(), 1, m, x, 0, y).value)));
}

// --- cases with a known result -------------------------------------------------------------------

TEST(Gemv, MultipliesTwoRowsOfThree) {
  const vector a = {1, 2, 3,  //
                    4, 5, 6};
  const row_major m{a, 2, 3, 3};
  EXPECT_EQ(multiply(step::normal, 1, m, vector{1, 10, 100}, 0, vector{7, 8}).y,
            (vector{321, 654}));
  EXPECT_EQ(multiply(step::transposed, 1, m, vector{1, 10}, 0, vector{7, 8, 9}).y,
            (vector{41, 52, 63}));
  EXPECT_EQ(multiply(step::normal, 2, m, vector{1, 10, 100}, 1, vector{7, 8}).y,
            (vector{649, 1316}));
  EXPECT_EQ(multiply(step::transposed, 0, m, vector{1, 10}, 3, vector{7, 8, 9}).y,
            (vector{21, 24, 27}));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesScalarsOfEverySign) {
  const vector a = whole_numbers(5 * 7, 1, -9, 14);
  const vector x = whole_numbers(x_length(version(), 5, 7), 2, -5, 9);
  const vector y = whole_numbers(y_length(version(), 5, 7), 3, -50, 90);
  for (const auto& [alpha, beta] : kScalars)
    EXPECT_TRUE(
        matches(lab::compare_exact(multiply(version(), alpha, {a, 5, 7, 7}, x, beta, y).y,
                                   reference(version(), alpha, {a, 5, 7, 7}, x, beta, y).value)))
        << "alpha = " << alpha << ", beta = " << beta;
}

TEST_P(EachStep, KeepsWhatIsNoNumber) {
  const vector a = whole_numbers(3 * 4, 1, 1, 9);
  vector x = whole_numbers(x_length(version(), 3, 4), 2, 1, 9);
  x[1] = std::numeric_limits<float>::quiet_NaN();
  for (const float element :
       multiply(version(), 1, {a, 3, 4, 4}, x, 1, vector(y_length(version(), 3, 4), 1)).y)
    EXPECT_TRUE(std::isnan(element));
}

TEST_P(EachStep, IsRightWhenTheCallIsRepeated) {
  // As a program repeats it to measure its time: y is not the result of the previous call.
  const vector a = whole_numbers(5 * 7, 1, -9, 14);
  const vector x = whole_numbers(x_length(version(), 5, 7), 2, -5, 9);
  const vector y = whole_numbers(y_length(version(), 5, 7), 3, -50, 90);
  const lab::repeated_timing samples(3);
  for (const auto& [alpha, beta] : kScalars)
    EXPECT_TRUE(
        matches(lab::compare_exact(multiply(version(), alpha, {a, 5, 7, 7}, x, beta, y).y,
                                   reference(version(), alpha, {a, 5, 7, 7}, x, beta, y).value)))
        << "alpha = " << alpha << ", beta = " << beta;
}

TEST_P(EachStep, ScalesYWhereThereIsNothingToMultiply) {
  // y has 3 elements, x none: every element of A x is an empty sum.
  const bool normal = version() == step::normal;
  const row_major m{{}, normal ? std::size_t{3} : 0, normal ? 0 : std::size_t{3}, 3};
  for (const float beta : {2.0F, -2.0F})
    EXPECT_EQ(multiply(version(), 5, m, {}, beta, vector{1, 2, 3}).y,
              (vector{beta, 2 * beta, 3 * beta}));
  for (const float zero : {0.0F, -0.0F})
    EXPECT_EQ(multiply(version(), 5, m, {}, zero, vector{kNaN, 2, 3}).y, (vector{0, 0, 0}));
  EXPECT_EQ(multiply(version(), 0, m, {}, 2, vector{1, 2, 3}).y, (vector{2, 4, 6}));
}

TEST_P(EachStep, HasAnEmptyResultWhereYIsEmpty) {
  const bool normal = version() == step::normal;
  const row_major m{{}, normal ? 0 : std::size_t{3}, normal ? std::size_t{3} : 0, 3};
  EXPECT_TRUE(multiply(version(), 5, m, vector{1, 2, 3}, 2, {}).y.empty());
  EXPECT_TRUE(multiply(version(), 5, {{}, 0, 0, 0}, {}, 2, {}).y.empty());
  EXPECT_THROW(multiply(version(), 5, m, vector{1, 2}, 2, {}), lab::invalid_input);
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector ones(12, 1.0F);
  const row_major m{ones, 3, 4, 4};
  const vector x(x_length(version(), 3, 4), 1.0F), y(y_length(version(), 3, 4), 1.0F);
  const vector first = multiply(version(), 1, m, x, 1, y).y;
  EXPECT_EQ(multiply(version(), 2, m, x, 0, y).y,
            vector(y.size(), 2.0F * static_cast<float>(x.size())));
  EXPECT_EQ(multiply(version(), 1, m, x, 1, y).y, first);
}

TEST_P(EachStep, RefusesVectorsOfWrongLength) {
  const vector a(6, 1.0F), two(2, 1.0F), three(3, 1.0F);
  const row_major m{a, 2, 3, 3};
  const bool normal = version() == step::normal;
  EXPECT_NO_THROW(multiply(version(), 1, m, normal ? three : two, 0, normal ? two : three));
  EXPECT_THROW(multiply(version(), 1, m, normal ? two : three, 0, normal ? three : two),
               lab::invalid_input);
  EXPECT_THROW(multiply(version(), 1, m, normal ? three : two, 0, normal ? three : two),
               lab::invalid_input);
  EXPECT_THROW(multiply(version(), 1, m, {}, 0, normal ? two : three), lab::invalid_input);
}

TEST_P(EachStep, RefusesAPitchShorterThanARow) {
  const vector a(6, 1.0F), two(2, 1.0F), three(3, 1.0F);
  const bool normal = version() == step::normal;
  EXPECT_THROW(multiply(version(), 1, {a, 2, 3, 2}, normal ? three : two, 0, normal ? two : three),
               lab::invalid_input);
}

TEST_P(EachStep, RefusesDataThatIsTooShort) {
  const vector five(5, 1.0F), nine(9, 1.0F), two(2, 1.0F), three(3, 1.0F);
  const bool normal = version() == step::normal;
  const vector& x = normal ? three : two;
  const vector& y = normal ? two : three;
  EXPECT_THROW(multiply(version(), 1, {five, 2, 3, 3}, x, 0, y), lab::invalid_input);
  EXPECT_NO_THROW(multiply(version(), 1, {nine, 2, 3, 6}, x, 0, y));  // the last row ends there
  EXPECT_THROW(multiply(version(), 1, {nine, 2, 3, 7}, x, 0, y), lab::invalid_input);
  const vector one(1, 1.0F), many(65'537, 1.0F);  // 2^32 + 1 elements are needed: 1, in 32 bits
  EXPECT_THROW(multiply(version(), 1, {nine, 65'537, 1, 65'536}, normal ? one : many, 0,
                        normal ? many : one),
               lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreThanAnIntCanCount) {
  const vector a(6, 1.0F);
  const std::size_t many = std::size_t{1} << 32;  // as an int it would be 0
  EXPECT_THROW(multiply(version(), 1, {a, 0, 0, many}, {}, 0, {}), lab::invalid_input);
  const std::size_t most = std::numeric_limits<int>::max();  // it needs no memory either
  EXPECT_NO_THROW(multiply(version(), 1, {a, 0, 0, most}, {}, 0, {}));
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector a(12, 1.0F), x(x_length(version(), 3, 4), 1.0F), y(y_length(version(), 3, 4), 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), 1, {a, 3, 4, 4}, x, 1, y).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const bool normal = version() == step::normal;
  const vector a = whole_numbers(6, 1, -9, 9), two = {1, 2}, three = {3, 4, 5};
  const row_major m{a, 2, 3, 3};
  const vector &x = normal ? three : two, &y = normal ? two : three;
  expect_failures_reported([&] { return multiply(version(), 3, m, x, -2, y).y; }, a, two, three);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    constexpr std::size_t kRows = kDefaultSize, kCols = kDefaultSize + kDefaultSize / 2;
    const vector a = whole_numbers(kRows * kCols, 1, -9, 14);
    const vector x = whole_numbers(x_length(version(), kRows, kCols), 2, -5, 9);
    const vector y = whole_numbers(y_length(version(), kRows, kCols), 3, -50, 90);
    const row_major m{a, kRows, kCols, kCols};
    // 3000 products of at most 14 * 9, three times that, and 180: below 2^24.
    return matches(lab::compare_exact(multiply(version(), 3, m, x, -2, y).y,
                                      reference(version(), 3, m, x, -2, y).value));
  });
}

}  // namespace
