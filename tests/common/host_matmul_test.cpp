// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/host_matmul.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "lab/errors.hpp"
#include "lab/known_product.hpp"

namespace {

using lab::host_matmul;
using lab::make_known_product;

TEST(KnownProduct, IsTheProduct) {
  for (const auto& [m, n, k] : {std::array<std::size_t, 3>{1, 1, 1}, {3, 5, 7}, {40, 2, 33}}) {
    const auto p = make_known_product(m, n, k, m + n);
    ASSERT_EQ(p.a.size(), m * k);
    ASSERT_EQ(p.b.size(), k * n);
    ASSERT_EQ(p.c.size(), m * n);
    for (std::size_t row = 0; row < m; ++row)
      for (std::size_t column = 0; column < n; ++column) {
        double sum = 0;
        for (std::size_t i = 0; i < k; ++i) sum += p.a[row * k + i] * p.b[i * n + column];
        EXPECT_EQ(p.c[row * n + column], sum) << row << ", " << column;
      }
  }
  EXPECT_NE(make_known_product(3, 5, 7, 1).a, make_known_product(3, 5, 7, 2).a);
  EXPECT_THROW(make_known_product(1, 1, 65537, 1), lab::invalid_input);
}

TEST(HostMatmul, MultipliesRowMajorMatrices) {
  for (const auto& [m, n, k] :
       {std::array<std::size_t, 3>{1, 1, 1}, {3, 5, 7}, {64, 33, 65}, {1, 9, 100}, {4, 4, 0}}) {
    const auto p = make_known_product(m, n, k, 3);
    std::vector<float> c(m * n, std::numeric_limits<float>::quiet_NaN());
    host_matmul(p.a, p.b, c, m, n, k);
    EXPECT_EQ(c, p.c) << lab::host_matmul_name() << ", " << m << " x " << n << " x " << k;
  }
  host_matmul({}, {}, {}, 0, 0, 5);
}

TEST(HostMatmul, RefusesOtherLengths) {
  std::vector<float> four(4), six(6), nine(9);
  EXPECT_THROW(host_matmul(six, six, six, 2, 2, 3), lab::invalid_input);
  EXPECT_THROW(host_matmul(six, four, four, 2, 2, 3), lab::invalid_input);
  EXPECT_THROW(host_matmul(nine, six, four, 2, 2, 3), lab::invalid_input);
  EXPECT_NO_THROW(host_matmul(six, six, four, 2, 2, 3));
}

}  // namespace
