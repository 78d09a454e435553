// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arrays, textures and surfaces against the formulas of CUDA's programming guide. All of it but the
// last part is plain CUDA and was seen to pass on a GPU (nvcc -std=c++20), too.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#ifdef __CPU_DEVICE__
#include "cpu_device_testing.hpp"
#endif

namespace {

// --- what the tests share -----------------------------------------------------------------------

template <class T>
class buffer {
 public:
  explicit buffer(const std::vector<T>& host) : size_(host.size()) {
    EXPECT_EQ(cudaMalloc(&data_, size_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, host.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  explicit buffer(std::size_t n) : buffer(std::vector<T>(n)) {}
  ~buffer() { cudaFree(data_); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  T* data() const { return data_; }
  std::vector<T> to_host() const {
    std::vector<T> host(size_);
    EXPECT_EQ(cudaMemcpy(host.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return host;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

/// Sizes as CUDA wants them: 0 for a dimension that is not there.
template <class T>
class array {
 public:
  array(const std::vector<T>& host, int width, int height = 0, int depth = 0,
        unsigned int flags = cudaArrayDefault) {
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>();
    const auto w = static_cast<std::size_t>(width), h = static_cast<std::size_t>(height),
               d = static_cast<std::size_t>(depth);
    EXPECT_EQ(cudaMalloc3DArray(&array_, &desc, make_cudaExtent(w, h, d), flags), cudaSuccess);
    const std::size_t rows = std::max<std::size_t>(h, 1), slices = std::max<std::size_t>(d, 1);
    EXPECT_EQ(host.size(), w * rows * slices);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr(const_cast<T*>(host.data()), w * sizeof(T), w, rows);
    p.dstArray = array_;
    p.extent = make_cudaExtent(w, rows, slices);
    p.kind = cudaMemcpyHostToDevice;
    EXPECT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  }
  ~array() { cudaFreeArray(array_); }
  array(const array&) = delete;
  array& operator=(const array&) = delete;
  cudaArray_t get() const { return array_; }

 private:
  cudaArray_t array_ = nullptr;
};

cudaResourceDesc resource_of(cudaArray_t a) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  return r;
}
cudaResourceDesc linear_resource(void* data, cudaChannelFormatDesc desc, std::size_t bytes) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypeLinear;
  r.res.linear.devPtr = data;
  r.res.linear.desc = desc;
  r.res.linear.sizeInBytes = bytes;
  return r;
}
cudaResourceDesc pitched_resource(void* data, cudaChannelFormatDesc desc, std::size_t width,
                                  std::size_t height, std::size_t pitch) {
  cudaResourceDesc r = {};
  r.resType = cudaResourceTypePitch2D;
  r.res.pitch2D.devPtr = data;
  r.res.pitch2D.desc = desc;
  r.res.pitch2D.width = width;
  r.res.pitch2D.height = height;
  r.res.pitch2D.pitchInBytes = pitch;
  return r;
}

cudaTextureDesc description(cudaTextureAddressMode mode = cudaAddressModeClamp,
                            cudaTextureFilterMode filter = cudaFilterModePoint,
                            bool normalized = false,
                            cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc d = {};
  d.addressMode[0] = d.addressMode[1] = d.addressMode[2] = mode;
  d.filterMode = filter;
  d.readMode = read;
  d.normalizedCoords = normalized ? 1 : 0;
  return d;
}

class texture {
 public:
  texture(const cudaResourceDesc& resource, const cudaTextureDesc& d) {
    EXPECT_EQ(cudaCreateTextureObject(&object_, &resource, &d, nullptr), cudaSuccess);
  }
  ~texture() { cudaDestroyTextureObject(object_); }
  texture(const texture&) = delete;
  texture& operator=(const texture&) = delete;
  cudaTextureObject_t get() const { return object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

struct point {
  float x, y, z;
};

enum class look { fetch, one, two, three, one_layered, two_layered };

template <class T>
__global__ void sample(cudaTextureObject_t object, look how, const point* at, T* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  const point p = at[i];
  switch (how) {
    case look::fetch:
      out[i] = tex1Dfetch<T>(object, static_cast<int>(p.x));
      break;
    case look::one:
      out[i] = tex1D<T>(object, p.x);
      break;
    case look::two:
      out[i] = tex2D<T>(object, p.x, p.y);
      break;
    case look::three:
      out[i] = tex3D<T>(object, p.x, p.y, p.z);
      break;
    case look::one_layered:
      out[i] = tex1DLayered<T>(object, p.x, static_cast<int>(p.z));
      break;
    case look::two_layered:
      out[i] = tex2DLayered<T>(object, p.x, p.y, static_cast<int>(p.z));
      break;
  }
}

template <class T>
std::vector<T> sampled(const texture& t, look how, const std::vector<point>& at) {
  const buffer<point> where(at);
  const buffer<T> out(at.size());
  const int n = static_cast<int>(at.size());
  sample<T><<<(n + 127) / 128, 128>>>(t.get(), how, where.data(), out.data(), n);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return out.to_host();
}

/// A texture in doubles, read by the guide's formulas with an exact fraction.
struct reference {
  int dimensions;
  int size[3];
  std::vector<double> texels;
  cudaTextureDesc d;

  int index(double i, int dimension) const {
    const double n = size[dimension];
    cudaTextureAddressMode mode = d.addressMode[dimension];
    if (d.normalizedCoords == 0 && mode != cudaAddressModeBorder) mode = cudaAddressModeClamp;
    switch (mode) {
      case cudaAddressModeWrap:
        i -= n * std::floor(i / n);
        break;
      case cudaAddressModeMirror:
        i -= 2 * n * std::floor(i / (2 * n));
        if (i >= n) i = 2 * n - 1 - i;
        break;
      case cudaAddressModeBorder:
        if (i < 0 || i >= n) return -1;
        break;
      default:
        i = std::clamp(i, 0.0, n - 1);
        break;
    }
    return static_cast<int>(i);
  }
  double texel(double i, double j, double k) const {
    const int x = index(i, 0), y = dimensions > 1 ? index(j, 1) : 0,
              z = dimensions > 2 ? index(k, 2) : 0;
    if (x < 0 || y < 0 || z < 0) return static_cast<double>(d.borderColor[0]);
    return texels[static_cast<std::size_t>((z * size[1] + y) * size[0] + x)];
  }
  double operator()(const point& p) const {
    double u[3] = {p.x, p.y, p.z};
    if (d.normalizedCoords != 0)
      for (int i = 0; i < 3; ++i) u[i] *= size[i];
    if (d.filterMode == cudaFilterModePoint)
      return texel(std::floor(u[0]), std::floor(u[1]), std::floor(u[2]));
    double first[3] = {}, fraction[3] = {};
    for (int i = 0; i < dimensions; ++i) {
      first[i] = std::floor(u[i] - 0.5);
      fraction[i] = u[i] - 0.5 - first[i];
    }
    double sum = 0;
    for (int corner = 0; corner < 1 << dimensions; ++corner) {
      double weight = 1, at[3] = {first[0], first[1], first[2]};
      for (int i = 0; i < dimensions; ++i) {
        const bool second = (corner >> i & 1) != 0;
        weight *= second ? fraction[i] : 1 - fraction[i];
        at[i] += second ? 1 : 0;
      }
      sum += weight * texel(at[0], at[1], at[2]);
    }
    return sum;
  }
  /// How far a linear filter may be from the exact one: the fraction is rounded to 8 bits, which is
  /// 1/512 of the range in each dimension; GPUs also round products of fractions to 8 bits.
  double filter_error() const {
    auto [low, high] = std::minmax_element(texels.begin(), texels.end());
    const double border = static_cast<double>(d.borderColor[0]);
    const double range = std::max(*high, border) - std::min(*low, border);
    return range * (dimensions / 512.0 + (dimensions > 1 ? 1 / 256.0 : 0) + 1e-6);
  }
};

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(engine() % 2001) / 8 - 125;
  return values;
}

/// At each texel's centre, near its edges, and at random places in and far around the texture.
std::vector<point> places(int w, int h, int d, bool normalized, unsigned seed) {
  std::vector<point> at;
  for (int k = 0; k < d; ++k)
    for (int j = 0; j < h; ++j)
      for (int i = -1; i <= w; ++i)
        for (const float in : {0.01F, 0.5F, 0.99F})
          at.push_back(
              {static_cast<float>(i) + in, static_cast<float>(j) + in, static_cast<float>(k) + in});
  std::mt19937 engine(seed);
  const auto anywhere = [&](int size) {
    return static_cast<float>(size) * (static_cast<float>(engine() % 1000000) / 200000 - 2);
  };
  for (int n = 0; n < 2000; ++n) at.push_back({anywhere(w), anywhere(h), anywhere(d)});
  if (normalized)
    for (point& p : at) {
      p.x /= static_cast<float>(w);
      p.y /= static_cast<float>(h);
      p.z /= static_cast<float>(d);
    }
  // The float coordinate may lie on the other side of a texel's edge than the number meant.
  const auto near_an_edge = [&](float c, int size) {
    const double u = static_cast<double>(c) * (normalized ? size : 1);
    return std::fabs(u - std::round(u)) < 1e-4;
  };
  at.erase(std::remove_if(at.begin(), at.end(),
                          [&](const point& p) {
                            return near_an_edge(p.x, w) || near_an_edge(p.y, h) ||
                                   near_an_edge(p.z, d);
                          }),
           at.end());
  return at;
}

void expect_like(const reference& expected, const std::vector<float>& got,
                 const std::vector<point>& at) {
  ASSERT_EQ(got.size(), at.size());
  const double allowed =
      expected.d.filterMode == cudaFilterModeLinear ? expected.filter_error() : 0.0;
  int wrong = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double e = expected(at[i]), g = static_cast<double>(got[i]);
    if (std::fabs(g - e) <= allowed) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << "at (" << at[i].x << ", " << at[i].y << ", " << at[i].z << "): got " << g
                    << ", expected " << e << " within " << allowed;
  }
  EXPECT_EQ(wrong, 0) << "of " << at.size();
}

constexpr cudaTextureAddressMode kModes[] = {cudaAddressModeWrap, cudaAddressModeClamp,
                                             cudaAddressModeMirror, cudaAddressModeBorder};

/// Every address mode, filter and kind of coordinate for a float texture of this size.
void check_all_settings(int dimensions, int w, int h, int d, look how, unsigned seed) {
  const std::vector<float> values =
      random_values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h * d), seed);
  const array<float> a(values, w, dimensions > 1 ? h : 0, dimensions > 2 ? d : 0);
  for (const bool normalized : {false, true}) {
    const std::vector<point> at = places(w, h, d, normalized, seed + 1);
    for (const auto mode : kModes)
      for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        SCOPED_TRACE("mode " + std::to_string(mode) + ", filter " + std::to_string(filter) +
                     (normalized ? ", normalised" : ""));
        cudaTextureDesc settings = description(mode, filter, normalized);
        // On a GPU a one-dimensional texture has a second dimension, at coordinate 0: a linear
        // filter with a border there would mix half of the border in.
        for (int i = dimensions; i < 3; ++i) settings.addressMode[i] = cudaAddressModeClamp;
        settings.borderColor[0] = -200.5F;
        const texture t(resource_of(a.get()), settings);
        const reference expected{
            dimensions, {w, h, d}, std::vector<double>(values.begin(), values.end()), settings};
        expect_like(expected, sampled<float>(t, how, at), at);
      }
  }
}

// --- fetching -----------------------------------------------------------------------------------

TEST(Textures, OfOneDimensionFollowTheFormulas_Seed1) {
  check_all_settings(1, 13, 1, 1, look::one, 1);
  check_all_settings(1, 1, 1, 1, look::one, 2);
}
TEST(Textures, OfTwoDimensionsFollowTheFormulas_Seed3) {
  check_all_settings(2, 7, 5, 1, look::two, 3);
  check_all_settings(2, 2, 33, 1, look::two, 4);
}
TEST(Textures, OfThreeDimensionsFollowTheFormulas_Seed5) {
  check_all_settings(3, 5, 3, 4, look::three, 5);
}

TEST(Textures, MayHaveAnotherModeInEachDirection_Seed6) {
  const std::vector<float> values = random_values(5 * 3 * 4, 6);
  const array<float> a(values, 5, 3, 4);
  const std::vector<point> at = places(5, 3, 4, true, 7);
  for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
    cudaTextureDesc settings = description(cudaAddressModeWrap, filter, true);
    settings.addressMode[1] = cudaAddressModeMirror;
    settings.addressMode[2] = cudaAddressModeBorder;
    settings.borderColor[0] = 777;
    const texture t(resource_of(a.get()), settings);
    const reference expected{
        3, {5, 3, 4}, std::vector<double>(values.begin(), values.end()), settings};
    expect_like(expected, sampled<float>(t, look::three, at), at);
  }
}

TEST(Textures, RoundTheFractionToEightBits) {
  const array<float> a({0, 1}, 2);
  const texture t(resource_of(a.get()), description(cudaAddressModeClamp, cudaFilterModeLinear));
  std::vector<point> at;
  for (int k = 0; k <= 4096; ++k) at.push_back({0.5F + static_cast<float>(k) / 4096, 0, 0});
  const std::vector<float> got = sampled<float>(t, look::one, at);
  for (int k = 0; k <= 4096; ++k)
    ASSERT_EQ(got[static_cast<std::size_t>(k)], std::floor(static_cast<float>(k) / 16 + 0.5F) / 256)
        << "at fraction " << k << "/4096";
}

TEST(Textures, AreExactWhereTheWeightsHaveEightBits) {
  // Sixteenths in both directions: each of the four weights is a multiple of 1/256.
  const std::vector<float> values = {1, -20, 300, 4000, 0.5F, -6};
  const array<float> a(values, 3, 2);
  const cudaTextureDesc settings = description(cudaAddressModeClamp, cudaFilterModeLinear);
  const texture t(resource_of(a.get()), settings);
  const reference exact{2, {3, 2, 1}, std::vector<double>(values.begin(), values.end()), settings};
  std::vector<point> at;
  for (int y = 0; y < 48; ++y)
    for (int x = 0; x < 64; ++x)
      at.push_back({static_cast<float>(x) / 16 - 0.5F, static_cast<float>(y) / 16 - 0.5F, 0});
  const std::vector<float> got = sampled<float>(t, look::two, at);
  for (std::size_t i = 0; i < at.size(); ++i)
    ASSERT_NEAR(got[i], exact(at[i]), 4000 * 1e-6) << "at " << at[i].x << ", " << at[i].y;
}

TEST(Textures, TakeCoordinatesThatAreNoNumbers) {
  const array<float> a({10, 20, 30, 40}, 4);
  const float nan = std::nanf(""), inf = HUGE_VALF;
  const std::vector<point> at = {
      {nan, 0, 0}, {inf, 0, 0}, {-inf, 0, 0}, {1e30F, 0, 0}, {-1e30F, 0, 0}};
  {
    const texture t(resource_of(a.get()), description());
    EXPECT_EQ(sampled<float>(t, look::one, at), (std::vector<float>{10, 40, 10, 40, 10}));
  }
  {
    cudaTextureDesc settings = description(cudaAddressModeBorder);
    settings.borderColor[0] = -7;
    const texture t(resource_of(a.get()), settings);
    EXPECT_EQ(sampled<float>(t, look::one, at), (std::vector<float>{10, -7, -7, -7, -7}));
  }
  for (const auto mode : {cudaAddressModeWrap, cudaAddressModeMirror}) {
    const texture t(resource_of(a.get()), description(mode, cudaFilterModePoint, true));
    EXPECT_EQ(sampled<float>(t, look::one, at), (std::vector<float>{10, 10, 10, 10, 10}));
  }
}

TEST(Textures, MirrorWholeTexels) {
  const array<float> a({10, 20, 30, 40}, 4);
  const texture t(resource_of(a.get()),
                  description(cudaAddressModeMirror, cudaFilterModePoint, true));
  EXPECT_EQ(sampled<float>(
                t, look::one,
                {{-0.25F, 0, 0}, {-0.26F, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {1.25F, 0, 0}, {2, 0, 0}}),
            (std::vector<float>{10, 20, 40, 40, 30, 10}));
}

template <class T>
class TexturesOf : public testing::Test {};
using texel_types = testing::Types<char, signed char, unsigned char, short, unsigned short, int,
                                   unsigned int, float, char1, char2, char4, uchar1, uchar2, uchar4,
                                   short1, short2, short4, ushort1, ushort2, ushort4, int1, int2,
                                   int4, uint1, uint2, uint4, float1, float2, float4>;
TYPED_TEST_SUITE(TexturesOf, texel_types);

/// Texels of random bytes; floats are kept finite.
template <class T>
std::vector<T> random_texels(std::size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> texels(n);
  auto* bytes = reinterpret_cast<unsigned char*>(texels.data());
  for (std::size_t i = 0; i < n * sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>(engine() % 256);
  if (cudaCreateChannelDesc<T>().f == cudaChannelFormatKindFloat)
    for (std::size_t i = 3; i < n * sizeof(T); i += 4) bytes[i] = bytes[i] & 0xBFU;
  return texels;
}
template <class T>
void expect_same_bytes(const std::vector<T>& got, const std::vector<T>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(std::memcmp(&got[i], &expected[i], sizeof(T)), 0) << "texel " << i;
}

TYPED_TEST(TexturesOf, ThisTypeGiveWhatIsInTheArray_Seed10) {
  constexpr int kWidth = 9, kHeight = 6;
  const auto texels = random_texels<TypeParam>(kWidth * kHeight, 10);
  const array<TypeParam> a(texels, kWidth, kHeight);
  std::vector<point> at;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      at.push_back({static_cast<float>(x) + 0.25F, static_cast<float>(y) + 0.75F, 0});
  for (const auto mode : {cudaAddressModeClamp, cudaAddressModeBorder}) {
    const texture t(resource_of(a.get()), description(mode));
    expect_same_bytes(sampled<TypeParam>(t, look::two, at), texels);
  }
}

TYPED_TEST(TexturesOf, ThisTypeReadLinearMemoryAndZeroOutside_Seed11) {
  constexpr int kCount = 37;
  auto texels = random_texels<TypeParam>(kCount, 11);
  const buffer<TypeParam> memory(texels);
  // Two bytes more than 36 texels (none at all for bytes): an incomplete texel does not exist.
  const std::size_t bytes = 36 * sizeof(TypeParam) + (sizeof(TypeParam) > 2 ? 2 : 0);
  const texture t(linear_resource(memory.data(), cudaCreateChannelDesc<TypeParam>(), bytes),
                  description());
  std::vector<point> at;
  for (int i = -2; i < 40; ++i) at.push_back({static_cast<float>(i), 0, 0});
  std::vector<TypeParam> expected(2, TypeParam{});
  expected.insert(expected.end(), texels.begin(), texels.begin() + 36);
  expected.resize(42, TypeParam{});
  expect_same_bytes(sampled<TypeParam>(t, look::fetch, at), expected);
}

TYPED_TEST(TexturesOf, ThisTypeAreCopiedBack_Seed12) {
  const auto texels = random_texels<TypeParam>(11 * 4, 12);
  const array<TypeParam> a(texels, 11, 4);
  std::vector<TypeParam> back(11 * 4);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 11 * sizeof(TypeParam), a.get(), 0, 0,
                                  11 * sizeof(TypeParam), 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  expect_same_bytes(back, texels);
}

template <class T>
void check_normalised_reads(const std::vector<T>& texels, float largest) {
  const int n = static_cast<int>(texels.size());
  const array<T> a(texels, n);
  std::vector<point> at;
  for (int i = 0; i < n; ++i) at.push_back({static_cast<float>(i) + 0.5F, 0, 0});
  const texture t(resource_of(a.get()), description(cudaAddressModeClamp, cudaFilterModePoint,
                                                    false, cudaReadModeNormalizedFloat));
  const std::vector<float> got = sampled<float>(t, look::one, at);
  for (std::size_t i = 0; i < texels.size(); ++i)
    EXPECT_FLOAT_EQ(got[i], std::max(-1.0F, static_cast<float>(texels[i]) / largest)) << +texels[i];
}
TEST(Textures, GiveIntegersAsNormalisedFloats) {
  check_normalised_reads<unsigned char>({0, 1, 2, 100, 128, 254, 255}, 255);
  check_normalised_reads<signed char>({-128, -127, -64, -1, 0, 1, 127}, 127);
  check_normalised_reads<unsigned short>({0, 1, 300, 32768, 65535}, 65535);
  check_normalised_reads<short>({-32768, -32767, -1, 0, 1, 16384, 32767}, 32767);
}

TEST(Textures, FilterNormalisedIntegers_Seed13) {
  const auto texels = random_texels<uchar4>(8 * 6, 13);
  const array<uchar4> a(texels, 8, 6);
  const cudaTextureDesc settings =
      description(cudaAddressModeMirror, cudaFilterModeLinear, true, cudaReadModeNormalizedFloat);
  const texture t(resource_of(a.get()), settings);
  const std::vector<point> at = places(8, 6, 1, true, 14);
  const std::vector<float4> got = sampled<float4>(t, look::two, at);
  const auto channel = [&](auto member) {
    std::vector<double> values;
    for (const uchar4& texel : texels) values.push_back((texel.*member) / 255.0);
    return reference{2, {8, 6, 1}, values, settings};
  };
  const auto only = [&](auto member) {
    std::vector<float> values;
    for (const float4& texel : got) values.push_back(texel.*member);
    return values;
  };
  expect_like(channel(&uchar4::x), only(&float4::x), at);
  expect_like(channel(&uchar4::y), only(&float4::y), at);
  expect_like(channel(&uchar4::z), only(&float4::z), at);
  expect_like(channel(&uchar4::w), only(&float4::w), at);
}

TEST(Textures, HaveBordersOfTheirElementType) {
  const std::vector<point> at = {{-1, 0.5F, 0}, {0.5F, 0.5F, 0}, {0.5F, 9, 0}};
  const auto bits = [](int value) {
    float color;
    std::memcpy(&color, &value, sizeof color);
    return color;
  };
  cudaTextureDesc settings = description(cudaAddressModeBorder);
  {
    const array<float4> a({{1, 2, 3, 4}}, 1, 1);
    for (int c = 0; c < 4; ++c) settings.borderColor[c] = static_cast<float>(10 * c) - 5;
    const texture t(resource_of(a.get()), settings);
    const auto got = sampled<float4>(t, look::two, at);
    EXPECT_EQ(got[0].x, -5);
    EXPECT_EQ(got[2].w, 25);
    EXPECT_EQ(got[1].z, 3);
  }
  {
    const array<int> a({7}, 1, 1);
    settings.borderColor[0] = bits(-123456789);
    const texture t(resource_of(a.get()), settings);
    EXPECT_EQ(sampled<int>(t, look::two, at), (std::vector<int>{-123456789, 7, -123456789}));
  }
  {
    const array<unsigned char> a({7}, 1, 1);
    settings.borderColor[0] = bits(77);
    const texture t(resource_of(a.get()), settings);
    EXPECT_EQ(sampled<unsigned char>(t, look::two, at), (std::vector<unsigned char>{77, 7, 77}));
    settings.borderColor[0] = bits(300);  // its low bits count
    const texture u(resource_of(a.get()), settings);
    EXPECT_EQ(sampled<unsigned char>(u, look::two, at), (std::vector<unsigned char>{44, 7, 44}));
  }
  {
    const array<unsigned char> a({51}, 1, 1);
    settings.borderColor[0] = 3.5F;  // beyond what a normalised byte can be
    settings.readMode = cudaReadModeNormalizedFloat;
    const texture t(resource_of(a.get()), settings);
    const auto got = sampled<float>(t, look::two, at);
    EXPECT_FLOAT_EQ(got[0], 1);
    EXPECT_FLOAT_EQ(got[1], 0.2F);
  }
}

TEST(Textures, MissChannelsAsZerosAndDropOthers) {
  const array<float> one({3}, 1);
  const texture t1(resource_of(one.get()), description());
  const auto wide = sampled<float4>(t1, look::one, {{0, 0, 0}});
  EXPECT_EQ(wide[0].x, 3);
  EXPECT_EQ(wide[0].y, 0);
  EXPECT_EQ(wide[0].w, 0);
  const array<short4> four({{-1, -2, -3, -4}}, 1);
  const texture t4(resource_of(four.get()), description());
  EXPECT_EQ(sampled<short2>(t4, look::one, {{0, 0, 0}})[0].y, -2);
  EXPECT_EQ(sampled<int>(t4, look::one, {{0, 0, 0}})[0], -1);  // wider, with its sign
}

TEST(Textures, LookIntoOneRowWithEitherFunction) {
  const array<float> flat({1, 2, 3, 4, 5, 6}, 3, 2);
  const texture t(resource_of(flat.get()), description());
  EXPECT_EQ(sampled<float>(t, look::one, {{0.5F, 0, 0}, {2.5F, 0, 0}, {8, 0, 0}}),
            (std::vector<float>{1, 3, 3}));
  const array<float> row({1, 2, 3}, 3);
  const texture u(resource_of(row.get()), description());
  EXPECT_EQ(sampled<float>(u, look::two, {{0.5F, 0, 0}, {1.5F, 7, 0}}), (std::vector<float>{1, 2}));
}

TEST(Textures, OfPitchedMemoryFollowTheFormulas_Seed15) {
  constexpr int kWidth = 6, kHeight = 5;
  const std::vector<float> values = random_values(kWidth * kHeight, 15);
  float* memory = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&memory, &pitch, kWidth * sizeof(float), kHeight), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(memory, pitch, values.data(), kWidth * sizeof(float),
                         kWidth * sizeof(float), kHeight, cudaMemcpyHostToDevice),
            cudaSuccess);
  for (const bool normalized : {false, true})
    for (const auto mode : kModes)
      for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear}) {
        SCOPED_TRACE("mode " + std::to_string(mode) + ", filter " + std::to_string(filter) +
                     (normalized ? ", normalised" : ""));
        cudaTextureDesc settings = description(mode, filter, normalized);
        settings.borderColor[0] = 500;
        const texture t(
            pitched_resource(memory, cudaCreateChannelDesc<float>(), kWidth, kHeight, pitch),
            settings);
        const reference expected{
            2, {kWidth, kHeight, 1}, std::vector<double>(values.begin(), values.end()), settings};
        const std::vector<point> at = places(kWidth, kHeight, 1, normalized, 16);
        expect_like(expected, sampled<float>(t, look::two, at), at);
      }
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(Textures, LookIntoLayers_Seed17) {
  constexpr int kWidth = 4, kHeight = 3, kLayers = 5;
  const std::vector<float> values = random_values(kWidth * kHeight * kLayers, 17);
  const array<float> a(values, kWidth, kHeight, kLayers, cudaArrayLayered);
  const cudaTextureDesc settings = description(cudaAddressModeClamp, cudaFilterModeLinear);
  const texture t(resource_of(a.get()), settings);
  for (int layer = 0; layer < kLayers + 2; ++layer) {  // beyond the last one is the last one
    const auto begin = values.begin() + std::min(layer, kLayers - 1) * kWidth * kHeight;
    const reference expected{
        2, {kWidth, kHeight, 1}, std::vector<double>(begin, begin + kWidth * kHeight), settings};
    std::vector<point> at = places(kWidth, kHeight, 1, false, 18);
    for (point& p : at) p.z = static_cast<float>(layer);
    const auto got = sampled<float>(t, look::two_layered, at);
    for (point& p : at) p.z = 0;
    expect_like(expected, got, at);
  }
  const array<int> rows({1, 2, 3, 4, 5, 6}, 3, 0, 2, cudaArrayLayered);
  const texture u(resource_of(rows.get()), description());
  EXPECT_EQ(sampled<int>(u, look::one_layered, {{0, 0, 0}, {2.5F, 0, 0}, {0, 0, 1}, {9, 0, 1}}),
            (std::vector<int>{1, 3, 4, 6}));
}

/// The direction to a place of a face, with coordinates from -1 to 1, as the guide's table has it;
/// its length does not matter.
point direction(int face, float s, float t, float length) {
  const float l = length;
  switch (face) {
    case 0:
      return {l, -t * l, -s * l};
    case 1:
      return {-l, -t * l, s * l};
    case 2:
      return {s * l, l, t * l};
    case 3:
      return {s * l, -l, -t * l};
    case 4:
      return {s * l, -t * l, l};
    default:
      return {-s * l, -t * l, -l};
  }
}
__global__ void look_around(cudaTextureObject_t cubemap, const point* at, int layer, float* out) {
  const point p = at[threadIdx.x];
  out[threadIdx.x] = layer < 0 ? texCubemap<float>(cubemap, p.x, p.y, p.z)
                               : texCubemapLayered<float>(cubemap, p.x, p.y, p.z, layer);
}
/// At the middle of each texel, or with `between` where four of a face meet.
void expect_faces(const std::vector<float>& values, int size, int layers, bool between) {
  SCOPED_TRACE(testing::Message() << layers << " layers, between texels: " << between);
  const array<float> a(values, size, size, 6 * std::max(layers, 1),
                       cudaArrayCubemap | (layers > 0 ? cudaArrayLayered : 0U));
  const texture t(resource_of(a.get()),
                  description(cudaAddressModeClamp,
                              between ? cudaFilterModeLinear : cudaFilterModePoint, true));
  const auto texel = [&](int layer, int face, int i, int j) {
    const int slice = std::min(layer, std::max(layers, 1) - 1) * 6 + face;
    return values[static_cast<std::size_t>((slice * size + j) * size + i)];
  };
  const int places = between ? size - 1 : size;
  for (int layer = 0; layer < layers + 2; ++layer)  // beyond the last one is the last one
    for (int face = 0; face < 6; ++face) {
      std::vector<point> at;
      std::vector<float> expected;
      for (int j = 0; j < places; ++j)
        for (int i = 0; i < places; ++i) {
          const auto coordinate = [&](int k) {
            return static_cast<float>(2 * k + (between ? 2 : 1)) / static_cast<float>(size) - 1;
          };
          at.push_back(direction(face, coordinate(i), coordinate(j), i % 2 == 0 ? 1.0F : 8.0F));
          expected.push_back(between ? (texel(layer, face, i, j) + texel(layer, face, i + 1, j) +
                                        texel(layer, face, i, j + 1) +
                                        texel(layer, face, i + 1, j + 1)) /
                                           4
                                     : texel(layer, face, i, j));
        }
      const buffer<point> where(at);
      const buffer<float> out(at.size());
      look_around<<<1, static_cast<unsigned>(at.size())>>>(t.get(), where.data(),
                                                           layers == 0 ? -1 : layer, out.data());
      EXPECT_EQ(out.to_host(), expected) << "face " << face << ", layer " << layer;
    }
}
TEST(Textures, LookAroundInCubemaps) {
  constexpr int kSize = 4;
  std::vector<float> values(kSize * kSize * 6 * 3);  // quarters of them are exact
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 1021);
  const std::vector<float> one(values.begin(), values.begin() + kSize * kSize * 6);
  for (const bool between : {false, true}) {
    expect_faces(one, kSize, 0, between);
    expect_faces(values, kSize, 3, between);
  }
}

__global__ void through_pointers(cudaTextureObject_t flat, cudaTextureObject_t memory, float* out) {
  tex1D(&out[0], flat, 1.5F);
  tex2D(&out[1], flat, 2.5F, 0.5F);
  tex1Dfetch(&out[2], memory, 1);
}
TEST(Textures, AreReadThroughPointers) {
  const array<float> a({1, 2, 3}, 3, 1);
  const buffer<float> linear(std::vector<float>{7, 8});
  const texture t(resource_of(a.get()), description());
  const texture u(linear_resource(linear.data(), cudaCreateChannelDesc<float>(), 8), description());
  const buffer<float> out(3);
  through_pointers<<<1, 1>>>(t.get(), u.get(), out.data());
  EXPECT_EQ(out.to_host(), (std::vector<float>{2, 3, 8}));
}

TEST(Textures, TellHowTheyWereMade) {
  const array<float> a({1, 2, 3}, 3);
  cudaTextureDesc settings = description(cudaAddressModeWrap, cudaFilterModeLinear, true);
  settings.normalizedCoords = 5;
  const texture t(resource_of(a.get()), settings);
  cudaResourceDesc resource = {};
  cudaTextureDesc back = {};
  ASSERT_EQ(cudaGetTextureObjectResourceDesc(&resource, t.get()), cudaSuccess);
  ASSERT_EQ(cudaGetTextureObjectTextureDesc(&back, t.get()), cudaSuccess);
  EXPECT_EQ(resource.resType, cudaResourceTypeArray);
  EXPECT_EQ(resource.res.array.array, a.get());
  EXPECT_EQ(back.addressMode[0], cudaAddressModeWrap);
  EXPECT_EQ(back.filterMode, cudaFilterModeLinear);
  EXPECT_EQ(back.normalizedCoords, 1);
}

// --- surfaces -----------------------------------------------------------------------------------

class surface {
 public:
  explicit surface(cudaArray_t a) {
    const cudaResourceDesc r = resource_of(a);
    EXPECT_EQ(cudaCreateSurfaceObject(&object_, &r), cudaSuccess);
  }
  ~surface() { cudaDestroySurfaceObject(object_); }
  surface(const surface&) = delete;
  surface& operator=(const surface&) = delete;
  cudaSurfaceObject_t get() const { return object_; }

 private:
  cudaSurfaceObject_t object_ = 0;
};

__global__ void transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width, int height) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= width || y >= height) return;
  const float2 value = surf2Dread<float2>(from, x * static_cast<int>(sizeof(float2)), y);
  surf2Dwrite(make_float2(value.y, value.x), to, y * static_cast<int>(sizeof(float2)), x);
}
TEST(Surfaces, AreReadAndWritten) {
  constexpr int kWidth = 37, kHeight = 21;
  std::vector<float2> values;
  for (int i = 0; i < kWidth * kHeight; ++i)
    values.push_back({static_cast<float>(i), static_cast<float>(-i)});
  const array<float2> from(values, kWidth, kHeight, 0, cudaArraySurfaceLoadStore);
  const array<float2> to(std::vector<float2>(kWidth * kHeight), kHeight, kWidth, 0,
                         cudaArraySurfaceLoadStore);
  const surface a(from.get()), b(to.get());
  transpose<<<dim3(5, 3), dim3(8, 8)>>>(a.get(), b.get(), kWidth, kHeight);
  std::vector<float2> back(kWidth * kHeight);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), kHeight * sizeof(float2), to.get(), 0, 0,
                                  kHeight * sizeof(float2), kWidth, cudaMemcpyDeviceToHost),
            cudaSuccess);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const float2 got = back[static_cast<std::size_t>(x * kHeight + y)];
      const auto i = static_cast<float>(y * kWidth + x);
      ASSERT_EQ(got.x, -i);
      ASSERT_EQ(got.y, i);
    }
}

__global__ void beyond(cudaSurfaceObject_t s, float* out) {
  const auto zero = cudaBoundaryModeZero;
  const auto clamp = cudaBoundaryModeClamp;
  out[0] = surf2Dread<float>(s, -4, 0, zero);
  out[1] = surf2Dread<float>(s, 16, 0, zero);
  out[2] = surf2Dread<float>(s, 4, -1, zero);
  out[3] = surf2Dread<float>(s, 4, 3, zero);
  out[4] = surf2Dread<float>(s, 4, 2, zero);
  out[5] = surf2Dread<float>(s, -400, 0, clamp);
  out[6] = surf2Dread<float>(s, 400, 1, clamp);
  out[7] = surf2Dread<float>(s, 4, 7, clamp);
  out[8] = surf2Dread<float>(s, 12, 2);
  surf2Dwrite(100.0F, s, -4, -1, clamp);
  surf2Dwrite(101.0F, s, 16, 1, zero);
  surf2Dwrite(102.0F, s, 400, 400, clamp);
}
TEST(Surfaces, HaveBoundaryModes) {
  const array<float> a({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 4, 3, 0, cudaArraySurfaceLoadStore);
  const surface s(a.get());
  const buffer<float> out(9);
  beyond<<<1, 1>>>(s.get(), out.data());
  EXPECT_EQ(out.to_host(), (std::vector<float>{0, 0, 0, 0, 10, 1, 8, 10, 12}));
  std::vector<float> back(12);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 16, a.get(), 0, 0, 16, 3, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back, (std::vector<float>{100, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 102}));
}

__global__ void count_up(cudaSurfaceObject_t line, cudaSurfaceObject_t room,
                         cudaSurfaceObject_t layers) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            z = static_cast<int>(threadIdx.z);
  const int value = (z * 3 + y) * 4 + x;
  if (y == 0 && z == 0) surf1Dwrite(static_cast<short>(value - 2), line, x * 2);
  surf3Dwrite(value, room, x * 4, y, z);
  int back;
  surf2DLayeredwrite(-value, layers, x * 4, y, z);
  surf3Dread(&back, room, x * 4, y, z);
  surf3Dwrite(back * 10, room, x * 4, y, z);
}
TEST(Surfaces, OfOneAndThreeDimensionsAndLayers) {
  const array<short> line({9, 9, 9, 9}, 4, 0, 0, cudaArraySurfaceLoadStore);
  const array<int> room(std::vector<int>(24), 4, 3, 2, cudaArraySurfaceLoadStore);
  const array<int> layers(std::vector<int>(24), 4, 3, 2,
                          cudaArraySurfaceLoadStore | cudaArrayLayered);
  const surface a(line.get()), b(room.get()), c(layers.get());
  count_up<<<1, dim3(4, 3, 2)>>>(a.get(), b.get(), c.get());
  std::vector<short> back1(4);
  ASSERT_EQ(cudaMemcpy2DFromArray(back1.data(), 8, line.get(), 0, 0, 8, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back1, (std::vector<short>{-2, -1, 0, 1}));
  for (const auto& [from, factor] : {std::pair{room.get(), 10}, std::pair{layers.get(), -1}}) {
    std::vector<int> back(24);
    cudaMemcpy3DParms p = {};
    p.srcArray = from;
    p.dstPtr = make_cudaPitchedPtr(back.data(), 16, 4, 3);
    p.extent = make_cudaExtent(4, 3, 2);
    p.kind = cudaMemcpyDeviceToHost;
    ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
    for (int i = 0; i < 24; ++i) EXPECT_EQ(back[static_cast<std::size_t>(i)], i * factor);
  }
}

__global__ void paint_faces(cudaSurfaceObject_t one, cudaSurfaceObject_t layered) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y),
            face = static_cast<int>(threadIdx.z);
  const int value = (face * 2 + y) * 2 + x;
  if (face < 6) surfCubemapwrite(value, one, x * 4, y, face);
  const int back = face < 6 ? surfCubemapread<int>(one, x * 4, y, face) : value;
  surfCubemapLayeredwrite(back, layered, x * 4, y, face);
  surfCubemapLayeredwrite(surfCubemapLayeredread<int>(layered, x * 4, y, face) * 10, layered, x * 4,
                          y, face);
}
TEST(Surfaces, OfCubemaps) {
  constexpr unsigned kWritten = cudaArraySurfaceLoadStore | cudaArrayCubemap;
  const array<int> one(std::vector<int>(24), 2, 2, 6, kWritten);
  const array<int> layered(std::vector<int>(48), 2, 2, 12, kWritten | cudaArrayLayered);
  const surface a(one.get()), b(layered.get());
  paint_faces<<<1, dim3(2, 2, 12)>>>(a.get(), b.get());
  for (const auto& [from, faces, factor] :
       {std::tuple{one.get(), 6, 1}, std::tuple{layered.get(), 12, 10}}) {
    std::vector<int> back(static_cast<std::size_t>(faces) * 4);
    cudaMemcpy3DParms p = {};
    p.srcArray = from;
    p.dstPtr = make_cudaPitchedPtr(back.data(), 8, 2, 2);
    p.extent = make_cudaExtent(2, 2, static_cast<std::size_t>(faces));
    p.kind = cudaMemcpyDeviceToHost;
    ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
    for (std::size_t i = 0; i < back.size(); ++i) EXPECT_EQ(back[i], static_cast<int>(i) * factor);
  }
}

TEST(Surfaces, AreSeenByTextures) {
  const array<float> a(std::vector<float>(12), 4, 3, 0, cudaArraySurfaceLoadStore);
  const surface s(a.get());
  const buffer<float> out(9);
  beyond<<<1, 1>>>(s.get(), out.data());
  const texture t(resource_of(a.get()), description());
  EXPECT_EQ(sampled<float>(t, look::two, {{0, 0, 0}, {1, 1, 0}, {3, 2, 0}}),
            (std::vector<float>{100, 0, 102}));
}

// --- arrays and copies --------------------------------------------------------------------------

TEST(Arrays, KnowTheirShape) {
  struct shape {
    cudaExtent extent;
    unsigned int flags;
  };
  for (const shape& s : {shape{make_cudaExtent(5, 0, 0), cudaArrayDefault},
                         shape{make_cudaExtent(5, 6, 0), cudaArraySurfaceLoadStore},
                         shape{make_cudaExtent(5, 6, 7), cudaArrayDefault},
                         shape{make_cudaExtent(5, 0, 7), cudaArrayLayered},
                         shape{make_cudaExtent(5, 6, 7), cudaArrayLayered},
                         shape{make_cudaExtent(5, 5, 6), cudaArrayCubemap},
                         shape{make_cudaExtent(5, 5, 12), cudaArrayCubemap | cudaArrayLayered}}) {
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<ushort2>();
    cudaArray_t a = nullptr;
    ASSERT_EQ(cudaMalloc3DArray(&a, &desc, s.extent, s.flags), cudaSuccess);
    cudaChannelFormatDesc back = {};
    cudaExtent extent = {};
    unsigned int flags = 99;
    EXPECT_EQ(cudaArrayGetInfo(&back, &extent, &flags, a), cudaSuccess);
    EXPECT_EQ(back.x, 16);
    EXPECT_EQ(back.y, 16);
    EXPECT_EQ(back.z, 0);
    EXPECT_EQ(back.f, cudaChannelFormatKindUnsigned);
    EXPECT_EQ(extent.width, s.extent.width);
    EXPECT_EQ(extent.height, s.extent.height);
    EXPECT_EQ(extent.depth, s.extent.depth);
    EXPECT_EQ(flags, s.flags);
    EXPECT_EQ(cudaFreeArray(a), cudaSuccess);
  }
  EXPECT_EQ(cudaFreeArray(nullptr), cudaSuccess);
}

TEST(Arrays, HaveChannelsLikeTheirElements) {
  const auto expect = [](cudaChannelFormatDesc d, int x, int y, int z, int w,
                         cudaChannelFormatKind kind) {
    EXPECT_EQ(d.x, x);
    EXPECT_EQ(d.y, y);
    EXPECT_EQ(d.z, z);
    EXPECT_EQ(d.w, w);
    EXPECT_EQ(d.f, kind);
  };
  expect(cudaCreateChannelDesc<signed char>(), 8, 0, 0, 0, cudaChannelFormatKindSigned);
  expect(cudaCreateChannelDesc<char>(), 8, 0, 0, 0,  // by the processor, as a char is
         std::is_signed_v<char> ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned);
  expect(cudaCreateChannelDesc<uchar4>(), 8, 8, 8, 8, cudaChannelFormatKindUnsigned);
  expect(cudaCreateChannelDesc<short2>(), 16, 16, 0, 0, cudaChannelFormatKindSigned);
  expect(cudaCreateChannelDesc<float>(), 32, 0, 0, 0, cudaChannelFormatKindFloat);
  expect(cudaCreateChannelDesc<float1>(), 32, 0, 0, 0, cudaChannelFormatKindFloat);
  expect(cudaCreateChannelDesc<float3>(), 0, 0, 0, 0, cudaChannelFormatKindNone);
  expect(cudaCreateChannelDesc<double>(), 0, 0, 0, 0, cudaChannelFormatKindNone);
  expect(cudaCreateChannelDesc(8, 8, 0, 0, cudaChannelFormatKindUnsigned), 8, 8, 0, 0,
         cudaChannelFormatKindUnsigned);
}

TEST(Arrays, AreCopiedInPartsAndToEachOther) {
  const array<int> a(std::vector<int>(20, 0), 5, 4), b(std::vector<int>(20, -1), 5, 4);
  const std::vector<int> part = {1, 2, 0, 3, 4, 0};  // two columns of three, in rows of three
  ASSERT_EQ(cudaMemcpy2DToArray(a.get(), 8, 1, part.data(), 12, 8, 2, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy2DArrayToArray(b.get(), 0, 2, a.get(), 4, 1, 12, 2), cudaSuccess);
  std::vector<int> back(20);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 20, b.get(), 0, 0, 20, 4, cudaMemcpyDefault),
            cudaSuccess);
  EXPECT_EQ(back, (std::vector<int>{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                    0,  1,  2,  -1, -1, 0,  3,  4,  -1, -1}));
  const buffer<int> on_device(6);
  ASSERT_EQ(
      cudaMemcpy2DFromArray(on_device.data(), 12, b.get(), 4, 2, 12, 2, cudaMemcpyDeviceToDevice),
      cudaSuccess);
  EXPECT_EQ(on_device.to_host(), (std::vector<int>{1, 2, -1, 3, 4, -1}));
}

TEST(Arrays, AreCopiedAsynchronouslyInStreamOrder) {
  const array<int> a(std::vector<int>(6, 0), 3, 2);
  int* pinned = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 12 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  for (int i = 0; i < 12; ++i) pinned[i] = i;
  EXPECT_EQ(
      cudaMemcpy2DToArrayAsync(a.get(), 0, 0, pinned, 12, 12, 2, cudaMemcpyHostToDevice, stream),
      cudaSuccess);
  EXPECT_EQ(cudaMemcpy2DFromArrayAsync(pinned + 6, 12, a.get(), 0, 0, 12, 2, cudaMemcpyDeviceToHost,
                                       stream),
            cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(std::vector<int>(pinned + 6, pinned + 12), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  cudaMemcpy3DParms p = {};
  p.srcArray = a.get();
  p.srcPos = make_cudaPos(1, 1, 0);
  p.dstPtr = make_cudaPitchedPtr(pinned, 8, 2, 1);
  p.extent = make_cudaExtent(2, 1, 1);
  p.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3DAsync(&p, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(pinned[0], 4);
  EXPECT_EQ(pinned[1], 5);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Copies, OfThreeDimensionsTakeAPartOfEachSide) {
  cudaPitchedPtr room = {};
  ASSERT_EQ(cudaMalloc3D(&room, make_cudaExtent(10, 4, 3)), cudaSuccess);
  EXPECT_GE(room.pitch, 10U);
  EXPECT_EQ(room.xsize, 10U);
  EXPECT_EQ(room.ysize, 4U);
  ASSERT_EQ(cudaMemset3D(room, 7, make_cudaExtent(10, 4, 3)), cudaSuccess);
  ASSERT_EQ(cudaMemset3D(room, 8, make_cudaExtent(2, 1, 2)), cudaSuccess);
  std::vector<unsigned char> host(5 * 3 * 2);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<unsigned char>(100 + i);
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(host.data(), 5, 5, 3);
  p.srcPos = make_cudaPos(1, 1, 0);
  p.dstPtr = room;
  p.dstPos = make_cudaPos(6, 2, 1);
  p.extent = make_cudaExtent(4, 2, 2);
  p.kind = cudaMemcpyHostToDevice;
  ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  std::vector<unsigned char> all(10 * 4 * 3);
  cudaMemcpy3DParms q = {};
  q.srcPtr = room;
  q.dstPtr = make_cudaPitchedPtr(all.data(), 10, 10, 4);
  q.extent = make_cudaExtent(10, 4, 3);
  q.kind = cudaMemcpyDeviceToHost;
  ASSERT_EQ(cudaMemcpy3D(&q), cudaSuccess);
  for (std::size_t z = 0; z < 3; ++z)
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 10; ++x) {
        std::size_t expected = x < 2 && y < 1 && z < 2 ? 8 : 7;
        if (x >= 6 && y >= 2 && z >= 1) expected = 100 + ((z - 1) * 3 + (y - 1)) * 5 + (x - 5);
        ASSERT_EQ(all[(z * 4 + y) * 10 + x], expected) << x << ", " << y << ", " << z;
      }
  EXPECT_EQ(cudaFree(room.ptr), cudaSuccess);
}

TEST(Copies, OfThreeDimensionsCountElementsOfAnArray) {
  std::vector<short2> values;
  for (short i = 0; i < 24; ++i) values.push_back({i, static_cast<short>(-i)});
  const array<short2> a(values, 4, 3, 2), b(std::vector<short2>(24), 4, 3, 2);
  cudaMemcpy3DParms p = {};
  p.srcArray = a.get();
  p.srcPos = make_cudaPos(1, 0, 1);
  p.dstArray = b.get();
  p.dstPos = make_cudaPos(0, 1, 0);
  p.extent = make_cudaExtent(3, 2, 1);
  p.kind = cudaMemcpyDeviceToDevice;
  ASSERT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  std::vector<short2> back(12);
  ASSERT_EQ(cudaMemcpy2DFromArray(back.data(), 16, b.get(), 0, 0, 16, 3, cudaMemcpyDeviceToHost),
            cudaSuccess);
  std::vector<short> x;
  for (const short2& v : back) x.push_back(v.x);
  EXPECT_EQ(x, (std::vector<short>{0, 0, 0, 0, 13, 14, 15, 0, 17, 18, 19, 0}));
}

// --- what is refused ----------------------------------------------------------------------------

TEST(Arrays, ThatCannotBeAreRefused) {
  const auto with = [](cudaChannelFormatDesc desc, std::size_t w, std::size_t h, std::size_t d,
                       unsigned int flags) {
    cudaArray_t a = nullptr;
    const cudaError_t status = cudaMalloc3DArray(&a, &desc, make_cudaExtent(w, h, d), flags);
    cudaFreeArray(a);
    cudaGetLastError();
    return status;
  };
  const auto floats = cudaCreateChannelDesc<float>();
  const auto channels = [](int x, int y, int z, int w, cudaChannelFormatKind kind) {
    return cudaCreateChannelDesc(x, y, z, w, kind);
  };
  EXPECT_EQ(with(floats, 0, 0, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 0, 4, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 0, 4, 0), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 4, 0, cudaArrayLayered), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 10000000, 0, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 10000000, 0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 4, 5000, cudaArrayLayered), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 5, 6, cudaArrayCubemap), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 4, 12, cudaArrayCubemap), cudaErrorInvalidValue);
  EXPECT_EQ(with(floats, 4, 4, 8, cudaArrayCubemap | cudaArrayLayered), cudaErrorInvalidValue);
  EXPECT_EQ(with(channels(32, 32, 32, 0, cudaChannelFormatKindFloat), 4, 4, 0, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(with(cudaCreateChannelDesc<float3>(), 4, 4, 0, 0), cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(with(channels(24, 0, 0, 0, cudaChannelFormatKindUnsigned), 4, 4, 0, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(with(channels(8, 16, 0, 0, cudaChannelFormatKindUnsigned), 4, 4, 0, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(with(channels(32, 0, 32, 0, cudaChannelFormatKindUnsigned), 4, 4, 0, 0),
            cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(with(channels(64, 0, 0, 0, cudaChannelFormatKindFloat), 4, 4, 0, 0),
            cudaErrorInvalidChannelDescriptor);
  cudaArray_t a = nullptr;
  EXPECT_EQ(cudaMallocArray(nullptr, &floats, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocArray(&a, nullptr, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMallocArray(&a, &floats, 4, 4, cudaArrayLayered), cudaErrorInvalidValue);
  cudaGetLastError();
}

cudaError_t creates(const cudaResourceDesc& r, const cudaTextureDesc& d) {
  cudaTextureObject_t t = 0;
  const cudaError_t status = cudaCreateTextureObject(&t, &r, &d, nullptr);
  if (status == cudaSuccess) cudaDestroyTextureObject(t);
  cudaGetLastError();
  return status;
}

TEST(Textures, ThatCannotBeAreRefused) {
  const array<float> floats({1, 2}, 2);
  const array<int> ints({1, 2}, 2);
  const array<unsigned char> bytes({1, 2}, 2);
  const auto linear = [](cudaTextureReadMode read) {
    return description(cudaAddressModeClamp, cudaFilterModeLinear, false, read);
  };
  const auto nearest = [](cudaTextureReadMode read) {
    return description(cudaAddressModeClamp, cudaFilterModePoint, false, read);
  };
  const auto element = cudaReadModeElementType;
  const auto normal = cudaReadModeNormalizedFloat;
  EXPECT_EQ(creates(resource_of(floats.get()), linear(element)), cudaSuccess);
  EXPECT_EQ(creates(resource_of(bytes.get()), linear(normal)), cudaSuccess);
  EXPECT_EQ(creates(resource_of(bytes.get()), linear(element)), cudaErrorInvalidFilterSetting);
  EXPECT_EQ(creates(resource_of(ints.get()), linear(element)), cudaErrorInvalidFilterSetting);
  EXPECT_EQ(creates(resource_of(ints.get()), linear(normal)), cudaErrorInvalidFilterSetting);
  EXPECT_EQ(creates(resource_of(ints.get()), nearest(normal)), cudaErrorInvalidNormSetting);
  EXPECT_EQ(creates(resource_of(floats.get()), nearest(normal)), cudaErrorInvalidNormSetting);
  EXPECT_EQ(creates(resource_of(floats.get()), linear(normal)), cudaErrorInvalidNormSetting);
  EXPECT_EQ(creates(resource_of(nullptr), nearest(element)), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(creates(resource_of(floats.get()), description(static_cast<cudaTextureAddressMode>(9))),
            cudaErrorInvalidValue);
  EXPECT_EQ(creates(resource_of(floats.get()),
                    description(cudaAddressModeClamp, static_cast<cudaTextureFilterMode>(5))),
            cudaErrorInvalidValue);
  cudaResourceDesc unknown = resource_of(floats.get());
  unknown.resType = static_cast<cudaResourceType>(7);
  EXPECT_EQ(creates(unknown, nearest(element)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(0), cudaSuccess);
}

TEST(Textures, OfMemoryThatIsNotAlignedAreRefused) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  const buffer<float> memory(100000);
  const auto desc = cudaCreateChannelDesc<float>();
  const std::size_t aligned = properties.textureAlignment / sizeof(float);
  const auto at = [&](std::size_t offset) {
    return creates(linear_resource(memory.data() + offset, desc, 400), description());
  };
  EXPECT_EQ(at(0), cudaSuccess);
  EXPECT_EQ(at(aligned), cudaSuccess);
  EXPECT_EQ(at(1), cudaErrorInvalidValue);
  EXPECT_EQ(at(aligned / 2), cudaErrorInvalidValue);
  EXPECT_EQ(creates(linear_resource(nullptr, desc, 400), description()), cudaErrorInvalidValue);
  EXPECT_EQ(
      creates(linear_resource(memory.data(), cudaCreateChannelDesc<float3>(), 400), description()),
      cudaErrorInvalidChannelDescriptor);
  EXPECT_EQ(creates(linear_resource(memory.data(), cudaCreateChannelDesc<int>(), 400),
                    description(cudaAddressModeClamp, cudaFilterModeLinear)),
            cudaErrorInvalidFilterSetting);
  EXPECT_EQ(creates(linear_resource(memory.data(), desc, std::size_t{1} << 34), description()),
            cudaErrorInvalidValue);
  const auto pitched = [&](std::size_t offset, std::size_t pitch) {
    return creates(pitched_resource(memory.data() + offset, desc, 10, 10, pitch), description());
  };
  EXPECT_EQ(pitched(0, 512), cudaSuccess);
  EXPECT_EQ(pitched(0, 64), cudaSuccess);
  EXPECT_EQ(pitched(0, 2 * properties.texturePitchAlignment), cudaSuccess);
  EXPECT_EQ(pitched(0, 2 * properties.texturePitchAlignment + 4), cudaErrorInvalidValue);
  EXPECT_EQ(pitched(1, 512), cudaErrorInvalidValue);
}

TEST(Surfaces, OfOtherThanArraysAreRefused) {
  const buffer<float> memory(100);
  cudaSurfaceObject_t s = 0;
  const auto linear = linear_resource(memory.data(), cudaCreateChannelDesc<float>(), 400);
  EXPECT_EQ(cudaCreateSurfaceObject(&s, &linear), cudaErrorInvalidValue);
  const auto nothing = resource_of(nullptr);
  EXPECT_EQ(cudaCreateSurfaceObject(&s, &nothing), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaDestroySurfaceObject(0), cudaSuccess);
  cudaGetLastError();
}

TEST(Copies, BeyondAnArrayOrAgainstItsDirectionAreRefused) {
  const array<float> a(std::vector<float>(16), 4, 4);
  float host[64] = {};
  const auto to = [&](std::size_t x, std::size_t y, std::size_t pitch, std::size_t width,
                      std::size_t height, cudaMemcpyKind kind) {
    const cudaError_t status = cudaMemcpy2DToArray(a.get(), x, y, host, pitch, width, height, kind);
    cudaGetLastError();
    return status;
  };
  const auto up = cudaMemcpyHostToDevice;
  EXPECT_EQ(to(0, 0, 16, 16, 4, up), cudaSuccess);
  EXPECT_EQ(to(0, 0, 16, 0, 4, up), cudaSuccess);
  EXPECT_EQ(to(0, 0, 20, 20, 4, up), cudaErrorInvalidValue);
  EXPECT_EQ(to(4, 0, 16, 16, 4, up), cudaErrorInvalidValue);
  EXPECT_EQ(to(0, 0, 16, 16, 5, up), cudaErrorInvalidValue);
  EXPECT_EQ(to(0, 1, 16, 16, 4, up), cudaErrorInvalidValue);
  EXPECT_EQ(to(0, 0, 8, 16, 4, up), cudaErrorInvalidPitchValue);
  EXPECT_EQ(to(0, 0, 16, 16, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(to(0, 0, 16, 16, 4, cudaMemcpyHostToHost), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(to(0, 0, 16, 16, 4, static_cast<cudaMemcpyKind>(9)), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DToArray(nullptr, 0, 0, host, 16, 16, 4, up),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaMemcpy2DToArray(a.get(), 0, 0, nullptr, 16, 16, 4, up), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DFromArray(host, 16, a.get(), 0, 0, 16, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpy2DFromArray(host, 16, a.get(), 0, 0, 16, 5, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DArrayToArray(a.get(), 0, 0, a.get(), 0, 0, 16, 4, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
}

TEST(Copies, OfThreeDimensionsThatCannotBeAreRefused) {
  const array<float> a(std::vector<float>(16), 4, 4), same(std::vector<float>(16), 4, 4);
  const array<float2> wide(std::vector<float2>(16), 4, 4);
  const buffer<float> memory(64);
  float host[64] = {};
  cudaMemcpy3DParms good = {};
  good.srcPtr = make_cudaPitchedPtr(host, 16, 4, 4);
  good.dstArray = a.get();
  good.extent = make_cudaExtent(4, 4, 1);
  good.kind = cudaMemcpyHostToDevice;
  const auto with = [&](auto change) {
    cudaMemcpy3DParms p = good;
    change(p);
    const cudaError_t status = cudaMemcpy3D(&p);
    cudaGetLastError();
    return status;
  };
  EXPECT_EQ(with([](auto&) {}), cudaSuccess);
  EXPECT_EQ(with([](auto& p) { p.extent.depth = 0; }), cudaSuccess);
  EXPECT_EQ(with([](auto& p) { p.extent.depth = 2; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.extent.width = 5; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.dstPos.x = 1; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.srcPtr.pitch = 8; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.srcPtr.ysize = 2; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([&](auto& p) { p.srcArray = same.get(); }), cudaErrorInvalidValue);
  EXPECT_EQ(with([&](auto& p) { p.dstPtr = make_cudaPitchedPtr(memory.data(), 16, 16, 4); }),
            cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.srcPtr.ptr = nullptr; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.dstArray = nullptr; }), cudaErrorInvalidValue);
  EXPECT_EQ(with([](auto& p) { p.kind = static_cast<cudaMemcpyKind>(7); }),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(with([](auto& p) { p.kind = cudaMemcpyHostToHost; }), cudaSuccess);
  EXPECT_EQ(with([&](auto& p) {
              p.srcPtr = {};
              p.srcArray = wide.get();
              p.kind = cudaMemcpyDeviceToDevice;
            }),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy3D(nullptr), cudaErrorInvalidValue);
  cudaPitchedPtr room = {};
  ASSERT_EQ(cudaMalloc3D(&room, make_cudaExtent(100, 5, 6)), cudaSuccess);
  EXPECT_EQ(cudaMemset3D(room, 3, make_cudaExtent(100, 5, 7)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(room, 3, make_cudaExtent(100, 6, 5)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(room, 3, make_cudaExtent(room.pitch + 1, 5, 6)), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset3D(room, 3, make_cudaExtent(0, 5, 6)), cudaSuccess);
  EXPECT_EQ(cudaFree(room.ptr), cudaSuccess);
  cudaGetLastError();
}

#ifdef __CPU_DEVICE__
// --- what only the CPU device promises ----------------------------------------------------------

using cpu_device_testing::expect_report;

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(CpuDeviceTextures, CountArraysAsDeviceMemory) {
  const std::size_t allocations = cpu_device::live_allocations();
  std::size_t before = 0, during = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  {
    const array<float4> a(std::vector<float4>(100), 10, 10);
    EXPECT_EQ(cpu_device::live_allocations(), allocations + 1);
    ASSERT_EQ(cudaMemGetInfo(&during, &total), cudaSuccess);
    EXPECT_EQ(before - during, 1600U);
  }
  EXPECT_EQ(cpu_device::live_allocations(), allocations);
}

TEST(CpuDeviceTextures, RefuseArraysThatAreGone) {
  const auto desc = cudaCreateChannelDesc<float>();
  cudaArray_t a = nullptr;
  ASSERT_EQ(cudaMallocArray(&a, &desc, 4), cudaSuccess);
  ASSERT_EQ(cudaFreeArray(a), cudaSuccess);
  float host[4] = {};
  EXPECT_EQ(cudaFreeArray(a), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(a, 0, 0, host, 16, 16, 1, cudaMemcpyHostToDevice),
            cudaErrorInvalidResourceHandle);
  EXPECT_EQ(creates(resource_of(a), description()), cudaErrorInvalidResourceHandle);
  ASSERT_EQ(cudaMallocArray(&a, &desc, 4), cudaSuccess);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaFreeArray(a), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(CpuDeviceTextures, RefuseWhatTheyDoNotHave) {
  const array<uchar4> a(std::vector<uchar4>(4), 2, 2);
  cudaTextureDesc settings = description();
  settings.sRGB = 1;
  EXPECT_EQ(creates(resource_of(a.get()), settings), cudaErrorNotSupported);
  cudaResourceDesc mipmap = {};
  mipmap.resType = cudaResourceTypeMipmappedArray;
  EXPECT_EQ(creates(mipmap, description()), cudaErrorNotSupported);
  const cudaResourceDesc r = resource_of(a.get());
  settings.sRGB = 0;
  const cudaResourceViewDesc view = {};
  cudaTextureObject_t t = 0;
  EXPECT_EQ(cudaCreateTextureObject(&t, &r, &settings, &view), cudaErrorNotSupported);
  const auto desc = cudaCreateChannelDesc<float>();
  const array<float> cube(std::vector<float>(96), 4, 4, 6, cudaArrayCubemap);
  settings = description(cudaAddressModeClamp, cudaFilterModeLinear, true);
  settings.seamlessCubemap = 1;
  EXPECT_EQ(creates(r, settings), cudaErrorInvalidValue);  // no cubemap
  EXPECT_EQ(creates(resource_of(cube.get()), settings), cudaErrorNotSupported);
  // A GPU may let these pass; they are mistakes all the same.
  cudaSurfaceObject_t s = 0;
  EXPECT_EQ(cudaCreateSurfaceObject(&s, &r), cudaErrorInvalidValue);
  const buffer<float> memory(100);
  std::vector<float> host(100);
  EXPECT_EQ(creates(linear_resource(host.data(), desc, 400), description()), cudaErrorInvalidValue);
  EXPECT_EQ(creates(linear_resource(memory.data(), desc, 404), description()),
            cudaErrorInvalidValue);
  EXPECT_EQ(creates(pitched_resource(memory.data(), desc, 10, 2, 32), description()),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2DToArray(a.get(), 0, 0, memory.data(), 8, 8, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(CpuDeviceTextures, RefuseObjectsThatDoNotExist) {
  const array<float> a({1, 2}, 2, 1, 0, cudaArraySurfaceLoadStore);
  const cudaResourceDesc r = resource_of(a.get());
  const cudaTextureDesc settings = description();
  cudaTextureObject_t t = 0;
  cudaSurfaceObject_t s = 0;
  ASSERT_EQ(cudaCreateTextureObject(&t, &r, &settings, nullptr), cudaSuccess);
  ASSERT_EQ(cudaCreateSurfaceObject(&s, &r), cudaSuccess);
  EXPECT_NE(t, s);
  EXPECT_EQ(cudaDestroyTextureObject(s), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroySurfaceObject(t), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(t), cudaSuccess);
  EXPECT_EQ(cudaDestroyTextureObject(t), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroySurfaceObject(s), cudaSuccess);
  EXPECT_EQ(cudaDestroySurfaceObject(s), cudaErrorInvalidValue);
  EXPECT_EQ(cudaDestroyTextureObject(12345), cudaErrorInvalidValue);
  cudaGetLastError();
}

__global__ void look_once(cudaTextureObject_t t, look how) {
  float value = 0;
  switch (how) {
    case look::fetch:
      value = tex1Dfetch<float>(t, 0);
      break;
    case look::one:
      value = tex1D<float>(t, 0);
      break;
    case look::three:
      value = tex3D<float>(t, 0, 0, 0);
      break;
    default:
      value = tex2D<float>(t, 0, 0);
      break;
  }
  if (value == 12345.0F) printf("never\n");
}
__global__ void look_for_integers(cudaTextureObject_t t) {
  if (tex2D<int>(t, 0, 0) == 12345) printf("never\n");
}

/// The report of a launch that reads an object which `make` returns for a 2 x 2 array.
template <class Make>
std::string report_of_a_look(look how, Make make) {
  return expect_report(
      [&] {
        const array<float> a({1, 2, 3, 4}, 2, 2, 0, cudaArraySurfaceLoadStore);
        look_once<<<200, 32>>>(make(a.get()), how);
      },
      how == look::three || how == look::fetch ? cudaErrorLaunchFailure : cudaErrorIllegalAddress);
}

cudaTextureObject_t made(cudaArray_t a) {
  const cudaResourceDesc r = resource_of(a);
  const cudaTextureDesc settings = description();
  cudaTextureObject_t t = 0;
  EXPECT_EQ(cudaCreateTextureObject(&t, &r, &settings, nullptr), cudaSuccess);
  return t;
}

TEST(CpuDeviceTextures, ReportObjectsThatAreNone) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string zero = report_of_a_look(look::two, [](cudaArray_t) { return 0ULL; });
  EXPECT_TRUE(has(zero, "tex2D at textures_test.cu:")) << zero;
  EXPECT_TRUE(has(zero, "that is 0")) << zero;
  EXPECT_TRUE(has(zero, "kernel look_once")) << zero;
  const std::string gone = report_of_a_look(look::two, [](cudaArray_t a) {
    const cudaTextureObject_t t = made(a);
    cudaDestroyTextureObject(t);
    return t;
  });
  EXPECT_TRUE(has(gone, "that was destroyed")) << gone;
  const std::string never = report_of_a_look(look::one, [](cudaArray_t) { return ~0ULL; });
  EXPECT_TRUE(has(never, "never created")) << never;
  const std::string other = report_of_a_look(look::two, [](cudaArray_t a) {
    const cudaResourceDesc r = resource_of(a);
    cudaSurfaceObject_t s = 0;
    EXPECT_EQ(cudaCreateSurfaceObject(&s, &r), cudaSuccess);
    return s;
  });
  EXPECT_TRUE(has(other, "was given a surface object")) << other;
  // A worker that waited for the host would do so until the time limit.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(CpuDeviceTextures, ReportArraysThatWereFreedUnderThem) {
  cudaTextureObject_t t = 0;
  const std::string text = expect_report(
      [&] {
        {
          const array<float> a({1, 2, 3, 4}, 2, 2);
          t = made(a.get());
        }
        look_once<<<200, 32>>>(t, look::two);
      },
      cudaErrorIllegalAddress);
  EXPECT_TRUE(has(text, "whose array was freed")) << text;
  EXPECT_EQ(cudaDestroyTextureObject(t), cudaSuccess);
}

TEST(CpuDeviceTextures, ReportTheWrongFunction) {
  const std::string three = report_of_a_look(look::three, made);
  EXPECT_TRUE(has(three, "tex3D at ")) << three;
  EXPECT_TRUE(has(three, "cannot look into a two-dimensional array")) << three;
  const std::string fetch = report_of_a_look(look::fetch, made);
  EXPECT_TRUE(has(fetch, "tex1Dfetch at ")) << fetch;
}

TEST(CpuDeviceTextures, ReportTheWrongType) {
  const std::string integers = expect_report(
      [] {
        const array<float> a({1, 2, 3, 4}, 2, 2);
        look_for_integers<<<1, 32>>>(made(a.get()));
      },
      cudaErrorLaunchFailure);
  EXPECT_TRUE(has(integers, "reads integers from a texture that gives floats")) << integers;
  const std::string floats = expect_report(
      [] {
        const array<unsigned char> a({1, 2, 3, 4}, 2, 2);
        look_once<<<200, 32>>>(made(a.get()), look::two);
      },
      cudaErrorLaunchFailure);
  EXPECT_TRUE(has(floats, "cudaReadModeNormalizedFloat")) << floats;
}

__global__ void touch_surface(cudaSurfaceObject_t s, int x, int y) { surf2Dwrite(1.0F, s, x, y); }

TEST(CpuDeviceTextures, ReportSurfaceCoordinates) {
  const auto touch = [](int x, int y, cudaError_t error) {
    return expect_report(
        [=] {
          const array<float> a(std::vector<float>(12), 4, 3, 0, cudaArraySurfaceLoadStore);
          const surface s(a.get());
          touch_surface<<<1, 1>>>(s.get(), x, y);
        },
        error);
  };
  const std::string outside = touch(16, 0, cudaErrorIllegalAddress);
  EXPECT_TRUE(has(outside, "(16, 0, 0), outside of a surface of 16 bytes by 3")) << outside;
  EXPECT_TRUE(has(touch(0, -1, cudaErrorIllegalAddress), "outside of a surface"));
  const std::string elements = touch(2, 0, cudaErrorMisalignedAddress);
  EXPECT_TRUE(has(elements, "x * sizeof(element)")) << elements;
}

TEST(CpuDeviceTextures, HaveAsManyObjectsAsFit) {
  const array<float> a({1, 2}, 2);
  for (int i = 0; i < 70000; ++i) {  // more than exist at a time
    const cudaTextureObject_t t = made(a.get());
    ASSERT_NE(t, 0U);
    ASSERT_EQ(cudaDestroyTextureObject(t), cudaSuccess);
  }
}

TEST(CpuDeviceTextures, WorkInEveryThreadOrder) {
  const std::vector<float> values = random_values(35, 20);
  const array<float> a(values, 7, 5);
  const texture t(resource_of(a.get()), description(cudaAddressModeClamp, cudaFilterModeLinear));
  const std::vector<point> at = places(7, 5, 1, false, 21);
  const std::vector<float> first = sampled<float>(t, look::two, at);
  cpu_device_testing::in_every_order([&] { EXPECT_EQ(sampled<float>(t, look::two, at), first); });
}

TEST(CpuDeviceTextures, CopyLateWhenStreamsAreDeferred) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  const array<int> a({0, 0}, 2);
  int* pinned = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 2 * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  pinned[0] = 1;
  EXPECT_EQ(
      cudaMemcpy2DToArrayAsync(a.get(), 0, 0, pinned, 8, 8, 1, cudaMemcpyHostToDevice, stream),
      cudaSuccess);
  pinned[0] = 2;  // too early: the copy has not run
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  int back[2] = {};
  EXPECT_EQ(cudaMemcpy2DFromArray(back, 8, a.get(), 0, 0, 8, 1, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(back[0], 2);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}
#endif

}  // namespace
