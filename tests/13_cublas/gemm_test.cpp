// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "gemm.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
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
using lab::testing::calculated;
using lab::testing::expect_at_full_size;
using lab::testing::work_of;
using namespace lab::gemm;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::kScalars;
using lab::testing::matches;
using lab::testing::timed;
using vector = std::vector<float>;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// A matrix and its array: rows are `padding` further apart than they are long; everything between
/// them and after the last one is NaN.
struct matrix {
  matrix(std::size_t its_rows, std::size_t its_cols, std::size_t padding, const vector& tight)
      : rows(its_rows),
        cols(its_cols),
        pitch(its_cols + padding),
        array(lab::testing::padded(tight, rows, cols, padding)) {}
  row_major view() const { return {array, rows, cols, pitch}; }

  std::size_t rows, cols, pitch;
  vector array;
};

/// Small whole numbers: no sum of their products is rounded.
matrix whole_numbers(std::size_t rows, std::size_t cols, std::size_t padding, std::uint64_t seed,
                     int low, int high) {
  return {rows, cols, padding, lab::testing::whole_numbers(rows * cols, seed, low, high)};
}
matrix random_numbers(std::size_t rows, std::size_t cols, std::size_t padding, std::uint64_t seed,
                      float low, float high) {
  return {rows, cols, padding, lab::random_floats(rows * cols, seed, low, high)};
}

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::product, "product"},
                                 {step::transposed_a, "transposed_a"},
                                 {step::transposed_b, "transposed_b"},
                                 {step::transposed_both, "transposed_both"}};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(OneCallOfCublas) {
  constexpr std::size_t kBytes = 40 * 40 * sizeof(float);
  std::multiset<std::uint64_t> sent;
  for (const auto& [version, name] : kSteps) {
    const auto is_right = [version = version](std::size_t n) {
      const matrix left = whole_numbers(n, n, 0, 1, 1, 14), right = whole_numbers(n, n, 0, 2, 1, 5);
      const row_major l = left.view(), r = right.view();
      return matches(check(multiply(version, 1, l, r, 0, l).c, version, 1, l, r, 0, l, true));
    };
    const lab::testing::work done = work_of([&] { return is_right(40); });
    EXPECT_TRUE(as_required(done, {.kernels = 0,
                                   .sent = 2 * kBytes,
                                   .fetched = kBytes,
                                   .calls = {"cublasSgemm"},
                                   .library = true}))
        << name;
    if (done.values && !*done.values) continue;  // that has been said
    EXPECT_TRUE(done.kernels.empty()) << name;
    EXPECT_EQ(calculated(done), "1 cublasSgemm ") << name << ": one call, and no other";
    if (version == step::product) sent = done.went_there();
    EXPECT_TRUE(done.went_there() == sent)
        << name << ": of the same matrices, other bytes are sent than in step product";
    EXPECT_TRUE(at_other_sizes(is_right, by_library({"cublasSgemm"}), {1, 3, 41})) << name;
  }
}

struct shape {
  std::size_t m, n, k, pad_a, pad_b, pad_c;
};

/// A, B and C of one product for all steps: op(A), op(B) and C do not depend on the step, only what
/// is stored does.
struct operands {
  operands(step version, shape s)
      : a(stored(transposes_a(version), s.m, s.k, s.pad_a, 1)),
        b(stored(transposes_b(version), s.k, s.n, s.pad_b, 2)),
        c(whole_numbers(s.m, s.n, s.pad_c, 3, -9, 9)) {}

  /// op(X), or what op makes it of.
  static matrix stored(bool transposed, std::size_t rows, std::size_t cols, std::size_t padding,
                       std::uint64_t seed) {
    vector tight = lab::testing::whole_numbers(rows * cols, seed, -2, 3);
    tight[cols - 1] = 4095;  // of 12 bits: TF32 keeps 11, however long the sums are
    if (!transposed) return {rows, cols, padding, tight};
    vector turned(tight.size());
    for (std::size_t i = 0; i < tight.size(); ++i) turned[i % cols * rows + i / cols] = tight[i];
    return {cols, rows, padding, turned};
  }

  matrix a, b, c;
};

/// The work for a product that is right, as far as some thousands of its elements show.
lab::testing::work work_for(step version, float alpha, shape size, float beta = 2) {
  const operands x(version, size);
  const std::size_t stride = size.m * size.n / 10'000 + 1;
  return work_of([&] {
    return matches(check(multiply(version, alpha, x.a.view(), x.b.view(), beta, x.c.view()).c,
                         version, alpha, x.a.view(), x.b.view(), beta, x.c.view(), true, stride));
  });
}

REQUIRED_WORK(OneCallForLongSumsForVectorsForManyRowsAndForNothingOfTheProduct) {
  for (const auto& [version, name] : kSteps)
    for (const auto& [size, alpha] : {std::pair{shape{2, 3, 70'001, 0, 0, 0}, 1.0F},
                                      {{3, 1, 2100, 0, 0, 0}, 1.0F},
                                      {{1, 3, 5, 0, 0, 0}, 1.0F},
                                      {{1, 1, 9, 0, 0, 0}, 1.0F},
                                      {{1, 1, 1, 0, 0, 0}, 1.0F},
                                      {{40, 30, 1, 0, 0, 0}, 1.0F},
                                      {{300, 200, 70, 0, 0, 0}, 1.0F},
                                      {{70'001, 2, 3, 0, 0, 0}, 1.0F},
                                      {{2, 70'001, 3, 0, 0, 0}, 1.0F},
                                      {{1100, 1050, 2, 0, 0, 0}, 1.0F},
                                      {{5, 4, 7, 0, 0, 0}, 0.0F}})
      for (const float beta : {0.0F, 1.0F, 2.0F}) {
        if (beta != 2 && size.m * size.n > 100'000) continue;  // once, as they take long
        const auto done = work_for(version, alpha, size, beta);
        lab::testing::required call = by_library({"cublasSgemm"});
        if (alpha == 0 && beta == 0) call.fetched = 0;  // only zeros come back
        EXPECT_TRUE(as_required(done, call)) << name;
        EXPECT_EQ(calculated(done), "1 cublasSgemm ")
            << name << ": C is " << size.m << " x " << size.n << ", sums have " << size.k
            << " terms, alpha is " << alpha << ", beta is " << beta;
      }
}

REQUIRED_WORK(RowsOfCThatComeBackWhateverTheStep) {
  // The same C from the same op(A) and op(B): the bytes that come back are the same, in every step.
  constexpr shape kSize = {3, 4, 5, 0, 0, 2};
  const auto product = work_for(step::product, 1, kSize);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_for(version, 1, kSize);
    if (!as_required(done, by_library({"cublasSgemm"}))) continue;  // that has been said
    EXPECT_TRUE(done.came_back() == product.came_back())
        << name << ": C comes back in another order than in step product";
  }
}

// --- every step, at every shape ------------------------------------------------------------------

class Gemm : public ::testing::TestWithParam<std::tuple<named_step, shape>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  shape size() const { return std::get<1>(GetParam()); }
  std::size_t a_rows() const { return transposes_a(version()) ? size().k : size().m; }
  std::size_t a_cols() const { return transposes_a(version()) ? size().m : size().k; }
  std::size_t b_rows() const { return transposes_b(version()) ? size().n : size().k; }
  std::size_t b_cols() const { return transposes_b(version()) ? size().k : size().n; }
};

INSTANTIATE_TEST_SUITE_P(
    Steps, Gemm,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1, 0, 0, 0}, shape{1, 7, 3, 0, 0, 0},
                                         shape{7, 1, 3, 1, 2, 3}, shape{2, 3, 4, 0, 0, 0},
                                         shape{4, 3, 2, 0, 0, 0}, shape{2, 3, 4, 5, 3, 1},
                                         shape{5, 4, 1, 0, 1, 0}, shape{31, 33, 32, 0, 0, 0},
                                         shape{33, 31, 65, 1, 0, 7}, shape{32, 32, 32, 0, 0, 0},
                                         shape{32, 32, 32, 8, 16, 32}, shape{127, 65, 129, 0, 0, 0},
                                         shape{61, 131, 257, 3, 2, 1},
                                         shape{128, 256, 128, 0, 0, 0})),
    [](const auto& test) {
      const shape s = std::get<1>(test.param);
      return std::string(std::get<0>(test.param).name) + "_m" + std::to_string(s.m) + "_n" +
             std::to_string(s.n) + "_k" + std::to_string(s.k) + "_pads" + std::to_string(s.pad_a) +
             "_" + std::to_string(s.pad_b) + "_" + std::to_string(s.pad_c);
    });

TEST_P(Gemm, IsExactForWholeNumbers) {
  const auto [m, n, k, pad_a, pad_b, pad_c] = size();
  // A has numbers of 12 bits: with TF32, which keeps 11, the sums would not be exact.
  const matrix a = whole_numbers(a_rows(), a_cols(), pad_a, m + 1, -2500, 4095);
  const matrix b = whole_numbers(b_rows(), b_cols(), pad_b, n + 2, -3, 5);
  const matrix c = whole_numbers(m, n, pad_c, k + 3, -50, 90);
  // 257 products of at most 4095 * 5, three times that, and 180: below 2^24.
  EXPECT_TRUE(matches(check(multiply(version(), 3, a.view(), b.view(), -2, c.view()).c, version(),
                            3, a.view(), b.view(), -2, c.view(), true)));
}

TEST_P(Gemm, IsWithinTheBoundForRandomNumbers) {
  const auto [m, n, k, pad_a, pad_b, pad_c] = size();
  const matrix a = random_numbers(a_rows(), a_cols(), pad_a, m + 4, -1, 2);
  const matrix b = random_numbers(b_rows(), b_cols(), pad_b, n + 5, -3, 1);
  const matrix c = random_numbers(m, n, pad_c, k + 6, -20, 10);
  EXPECT_TRUE(matches(check(multiply(version(), 0.7F, a.view(), b.view(), 1.3F, c.view()).c,
                            version(), 0.7F, a.view(), b.view(), 1.3F, c.view())));
}

TEST_P(Gemm, DoesNotReadTheOldCWhenBetaIsZero) {
  const auto [m, n, k, pad_a, pad_b, pad_c] = size();
  const matrix a = whole_numbers(a_rows(), a_cols(), pad_a, m + 7, 1, 5);
  const matrix b = whole_numbers(b_rows(), b_cols(), pad_b, n + 8, 1, 5);
  const matrix c(m, n, pad_c, vector(m * n, kNaN));
  EXPECT_TRUE(matches(check(multiply(version(), 1, a.view(), b.view(), 0, c.view()).c, version(), 1,
                            a.view(), b.view(), 0, c.view(), true)));
}

// --- cases with a known result -------------------------------------------------------------------

TEST(Gemm, MultipliesTwoRowsOfThreeByThreeRowsOfTwo) {
  const vector a = {1, 2, 3,  //
                    4, 5, 6};
  const vector b = {1, 10,  //
                    2, 20,  //
                    3, 40};
  const vector c = {1000, 2000,  //
                    3000, 4000};
  EXPECT_EQ(multiply(step::product, 1, {a, 2, 3, 3}, {b, 3, 2, 2}, 1, {c, 2, 2, 2}).c,
            (vector{1014, 2170, 3032, 4380}));
  // B A is another matrix, and of another shape; so is A B transposed.
  EXPECT_EQ(multiply(step::product, 1, {b, 3, 2, 2}, {a, 2, 3, 3}, 0, {vector(9), 3, 3, 3}).c,
            (vector{41, 52, 63, 82, 104, 126, 163, 206, 249}));
}

TEST(Gemm, TakesAPartOfALargerMatrix) {
  // The 2 x 2 in the middle of a 4 x 4, times itself, into the lower left corner of another.
  const vector big = {0, 0, 0, 0,  //
                      0, 1, 2, 0,  //
                      0, 3, 4, 0,  //
                      0, 0, 0, 0};
  const vector c(10, 5.0F);  // 2 rows of 2, 5 apart
  const row_major part{std::span<const float>(big).subspan(5), 2, 2, 4};
  EXPECT_EQ(multiply(step::product, 1, part, part, 0, {c, 2, 2, 5}).c,
            (vector{7, 10, 5, 5, 5, 15, 22, 5, 5, 5}));
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  /// Views with the shapes that this step needs for m, n and k.
  row_major a(const vector& array, std::size_t m, std::size_t k) const {
    return transposes_a(version()) ? row_major{array, k, m, m} : row_major{array, m, k, k};
  }
  row_major b(const vector& array, std::size_t k, std::size_t n) const {
    return transposes_b(version()) ? row_major{array, n, k, k} : row_major{array, k, n, n};
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesScalarsOfEverySign) {
  const vector left = lab::testing::whole_numbers(5 * 7, 1, -9, 14);
  const vector right = lab::testing::whole_numbers(7 * 3, 2, -5, 9);
  const vector old = lab::testing::whole_numbers(5 * 3, 3, -50, 90);
  const row_major c{old, 5, 3, 3};
  for (const auto& [alpha, beta] : kScalars)
    EXPECT_TRUE(matches(check(multiply(version(), alpha, a(left, 5, 7), b(right, 7, 3), beta, c).c,
                              version(), alpha, a(left, 5, 7), b(right, 7, 3), beta, c, true)))
        << "alpha = " << alpha << ", beta = " << beta;
}

TEST_P(EachStep, IsRightWhenTheCallIsRepeated) {
  // As a program repeats it to measure its time: C is not the result of the previous call.
  const vector left = lab::testing::whole_numbers(5 * 7, 1, -9, 14);
  const vector right = lab::testing::whole_numbers(7 * 3, 2, -5, 9);
  const vector old = lab::testing::whole_numbers(5 * 3, 3, -50, 90);
  const row_major c{old, 5, 3, 3};
  const lab::repeated_timing samples(3);
  for (const auto& [alpha, beta] : kScalars)
    EXPECT_TRUE(matches(check(multiply(version(), alpha, a(left, 5, 7), b(right, 7, 3), beta, c).c,
                              version(), alpha, a(left, 5, 7), b(right, 7, 3), beta, c, true)))
        << "alpha = " << alpha << ", beta = " << beta;
}

TEST_P(EachStep, ScalesCWhereSumsHaveNoTerms) {
  const vector c = {1, 2, 3, 4, 5, 6};
  for (const float beta : {2.0F, -2.0F})
    EXPECT_EQ(multiply(version(), 7, a({}, 2, 0), b({}, 0, 2), beta, {c, 2, 2, 3}).c,
              (vector{beta, 2 * beta, 3, 4 * beta, 5 * beta, 6}));
  const vector nans = {kNaN, 2};
  EXPECT_EQ(multiply(version(), 7, a({}, 1, 0), b({}, 0, 2), 0, {nans, 1, 2, 2}).c, (vector{0, 0}));
}

TEST_P(EachStep, HasAnEmptyResultWhereCIsEmpty) {
  const vector six(6, 1.0F);
  EXPECT_TRUE(multiply(version(), 1, a({}, 0, 3), b(six, 3, 2), 0, {{}, 0, 2, 2}).c.empty());
  EXPECT_TRUE(multiply(version(), 1, a(six, 2, 3), b({}, 3, 0), 0, {{}, 2, 0, 0}).c.empty());
  EXPECT_TRUE(multiply(version(), 1, a({}, 0, 0), b({}, 0, 0), 0, {{}, 0, 0, 0}).c.empty());
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  // Two elements of C's array are behind C, and stay as they are.
  const vector six(6, 1.0F), nines(6, 9.0F);
  for (const float alpha : {1.0F, 2.0F, 1.0F})
    EXPECT_EQ(multiply(version(), alpha, a(six, 2, 3), b(six, 3, 2), 0, {nines, 2, 2, 2}).c,
              (vector{3 * alpha, 3 * alpha, 3 * alpha, 3 * alpha, 9, 9}));
}

TEST_P(EachStep, RefusesShapesThatDoNotFit) {
  const vector many(64, 1.0F);
  const row_major c{many, 2, 4, 4};
  EXPECT_NO_THROW(multiply(version(), 1, a(many, 2, 3), b(many, 3, 4), 0, c));
  EXPECT_THROW(multiply(version(), 1, a(many, 3, 3), b(many, 3, 4), 0, c), lab::invalid_input);
  EXPECT_THROW(multiply(version(), 1, a(many, 2, 3), b(many, 3, 5), 0, c), lab::invalid_input);
  EXPECT_THROW(multiply(version(), 1, a(many, 2, 3), b(many, 4, 4), 0, c), lab::invalid_input);
  EXPECT_THROW(multiply(version(), 1, a(many, 2, 3), b(many, 3, 4), 0, {many, 4, 2, 2}),
               lab::invalid_input);
}

TEST_P(EachStep, RefusesPitchesShorterThanARow) {
  const vector many(64, 1.0F);
  const row_major fits_a = a(many, 2, 3), fits_b = b(many, 3, 4), fits_c{many, 2, 4, 4};
  for (int which_one = 0; which_one < 3; ++which_one) {
    row_major one = fits_a, two = fits_b, three = fits_c;
    row_major& bad = which_one == 0 ? one : which_one == 1 ? two : three;
    bad.pitch = bad.cols - 1;
    EXPECT_THROW(multiply(version(), 1, one, two, 0, three), lab::invalid_input);
  }
}

TEST_P(EachStep, RefusesDataThatIsTooShort) {
  const vector many(64, 1.0F);
  const row_major fits_a = a(many, 2, 3), fits_b = b(many, 3, 4), fits_c{many, 2, 4, 4};
  for (int which_one = 0; which_one < 3; ++which_one) {
    row_major one = fits_a, two = fits_b, three = fits_c;
    row_major& bad = which_one == 0 ? one : which_one == 1 ? two : three;
    const std::size_t needed = (bad.rows - 1) * bad.pitch + bad.cols;
    bad.data = bad.data.first(needed);
    EXPECT_NO_THROW(multiply(version(), 1, one, two, 0, three));
    bad.data = bad.data.first(needed - 1);
    EXPECT_THROW(multiply(version(), 1, one, two, 0, three), lab::invalid_input);
  }
}

TEST_P(EachStep, RefusesMoreThanAnIntCanCount) {
  const std::size_t many = std::size_t{1} << 32;  // as an int it would be 0
  EXPECT_THROW(multiply(version(), 1, {{}, 0, 0, many}, {{}, 0, 0, 0}, 0, {{}, 0, 0, 0}),
               lab::invalid_input);
}

TEST_P(EachStep, TakesAsManyRowsAsAnIntCanCount) {
  const std::size_t many = std::numeric_limits<int>::max();  // of no columns: nothing is stored
  EXPECT_TRUE(multiply(version(), 1, a({}, many, 0), b({}, 0, 0), 0, {{}, many, 0, 0}).c.empty());
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector six(6, 1.0F), four(4, 9.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), 1, a(six, 2, 3), b(six, 3, 2), 0, {four, 2, 2, 2}).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector left = lab::random_floats(8, 1, -1, 1), right = lab::random_floats(12, 2, -1, 1);
  const vector c = lab::random_floats(6, 3, -1, 1);
  expect_failures_reported(
      [&] {
        return multiply(version(), 3, a(left, 2, 4), b(right, 4, 3), -2, {c, 2, 3, 3}).c;
      },
      left, right, c);
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    const auto square = [](std::uint64_t seed, int low, int high) {
      return whole_numbers(kDefaultSize, kDefaultSize, 0, seed, low, high);
    };
    const matrix left = square(1, -2500, 4095), right = square(2, -1, 2), old = square(3, -9, 14);
    // 500 products of at most 4095 * 2, three times that, and 28: below 2^24.
    return matches(check(multiply(version(), 3, left.view(), right.view(), -2, old.view()).c,
                         version(), 3, left.view(), right.view(), -2, old.view(), true));
  });
}

}  // namespace
