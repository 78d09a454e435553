// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "triangular_solve.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <regex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "library_calls.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::by_library;
using lab::testing::bytes_of;
using lab::testing::work_of;
using namespace lab::triangular_solve;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using array = std::vector<double>;

const lab::testing::device_may_change kByTheContract;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A system whose arrays have NaN (a) and 77 (b) wherever nothing belongs to it.
struct random_system {
  random_system(step version, int n, int padding, int increment, std::uint64_t seed)
      : size(n), lda(n + padding), inc(increment) {
    const auto count = static_cast<std::size_t>(n), height = static_cast<std::size_t>(lda);
    a.assign(count * height, kNaN);
    b.assign(count * static_cast<std::size_t>(inc) + 2, 77);
    lab::random_source numbers(seed);
    for (std::size_t column = 0; column < count; ++column)
      for (std::size_t row = 0; row < count; ++row) {
        const double x = numbers.real(-1, 1);
        if (row == column)
          a[column * height + row] = x < 0 ? x - 0.5 : x + 0.5;
        else if (version == step::lower ? row > column : row < column)
          a[column * height + row] = 2 * x / n;
      }
    for (std::size_t i = 0; i < count; ++i)
      b[i * static_cast<std::size_t>(inc)] = numbers.real(-9, 5);
  }
  linear_system view() const { return {size, a, lda, b, inc}; }

  int size, lda, inc;
  array a, b;
};

struct shape {
  int n, padding, increment;
};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(OneCallOfCublas) {
  for (const step version : {step::lower, step::upper}) {
    const auto is_right = [version](const random_system& system) {
      return matches(check(solve(version, system.view()).x, version, system.view()));
    };
    const random_system system(version, 64, 0, 1, 1);
    EXPECT_TRUE(
        as_required(work_of([&] { return is_right(system); }), {.kernels = 0,
                                                                .sent = bytes_of(system.a),
                                                                .fetched = 64 * sizeof(double),
                                                                .calls = {"cublasDtrsv"},
                                                                .library = true}))
        << (version == step::lower ? "lower" : "upper");
    EXPECT_TRUE(at_other_sizes(
        [&](int n) {
          return is_right({version, n, 0, 1, 1});
        },
        by_library({"cublasDtrsv"})))
        << (version == step::lower ? "lower" : "upper");
  }
}

REQUIRED_WORK(CublasSolvesHoweverSimpleOrLargeTheSystemIs) {
  for (const step version : {step::lower, step::upper})
    for (const int n : {1, 2, 7, 300})
      for (const char* form : {"any numbers", "a diagonal matrix", "the identity", "b = 0"}) {
        const std::string_view is = form;
        random_system system(version, n, 0, 1, 1);
        const auto size = static_cast<std::size_t>(n);
        if (is == "b = 0") std::fill_n(system.b.begin(), size, 0.0);
        for (std::size_t i = 0; i < size * size; ++i) {
          const bool on_diagonal = i % (size + 1) == 0;
          if (is == "the identity" && on_diagonal) system.a[i] = 1;
          if ((is == "the identity" || is == "a diagonal matrix") && !on_diagonal) system.a[i] = 0;
        }
        const auto done = work_of([&] {
          return matches(check(solve(version, system.view()).x, version, system.view()));
        });
        lab::testing::required call = by_library({"cublasDtrsv"});
        if (is == "b = 0") call.fetched = 0;  // only zeros come back
        EXPECT_TRUE(as_required(done, call))
            << (version == step::lower ? "lower, " : "upper, ") << form << ", n = " << n;
      }
}

REQUIRED_WORK(ArraysThatAreOnTheDeviceAsOnTheHost) {
  // lda and the increment go to the library as they are: most of both arrays is between elements.
  for (const step version : {step::lower, step::upper}) {
    const random_system system(version, 8, 500, 1000, 1);
    const auto done = work_of(
        [&] { return matches(check(solve(version, system.view()).x, version, system.view())); });
    const char* const name = version == step::lower ? "lower" : "upper";
    EXPECT_TRUE(as_required(done, by_library({"cublasDtrsv"}))) << name;
    if (done.values && *done.values) {
      EXPECT_GE(lab::testing::allocated_bytes(done), sizeof(double) * (7 * 508 + 8 + 7 * 1000 + 1))
          << name << ": with this lda and this increment the arrays do not fit";
    }
  }
}

class Solve : public ::testing::TestWithParam<std::tuple<step, shape>> {};
INSTANTIATE_TEST_SUITE_P(
    Shapes, Solve,
    ::testing::Combine(::testing::Values(step::lower, step::upper),
                       ::testing::Values(shape{1, 0, 1}, shape{1, 4, 3}, shape{2, 0, 1},
                                         shape{3, 1, 2}, shape{31, 0, 1}, shape{32, 0, 1},
                                         shape{33, 0, 1}, shape{33, 31, 3}, shape{64, 0, 2},
                                         shape{65, 3, 1}, shape{127, 0, 1}, shape{257, 1, 2})),
    [](const auto& test) {
      const shape s = std::get<1>(test.param);
      return std::string(std::get<0>(test.param) == step::lower ? "lower" : "upper") + "_n" +
             std::to_string(s.n) + "_padding" + std::to_string(s.padding) + "_inc" +
             std::to_string(s.increment);
    });

TEST_P(Solve, LeavesNothingOfB) {
  const auto& [version, size] = GetParam();
  const random_system system(version, size.n, size.padding, size.increment,
                             static_cast<std::uint64_t>(size.n));
  EXPECT_TRUE(matches(check(solve(version, system.view()).x, version, system.view())));
}

// --- the text's system ---------------------------------------------------------------------------

TEST(TheText, IsSolved) {
  const text_system text;
  ASSERT_EQ(text.a[0], 11);
  ASSERT_EQ(text.a[6 + 1], 17);
  ASSERT_EQ(text.a[35], 31);
  const array x = solve(step::lower, text.view()).x;
  EXPECT_TRUE(matches(check(x, step::lower, text.view())));
  // By hand: 11 x0 = 1, and 12 x0 + 17 x1 = 1. (1 - 12/11 loses four bits to cancellation.)
  ASSERT_EQ(x.size(), 6U);
  EXPECT_TRUE(matches(lab::compare(x[0], 1.0 / 11, {.relative = 4 * 0x1p-53})));
  EXPECT_TRUE(matches(lab::compare(x[1], -1.0 / 187, {.relative = 64 * 0x1p-53})));
}

TEST(Solve, KnowsAnswersThatAreWholeNumbers) {
  // 2          x0      2
  // 3  4       x1  =  11
  // 5  6  8    x2     41
  const array a = {2, 3, 5, kNaN, 4, 6, kNaN, kNaN, 8}, b = {2, 11, 41};
  EXPECT_EQ(solve(step::lower, {3, a, 3, b, 1}).x, (array{1, 2, 3}));
  // 2  3  5    x0     23
  //    4  6    x1  =  26
  //       8    x2     24
  const array up = {2, kNaN, kNaN, 3, 4, kNaN, 5, 6, 8}, right = {23, 26, 24};
  EXPECT_EQ(solve(step::upper, {3, up, 3, right, 1}).x, (array{1, 2, 3}));
  // 1     x0  =  3        4  5  x0  =  7
  // 5  4  x1     7           1  x1     3
  for (const auto& [version, ones] : {std::pair{step::lower, array{1, 5, kNaN, 4}},
                                      std::pair{step::upper, array{4, kNaN, 5, 1}}}) {
    const bool down = version == step::lower;
    const array of_ones = down ? array{3, 7} : array{7, 3};
    EXPECT_EQ(solve(version, {2, ones, 2, of_ones, 1}).x, (down ? array{3, -2} : array{-2, 3}))
        << "a 1 on the diagonal, but not everywhere";
  }
}

TEST(Solve, ChangesNothingWithoutRows) {
  const array b = {1, 2};
  EXPECT_EQ(solve(step::lower, {0, {}, 1, b, 1}).x, b);
  EXPECT_TRUE(solve(step::upper, {0, {}, 1, {}, 1}).x.empty());
  EXPECT_EQ(solve(step::lower, {0, {}, 0, b, 1}).x, b);  // trsv itself would refuse this lda
}

TEST(Solve, ForgetsThePreviousCall) {
  const array a = {2}, four = {4}, six = {6};
  EXPECT_EQ(solve(step::lower, {1, a, 1, four, 1}).x, array{2});
  EXPECT_EQ(solve(step::lower, {1, a, 1, six, 1}).x, array{3});
  EXPECT_EQ(solve(step::lower, {1, a, 1, four, 1}).x, array{2});
}

TEST(Solve, IsRightWhenTheCallIsRepeated) {
  // As a program repeats it to measure its time: b is not the x of the previous call.
  const text_system text;
  const lab::repeated_timing samples(3);
  EXPECT_TRUE(matches(check(solve(step::lower, text.view()).x, step::lower, text.view())));
}

TEST(Solve, SaysHowLongItTook) {
  const text_system text;
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return solve(step::lower, text.view()).kernel_ms; }));
}

TEST(Solve, MakesTheDeviceThatItIsToldTheCurrentOne) {
  const text_system text;
  int devices = 0;
  ASSERT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  for (int device = devices; device-- > 0;) {
    const array x = solve(step::lower, text.view(), {.device = device}).x;
    EXPECT_TRUE(matches(check(x, step::lower, text.view()))) << "device " << device;
    int after = -1;
    ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
    EXPECT_EQ(after, device);
  }
}

// --- injected failures: each is noticed, named, and leaves nothing behind ------------------------

/// Expects that cuBLAS refuses it with this status, and that the error says so.
void expect_refused_by_cublas(const linear_system& system, const solve_options& options,
                              cublasStatus_t status) {
  try {
    solve(step::lower, system, options);
    ADD_FAILURE() << "no exception was thrown: a status was not checked";
  } catch (const lab::cublas_error& error) {
    EXPECT_EQ(error.status(), status) << error.what();
    EXPECT_EQ(error.file(), "triangular_solve.cu");
    EXPECT_NE(error.expression().find("trsv"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(lab::cublas_status_name(status)), std::string::npos);
  }
}

/// The sentence of the invalid_input that is thrown.
std::string refusal(const linear_system& system, const solve_options& options = {},
                    step version = step::lower) {
  try {
    solve(version, system, options);
  } catch (const lab::invalid_input& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// Whether the number of a row is in a sentence, whatever the other words are.
bool names_row(const std::string& sentence, std::size_t row) {
  return std::regex_search(sentence, std::regex("\\b" + std::to_string(row) + "\\b"));
}

/// Whether an invalid_input is thrown, whatever its sentence is.
bool is_refused(const linear_system& system, const solve_options& options = {}) {
  try {
    solve(step::lower, system, options);
  } catch (const lab::invalid_input&) {
    return true;
  }
  return false;
}

class Failure : public ::testing::Test {
 protected:
  text_system text_;
  linear_system system_ = text_.view();
};

TEST_F(Failure, NoHandle) {
  expect_refused_by_cublas(system_, {.with_handle = false}, CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Failure, NegativeN) {
  system_.n = -1;
  expect_refused_by_cublas(system_, {}, CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Failure, IncrementOfZero) {
  system_.increment = 0;
  expect_refused_by_cublas(system_, {}, CUBLAS_STATUS_INVALID_VALUE);
  system_.a = system_.a.first(35);  // too short, too: not checked for an increment of 0
  expect_refused_by_cublas(system_, {}, CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Failure, LeadingDimensionTooSmall) {
  for (const int lda : {5, 1, 0, -6}) {
    system_.lda = lda;
    expect_refused_by_cublas(system_, {}, CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_F(Failure, NoSuchDevice) {
  int before = -1, after = -1;
  ASSERT_EQ(cudaGetDevice(&before), cudaSuccess);
  try {
    solve(step::lower, system_, {.device = 12345});
    ADD_FAILURE() << "no exception was thrown: a CUDA error was not checked";
  } catch (const lab::cuda_error& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice) << error.what();
    EXPECT_EQ(error.file(), "triangular_solve.cu");
    EXPECT_NE(error.expression(), "a kernel launch")
        << "the call that failed was not checked: a later launch found its error";
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  ASSERT_EQ(cudaGetDevice(&after), cudaSuccess);
  EXPECT_EQ(after, before);
}

TEST_F(Failure, ArraysTooShort) {
  const array a = text_.a, b = text_.b;
  system_.a = std::span<const double>(a).first(35);
  EXPECT_TRUE(is_refused(system_)) << "36 elements are needed";
  system_.a = a;
  system_.b = std::span<const double>(b).first(5);
  EXPECT_TRUE(is_refused(system_)) << "6 elements are needed";
  EXPECT_TRUE(is_refused({2, a, 35, b, 1})) << "37 elements are needed";
  EXPECT_TRUE(is_refused({3, a, 3, b, 3})) << "7 elements are needed";
  EXPECT_TRUE(is_refused({1, {}, 1, b, 1})) << "a needs an element";
  EXPECT_TRUE(is_refused({1, a, 1, {}, 1})) << "b needs one, too";
  // Exactly long enough: the last column ends with its last row.
  EXPECT_NO_THROW(solve(step::lower, {2, std::span<const double>(a).first(36), 34, b, 5}));
}

TEST_F(Failure, NegativeIncrement) {
  system_.increment = -1;
  EXPECT_TRUE(is_refused(system_));
  EXPECT_TRUE(is_refused({1, array{2}, 1, array{1}, -1})) << "also where one element is enough";
}

TEST_F(Failure, ZeroOnTheDiagonal) {
  for (std::size_t row = 0; row < 6; ++row) {
    array a = text_.a;
    for (const double zero : {0.0, -0.0}) {
      a[row * 6 + row] = zero;
      if (row < 5) a[35] = 0;  // it is the first one that is named
      system_.a = a;
      for (const step version : {step::lower, step::upper})  // whichever unknown comes first
        EXPECT_TRUE(names_row(refusal(system_, {}, version), row)) << refusal(system_, {}, version);
    }
  }
  // The smallest number that is not zero is not refused.
  EXPECT_NO_THROW(solve(step::lower, {1, array{0x1p-1074}, 1, array{1}, 1}));
  EXPECT_TRUE(names_row(refusal({1, array{0}, 1, array{1}, 1}), 0));
  // Nor is a NaN, nor a zero beside the diagonal.
  EXPECT_TRUE(std::isnan(solve(step::lower, {1, array{kNaN}, 1, array{1}, 1}).x[0]));
  EXPECT_EQ(solve(step::lower, {2, array{2, 0, 0, 4}, 2, array{2, 8}, 1}).x, (array{1, 2}));
  EXPECT_EQ(solve(step::upper, {2, array{2, 0, 0, 4}, 2, array{2, 8}, 1}).x, (array{1, 2}));
  // With other rows and columns than the arrays suggest.
  const array a = {1, 5, 0, 0, 2, 0};
  const array b = {1, 1};
  EXPECT_NO_THROW(solve(step::lower, {2, a, 3, b, 1}));
  EXPECT_TRUE(names_row(refusal({2, a, 2, b, 1}), 1));
}

TEST_F(Failure, ZeroOnTheDiagonalThatIsTrusted) {
  // cuBLAS does not test for it: it divides, and reports success.
  array a = text_.a;
  a[2 * 6 + 2] = 0;
  system_.a = a;
  const array x = solve(step::lower, system_, {.trust_diagonal = true}).x;
  ASSERT_EQ(x.size(), 6U);
  EXPECT_FALSE(std::isfinite(x[2])) << x[2];
  EXPECT_FALSE(std::isfinite(x[5])) << x[5];
  EXPECT_FALSE(check(x, step::lower, system_).ok);
}

TEST_F(Failure, OnlyTheDiagonalIsTrusted) {
  const solve_options trusting = {.trust_diagonal = true};
  const array a = text_.a, b = text_.b;
  const std::span<const double> short_a = std::span(a).first(35), short_b = std::span(b).first(5);
  EXPECT_TRUE(is_refused({6, short_a, 6, b, 1}, trusting));
  EXPECT_TRUE(is_refused({6, a, 6, short_b, 1}, trusting));
  EXPECT_TRUE(is_refused({6, a, 6, b, -1}, trusting));
}

TEST_F(Failure, IsOverWhenItIsOver) {
  linear_system bad = system_;
  bad.lda = 5;
  EXPECT_THROW(solve(step::lower, bad), lab::cublas_error);
  EXPECT_THROW(solve(step::lower, system_, {.device = 12345}), lab::cuda_error);
  EXPECT_THROW(solve(step::lower, system_, {.with_handle = false}), lab::cublas_error);
  EXPECT_TRUE(matches(check(solve(step::lower, system_).x, step::lower, system_)));
}

// --- the check itself ----------------------------------------------------------------------------

TEST(Check, RejectsWhatIsNoSolution) {
  for (const step version : {step::lower, step::upper}) {
    const random_system system(version, 20, 3, 2, 5);
    const array right = solve(version, system.view()).x;
    ASSERT_TRUE(matches(check(right, version, system.view())));
    for (const double wrong : {0.0, right[14] * (1 + 0x1p-30), -right[14], kNaN, kInfinity}) {
      array changed = right;
      changed[14] = wrong;
      EXPECT_FALSE(check(changed, version, system.view()).ok) << wrong;
    }
    EXPECT_FALSE(check(system.b, version, system.view()).ok) << "b, as it was";
    EXPECT_FALSE(check(array(right.size(), kInfinity), version, system.view()).ok);
    EXPECT_FALSE(check(array(right.size() - 1), version, system.view()).ok);
    array changed = right;
    changed[15] = 0;  // between the elements of b
    EXPECT_FALSE(check(changed, version, system.view()).ok);
  }
}

TEST(Check, RejectsSolutionsOfWhatIsNoSystem) {
  const text_system text;
  for (const linear_system& wrong :
       {linear_system{-1, text.a, 6, text.b, 1}, linear_system{6, text.a, 5, text.b, 1},
        linear_system{6, text.a, 6, text.b, 0}, linear_system{6, text.a, 7, text.b, 1}})
    EXPECT_FALSE(check(text.b, step::lower, wrong).ok);
}

// The last one: if it is not refused, a GPU accesses memory far outside, and is of no use after
// that.
TEST(Lengths, AreNotCountedInInts) {
  const text_system text;  // 2^32 + 1 elements are needed: 1, if an int counts them
  const int huge = std::numeric_limits<int>::max();
  EXPECT_TRUE(is_refused({3, text.a, huge, text.b, 1}));
  EXPECT_TRUE(is_refused({5, text.a, 6, text.b, 1 << 30}));
}

FAULT_TEST_P(Solve, ReportsEveryCallThatFails) {
  const auto& [version, s] = GetParam();
  const random_system system(version, s.n, s.padding, s.increment, 1);
  expect_failures_reported([&, version = version] {
    return matches(check(solve(version, system.view()).x, version, system.view()));
  });
}

}  // namespace
