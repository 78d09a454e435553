// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Arithmetic on the halves and the bytes of a word, against loops over the parts.

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "conformance.hpp"

namespace {

using conformance::on_device;
using pair = conformance::two<unsigned>;

/// Words with every edge of signed and unsigned parts in every place, and random ones.
std::vector<pair> words() {
  std::vector<pair> v;
  const unsigned edges[] = {0,          0x00010001, 0x01010101, 0x7f7f7f7f, 0x80808080, 0xffffffff,
                            0x7fff7fff, 0x80008000, 0x80017ffe, 0xfe01ff02, 0x00ff0100};
  for (const unsigned a : edges)
    for (const unsigned b : edges) v.push_back({a, b});
  std::mt19937 random(11);
  for (int i = 0; i < 4000; ++i)
    v.push_back({static_cast<unsigned>(random()), static_cast<unsigned>(random())});
  return v;
}

template <class T, class F>
unsigned part_by_part(pair w, F f) {
  unsigned result = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(T)) {
    const long value = f(long{static_cast<T>(w.a >> at)}, long{static_cast<T>(w.b >> at)});
    result += (static_cast<unsigned>(value) & ((1U << (8 * sizeof(T))) - 1)) << at;
  }
  return result;
}

template <class T, class F>
unsigned sum_of_parts(pair w, F f) {
  unsigned sum = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(T))
    sum +=
        static_cast<unsigned>(f(long{static_cast<T>(w.a >> at)}, long{static_cast<T>(w.b >> at)}));
  return sum;
}

template <class T>
long clamped(long x) {
  return std::clamp(x, long{std::numeric_limits<T>::min()}, long{std::numeric_limits<T>::max()});
}
/// Half of the sum; halves are rounded away from zero.
long average(long a, long b) { return (std::labs(a + b) + 1) / 2 * (a + b < 0 ? -1 : 1); }

/// Function::of() of two words, and Function::expected() of each pair of their parts.
template <class Function>
void expect_parts(const char* name) {
  const std::vector<pair> inputs = words();
  const auto results = on_device<Function>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ASSERT_EQ(results[i], part_by_part<typename Function::part>(inputs[i], Function::expected))
        << name << " of " << std::hex << inputs[i].a << " and " << inputs[i].b;
}
template <class Function>
void expect_sums(const char* name) {
  const std::vector<pair> inputs = words();
  const auto results = on_device<Function>(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ASSERT_EQ(results[i], sum_of_parts<typename Function::part>(inputs[i], Function::expected))
        << name << " of " << std::hex << inputs[i].a << " and " << inputs[i].b;
}

// X(function, its arguments, type of the parts, the result for the parts a and b)
// A and B: the type's letter and the number of parts, which the names end with.
#define COMPARISONS(X, RELATION, A, B, T, OP)                 \
  X(__vcmp##RELATION##A##B, (w.a, w.b), T, a OP b ? -1L : 0L) \
  X(__vset##RELATION##A##B, (w.a, w.b), T, a OP b ? 1L : 0L)
#define PART_FUNCTIONS(X, N, S, U)                           \
  X(__vabs##N, (w.a), S, std::labs(a) + 0 * b)               \
  X(__vabsss##N, (w.a), S, clamped<S>(std::labs(a)) + 0 * b) \
  X(__vneg##N, (w.a), S, 0 * b - a)                          \
  X(__vnegss##N, (w.a), S, clamped<S>(-a) + 0 * b)           \
  X(__vadd##N, (w.a, w.b), U, a + b)                         \
  X(__vaddss##N, (w.a, w.b), S, clamped<S>(a + b))           \
  X(__vaddus##N, (w.a, w.b), U, clamped<U>(a + b))           \
  X(__vsub##N, (w.a, w.b), U, a - b)                         \
  X(__vsubss##N, (w.a, w.b), S, clamped<S>(a - b))           \
  X(__vsubus##N, (w.a, w.b), U, clamped<U>(a - b))           \
  X(__vavgs##N, (w.a, w.b), S, average(a, b))                \
  X(__vavgu##N, (w.a, w.b), U, average(a, b))                \
  X(__vhaddu##N, (w.a, w.b), U, (a + b) / 2)                 \
  X(__vmins##N, (w.a, w.b), S, std::min(a, b))               \
  X(__vminu##N, (w.a, w.b), U, std::min(a, b))               \
  X(__vmaxs##N, (w.a, w.b), S, std::max(a, b))               \
  X(__vmaxu##N, (w.a, w.b), U, std::max(a, b))               \
  X(__vabsdiffs##N, (w.a, w.b), S, std::labs(a - b))         \
  X(__vabsdiffu##N, (w.a, w.b), U, std::labs(a - b))         \
  COMPARISONS(X, eq, , N, U, ==)                             \
  COMPARISONS(X, ne, , N, U, !=)                             \
  COMPARISONS(X, lt, s, N, S, <)                             \
  COMPARISONS(X, lt, u, N, U, <)                             \
  COMPARISONS(X, le, s, N, S, <=)                            \
  COMPARISONS(X, le, u, N, U, <=)                            \
  COMPARISONS(X, gt, s, N, S, >)                             \
  COMPARISONS(X, gt, u, N, U, >)                             \
  COMPARISONS(X, ge, s, N, S, >=)                            \
  COMPARISONS(X, ge, u, N, U, >=)
#define SUM_FUNCTIONS(X, N, S, U)                \
  X(__vsads##N, (w.a, w.b), S, std::labs(a - b)) \
  X(__vsadu##N, (w.a, w.b), U, std::labs(a - b))

#define DEFINE(NAME, ARGUMENTS, T, ...)                              \
  struct of##NAME {                                                  \
    using part = T;                                                  \
    static __device__ unsigned of(pair w) { return NAME ARGUMENTS; } \
    static long expected(long a, long b) { return __VA_ARGS__; }     \
  };
#define EXPECT_PARTS(NAME, ...) expect_parts<of##NAME>(#NAME);
#define EXPECT_SUMS(NAME, ...) expect_sums<of##NAME>(#NAME);

PART_FUNCTIONS(DEFINE, 2, std::int16_t, std::uint16_t)
PART_FUNCTIONS(DEFINE, 4, std::int8_t, std::uint8_t)
SUM_FUNCTIONS(DEFINE, 2, std::int16_t, std::uint16_t)
SUM_FUNCTIONS(DEFINE, 4, std::int8_t, std::uint8_t)

TEST(VideoInstructions, WorkOnHalves){
    PART_FUNCTIONS(EXPECT_PARTS, 2, std::int16_t, std::uint16_t)} TEST(VideoInstructions,
                                                                       WorkOnBytes){
    PART_FUNCTIONS(EXPECT_PARTS, 4, std::int8_t, std::uint8_t)} TEST(VideoInstructions,
                                                                     AddDistancesOfParts) {
  SUM_FUNCTIONS(EXPECT_SUMS, 2, std::int16_t, std::uint16_t)
  SUM_FUNCTIONS(EXPECT_SUMS, 4, std::int8_t, std::uint8_t)
}

}  // namespace
