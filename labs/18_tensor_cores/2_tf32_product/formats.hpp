// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: the program's table of formats, with the errors that they make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tf32_product.hpp"

namespace lab::tf32_product {

/// The table is made with C of 32 x 32 elements.
inline constexpr std::size_t kTableSize = 32;

/// A format of the factors. Its exponents play no part here: all numbers are in its range.
struct format {
  const char* name;
  int bits;  ///< of precision
  double unit_roundoff() const;
};
inline constexpr format kFloat{"float", 24}, kTf32{"TF32", 11}, kHalf{"half", 11},
    kBfloat16{"bfloat16", 8};

/// The kinds of input.
enum class input {
  random,           ///< from -1 to 1
  ill_conditioned,  ///< products that nearly cancel each other
  adversarial,      ///< all roundings go in the same direction, by nearly a unit roundoff
};
struct pair_of_matrices {
  std::vector<float> a, b;  ///< kTableSize rows of k elements each
};
/// k is even.
pair_of_matrices make_input(input kind, const format& of, std::size_t k, std::uint64_t seed);

/// The product with factors that are rounded to the format, added in double: the error of rounding
/// the factors alone. Of kFloat, the products and sums are rounded to float instead.
std::vector<float> product_in(const format& of, const pair_of_matrices& given, std::size_t k);

/// The largest errors of C.
struct errors {
  double of_sizes;   ///< relative to sum |a * b|
  double of_result;  ///< relative to the exact element of C
};
errors errors_of(std::span<const float> c, const pair_of_matrices& given, std::size_t k);

/// At most so large is errors::of_sizes, for what product_in() makes.
double bound_of(const format& of, std::size_t k);

}  // namespace lab::tf32_product
