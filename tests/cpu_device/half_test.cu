// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Half precision and bfloat16: every half, against exact integer arithmetic.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "conformance.hpp"

namespace {

using namespace conformance;
using bits16 = unsigned short;
__extension__ typedef __int128 wide;  // every half is a multiple of 2^-24, a product of 2^-48

constexpr int kAll = 65536;

bool is_nan(bits16 h) { return (h & 0x7fff) > 0x7c00; }
bool is_inf(bits16 h) { return (h & 0x7fff) == 0x7c00; }
bool is_negative(bits16 h) { return (h & 0x8000) != 0; }
/// A finite half as a multiple of 2^-24.
long long units(bits16 h) {
  const int exponent = h >> 10 & 31, digits = h & 1023;
  const long long size = exponent == 0 ? digits : (1024LL + digits) << (exponent - 1);
  return is_negative(h) ? -size : size;
}
double value(bits16 h) {
  if (is_nan(h)) return kNan;
  if (is_inf(h)) return is_negative(h) ? -kInf : kInf;
  return std::copysign(std::ldexp(static_cast<double>(units(h)), -24), is_negative(h) ? -1.0 : 1.0);
}

/// The half nearest to exact * 2^-places, ties to the even one; the sign of a zero is given.
bits16 nearest(wide exact, bool negative_zero, int places = 48) {
  if (exact == 0) return negative_zero ? 0x8000 : 0;
  const wide size = exact < 0 ? -exact : exact;
  const auto at = [=](int h) {
    const long long u = h == 0x7c00 ? 65536LL << 24 : units(static_cast<bits16>(h));
    return static_cast<wide>(u) * (static_cast<wide>(1) << (places - 24));
  };
  int low = 0, high = 0x7c00;  // infinity stands where the next number would
  if (size >= at(high)) return static_cast<bits16>(high | (exact < 0 ? 0x8000 : 0));
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (at(middle) <= size ? low : high) = middle;
  }
  const wide below = size - at(low), above = at(high) - size;
  const int result = below < above || (below == above && low % 2 == 0) ? low : high;
  return static_cast<bits16>(result | (exact < 0 ? 0x8000 : 0));
}
/// What has infinities or NaN in it; finite results are zeros.
bits16 special(double result) {
  if (result != result) return 0x7fff;
  return static_cast<bits16>((std::isinf(result) ? 0x7c00 : 0) |
                             (std::signbit(result) ? 0x8000 : 0));
}
bool same_half(bits16 a, bits16 b) { return a == b || (is_nan(a) && is_nan(b)); }

const std::vector<bits16>& partners() {
  static const std::vector<bits16> all = [] {
    std::vector<bits16> v{0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01,
                          0x3bff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x4248, 0x1400, 0x9401};
    std::mt19937 generator(20);
    while (v.size() < 40) v.push_back(static_cast<bits16>(generator()));
    return v;
  }();
  return all;
}

struct sum {
  static __device__ __half of(__half a, __half b) { return __hadd(a, b); }
};
struct difference {
  static __device__ __half of(__half a, __half b) { return a - b; }
};
struct product {
  static __device__ __half of(__half a, __half b) { return __hmul(a, b); }
};
struct quotient {
  static __device__ __half of(__half a, __half b) { return a / b; }
};
struct fused {  // c = -b, so that sums cancel
  static __device__ __half of(__half a, __half b) { return __hfma(a, b, __hneg(b)); }
};
struct larger {
  static __device__ __half of(__half a, __half b) { return __hmax(a, b); }
};
struct less {
  static __device__ __half of(__half a, __half b) {
    return __float2half(__hlt(a, b) ? 1.0f : 0.0f);
  }
};

template <class Operation>
__global__ void with_every_half(const bits16* partner, bits16* out, int n) {
  const int a = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int i = 0; i < n; ++i)
    out[i * kAll + a] = __half_as_ushort(
        Operation::of(__ushort_as_half(static_cast<bits16>(a)), __ushort_as_half(partner[i])));
}

/// Operation(every half, each partner) against reference(a, b).
template <class Operation, class Reference>
void check(const char* name, Reference reference) {
  const int n = static_cast<int>(partners().size());
  const device_array<bits16> partner(partners()),
      out(static_cast<std::size_t>(n) * kAll, bits16{1});
  with_every_half<Operation><<<kAll / 256, 256>>>(partner.data(), out.data(), n);
  const std::vector<bits16> results = out.to_host();
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    for (int a = 0; a < kAll; ++a) {
      const bits16 b = partners()[static_cast<std::size_t>(i)];
      const bits16 got = results[static_cast<std::size_t>(i) * kAll + static_cast<std::size_t>(a)];
      const bits16 expected = reference(static_cast<bits16>(a), b);
      if (!same_half(got, expected) && ++wrong <= 3)
        ADD_FAILURE() << name << std::hex << " of " << a << " and " << b << ": got " << got
                      << ", expected " << expected;
    }
  EXPECT_EQ(wrong, 0) << name;
}

bits16 exact_sum(bits16 a, bits16 b) {
  if (is_nan(a) || is_nan(b) || is_inf(a) || is_inf(b)) {
    return special(value(a) + value(b));
  }
  return nearest((static_cast<wide>(units(a)) + units(b)) * (1 << 24),
                 is_negative(a) && is_negative(b));
}

TEST(Half, SumsAndDifferencesAreRoundedOnce) {
  check<sum>("sum", exact_sum);
  check<difference>("difference", [](bits16 a, bits16 b) {
    return exact_sum(a, is_nan(b) ? b : static_cast<bits16>(b ^ 0x8000));
  });
}

TEST(Half, ProductsAreRoundedOnce) {
  check<product>("product", [](bits16 a, bits16 b) {
    if (is_nan(a) || is_nan(b) || is_inf(a) || is_inf(b)) return special(value(a) * value(b));
    return nearest(static_cast<wide>(units(a)) * units(b), is_negative(a) != is_negative(b));
  });
}

TEST(Half, FusedProductsAreRoundedOnce) {
  check<fused>("fused", [](bits16 a, bits16 b) {
    if (is_nan(a) || is_nan(b) || is_inf(a) || is_inf(b))
      return special(value(a) * value(b) - value(b));
    const wide exact =
        static_cast<wide>(units(a)) * units(b) - static_cast<wide>(units(b)) * (1 << 24);
    const bool product_negative = is_negative(a) != is_negative(b);
    return nearest(exact, product_negative && !is_negative(b));
  });
}

TEST(Half, QuotientsAreRoundedOnce) {
  check<quotient>("quotient", [](bits16 a, bits16 b) {
    if (is_nan(a) || is_nan(b) || is_inf(a) || is_inf(b) || units(b) == 0)
      return special(value(a) / value(b));
    // With 60 binary places, and one more digit for what follows: no tie is left undecided.
    const wide top = static_cast<wide>(units(a)) * (static_cast<wide>(1) << 60);
    const wide whole = top / units(b);
    const bool negative = is_negative(a) != is_negative(b);
    return nearest(whole * 2 + (top % units(b) == 0 ? 0 : negative ? -1 : 1), negative, 61);
  });
}

TEST(Half, ComparesAndChoosesNumbers) {
  check<larger>("larger", [](bits16 a, bits16 b) {
    if (is_nan(a)) return b;
    if (is_nan(b)) return a;
    if (value(a) == value(b)) return static_cast<bits16>(a & b);
    return value(a) > value(b) ? a : b;
  });
  check<less>("less", [](bits16 a, bits16 b) {
    return static_cast<bits16>(value(a) < value(b) ? 0x3c00 : 0);
  });
}

__global__ void convert(const float* in, bits16* rn, bits16* rz, bits16* ru, bits16* rd, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  rn[i] = __half_as_ushort(__float2half(in[i]));
  rz[i] = __half_as_ushort(__float2half_rz(in[i]));
  ru[i] = __half_as_ushort(__float2half_ru(in[i]));
  rd[i] = __half_as_ushort(__float2half_rd(in[i]));
}
__global__ void to_float(float* out) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  out[i] = __half2float(__ushort_as_half(static_cast<bits16>(i)));
}

TEST(Half, EveryOneIsAFloat) {
  const device_array<float> out(kAll, 0.0f);
  to_float<<<kAll / 256, 256>>>(out.data());
  const std::vector<float> floats = out.to_host();
  for (int h = 0; h < kAll; ++h)
    ASSERT_TRUE(same(floats[static_cast<std::size_t>(h)],
                     static_cast<float>(value(static_cast<bits16>(h)))))
        << h;
}

TEST(Half, FloatsAreRoundedFourWays) {
  // Each positive half, the middle to the next one, and the floats on both sides of that.
  std::vector<float> in;
  std::vector<bits16> rn, low, high;
  for (int h = 0; h < 0x7c00; ++h) {
    const double here = value(static_cast<bits16>(h));
    const double next = h == 0x7bff ? 65536.0 : value(static_cast<bits16>(h + 1));
    const auto middle = static_cast<float>((here + next) / 2);
    const bits16 down = static_cast<bits16>(h), up = static_cast<bits16>(h + 1);
    const auto add = [&](float x, bits16 near, bits16 below, bits16 above) {
      in.push_back(x), rn.push_back(near), low.push_back(below), high.push_back(above);
    };
    add(static_cast<float>(here), down, down, down);
    add(std::nextafterf(middle, 0.0f), down, down, up);
    add(middle, h % 2 == 0 ? down : up, down, up);
    add(std::nextafterf(middle, kInfF), up, down, up);
  }
  for (const bool negative : {false, true}) {
    std::vector<float> signed_in = in;
    if (negative)
      for (float& x : signed_in) x = -x;
    const device_array<float> from(signed_in);
    const device_array<bits16> to_rn(in.size(), bits16{7}), to_rz(in.size(), bits16{7}),
        to_ru(in.size(), bits16{7}), to_rd(in.size(), bits16{7});
    const int n = static_cast<int>(in.size());
    convert<<<(n + 255) / 256, 256>>>(from.data(), to_rn.data(), to_rz.data(), to_ru.data(),
                                      to_rd.data(), n);
    const auto expect = [&](const device_array<bits16>& got, const std::vector<bits16>& expected) {
      std::vector<bits16> e = expected;
      if (negative)
        for (bits16& h : e) h = static_cast<bits16>(h | 0x8000);
      EXPECT_EQ(got.to_host(), e) << (negative ? "negative" : "positive");
    };
    expect(to_rn, rn);
    expect(to_rz, low);
    expect(to_ru, negative ? low : high);
    expect(to_rd, negative ? high : low);
  }
}

__global__ void integers(int* out, __half* halves) {
  const __half h = __float2half(-2.5f);
  out[0] = __half2int_rn(h);
  out[1] = __half2int_rz(h);
  out[2] = __half2int_ru(h);
  out[3] = __half2int_rd(h);
  out[4] = __half2int_rz(__ushort_as_half(0x7c00)) == 2147483647;
  out[5] = __half2short_rz(__float2half(-65504.0f));
  halves[0] = __int2half_rn(2049);  // a tie
  halves[1] = __int2half_rn(2051);
  halves[2] = __ull2half_rn(~0ULL);
}
TEST(Half, IntegersAreRoundedAndHaveLimits) {
  const device_array<int> out(6, 77);
  const device_array<__half> halves(3, __half());
  integers<<<1, 1>>>(out.data(), halves.data());
  EXPECT_EQ(out.to_host(), (std::vector<int>{-2, -2, -2, -3, 1, -32768}));
  const std::vector<__half> h = halves.to_host();
  EXPECT_EQ(__half2float(h[0]), 2048.0f);
  EXPECT_EQ(__half2float(h[1]), 2052.0f);
  EXPECT_EQ(__half2float(h[2]), kInfF);
}

__global__ void pairs(float2* out, __half2* total, __half* one) {
  const __half2 v = __floats2half2_rn(1.0f, 2.0f), w = __half2half2(__float2half(3.0f));
  out[0] = __half22float2(__hfma2(v, w, __float2half2_rn(0.5f)));
  out[1] = __half22float2(v * w - v);
  out[2] = make_float2(__low2float(v), __half2float(__high2half(v)));
  out[3] = __half22float2(__lows2half2(w, v));
  atomicAdd(total, v);
  atomicAdd(one, __float2half(0.5f));
  const __half sum =
      __shfl_down_sync(0xffffffffu, __float2half(static_cast<float>(threadIdx.x)), 1);
  if (threadIdx.x == 4) out[4] = make_float2(__half2float(sum), 0.0f);
}
TEST(Half, PairsShufflesAndAtomics) {
  const device_array<float2> out(5, float2{});
  const device_array<__half2> total(1, __floats2half2_rn(0.0f, 0.0f));
  const device_array<__half> one(1, __float2half(0.0f));
  pairs<<<1, 32>>>(out.data(), total.data(), one.data());
  const std::vector<float2> r = out.to_host();
  EXPECT_TRUE(r[0].x == 3.5f && r[0].y == 6.5f);
  EXPECT_TRUE(r[1].x == 2.0f && r[1].y == 4.0f);
  EXPECT_TRUE(r[2].x == 1.0f && r[2].y == 2.0f);
  EXPECT_TRUE(r[3].x == 3.0f && r[3].y == 1.0f);
  EXPECT_EQ(r[4].x, 5.0f);
  const float2 t = __half22float2(total.to_host()[0]);
  EXPECT_TRUE(t.x == 32.0f && t.y == 64.0f);
  EXPECT_EQ(__half2float(one.to_host()[0]), 16.0f);
}

// bfloat16 is the upper half of a float, so a float and its neighbours say how it is rounded.
__global__ void brain(const float* in, bits16* out, bits16* sums, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  out[i] = __bfloat16_as_ushort(__float2bfloat16(in[i]));
  sums[i] = __bfloat16_as_ushort(__hfma(__float2bfloat16(1.0f),
                                        __ushort_as_bfloat16(static_cast<bits16>(i & 0xffff)),
                                        __float2bfloat16(0.0f)));
}
__global__ void fuse_ties(float* out) {
  // 1.5 * (1 + 2^-7) is halfway between two bfloat16s.
  const __nv_bfloat16 a = __float2bfloat16(1.5f), b = __float2bfloat16(1.0078125f);
  out[0] = __bfloat162float(__hfma(a, b, __float2bfloat16(0.0f)));
  out[1] = __bfloat162float(__hfma(a, b, __float2bfloat16(0x1p-100f)));
  out[2] = __bfloat162float(__hfma(a, b, __float2bfloat16(-0x1p-100f)));
  out[3] = __bfloat162float(__hadd(b, __float2bfloat16(-0x1p-100f)));
}
TEST(BFloat16, FusedProductsAreRoundedOnce) {
  const device_array<float> out(4, 0.0f);
  fuse_ties<<<1, 1>>>(out.data());
  EXPECT_EQ(out.to_host(), (std::vector<float>{1.515625f, 1.515625f, 1.5078125f, 1.0078125f}));
}

TEST(BFloat16, EveryOneIsKeptAndFloatsAreRounded) {
  std::vector<float> in;
  std::vector<bits16> expected;
  for (unsigned b = 0; b < 0x7f80; ++b)
    for (const unsigned low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      const std::uint32_t word = b << 16 | low;
      float x;
      std::memcpy(&x, &word, sizeof x);
      in.push_back(x);
      expected.push_back(
          static_cast<bits16>(low < 0x8000 || (low == 0x8000 && b % 2 == 0) ? b : b + 1));
    }
  const device_array<float> from(in);
  const device_array<bits16> to(in.size(), bits16{1}), sums(in.size(), bits16{1});
  const int n = static_cast<int>(in.size());
  brain<<<(n + 255) / 256, 256>>>(from.data(), to.data(), sums.data(), n);
  EXPECT_EQ(to.to_host(), expected);
  const std::vector<bits16> s = sums.to_host();
  for (int b = 0; b < kAll; ++b)
    if ((b & 0x7fff) <= 0x7f80 && b != 0x8000) {
      ASSERT_EQ(s[static_cast<std::size_t>(b)], b) << "1 * x + 0";
    }
}

}  // namespace
