// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuRAND's device functions: random numbers inside kernels, one state a thread.
//
// The generators are the published ones: XORWOW (Marsaglia 2003), MRG32k3a (L'Ecuyer 1999) and
// Philox4x32-10 (Salmon et al. 2011). Subsequences are as far apart as cuRAND's documentation says:
// 2^67, 2^76 and 2^66 numbers. How a seed becomes the first state is not documented for XORWOW and
// MRG32k3a and is our own here: their numbers differ from a GPU's. Philox's do not.
#pragma once

#include <cuda_runtime.h>
#include <curand.h>

#include <cstdint>

struct curandStateXORWOW {
  unsigned int d, v[5];
  int normal_kept, normal_kept_double;  // Box-Muller makes two numbers; the second waits here
  float kept;
  double kept_double;
};
struct curandStateMRG32k3a {
  unsigned int s1[3], s2[3];
  int normal_kept, normal_kept_double;
  float kept;
  double kept_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned int used;  // of the four numbers in output
  int normal_kept, normal_kept_double;
  float kept;
  double kept_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

namespace cpu_device {

// Jumps ahead by n * 2^log2_step numbers (curand_jumps.cpp).
void jump(curandStateXORWOW& state, unsigned long long n, int log2_step);
void jump(curandStateMRG32k3a& state, unsigned long long n, int log2_step);

/// A mixing of 64 bits that no two inputs leave alike (splitmix64's).
inline unsigned long long mixed(unsigned long long x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// Philox4x32-10: ten rounds of multiplications make four numbers of a counter and a key.
inline uint4 philox(uint4 c, uint2 key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c.x;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c.z;
    c = {static_cast<unsigned>(second >> 32) ^ c.y ^ key.x, static_cast<unsigned>(second),
         static_cast<unsigned>(first >> 32) ^ c.w ^ key.y, static_cast<unsigned>(first)};
    key.x += 0x9E3779B9U;
    key.y += 0xBB67AE85U;
  }
  return c;
}

/// The 128-bit counter as two halves: the place in the subsequence, and the subsequence.
inline void add_to_counter(uint4& c, unsigned long long low, unsigned long long high) {
  const unsigned long long before = (static_cast<unsigned long long>(c.y) << 32) | c.x;
  const unsigned long long after = before + low;
  const unsigned long long top =
      ((static_cast<unsigned long long>(c.w) << 32) | c.z) + high + (after < before);
  c = {static_cast<unsigned>(after), static_cast<unsigned>(after >> 32), static_cast<unsigned>(top),
       static_cast<unsigned>(top >> 32)};
}

template <class State>
void forget_kept(State& state) {
  state.normal_kept = state.normal_kept_double = 0;
}

}  // namespace cpu_device

// --- skipping: n numbers, n subsequences --------------------------------------------------------

inline void skipahead(unsigned long long n, curandStateXORWOW_t* state) {
  cpu_device::jump(*state, n, 0);
}
inline void skipahead_sequence(unsigned long long n, curandStateXORWOW_t* state) {
  cpu_device::jump(*state, n, 67);
}
inline void skipahead(unsigned long long n, curandStateMRG32k3a_t* state) {
  cpu_device::jump(*state, n, 0);
}
inline void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  cpu_device::jump(*state, n, 76);
}
inline void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t* state) {
  cpu_device::jump(*state, n, 127);
}
inline void skipahead(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  const unsigned long long used = state->used + (n & 3);
  cpu_device::add_to_counter(state->ctr, n / 4 + used / 4, 0);
  state->used = static_cast<unsigned>(used % 4);
  state->output = cpu_device::philox(state->ctr, state->key);
}
inline void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t* state) {
  cpu_device::add_to_counter(state->ctr, 0, n);
  state->output = cpu_device::philox(state->ctr, state->key);
}

// --- states -------------------------------------------------------------------------------------

inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateXORWOW_t* state) {
  const unsigned long long a = cpu_device::mixed(seed), b = cpu_device::mixed(a);
  const unsigned long long c = cpu_device::mixed(b);
  *state = {};
  state->v[0] = static_cast<unsigned>(a) | (a == 0);  // the five may not all be zero
  state->v[1] = static_cast<unsigned>(a >> 32);
  state->v[2] = static_cast<unsigned>(b);
  state->v[3] = static_cast<unsigned>(b >> 32);
  state->v[4] = static_cast<unsigned>(c);
  state->d = static_cast<unsigned>(c >> 32);
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStateMRG32k3a_t* state) {
  *state = {};
  unsigned long long x = seed;
  for (int i = 0; i < 3; ++i) {  // each below its modulus, and not all three zero
    x = cpu_device::mixed(x);
    state->s1[i] = static_cast<unsigned>(x % 4294967087U);
    state->s2[i] = static_cast<unsigned>((x >> 32) % 4294944443U);
  }
  if ((state->s1[0] | state->s1[1] | state->s1[2]) == 0) state->s1[0] = 1;
  if ((state->s2[0] | state->s2[1] | state->s2[2]) == 0) state->s2[0] = 1;
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
}
inline void curand_init(unsigned long long seed, unsigned long long subsequence,
                        unsigned long long offset, curandStatePhilox4_32_10_t* state) {
  *state = {};
  state->key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
  cpu_device::add_to_counter(state->ctr, 0, subsequence);
  skipahead(offset, state);
}

// --- 32 random bits -----------------------------------------------------------------------------

inline unsigned int curand(curandStateXORWOW_t* state) {
  unsigned int* v = state->v;
  const unsigned int t = v[0] ^ (v[0] >> 2);
  v[0] = v[1];
  v[1] = v[2];
  v[2] = v[3];
  v[3] = v[4];
  v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
  state->d += 362437;
  return state->d + v[4];
}
inline unsigned int curand(curandStateMRG32k3a_t* state) {
  constexpr std::int64_t kM1 = 4294967087, kM2 = 4294944443;
  unsigned int *a = state->s1, *b = state->s2;
  std::int64_t p1 = (1403580 * std::int64_t{a[1]} - 810728 * std::int64_t{a[0]}) % kM1;
  if (p1 < 0) p1 += kM1;
  std::int64_t p2 = (527612 * std::int64_t{b[2]} - 1370589 * std::int64_t{b[0]}) % kM2;
  if (p2 < 0) p2 += kM2;
  a[0] = a[1];
  a[1] = a[2];
  a[2] = static_cast<unsigned>(p1);
  b[0] = b[1];
  b[1] = b[2];
  b[2] = static_cast<unsigned>(p2);
  return static_cast<unsigned>(p1 <= p2 ? p1 - p2 + kM1 : p1 - p2);
}
inline unsigned int curand(curandStatePhilox4_32_10_t* state) {
  const uint4 r = state->output;
  const unsigned int result = state->used == 0   ? r.x
                              : state->used == 1 ? r.y
                              : state->used == 2 ? r.z
                                                 : r.w;
  if (++state->used == 4) {
    state->used = 0;
    cpu_device::add_to_counter(state->ctr, 1, 0);
    state->output = cpu_device::philox(state->ctr, state->key);
  }
  return result;
}
/// The next four numbers of curand().
inline uint4 curand4(curandStatePhilox4_32_10_t* state) {
  const unsigned int x = curand(state), y = curand(state), z = curand(state);
  return {x, y, z, curand(state)};
}

// --- distributions ------------------------------------------------------------------------------

namespace cpu_device {

// In (0, 1]: the middles of 2^32 (2^53) equal parts; the last of the floats rounds to 1.
inline float uniform(unsigned int x) { return static_cast<float>(x) * 0x1p-32F + 0x1p-33F; }
inline double uniform(unsigned int x, unsigned int y) {
  const std::uint64_t bits = x ^ (static_cast<std::uint64_t>(y) << 21);
  return static_cast<double>(bits) * 0x1p-53 + 0x1p-54;
}

/// Box and Muller: two uniform numbers make two independent normal ones.
inline float2 box_muller(float u, float v) {
  const float radius = sqrtf(-2.0F * logf(u)), angle = 6.2831853F * v;
  return {radius * sinf(angle), radius * cosf(angle)};
}
inline double2 box_muller(double u, double v) {
  const double radius = sqrt(-2.0 * log(u)), angle = 6.283185307179586 * v;
  return {radius * sin(angle), radius * cos(angle)};
}

/// Poisson numbers, exactly: products of uniform numbers for a small mean, Hörmann's transformed
/// rejection (PTRS, 1993) for a large one.
template <class State>
unsigned int poisson(State* state, double mean);

}  // namespace cpu_device

template <class State>
float curand_uniform(State* state) {
  return cpu_device::uniform(curand(state));
}
template <class State>
double curand_uniform_double(State* state) {
  const unsigned int x = curand(state);
  return cpu_device::uniform(x, curand(state));
}
template <class State>
float2 curand_normal2(State* state) {
  const float u = curand_uniform(state);
  return cpu_device::box_muller(u, curand_uniform(state));
}
template <class State>
double2 curand_normal2_double(State* state) {
  const double u = curand_uniform_double(state);
  return cpu_device::box_muller(u, curand_uniform_double(state));
}
template <class State>
float curand_normal(State* state) {
  if (state->normal_kept != 0) {
    state->normal_kept = 0;
    return state->kept;
  }
  const float2 both = curand_normal2(state);
  state->kept = both.y;
  state->normal_kept = 1;
  return both.x;
}
template <class State>
double curand_normal_double(State* state) {
  if (state->normal_kept_double != 0) {
    state->normal_kept_double = 0;
    return state->kept_double;
  }
  const double2 both = curand_normal2_double(state);
  state->kept_double = both.y;
  state->normal_kept_double = 1;
  return both.x;
}
template <class State>
float curand_log_normal(State* state, float mean, float stddev) {
  return expf(mean + stddev * curand_normal(state));
}
template <class State>
double curand_log_normal_double(State* state, double mean, double stddev) {
  return exp(mean + stddev * curand_normal_double(state));
}
template <class State>
float2 curand_log_normal2(State* state, float mean, float stddev) {
  const float2 n = curand_normal2(state);
  return {expf(mean + stddev * n.x), expf(mean + stddev * n.y)};
}
template <class State>
double2 curand_log_normal2_double(State* state, double mean, double stddev) {
  const double2 n = curand_normal2_double(state);
  return {exp(mean + stddev * n.x), exp(mean + stddev * n.y)};
}
template <class State>
unsigned int curand_poisson(State* state, double lambda) {
  return cpu_device::poisson(state, lambda);
}

// Four at a time: Philox only.
inline float4 curand_uniform4(curandStatePhilox4_32_10_t* state) {
  const uint4 r = curand4(state);
  return {cpu_device::uniform(r.x), cpu_device::uniform(r.y), cpu_device::uniform(r.z),
          cpu_device::uniform(r.w)};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10_t* state) {
  const double x = curand_uniform_double(state);
  return {x, curand_uniform_double(state)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10_t* state) {
  const float2 a = curand_normal2(state), b = curand_normal2(state);
  return {a.x, a.y, b.x, b.y};
}
inline float4 curand_log_normal4(curandStatePhilox4_32_10_t* state, float mean, float stddev) {
  const float2 a = curand_log_normal2(state, mean, stddev);
  const float2 b = curand_log_normal2(state, mean, stddev);
  return {a.x, a.y, b.x, b.y};
}
inline uint4 curand_poisson4(curandStatePhilox4_32_10_t* state, double lambda) {
  const unsigned int x = curand_poisson(state, lambda), y = curand_poisson(state, lambda);
  const unsigned int z = curand_poisson(state, lambda);
  return {x, y, z, curand_poisson(state, lambda)};
}

template <class State>
unsigned int cpu_device::poisson(State* state, double mean) {
  if (!(mean > 0)) return 0;
  if (mean < 10) {
    const double limit = exp(-mean);
    unsigned int count = 0;
    for (double product = curand_uniform_double(state); product > limit; ++count)
      product *= curand_uniform_double(state);
    return count;
  }
  const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = curand_uniform_double(state) - 0.5, v = curand_uniform_double(state);
    const double us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= v_r) return static_cast<unsigned int>(k);
    if (k < 0 || (us < 0.013 && v > us)) continue;
    int sign;
    if (log(v * inverse_alpha / (a / (us * us) + b)) <=
        k * log(mean) - mean - lgamma_r(k + 1, &sign))
      return static_cast<unsigned int>(k);
  }
}
