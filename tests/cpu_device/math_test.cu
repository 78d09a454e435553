// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Device mathematics: accuracy within CUDA's documented bounds, special values, exact roundings,
// conversions and bit functions. Runs on the CPU device and on a GPU.

#include <math_constants.h>

#include <algorithm>

#include "conformance.hpp"

namespace {

using namespace conformance;
using float2s = two<float>;
using double2s = two<double>;
using float3s = three<float>;
using double3s = three<double>;
__extension__ typedef __int128 wide;

const long double kPiL = std::acos(-1.0L);

// --- single precision: full functions -----------------------------------------------------------

DEVICE_FUNCTION(f_rsqrtf, float, float, rsqrtf(x));
DEVICE_FUNCTION(f_rcbrtf, float, float, rcbrtf(x));
DEVICE_FUNCTION(f_sinpif, float, float, sinpif(x));
DEVICE_FUNCTION(f_cospif, float, float, cospif(x));
DEVICE_FUNCTION(f_exp10f, float, float, exp10f(x));
DEVICE_FUNCTION(f_erfcxf, float, float, erfcxf(x));
DEVICE_FUNCTION(f_normcdff, float, float, normcdff(x));
DEVICE_FUNCTION(f_erfinvf, float, float, erfinvf(x));
DEVICE_FUNCTION(f_sinf, float, float, sinf(x));
DEVICE_FUNCTION(f_expf, float, float, expf(x));
DEVICE_FUNCTION(f_sincosf_difference, float, float, [](float v) {
  float s = 0, c = 0;
  sincosf(v, &s, &c);
  return s - sinf(v) + (c - cosf(v));
}(x));
DEVICE_FUNCTION(f_sincospi_difference, float, float, [](float v) {
  float s = 0, c = 0;
  sincospif(v, &s, &c);
  return s - sinpif(v) + (c - cospif(v));
}(x));

long double exact_sinpi(long double x) {
  const long double t = x - 2 * std::rint(x / 2);
  return std::fabs(t) == 1 ? 0.0L : std::sin(kPiL * t);
}
long double exact_cospi(long double x) {
  const long double t = x - 2 * std::rint(x / 2);
  return std::fabs(t) == 0.5L ? 0.0L : std::cos(kPiL * t);
}
long double exact_normcdf(long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; }

TEST(SinglePrecision, IsWithinTheDocumentedErrors) {
  const auto all = magnitudes(1e-44F, 3e38F);
  expect_ulps<f_rsqrtf>(
      "rsqrtf", all, [](long double x) { return 1 / std::sqrt(x); }, 2);
  expect_ulps<f_rcbrtf>(
      "rcbrtf", all, [](long double x) { return 1 / std::cbrt(x); }, 1);
  expect_ulps<f_sinpif>("sinpif", spread(-9.0F, 9.0F), exact_sinpi, 1);
  expect_ulps<f_cospif>("cospif", spread(-9.0F, 9.0F), exact_cospi, 1);
  expect_ulps<f_exp10f>(
      "exp10f", spread(-44.0F, 38.0F), [](long double x) { return std::pow(10.0L, x); }, 2);
  expect_ulps<f_erfcxf>(
      "erfcxf", spread(-5.0F, 10.0F), [](long double x) { return std::exp(x * x) * std::erfc(x); },
      4);
  expect_ulps<f_normcdff>("normcdff", spread(-12.0F, 6.0F), exact_normcdf, 5);
  expect_ulps<f_sinf>(
      "sinf", spread(-100.0F, 100.0F), [](long double x) { return std::sin(x); }, 2);
  expect_ulps<f_expf>(
      "expf", spread(-87.0F, 88.0F), [](long double x) { return std::exp(x); }, 2);
}

TEST(SinglePrecision, ErfinvUndoesErf) {
  std::vector<float> x = spread(-0.999F, 0.999F);
  for (const float v : magnitudes(1e-30F, 0.1F, 200)) x.push_back(v);
  const auto y = on_device<f_erfinvf>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double v = y[i], slope = 2 / std::sqrt(kPiL) * std::exp(-v * v);
    const long double exact = v - (std::erf(v) - static_cast<long double>(x[i])) / slope;
    ASSERT_LE(ulps(y[i], exact), 2.5) << "erfinvf(" << x[i] << ") = " << y[i];
  }
}

TEST(SinglePrecision, TwoAtATimeAreTheTwo) {
  for (const float d : on_device<f_sincosf_difference>(spread(-20.0F, 20.0F, 500))) EXPECT_EQ(d, 0);
  for (const float d : on_device<f_sincospi_difference>(spread(-20.0F, 20.0F, 500)))
    EXPECT_EQ(d, 0);
}

DEVICE_FUNCTION(f_norm3df, float, float3s, norm3df(x.a, x.b, x.c));
DEVICE_FUNCTION(f_rnorm3df, float, float3s, rnorm3df(x.a, x.b, x.c));
DEVICE_FUNCTION(f_norm4df, float, float3s, norm4df(x.a, x.b, x.c, x.a));
DEVICE_FUNCTION(f_rnorm4df, float, float3s, rnorm4df(x.a, x.b, x.c, x.a));
DEVICE_FUNCTION(f_rhypotf, float, float3s, rhypotf(x.a, x.b));
DEVICE_FUNCTION(f_normf, float, float3s, [](const float3s& v) {
  const float all[] = {v.a, v.b, v.c};
  return normf(3, all);
}(x));

TEST(SinglePrecision, LengthsNeitherOverflowNorVanish) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> mantissa(-1, 1), exponent(-120, 120), near(-4, 4);
  std::vector<float3s> v = {{3e38F, 1e38F, 1e37F}, {1e-38F, 2e-40F, 3e-38F}, {0, 0, -5}};
  for (int i = 0; i < 2000; ++i) {
    const float scale = std::exp2(exponent(random));
    v.push_back({mantissa(random) * scale, mantissa(random) * scale * std::exp2(near(random)),
                 mantissa(random) * scale});
  }
  const auto n3 = on_device<f_norm3df>(v), r3 = on_device<f_rnorm3df>(v);
  const auto n4 = on_device<f_norm4df>(v), r4 = on_device<f_rnorm4df>(v);
  const auto rh = on_device<f_rhypotf>(v), nn = on_device<f_normf>(v);
  for (std::size_t i = 3; i < v.size(); ++i) {
    const long double a = v[i].a, b = v[i].b, c = v[i].c;
    const long double l3 = std::sqrt(a * a + b * b + c * c);
    const long double l4 = std::sqrt(a * a + b * b + c * c + a * a);
    EXPECT_LE(ulps(n3[i], l3), 3.5);
    EXPECT_LE(ulps(nn[i], l3), 3.5);
    EXPECT_LE(ulps(r3[i], 1 / l3), 2.5);
    EXPECT_LE(ulps(n4[i], l4), 3.5);
    EXPECT_LE(ulps(r4[i], 1 / l4), 2.5);
    EXPECT_LE(ulps(rh[i], 1 / std::sqrt(a * a + b * b)), 2.5);
  }
  EXPECT_LE(ulps(n3[0], std::sqrt(10.01L) * 1e38L), 3.5 + 1e6 * (n3[0] != n3[0]));
  EXPECT_TRUE(same(n3[2], 5.0F));
}

// --- double precision ---------------------------------------------------------------------------

DEVICE_FUNCTION(d_rsqrt, double, double, rsqrt(x));
DEVICE_FUNCTION(d_rcbrt, double, double, rcbrt(x));
DEVICE_FUNCTION(d_sinpi, double, double, sinpi(x));
DEVICE_FUNCTION(d_cospi, double, double, cospi(x));
DEVICE_FUNCTION(d_exp10, double, double, exp10(x));
DEVICE_FUNCTION(d_erfcx, double, double, erfcx(x));
DEVICE_FUNCTION(d_erfinv, double, double, erfinv(x));
DEVICE_FUNCTION(d_erfcinv, double, double, erfcinv(x));
DEVICE_FUNCTION(d_normcdf, double, double, normcdf(x));
DEVICE_FUNCTION(d_normcdfinv, double, double, normcdfinv(x));
DEVICE_FUNCTION(d_i0, double, double, cyl_bessel_i0(x));
DEVICE_FUNCTION(d_i1, double, double, cyl_bessel_i1(x));
DEVICE_FUNCTION(d_rhypot, double, double3s, rhypot(x.a, x.b));
DEVICE_FUNCTION(d_norm3d, double, double3s, norm3d(x.a, x.b, x.c));
DEVICE_FUNCTION(d_rnorm4d, double, double3s, rnorm4d(x.a, x.b, x.c, x.a));

TEST(DoublePrecision, IsWithinTheDocumentedErrors) {
  const auto all = magnitudes(1e-300, 1e300);
  expect_ulps<d_rsqrt>(
      "rsqrt", all, [](long double x) { return 1 / std::sqrt(x); }, 1);
  expect_ulps<d_rcbrt>(
      "rcbrt", all, [](long double x) { return 1 / std::cbrt(x); }, 1);
  expect_ulps<d_sinpi>("sinpi", spread(-9.0, 9.0), exact_sinpi, 2);
  expect_ulps<d_cospi>("cospi", spread(-9.0, 9.0), exact_cospi, 2);
  expect_ulps<d_exp10>(
      "exp10", spread(-300.0, 300.0), [](long double x) { return std::pow(10.0L, x); }, 2);
  expect_ulps<d_normcdf>("normcdf", spread(-12.0, 6.0), exact_normcdf, 5);
}

struct known {
  double x;
  long double value;
};
template <class Function, std::size_t N>
void expect_known(const char* name, const known (&table)[N], double most) {
  std::vector<double> x;
  for (const known& k : table) x.push_back(k.x);
  const auto y = on_device<Function>(x);
  for (std::size_t i = 0; i < N; ++i)
    EXPECT_LE(ulps(y[i], table[i].value), most + 0.5) << name << "(" << x[i] << ") = " << y[i];
}

TEST(DoublePrecision, GivesKnownValues) {  // computed with 200 bits
  const known erfcx[] = {{-26.0, 7.65772493149056835153e+293L}, {-5.0, 144009798674.661040411L},
                         {-2.0, 108.940904389977972412L},       {-0.5, 1.95236048918255709328L},
                         {0.25, 0.770346547730996743917L},      {1.0, 0.427583576155807004411L},
                         {1.5, 0.321585416454317502354L},       {5.0, 0.11070463773306862637L},
                         {9.0, 0.0623077240377746841465L},      {9.99, 0.0561966407068588201549L},
                         {10.01, 0.0560854543550019208619L},    {25.0, 0.0225495724326413589436L},
                         {100.0, 0.00564161378298943290356L},   {1e6, 5.64189583547474192156e-7L}};
  expect_known<d_erfcx>("erfcx", erfcx, 4);
  const known normcdf[] = {
      {-30.0, 4.90671392714818705953e-198L}, {-20.0, 2.75362411860623369508e-89L},
      {-10.0, 7.61985302416052606597e-24L},  {-1.0, 0.158655253931457051415L},
      {-0.1, 0.460172162722971016331L},      {0.5, 0.691462461274013103638L},
      {2.0, 0.9772498680518207928L},         {8.0, 0.999999999999999377904L}};
  expect_known<d_normcdf>("normcdf", normcdf, 5);
  const known erfcinv[] = {{0.25, 0.81341984759761854169L},
                           {1e-10, 4.5728249673894852748L},
                           {1e-100, 15.065574702592645704L},
                           {1e-300, 26.209469960516123886L}};
  expect_known<d_erfcinv>("erfcinv", erfcinv, 6);
  const known normcdfinv[] = {{0.975, 1.9599639845400538556L},
                              {0.001, -3.0902323061678135354L},
                              {1e-20, -9.2623400897984075796L}};
  expect_known<d_normcdfinv>("normcdfinv", normcdfinv, 8);
  const known i0[] = {{0.0, 1.0L},
                      {0.001, 1.000000250000015625L},
                      {-1.0, 1.2660658777520083356L},
                      {5.0, 27.2398718236044468945L},
                      {20.5, 70922869.8343170066494L},
                      {29.9, 708478330489.014526069L},
                      {30.1, 862432920031.779212493L},
                      {50.0, 293255378384933632665.0L},
                      {300.0, 4.4758473679350521181e+128L},
                      {700.0, 1.52959334767187373632e+302L}};
  expect_known<d_i0>("cyl_bessel_i0", i0, 6);
  const known i1[] = {{0.001, 0.000500000062500002614575L}, {-1.0, -0.565159103992485027208L},
                      {5.0, 24.3356421424505271991L},       {20.5, 69170831.6791843728665L},
                      {29.9, 696528308361.092694417L},      {30.1, 847983630191.54142663L},
                      {50.0, 290307859010355679675.0L},     {300.0, 4.46838138503695441387e+128L},
                      {700.0, 1.52850039023390068815e+302L}};
  expect_known<d_i1>("cyl_bessel_i1", i1, 6);
}

TEST(DoublePrecision, InverseErrorFunctionsUndoTheErrorFunctions) {
  std::vector<double> x = spread(-0.9999, 0.9999, 3000);
  for (const double v : magnitudes(1e-300, 0.1, 300)) x.push_back(v);
  const auto y = on_device<d_erfinv>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double v = y[i], slope = 2 / std::sqrt(kPiL) * std::exp(-v * v), a = x[i];
    const long double miss = a > 0.5L ? (1 - a) - std::erfc(v) : std::erf(v) - a;
    ASSERT_LE(ulps(y[i], v - miss / slope), 5.5) << "erfinv(" << x[i] << ") = " << y[i];
  }
  const auto c = magnitudes(1e-290, 1.9);
  const auto z = on_device<d_erfcinv>(c);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const long double v = z[i], slope = 2 / std::sqrt(kPiL) * std::exp(-v * v);
    const long double exact = v + (std::erfc(v) - static_cast<long double>(c[i])) / slope;
    ASSERT_LE(ulps(z[i], exact), 6.5) << "erfcinv(" << c[i] << ") = " << z[i];
  }
}

TEST(DoublePrecision, LengthsNeitherOverflowNorVanish) {
  const std::vector<double3s> v = {
      {3e300, 4e300, 0}, {3e-300, 4e-300, 0}, {1e308, 1e308, 1e307}, {2, -3, 6}, {5e-324, 0, 0}};
  const auto n = on_device<d_norm3d>(v), r = on_device<d_rnorm4d>(v), h = on_device<d_rhypot>(v);
  for (std::size_t i = 0; i < 4; ++i) {
    const long double a = v[i].a, b = v[i].b, c = v[i].c;  // long double has a wider exponent
    EXPECT_LE(ulps(n[i], std::sqrt(a * a + b * b + c * c)), 3.5);
    EXPECT_LE(ulps(r[i], 1 / std::sqrt(2 * a * a + b * b + c * c)), 3.5);
    EXPECT_LE(ulps(h[i], 1 / std::sqrt(a * a + b * b)), 2.5);
  }
  EXPECT_TRUE(same(n[4], 5e-324));
}

// --- special values -----------------------------------------------------------------------------

template <class Function, class T>
void expect_values(const char* name, const std::vector<two<T>>& table) {
  std::vector<T> x;
  for (const auto& row : table) x.push_back(row.a);
  const auto y = on_device<Function>(x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_TRUE(same(y[i], table[i].b)) << name << "(" << x[i] << ")";
}

TEST(SpecialValues, OfDoubleFunctions) {
  expect_values<d_rsqrt, double>(
      "rsqrt", {{0.0, kInf}, {-0.0, -kInf}, {kInf, 0.0}, {-1.0, kNan}, {kNan, kNan}, {4, 0.5}});
  expect_values<d_rcbrt, double>("rcbrt", {{0.0, kInf},
                                           {-0.0, -kInf},
                                           {kInf, 0.0},
                                           {-kInf, -0.0},
                                           {-8.0, -0.5},
                                           {27.0, 1.0 / 3},
                                           {kNan, kNan}});
  expect_values<d_sinpi, double>("sinpi", {{0.0, 0.0},
                                           {-0.0, -0.0},
                                           {1.0, 0.0},
                                           {-3.0, -0.0},
                                           {0.5, 1.0},
                                           {-1.5, 1.0},
                                           {1e300, 0.0},
                                           {kInf, kNan},
                                           {kNan, kNan}});
  expect_values<d_cospi, double>("cospi", {{0.0, 1.0},
                                           {1.0, -1.0},
                                           {0.5, 0.0},
                                           {-2.5, 0.0},
                                           {1e300, 1.0},
                                           {-kInf, kNan},
                                           {kNan, kNan}});
  expect_values<d_erfcx, double>(
      "erfcx", {{0.0, 1.0}, {kInf, 0.0}, {-kInf, kInf}, {-30.0, kInf}, {kNan, kNan}});
  expect_values<d_erfinv, double>(
      "erfinv", {{0.0, 0.0}, {-0.0, -0.0}, {1.0, kInf}, {-1.0, -kInf}, {1.5, kNan}, {kNan, kNan}});
  expect_values<d_erfcinv, double>(
      "erfcinv", {{0.0, kInf}, {2.0, -kInf}, {1.0, 0.0}, {-0.5, kNan}, {2.5, kNan}, {kNan, kNan}});
  expect_values<d_normcdf, double>(
      "normcdf", {{0.0, 0.5}, {kInf, 1.0}, {-kInf, 0.0}, {-50.0, 0.0}, {kNan, kNan}});
  expect_values<d_normcdfinv, double>(
      "normcdfinv", {{0.0, -kInf}, {1.0, kInf}, {-0.1, kNan}, {1.1, kNan}, {kNan, kNan}});
  EXPECT_TRUE(same(one_on_device<d_norm3d>(double3s{kInf, kNan, 0}), kInf));
  EXPECT_TRUE(same(one_on_device<d_norm3d>(double3s{1, kNan, 0}), kNan));
  EXPECT_TRUE(same(one_on_device<d_norm3d>(double3s{0, -0.0, 0}), 0.0));
  EXPECT_TRUE(same(one_on_device<d_rhypot>(double3s{0, 0, 0}), kInf));
  EXPECT_TRUE(same(one_on_device<d_rhypot>(double3s{-kInf, kNan, 0}), 0.0));
}

DEVICE_FUNCTION(f_min, float, float2s, min(x.a, x.b));
DEVICE_FUNCTION(f_max, float, float2s, max(x.a, x.b));
DEVICE_FUNCTION(d_min, double, double2s, min(x.a, x.b));
DEVICE_FUNCTION(f_fdim, float, float2s, fdimf(x.a, x.b));

TEST(SpecialValues, MinAndMaxPreferNumbers) {
  EXPECT_TRUE(same(one_on_device<f_min>(float2s{kNanF, 2}), 2.0F));
  EXPECT_TRUE(same(one_on_device<f_min>(float2s{2, kNanF}), 2.0F));
  EXPECT_TRUE(same(one_on_device<f_max>(float2s{kNanF, -2}), -2.0F));
  EXPECT_TRUE(same(one_on_device<f_max>(float2s{-kInfF, 3}), 3.0F));
  EXPECT_TRUE(same(one_on_device<f_min>(float2s{kNanF, kNanF}), kNanF));
  EXPECT_TRUE(same(one_on_device<d_min>(double2s{kNan, 1}), 1.0));
  EXPECT_TRUE(same(one_on_device<f_fdim>(float2s{5, 3}), 2.0F));
  EXPECT_TRUE(same(one_on_device<f_fdim>(float2s{3, 5}), 0.0F));
}

__global__ void overloads(int* wrong) {
  const auto check = [&](bool right, int bit) {
    if (!right) *wrong |= 1 << bit;
  };
  const short small = -3;
  check(min(small, small) == -3, 0);
  check(max(-1, 1U) == 0xffffffffU, 1);  // as in C: the int becomes unsigned
  check(min(5LL, 7LL) == 5 && max(5UL, 7UL) == 7, 2);
  static_assert(std::is_same_v<decltype(min(1.0F, 2.0)), double>);
  static_assert(std::is_same_v<decltype(max(1.0F, 2.0F)), float>);
  static_assert(std::is_same_v<decltype(max(1, 2U)), unsigned>);
  check(umin(3U, 0x80000000U) == 3 && umax(3U, 4U) == 4, 3);
  check(llmin(-1, 1) == -1 && llmax(-1, 1) == 1, 4);
  check(ullmin(~0ULL, 1) == 1 && ullmax(~0ULL, 1) == ~0ULL, 5);
  static_assert(std::is_same_v<decltype(abs(-1.5F)), float>);
  static_assert(std::is_same_v<decltype(abs(-1.5)), double>);
  check(abs(-3) == 3 && abs(-3L) == 3 && abs(-3LL) == 3, 6);
  check(abs(-1.5F) == 1.5F && abs(-1.5) == 1.5, 7);
  static_assert(std::is_same_v<decltype(rsqrt(4.0F)), float>);
  static_assert(std::is_same_v<decltype(exp10(2.0F)), float>);
  check(rsqrt(4.0F) == 0.5F && exp10(2.0F) == 100.0F, 8);
  static_assert(std::is_same_v<decltype(sqrt(4.0F)), float>);
  static_assert(std::is_same_v<decltype(fma(1.0F, 2.0F, 3.0F)), float>);
  check(fdividef(1.0F, 4.0F) == 0.25F && fdivide(1.0, 4.0) == 0.25, 9);
  float s = 0, c = 0;
  sincos(0.0F, &s, &c);
  check(s == 0.0F && c == 1.0F, 10);
  check(static_cast<float>(CUDART_PI) == CUDART_PI_F && isinf(CUDART_INF_F) && isnan(CUDART_NAN),
        11);
  check(CUDART_MIN_DENORM_F > 0.0F && CUDART_MIN_DENORM_F / 2 == 0.0F, 12);
}

TEST(Overloads, AreThoseOfCuda) {
  const device_array<int> wrong(1, 0);
  overloads<<<1, 1>>>(wrong.data());
  EXPECT_EQ(wrong.to_host()[0], 0);
}

// --- fast approximations ------------------------------------------------------------------------

DEVICE_FUNCTION(f_fast_sin, float, float, __sinf(x));
DEVICE_FUNCTION(f_fast_cos, float, float, __cosf(x));
DEVICE_FUNCTION(f_fast_tan, float, float, __tanf(x));
DEVICE_FUNCTION(f_fast_tanh, float, float, __tanhf(x));
DEVICE_FUNCTION(f_fast_exp, float, float, __expf(x));
DEVICE_FUNCTION(f_fast_exp10, float, float, __exp10f(x));
DEVICE_FUNCTION(f_fast_log, float, float, __logf(x));
DEVICE_FUNCTION(f_fast_log2, float, float, __log2f(x));
DEVICE_FUNCTION(f_fast_log10, float, float, __log10f(x));
DEVICE_FUNCTION(f_fast_pow, float, float2s, __powf(x.a, x.b));
DEVICE_FUNCTION(f_fast_divide, float, float2s, __fdividef(x.a, x.b));
DEVICE_FUNCTION(f_saturate, float, float, __saturatef(x));
DEVICE_FUNCTION(f_fast_sincos_difference, float, float, [](float v) {
  float s = 0, c = 0;
  __sincosf(v, &s, &c);
  return s - __sinf(v) + (c - __cosf(v));
}(x));

template <class Function, class Reference>
double largest_error(const std::vector<float>& x, Reference reference, bool relative = false) {
  const auto y = on_device<Function>(x);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = reference(static_cast<double>(x[i]));
    double error = std::fabs(static_cast<double>(y[i]) - exact);
    if (relative) error /= std::fabs(exact);
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

TEST(FastApproximations, OfSineAndCosineAreOfTheDocumentedAccuracy) {
  const auto sine = [](double x) { return std::sin(x); };
  const auto cosine = [](double x) { return std::cos(x); };
  const auto circle = spread(-CUDART_PI_F, CUDART_PI_F, 200000);
  const double s = largest_error<f_fast_sin>(circle, sine);
  const double c = largest_error<f_fast_cos>(circle, cosine);
  EXPECT_LE(s, std::exp2(-21.41));
  EXPECT_LE(c, std::exp2(-21.19));
  // Not the full functions in disguise: those are within 2^-24 there.
  EXPECT_GT(s, std::exp2(-23.5));
  EXPECT_GT(c, std::exp2(-23.5));
  // Farther out they lose more and more.
  const auto far = spread(1000.0F, 1100.0F, 20000);
  EXPECT_GT(largest_error<f_fast_sin>(far, sine), std::exp2(-17));
  EXPECT_LT(largest_error<f_fast_sin>(far, sine), std::exp2(-10));
  for (const float d : on_device<f_fast_sincos_difference>(circle)) ASSERT_EQ(d, 0.0F);
  // Where the sine is small, few digits are right: the error is absolute, not relative.
  EXPECT_GT(largest_error<f_fast_sin>({CUDART_PI_F}, sine, true), 1e-3);
  EXPECT_GT(largest_error<f_fast_sin>(spread(0.001F, 0.01F), sine, true), 1e-5);
  EXPECT_TRUE(same(one_on_device<f_fast_sin>(0.0F), 0.0F));
  EXPECT_TRUE(same(one_on_device<f_fast_cos>(0.0F), 1.0F));
  EXPECT_TRUE(same(one_on_device<f_fast_sin>(kInfF), kNanF));
}

TEST(FastApproximations, OfTangents) {
  const auto tangent = [](double x) { return std::tan(x); };
  EXPECT_LE(largest_error<f_fast_tan>(spread(-1.0F, 1.0F), tangent), 4e-6);
  const auto hyperbolic = [](double x) { return std::tanh(x); };
  const double h = largest_error<f_fast_tanh>(spread(0.01F, 5.0F), hyperbolic, true);
  EXPECT_LE(h, std::exp2(-10.5));
  EXPECT_GT(h, std::exp2(-20));
}

TEST(FastApproximations, OfExponentialsLoseDigitsAsTheDocumentationSays) {
  const auto worst = [](auto function, long double base, float per_x, float low, float high) {
    const auto x = spread(low, high, 50000);
    const auto y = on_device<decltype(function)>(x);
    double most = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], std::pow(base, static_cast<long double>(x[i])));
      EXPECT_LE(error, 2.5 + std::floor(std::fabs(static_cast<double>(per_x * x[i]))))
          << "x = " << x[i];
      most = std::max(most, error);
    }
    return most;
  };
  const long double e = std::exp(1.0L);
  EXPECT_GT(worst(f_fast_exp{}, e, 1.173F, -80.0F, 80.0F), 5);
  EXPECT_LT(worst(f_fast_exp{}, e, 1.173F, -1.0F, 1.0F), 3.5);
  EXPECT_GT(worst(f_fast_exp10{}, 10.0L, 2.97F, -37.0F, 38.0F), 5);
  EXPECT_TRUE(same(one_on_device<f_fast_exp>(0.0F), 1.0F));
  EXPECT_TRUE(same(one_on_device<f_fast_exp>(-kInfF), 0.0F));
  EXPECT_TRUE(same(one_on_device<f_fast_exp>(kInfF), kInfF));
  EXPECT_TRUE(same(one_on_device<f_fast_exp>(200.0F), kInfF));
  EXPECT_TRUE(same(one_on_device<f_fast_exp>(kNanF), kNanF));
}

template <class Function, class Reference>
void expect_fast_log(const char* name, Reference reference, double near_one, double most_ulps) {
  const auto middle = spread(0.5F, 2.0F, 100000);
  const double error = largest_error<Function>(middle, reference);
  EXPECT_LE(error, near_one) << name;
  EXPECT_GT(error, near_one / 64) << name << " is no better than it says";
  auto other = magnitudes(1e-37F, 0.4999F);
  for (const float x : magnitudes(2.0001F, 3e38F)) other.push_back(x);
  expect_ulps<Function>(
      name, other,
      [&](long double x) { return static_cast<long double>(reference(static_cast<double>(x))); },
      most_ulps);
  EXPECT_TRUE(same(one_on_device<Function>(1.0F), 0.0F));
  EXPECT_TRUE(same(one_on_device<Function>(0.0F), -kInfF));
  EXPECT_TRUE(same(one_on_device<Function>(-1.0F), kNanF));
  EXPECT_TRUE(same(one_on_device<Function>(kInfF), kInfF));
  EXPECT_TRUE(same(one_on_device<Function>(kNanF), kNanF));
}

TEST(FastApproximations, OfLogarithmsAreOfTheDocumentedAccuracy) {
  expect_fast_log<f_fast_log>(
      "__logf", [](double x) { return std::log(x); }, std::exp2(-21.41), 3);
  expect_fast_log<f_fast_log2>(
      "__log2f", [](double x) { return std::log2(x); }, std::exp2(-22), 2);
  // 2^-24 is documented; an H200 is at 2^-23.94.
  expect_fast_log<f_fast_log10>(
      "__log10f", [](double x) { return std::log10(x); }, std::exp2(-23.9), 3);
}

TEST(FastApproximations, OfPowersAndQuotients) {
  EXPECT_NEAR(one_on_device<f_fast_pow>(float2s{2, 10}), 1024, 0.01);
  EXPECT_NEAR(one_on_device<f_fast_pow>(float2s{10, -2}), 0.01, 1e-7);
  EXPECT_TRUE(same(one_on_device<f_fast_pow>(float2s{-2, 2}), kNanF));  // via the logarithm
  EXPECT_TRUE(same(one_on_device<f_fast_pow>(float2s{0, 2}), 0.0F));
  std::mt19937 random(3);
  std::uniform_real_distribution<float> number(-1000, 1000);
  std::vector<float2s> x;
  for (int i = 0; i < 20000; ++i) x.push_back({number(random), number(random)});
  const auto y = on_device<f_fast_divide>(x);
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_LE(ulps(y[i], static_cast<long double>(x[i].a) / static_cast<long double>(x[i].b)), 2.5);
  EXPECT_TRUE(same(one_on_device<f_fast_divide>(float2s{1, 0x1p127F}), 0.0F));
  EXPECT_TRUE(same(one_on_device<f_fast_divide>(float2s{kInfF, 0x1p127F}), kNanF));
  EXPECT_TRUE(same(one_on_device<f_fast_divide>(float2s{1, 0x1p126F}), 0x1p-126F));
  expect_values<f_saturate, float>(
      "__saturatef",
      {{0.5F, 0.5F}, {2, 1}, {-1, 0}, {kInfF, 1}, {-kInfF, 0}, {kNanF, 0}, {-0.0F, 0}, {1, 1}});
}

// --- exact roundings ----------------------------------------------------------------------------
// Whole numbers are the inputs, so that 128-bit integers know the exact results.

template <class T>
struct rounded {
  T rn, rz, ru, rd;
};
template <class T, class Function>
std::vector<rounded<T>> all_modes(const std::vector<three<T>>& x) {
  return on_device<Function>(x);
}

#define ROUNDED(NAME, T, INTRINSIC, ...)                                               \
  DEVICE_FUNCTION(NAME, rounded<T>, three<T>,                                          \
                  rounded<T>{INTRINSIC##_rn(__VA_ARGS__), INTRINSIC##_rz(__VA_ARGS__), \
                             INTRINSIC##_ru(__VA_ARGS__), INTRINSIC##_rd(__VA_ARGS__)})
ROUNDED(r_fadd, float, __fadd, x.a, x.b);
ROUNDED(r_fsub, float, __fsub, x.a, x.b);
ROUNDED(r_fmul, float, __fmul, x.a, x.b);
ROUNDED(r_fmaf, float, __fmaf, x.a, x.b, x.c);
ROUNDED(r_fdiv, float, __fdiv, x.a, x.b);
ROUNDED(r_frcp, float, __frcp, x.b);
ROUNDED(r_fsqrt, float, __fsqrt, x.a);
ROUNDED(r_dadd, double, __dadd, x.a, x.b);
ROUNDED(r_dsub, double, __dsub, x.a, x.b);
ROUNDED(r_dmul, double, __dmul, x.a, x.b);
ROUNDED(r_fma, double, __fma, x.a, x.b, x.c);
ROUNDED(r_ddiv, double, __ddiv, x.a, x.b);
ROUNDED(r_drcp, double, __drcp, x.b);
ROUNDED(r_dsqrt, double, __dsqrt, x.a);

/// A finite T as mantissa * 2^exponent.
struct parts {
  wide mantissa;
  int exponent;
};
template <class T>
parts split(T x) {
  int e = 0;
  const T m = std::frexp(x, &e);
  constexpr int kDigits = std::numeric_limits<T>::digits;
  return {static_cast<wide>(std::ldexp(m, kDigits)), e - kDigits};
}

/// The sign of (result - exact), where compare(result) says so for any T.
template <class T, class Compare>
void expect_roundings(const rounded<T>& r, Compare compare, const std::string& what) {
  const T up = std::nextafter(r.rd, std::numeric_limits<T>::infinity());
  ASSERT_LE(compare(r.rd), 0) << what << ": rd is too large";
  ASSERT_GT(compare(up), 0) << what << ": rd is too small";
  ASSERT_GE(compare(r.ru), 0) << what << ": ru is too small";
  ASSERT_EQ(r.ru, compare(r.rd) == 0 ? r.rd : up) << what << ": ru";
  ASSERT_EQ(r.rz, r.rd < 0 ? r.ru : r.rd) << what << ": rz";
  ASSERT_TRUE(r.rn == r.rd || r.rn == r.ru) << what << ": rn";
}

int sign(wide x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

/// Compares a result that is a whole number with the exact one.
auto against(wide exact) {
  return [exact](auto result) {
    const parts p = split(result);
    if (p.exponent >= 0) return sign((p.mantissa << p.exponent) - exact);
    const wide low = p.mantissa & ((wide{1} << -p.exponent) - 1);
    const int whole = sign((p.mantissa >> -p.exponent) - exact);
    return whole != 0 ? whole : low != 0;
  };
}

template <class T>
std::vector<three<T>> whole_numbers(int digits, int most_shift) {
  std::mt19937_64 random(11);
  std::vector<three<T>> x;
  const auto number = [&](int shift) {
    const auto n = static_cast<long long>(random() >> (64 - digits)) -
                   static_cast<long long>(random() >> (64 - digits));
    return std::ldexp(static_cast<T>(n),
                      static_cast<int>(random() % static_cast<unsigned>(shift + 1)));
  };
  for (int i = 0; i < 5000; ++i) x.push_back({number(most_shift), number(0), number(most_shift)});
  x.push_back({1, 1, -1});
  x.push_back({T{1 << 20}, -1, 1});
  x.push_back({3, -3, 9});
  return x;
}
template <class T>
wide whole(T x) {
  const parts p = split(x);
  return p.exponent >= 0 ? p.mantissa << p.exponent : p.mantissa >> -p.exponent;
}

template <class Add, class Subtract, class Multiply, class Fma, class T>
void expect_whole_roundings(int digits, int shift) {
  const auto x = whole_numbers<T>(digits, shift);
  const auto sum = all_modes<T, Add>(x), difference = all_modes<T, Subtract>(x);
  const auto product = all_modes<T, Multiply>(x), fma = all_modes<T, Fma>(x);
  int inexact = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const wide a = whole(x[i].a), b = whole(x[i].b), c = whole(x[i].c);
    const std::string where = "case " + std::to_string(i);
    expect_roundings(sum[i], against(a + b), where + " sum");
    expect_roundings(difference[i], against(a - b), where + " difference");
    expect_roundings(product[i], against(a * b), where + " product");
    expect_roundings(fma[i], against(a * b + c), where + " fma");
    inexact += sum[i].rd != sum[i].ru;
  }
  EXPECT_GT(inexact, 1000) << "the cases must need rounding";
}

TEST(Roundings, OfFloatSumsAndProducts) {
  expect_whole_roundings<r_fadd, r_fsub, r_fmul, r_fmaf, float>(24, 60);
}
TEST(Roundings, OfDoubleSumsAndProducts) {
  expect_whole_roundings<r_dadd, r_dsub, r_dmul, r_fma, double>(53, 18);
}

template <class Divide, class Reciprocal, class Root, class T>
void expect_quotients_and_roots() {
  constexpr int kDigits = std::numeric_limits<T>::digits;
  std::mt19937_64 random(13);
  std::vector<three<T>> x;
  const T lowest = std::ldexp(T{1}, kDigits - 1);
  for (int i = 0; i < 5000; ++i) {  // both have all digits: quotients are between 1/2 and 2
    const auto number = [&] { return lowest + static_cast<T>(random() >> (64 - (kDigits - 1))); };
    x.push_back({number(), number(), 0});
  }
  x.push_back({lowest * T{1.5}, lowest, 0});  // exact
  const auto quotient = all_modes<T, Divide>(x), reciprocal = all_modes<T, Reciprocal>(x);
  const auto root = all_modes<T, Root>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const wide a = whole(x[i].a), b = whole(x[i].b);
    const std::string where = "case " + std::to_string(i);
    // result - a / b has the sign of mantissa * b - a * 2^-exponent
    const auto over_b = [&](wide dividend) {
      return [=](T result) {
        const parts p = split(result);
        return sign(p.mantissa * b - (dividend << -p.exponent));
      };
    };
    expect_roundings(quotient[i], over_b(a), where + " quotient");
    // 1 / b is 2^-52 or less: compare it scaled, as 2^kDigits / b
    const auto reciprocal_sign = [&](T result) {
      return over_b(wide{1} << kDigits)(std::ldexp(result, kDigits));
    };
    expect_roundings(reciprocal[i], reciprocal_sign, where + " reciprocal");
    const auto root_sign = [&](T result) {
      const parts p = split(result);
      return sign(p.mantissa * p.mantissa - (a << (-2 * p.exponent)));
    };
    expect_roundings(root[i], root_sign, where + " root");
  }
}
TEST(Roundings, OfFloatQuotientsAndRoots) {
  expect_quotients_and_roots<r_fdiv, r_frcp, r_fsqrt, float>();
}
TEST(Roundings, OfDoubleQuotientsAndRoots) {
  expect_quotients_and_roots<r_ddiv, r_drcp, r_dsqrt, double>();
}

template <class T>
void expect_modes(const rounded<T>& r, T rn, T rz, T ru, T rd, const char* what) {
  EXPECT_TRUE(same(r.rn, rn)) << what << " rn";
  EXPECT_TRUE(same(r.rz, rz)) << what << " rz";
  EXPECT_TRUE(same(r.ru, ru)) << what << " ru";
  EXPECT_TRUE(same(r.rd, rd)) << what << " rd";
}

template <class Add, class Subtract, class Multiply, class Fma, class Divide, class Root, class T>
void expect_extremes() {
  using limits = std::numeric_limits<T>;
  const T max = limits::max(), inf = limits::infinity(), tiny = limits::denorm_min();
  const T one_up = std::nextafter(T{1}, T{2}), one_down = std::nextafter(T{1}, T{0});
  const auto one = [](auto function, T a, T b, T c) {
    return one_on_device<decltype(function)>(three<T>{a, b, c});
  };
  expect_modes<T>(one(Add{}, 1, tiny, 0), 1, 1, one_up, 1, "1 + tiny");
  expect_modes<T>(one(Add{}, 1, -tiny, 0), 1, one_down, 1, one_down, "1 - tiny");
  expect_modes<T>(one(Add{}, max, max, 0), inf, max, inf, max, "max + max");
  expect_modes<T>(one(Add{}, -max, -max, 0), -inf, -max, -max, -inf, "-max - max");
  expect_modes<T>(one(Add{}, max, tiny, 0), max, max, inf, max, "max + tiny");
  expect_modes<T>(one(Add{}, 5, -5, 0), 0, 0, 0, T{-0.0}, "5 - 5");
  expect_modes<T>(one(Subtract{}, 5, 5, 0), 0, 0, 0, T{-0.0}, "5 - 5");
  expect_modes<T>(one(Add{}, 0, 0, 0), 0, 0, 0, 0, "0 + 0");
  expect_modes<T>(one(Add{}, inf, -inf, 0), limits::quiet_NaN(), limits::quiet_NaN(),
                  limits::quiet_NaN(), limits::quiet_NaN(), "inf - inf");
  expect_modes<T>(one(Add{}, inf, -1, 0), inf, inf, inf, inf, "inf - 1");
  expect_modes<T>(one(Multiply{}, tiny, T{0.5}, 0), 0, 0, tiny, 0, "tiny / 2");
  expect_modes<T>(one(Multiply{}, -tiny, T{0.5}, 0), T{-0.0}, T{-0.0}, T{-0.0}, -tiny, "-tiny / 2");
  expect_modes<T>(one(Multiply{}, tiny, -tiny, 0), T{-0.0}, T{-0.0}, T{-0.0}, -tiny, "-tiny^2");
  expect_modes<T>(one(Multiply{}, max, -2, 0), -inf, -max, -max, -inf, "-2 max");
  expect_modes<T>(one(Fma{}, max, 2, -max), max, max, max, max, "2 max - max");
  expect_modes<T>(one(Fma{}, one_up, one_up, tiny), 1 + 2 * limits::epsilon(),
                  1 + 2 * limits::epsilon(), 1 + 3 * limits::epsilon(), 1 + 2 * limits::epsilon(),
                  "(1 + e)^2 + tiny");
  expect_modes<T>(one(Fma{}, 2, 3, -6), 0, 0, 0, T{-0.0}, "2 * 3 - 6");
  expect_modes<T>(one(Divide{}, 1, 0, 0), inf, inf, inf, inf, "1 / 0");
  expect_modes<T>(one(Divide{}, max, T{0.5}, 0), inf, max, inf, max, "2 max");
  expect_modes<T>(one(Divide{}, tiny, max, 0), 0, 0, tiny, 0, "tiny / max");
  expect_modes<T>(one(Divide{}, 1, -inf, 0), T{-0.0}, T{-0.0}, T{-0.0}, T{-0.0}, "1 / -inf");
  expect_modes<T>(one(Root{}, 4, 0, 0), 2, 2, 2, 2, "sqrt 4");
  expect_modes<T>(one(Root{}, T{-0.0}, 0, 0), T{-0.0}, T{-0.0}, T{-0.0}, T{-0.0}, "sqrt -0");
  expect_modes<T>(one(Root{}, inf, 0, 0), inf, inf, inf, inf, "sqrt inf");
  // sqrt(max) is a little less than halfway from `below` up to a power of two.
  const T above = std::ldexp(T{1}, limits::max_exponent / 2), below = std::nextafter(above, T{0});
  expect_modes<T>(one(Root{}, max, 0, 0), below, below, above, below, "sqrt max");
}
TEST(Roundings, OfFloatsAtTheirEnds) {
  expect_extremes<r_fadd, r_fsub, r_fmul, r_fmaf, r_fdiv, r_fsqrt, float>();
}
TEST(Roundings, OfDoublesAtTheirEnds) {
  expect_extremes<r_dadd, r_dsub, r_dmul, r_fma, r_ddiv, r_dsqrt, double>();
}

DEVICE_FUNCTION(f_frsqrt, float, float, __frsqrt_rn(x));

TEST(Roundings, ReciprocalSquareRootIsRoundedCorrectly) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < (1U << 20); ++i) {  // a sixteenth of two binades
    const std::uint32_t pattern = 0x3f800000U + i * 16 + i % 16;
    float v;
    std::memcpy(&v, &pattern, sizeof v);
    x.push_back(v);
  }
  const auto y = on_device<f_frsqrt>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    // The exact result lies between the middles beside y: x * middle^2 is below and above 1.
    const wide m = split(y[i]).mantissa, v = split(x[i]).mantissa;
    const int scale = -split(x[i]).exponent - 2 * (split(y[i]).exponent - 1);
    const wide below = v * (2 * m - 1) * (2 * m - 1), above = v * (2 * m + 1) * (2 * m + 1);
    if (y[i] == 0.5F || y[i] == 1.0F) continue;  // the spacing changes there
    ASSERT_LT(below, wide{1} << scale) << x[i];
    ASSERT_GT(above, wide{1} << scale) << x[i];
  }
  expect_values<f_frsqrt, float>("__frsqrt_rn", {{0.0F, kInfF},
                                                 {-0.0F, -kInfF},
                                                 {kInfF, 0.0F},
                                                 {-1.0F, kNanF},
                                                 {1.0F, 1.0F},
                                                 {4.0F, 0.5F},
                                                 {0x1p-148F, 0x1p74F}});
}

// --- conversions --------------------------------------------------------------------------------

struct integers {
  int i_rn, i_rz, i_ru, i_rd;
  unsigned u_rn, u_rz, u_ru, u_rd;
  long long l_rn, l_rz, l_ru, l_rd;
  unsigned long long v_rn, v_rz, v_ru, v_rd;
};
#define FOUR(NAME) NAME##_rn(x), NAME##_rz(x), NAME##_ru(x), NAME##_rd(x)
DEVICE_FUNCTION(from_float, integers, float,
                integers{FOUR(__float2int), FOUR(__float2uint), FOUR(__float2ll),
                         FOUR(__float2ull)});
DEVICE_FUNCTION(from_double, integers, double,
                integers{FOUR(__double2int), FOUR(__double2uint), FOUR(__double2ll),
                         FOUR(__double2ull)});

TEST(Conversions, ToIntegersRoundAsTheirNamesSay) {
  const auto check = [](const integers& r, double x) {
    EXPECT_EQ(r.i_rn, static_cast<int>(std::nearbyint(x))) << x;
    EXPECT_EQ(r.i_rz, static_cast<int>(std::trunc(x))) << x;
    EXPECT_EQ(r.i_ru, static_cast<int>(std::ceil(x))) << x;
    EXPECT_EQ(r.i_rd, static_cast<int>(std::floor(x))) << x;
    EXPECT_EQ(r.l_rn, std::llrint(x)) << x;
    EXPECT_EQ(r.l_rd, static_cast<long long>(std::floor(x))) << x;
    EXPECT_EQ(r.u_ru, static_cast<unsigned>(std::max(0.0, std::ceil(x)))) << x;
    EXPECT_EQ(r.u_rz, static_cast<unsigned>(std::max(0.0, std::trunc(x)))) << x;
    EXPECT_EQ(r.v_rn, static_cast<unsigned long long>(std::max(0.0, std::nearbyint(x)))) << x;
  };
  for (const float x : {0.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F, 0.25F, -0.75F, 1e-40F, -1e-40F,
                        8388607.5F, -123456.7F, 2e9F}) {
    check(one_on_device<from_float>(x), static_cast<double>(x));
    check(one_on_device<from_double>(static_cast<double>(x)), static_cast<double>(x));
  }
}

TEST(Conversions, ToIntegersStopAtTheEnds) {
  constexpr long long kMin = std::numeric_limits<long long>::min();
  const auto ends = [](const integers& high, const integers& low) {
    EXPECT_EQ(high.i_rn, 0x7fffffff);
    EXPECT_EQ(high.u_rz, 0xffffffffU);
    EXPECT_EQ(high.l_ru, std::numeric_limits<long long>::max());
    EXPECT_EQ(high.v_rd, ~0ULL);
    EXPECT_EQ(low.i_rn, -0x7fffffff - 1);
    EXPECT_EQ(low.u_rz, 0U);
    EXPECT_EQ(low.l_ru, kMin);
    EXPECT_EQ(low.v_rd, 0ULL);
  };
  ends(one_on_device<from_float>(1e30F), one_on_device<from_float>(-1e30F));
  ends(one_on_device<from_float>(kInfF), one_on_device<from_float>(-kInfF));
  ends(one_on_device<from_double>(1e30), one_on_device<from_double>(-1e30));
  EXPECT_EQ(one_on_device<from_float>(0x1p31F).i_rz, 0x7fffffff);
  EXPECT_EQ(one_on_device<from_float>(0x1p31F).u_rz, 0x80000000U);
  EXPECT_EQ(one_on_device<from_double>(2147483647.5).i_rn, 0x7fffffff);
  EXPECT_EQ(one_on_device<from_double>(-2147483648.5).i_rn, -0x7fffffff - 1);
}

TEST(Conversions, OfNotANumber) {
  const integers f = one_on_device<from_float>(kNanF), d = one_on_device<from_double>(kNan);
  EXPECT_EQ(f.i_rz, 0);
  EXPECT_EQ(f.u_rz, 0U);
  EXPECT_EQ(static_cast<unsigned long long>(f.l_rz), 0x8000000000000000ULL);
  EXPECT_EQ(f.v_rz, 0x8000000000000000ULL);
  EXPECT_EQ(static_cast<unsigned>(d.i_rz), 0x80000000U);
  EXPECT_EQ(d.u_rz, 0x80000000U);
  EXPECT_EQ(static_cast<unsigned long long>(d.l_rz), 0x8000000000000000ULL);
  EXPECT_EQ(d.v_rz, 0x8000000000000000ULL);
}

DEVICE_FUNCTION(int_to_float, rounded<float>, int, rounded<float>{FOUR(__int2float)});
DEVICE_FUNCTION(uint_to_float, rounded<float>, unsigned, rounded<float>{FOUR(__uint2float)});
DEVICE_FUNCTION(ll_to_float, rounded<float>, long long, rounded<float>{FOUR(__ll2float)});
DEVICE_FUNCTION(ull_to_float, rounded<float>, unsigned long long,
                rounded<float>{FOUR(__ull2float)});
DEVICE_FUNCTION(ll_to_double, rounded<double>, long long, rounded<double>{FOUR(__ll2double)});
DEVICE_FUNCTION(ull_to_double, rounded<double>, unsigned long long,
                rounded<double>{FOUR(__ull2double)});
DEVICE_FUNCTION(double_to_float, rounded<float>, double, rounded<float>{FOUR(__double2float)});

template <class I, class To>
void expect_from_integer() {
  std::mt19937_64 random(17);
  std::vector<I> x = {0,
                      1,
                      std::numeric_limits<I>::max(),
                      std::numeric_limits<I>::min(),
                      (I{1} << 24) + 1,
                      std::numeric_limits<I>::max() / 2};
  if constexpr (sizeof(I) == 8) {
    x.push_back((I{1} << 53) + 1);
    x.push_back((I{1} << 60) + (I{1} << 36));      // the middle between two floats ...
    x.push_back((I{1} << 60) + (I{1} << 36) + 1);  // ... and just above: two roundings get it wrong
    x.push_back((I{1} << 60) + (I{3} << 36) - 1);
  }
  for (int i = 0; i < 3000; ++i) x.push_back(static_cast<I>(random() >> (random() % 63)));
  const auto r = on_device<To>(x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto compare = against(static_cast<wide>(x[i]));
    expect_roundings(r[i], compare, std::to_string(x[i]));
    // to nearest, independently: the host's own conversion
    using T = decltype(r[i].rn);
    ASSERT_EQ(r[i].rn, static_cast<T>(x[i])) << x[i];
  }
}

TEST(Conversions, FromIntegersRoundAsTheirNamesSay) {
  expect_from_integer<int, int_to_float>();
  expect_from_integer<unsigned, uint_to_float>();
  expect_from_integer<long long, ll_to_float>();
  expect_from_integer<unsigned long long, ull_to_float>();
  expect_from_integer<long long, ll_to_double>();
  expect_from_integer<unsigned long long, ull_to_double>();
}

TEST(Conversions, FromDoubleToFloat) {
  const float max = std::numeric_limits<float>::max();
  const auto one = [](double x) { return one_on_device<double_to_float>(x); };
  expect_modes<float>(one(1.0), 1, 1, 1, 1, "1");
  expect_modes<float>(one(1.0 + 0x1p-24), 1, 1, 1.0F + 0x1p-23F, 1, "1 + half an ulp");
  expect_modes<float>(one(-1.0 - 0x1p-30), -1, -1, -1, -1.0F - 0x1p-23F, "-1 - a bit");
  expect_modes<float>(one(1e300), kInfF, max, kInfF, max, "1e300");
  expect_modes<float>(one(-1e300), -kInfF, -max, -max, -kInfF, "-1e300");
  expect_modes<float>(one(1e-300), 0, 0, 0x1p-149F, 0, "1e-300");
  expect_modes<float>(one(-1e-300), -0.0F, -0.0F, -0.0F, -0x1p-149F, "-1e-300");
  expect_modes<float>(one(-0.0), -0.0F, -0.0F, -0.0F, -0.0F, "-0");
  expect_modes<float>(one(kInf), kInfF, kInfF, kInfF, kInfF, "inf");
  expect_modes<float>(one(kNan), kNanF, kNanF, kNanF, kNanF, "nan");
}

struct bit_patterns {
  int i;
  unsigned u;
  float f, g;
  long long l;
  double d, e;
  int hi, lo;
};
DEVICE_FUNCTION(patterns, bit_patterns, double,
                bit_patterns{__float_as_int(static_cast<float>(x)),
                             __float_as_uint(static_cast<float>(x)), __int_as_float(0x40490fdb),
                             __uint_as_float(0x80000000U), __double_as_longlong(x),
                             __longlong_as_double(0x3ff0000000000000LL),
                             __hiloint2double(__double2hiint(x), __double2loint(x)),
                             __double2hiint(x), __double2loint(x)});

TEST(Conversions, OfBitPatterns) {
  const double x = -2.718281828459045;
  const bit_patterns p = one_on_device<patterns>(x);
  EXPECT_EQ(static_cast<std::uint32_t>(p.i), bits(static_cast<float>(x)));
  EXPECT_EQ(p.u, bits(static_cast<float>(x)));
  EXPECT_EQ(p.f, 3.14159274F);
  EXPECT_TRUE(same(p.g, -0.0F));
  EXPECT_EQ(static_cast<std::uint64_t>(p.l), bits(x));
  EXPECT_EQ(p.d, 1.0);
  EXPECT_EQ(p.e, x);
  EXPECT_EQ(static_cast<std::uint32_t>(p.hi), bits(x) >> 32);
  EXPECT_EQ(static_cast<std::uint32_t>(p.lo), static_cast<std::uint32_t>(bits(x)));
}

// --- integers -----------------------------------------------------------------------------------

struct words {
  unsigned x, y, z;
};
struct word_results {
  int mulhi, mul24, hadd, rhadd, clz, ffs, popc, dp4a;
  unsigned umulhi, umul24, uhadd, urhadd, sad, usad, brev, perm, left, left_c, right, right_c,
      udp4a;
};
DEVICE_FUNCTION(word_functions, word_results, words,
                word_results{
                    __mulhi(static_cast<int>(x.x), static_cast<int>(x.y)),
                    __mul24(static_cast<int>(x.x), static_cast<int>(x.y)),
                    __hadd(static_cast<int>(x.x), static_cast<int>(x.y)),
                    __rhadd(static_cast<int>(x.x), static_cast<int>(x.y)),
                    __clz(static_cast<int>(x.x)),
                    __ffs(static_cast<int>(x.x)),
                    __popc(x.x),
                    __dp4a(static_cast<int>(x.x), static_cast<int>(x.y), static_cast<int>(x.z)),
                    __umulhi(x.x, x.y),
                    __umul24(x.x, x.y),
                    __uhadd(x.x, x.y),
                    __urhadd(x.x, x.y),
                    __sad(static_cast<int>(x.x), static_cast<int>(x.y), x.z),
                    __usad(x.x, x.y, x.z),
                    __brev(x.x),
                    __byte_perm(x.x, x.y, x.z),
                    __funnelshift_l(x.x, x.y, x.z),
                    __funnelshift_lc(x.x, x.y, x.z),
                    __funnelshift_r(x.x, x.y, x.z),
                    __funnelshift_rc(x.x, x.y, x.z),
                    __dp4a(x.x, x.y, x.z)});

std::int64_t sign_extended_24(unsigned x) {
  const std::int64_t low = x & 0xffffffU;
  return low >= 0x800000 ? low - 0x1000000 : low;
}

TEST(Integers, OfThirtyTwoBits) {
  std::mt19937 random(19);
  std::vector<words> inputs;
  const unsigned ends[] = {0, 1, 2, 0x7fffffffU, 0x80000000U, 0xffffffffU, 0x00800000U, 0x7654U};
  for (const unsigned a : ends)
    for (const unsigned b : ends)
      for (const unsigned c : {0U, 1U, 31U, 32U, 33U, 0x7531U}) inputs.push_back({a, b, c});
  for (int i = 0; i < 3000; ++i)
    inputs.push_back({static_cast<unsigned>(random()), static_cast<unsigned>(random()),
                      static_cast<unsigned>(random())});
  const auto results = on_device<word_functions>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [x, y, z] = inputs[i];
    const word_results& r = results[i];
    const std::int64_t sx = static_cast<int>(x), sy = static_cast<int>(y);
    const std::uint64_t ux = x, uy = y, pair = uy << 32 | ux;
    SCOPED_TRACE(testing::Message() << std::hex << x << " " << y << " " << z);
    ASSERT_EQ(r.mulhi, static_cast<int>(sx * sy >> 32));
    ASSERT_EQ(r.umulhi, static_cast<unsigned>(ux * uy >> 32));
    ASSERT_EQ(r.mul24, static_cast<int>(sign_extended_24(x) * sign_extended_24(y)));
    ASSERT_EQ(r.umul24, static_cast<unsigned>((ux & 0xffffff) * (uy & 0xffffff)));
    ASSERT_EQ(r.hadd, static_cast<int>((sx + sy) >> 1));
    ASSERT_EQ(r.rhadd, static_cast<int>((sx + sy + 1) >> 1));
    ASSERT_EQ(r.uhadd, static_cast<unsigned>((ux + uy) >> 1));
    ASSERT_EQ(r.urhadd, static_cast<unsigned>((ux + uy + 1) >> 1));
    ASSERT_EQ(r.sad, static_cast<unsigned>(std::abs(sx - sy)) + z);
    ASSERT_EQ(r.usad, (x > y ? x - y : y - x) + z);
    int leading = 0, first = 0, ones = 0;
    unsigned reversed = 0;
    for (int b = 31; b >= 0 && (x >> b & 1U) == 0; --b) ++leading;
    for (int b = 31; b >= 0; --b) {
      if ((x >> b & 1U) == 0) continue;
      ++ones;
      first = b + 1;
      reversed |= 1U << (31 - b);
    }
    ASSERT_EQ(r.clz, leading);
    ASSERT_EQ(r.ffs, first);
    ASSERT_EQ(r.popc, ones);
    ASSERT_EQ(r.brev, reversed);
    unsigned permuted = 0, udot = z;
    int dot = static_cast<int>(z);
    for (unsigned b = 0; b < 4; ++b) {
      permuted |= static_cast<unsigned>(pair >> (8 * (z >> (4 * b) & 7U)) & 0xff) << (8 * b);
      udot += (x >> (8 * b) & 0xff) * (y >> (8 * b) & 0xff);
      dot = static_cast<int>(static_cast<unsigned>(dot) +
                             static_cast<unsigned>(static_cast<signed char>(x >> (8 * b)) *
                                                   static_cast<signed char>(y >> (8 * b))));
    }
    ASSERT_EQ(r.perm, permuted);
    ASSERT_EQ(r.dp4a, dot);
    ASSERT_EQ(r.udp4a, udot);
    const unsigned s = z % 32, t = std::min(z, 32U);
    ASSERT_EQ(r.left, static_cast<unsigned>(pair << s >> 32));
    ASSERT_EQ(r.left_c, static_cast<unsigned>(pair << t >> 32));
    ASSERT_EQ(r.right, static_cast<unsigned>(pair >> s));
    ASSERT_EQ(r.right_c, static_cast<unsigned>(pair >> t));
  }
}

struct long_results {
  long long mulhi;
  unsigned long long umulhi, brev;
  int clz, ffs, popc;
};
using longs = two<unsigned long long>;
DEVICE_FUNCTION(long_functions, long_results, longs,
                long_results{__mul64hi(static_cast<long long>(x.a), static_cast<long long>(x.b)),
                             __umul64hi(x.a, x.b), __brevll(x.a),
                             __clzll(static_cast<long long>(x.a)),
                             __ffsll(static_cast<long long>(x.a)), __popcll(x.a)});

TEST(Integers, OfSixtyFourBits) {
  std::mt19937_64 random(23);
  std::vector<longs> inputs = {{0, 0}, {1, ~0ULL}, {~0ULL, ~0ULL}, {1ULL << 63, 1ULL << 63}};
  for (int i = 0; i < 2000; ++i) inputs.push_back({random() >> (random() % 64), random()});
  const auto results = on_device<long_functions>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [a, b] = inputs[i];
    const long_results& r = results[i];
    // 32 bits at a time, as on paper
    const std::uint64_t al = a & 0xffffffff, ah = a >> 32, bl = b & 0xffffffff, bh = b >> 32;
    const std::uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (middle & 0xffffffff);
    const std::uint64_t high = ah * bh + (middle >> 32) + (other >> 32);
    ASSERT_EQ(r.umulhi, high);
    ASSERT_EQ(static_cast<std::uint64_t>(r.mulhi),
              high - (a >> 63 != 0 ? b : 0) - (b >> 63 != 0 ? a : 0));
    int leading = 0, first = 0, ones = 0;
    std::uint64_t reversed = 0;
    for (int bit = 63; bit >= 0 && (a >> bit & 1U) == 0; --bit) ++leading;
    for (int bit = 63; bit >= 0; --bit) {
      if ((a >> bit & 1U) == 0) continue;
      ++ones;
      first = bit + 1;
      reversed |= 1ULL << (63 - bit);
    }
    ASSERT_EQ(r.clz, leading);
    ASSERT_EQ(r.ffs, first);
    ASSERT_EQ(r.popc, ones);
    ASSERT_EQ(r.brev, reversed);
  }
}

}  // namespace
