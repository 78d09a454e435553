// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Complex numbers against std::complex<long double>. Runs on the CPU device and on a GPU.

#include <cuComplex.h>

#include <complex>

#include "conformance.hpp"

namespace {

using namespace conformance;
using exact = std::complex<long double>;
using floats = three<float2>;
using doubles = three<double2>;

DEVICE_FUNCTION(f_add, float2, floats, cuCaddf(x.a, x.b));
DEVICE_FUNCTION(f_sub, float2, floats, cuCsubf(x.a, x.b));
DEVICE_FUNCTION(f_mul, float2, floats, cuCmulf(x.a, x.b));
DEVICE_FUNCTION(f_div, float2, floats, cuCdivf(x.a, x.b));
DEVICE_FUNCTION(f_fma, float2, floats, cuCfmaf(x.a, x.b, x.c));
DEVICE_FUNCTION(f_conj, float2, floats, cuConjf(x.a));
DEVICE_FUNCTION(f_abs, float2, floats, make_cuComplex(cuCabsf(x.a), 0.0F));
DEVICE_FUNCTION(f_parts, float2, floats, make_cuFloatComplex(cuCimagf(x.a), cuCrealf(x.a)));
DEVICE_FUNCTION(f_wide, double2, floats, cuComplexFloatToDouble(x.a));
DEVICE_FUNCTION(d_add, double2, doubles, cuCadd(x.a, x.b));
DEVICE_FUNCTION(d_sub, double2, doubles, cuCsub(x.a, x.b));
DEVICE_FUNCTION(d_mul, double2, doubles, cuCmul(x.a, x.b));
DEVICE_FUNCTION(d_div, double2, doubles, cuCdiv(x.a, x.b));
DEVICE_FUNCTION(d_fma, double2, doubles, cuCfma(x.a, x.b, x.c));
DEVICE_FUNCTION(d_conj, double2, doubles, cuConj(x.a));
DEVICE_FUNCTION(d_abs, double2, doubles, make_cuDoubleComplex(cuCabs(x.a), 0.0));
DEVICE_FUNCTION(d_parts, double2, doubles, make_cuDoubleComplex(cuCimag(x.a), cuCreal(x.a)));
DEVICE_FUNCTION(d_narrow, float2, doubles, cuComplexDoubleToFloat(x.a));

template <class V>
exact wide(V v) {
  return {static_cast<long double>(v.x), static_cast<long double>(v.y)};
}

/// Numbers of both signs, around `size`, with real and imaginary parts of different sizes.
template <class In>
std::vector<In> inputs(double size) {
  using part = decltype(In{}.a.x);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> any(-1.0, 1.0);
  std::vector<In> all;
  for (int i = 0; i < 5000; ++i) {
    In x{};
    for (auto* v : {&x.a, &x.b, &x.c}) {
      v->x = static_cast<part>(size * any(random));
      v->y = static_cast<part>(size * any(random) * (i % 3 == 0 ? 0.001 : 1.0));
    }
    all.push_back(x);
  }
  return all;
}

/// The error is at most `epsilons` of what `scale` gives: the size of the terms that are added.
template <class Function, class In, class Reference, class Scale>
void expect_close(const char* name, const std::vector<In>& all, Reference reference, Scale scale,
                  double epsilons) {
  const auto results = on_device<Function>(all);
  using part = std::decay_t<decltype(results[0].x)>;
  double worst = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const exact a = wide(all[i].a), b = wide(all[i].b), c = wide(all[i].c);
    const long double error = std::abs(wide(results[i]) - reference(a, b, c));
    const auto relative =
        static_cast<double>(error / scale(a, b, c) / std::numeric_limits<part>::epsilon());
    if (!(relative <= worst)) worst = relative;  // NaN is worst
    if (worst != worst) break;
  }
  EXPECT_LE(worst, epsilons) << name;
}

const auto size_of_a = [](exact a, exact, exact) { return std::abs(a); };
const auto size_of_sum = [](exact a, exact b, exact) { return std::abs(a) + std::abs(b); };
const auto size_of_product = [](exact a, exact b, exact) { return std::abs(a) * std::abs(b); };
const auto size_of_quotient = [](exact a, exact b, exact) { return std::abs(a) / std::abs(b); };
const auto size_of_all = [](exact a, exact b, exact c) {
  return std::abs(a) * std::abs(b) + std::abs(c);
};
const auto sum = [](exact a, exact b, exact) { return a + b; };
const auto difference = [](exact a, exact b, exact) { return a - b; };
const auto product = [](exact a, exact b, exact) { return a * b; };
const auto quotient = [](exact a, exact b, exact) { return a / b; };
const auto product_and_sum = [](exact a, exact b, exact c) { return a * b + c; };
const auto conjugate = [](exact a, exact, exact) { return std::conj(a); };
const auto magnitude = [](exact a, exact, exact) { return exact(std::abs(a)); };
const auto itself = [](exact a, exact, exact) { return a; };
const auto swapped = [](exact a, exact, exact) { return exact(a.imag(), a.real()); };

TEST(Complex, CalculatesInSinglePrecision) {
  const auto all = inputs<floats>(10);
  expect_close<f_add>("cuCaddf", all, sum, size_of_sum, 1);
  expect_close<f_sub>("cuCsubf", all, difference, size_of_sum, 1);
  expect_close<f_mul>("cuCmulf", all, product, size_of_product, 3);
  expect_close<f_div>("cuCdivf", all, quotient, size_of_quotient, 8);
  expect_close<f_fma>("cuCfmaf", all, product_and_sum, size_of_all, 3);
  expect_close<f_abs>("cuCabsf", all, magnitude, size_of_a, 3);
  expect_close<f_conj>("cuConjf", all, conjugate, size_of_a, 0);
  expect_close<f_parts>("cuCrealf, cuCimagf", all, swapped, size_of_a, 0);
  expect_close<f_wide>("cuComplexFloatToDouble", all, itself, size_of_a, 0);
}

TEST(Complex, CalculatesInDoublePrecision) {
  const auto all = inputs<doubles>(10);
  expect_close<d_add>("cuCadd", all, sum, size_of_sum, 1);
  expect_close<d_sub>("cuCsub", all, difference, size_of_sum, 1);
  expect_close<d_mul>("cuCmul", all, product, size_of_product, 3);
  expect_close<d_div>("cuCdiv", all, quotient, size_of_quotient, 8);
  expect_close<d_fma>("cuCfma", all, product_and_sum, size_of_all, 3);
  expect_close<d_abs>("cuCabs", all, magnitude, size_of_a, 3);
  expect_close<d_conj>("cuConj", all, conjugate, size_of_a, 0);
  expect_close<d_parts>("cuCreal, cuCimag", all, swapped, size_of_a, 0);
  expect_close<d_narrow>("cuComplexDoubleToFloat", all, itself, size_of_a, 1);
}

TEST(Complex, QuotientsAndMagnitudesOfLargeAndSmallNumbersStayInRange) {
  for (const double size : {1e30, 1e-30}) {
    const auto all = inputs<floats>(size);
    expect_close<f_div>("cuCdivf", all, quotient, size_of_quotient, 8);
    expect_close<f_abs>("cuCabsf", all, magnitude, size_of_a, 3);
  }
  for (const double size : {1e300, 1e-290}) {
    const auto all = inputs<doubles>(size);
    expect_close<d_div>("cuCdiv", all, quotient, size_of_quotient, 8);
    expect_close<d_abs>("cuCabs", all, magnitude, size_of_a, 3);
  }
}

}  // namespace
