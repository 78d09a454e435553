// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fp64_product.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"

namespace lab::fp64_product {

/// Random numbers from -1 to 1 with all digits of a double: evenly, in steps of 2^-52.
inline std::vector<double> random_doubles(std::size_t n, std::uint64_t seed) {
  lab::random_source source(seed);
  std::vector<double> values(n);
  for (double& x : values) x = std::ldexp(static_cast<double>(source.bits() >> 11), -52) - 1;
  return values;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the host's product in
/// double. The bound and its reason: lab/matrix_closeness.hpp. A tensor core rounds each double as
/// fma() does, so no more roundings are on the way of a product than in any other order of the sum.
/// The host's own are as many; the bound counts both.
inline comparison check(std::span<const double> c, std::span<const double> a,
                        std::span<const double> b, shape size, std::size_t row_stride = 1) {
  return compare_product(c, a, b, size.m, size.n, size.k, row_stride);
}

}  // namespace lab::fp64_product
