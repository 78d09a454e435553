// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Half precision: every half where a function has one operand, planted and random pairs where it
// has more. The references look results up in a list of all halves. Runs on the CPU device and on a
// GPU.

#include <cuda_fp16.h>

#include <algorithm>
#include <utility>

#include "conformance.hpp"

namespace {

using namespace conformance;
using u16 = unsigned short;
using u16x2 = two<u16>;
using u16x3 = three<u16>;
__extension__ typedef __int128 wide;

// --- all halves, and rounding by search among them ----------------------------------------------

constexpr int kInfinity = 0x7C00;  // the bits of +infinity; those of the largest half come before
constexpr u16 kNanBits = 0x7FFF;

bool is_nan(u16 h) { return (h & 0x7FFF) > kInfinity; }
bool is_negative(u16 h) { return (h & 0x8000) != 0; }

/// The value of a half from the definition of the format; infinity stands for 65536.
double value(u16 h) {
  const int exponent = (h >> 10) & 31, digits = h & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(1024 + digits, exponent - 25);
  return is_negative(h) ? -magnitude : magnitude;
}
double ieee_value(u16 h) {
  if (is_nan(h)) return kNan;
  return (h & 0x7FFF) == kInfinity ? std::copysign(kInf, value(h)) : value(h);
}

enum class toward { nearest, zero, up, down };

/// Rounds an exact value that lies at `magnitude`, or so close to it that both lie on the same side
/// of each half; side(m) is the sign of the exact magnitude minus m.
template <class Side>
u16 rounded(double magnitude, bool negative, Side side, toward way = toward::nearest) {
  int low = 0, high = kInfinity;  // the last half that is not above
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value(static_cast<u16>(middle)) <= magnitude ? low : high) = middle;
  }
  if (magnitude >= 65536) low = kInfinity - 1;
  const double below = value(static_cast<u16>(low)), above = value(static_cast<u16>(low + 1));
  bool away = false;
  if (way == toward::nearest) {
    const int s = side((below + above) / 2);
    away = s > 0 || (s == 0 && low % 2 == 1);
  } else {
    away = side(below) > 0 && way == (negative ? toward::down : toward::up);
  }
  if (std::isinf(magnitude)) away = true;
  return static_cast<u16>((low + (away ? 1 : 0)) | (negative ? 0x8000 : 0));
}
template <class T>
int sign(T x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}
/// x is exact, or (in long double) far closer to the exact value than to any middle of two halves.
template <class T>
u16 rounded(T x, toward way = toward::nearest) {
  if (x != x) return kNanBits;
  const T magnitude = std::fabs(x);
  return rounded(
      static_cast<double>(magnitude), std::signbit(x),
      [&](double m) { return sign(magnitude - static_cast<T>(m)); }, way);
}

/// A finite half as a multiple of 2^-24; products of two are multiples of 2^-48.
wide units(u16 h) { return static_cast<wide>(std::ldexp(value(h), 24)); }
u16 rounded_units48(wide u, bool negative_zero) {
  const wide magnitude = u < 0 ? -u : u;
  return rounded(std::ldexp(static_cast<double>(magnitude), -48),
                 u < 0 || (u == 0 && negative_zero),
                 [&](double m) { return sign(magnitude - static_cast<wide>(std::ldexp(m, 48))); });
}

testing::AssertionResult same_half(u16 actual, u16 expected) {
  if (actual == expected || (is_nan(actual) && is_nan(expected)))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << std::hex << "got 0x" << actual << " (" << ieee_value(actual) << "), expected 0x"
         << expected << " (" << ieee_value(expected) << ")";
}

template <class In, class Reference>
void expect_halves(const char* name, const std::vector<In>& inputs, const std::vector<u16>& results,
                   Reference reference, int steps = 0) {
  int wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const u16 expected = reference(inputs[i]);
    const auto same = same_half(results[i], expected);
    if (same || (!is_nan(expected) && !is_nan(results[i]) &&
                 std::abs(static_cast<int>(results[i]) - static_cast<int>(expected)) <= steps))
      continue;
    if (wrong++ == 0) first = "first at input " + std::to_string(i) + ": " + same.message();
  }
  EXPECT_EQ(wrong, 0) << "of " << inputs.size() << " results of " << name << " are wrong; "
                      << first;
}

std::vector<u16> all_halves() {
  std::vector<u16> all;
  for (int i = 0; i < 65536; ++i) all.push_back(static_cast<u16>(i));
  return all;
}
std::vector<u16> special_halves() {
  std::vector<u16> all = {0x0000, 0x0001, 0x0002, 0x01FF, 0x03FF, 0x0400, 0x0401,
                          0x1400, 0x2E66, 0x3555, 0x37FF, 0x3800, 0x3BFF, 0x3C00,
                          0x3C01, 0x3E00, 0x4000, 0x4248, 0x5BFF, 0x6400, 0x6401,
                          0x77FF, 0x7800, 0x7BFE, 0x7BFF, 0x7C00, 0x7E00, 0x7FFF};
  const std::size_t positive = all.size();
  for (std::size_t i = 0; i < positive; ++i) all.push_back(static_cast<u16>(all[i] | 0x8000));
  return all;
}
std::vector<u16x2> pairs() {
  std::vector<u16x2> all;
  for (const u16 a : special_halves())
    for (const u16 b : special_halves()) all.push_back({a, b});
  std::mt19937 random(20);
  for (int i = 0; i < 200000; ++i) {
    const auto a = static_cast<u16>(random()), b = static_cast<u16>(random());
    all.push_back({a, b});
    // Of similar size: neither operand is lost in the sum.
    all.push_back({a, static_cast<u16>(a ^ (random() & 0x87FF))});
  }
  return all;
}

// --- arithmetic ----------------------------------------------------------------------------------

#define HALF_OF_PAIR(NAME, EXPRESSION)                                        \
  DEVICE_FUNCTION(NAME, u16, u16x2, __half_as_ushort([](__half a, __half b) { \
                    return EXPRESSION;                                        \
                  }(__ushort_as_half(x.a), __ushort_as_half(x.b))))
HALF_OF_PAIR(p_add, __hadd(a, b));
HALF_OF_PAIR(p_sub, __hsub(a, b));
HALF_OF_PAIR(p_mul, __hmul(a, b));
HALF_OF_PAIR(p_div, __hdiv(a, b));
HALF_OF_PAIR(p_plus, a + b);
HALF_OF_PAIR(p_minus, a - b);
HALF_OF_PAIR(p_times, a* b);
HALF_OF_PAIR(p_over, a / b);
HALF_OF_PAIR(p_add_sat, __hadd_sat(a, b));
HALF_OF_PAIR(p_max, __hmax(a, b));
HALF_OF_PAIR(p_min, __hmin(a, b));
HALF_OF_PAIR(p_max_nan, __hmax_nan(a, b));
HALF_OF_PAIR(p_min_nan, __hmin_nan(a, b));

bool is_finite(u16 h) { return (h & 0x7FFF) < kInfinity; }

u16 exact_sum(u16x2 x) {
  if (!is_finite(x.a) || !is_finite(x.b)) return rounded(ieee_value(x.a) + ieee_value(x.b));
  return rounded_units48((units(x.a) + units(x.b)) * (wide{1} << 24),
                         is_negative(x.a) && is_negative(x.b));
}
u16 exact_difference(u16x2 x) { return exact_sum({x.a, static_cast<u16>(x.b ^ 0x8000)}); }
u16 exact_product(u16x2 x) {
  if (!is_finite(x.a) || !is_finite(x.b)) return rounded(ieee_value(x.a) * ieee_value(x.b));
  return rounded_units48(units(x.a) * units(x.b), is_negative(x.a) != is_negative(x.b));
}
u16 exact_quotient(u16x2 x) {
  const double a = ieee_value(x.a), b = ieee_value(x.b);
  if (!is_finite(x.a) || !is_finite(x.b) || b == 0) return rounded(a / b);
  return rounded(std::fabs(a / b), is_negative(x.a) != is_negative(x.b),
                 [&](double m) { return sign(std::fabs(a) - m * std::fabs(b)); });
}
u16 clamped(u16 h) {
  if (is_nan(h) || is_negative(h)) return 0;
  return h > 0x3C00 ? u16{0x3C00} : h;
}
u16 largest(u16x2 x) {
  if (is_nan(x.a)) return x.b;
  if (is_nan(x.b)) return x.a;
  const double a = ieee_value(x.a), b = ieee_value(x.b);
  if (a == b) return is_negative(x.a) ? x.b : x.a;
  return a > b ? x.a : x.b;
}
u16 smallest(u16x2 x) {
  return static_cast<u16>(
      0x8000 ^ largest({static_cast<u16>(x.a ^ 0x8000), static_cast<u16>(x.b ^ 0x8000)}));
}

TEST(HalfPrecision, ArithmeticIsRoundedExactly) {
  const auto all = pairs();
  expect_halves("__hadd", all, on_device<p_add>(all), exact_sum);
  expect_halves("__hsub", all, on_device<p_sub>(all), exact_difference);
  expect_halves("__hmul", all, on_device<p_mul>(all), exact_product);
  expect_halves("__hdiv", all, on_device<p_div>(all), exact_quotient);
  expect_halves("+", all, on_device<p_plus>(all), exact_sum);
  expect_halves("-", all, on_device<p_minus>(all), exact_difference);
  expect_halves("*", all, on_device<p_times>(all), exact_product);
  expect_halves("/", all, on_device<p_over>(all), exact_quotient);
  expect_halves("__hadd_sat", all, on_device<p_add_sat>(all),
                [](u16x2 x) { return clamped(exact_sum(x)); });
}

TEST(HalfPrecision, MaximumAndMinimumKnowNanAndZeros) {
  const auto all = pairs();
  const auto any_nan = [](u16x2 x) { return is_nan(x.a) || is_nan(x.b); };
  expect_halves("__hmax", all, on_device<p_max>(all), largest);
  expect_halves("__hmin", all, on_device<p_min>(all), smallest);
  expect_halves("__hmax_nan", all, on_device<p_max_nan>(all),
                [&](u16x2 x) { return any_nan(x) ? kNanBits : largest(x); });
  expect_halves("__hmin_nan", all, on_device<p_min_nan>(all),
                [&](u16x2 x) { return any_nan(x) ? kNanBits : smallest(x); });
}

DEVICE_FUNCTION(t_fma, u16, u16x3,
                __half_as_ushort(__hfma(__ushort_as_half(x.a), __ushort_as_half(x.b),
                                        __ushort_as_half(x.c))));

TEST(HalfPrecision, FusedMultiplyAddIsRoundedOnce) {
  std::vector<u16x3> all;
  for (const u16 a : special_halves())
    for (const u16 b : special_halves())
      for (const int c : {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF,
                          0x7C00, 0xFC00, 0x7E00})
        all.push_back({a, b, static_cast<u16>(c)});
  std::mt19937 random(21);
  for (int i = 0; i < 300000; ++i) {
    const auto a = static_cast<u16>(random()), b = static_cast<u16>(random());
    all.push_back({a, b, static_cast<u16>(random())});
    // Nearly cancels: what a product rounded by itself has lost is all that remains.
    all.push_back({a, b, static_cast<u16>(exact_product({a, b}) ^ 0x8000)});
  }
  int rounding_twice_is_wrong = 0;
  const auto exact = [&](u16x3 x) -> u16 {
    if (!is_finite(x.a) || !is_finite(x.b) || !is_finite(x.c))
      return rounded(ieee_value(x.a) * ieee_value(x.b) + ieee_value(x.c));
    const u16 r = rounded_units48(units(x.a) * units(x.b) + units(x.c) * (wide{1} << 24),
                                  is_negative(x.a) != is_negative(x.b) && is_negative(x.c));
    if (!same_half(r, exact_sum({exact_product({x.a, x.b}), x.c}))) ++rounding_twice_is_wrong;
    return r;
  };
  expect_halves("__hfma", all, on_device<t_fma>(all), exact);
  EXPECT_GT(rounding_twice_is_wrong, 10000) << "the inputs must tell";
}

// --- comparisons ---------------------------------------------------------------------------------

#define HALF_COMPARISONS(A, B)                                                              \
  ((__heq(A, B) ? 1U : 0U) | (__hne(A, B) ? 2U : 0U) | (__hlt(A, B) ? 4U : 0U) |            \
   (__hle(A, B) ? 8U : 0U) | (__hgt(A, B) ? 16U : 0U) | (__hge(A, B) ? 32U : 0U) |          \
   (__hequ(A, B) ? 64U : 0U) | (__hneu(A, B) ? 128U : 0U) | (__hltu(A, B) ? 256U : 0U) |    \
   (__hleu(A, B) ? 512U : 0U) | (__hgtu(A, B) ? 1024U : 0U) | (__hgeu(A, B) ? 2048U : 0U) | \
   ((A) == (B) ? 4096U : 0U) | ((A) != (B) ? 8192U : 0U) | ((A) < (B) ? 16384U : 0U) |      \
   ((A) <= (B) ? 32768U : 0U) | ((A) > (B) ? 65536U : 0U) | ((A) >= (B) ? 131072U : 0U))
DEVICE_FUNCTION(p_compare, unsigned, u16x2, [](__half a, __half b) {
  return HALF_COMPARISONS(a, b);
}(__ushort_as_half(x.a), __ushort_as_half(x.b)));
DEVICE_FUNCTION(p_is, unsigned, u16, [](__half a) {
  return (__hisnan(a) ? 1U : 0U) | (__hisinf(a) == 1 ? 2U : 0U) | (__hisinf(a) == -1 ? 4U : 0U) |
         (__hisinf(a) == 0 ? 8U : 0U);
}(__ushort_as_half(x)));

TEST(HalfPrecision, ComparisonsKnowNan) {
  const auto all = pairs();
  const auto results = on_device<p_compare>(all);
  int wrong = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double a = ieee_value(all[i].a), b = ieee_value(all[i].b);
    const bool nan = a != a || b != b;
    const unsigned ordered = (a == b ? 1U : 0U) | (a != b && !nan ? 2U : 0U) | (a < b ? 4U : 0U) |
                             (a <= b ? 8U : 0U) | (a > b ? 16U : 0U) | (a >= b ? 32U : 0U);
    const unsigned of_operators = nan ? 2U : ordered;
    const unsigned expected = ordered | (nan ? 63U : ordered) << 6 | of_operators << 12;
    if (results[i] != expected && wrong++ == 0) {
      ADD_FAILURE() << a << " and " << b << ": got " << results[i] << ", expected " << expected;
    }
  }
  EXPECT_EQ(wrong, 0);
  const auto halves = all_halves();
  const auto kinds = on_device<p_is>(halves);
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const double v = ieee_value(halves[i]);
    const unsigned expected = v != v ? 9U : v == kInf ? 2U : v == -kInf ? 4U : 8U;
    ASSERT_EQ(kinds[i], expected) << v;
  }
}

// --- conversions ---------------------------------------------------------------------------------

DEVICE_FUNCTION(c_to_float, float, u16, __half2float(__ushort_as_half(x)));
DEVICE_FUNCTION(c_rn, u16, float, __half_as_ushort(__float2half_rn(x)));
DEVICE_FUNCTION(c_rz, u16, float, __half_as_ushort(__float2half_rz(x)));
DEVICE_FUNCTION(c_ru, u16, float, __half_as_ushort(__float2half_ru(x)));
DEVICE_FUNCTION(c_rd, u16, float, __half_as_ushort(__float2half_rd(x)));
DEVICE_FUNCTION(c_plain, u16, float, __half_as_ushort(__float2half(x)));
DEVICE_FUNCTION(c_double, u16, double, __half_as_ushort(__double2half(x)));

/// Each half, each middle of two, and their neighbours in T; and numbers of every size.
template <class T>
std::vector<T> near_halves() {
  std::vector<T> all = {static_cast<T>(kNan),
                        static_cast<T>(kInf),
                        static_cast<T>(-kInf),
                        std::numeric_limits<T>::max(),
                        std::numeric_limits<T>::denorm_min(),
                        static_cast<T>(1e-30),
                        static_cast<T>(1e30)};
  for (int i = 0; i < kInfinity; ++i) {
    const double below = value(static_cast<u16>(i)), above = value(static_cast<u16>(i + 1));
    for (const double v : {below, (below + above) / 2}) {
      const auto t = static_cast<T>(v);
      for (const T n : {t, std::nextafter(t, static_cast<T>(kInf)), std::nextafter(t, T{0})}) {
        all.push_back(n);
        all.push_back(-n);
      }
    }
  }
  return all;
}

TEST(HalfPrecision, FloatsAreRoundedEachWay) {
  const auto floats = near_halves<float>();
  const auto way = [](toward to) { return [to](float x) { return rounded(x, to); }; };
  expect_halves("__float2half_rn", floats, on_device<c_rn>(floats), way(toward::nearest));
  expect_halves("__float2half", floats, on_device<c_plain>(floats), way(toward::nearest));
  expect_halves("__float2half_rz", floats, on_device<c_rz>(floats), way(toward::zero));
  expect_halves("__float2half_ru", floats, on_device<c_ru>(floats), way(toward::up));
  expect_halves("__float2half_rd", floats, on_device<c_rd>(floats), way(toward::down));
  const auto doubles = near_halves<double>();
  expect_halves("__double2half", doubles, on_device<c_double>(doubles),
                [](double x) { return rounded(x); });
}

TEST(HalfPrecision, EveryHalfIsAFloat) {
  const auto halves = all_halves();
  const auto floats = on_device<c_to_float>(halves);
  for (std::size_t i = 0; i < halves.size(); ++i)
    ASSERT_TRUE(same(floats[i], static_cast<float>(ieee_value(halves[i])))) << i;
}

#define INTEGER_CONVERSIONS(T, NAME, M)                                                 \
  DEVICE_FUNCTION(i_to_##NAME##_##M, T, u16, __half2##NAME##_##M(__ushort_as_half(x))); \
  DEVICE_FUNCTION(i_from_##NAME##_##M, u16, T, __half_as_ushort(__##NAME##2half_##M(x)));
#define ALL_INTEGER_CONVERSIONS(T, NAME) \
  INTEGER_CONVERSIONS(T, NAME, rn)       \
  INTEGER_CONVERSIONS(T, NAME, rz)       \
  INTEGER_CONVERSIONS(T, NAME, ru)       \
  INTEGER_CONVERSIONS(T, NAME, rd)
ALL_INTEGER_CONVERSIONS(short, short)
ALL_INTEGER_CONVERSIONS(unsigned short, ushort)
ALL_INTEGER_CONVERSIONS(int, int)
ALL_INTEGER_CONVERSIONS(unsigned int, uint)
ALL_INTEGER_CONVERSIONS(long long, ll)
ALL_INTEGER_CONVERSIONS(unsigned long long, ull)

template <class T>
T exact_integer(u16 h, toward way) {
  const double v = ieee_value(h);
  if (v != v) return sizeof(T) == 8 ? static_cast<T>(std::uint64_t{1} << 63) : T{0};
  const double whole = way == toward::nearest ? std::rint(v)
                       : way == toward::zero  ? std::trunc(v)
                       : way == toward::up    ? std::ceil(v)
                                              : std::floor(v);
  if (whole < static_cast<double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (whole >= static_cast<double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}
template <class T>
std::vector<T> integers() {
  using limits = std::numeric_limits<T>;
  std::vector<T> all = {limits::min(), limits::max(), static_cast<T>(limits::max() / 2)};
  const long long last =
      std::min<unsigned long long>(static_cast<unsigned long long>(limits::max()), 70000ULL);
  for (long long i = 0; i <= last; ++i) {
    all.push_back(static_cast<T>(i));
    if (limits::is_signed) all.push_back(static_cast<T>(-i));
  }
  for (unsigned shift = 17; shift < sizeof(T) * 8; ++shift)
    all.push_back(static_cast<T>((std::uint64_t{1} << shift) - 1));
  return all;
}
template <class To, class From, class T>
void expect_integers(const char* name, toward way, T) {
  const auto halves = all_halves();
  const auto whole = on_device<To>(halves);
  int wrong = 0;
  for (std::size_t i = 0; i < halves.size(); ++i)
    if (whole[i] != exact_integer<T>(halves[i], way) && wrong++ == 0) {
      ADD_FAILURE() << name << ": " << ieee_value(halves[i]) << " became " << whole[i];
    }
  const auto numbers = integers<T>();
  expect_halves(name, numbers, on_device<From>(numbers),
                [&](T x) { return rounded(static_cast<long double>(x), way); });
}
#define EXPECT_INTEGERS(T, NAME)                                                             \
  expect_integers<i_to_##NAME##_rn, i_from_##NAME##_rn>(#NAME "_rn", toward::nearest, T{0}); \
  expect_integers<i_to_##NAME##_rz, i_from_##NAME##_rz>(#NAME "_rz", toward::zero, T{0});    \
  expect_integers<i_to_##NAME##_ru, i_from_##NAME##_ru>(#NAME "_ru", toward::up, T{0});      \
  expect_integers<i_to_##NAME##_rd, i_from_##NAME##_rd>(#NAME "_rd", toward::down, T{0});

TEST(HalfPrecision, IntegersAreRoundedEachWayAndBack) {
  using ull = unsigned long long;
  using ll = long long;
  using uint = unsigned int;
  using ushort = unsigned short;
  EXPECT_INTEGERS(short, short)
  EXPECT_INTEGERS(ushort, ushort)
  EXPECT_INTEGERS(int, int)
  EXPECT_INTEGERS(uint, uint)
  EXPECT_INTEGERS(ll, ll)
  EXPECT_INTEGERS(ull, ull)
}

DEVICE_FUNCTION(c_implicit, unsigned, float, [](float v) {
  const __half h = v;
  const float back = h;
  const __half of_int = static_cast<int>(v);
  __half sum = h;
  sum += of_int;
  sum -= __half(1);
  sum *= h;
  ++sum;
  const bool is_not_zero = static_cast<bool>(h);
  return (static_cast<unsigned>(__half_as_ushort(sum)) << 16) | (back == v ? 1U : 0U) |
         (static_cast<int>(h) == static_cast<int>(v) ? 2U : 0U) | (is_not_zero ? 4U : 0U) |
         (__half_as_ushort(-h) == (__half_as_ushort(h) ^ 0x8000) ? 8U : 0U);
}(x));

TEST(HalfPrecision, ConvertsAsCPlusPlusDoes) {
  // (2.5 + 2 - 1) * 2.5 + 1 = 9.75
  EXPECT_EQ(one_on_device<c_implicit>(2.5F), (static_cast<unsigned>(rounded(9.75)) << 16) | 15U);
  // ((-3) + (-3) - 1) * (-3) + 1 = 22
  EXPECT_EQ(one_on_device<c_implicit>(-3.0F), (static_cast<unsigned>(rounded(22.0)) << 16) | 15U);
}

// --- functions -----------------------------------------------------------------------------------

#ifdef __CPU_DEVICE__
constexpr int kSteps = 0;
#else
constexpr int kSteps = 1;  // for those that a GPU approximates
#endif

#define HALF_FUNCTION(NAME) \
  DEVICE_FUNCTION(f_##NAME, u16, u16, __half_as_ushort(NAME(__ushort_as_half(x))))
HALF_FUNCTION(hsqrt);
HALF_FUNCTION(hrsqrt);
HALF_FUNCTION(hrcp);
HALF_FUNCTION(hexp);
HALF_FUNCTION(hexp2);
HALF_FUNCTION(hexp10);
HALF_FUNCTION(hlog);
HALF_FUNCTION(hlog2);
HALF_FUNCTION(hlog10);
HALF_FUNCTION(hsin);
HALF_FUNCTION(hcos);
HALF_FUNCTION(hfloor);
HALF_FUNCTION(hceil);
HALF_FUNCTION(htrunc);
HALF_FUNCTION(hrint);
HALF_FUNCTION(__habs);
HALF_FUNCTION(__hneg);

template <class Function, class Reference>
void expect_function(const char* name, Reference reference, int steps) {
  const auto halves = all_halves();
  expect_halves(
      name, halves, on_device<Function>(halves),
      [&](u16 h) { return rounded(reference(static_cast<long double>(ieee_value(h)))); }, steps);
}

TEST(HalfPrecision, FunctionsAreRightForEveryHalf) {
  using real = long double;
  expect_function<f_hsqrt>(
      "hsqrt", [](real x) { return std::sqrt(x); }, 0);
  expect_function<f_hrcp>(
      "hrcp", [](real x) { return 1 / x; }, kSteps);
  expect_function<f_hrsqrt>(
      "hrsqrt", [](real x) { return 1 / std::sqrt(x); }, kSteps);
  expect_function<f_hexp>(
      "hexp", [](real x) { return std::exp(x); }, kSteps);
  expect_function<f_hexp2>(
      "hexp2", [](real x) { return std::exp2(x); }, kSteps);
  expect_function<f_hexp10>(
      "hexp10", [](real x) { return std::pow(real{10}, x); }, kSteps);
  expect_function<f_hlog>(
      "hlog", [](real x) { return std::log(x); }, kSteps);
  expect_function<f_hlog2>(
      "hlog2", [](real x) { return std::log2(x); }, kSteps);
  expect_function<f_hlog10>(
      "hlog10", [](real x) { return std::log10(x); }, kSteps);
  expect_function<f_hsin>(
      "hsin", [](real x) { return std::sin(x); }, kSteps);
  expect_function<f_hcos>(
      "hcos", [](real x) { return std::cos(x); }, kSteps);
  expect_function<f_hfloor>(
      "hfloor", [](real x) { return std::floor(x); }, 0);
  expect_function<f_hceil>(
      "hceil", [](real x) { return std::ceil(x); }, 0);
  expect_function<f_htrunc>(
      "htrunc", [](real x) { return std::trunc(x); }, 0);
  expect_function<f_hrint>(
      "hrint", [](real x) { return std::rint(x); }, 0);
  expect_function<f___habs>(
      "__habs", [](real x) { return std::fabs(x); }, 0);
  expect_function<f___hneg>(
      "__hneg", [](real x) { return -x; }, 0);
}

// --- pairs ---------------------------------------------------------------------------------------

struct pair_results {
  u16 low[12], high[12];
  unsigned masks[4];
  unsigned flags;
};
struct two_pairs {
  u16 a[2], b[2];
};
__device__ pair_results results_of_pairs(two_pairs x) {
  const __half2 a = __halves2half2(__ushort_as_half(x.a[0]), __ushort_as_half(x.a[1]));
  const __half2 b = make_half2(__ushort_as_half(x.b[0]), __ushort_as_half(x.b[1]));
  const __half2 all[12] = {
      __hadd2(a, b),      __hsub2(a, b),       __hmul2(a, b),
      __h2div(a, b),      __hfma2(a, b, a),    a + b * a,
      __hmax2(a, b),      h2sqrt(a),           __lowhigh2highlow(a),
      __lows2half2(a, b), __highs2half2(a, b), __float22half2_rn(__half22float2(-a))};
  pair_results r;
  for (int i = 0; i < 12; ++i) {
    r.low[i] = __half_as_ushort(__low2half(all[i]));
    r.high[i] = __half_as_ushort(__high2half(all[i]));
  }
  r.masks[0] = __heq2_mask(a, b);
  r.masks[1] = __hneu2_mask(a, b);
  r.masks[2] = __hlt2_mask(a, b);
  r.masks[3] = __hgeu2_mask(a, b);
  const __half2 less = __hlt2(a, b);
  r.flags = (__hblt2(a, b) ? 1U : 0U) | (a == b ? 2U : 0U) | (a != b ? 4U : 0U) |
            (__low2float(less) == 1.0F ? 8U : 0U) | (__high2float(less) == 1.0F ? 16U : 0U);
  return r;
}
DEVICE_FUNCTION(p2, pair_results, two_pairs, results_of_pairs(x));

TEST(HalfPrecision, PairsAreTwoHalvesEachByItself) {
  std::vector<two_pairs> inputs;
  std::mt19937 random(22);
  const auto special = special_halves();
  const auto any = [&] { return special[random() % special.size()]; };
  for (int i = 0; i < 20000; ++i) {
    inputs.push_back({{any(), any()}, {any(), any()}});
    inputs.back().b[i % 2] = inputs.back().a[i % 2];
  }
  const auto results = on_device<p2>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const pair_results& r = results[i];
    bool less[2], equal[2], not_equal[2], not_less[2];
    for (int k = 0; k < 2; ++k) {
      const u16 a = inputs[i].a[k], b = inputs[i].b[k];
      const u16* got = k == 0 ? r.low : r.high;
      const double x = ieee_value(a), y = ieee_value(b);
      less[k] = x < y;
      equal[k] = x == y;
      not_equal[k] = !(x == y);
      not_less[k] = !(x < y);
      const u16 expected[9] = {exact_sum({a, b}),
                               exact_difference({a, b}),
                               exact_product({a, b}),
                               exact_quotient({a, b}),
                               0,
                               0,
                               largest({a, b}),
                               rounded(std::sqrt(static_cast<long double>(x))),
                               inputs[i].a[1 - k]};
      for (const int e : {0, 1, 2, 3, 6, 7, 8})
        ASSERT_TRUE(same_half(got[e], expected[e])) << "operation " << e << ", half " << k;
      const bool finite = is_finite(a) && is_finite(b);
      const u16 fused = finite ? rounded_units48(units(a) * units(b) + units(a) * (wide{1} << 24),
                                                 is_negative(a) != is_negative(b) && is_negative(a))
                               : rounded(x * y + x);
      ASSERT_TRUE(same_half(got[4], fused)) << "__hfma2";
      // nvcc may join the operators of a + b * a.
      ASSERT_TRUE(same_half(got[5], fused) ||
                  same_half(got[5], exact_sum({a, exact_product({b, a})})));
      ASSERT_TRUE(same_half(got[9], k == 0 ? inputs[i].a[0] : inputs[i].b[0]));
      ASSERT_TRUE(same_half(got[10], k == 0 ? inputs[i].a[1] : inputs[i].b[1]));
      ASSERT_TRUE(same_half(got[11], static_cast<u16>(a ^ 0x8000)));
    }
    const auto mask = [](const bool(&is)[2]) {
      return (is[0] ? 0xFFFFU : 0U) | (is[1] ? 0xFFFF0000U : 0U);
    };
    ASSERT_EQ(r.masks[0], mask(equal));
    ASSERT_EQ(r.masks[1], mask(not_equal));
    ASSERT_EQ(r.masks[2], mask(less));
    ASSERT_EQ(r.masks[3], mask(not_less));
    ASSERT_EQ(r.flags, (less[0] && less[1] ? 1U : 0U) | (equal[0] && equal[1] ? 2U : 0U) |
                           (not_equal[0] && not_equal[1] ? 4U : 0U) | (less[0] ? 8U : 0U) |
                           (less[1] ? 16U : 0U));
  }
}

// --- threads -------------------------------------------------------------------------------------

__global__ void add_up(__half* one, __half2* pair) {
  atomicAdd(one, __half(0.5F));
  atomicAdd(pair, make_half2(__half(1.0F), __half(-2.0F)));
}
__global__ void neighbours(const __half* in, __half* out, __half2* pairs) {
  const __half mine = __ldg(in + threadIdx.x);
  const __half other = __shfl_xor_sync(0xFFFFFFFFU, mine, 1);
  out[threadIdx.x] = other;
  pairs[threadIdx.x] = __shfl_down_sync(0xFFFFFFFFU, make_half2(mine, other), 4);
}

TEST(HalfPrecision, AtomicAddLosesNothing) {
  in_every_order([] {
    const device_array<u16> one(1, 0), pair(2, 0);
    add_up<<<4, 96>>>(reinterpret_cast<__half*>(one.data()),
                      reinterpret_cast<__half2*>(pair.data()));
    EXPECT_EQ(one.to_host()[0], rounded(192.0));
    EXPECT_EQ(pair.to_host(), (std::vector<u16>{rounded(384.0), rounded(-768.0)}));
  });
}

TEST(HalfPrecision, HalvesAreShuffled) {
  std::vector<u16> halves;
  for (int i = 0; i < 32; ++i) halves.push_back(rounded(i * 1.25 - 3));
  in_every_order([&] {
    const device_array<u16> in(halves), out(32, u16{0}), pairs(64, u16{0});
    neighbours<<<1, 32>>>(reinterpret_cast<const __half*>(in.data()),
                          reinterpret_cast<__half*>(out.data()),
                          reinterpret_cast<__half2*>(pairs.data()));
    const auto swapped = out.to_host(), moved = pairs.to_host();
    for (std::size_t i = 0; i < 32; ++i) {
      EXPECT_EQ(swapped[i], halves[i ^ 1U]);
      const std::size_t from = i + 4 < 32 ? i + 4 : i;
      EXPECT_EQ(moved[2 * i], halves[from]);
      EXPECT_EQ(moved[2 * i + 1], halves[from ^ 1U]);
    }
  });
}

TEST(HalfPrecision, HasTheSizeOfItsBits) {
  static_assert(sizeof(__half) == 2 && sizeof(__half2) == 4 && alignof(__half2) == 4);
  static_assert(std::is_trivially_copyable_v<__half> && std::is_same_v<half, __half>);
  EXPECT_EQ(__half2float(__float2half(0.1F)), 0.0999755859375F) << "on the host, too";
}

}  // namespace
