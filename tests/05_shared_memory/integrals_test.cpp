// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "integrals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::integrals::exact;
using lab::integrals::integrand;
using lab::integrals::integrate;
using lab::integrals::kDefaultPanels;
using lab::integrals::reference;
using lab::integrals::rule;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

struct named_rule {
  rule value;
  const char* name;
};
constexpr named_rule kRules[] = {
    {rule::midpoint, "midpoint"}, {rule::trapezoid, "trapezoid"}, {rule::simpson, "simpson"}};

/// An integrand with limits that are not symmetric, and that no panel's width divides evenly.
struct named_integral {
  integrand f;
  double a, b;
  const char* name;
};
constexpr named_integral kIntegrals[] = {{integrand::bell, 0, 1, "bell"},
                                         {integrand::sine, -0.7, 2.9, "sine"},
                                         {integrand::exponential, -1.25, 2, "exponential"},
                                         {integrand::cubic, -2, 3.1, "cubic"},
                                         {integrand::half_circle, -1, 1, "half_circle"},
                                         {integrand::half_circle, -0.3, 0.9, "part_of_circle"}};

::testing::AssertionResult is_the_rule(rule quadrature, integrand f, double a, double b,
                                       std::size_t n) {
  const auto expected = reference(quadrature, f, a, b, n);
  return matches(lab::compare(integrate(quadrature, f, a, b, n).value, expected.value,
                              {.absolute = expected.bound}));
}

double error_of(rule quadrature, integrand f, double a, double b, std::size_t n) {
  return integrate(quadrature, f, a, b, n).value - exact(f, a, b);
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsSharePanels) {
  for (const auto& [quadrature, name] : kRules) {
    const lab::testing::work done = work_of([&, quadrature = quadrature] {
      return is_the_rule(quadrature, integrand::sine, -0.7, 2.9, 10'241);
    });
    std::uint64_t blocks = 2;
    for (const auto& k : done.kernels) blocks = std::max(blocks, k.blocks);
    EXPECT_TRUE(as_required(done, {.threads = 512,
                                   .blocks = 2,
                                   .fetched = blocks * sizeof(double),  // the host adds them
                                   .writes = blocks * sizeof(double),
                                   .registers = true,
                                   .exchanges = blocks}))  // of warps' sums, at least
        << name;
    EXPECT_TRUE(at_other_sizes([quadrature = quadrature](std::size_t n) {
      return is_the_rule(quadrature, integrand::sine, -0.7, 2.9, n);
    })) << name;
  }
}

class Integral
    : public ::testing::TestWithParam<std::tuple<named_rule, named_integral, std::size_t>> {};

// Around a warp and blocks of 256, none of them a multiple but two; a prime.
INSTANTIATE_TEST_SUITE_P(
    Rules, Integral,
    ::testing::Combine(::testing::ValuesIn(kRules), ::testing::ValuesIn(kIntegrals),
                       ::testing::Values(1, 2, 3, 31, 32, 33, 255, 256, 257, 512, 1021, 10'241)),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param).name + "_n" +
             std::to_string(std::get<2>(test.param));
    });

TEST_P(Integral, IsWhatTheRuleGives) {
  const auto& [quadrature, integral, n] = GetParam();
  EXPECT_TRUE(is_the_rule(quadrature.value, integral.f, integral.a, integral.b, n));
}

TEST_P(Integral, IsTheNegativeTheOtherWayRound) {
  const auto& [quadrature, integral, n] = GetParam();
  EXPECT_TRUE(is_the_rule(quadrature.value, integral.f, integral.b, integral.a, n));
}

class EachRule : public ::testing::TestWithParam<named_rule> {
 protected:
  rule quadrature() const { return GetParam().value; }
};
INSTANTIATE_TEST_SUITE_P(Rules, EachRule, ::testing::ValuesIn(kRules),
                         [](const auto& test) { return test.param.name; });

TEST_P(EachRule, HasMorePanelsThanThreads) {
  // Whole rounds of 1024 blocks of 256, one less, one more, and something else.
  for (const std::size_t n : {262'143, 262'144, 262'145, 600'011})
    EXPECT_TRUE(is_the_rule(quadrature(), integrand::bell, -0.5, 3, n)) << n << " panels";
}

TEST_P(EachRule, HasTheProgramsPanels) {
  expect_at_full_size(
      [&] { return is_the_rule(quadrature(), integrand::bell, 0, 1, kDefaultPanels); });
}

TEST_P(EachRule, StaysWithinTheBoundWhereAllRoundingsGoOneWay) {
  // From 512 on, a sum of these values is rounded down with each one that is added, by nearly half
  // its last digit. A thread that adds all 1000 loses 244 * 2^-53 of the sum; the bound is 35.
  constexpr double kFrom = 63 * 0x1p-50, kTo = kFrom * (1 + 0x1p-20);  // e^x is 1 + x
  EXPECT_TRUE(is_the_rule(quadrature(), integrand::exponential, kFrom, kTo, 1000));
}

TEST_P(EachRule, IsZeroWhereNothingIsBetweenTheLimits) {
  for (const auto& integral : kIntegrals)
    EXPECT_EQ(integrate(quadrature(), integral.f, 0.25, 0.25, 1000).value, 0.0) << integral.name;
  EXPECT_EQ(integrate(quadrature(), integrand::exponential, 800, 800, 10).value, 0.0)
      << "e^800 does not fit in a double";
  EXPECT_EQ(integrate(quadrature(), integrand::sine, 1, 1, lab::integrals::kMaxPanels).value, 0.0);
}

TEST_P(EachRule, FindsPi) {
  // The rules' own errors for 4 / (1 + x²) from 0 to 1 are h²/12, -h²/6 and -(5/8064) h^6, and
  // less than 1 % more, for the next term has h^4 more, and h^4 < 10^-8 and a small factor.
  constexpr double kWidth = 0.01;
  constexpr double kFactors[] = {1.0 / 12, -1.0 / 6, 0};
  const double error = integrate(quadrature(), integrand::bell, 0, 1, 100).value - std::numbers::pi;
  const double expected = kFactors[static_cast<int>(quadrature())] * kWidth * kWidth;
  EXPECT_NEAR(error, expected, std::fabs(expected) * 0.01 + 2e-14);
}

TEST_P(EachRule, FindsPanelsWhoseEdgesHaveAnInfiniteSum) {
  // Half of an infinite sum is not the middle. No sine is above 1, so no value is above the width.
  constexpr double kFrom = 1e308, kTo = 1.2e308;
  for (const std::size_t n : {1, 2, 1000}) {
    EXPECT_LE(std::fabs(integrate(quadrature(), integrand::sine, kFrom, kTo, n).value), kTo - kFrom)
        << n << " panels";
    EXPECT_LE(std::fabs(integrate(quadrature(), integrand::sine, -kFrom, -kTo, n).value),
              kTo - kFrom)
        << n << " panels";
  }
}

TEST_P(EachRule, RefusesLimitsThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr double kHuge = std::numeric_limits<double>::max();
  for (const double wrong : {kInfinity, -kInfinity, kNaN}) {
    EXPECT_THROW(integrate(quadrature(), integrand::sine, wrong, 1, 10), lab::invalid_input)
        << wrong;
    EXPECT_THROW(integrate(quadrature(), integrand::sine, 1, wrong, 10), lab::invalid_input)
        << wrong;
    EXPECT_THROW(integrate(quadrature(), integrand::sine, wrong, wrong, 10), lab::invalid_input)
        << wrong;
  }
  EXPECT_THROW(integrate(quadrature(), integrand::sine, -kHuge, kHuge, 10), lab::invalid_input);
}

TEST_P(EachRule, RefusesNoPanelsAndTooMany) {
  EXPECT_THROW(integrate(quadrature(), integrand::sine, 0, 1, 0), lab::invalid_input);
  EXPECT_THROW(integrate(quadrature(), integrand::sine, 1, 1, 0), lab::invalid_input);
  EXPECT_THROW(integrate(quadrature(), integrand::sine, 0, 1, lab::integrals::kMaxPanels + 1),
               lab::invalid_input);
}

TEST_P(EachRule, RefusesToLeaveTheCircle) {
  EXPECT_THROW(integrate(quadrature(), integrand::half_circle, 0, 1.5, 10), lab::invalid_input);
  EXPECT_THROW(integrate(quadrature(), integrand::half_circle, -1.0001, 0, 10), lab::invalid_input);
}

TEST_P(EachRule, ForgetsThePreviousCall) {
  // (The last bits may depend on the order in which threads add.)
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(is_the_rule(quadrature(), integrand::exponential, 0, 1, 5000)) << "call " << call;
    EXPECT_TRUE(is_the_rule(quadrature(), integrand::sine, 0, 1, 3)) << "call " << call;
  }
}

TEST_P(EachRule, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return integrate(quadrature(), integrand::sine, 0, 1, 1000).kernel_ms;
  }));
}

// --- orders of convergence -----------------------------------------------------------------------

/// A rule's error is c * h^order * (1 + next * h² * s) and terms of h^4 more. For sin, whose
/// derivatives alternate, s = 1; for e^x, all of whose derivatives are the same, s = -1. (Euler and
/// Maclaurin's formula: h²/24 and 7h^4/5760 for the midpoint, h²/12 and h^4/720 for the trapezoid;
/// Simpson's is a third of the trapezoid and two thirds of the midpoint: h^4/2880 and h^6/96768.)
struct convergence {
  named_rule quadrature;
  int order;
  double next;
};
class Order : public ::testing::TestWithParam<convergence> {};
INSTANTIATE_TEST_SUITE_P(Rules, Order,
                         ::testing::Values(convergence{kRules[0], 2, 7.0 / 240},
                                           convergence{kRules[1], 2, 1.0 / 60},
                                           convergence{kRules[2], 4, 5.0 / 168}),
                         [](const auto& test) { return test.param.quadrature.name; });

TEST_P(Order, IsAsTheFormulaSaysForSmoothFunctions) {
  const auto& [quadrature, order, next] = GetParam();
  struct smooth {
    integrand f;
    double a, b, sign;
  };
  for (const auto& integral :
       {smooth{integrand::sine, 0, 2, 1}, smooth{integrand::exponential, -1, 1, -1}}) {
    for (const std::size_t n : {4, 8, 16}) {
      const double h = (integral.b - integral.a) / static_cast<double>(n);
      const double ratio = error_of(quadrature.value, integral.f, integral.a, integral.b, n) /
                           error_of(quadrature.value, integral.f, integral.a, integral.b, 2 * n);
      // Half the width: (1 + t) / (1 + t/4) times 2^order, t = next * h² * s. That is 1 + 3/4 t
      // and less than t/4 more or less.
      const double beyond = (ratio / std::exp2(order) - 1) * integral.sign;
      EXPECT_GT(beyond, 0.5 * next * h * h) << "n = " << n << ", ratio " << ratio;
      EXPECT_LT(beyond, 1.0 * next * h * h) << "n = " << n << ", ratio " << ratio;
    }
  }
}

TEST_P(Order, DropsToOneAndAHalfAtAnInfiniteSlope) {
  // Next to 1 the half circle is √(2t) * (1 - t/4 …), with t = 1 - x, and the error of a root is
  // h^1.5 * (1 + c * h), where |c| is below 0.07 for each of the rules. So the ratio is
  // 2^1.5 * (1 + c * h / 2), to first order.
  for (const std::size_t n : {8, 16, 32, 64}) {
    const double h = 1.0 / static_cast<double>(n);
    const double ratio = error_of(GetParam().quadrature.value, integrand::half_circle, 0, 1, n) /
                         error_of(GetParam().quadrature.value, integrand::half_circle, 0, 1, 2 * n);
    EXPECT_NEAR(ratio / std::exp2(1.5), 1, 0.07 * h) << "n = " << n << ", ratio " << ratio;
  }
}

TEST(Simpson, IsExactForCubics) {
  for (const std::size_t n : {1, 2, 3, 100, 257}) {
    const double value = integrate(rule::simpson, integrand::cubic, -1, 3.5, n).value;
    const double bound = reference(rule::simpson, integrand::cubic, -1, 3.5, n).bound;
    EXPECT_TRUE(matches(lab::compare(value, exact(integrand::cubic, -1, 3.5), {.absolute = bound})))
        << n << " panels";
    EXPECT_GT(std::fabs(error_of(rule::trapezoid, integrand::cubic, -1, 3.5, n)), 1e-4)
        << "the trapezoid rule is not";
  }
}

TEST(Simpson, IsOfOrderSixForPi) {
  // The term of h^4 has the third derivative at both ends, and for 4 / (1 + x²) it is 0 at 0 and
  // at 1. What remains is -(5/8064) h^6, and the next term is of h^10: its factor is below 1.
  for (const std::size_t n : {4, 8, 16}) {
    const double h = 1.0 / static_cast<double>(n);
    const double error = error_of(rule::simpson, integrand::bell, 0, 1, n);
    EXPECT_NEAR(error / (-5.0 / 8064 * std::pow(h, 6)), 1, 0.01 + 1e-15 / std::fabs(error))
        << "n = " << n;
  }
}

TEST(Midpoint, FindsEveryPanelFarFromZero) {
  // Here doubles are 2^-32 apart. Of the width, 2^-15 / 3, no multiple by a power of 2 is one of
  // them: each time that a thread adds one to the place of a panel to find its next panel, the
  // error grows by a third of 2^-32, and 1024 threads have 96 panels each.
  constexpr double kFrom = 0x1p20 + 2.5;
  EXPECT_TRUE(is_the_rule(rule::midpoint, integrand::sine, kFrom, kFrom + 1, 3 << 15));
}

FAULT_TEST_P(EachRule, ReportsEveryCallThatFails) {
  const rule quadrature = GetParam().value;
  expect_failures_reported([&] { return is_the_rule(quadrature, integrand::bell, 0, 1, 1000); });
}

}  // namespace
