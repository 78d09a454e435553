// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "formats.hpp"

#include <algorithm>
#include <cmath>

#include "lab/random.hpp"

namespace lab::tf32_product {
namespace {

double rounded(float x, int bits) {
  if (x == 0) return 0;
  const double step = std::ldexp(1.0, std::ilogb(x) - bits + 1);
  return std::nearbyint(static_cast<double>(x) / step) * step;
}

}  // namespace

double format::unit_roundoff() const { return std::ldexp(1.0, -bits); }

pair_of_matrices make_input(input kind, const format& of, std::size_t k, std::uint64_t seed) {
  const std::size_t elements = kTableSize * k;
  pair_of_matrices made{random_floats(elements, seed, -1, 1),
                        random_floats(elements, seed + 1, -1, 1)};
  if (kind == input::ill_conditioned) {
    // The second half of a row of A repeats the first one, that of B has the opposite sign and is
    // moved by a millionth: what is left of the sum is that millionth.
    const auto moved = random_floats(elements, seed + 2, -1e-6F, 1e-6F);
    for (std::size_t row = 0; row < kTableSize; ++row)
      for (std::size_t i = 0; i < k / 2; ++i) {
        const std::size_t from = row * k + i, to = from + k / 2;
        made.a[to] = made.a[from];
        made.b[to] = -made.b[from] * (1 + moved[from]);
      }
  }
  if (kind == input::adversarial) {
    // A bit less than half a step above 1: it goes down to 1, and loses nearly a unit roundoff. (Of
    // float there is no such number. 1 + 2^-23 has products that are rounded down, all of them.)
    const float x =
        of.bits == 24 ? 1 + 0x1p-23F : static_cast<float>(1 + of.unit_roundoff() - 0x1p-23);
    std::fill(made.a.begin(), made.a.end(), x);
    std::fill(made.b.begin(), made.b.end(), x);
  }
  return made;
}

std::vector<float> product_in(const format& of, const pair_of_matrices& given, std::size_t k) {
  std::vector<float> c(kTableSize * kTableSize);
  for (std::size_t row = 0; row < kTableSize; ++row)
    for (std::size_t column = 0; column < kTableSize; ++column) {
      double in_double = 0;
      float in_float = 0;
      for (std::size_t i = 0; i < k; ++i) {
        const float a = given.a[row * k + i], b = given.b[column * k + i];
        in_double += rounded(a, of.bits) * rounded(b, of.bits);
        in_float += a * b;
      }
      c[row * kTableSize + column] = of.bits == 24 ? in_float : static_cast<float>(in_double);
    }
  return c;
}

errors errors_of(std::span<const float> c, const pair_of_matrices& given, std::size_t k) {
  errors worst{};
  for (std::size_t row = 0; row < kTableSize; ++row)
    for (std::size_t column = 0; column < kTableSize; ++column) {
      double exact = 0, sizes = 0;
      for (std::size_t i = 0; i < k; ++i) {
        const double product = static_cast<double>(given.a[row * k + i]) * given.b[column * k + i];
        exact += product;
        sizes += std::fabs(product);
      }
      const double off = std::fabs(c[row * kTableSize + column] - exact);
      worst.of_sizes = std::max(worst.of_sizes, off / sizes);
      worst.of_result = std::max(worst.of_result, off / std::fabs(exact));
    }
  return worst;
}

double bound_of(const format& of, std::size_t k) {
  const double u = of.unit_roundoff();
  // float: each product goes through k + 1 roundings. The others: both factors are rounded, and the
  // sum once, to be stored.
  return of.bits == 24 ? (static_cast<double>(k) + 1) * u : 2 * u + u * u + 0x1p-24;
}

}  // namespace lab::tf32_product
