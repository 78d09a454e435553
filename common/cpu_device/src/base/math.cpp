// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Functions that CUDA has beyond the C library, in double. The float forms round these.

#include <cmath>
#include <limits>

#include "cpu_device/math_functions.h"

namespace cpu_device {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.1415926535897932385;
constexpr double kTwoOverRootPi = 1.1283791670955125739;
constexpr double kRootHalf = 0.70710678118654752440, kRootHalfRest = -4.8336466567264565e-17;

/// sin(pi t) for |t| <= 1/2, more digits than one cosine or sine of a rounded pi * t would have.
double sine_of_half_turns(double t) {
  if (std::fabs(t) <= 0.25) return std::sin(kPi * t);
  return std::copysign(std::cos(kPi * (0.5 - std::fabs(t))), t);
}

/// A first guess at erfinv, good to three digits; `log_term` is log(1 - x * x).
double guess_erfinv(double log_term) {
  constexpr double kA = 0.147;
  const double b = 2 / (kPi * kA) + log_term / 2;
  return std::sqrt(std::sqrt(b * b - log_term / kA) - b);
}

/// The y > 0 with erfc(y) == c, for 0 < c <= 1/2.
double inverse_of_erfc(double c) {
  const double log_c = std::log(c);
  double y = guess_erfinv(log_c + std::log(2 - c));
  if (c < 1e-5) {  // Newton's method on the logarithm, which is nearly a parabola there
    for (int i = 0; i < 4; ++i) {
      const double scaled = erfcx(y);  // erfc(y) is that times exp(-y^2)
      y += (std::log(scaled) - y * y - log_c) * scaled / kTwoOverRootPi;
    }
    return y;
  }
  for (int i = 0; i < 3; ++i) {  // Halley's method: each step triples the digits
    const double u = (std::erfc(y) - c) / (-kTwoOverRootPi * std::exp(-y * y));
    y -= u / (1 + y * u);
  }
  return y;
}

/// The scale by which `largest` comes close to 1, as a power of two.
int scale_of(double largest) { return -std::ilogb(largest); }

struct scaled_length {
  double length;
  int exponent;  // what the values were multiplied by, as a power of two
  bool special;  // zero, infinite or not a number: the length is as it stands
};

scaled_length measure(int count, const double* values) {
  double largest = 0;
  bool nan = false;
  for (int i = 0; i < count; ++i) {
    const double v = std::fabs(values[i]);
    nan |= v != v;
    if (v > largest) largest = v;
  }
  if (largest == kInfinity) return {kInfinity, 0, true};  // whatever else there is
  if (nan) return {kNan, 0, true};
  if (largest == 0) return {0, 0, true};
  const int exponent = scale_of(largest);
  double sum = 0, rest = 0;
  for (int i = 0; i < count; ++i) {
    const double v = std::ldexp(values[i], exponent), square = v * v;
    const double total = sum + square;
    rest += std::fma(v, v, -square) + sum_error(sum, square, total);
    sum = total;
  }
  return {std::sqrt(sum + rest), exponent, false};
}

/// The power series of a modified Bessel function. All of its terms are positive; long double,
/// because the roundings of one term are handed on to all that follow.
double bessel_series(double x, double first, double order) {
  const long double q = static_cast<long double>(x) * static_cast<long double>(x) / 4;
  long double term = static_cast<long double>(first), sum = term;
  for (long double k = 1; term > sum * 1e-18L; ++k) {
    term *= q / (k * (k + static_cast<long double>(order)));
    sum += term;
  }
  return static_cast<double>(sum);
}
/// The asymptotic series for large x, order 0 or 1.
double bessel_large(double x, double order) {
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (double k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    term *= -(mu - (2 * k - 1) * (2 * k - 1)) / (k * 8 * x);
    sum += term;
  }
  const double root = std::exp(x / 2);  // exp(x) alone is infinite too early
  return root * (sum / std::sqrt(2 * kPi * x)) * root;
}

}  // namespace

double rcbrt(double x) {
  const double y = 1 / std::cbrt(x);
  if (y == 0 || y - y != 0) return y;
  // One Newton step with y scaled, so that its cube is neither too large nor too small.
  const int e = std::ilogb(y);
  const double s = std::ldexp(y, -e), v = std::ldexp(x, 3 * e);  // v * s^3 is about 1
  const double square = s * s, square_rest = std::fma(s, s, -square);
  const double a = v * s, a_rest = std::fma(v, s, -a);
  const double error = std::fma(-a, square, 1.0) - (a_rest * square + a * square_rest);
  return std::ldexp(std::fma(s, error / 3, s), e);
}

double sinpi(double x) {
  if (x == 0 || x - x != 0) return x - x != 0 ? kNan : x;
  double t = x - 2 * std::rint(x / 2);  // exact, within [-1, 1]
  if (t == std::rint(t)) return std::copysign(0.0, x);
  if (t > 0.5) t = 1 - t;
  if (t < -0.5) t = -1 - t;
  return sine_of_half_turns(t);
}

double cospi(double x) {
  if (x - x != 0) return kNan;
  const double t = std::fabs(x - 2 * std::rint(x / 2));
  if (t == 0.5) return 0;
  if (t < 0.25) return std::cos(kPi * t);
  if (t > 0.75) return -std::cos(kPi * (1 - t));
  return std::sin(kPi * (0.5 - t));
}

double erfcx(double x) {
  if (x < 10) {
    if (x < -26.7) return kInfinity;
    // exp(x * x) of the exact square.
    const double square = x * x, rest = std::fma(x, x, -square);
    const double power = std::exp(square);
    return (power + power * rest) * std::erfc(x);
  }
  if (x != x) return x;
  const double u = 1 / (2 * x * x);
  double term = 1, sum = 1;
  for (double k = 1; k < 40 && std::fabs(term) > 1e-17; ++k) {
    term *= -(2 * k - 1) * u;
    sum += term;
  }
  return sum * (kTwoOverRootPi / 2) / x;
}

double erfinv(double x) {
  const double a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(kInfinity, x) : kNan;
  if (a < 1e-8) return x / kTwoOverRootPi;
  if (a > 0.5) return std::copysign(inverse_of_erfc(1 - a), x);
  double y = a < 1e-2 ? a / kTwoOverRootPi : guess_erfinv(std::log1p(-a * a));
  for (int i = 0; i < 3; ++i) {
    const double u = (std::erf(y) - a) / (kTwoOverRootPi * std::exp(-y * y));
    y -= u / (1 + y * u);
  }
  return std::copysign(y, x);
}

double erfcinv(double c) {
  if (!(c >= 0) || c > 2) return kNan;
  if (c == 0) return kInfinity;
  if (c == 2) return -kInfinity;
  if (c <= 0.5) return inverse_of_erfc(c);
  if (c >= 1.5) return -inverse_of_erfc(2 - c);
  return erfinv(1 - c);
}

double normcdf(double x) {
  if (x != x) return x;
  if (x < -39) return 0;
  if (x > 9) return 1;
  // -x / sqrt(2) to twice the digits: in the tail, erfc makes much of a small difference.
  const double y = -x * kRootHalf;
  const double rest = std::fma(-x, kRootHalf, -y) - x * kRootHalfRest;
  return (std::erfc(y) - kTwoOverRootPi * std::exp(-y * y) * rest) / 2;
}

double normcdfinv(double p) {
  const double y = erfcinv(2 * p);
  return -y / kRootHalf;
}

double bessel_i0(double x) {
  x = std::fabs(x);
  if (x - x != 0) return x;
  return x < 30 ? bessel_series(x, 1, 0) : bessel_large(x, 0);
}
double bessel_i1(double x) {
  const double a = std::fabs(x);
  if (a - a != 0) return x;
  return std::copysign(a < 30 ? bessel_series(a, a / 2, 1) : bessel_large(a, 1), x);
}

double norm(int count, const double* values) {
  const scaled_length l = measure(count, values);
  return l.special ? l.length : std::ldexp(l.length, -l.exponent);
}
double rnorm(int count, const double* values) {
  const scaled_length l = measure(count, values);
  return l.special ? 1 / l.length : std::ldexp(1 / l.length, l.exponent);
}
double norm_of_floats(int count, const float* values) {
  double sum = 0;  // the square of a float is far from the ends of double
  bool infinite = false;
  for (int i = 0; i < count; ++i) {
    infinite |= std::isinf(values[i]);
    sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return infinite ? kInfinity : std::sqrt(sum);
}

}  // namespace cpu_device
