// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "blas1.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

const lab::testing::timed_once kInPlace;  // scale and axpy change a vector where it is

using lab::testing::at_other_sizes;
using lab::testing::by_library;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::work_of;
using namespace lab::blas1;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using array = std::vector<double>;

/// Numbers from low to high, all different (except by chance), and none of them 0.
array random_array(std::size_t size, std::uint64_t seed, float low = -2, float high = 3) {
  const std::vector<float> numbers = lab::random_floats(size, seed, low, high);
  array result(numbers.begin(), numbers.end());
  for (double& x : result) x += x >= 0 ? 0x1p-30 : -0x1p-30;
  return result;
}

/// Small whole numbers: sums of their products are exact in every order.
array whole_numbers(std::size_t size, std::uint64_t seed, int low, int high) {
  const std::vector<int> numbers = lab::random_ints(size, seed, low, high);
  return array(numbers.begin(), numbers.end());
}

std::size_t length(std::size_t n, int increment) {
  return n == 0 ? 0 : (n - 1) * static_cast<std::size_t>(increment) + 1;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheRoutinesOfCublas) {
  const array x = whole_numbers(5003, 1, 1, 9), y = whole_numbers(5003, 2, 1, 9);
  const strided vx{x, 1}, vy{y, 1};
  const auto asks_for = [&](std::size_t vectors, const std::string& routine) {
    lab::testing::required expected = by_library({routine});
    expected.sent = vectors * bytes_of(x);
    return expected;
  };
  const auto expect_by = [&](const std::string& routine, std::size_t vectors, const auto& is_right,
                             const char* step = "") {
    EXPECT_TRUE(as_required(work_of([&] { return is_right(5003); }), asks_for(vectors, routine)))
        << step;
    EXPECT_TRUE(at_other_sizes(is_right, by_library({routine}))) << step;
  };
  // (What y held need not get to the device: nothing of it is left.)
  expect_by("cublasDcopy", 1, [&](std::size_t n) {
    return matches(lab::compare_exact(copy(n, vx, vy).data, copy_reference(n, vx, vy)));
  });
  expect_by("cublasDscal", 1, [&](std::size_t n) {
    return matches(lab::compare_exact(scale(n, 2.5, vx).data, scale_reference(n, 2.5, vx)));
  });
  for (const double alpha : {1.0, 0.0})
    EXPECT_TRUE(work_of([&] {
                  return scale(9, alpha, vx).data[0] == alpha * x[0];
                }).calls.contains("cublasDscal"))
        << "alpha = " << alpha;
  EXPECT_TRUE(as_required(work_of([&] {
                            return dot(step::device_result, 5003, vx, vy).value ==
                                   dot_reference(5003, vx, vy);
                          }),
                          by_library({"cublasDdot", "cublasSetPointerMode"})))
      << "device_result";
  for (const step version : {step::host_result, step::device_result})
    expect_by(
        "cublasDdot", 2,
        [&](std::size_t n) { return dot(version, n, vx, vy).value == dot_reference(n, vx, vy); },
        version == step::host_result ? "host_result" : "device_result");
  expect_by("cublasDnrm2", 1, [&](std::size_t n) {
    return matches(
        lab::compare(norm(n, vx).value, norm_reference(n, vx), {.absolute = norm_bound(n, vx)}));
  });
}

// --- every size and increment --------------------------------------------------------------------

class Blas1 : public ::testing::TestWithParam<std::tuple<std::size_t, int, int>> {
 protected:
  std::size_t n() const { return std::get<0>(GetParam()); }
  int incx() const { return std::get<1>(GetParam()); }
  int incy() const { return std::get<2>(GetParam()); }
  /// Arrays that are a few elements longer than the vectors in them.
  array x(std::uint64_t seed) const { return random_array(length(n(), incx()) + 3, seed); }
  array y(std::uint64_t seed) const { return random_array(length(n(), incy()) + 5, seed); }
};

INSTANTIATE_TEST_SUITE_P(Sizes, Blas1,
                         ::testing::Combine(::testing::Values(0, 1, 2, 31, 32, 33, 127, 128, 129,
                                                              1021, 5003),
                                            ::testing::Values(1, 2, 7), ::testing::Values(1, 2)),
                         [](const auto& test) {
                           return "n" + std::to_string(std::get<0>(test.param)) + "_incx" +
                                  std::to_string(std::get<1>(test.param)) + "_incy" +
                                  std::to_string(std::get<2>(test.param));
                         });

TEST_P(Blas1, CopiesTheElementsAndNothingElse) {
  const array from = x(1), to = y(2);
  const strided vx{from, incx()}, vy{to, incy()};
  EXPECT_TRUE(matches(lab::compare_exact(copy(n(), vx, vy).data, copy_reference(n(), vx, vy))));
}

TEST_P(Blas1, ScalesTheElementsAndNothingElse) {
  const array from = x(3);
  for (const double alpha : {-2.5, 0.1, 1.0, 0.0})
    EXPECT_TRUE(matches(lab::compare_exact(scale(n(), alpha, {from, incx()}).data,
                                           scale_reference(n(), alpha, {from, incx()}))))
        << "alpha = " << alpha;
}

TEST_P(Blas1, DotIsExactForWholeNumbers) {
  const array a = whole_numbers(length(n(), incx()) + 3, n() + 4, -9, 14);
  const array b = whole_numbers(length(n(), incy()) + 5, n() + 5, 1, 29);
  const strided vx{a, incx()}, vy{b, incy()};
  for (const step version : {step::host_result, step::device_result})
    EXPECT_EQ(dot(version, n(), vx, vy).value, dot_reference(n(), vx, vy));
}

TEST_P(Blas1, DotIsWithinTheBound) {
  const array a = x(6), b = y(7);
  const strided vx{a, incx()}, vy{b, incy()};
  for (const step version : {step::host_result, step::device_result})
    EXPECT_TRUE(matches(lab::compare(dot(version, n(), vx, vy).value, dot_reference(n(), vx, vy),
                                     {.absolute = dot_bound(n(), vx, vy)})));
}

TEST_P(Blas1, NormIsWithinTheBound) {
  const array a = x(8);
  const strided vx{a, incx()};
  EXPECT_TRUE(matches(lab::compare(norm(n(), vx).value, norm_reference(n(), vx),
                                   {.absolute = norm_bound(n(), vx)})));
}

// --- norms that a sum of squares does not survive ------------------------------------------------

class Norm : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Magnitudes, Norm, ::testing::Values(1e-300, 1e-200, 1e-160, 1e155, 1e200),
                         [](const auto& test) {
                           return "e" + std::to_string(test.index);  // names take no signs
                         });

TEST_P(Norm, OfHugeAndTinyElementsIsWithinTheBound) {
  array a = random_array(1021, 9);
  for (double& x : a) x *= GetParam();
  const strided vx{a, 2};
  const std::size_t n = 511;
  ASSERT_FALSE(std::isnormal(dot_bound(n, vx, vx))) << "a sum of squares would pass this test";
  EXPECT_TRUE(matches(
      lab::compare(norm(n, vx).value, norm_reference(n, vx), {.absolute = norm_bound(n, vx)})));
}

TEST(Norm, OfOneHugeElementAmongSmallOnesIsThatElement) {
  array a(1000, 1.0);
  a[617] = -1e200;
  EXPECT_TRUE(matches(lab::compare(norm(1000, {a}).value, 1e200, {.relative = 8 * 0x1p-53})));
}

TEST(Norm, IsTheTextbooksFive) {
  const array a = {3, 1e10, -4, 1e10};
  const strided v{a, 2};
  EXPECT_TRUE(
      matches(lab::compare(norm(2, v).value, 5.0, {.absolute = lab::blas1::norm_bound(2, v)})));
}

TEST(Norm, IsNeverFiniteWhereAnElementIsNot) {
  array a(100, 1.0);
  a[99] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(std::isfinite(norm(100, {a}).value));
  a[50] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(std::isfinite(norm(100, {a}).value));
}

// --- the text's example --------------------------------------------------------------------------

TEST(TheText, CopiesScalesAndMultiplies) {
  const array x = {1, 2, 3, 4, 5}, nothing(5);
  const array y = copy(5, {x}, {nothing}).data;
  EXPECT_EQ(y, x);
  const array doubled = scale(5, 2, {y}).data;
  EXPECT_EQ(doubled, (array{2, 4, 6, 8, 10}));
  EXPECT_EQ(dot(step::host_result, 5, {doubled}, {x}).value, 110.0);
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Refusals, OfIncrementsThatAreNotPositive) {
  const array a(10, 1.0);
  for (const int increment : {0, -1})
    for (const std::size_t n : {3U, 0U}) {
      EXPECT_THROW(copy(n, {a, increment}, {a}), lab::invalid_input) << n;
      EXPECT_THROW(copy(n, {a}, {a, increment}), lab::invalid_input) << n;
      EXPECT_THROW(scale(n, 2, {a, increment}), lab::invalid_input) << n;
      EXPECT_THROW(dot(step::host_result, n, {a, increment}, {a}), lab::invalid_input) << n;
      EXPECT_THROW(dot(step::device_result, n, {a}, {a, increment}), lab::invalid_input) << n;
      EXPECT_THROW(norm(n, {a, increment}), lab::invalid_input) << n;
    }
}

TEST(Refusals, OfArraysThatAreTooShort) {
  const array ten(10, 1.0), nine(9, 1.0);
  EXPECT_NO_THROW(copy(4, {ten, 3}, {ten, 3}));
  EXPECT_THROW(copy(4, {nine, 3}, {ten, 3}), lab::invalid_input);
  EXPECT_THROW(copy(4, {ten, 3}, {nine, 3}), lab::invalid_input);
  EXPECT_THROW(scale(10, 2, {nine}), lab::invalid_input);
  EXPECT_THROW(dot(step::host_result, 10, {ten}, {nine}), lab::invalid_input);
  EXPECT_THROW(dot(step::device_result, 10, {nine}, {ten}), lab::invalid_input);
  EXPECT_THROW(norm(10, {nine}), lab::invalid_input);
}

TEST(Refusals, OfMoreThanAnIntCanCount) {
  const array a(10, 1.0);
  const std::size_t n = std::size_t{1} << 32;  // as an int it would be 0, and nothing would happen
  EXPECT_THROW(norm(n, {a}), lab::invalid_input);
  EXPECT_THROW(scale(n + 1, 2, {a}), lab::invalid_input);
  // Four times 2^62 is 2^64, which is 0 again: as if one element were asked for.
  EXPECT_THROW(norm((std::size_t{1} << 62) + 1, {a, 4}), lab::invalid_input);
}

TEST(Refusals, SayThatTheArrayIsTooShortForAsManyAsAnIntCanCount) {
  const array a(10, 1.0);
  try {
    norm(std::numeric_limits<int>::max(), {a});
    ADD_FAILURE() << "no exception was thrown";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find("x has 10"), std::string::npos) << error.what();
  }
}

// --- calls in a row ------------------------------------------------------------------------------

TEST(Dot, ForgetsThePreviousCall) {
  const array ones(5000, 1.0), twos(3, 2.0);
  for (const step version : {step::host_result, step::device_result, step::host_result}) {
    EXPECT_EQ(dot(version, 5000, {ones}, {ones}).value, 5000.0);
    EXPECT_EQ(dot(version, 3, {twos}, {twos}).value, 12.0);
  }
}

TEST(Dot, TakesTwoVectorsOfOneArray) {
  // They begin at the same element; one has its elements further apart, so it ends later.
  const array all = whole_numbers(600, 8, -9, 14);
  const std::span<const double> start(all.data(), 200);
  for (const step version : {step::host_result, step::device_result})
    for (const auto& [x, y] : {std::pair<strided, strided>({start, 1}, {all, 3}),
                               {{all, 3}, {start, 1}},
                               {{all, 2}, {all, 3}},
                               {{all, 1}, {all, 1}}})
      EXPECT_EQ(dot(version, 200, x, y).value, dot_reference(200, x, y))
          << x.increment << " and " << y.increment;
}

TEST(Copy, TakesTwoVectorsOfOneArray) {
  // y is a copy of what the array held before, also where the vectors share elements.
  const array all = whole_numbers(600, 10, -99, 140);
  const std::span<const double> start(all.data(), 200);
  for (const auto& [x, y] : {std::pair<strided, strided>({all, 1}, {all, 2}),
                             {{all, 2}, {all, 1}},
                             {{all, 3}, {all, 3}},
                             {{start, 1}, {all, 3}},
                             {{all, 3}, {start, 1}}})
    EXPECT_TRUE(matches(lab::compare_exact(copy(200, x, y).data, copy_reference(200, x, y))))
        << x.increment << " and " << y.increment;
}

TEST(Times, AreThoseOfTheCallOfCublas) {
  const array a(1000, 1.0);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return copy(1000, {a}, {a}).kernel_ms; }));
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return scale(1000, 2, {a}).kernel_ms; }));
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return dot(step::host_result, 1000, {a}, {a}).kernel_ms; }));
  EXPECT_TRUE(is_time_of(timed::kernel,
                         [&] { return dot(step::device_result, 1000, {a}, {a}).kernel_ms; }));
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return norm(1000, {a}).kernel_ms; }));
}

FAULT_TEST(Errors, OfEveryCallAreReported) {
  const array x = random_array(9, 1), y = random_array(13, 2);
  expect_failures_reported([&] { return copy(4, {x, 2}, {y, 3}).data; }, x, y);
  expect_failures_reported([&] { return scale(4, 3, {x, 2}).data; }, x);
  for (const step version : {step::host_result, step::device_result})
    expect_failures_reported([&] { return dot(version, 4, {x, 2}, {y, 3}).value; }, x, y);
  expect_failures_reported([&] { return norm(4, {x, 2}).value; }, x);
}

TEST(Blas1, IsExactAtTheProgramsSize) {
  expect_at_full_size([] {
    const array a = whole_numbers(kDefaultSize, 1, -9, 14),
                b = whole_numbers(kDefaultSize, 2, 1, 29);
    const strided x{a, 1}, y{b, 1};
    EXPECT_TRUE(matches(lab::compare_exact(copy(kDefaultSize, x, y).data, a)));
    EXPECT_TRUE(matches(
        lab::compare_exact(scale(kDefaultSize, -2, x).data, scale_reference(kDefaultSize, -2, x))));
    for (const step version : {step::host_result, step::device_result})
      EXPECT_EQ(dot(version, kDefaultSize, x, y).value, dot_reference(kDefaultSize, x, y));
    EXPECT_TRUE(matches(lab::compare(norm(kDefaultSize, x).value, norm_reference(kDefaultSize, x),
                                     {.absolute = norm_bound(kDefaultSize, x)})));
  });
}

}  // namespace
