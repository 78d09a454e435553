// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Floating-point numbers of 8 bits: all 256 of each format, and conversions to them from every half
// and bfloat16 and from floats and doubles beside every tie.

#include <cuda_fp8.h>

#include <algorithm>

#include "conformance.hpp"
#include "tiny_floats.hpp"

namespace {

using conformance::back;
using conformance::byte;
using conformance::is_true;
using conformance::kInf;
using conformance::kNan;
using conformance::made_of;
using conformance::on_device;
using conformance::through_half;
using conformance::to_float;
using conformance::to_int;
using conformance::to_unsigned_char;

/// A format, by its definition: exponent and digits behind the point.
struct format {
  int digits, bias;
  byte largest;
  bool has_infinity;
};
template <class T>
constexpr format kFormat =
    std::is_same_v<T, __nv_fp8_e4m3> ? format{3, 7, 0x7e, false} : format{2, 15, 0x7b, true};

double value_of(byte bits, format f) {
  const int size = bits & 0x7f, exponent = size >> f.digits, digits = size % (1 << f.digits);
  const double sign = bits >= 0x80 ? -1.0 : 1.0;
  if (size > f.largest) return f.has_infinity && size == f.largest + 1 ? sign * kInf : kNan;
  return sign * (exponent == 0
                     ? std::ldexp(digits, 1 - f.bias - f.digits)
                     : std::ldexp(digits + (1 << f.digits), exponent - f.bias - f.digits));
}

/// The bits of the nearest number, found by checking all of them: of two, the even one.
byte nearest(double x, format f, bool saturates) {
  if (x != x) return 0x7f;
  const byte sign = std::signbit(x) ? 0x80 : 0;
  const auto next = static_cast<byte>(f.largest + 1);
  const byte beyond = saturates ? f.largest : next;
  // What would come after the largest number if the exponents continued.
  const double after = f.has_infinity ? 65536 : 480;
  const double limit = (value_of(f.largest, f) + after) / 2;
  const bool tie_goes_up = f.largest % 2 == 1;
  const double size = std::fabs(x);
  if (size > limit || (size == limit && tie_goes_up)) return static_cast<byte>(sign | beyond);
  byte best = 0;
  for (int bits = 0; bits <= f.largest; ++bits) {
    const double now = std::fabs(value_of(static_cast<byte>(bits), f) - size),
                 before = std::fabs(value_of(best, f) - size);
    if (now < before || (now == before && bits % 2 == 0)) best = static_cast<byte>(bits);
  }
  return static_cast<byte>(sign | best);
}

std::vector<byte> all_bytes() {
  std::vector<byte> v;
  for (int i = 0; i < 256; ++i) v.push_back(static_cast<byte>(i));
  return v;
}

/// Every number of the format, what lies between two, and the neighbours of these.
template <class T>
std::vector<double> edges(format f) {
  std::vector<double> v{0.0,   1e-30, 1e30,  kInf,    kNan,    463.0,   464.0,
                        464.5, 480.0, 500.0, 61439.0, 61440.0, 61441.0, 70000.0};
  for (int bits = 0; bits <= f.largest; ++bits) {
    const double x = value_of(static_cast<byte>(bits), f);
    const double tie = bits < f.largest ? (x + value_of(static_cast<byte>(bits + 1), f)) / 2 : x;
    for (const double edge : {x, tie})
      for (const T towards : {T{0}, std::numeric_limits<T>::infinity()})
        v.push_back(static_cast<double>(std::nextafter(static_cast<T>(edge), towards)));
    v.push_back(x);
    v.push_back(tie);
  }
  const std::size_t positive = v.size();
  for (std::size_t i = 0; i < positive; ++i) v.push_back(-v[i]);
  return v;
}

template <__nv_fp8_interpretation_t Kind, __nv_saturation_t Saturation>
struct encode {
  static __device__ byte of(double x) { return __nv_cvt_double_to_fp8(x, Saturation, Kind); }
  static __device__ byte of(float x) { return __nv_cvt_float_to_fp8(x, Saturation, Kind); }
  static __device__ byte of(__half_raw x) { return __nv_cvt_halfraw_to_fp8(x, Saturation, Kind); }
  static __device__ byte of(__nv_bfloat16_raw x) {
    return __nv_cvt_bfloat16raw_to_fp8(x, Saturation, Kind);
  }
};

template <class In>
double wide(In x) {
  if constexpr (std::is_same_v<In, __half_raw>)
    return static_cast<double>(__half2float(__half(x)));
  else if constexpr (std::is_same_v<In, __nv_bfloat16_raw>)
    return static_cast<double>(__bfloat162float(__nv_bfloat16(x)));
  else
    return static_cast<double>(x);
}

template <__nv_fp8_interpretation_t Kind, __nv_saturation_t Saturation, class In>
void expect_nearest(const std::vector<In>& inputs) {
  const format f = kFormat<std::conditional_t<Kind == __NV_E4M3, __nv_fp8_e4m3, __nv_fp8_e5m2>>;
  const auto results = on_device<encode<Kind, Saturation>>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const byte expected = nearest(wide(inputs[i]), f, Saturation == __NV_SATFINITE);
    const bool same = results[i] == expected ||
                      (std::isnan(value_of(results[i], f)) && std::isnan(value_of(expected, f)));
    ASSERT_TRUE(same) << wide(inputs[i]) << " gave " << int{results[i]} << ", expected "
                      << int{expected};
  }
}
template <__nv_fp8_interpretation_t Kind, class In>
void expect_nearest_both_ways(const std::vector<In>& inputs) {
  expect_nearest<Kind, __NV_SATFINITE>(inputs);
  expect_nearest<Kind, __NV_NOSAT>(inputs);
}
template <__nv_fp8_interpretation_t Kind>
void expect_nearest_of_all_types(format f) {
  expect_nearest_both_ways<Kind>(edges<double>(f));
  std::vector<float> floats;
  for (const double x : edges<float>(f)) floats.push_back(static_cast<float>(x));
  expect_nearest_both_ways<Kind>(floats);
  std::vector<__half_raw> halves(65536);
  std::vector<__nv_bfloat16_raw> bfloats(65536);
  for (unsigned i = 0; i < 65536; ++i) halves[i].x = bfloats[i].x = static_cast<unsigned short>(i);
  expect_nearest_both_ways<Kind>(halves);
  expect_nearest_both_ways<Kind>(bfloats);
}

TEST(Fp8, IsTheNearestNumberThatThereIs) {
  expect_nearest_of_all_types<__NV_E4M3>(kFormat<__nv_fp8_e4m3>);
  expect_nearest_of_all_types<__NV_E5M2>(kFormat<__nv_fp8_e5m2>);
}

template <class T>
void expect_conversions() {
  const auto floats = on_device<to_float<T>>(all_bytes()),
             halves = on_device<through_half<T>>(all_bytes());
  const auto ints = on_device<to_int<T>>(all_bytes());
  const auto bytes = on_device<to_unsigned_char<T>>(all_bytes());
  const auto truths = on_device<is_true<T>>(all_bytes());
  const auto same = on_device<back<T>>(all_bytes());
  for (std::size_t i = 0; i < 256; ++i) {
    const double x = value_of(static_cast<byte>(i), kFormat<T>);
    SCOPED_TRACE(i);
    EXPECT_TRUE(conformance::same(floats[i], static_cast<float>(x)));
    EXPECT_TRUE(conformance::same(halves[i], static_cast<float>(x)));
    EXPECT_EQ(truths[i], x != 0 ? 1 : 0);
    if (std::isfinite(x)) {
      EXPECT_EQ(ints[i], static_cast<int>(x));
      EXPECT_EQ(int{bytes[i]}, static_cast<int>(std::clamp(x, 0.0, 255.0)));
      EXPECT_EQ(std::size_t{same[i]}, i);
    }
  }
}

TEST(Fp8, BecomesFloatsHalvesAndIntegers) {
  expect_conversions<__nv_fp8_e4m3>();
  expect_conversions<__nv_fp8_e5m2>();
}

// Each byte of the results is one test of the classes of several numbers.
template <class T, class T2, class T4>
__global__ void convert_several(unsigned* words, float* numbers) {
  const T4 four(make_float4(1.0f, -2.5f, 1e6f, 0.0f));
  words[0] = four.__x;
  const __half2 low(__float2half(1.0f), __float2half(-2.5f)),
      high(__float2half(-1e6f), __float2half(0.5f));
  words[1] = T4(low, high).__x;
  words[2] = T2(make_float2(3.0f, -4.0f)).__x;
  words[3] = T2(low).__x;
  words[4] = T(-7).__x;
  words[5] = T(1000000ULL).__x;
  const auto back = static_cast<float4>(four);
  numbers[0] = back.x;
  numbers[1] = back.y;
  numbers[2] = back.z;
  numbers[3] = back.w;
  const auto two = static_cast<float2>(T2(make_float2(3.0f, -4.0f)));
  numbers[4] = two.x;
  numbers[5] = two.y;
  numbers[6] = __high2float(static_cast<__half2>(T2(low)));
}

template <class T, class T2, class T4>
void expect_several(float largest) {
  const conformance::device_array<unsigned> words(6, 0);
  const conformance::device_array<float> numbers(7, 0.0f);
  convert_several<T, T2, T4><<<1, 1>>>(words.data(), numbers.data());
  const auto bits = [](double x) { return unsigned{nearest(x, kFormat<T>, true)}; };
  const std::vector<unsigned> expected{
      bits(1) | bits(-2.5) << 8 | bits(1e6) << 16,
      bits(1) | bits(-2.5) << 8 | bits(-1e6) << 16 | bits(0.5) << 24,
      bits(3) | bits(-4) << 8,
      bits(1) | bits(-2.5) << 8,
      bits(-7),
      bits(1e6)};
  EXPECT_EQ(words.to_host(), expected);
  EXPECT_EQ(numbers.to_host(), (std::vector<float>{1, -2.5f, largest, 0, 3, -4, -2.5f}));
}

TEST(Fp8, ComesInTwosAndFours) {
  expect_several<__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3>(448);
  expect_several<__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2>(57344);
}

static_assert(sizeof(__nv_fp8_e4m3) == 1 && sizeof(__nv_fp8x2_e5m2) == 2 &&
              sizeof(__nv_fp8x4_e4m3) == 4 && alignof(__nv_fp8x4_e4m3) == 4);

}  // namespace
