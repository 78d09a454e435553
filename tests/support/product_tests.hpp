// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every product C(m x n) = A(m x k) B(k x n) of floats has to keep to, whatever its steps are.
// Each function takes the step that is tested as `multiply(a, b, m, n, k)`, which returns C.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "current_device.hpp"
#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"

namespace lab::testing {

/// Two factors of random numbers, different everywhere, of both signs; A and B of different sizes.
struct factors {
  factors(std::size_t m, std::size_t n, std::size_t k, std::uint64_t seed)
      : a(random_floats(m * k, seed, -1, 3)), b(random_floats(k * n, seed + 1, -20, 10)) {}
  std::vector<float> a, b;
};

template <class Multiply>
void expect_right_product(Multiply multiply, std::size_t m, std::size_t n, std::size_t k,
                          std::uint64_t seed) {
  const factors given(m, n, k, seed);
  EXPECT_TRUE(matches(
      compare_product<float>(multiply(given.a, given.b, m, n, k), given.a, given.b, m, n, k)));
}

/// Whole numbers: nothing is rounded, so every order of the sums gives the same.
template <class Multiply>
void expect_exact_product(Multiply multiply, std::size_t m, std::size_t n, std::size_t k) {
  const auto a_ints = random_ints(m * k, 1, -30, 50), b_ints = random_ints(k * n, 2, -70, 60);
  ASSERT_LT(50.0 * 70.0 * static_cast<double>(k), 0x1p24) << "the sums would be rounded";
  const std::vector<float> a(a_ints.begin(), a_ints.end()), b(b_ints.begin(), b_ints.end());
  std::vector<double> expected(m * n);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t column = 0; column < n; ++column)
        expected[row * n + column] +=
            static_cast<double>(a_ints[row * k + i] * b_ints[i * n + column]);
  EXPECT_TRUE(matches(compare_exact(multiply(a, b, m, n, k), expected)));
}

/// A tile that extends past A must not include the next row, whose numbers follow the end of this
/// one: infinity times a zero of B would be a NaN. Of the last four numbers that are loaded
/// together, one, two, three or all belong to the row; and all rows of A and B may begin at
/// multiples of four.
template <class Multiply>
void expect_infinities_to_stay_in_their_row(Multiply multiply) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t m = 20;
  struct {
    std::size_t n, k;
  } constexpr kSizes[] = {{21, 17}, {21, 18}, {21, 19}, {21, 20}, {24, 20}};
  for (const auto& [n, k] : kSizes) {
    SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k));
    auto a = random_floats(m * k, 5, 1, 2);
    const auto b = random_floats(k * n, 6, 1, 2);
    for (std::size_t i = 0; i < 7; ++i) a[11 * k + i] = kInfinity;
    const std::vector<float> c = multiply(a, b, m, n, k);
    EXPECT_TRUE(matches(compare_product<float>(c, a, b, m, n, k)));
    EXPECT_EQ(c[11 * n], kInfinity);
    EXPECT_TRUE(std::isfinite(c[10 * n])) << "the infinities of row 11 have spread to row 10";
  }
}

/// Past the end of k a tile of A is filled with zeros, and so is one of B: zeros times what is left
/// there of the last row, or of a slice before, would be a NaN if that is an infinity. So a whole
/// row of A and a whole column of B are infinite. The last k are of many slices, and of a part;
/// with eight columns all rows begin at multiples of four, or of eight.
template <class Multiply>
void expect_infinities_to_end_with_k(Multiply multiply) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::size_t m = 5;
  struct {
    std::size_t n, k;
  } constexpr kSizes[] = {{6, 1}, {6, 3}, {6, 17}, {6, 34}, {6, 165}, {6, 276}, {8, 276}, {8, 280}};
  for (const auto& [n, k] : kSizes) {
    SCOPED_TRACE("n = " + std::to_string(n) + ", k = " + std::to_string(k));
    auto a = random_floats(m * k, 5, 1, 2), b = random_floats(k * n, 6, 1, 2);
    for (std::size_t i = 0; i < k; ++i) a[2 * k + i] = b[i * n + 3] = kInfinity;
    const std::vector<float> c = multiply(a, b, m, n, k);
    ASSERT_EQ(c.size(), m * n);
    for (std::size_t i = 0; i < c.size(); ++i)
      EXPECT_TRUE(i / n == 2 || i % n == 3 ? c[i] == kInfinity : std::isfinite(c[i]))
          << "element " << i << " is " << c[i];
  }
}

/// Zeros in all of A, or of B, and one infinity, or NaN, in the other one: the product is a NaN. So
/// no tile may be left out because it is full of zeros.
template <class Multiply>
void expect_zeros_to_be_multiplied(Multiply multiply) {
  constexpr std::size_t m = 33, n = 35, k = 48;
  for (const float special :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    for (const bool in_b : {true, false}) {
      std::vector<float> a(m * k, in_b ? 0.0F : 1.0F), b(k * n, in_b ? 1.0F : 0.0F);
      (in_b ? b[20 * n + 3] : a[5 * k + 20]) = special;
      const auto c = multiply(a, b, m, n, k);
      ASSERT_EQ(c.size(), m * n);
      for (std::size_t i = 0; i < c.size(); ++i) {
        const bool touched = in_b ? i % n == 3 : i / n == 5;
        EXPECT_TRUE(touched ? std::isnan(c[i]) : c[i] == 0)
            << "0 times " << special << ": element " << i << " is " << c[i];
      }
    }
}

/// Whether all elements of C come from that source: of a whole tile, where tiles extend past the
/// edge to the right, below, and along k, so that border elements are not added by plain loops, and
/// of a single product.
template <class Multiply>
::testing::AssertionResult all_elements_need(source which, Multiply multiply) {
  struct {
    std::size_t m, n, k;
  } constexpr kShapes[] = {{128, 128, 64}, {129, 131, 65}, {77, 83, 37}, {3, 5, 2}, {1, 1, 1}};
  for (const auto& [m, n, k] : kShapes) {
    const factors given(m, n, k, 5);
    const auto result = all_need(which, [&, m = m, n = n, k = k] {
      const std::vector<float> c = multiply(given.a, given.b, m, n, k);
      return c.size() - static_cast<std::size_t>(std::count(c.begin(), c.end(), 0.0F));
    });
    if (!result)
      return ::testing::AssertionFailure()
             << "m = " << m << ", n = " << n << ", k = " << k << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

/// What a kernel needs on a device is asked for on each device that is current: more than 48 KiB of
/// shared memory, or memory that lasts.
template <class Multiply>
void expect_products_on_each_device(Multiply multiply) {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  for (const int device : {0, count - 1}) {
    SCOPED_TRACE("device " + std::to_string(device));
    const on_device current(device);
    expect_right_product(multiply, 70, 66, 50, 8);
    expect_right_product(multiply, 35, 67, 49, 9);  // rows that are not aligned
  }
}

template <class Multiply>
void expect_empty_products(Multiply multiply) {
  const std::vector<float> none, six(6, 1.0F);
  EXPECT_TRUE(multiply(none, six, 0, 3, 2).empty());
  EXPECT_TRUE(multiply(six, none, 3, 0, 2).empty());
  EXPECT_TRUE(multiply(none, none, 0, 0, 0).empty());
}

template <class Multiply>
void expect_zeros_where_k_is_zero(Multiply multiply) {
  const std::vector<float> none;
  EXPECT_TRUE(matches(compare_exact(multiply(none, none, 3, 5, 0), std::vector<float>(15))));
}

template <class Multiply>
void expect_inputs_left_alone(Multiply multiply) {
  const factors given(30, 50, 40, 7);
  const factors shown = given;
  multiply(shown.a, shown.b, 30, 50, 40);
  EXPECT_EQ(shown.a, given.a);
  EXPECT_EQ(shown.b, given.b);
}

template <class Multiply>
void expect_other_sizes_refused(Multiply multiply) {
  const std::vector<float> six(6, 1.0F), twelve(12, 1.0F), none;
  EXPECT_NO_THROW(multiply(six, twelve, 2, 4, 3));
  EXPECT_THROW(multiply(six, twelve, 2, 4, 2), invalid_input);
  EXPECT_THROW(multiply(six, twelve, 3, 4, 3), invalid_input);
  EXPECT_THROW(multiply(six, twelve, 2, 3, 3), invalid_input);
  EXPECT_THROW(multiply(none, twelve, 2, 4, 3), invalid_input);
  EXPECT_THROW(multiply(six, none, 2, 4, 3), invalid_input);
  EXPECT_THROW(multiply(six, six, 2, 0, 3), invalid_input);
  // Zeros that are returned without looking would hide that a matrix has elements all the same.
  EXPECT_THROW(multiply(six, none, 3, 5, 0), invalid_input) << "A has no columns";
  EXPECT_THROW(multiply(none, six, 3, 5, 0), invalid_input) << "B has no rows";
}

template <class Multiply>
void expect_overflow_refused(Multiply multiply) {
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  const std::vector<float> none;
  EXPECT_THROW(multiply(none, none, kHuge, kHuge, kHuge), invalid_input);
}

/// One row of C more than a grid's blocks have, where a block has `rows_of_block` of them. (Another
/// grid may have room for them: then they are multiplied.)
template <class Multiply>
void expect_too_many_rows_refused(Multiply multiply, std::size_t rows_of_block) {
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t rows = static_cast<std::size_t>(limit) * rows_of_block + 1;
  const std::vector<float> a(rows, 2), b(1, 3);
  try {
    EXPECT_TRUE(matches(compare_exact(multiply(a, b, rows, 1, 1), std::vector<float>(rows, 6))))
        << rows << " rows were accepted but not multiplied";
  } catch (const invalid_input&) {
  }
}

/// A C with more blocks next to each other than a grid may have one under the other, if a block has
/// at most 128 of its columns. One block runs, whichever part of C it has.
template <class Multiply>
void expect_more_blocks_across_than_down(Multiply multiply) {
  expect_at_full_size([&] {
    constexpr std::size_t columns = kManyBlocks * 128;
    const std::vector<float> a(1, 2), b(columns, 3);
    const few_blocks one(0);
    const std::vector<float> c = multiply(a, b, 1, columns, 1);
    ASSERT_EQ(c.size(), columns);
    const auto sixes = static_cast<std::size_t>(std::count(c.begin(), c.end(), 6.0F));
    const auto zeros = static_cast<std::size_t>(std::count(c.begin(), c.end(), 0.0F));
    EXPECT_GT(sixes, 0U);
    EXPECT_EQ(sixes + zeros, columns);
  });
}

}  // namespace lab::testing
