// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "gram_schmidt.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <regex>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::gram_schmidt::check;
using lab::gram_schmidt::kDefaultSize;
using lab::gram_schmidt::largest_cosine;
using lab::gram_schmidt::nearly_parallel;
using lab::gram_schmidt::orthogonalize;
using lab::gram_schmidt::staircase;
using lab::gram_schmidt::staircase_result;
using lab::gram_schmidt::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::classical, "classical"}, {step::modified, "modified"}};

::testing::AssertionResult is_right(step version, const vector& a, std::size_t count,
                                    std::size_t length) {
  return matches(check(version, a, orthogonalize(version, a, count, length).b, count, length));
}

/// Whole numbers, vectors of the given length, each different from the others in every place.
vector orthogonal_vectors(std::size_t length) {
  // Signs so that any two rows differ in just half of their places; row k times k + 1.
  vector a(length * length);
  for (std::size_t k = 0; k < length; ++k)
    for (std::size_t i = 0; i < length; ++i)
      a[k * length + i] = static_cast<float>(k + 1) * (__builtin_parityll(k & i) != 0 ? -1 : 1);
  return a;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(KernelsForProductsAndSubtractions) {
  const vector a = lab::random_floats(8 * 1021, 1, -9, 4);
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(
        as_required(work_of([&, version = version] { return is_right(version, a, 8, 1021); }),
                    {.threads = 256,
                     .blocks = 2,
                     .kernels = 2 * 7,
                     .sent = bytes_of(a),
                     .fetched = bytes_of(a),
                     .reads = 7 * bytes_of(a),
                     .writes = bytes_of(a) / 8 * 7}))  // the first stays as it is
        << name;
    // Short vectors have few components for a thread, and yet a thread for each few. (Those that
    // have none store a sum, too.)
    for (const std::size_t length : {7, 31, 40, 200, 257})
      EXPECT_TRUE(as_required(work_of([&, version = version] {
                                return is_right(version, vector(a.begin(), a.begin() + 3 * length),
                                                3, length);
                              }),
                              {.threads = length / 4 + 1,
                               .kernels = 2 * 2,
                               .reads = 2 * 3 * length * sizeof(float),
                               .share = 8}))
          << name << ": 3 vectors of " << length;
    EXPECT_TRUE(at_other_sizes([version = version](unsigned n) {
      return is_right(version, lab::random_floats(2 * (n + 1), n, -9, 4), 2, n + 1);
    })) << name;
  }
}

REQUIRED_WORK(TheHostOnlyAddsPartialSumsAndDivides) {
  // So long that partial sums are negligible beside the vectors, which are copied there and back
  // once.
  const vector a = lab::random_floats(4 * 70'001, 1, -9, 4);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_right(version, a, 4, 70'001); });
    EXPECT_TRUE(as_required(done, {.threads = 256, .kernels = 6})) << name;
    EXPECT_LT(done.bytes_copied(cudaMemcpyHostToDevice), bytes_of(a) / 2 * 3) << name;
    EXPECT_LT(done.bytes_copied(cudaMemcpyDeviceToHost), bytes_of(a) / 2 * 3) << name;
    std::size_t written = 0;
    for (const auto& k : done.kernels) written += k.writes;
    if (version == step::classical) {
      EXPECT_LT(written, bytes_of(a) / 4 * 5)
          << name << ": all projections are subtracted at once, in one store for each component";
    }

    // So short that all components are what is left after the last whole warp.
    const vector few(a.begin(), a.begin() + 2 * 31);
    EXPECT_LE(work_of([&, version = version] {
                return is_right(version, few, 2, 31);
              }).bytes_copied(cudaMemcpyHostToDevice),
              bytes_of(few) + 4 * sizeof(double))
        << name << ": more than the vectors and coefficients: did the host subtract?";
  }
}

// --- every step, at every shape -----------------------------------------------------------------

struct shape {
  std::size_t count, length;
};

class Shapes : public ::testing::TestWithParam<std::tuple<named_step, shape>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  std::size_t count() const { return std::get<1>(GetParam()).count; }
  std::size_t length() const { return std::get<1>(GetParam()).length; }
};

// Around a warp and a block of 256 components, where the threads begin to take turns; one vector,
// two, a square; a prime.
INSTANTIATE_TEST_SUITE_P(
    Steps, Shapes,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1}, shape{1, 300}, shape{2, 2}, shape{2, 3},
                                         shape{3, 31}, shape{5, 32}, shape{4, 33}, shape{32, 33},
                                         shape{7, 255}, shape{8, 256}, shape{9, 257}, shape{3, 511},
                                         shape{12, 513}, shape{40, 1021})),
    [](const auto& test) {
      const shape& its = std::get<1>(test.param);
      return std::string(std::get<0>(test.param).name) + "_" + std::to_string(its.count) + "_of_" +
             std::to_string(its.length);
    });

TEST_P(Shapes, AreOrthogonalAndSpanTheSame) {
  const auto a = lab::random_floats(count() * length(), 10 * count() + length(), -3, 5);
  EXPECT_TRUE(is_right(version(), a, count(), length()));
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  void expect_refusal(const vector& a, std::size_t count, std::size_t length,
                      const std::string& word) const {
    try {
      orthogonalize(version(), a, count, length);
      ADD_FAILURE() << "not refused; a sentence with '" << word << "' was expected";
    } catch (const lab::invalid_input& error) {
      EXPECT_TRUE(std::regex_search(error.what(), std::regex(word))) << error.what();
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

// --- results that are known ---------------------------------------------------------------------

TEST_P(EachStep, LeavesOrthogonalVectorsAsTheyAre) {
  // Their dot products are whole numbers, and 0: there is nothing to round.
  const vector a = orthogonal_vectors(64);
  EXPECT_TRUE(matches(lab::compare_exact(orthogonalize(version(), a, 64, 64).b, a)));
}

TEST_P(EachStep, LeavesTheFirstVectorAsItIs) {
  const auto a = lab::random_floats(4 * 300, 3, -9, 9);
  const auto b = orthogonalize(version(), a, 4, 300).b;
  EXPECT_TRUE(matches(
      lab::compare_exact(vector(b.begin(), b.begin() + 300), vector(a.begin(), a.begin() + 300))));
}

TEST_P(EachStep, IsExactWhereTheCoefficientsAreSimple) {
  // The coefficient of (1, 1, 1, 1) is 1, then 2; that of (3, -1, -1, -1) is 1/2.
  const vector a = {1, 1, 1, 1, 4, 0, 0, 0, 3.5F, 3.5F, 0.5F, 0.5F};
  const vector b = {1, 1, 1, 1, 3, -1, -1, -1, 0, 2, -1, -1};
  EXPECT_TRUE(matches(lab::compare_exact(orthogonalize(version(), a, 3, 4).b, b)));
}

TEST_P(EachStep, MakesOfTheStaircaseWhatTheClosedFormSays) {
  for (const std::size_t n : {1, 2, 3, 4, 31, 33, 64, 100}) {
    const auto b = orthogonalize(version(), staircase(n), n, n).b;
    // Each of up to n projections rounds at most twice, and so does its coefficient, of vectors
    // that are no longer than sqrt(n): far above what is seen, far below the smallest component.
    EXPECT_TRUE(matches(lab::compare(
        b, staircase_result(n),
        {.absolute = 4 * static_cast<double>(n) * std::sqrt(static_cast<double>(n)) * 0x1p-24})))
        << n << " vectors";
    EXPECT_TRUE(matches(check(version(), staircase(n), b, n, n))) << n << " vectors";
  }
}

TEST_P(EachStep, DoesNotMindHowLongTheVectorsAre) {
  // Powers of two change no digit: the results are the same ones, scaled. (2^-40 is so short that
  // it would be nothing beside 1, and is not nothing; nor is a coefficient of 2^-55.)
  constexpr std::size_t kCount = 6, kLength = 40;
  const auto a = lab::random_floats(kCount * kLength, 5, -1, 2);
  const vector b = orthogonalize(version(), a, kCount, kLength).b;
  for (const bool shorter : {false, true}) {
    vector scaled = a, expected = b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t k = i / kLength;
      const int exponent = 11 * static_cast<int>(shorter ? kCount - 1 - k : k) - 40;
      scaled[i] = std::ldexp(scaled[i], exponent);
      expected[i] = std::ldexp(expected[i], exponent);
    }
    EXPECT_TRUE(
        matches(lab::compare_exact(orthogonalize(version(), scaled, kCount, kLength).b, expected)))
        << "each vector is " << (shorter ? "shorter" : "longer") << " than the one before it";
  }
}

TEST_P(EachStep, LosesNothingBesideALargePartialSum) {
  // In floats, 2^24 + 1/4 is 2^24, however often the 1/4 is added.
  constexpr std::size_t kLength = 256;
  vector a(2 * kLength);
  std::fill_n(a.begin(), kLength, 0.5F);
  a[0] = a[kLength] = 4096;
  EXPECT_TRUE(is_right(version(), a, 2, kLength));
}

TEST_P(EachStep, IsExactForAMillionAndSixComponents) {
  // (1, 1, 1, ...), and (2, 0, 2, ...), of which (1, -1, 1, ...) is left.
  expect_at_full_size([&] {
    constexpr std::size_t kLength = 1'000'006;
    vector a(2 * kLength, 1), b = a;
    for (std::size_t i = 0; i < kLength; ++i) {
      b[kLength + i] = i % 2 == 0 ? 1 : -1;
      a[kLength + i] = 1 + b[kLength + i];
    }
    return matches(lab::compare_exact(orthogonalize(version(), a, 2, kLength).b, b));
  });
}

TEST_P(EachStep, IsExactForMoreVectorsThanABlockHasThreads) {
  // Unit vectors, each with the one before it and the first one added: all coefficients are 1 or 0.
  expect_at_full_size([&] {
    constexpr std::size_t kCount = 258;
    vector a(kCount * kCount), b = a;
    for (std::size_t k = 0; k < kCount; ++k) {
      b[k * kCount + k] = 1;
      for (const std::size_t i : {k, k - std::min<std::size_t>(k, 1), std::size_t{0}})
        a[k * kCount + i] = 1;
    }
    return matches(lab::compare_exact(orthogonalize(version(), a, kCount, kCount).b, b));
  });
}

// --- the difference between the two -------------------------------------------------------------

/// Of a_1 and a_2 only (0, -e, e, 0) and (0, -e, 0, e) remain. In floats, the classical step has
/// computed a_2's share of b_1 from a_2 as it was given, and it was 0. With sums and coefficients
/// in double it loses nothing here.
::testing::AssertionResult loses_it_in_floats(double cosine) {
  if (std::fabs(cosine - 0.5) <= 1e-3 || cosine < 0x1p-20) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "the largest cosine of an angle is " << cosine << "; expected is 0.5, as projections "
         << "of the given vectors leave it (or nearly 0, if they are computed in double)";
}

TEST(Classical, LosesItWhereVectorsAreNearlyParallel) {
  const auto b = orthogonalize(step::classical, nearly_parallel(), 3, 4).b;
  EXPECT_TRUE(loses_it_in_floats(largest_cosine(b, 3, 4)));
  EXPECT_TRUE(matches(check(step::classical, nearly_parallel(), b, 3, 4)));
}

TEST(Classical, BeginsWithTheGivenVectorsWhenItIsRepeated) {
  // As a program repeats it to measure its time. A second run on vectors that are already
  // orthogonal would make them more so.
  const auto once = orthogonalize(step::classical, nearly_parallel(), 3, 4).b;
  const lab::repeated_timing samples(3);
  const auto b = orthogonalize(step::classical, nearly_parallel(), 3, 4).b;
  EXPECT_NEAR(largest_cosine(b, 3, 4), largest_cosine(once, 3, 4), 1e-3);
}

TEST(Modified, KeepsItWhereVectorsAreNearlyParallel) {
  const auto b = orthogonalize(step::modified, nearly_parallel(), 3, 4).b;
  EXPECT_LT(largest_cosine(b, 3, 4), 0x1p-12);
  EXPECT_TRUE(matches(check(step::modified, nearly_parallel(), b, 3, 4)));
}

// --- refusals -----------------------------------------------------------------------------------

TEST_P(EachStep, HasNoResultForNoVectors) {
  EXPECT_TRUE(orthogonalize(version(), {}, 0, 0).b.empty());
  EXPECT_TRUE(orthogonalize(version(), {}, 0, 17).b.empty());
  EXPECT_EQ(orthogonalize(version(), {}, 0, 17).milliseconds, 0.0F) << "there is no kernel to time";
}

TEST_P(EachStep, RefusesWrongSizes) {
  expect_refusal(vector(11, 1.0F), 3, 4, "11");
  expect_refusal(vector(13, 1.0F), 3, 4, "13");
  expect_refusal(vector(5, 1.0F), 0, 4, "5");
  expect_refusal(vector(5, 1.0F), 5, 0, "5");
  expect_refusal({}, 3, 4, "3");
  expect_refusal(vector(4, 1.0F), (std::size_t{1} << 62) + 1, 4, "4");  // times 4 that is 4 again
}

TEST_P(EachStep, RefusesMoreVectorsThanComponents) {
  expect_refusal(lab::random_floats(5 * 4, 1, -1, 1), 5, 4, "dependent");
  expect_refusal({}, 3, 0, "dependent");
}

TEST_P(EachStep, RefusesASumOfTheOthersAndNamesIt) {
  constexpr std::size_t kLength = 300;
  auto a = lab::random_floats(6 * kLength, 8, -1, 1);
  for (std::size_t i = 0; i < kLength; ++i)
    a[4 * kLength + i] = 2 * a[i] - 0.5F * a[2 * kLength + i] + a[3 * kLength + i];
  expect_refusal(a, 6, kLength, "vector 4\\b");
}

TEST_P(EachStep, RefusesParallelVectorsAndTheZeroVector) {
  expect_refusal({1, 2, 3, -3, -6, -9}, 2, 3, "vector 1\\b");
  expect_refusal({0, 0, 0, 1, 2, 3}, 2, 3, "vector 0\\b");
  expect_refusal({1, 2, 3, 0, 0, 0}, 2, 3, "vector 1\\b");
}

TEST_P(EachStep, RefusesWhatMayBeRoundingAndNothingElse) {
  // Of a_1 = (1, r, 0, …) only r is left, without any rounding.
  constexpr std::size_t kLength = 9;
  for (const std::size_t count : {2, 3, 8}) {
    vector a(count * kLength);
    for (std::size_t k = 2; k < count; ++k) a[k * kLength + k] = 1;
    a[0] = a[kLength] = 1;
    float& left = a[kLength + 1];
    left = static_cast<float>(count) * 0x1p-20F;
    expect_refusal(a, count, kLength, "vector 1\\b");
    left *= 1 + 0x1p-10F;
    EXPECT_TRUE(is_right(version(), a, count, kLength)) << count << " vectors";
  }
}

TEST_P(EachStep, RefusesVectorsTooShortForTheirSquares) {
  EXPECT_TRUE(is_right(version(), {0x1.001p-50F, 0, 1e18F, 1e18F}, 2, 2));
  for (const float length : {0x1p-50F, 1e-21F, 1e-22F, 1e-23F, 1e-40F}) {
    expect_refusal({length, 0, 1, 1}, 2, 2, "vector 0\\b");
    expect_refusal({1, 0, 0, length}, 2, 2, "vector 1\\b");
  }
}

TEST_P(EachStep, RefusesWhatIsNoNumber) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30F}) {
    expect_refusal({1, 2, 3, 4, bad, 6}, 2, 3, "vector 1\\b");
    expect_refusal({bad, 2, 3, 4, 5, 6}, 2, 3, "vector 0\\b");
  }
}

TEST_P(EachStep, WorksAgainAfterARefusalAndForgetsThePreviousCall) {
  const auto large = lab::random_floats(20 * 400, 1, -1, 1);
  const auto small = lab::random_floats(3 * 5, 2, -1, 1);
  EXPECT_TRUE(is_right(version(), large, 20, 400));
  expect_refusal(vector(6, 1.0F), 2, 3, "vector 1\\b");
  EXPECT_TRUE(is_right(version(), small, 3, 5));
  EXPECT_TRUE(is_right(version(), large, 20, 400));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return orthogonalize(version(), staircase(10), 10, 10).milliseconds;
  }));
}

// --- the check itself: what it must reject ------------------------------------------------------

class Check : public ::testing::Test {
 protected:
  static constexpr std::size_t kCount = 8, kLength = 50;
  const vector a = lab::random_floats(kCount * kLength, 77, -1, 2);

  /// A right result, computed in double.
  vector right() const {
    const auto rows = lab::gram_schmidt::rows_of(a, kCount, kLength);
    std::vector<lab::gram_schmidt::wide_vector> exact;
    vector b;
    for (std::size_t j = 0; j < kCount; ++j) {
      exact.push_back(lab::gram_schmidt::next_vector(step::modified, rows[j], exact, j));
      for (const double component : exact[j]) b.push_back(static_cast<float>(component));
    }
    return b;
  }
  bool accepts(const vector& b) const {
    return check(step::modified, a, b, kCount, kLength).ok &&
           check(step::classical, a, b, kCount, kLength).ok;
  }
};

TEST_F(Check, AcceptsARightResult) {
  EXPECT_TRUE(matches(check(step::modified, a, right(), kCount, kLength)));
  EXPECT_TRUE(matches(check(step::classical, a, right(), kCount, kLength)));
}

TEST_F(Check, RejectsWhatIsNotOrthogonal) {
  EXPECT_FALSE(accepts(a));
  auto b = right();
  b[5 * kLength + 3] += 0.001F;
  EXPECT_FALSE(accepts(b));
}

TEST_F(Check, KnowsTheConditionOfSimpleVectors) {
  using lab::gram_schmidt::condition;
  EXPECT_DOUBLE_EQ(condition({{3, 0}}), 1);
  EXPECT_DOUBLE_EQ(condition({{0, 5, 0}, {2, 0, 0}, {0, 0, 1}}), 3);  // count: of Frobenius norms
  // Of lengths 1, at 60 degrees: R = (1 1/2; 0 s), its inverse (1 -1/(2s); 0 1/s), s * s = 3/4.
  EXPECT_DOUBLE_EQ(condition({{7, 0}, {1, std::sqrt(3.0)}}),
                   std::sqrt(2 * (1 + 1.0 / 3 + 4.0 / 3)));
  EXPECT_GT(condition({{1, 0}, {1, 1e-6}}), 1e6);
}

TEST_F(Check, TellsTheStepsApartWhereTheyDiffer) {
  const auto hard = nearly_parallel();
  const float e = hard[1];
  const vector classical = {1, e, 0, 0, 0, -e, e, 0, 0, -e, 0, e};
  const vector modified = {1, e, 0, 0, 0, -e, e, 0, 0, -e / 2, -e / 2, e};
  EXPECT_TRUE(matches(check(step::classical, hard, classical, 3, 4)));
  EXPECT_FALSE(check(step::classical, hard, modified, 3, 4).ok);
  EXPECT_FALSE(check(step::modified, hard, classical, 3, 4).ok);
}

TEST_F(Check, RejectsNaNZerosAndMissingVectors) {
  auto b = right();
  b.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(accepts(b));
  EXPECT_FALSE(accepts(vector(a.size(), 0.0F)));
  b = right();
  b.resize(b.size() - kLength);
  EXPECT_FALSE(accepts(b));
}

TEST_F(Check, RejectsOrthogonalVectorsOfAnotherSpan) {
  vector unit(a.size(), 0.0F);
  for (std::size_t k = 0; k < kCount; ++k) unit[k * kLength + k] = 1;
  EXPECT_FALSE(accepts(unit));
}

TEST_F(Check, RejectsVectorsThatAreTurnedScaledOrInAnotherOrder) {
  for (const float factor : {-1.0F, 0.5F, 1.0001F}) {
    auto b = right();
    for (std::size_t i = 3 * kLength; i < 4 * kLength; ++i) b[i] *= factor;
    EXPECT_FALSE(accepts(b)) << "factor " << factor;
  }
  auto b = right();
  std::swap_ranges(b.begin() + 2 * kLength, b.begin() + 3 * kLength, b.begin() + 4 * kLength);
  EXPECT_FALSE(accepts(b));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector a = lab::random_floats(3 * 33, 1, -1, 1);
  expect_failures_reported([&] { return is_right(version(), a, 3, 33); }, a);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return is_right(version(), lab::random_floats(kDefaultSize * kDefaultSize, 1, -3, 5),
                    kDefaultSize, kDefaultSize);
  });
}

}  // namespace
