// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuRAND: the published generators' known answers, the documented meaning of seed, subsequence and
// offset, the distributions, the host functions. CurandSequences.ArePrinted shows raw numbers, so
// that the outputs of two devices can be compared.

#include <curand.h>
#include <curand_kernel.h>

#include <cstdio>

#include "conformance.hpp"

namespace {

using conformance::device_array;

using xorwow = curandStateXORWOW_t;
using mrg = curandStateMRG32k3a_t;
using philox = curandStatePhilox4_32_10_t;

constexpr int kThreads = 4096;

/// What a test asks of each thread: `action(state, index of the thread)` with a state of seed 1234
/// and subsequence = index.
template <class State, class Out, class Action>
__global__ void with_states(Out* out, Action action) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(1234, i, 0, &state);
  out[i] = action(&state, i);
}

template <class State, class Out, class Action>
std::vector<Out> in_each_thread(Action action, int threads = kThreads) {
  const device_array<Out> out{std::vector<Out>(static_cast<std::size_t>(threads))};
  const int block = threads < 128 ? threads : 128;
  with_states<State><<<threads / block, block>>>(out.data(), action);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return out.to_host();
}

template <class State>
class Curand : public ::testing::Test {};
using generators = ::testing::Types<xorwow, mrg, philox>;
TYPED_TEST_SUITE(Curand, generators);

// --- sequences ----------------------------------------------------------------------------------

struct four_numbers {
  unsigned int v[4];
};

template <class State>
__device__ four_numbers draw(State* state) {
  four_numbers n;
  for (unsigned int& x : n.v) x = curand(state);
  return n;
}

/// One thread's four numbers after `start(state)`.
template <class State, class Start>
struct started {
  Start start;
  __device__ four_numbers operator()(State* state, unsigned) const {
    start(state);
    return draw(state);
  }
};
template <class State, class Start>
std::vector<unsigned> numbers_after(Start start) {
  const auto n = in_each_thread<State, four_numbers>(started<State, Start>{start}, 1)[0];
  return {n.v, n.v + 4};
}

/// A state of seed, subsequence and offset.
struct at {
  unsigned long long seed, subsequence, offset;
  template <class State>
  __device__ void operator()(State* state) const {
    curand_init(seed, subsequence, offset, state);
  }
};
/// The same position, reached by drawing `offset` numbers one by one.
struct walked {
  unsigned long long seed, subsequence, offset;
  template <class State>
  __device__ void operator()(State* state) const {
    curand_init(seed, subsequence, 0, state);
    for (unsigned long long i = 0; i < offset; ++i) curand(state);
  }
};
/// The same position, reached by skipahead() in two jumps.
struct skipped {
  unsigned long long seed, subsequence, first, second;
  template <class State>
  __device__ void operator()(State* state) const {
    curand_init(seed, subsequence, 0, state);
    skipahead(first, state);
    skipahead(second, state);
  }
};

TYPED_TEST(Curand, OffsetsCountNumbers) {
  for (const unsigned long long offset : {0ULL, 1ULL, 2ULL, 3ULL, 4ULL, 5ULL, 33ULL, 1000ULL})
    for (const unsigned long long subsequence : {0ULL, 1ULL, 77ULL}) {
      SCOPED_TRACE(::testing::Message() << offset << " of " << subsequence);
      const auto expected = numbers_after<TypeParam>(walked{99, subsequence, offset});
      EXPECT_EQ(numbers_after<TypeParam>(at{99, subsequence, offset}), expected);
      EXPECT_EQ(numbers_after<TypeParam>(skipped{99, subsequence, offset / 3, offset - offset / 3}),
                expected);
    }
}

TYPED_TEST(Curand, JumpsAddUp) {
  const unsigned long long far = 0x123456789ABCDEFULL;
  EXPECT_EQ(numbers_after<TypeParam>(skipped{5, 3, far, 2 * far + 1}),
            numbers_after<TypeParam>(at{5, 3, 3 * far + 1}));
  EXPECT_EQ(numbers_after<TypeParam>(skipped{5, 3, far, 1}),
            numbers_after<TypeParam>(skipped{5, 3, 1, far}));
}

TYPED_TEST(Curand, SeedsAndSubsequencesDiffer) {
  const auto first = numbers_after<TypeParam>(at{1, 0, 0});
  EXPECT_EQ(numbers_after<TypeParam>(at{1, 0, 0}), first);
  for (const at other : {at{2, 0, 0}, at{1ULL << 32, 0, 0}, at{0, 0, 0}, at{1, 1, 0}, at{1, 0, 4}})
    EXPECT_NE(numbers_after<TypeParam>(other), first);
}

/// `jumps` jumps of 2^63 numbers, from the begin of subsequence 0.
struct far_away {
  int jumps;
  template <class State>
  __device__ void operator()(State* state) const {
    curand_init(7, 0, 0, state);
    for (int i = 0; i < jumps; ++i) skipahead(1ULL << 63, state);
  }
};

TEST(CurandSubsequences, AreAsFarApartAsDocumented) {
  // 2^67 numbers for XORWOW, 2^66 (2^64 counters of four) for Philox.
  EXPECT_EQ(numbers_after<xorwow>(far_away{16}), numbers_after<xorwow>(at{7, 1, 0}));
  EXPECT_EQ(numbers_after<philox>(far_away{8}), numbers_after<philox>(at{7, 1, 0}));
  // 2^76 for MRG32k3a.
  EXPECT_EQ(numbers_after<mrg>(far_away{8192}), numbers_after<mrg>(at{7, 1, 0}));
}

/// Philox with any key and counter: the counter's low half is the offset in fours.
struct keyed {
  unsigned long long key, low, high;
  __device__ void operator()(philox* state) const {
    constexpr unsigned long long kMost = 1ULL << 61;  // counters in a jump of 2^63 numbers
    curand_init(key, high, 4 * (low % kMost), state);
    for (unsigned long long i = 0; i < low / kMost; ++i) skipahead(1ULL << 63, state);
  }
};
struct four_at_once {
  keyed start;
  __device__ uint4 operator()(philox* state, unsigned) const {
    start(state);
    return curand4(state);
  }
};

TEST(CurandPhilox, GivesThePublishedAnswers) {
  // Philox4x32-10 known answers of Salmon et al.: counter, key, result.
  const std::pair<keyed, std::vector<unsigned>> answers[] = {
      {{0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{~0ULL, ~0ULL, ~0ULL}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (const auto& [start, answer] : answers) {
    EXPECT_EQ(numbers_after<philox>(start), answer);
    const uint4 four = in_each_thread<philox, uint4>(four_at_once{start}, 1)[0];
    EXPECT_EQ((std::vector<unsigned>{four.x, four.y, four.z, four.w}), answer);
  }
}

#ifdef __CPU_DEVICE__
TEST(CurandXorwow, IsMarsagliasGenerator) {
  unsigned x = 123456789, y = 362436069, z = 521288629, w = 88675123, v = 5783321, d = 6615241;
  curandStateXORWOW state{};
  state.d = d;
  const unsigned start[] = {x, y, z, w, v};
  std::copy(start, start + 5, state.v);
  for (int i = 0; i < 1000; ++i) {  // as in "Xorshift RNGs"
    const unsigned t = x ^ (x >> 2);
    x = y;
    y = z;
    z = w;
    w = v;
    v = (v ^ (v << 4)) ^ (t ^ (t << 1));
    d += 362437;
    ASSERT_EQ(curand(&state), d + v);
  }
}

TEST(CurandMrg32k3a, GivesThePublishedAnswers) {
  // All six seeds 12345: the first numbers of L'Ecuyer's generator, which are 2.3e-10 apart.
  curandStateMRG32k3a state{};
  for (int i = 0; i < 3; ++i) state.s1[i] = state.s2[i] = 12345;
  for (const double answer : {0.127011122046577, 0.318527565396794, 0.309186015583220})
    EXPECT_NEAR(curand(&state) / 4294967088.0, answer, 1e-10);
}
#endif

// --- distributions ------------------------------------------------------------------------------

/// Means of x, of x^2, and of [-1 < x < 1], with the extremes, over every thread's 64 numbers.
struct moments {
  double mean, square, inside, low, high;
};
constexpr int kDraws = 64;

template <class State, class Number>
struct gathered {
  Number number;
  __device__ moments operator()(State* state, unsigned) const {
    moments m{0, 0, 0, 1e300, -1e300};
    for (int i = 0; i < kDraws; ++i) {
      const double x = static_cast<double>(number(state));
      m.mean += x;
      m.square += x * x;
      m.inside += x > -1 && x < 1;
      m.low = x < m.low ? x : m.low;
      m.high = x > m.high ? x : m.high;
    }
    return m;
  }
};
template <class State, class Number>
moments moments_of(Number number) {
  moments all{0, 0, 0, 1e300, -1e300};
  const double count = static_cast<double>(kThreads) * kDraws;
  for (const moments& m : in_each_thread<State, moments>(gathered<State, Number>{number})) {
    all.mean += m.mean / count;
    all.square += m.square / count;
    all.inside += m.inside / count;
    all.low = std::min(all.low, m.low);
    all.high = std::max(all.high, m.high);
  }
  return all;
}

/// A mean of the 262144 numbers may be five standard deviations off.
constexpr double kFiveSigma = 5.0 / 512;

#define NUMBER(NAME, EXPRESSION)                                         \
  struct NAME {                                                          \
    template <class State>                                               \
    __device__ auto operator()(State* s) const -> decltype(EXPRESSION) { \
      return EXPRESSION;                                                 \
    }                                                                    \
  }
NUMBER(uniform_float, curand_uniform(s));
NUMBER(uniform_double, curand_uniform_double(s));
NUMBER(normal_float, curand_normal(s));
NUMBER(normal_double, curand_normal_double(s));
NUMBER(normal_second, curand_normal2(s).y);
NUMBER(normal_second_double, curand_normal2_double(s).x);
NUMBER(log_normal_float, curand_log_normal(s, 0.5F, 0.25F));
NUMBER(log_normal_double, curand_log_normal_double(s, 0.5, 0.25));

template <class Number, class State>
void expect_uniform() {
  const moments m = moments_of<State>(Number{});
  EXPECT_NEAR(m.mean, 0.5, kFiveSigma * 0.2887);
  EXPECT_NEAR(m.square, 1.0 / 3, kFiveSigma * 0.2981);
  EXPECT_GT(m.low, 0);  // 0 is left out, 1 is not
  EXPECT_LE(m.high, 1);
  EXPECT_LT(m.low, 1e-4);
  EXPECT_GT(m.high, 1 - 1e-4);
}
template <class Number, class State>
void expect_normal() {
  const moments m = moments_of<State>(Number{});
  EXPECT_NEAR(m.mean, 0, kFiveSigma);
  EXPECT_NEAR(m.square, 1, kFiveSigma * std::sqrt(2.0));
  EXPECT_NEAR(m.inside, 0.682689, kFiveSigma * 0.4654);
  EXPECT_GT(m.high, 3.5);
  EXPECT_LT(m.low, -3.5);
}

TYPED_TEST(Curand, UniformNumbersFillTheUnitInterval) {
  expect_uniform<uniform_float, TypeParam>();
  expect_uniform<uniform_double, TypeParam>();
}
TYPED_TEST(Curand, NormalNumbersHaveTheirMoments) {
  expect_normal<normal_float, TypeParam>();
  expect_normal<normal_double, TypeParam>();
  expect_normal<normal_second, TypeParam>();
  expect_normal<normal_second_double, TypeParam>();
}
TYPED_TEST(Curand, LogNormalNumbersHaveTheirMean) {
  const double mean = std::exp(0.5 + 0.25 * 0.25 / 2);
  const double sigma = mean * std::sqrt(std::exp(0.25 * 0.25) - 1);
  EXPECT_NEAR(moments_of<TypeParam>(log_normal_float{}).mean, mean, kFiveSigma * sigma);
  EXPECT_NEAR(moments_of<TypeParam>(log_normal_double{}).mean, mean, kFiveSigma * sigma);
}

struct poisson_number {
  double lambda;
  template <class State>
  __device__ unsigned operator()(State* s) const {
    return curand_poisson(s, lambda);
  }
};
TYPED_TEST(Curand, PoissonNumbersHaveMeanAndVariance) {
  for (const double lambda : {0.1, 3.0, 9.9, 10.5, 60.0, 2000.0}) {
    SCOPED_TRACE(lambda);
    const moments m = moments_of<TypeParam>(poisson_number{lambda});
    EXPECT_NEAR(m.mean, lambda, kFiveSigma * std::sqrt(lambda));
    const double variance = m.square - m.mean * m.mean;
    EXPECT_NEAR(variance, lambda, kFiveSigma * std::sqrt(2 * lambda * lambda + lambda));
    if (lambda < 1) {  // P(0) = exp(-lambda)
      EXPECT_NEAR(m.inside, std::exp(-lambda), kFiveSigma * 0.3);
    }
  }
}

struct four_floats {
  __device__ float4 operator()(philox* s, unsigned kind) const {
    return kind == 0   ? curand_uniform4(s)
           : kind == 1 ? curand_normal4(s)
                       : curand_log_normal4(s, 0.0F, 1.0F);
  }
};
TEST(CurandPhilox, MakesFourAtOnce) {
  const auto fours = in_each_thread<philox, float4>(four_floats{}, 2);
  for (const float4& f : fours)
    for (const float x : {f.x, f.y, f.z, f.w}) EXPECT_TRUE(x > -8 && x <= 8) << x;
  EXPECT_GT(fours[0].x, 0);
  EXPECT_LE(fours[0].x, 1);
}

// --- host functions -----------------------------------------------------------------------------

#define EXPECT_MADE(...) EXPECT_EQ((__VA_ARGS__), CURAND_STATUS_SUCCESS)

class generator {
 public:
  explicit generator(curandRngType_t type, bool host = false) {
    EXPECT_MADE(host ? curandCreateGeneratorHost(&handle_, type)
                     : curandCreateGenerator(&handle_, type));
    EXPECT_MADE(curandSetPseudoRandomGeneratorSeed(handle_, 42));
  }
  ~generator() { EXPECT_MADE(curandDestroyGenerator(handle_)); }
  generator(const generator&) = delete;
  generator& operator=(const generator&) = delete;
  operator curandGenerator_t() const { return handle_; }

 private:
  curandGenerator_t handle_ = nullptr;
};

constexpr curandRngType_t kTypes[] = {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_MRG32K3A,
                                      CURAND_RNG_PSEUDO_PHILOX4_32_10};

template <class T>
std::pair<double, double> mean_and_variance(const std::vector<T>& v) {
  double sum = 0, squares = 0;
  for (const T x : v) {
    sum += static_cast<double>(x);
    squares += static_cast<double>(x) * static_cast<double>(x);
  }
  const double n = static_cast<double>(v.size());
  return {sum / n, squares / n - sum / n * (sum / n)};
}

TEST(CurandHost, FillsArraysOfTheDevice) {
  constexpr std::size_t n = 1 << 18;
  for (const auto type : kTypes) {
    SCOPED_TRACE(type);
    const generator g(type);
    const device_array<float> f(n, 0.0F);
    const device_array<double> d(n, 0.0);
    const device_array<unsigned> u(n, 0U);
    EXPECT_MADE(curandGenerateUniform(g, f.data(), n));
    EXPECT_NEAR(mean_and_variance(f.to_host()).first, 0.5, kFiveSigma * 0.2887);
    EXPECT_MADE(curandGenerateUniformDouble(g, d.data(), n));
    EXPECT_NEAR(mean_and_variance(d.to_host()).first, 0.5, kFiveSigma * 0.2887);
    EXPECT_MADE(curandGenerateNormal(g, f.data(), n, 10, 2));
    auto [mean, variance] = mean_and_variance(f.to_host());
    EXPECT_NEAR(mean, 10, kFiveSigma * 2);
    EXPECT_NEAR(variance, 4, kFiveSigma * 4 * std::sqrt(2.0));
    EXPECT_MADE(curandGenerateNormalDouble(g, d.data(), n, 10, 2));
    EXPECT_NEAR(mean_and_variance(d.to_host()).first, 10, kFiveSigma * 2);
    EXPECT_MADE(curandGenerateLogNormal(g, f.data(), n, 0.5F, 0.25F));
    EXPECT_NEAR(mean_and_variance(f.to_host()).first, std::exp(0.53125), kFiveSigma * 0.5);
    EXPECT_MADE(curandGenerateLogNormalDouble(g, d.data(), n, 0.5, 0.25));
    EXPECT_NEAR(mean_and_variance(d.to_host()).first, std::exp(0.53125), kFiveSigma * 0.5);
    EXPECT_MADE(curandGeneratePoisson(g, u.data(), n, 20));
    EXPECT_NEAR(mean_and_variance(u.to_host()).first, 20, kFiveSigma * std::sqrt(20.0));
    EXPECT_MADE(curandGenerate(g, u.data(), n));
    EXPECT_NEAR(mean_and_variance(u.to_host()).first, 2147483648.0, kFiveSigma * 1.24e9);
  }
}

TEST(CurandHost, FillsArraysOfTheHostAlike) {
  for (const auto type : kTypes) {
    SCOPED_TRACE(type);
    const generator device(type), host(type, true);
    const device_array<unsigned> from_device(10000, 0U);
    std::vector<unsigned> from_host(10000);
    EXPECT_MADE(curandGenerate(device, from_device.data(), 10000));
    EXPECT_MADE(curandGenerate(host, from_host.data(), 10000));
    EXPECT_EQ(from_device.to_host(), from_host);
  }
}

TEST(CurandHost, SeedAndOffsetSayWhereItBegins) {
  for (const auto type : kTypes) {
    SCOPED_TRACE(type);
    const device_array<unsigned> a(20000, 0U), b(20000, 0U);
    const generator g(type);
    EXPECT_MADE(curandGenerate(g, a.data(), 20000));
    EXPECT_MADE(curandSetPseudoRandomGeneratorSeed(g, 42));
    EXPECT_MADE(curandSetGeneratorOffset(g, 5000));
    EXPECT_MADE(curandGenerate(g, b.data(), 15000));
    const auto whole = a.to_host(), part = b.to_host();
    EXPECT_EQ(std::vector<unsigned>(part.begin(), part.begin() + 15000),
              std::vector<unsigned>(whole.begin() + 5000, whole.end()));
    EXPECT_MADE(curandSetPseudoRandomGeneratorSeed(g, 43));
    EXPECT_MADE(curandSetGeneratorOffset(g, 0));
    EXPECT_MADE(curandGenerate(g, b.data(), 20000));
    EXPECT_NE(b.to_host(), whole);
  }
}

template <class State>
__global__ void in_host_order(unsigned* out, int n, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  State state;
  curand_init(42, i, 0, &state);
  for (int at = static_cast<int>(i); at < n; at += static_cast<int>(count))
    out[at] = curand(&state);
}

TEST(CurandHost, TakesTurnsAmong4096Subsequences) {
  const int n = 10000;
  const device_array<unsigned> expected(n, 0U), found(n, 0U);
  const generator x(CURAND_RNG_PSEUDO_XORWOW), m(CURAND_RNG_PSEUDO_MRG32K3A);
  EXPECT_MADE(curandSetGeneratorOrdering(x, CURAND_ORDERING_PSEUDO_LEGACY));
  EXPECT_MADE(curandGenerate(x, found.data(), n));
  in_host_order<xorwow><<<32, 128>>>(expected.data(), n, 4096);
  EXPECT_EQ(found.to_host(), expected.to_host());
  EXPECT_MADE(curandSetGeneratorOrdering(m, CURAND_ORDERING_PSEUDO_LEGACY));
  EXPECT_MADE(curandGenerate(m, found.data(), n));
  in_host_order<mrg><<<32, 128>>>(expected.data(), n, 4096);
  EXPECT_EQ(found.to_host(), expected.to_host());
}

TEST(CurandHost, WorksInAStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const generator g(CURAND_RNG_PSEUDO_PHILOX4_32_10), other(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  EXPECT_MADE(curandSetStream(g, stream));
  const device_array<float> a(1000, 0.0F), b(1000, 0.0F);
  EXPECT_MADE(curandGenerateUniform(g, a.data(), 1000));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_MADE(curandGenerateUniform(other, b.data(), 1000));
  EXPECT_EQ(a.to_host(), b.to_host());
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CurandHost, RefusesWhatMakesNoSense) {
  curandGenerator_t none = nullptr;
  EXPECT_EQ(curandCreateGenerator(&none, static_cast<curandRngType_t>(7)),
            CURAND_STATUS_TYPE_ERROR);
  const device_array<float> x(4, 0.0F);
  EXPECT_EQ(curandGenerateUniform(nullptr, x.data(), 4), CURAND_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(curandDestroyGenerator(nullptr), CURAND_STATUS_NOT_INITIALIZED);
  const generator g(CURAND_RNG_PSEUDO_DEFAULT);
  EXPECT_EQ(curandGenerateNormal(g, x.data(), 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  int version = 0;
  EXPECT_MADE(curandGetVersion(&version));
  EXPECT_GE(version, 10000);
}

#ifdef __CPU_DEVICE__
TEST(CurandOnTheCpuDevice, ReportsAHostPointer) {
  curandGenerator_t g = nullptr;
  ASSERT_EQ(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT), CURAND_STATUS_SUCCESS);
  std::vector<float> host(4);
  EXPECT_EQ(curandGenerateUniform(g, host.data(), 4), CURAND_STATUS_LAUNCH_FAILURE);
  EXPECT_NE(cpu_device::last_report().find("host pointer"), std::string::npos);
  EXPECT_EQ(curandGenerateUniform(g, host.data(), 4), CURAND_STATUS_PREEXISTING_FAILURE);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_MADE(curandDestroyGenerator(g));
  EXPECT_EQ(curandDestroyGenerator(g), CURAND_STATUS_NOT_INITIALIZED);
}
#endif

// --- what two devices can be compared by --------------------------------------------------------

template <class State, class Number>
struct first_number {
  Number number;
  __device__ double operator()(State* state, unsigned) const {
    return static_cast<double>(number(state));
  }
};

template <class State>
void print(const char* name) {
  for (const at start : {at{0, 0, 0}, at{1, 0, 0}, at{2, 0, 0}, at{1ULL << 32, 0, 0},
                         at{1234, 0, 0}, at{1234, 1, 0}, at{1234, 0, 5}}) {
    const auto n = numbers_after<State>(start);
    std::printf("%s seed %llu subsequence %llu offset %llu: %08x %08x %08x %08x\n", name,
                start.seed, start.subsequence, start.offset, n[0], n[1], n[2], n[3]);
  }
}
template <class State, class Number>
void print_first(const char* name, Number number) {
  const first_number<State, Number> first{number};
  std::printf("%s: %.17g\n", name, in_each_thread<State, double>(first, 1)[0]);
}

TEST(CurandSequences, ArePrinted) {
  print<xorwow>("XORWOW");
  print<mrg>("MRG32k3a");
  print<philox>("Philox");
  print_first<philox>("Philox uniform", uniform_float{});
  print_first<philox>("Philox uniform double", uniform_double{});
  print_first<philox>("Philox normal", normal_float{});
  print_first<philox>("Philox normal double", normal_double{});
}

}  // namespace
