// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The references that several exercises share: a dot product and a product of matrices, in double,
// with how far a float result may be from them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "lab/dot_reference.hpp"
#include "lab/matrix_closeness.hpp"

namespace {

template <class T>
std::span<const T> view(const std::vector<T>& values) {
  return values;
}

TEST(DotInDouble, KeepsWhatAFloatWouldRoundAway) {
  const std::vector<float> a{0x1p24F, 1, -3}, b{1, 1, 2};
  EXPECT_EQ(lab::dot_in_double(a, b), 0x1p24 + 1 - 6);
  const std::vector<float> fine{1 + 0x1p-23F};  // its square takes more than the 24 bits of a float
  EXPECT_EQ(lab::dot_in_double(fine, fine), 1 + 0x1p-22 + 0x1p-46);
  EXPECT_EQ(lab::dot_in_double({}, {}), 0);
}

TEST(DotErrorBound, CountsRoundingsOfTheMagnitudesNotOfTheSum) {
  const std::vector<float> a{1000, -1000}, b{2, 2};
  // Three roundings of floats, two additions in double.
  EXPECT_NEAR(lab::dot_error_bound(a, b, 3), (3 * 0x1p-24 + 2 * 0x1p-53) * 4000, 0x1p-45 * 4000);
  EXPECT_EQ(lab::dot_error_bound({}, {}, 3), 0);
}

TEST(DotErrorBound, HoldsForAChainOfAMillionRoundingsThatAllGoTheSameWay) {
  const std::vector<float> one{1};
  double rounded_up = 1;
  for (int i = 0; i < 1 << 20; ++i) rounded_up *= 1 + 0x1p-24;
  const double bound = lab::dot_error_bound(one, one, 1 << 20);
  EXPECT_GT(bound, 0x1p20 * 0x1p-24) << "what is left out to first order counts here";
  EXPECT_NEAR(bound, rounded_up - 1, 1e-9);
}

TEST(DotErrorBound, LetsAThreadOf1024AddItsShareRoundedUp) {
  for (const std::size_t n : {1, 1024, 1025, 5000}) {
    const std::vector<float> ones(n, 1.0F);
    const double share = n <= 1024 ? 1 : n == 1025 ? 2 : 5;
    EXPECT_EQ(lab::dot_error_bound(ones, ones), lab::dot_error_bound(ones, ones, share + 32));
  }
}

TEST(ExactVectors, HaveTheirDotProductInAnyOrder) {
  for (const std::size_t n : {0, 1, 2, 255, 1000, 100'003}) {
    const auto [a, b, dot] = lab::make_exact_vectors(n, 7);
    float forwards = 0, backwards = 0, minus_ones = 0;
    for (std::size_t i = 0; i < n; ++i) {
      forwards += a[i] * b[i];
      backwards += a[n - 1 - i] * b[n - 1 - i];
      ASSERT_EQ(std::fabs(a[i] * b[i]), 1.0F);
      if (a[i] * b[i] < 0) ++minus_ones;
    }
    EXPECT_EQ(forwards, dot);
    EXPECT_EQ(backwards, dot);
    if (n >= 1000) {
      EXPECT_NEAR(minus_ones / static_cast<float>(n), 0.25, 0.05);
    }
  }
}

TEST(ExactDot, SeesThatOneOfAMillionProductsIsLostDoubledOrWrong) {
  constexpr std::size_t kMany = 1'000'000;
  const auto check = [](auto&& change) {
    return lab::check_exact_dot(kMany, 3, [&](std::vector<float> a, std::vector<float> b) {
      change(a, b);
      return lab::dot_in_double(a, b);
    });
  };
  using vector = std::vector<float>;
  EXPECT_TRUE(check([](vector&, vector&) {}).ok);
  EXPECT_FALSE(check([](vector& a, vector&) { a[999'999] = 0; }).ok) << "lost";
  EXPECT_FALSE(check([](vector& a, vector&) { a[500'000] *= 2; }).ok) << "counted twice";
  EXPECT_FALSE(check([](vector& a, vector& b) { b = a; }).ok) << "a with itself";
  EXPECT_FALSE(check([](vector&, vector& b) { std::rotate(b.begin(), b.begin() + 1, b.end()); }).ok)
      << "each with its neighbour";
  EXPECT_FALSE(check([](vector& a, vector&) { std::fill_n(a.begin() + 512, 256, 0.0F); }).ok)
      << "a block lost";
}

template <class T>
class CompareProduct : public ::testing::Test {
 protected:
  // 3 x 2 times 2 x 4.
  const std::vector<T> a{1, 2, -3, 4, 5, -6}, b{7, 8, 9, 10, 11, -12, 13, 14};
  const std::vector<T> right{29, -16, 35, 38, 23, -72, 25, 26, -31, 112, -33, -34};

  lab::comparison compare(const std::vector<T>& c, std::size_t row_stride = 1) const {
    return lab::compare_product(view(c), view(a), view(b), 3, 4, 2, row_stride);
  }
};
using types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CompareProduct, types);

TYPED_TEST(CompareProduct, TakesTheRightOne) {
  EXPECT_TRUE(this->compare(this->right));
  EXPECT_EQ(this->compare(this->right).message, "all 3 rows of C match (k = 2)");
  EXPECT_EQ(this->compare(this->right, 2).message, "2 of 3 rows of C match (k = 2)");
  EXPECT_EQ(lab::detail::rows_match(1, 1), "the only row of C matches");
}

TYPED_TEST(CompareProduct, RefusesEachWrongElementAndSaysWhere) {
  for (std::size_t i = 0; i < this->right.size(); ++i) {
    for (const TypeParam wrong :
         {TypeParam{0}, this->right[i] + 1, std::numeric_limits<TypeParam>::quiet_NaN(),
          std::numeric_limits<TypeParam>::infinity()}) {
      auto c = this->right;
      c[i] = wrong;
      const lab::comparison result = this->compare(c);
      EXPECT_FALSE(result) << i << ": " << wrong;
      EXPECT_TRUE(result.message.starts_with("1 of 12 elements differ; first in row " +
                                             std::to_string(i / 4) + ", column " +
                                             std::to_string(i % 4)))
          << result.message;
    }
  }
  EXPECT_FALSE(this->compare({1, 2, 3}));
  EXPECT_FALSE(this->compare({}));
}

TYPED_TEST(CompareProduct, AllowsAFewRoundingsAndNoMore) {
  // k + 1 = 3 roundings of the magnitude 7 + 22 = 29, each of half an epsilon.
  const TypeParam unit = std::numeric_limits<TypeParam>::epsilon() / 2 * 29;
  auto c = this->right;
  c[0] = 29 + 2 * unit;
  EXPECT_TRUE(this->compare(c));
  c[0] = 29 + 7 * unit;  // twice as far as even the double's own roundings would explain
  EXPECT_FALSE(this->compare(c));
}

TYPED_TEST(CompareProduct, LooksAtTheLastRowWhateverTheStride) {
  auto c = this->right;
  c[11] += 1;
  EXPECT_FALSE(this->compare(c, 2));
  EXPECT_FALSE(this->compare(c, 1000));
  c = this->right;
  c[5] += 1;
  EXPECT_TRUE(this->compare(c, 2)) << "row 1 is not asked for";
}

TYPED_TEST(CompareProduct, TakesANaNOnlyWhereTheMatricesMakeOne) {
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  constexpr TypeParam kNaN = std::numeric_limits<TypeParam>::quiet_NaN();
  const std::vector<TypeParam> infinite{kInfinity}, zero{0}, one{1}, nan{kNaN};
  EXPECT_TRUE(lab::compare_product(view(nan), view(infinite), view(zero), 1, 1, 1));
  EXPECT_FALSE(lab::compare_product(view(zero), view(infinite), view(zero), 1, 1, 1));
  EXPECT_TRUE(lab::compare_product(view(infinite), view(infinite), view(one), 1, 1, 1));
  const lab::comparison computed =
      lab::compare_product(view(nan), view(infinite), view(one), 1, 1, 1);
  EXPECT_FALSE(computed);
  EXPECT_EQ(computed.message.find("never written"), std::string::npos) << computed.message;
}

TEST(CompareProductOfNothing, IsRightWithZerosOrWithoutElements) {
  const std::vector<float> none, zeros(6), ones(6, 1.0F);
  EXPECT_TRUE(lab::compare_product(view(zeros), view(none), view(none), 2, 3, 0));
  EXPECT_FALSE(lab::compare_product(view(ones), view(none), view(none), 2, 3, 0));
  EXPECT_TRUE(lab::compare_product(view(none), view(none), view(none), 0, 3, 0));
}

TEST(RowStride, LeavesNoRowOutWhereTheWorkIsLittle) {
  EXPECT_EQ(lab::row_stride(1000, 1000 * 500), 1);
  EXPECT_EQ(lab::row_stride(0, 0), 1);
}

TEST(RowStride, IsOddAndBoundsTheWork) {
  for (const std::size_t n : {1024, 3000, 8192, 20000}) {
    const std::size_t stride = lab::row_stride(n, n * n);
    EXPECT_EQ(stride % 2, 1) << n;
    // Two rows in any case; and one more, since the last row is always checked.
    const std::size_t rows = (n + stride - 1) / stride;
    EXPECT_LE(rows, std::max<std::size_t>((std::size_t{1} << 29) / (n * n), 2) + 1) << n;
  }
}

}  // namespace
