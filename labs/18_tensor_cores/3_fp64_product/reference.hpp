// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
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

/// A sum of products, with about twice the digits of a double (Ogita, Rump and Oishi, "Accurate sum
/// and dot product", SIAM Journal on Scientific Computing 2005): what a product and an addition
/// round off is exactly a double, and these doubles are added up, too.
class precise_sum {
 public:
  void add_product(double a, double b) {
    const double product = a * b, off_product = std::fma(a, b, -product);
    const double sum = high_ + product, added = sum - high_;
    low_ += ((high_ - (sum - added)) + (product - added)) + off_product;
    high_ = sum;
  }
  double value() const { return high_ + low_; }
  double distance_to(double x) const { return std::fabs((x - high_) - low_); }

 private:
  double high_ = 0, low_ = 0;
};

/// The largest errors in rows 0, stride, … of C.
struct errors {
  double of_sizes = 0;   ///< relative to sum |a * b|
  double of_result = 0;  ///< relative to the exact element of C
};
inline errors largest_errors(std::span<const double> c, std::span<const double> a,
                             std::span<const double> b, shape size, std::size_t row_stride = 1) {
  errors largest;
  for (std::size_t row = 0; row < size.m; row += row_stride) {
    std::vector<precise_sum> exact(size.n);
    std::vector<double> sizes(size.n);
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column) {
        const double x = a[row * size.k + i], y = b[i * size.n + column];
        exact[column].add_product(x, y);
        sizes[column] += std::fabs(x * y);
      }
    for (std::size_t column = 0; column < size.n; ++column) {
      const double off = exact[column].distance_to(c[row * size.n + column]);
      if (off == 0) continue;
      largest.of_sizes = std::max(largest.of_sizes, off / sizes[column]);
      largest.of_result = std::max(largest.of_result, off / std::fabs(exact[column].value()));
    }
  }
  return largest;
}

}  // namespace lab::fp64_product
