// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuRAND: jumps of generators over many numbers. A step is a linear map, so n steps are the maps of
// 2^0, 2^1, ... steps for the bits of n, one after the other. They are made once. Called inside
// kernels: nothing here waits for another CUDA thread.

#include <curand_kernel.h>

#include <array>
#include <cstddef>

namespace cpu_device {
namespace {

// --- XORWOW: 160 bits; the map of a step is a matrix of bits ------------------------------------

constexpr int kBits = 160;
using bit_vector = std::array<std::uint32_t, 5>;
using bit_matrix = std::array<bit_vector, kBits>;  // where each single bit goes

bit_vector image_of(const bit_matrix& m, const bit_vector& v) {
  bit_vector result{};
  for (int bit = 0; bit < kBits; ++bit)
    if (((v[static_cast<std::size_t>(bit / 32)] >> (bit % 32)) & 1U) != 0)
      for (std::size_t i = 0; i < 5; ++i) result[i] ^= m[static_cast<std::size_t>(bit)][i];
  return result;
}

constexpr int kXorwowPowers = 67 + 64;
using xorwow_table = std::array<bit_matrix, kXorwowPowers>;

const xorwow_table& xorwow_powers() {  // of 2^0, 2^1, 2^2 ... steps
  static const xorwow_table* const table = [] {
    auto* made = new xorwow_table;
    for (int bit = 0; bit < kBits; ++bit) {
      curandStateXORWOW state{};
      state.v[bit / 32] = 1U << (bit % 32);
      curand(&state);
      bit_vector& image = (*made)[0][static_cast<std::size_t>(bit)];
      for (std::size_t i = 0; i < 5; ++i) image[i] = state.v[i];
    }
    for (std::size_t power = 1; power < made->size(); ++power)
      for (std::size_t bit = 0; bit < kBits; ++bit)
        (*made)[power][bit] = image_of((*made)[power - 1], (*made)[power - 1][bit]);
    return made;
  }();
  return *table;
}

// --- MRG32k3a: two maps of three numbers, modulo two primes -------------------------------------

constexpr std::uint64_t kModulus[2] = {4294967087U, 4294944443U};
using triple = std::array<std::uint64_t, 3>;
using small_matrix = std::array<triple, 3>;  // rows

triple image_of(const small_matrix& m, const triple& v, std::uint64_t modulus) {
  triple result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      result[i] = (result[i] + m[i][j] * v[j] % modulus) % modulus;
  return result;
}

constexpr int kMrgPowers = 127 + 64;
using mrg_table = std::array<std::array<small_matrix, kMrgPowers>, 2>;

const mrg_table& mrg_powers() {
  static const mrg_table* const table = [] {
    auto* made = new mrg_table;
    (*made)[0][0] = {{{0, 1, 0}, {0, 0, 1}, {kModulus[0] - 810728, 1403580, 0}}};
    (*made)[1][0] = {{{0, 1, 0}, {0, 0, 1}, {kModulus[1] - 1370589, 0, 527612}}};
    for (std::size_t which = 0; which < 2; ++which)
      for (std::size_t power = 1; power < kMrgPowers; ++power) {
        const small_matrix& half = (*made)[which][power - 1];
        for (std::size_t j = 0; j < 3; ++j) {
          const triple column =
              image_of(half, {half[0][j], half[1][j], half[2][j]}, kModulus[which]);
          for (std::size_t i = 0; i < 3; ++i) (*made)[which][power][i][j] = column[i];
        }
      }
    return made;
  }();
  return *table;
}

}  // namespace

void jump(curandStateXORWOW& state, unsigned long long n, int log2_step) {
  if (n == 0) return;
  const xorwow_table& powers = xorwow_powers();
  bit_vector v;
  for (std::size_t i = 0; i < 5; ++i) v[i] = state.v[i];
  const auto first = static_cast<std::size_t>(log2_step);
  for (std::size_t bit = 0; bit < 64; ++bit)
    if (((n >> bit) & 1U) != 0) v = image_of(powers[first + bit], v);
  for (std::size_t i = 0; i < 5; ++i) state.v[i] = v[i];
  if (log2_step == 0) state.d += 362437U * static_cast<unsigned>(n);  // else a multiple of 2^32
  forget_kept(state);
}

void jump(curandStateMRG32k3a& state, unsigned long long n, int log2_step) {
  if (n == 0) return;
  const mrg_table& powers = mrg_powers();
  for (std::size_t which = 0; which < 2; ++which) {
    unsigned int* s = which == 0 ? state.s1 : state.s2;
    triple v{s[0], s[1], s[2]};
    const auto first = static_cast<std::size_t>(log2_step);
    for (std::size_t bit = 0; bit < 64; ++bit)
      if (((n >> bit) & 1U) != 0) v = image_of(powers[which][first + bit], v, kModulus[which]);
    for (std::size_t i = 0; i < 3; ++i) s[i] = static_cast<unsigned>(v[i]);
  }
  forget_kept(state);
}

}  // namespace cpu_device
