// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS, Levels 1 and 2: each function against its definition, computed in double.

#include "cublas_testing.hpp"

namespace {

using namespace cublas_testing;

template <class T>
class Cublas : public ::testing::Test {};
using element_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Cublas, element_types);

const int kLengths[] = {1, 2, 31, 32, 33, 257, 1000};

// --- Level 1 ------------------------------------------------------------------------------------

TYPED_TEST(Cublas, ReducesVectors) {
  using T = TypeParam;
  const blas h;
  for (const int n : kLengths) {
    const auto x = numbers(static_cast<std::size_t>(3 * n), 1), y = numbers(x.size(), 2);
    const device_array<T> dx(rounded<T>(x)), dy(rounded<T>(y));
    for (const int incx : {1, 3}) {
      SCOPED_TRACE(std::to_string(n) + " by " + std::to_string(incx));
      double dot = 0, sum = 0, squares = 0;
      int largest = 0, smallest = 0;
      for (int i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(i * incx);
        const auto back = static_cast<std::size_t>(2 * (n - 1 - i));  // increment -2
        dot += x[at] * y[back];
        sum += std::fabs(x[at]);
        squares += x[at] * x[at];
        if (std::fabs(x[at]) > std::fabs(x[static_cast<std::size_t>(largest * incx)])) largest = i;
        if (std::fabs(x[at]) < std::fabs(x[static_cast<std::size_t>(smallest * incx)]))
          smallest = i;
      }
      T result = 0;
      int place = 0;
      EXPECT_DONE(api<T>::dot(h, n, dx.data(), incx, dy.data(), -2, &result));
      EXPECT_NEAR(result, dot, sum_bound<T>(n));
      EXPECT_DONE(api<T>::asum(h, n, dx.data(), incx, &result));
      EXPECT_NEAR(result, sum, sum_bound<T>(n));
      EXPECT_DONE(api<T>::nrm2(h, n, dx.data(), incx, &result));
      EXPECT_NEAR(result, std::sqrt(squares), sum_bound<T>(n));
      EXPECT_DONE(api<T>::amax(h, n, dx.data(), incx, &place));
      EXPECT_EQ(place, largest + 1);  // counted from 1
      EXPECT_DONE(api<T>::amin(h, n, dx.data(), incx, &place));
      EXPECT_EQ(place, smallest + 1);
    }
  }
}

TYPED_TEST(Cublas, FindsTheFirstOfEqualMagnitudes) {
  using T = TypeParam;
  const blas h;
  const device_array<T> x(std::vector<T>{T(1), T(-5), T(5), T(-1)});
  int place = 0;
  EXPECT_DONE(api<T>::amax(h, 4, x.data(), 1, &place));
  EXPECT_EQ(place, 2);
  EXPECT_DONE(api<T>::amin(h, 4, x.data(), 1, &place));
  EXPECT_EQ(place, 1);
}

TYPED_TEST(Cublas, TakesNormsWithoutOverflow) {
  using T = TypeParam;
  const blas h;
  const T big = std::numeric_limits<T>::max() / 8;
  const device_array<T> x(std::vector<T>{big * 3, big * 4});
  T result = 0;
  EXPECT_DONE(api<T>::nrm2(h, 2, x.data(), 1, &result));
  EXPECT_NEAR(result / big, 5, 1e-5);
}

TYPED_TEST(Cublas, ChangesVectors) {
  using T = TypeParam;
  const blas h;
  for (const int n : kLengths) {
    SCOPED_TRACE(n);
    const auto size = static_cast<std::size_t>(2 * n);
    const auto x = numbers(size, 3), y = numbers(size, 4);
    const auto at = [n](int i) { return static_cast<std::size_t>(2 * (n - 1 - i)); };  // y: -2
    const T alpha = T(-0.75);
    const double bound = 8 * static_cast<double>(std::numeric_limits<T>::epsilon());
    {
      const device_array<T> dx(rounded<T>(x)), dy(rounded<T>(y));
      auto expected = y;
      for (int i = 0; i < n; ++i) expected[at(i)] += -0.75 * x[static_cast<std::size_t>(i)];
      EXPECT_DONE(api<T>::axpy(h, n, &alpha, dx.data(), 1, dy.data(), -2));
      expect_close(dy.to_host(), expected, bound);
      EXPECT_DONE(api<T>::copy(h, n, dx.data(), 1, dy.data(), -2));
      for (int i = 0; i < n; ++i) expected[at(i)] = x[static_cast<std::size_t>(i)];
      expect_close(dy.to_host(), expected, 0);
    }
    {
      const device_array<T> dx(rounded<T>(x)), dy(rounded<T>(y));
      auto ex = x, ey = y;
      for (int i = 0; i < n; ++i) std::swap(ex[static_cast<std::size_t>(i)], ey[at(i)]);
      EXPECT_DONE(api<T>::swap(h, n, dx.data(), 1, dy.data(), -2));
      expect_close(dx.to_host(), ex, 0);
      expect_close(dy.to_host(), ey, 0);
    }
    {
      const device_array<T> dx(rounded<T>(x)), dy(rounded<T>(y));
      const T c = T(0.6), s = T(0.8);
      auto ex = x, ey = y;
      for (int i = 0; i < n; ++i) {
        double &a = ex[static_cast<std::size_t>(i)], &b = ey[at(i)];
        const double before = a;
        a = static_cast<double>(c) * a + static_cast<double>(s) * b;
        b = static_cast<double>(c) * b - static_cast<double>(s) * before;
      }
      EXPECT_DONE(api<T>::rot(h, n, dx.data(), 1, dy.data(), -2, &c, &s));
      expect_close(dx.to_host(), ex, bound);
      expect_close(dy.to_host(), ey, bound);
    }
    {
      const device_array<T> dx(rounded<T>(x));
      auto expected = x;
      for (int i = 0; i < n; ++i) expected[static_cast<std::size_t>(2 * i)] *= -0.75;
      EXPECT_DONE(api<T>::scal(h, n, &alpha, dx.data(), 2));
      expect_close(dx.to_host(), expected, bound);
    }
  }
}

TYPED_TEST(Cublas, MakesRotations) {
  using T = TypeParam;
  const blas h;
  for (const auto& [a0, b0] : {std::pair<double, double>{3, 4}, {-3, 4}, {4, -3}, {0, 2}, {2, 0}}) {
    T a = T(a0), b = T(b0), c = 0, s = 0;
    EXPECT_DONE(api<T>::rotg(h, &a, &b, &c, &s));
    EXPECT_NEAR(c * c + s * s, 1, 1e-6);
    EXPECT_NEAR(c * a0 + s * b0, a, 1e-6);
    EXPECT_NEAR(c * b0 - s * a0, 0, 1e-6);
    EXPECT_NEAR(std::fabs(static_cast<double>(a)), std::hypot(a0, b0), 1e-6);
  }
}

TYPED_TEST(Cublas, DoesNothingForEmptyVectors) {
  using T = TypeParam;
  const blas h;
  const device_array<T> x(std::vector<T>{T(1), T(2)});
  const T alpha = 5;
  T result = 7;
  int place = 7;
  EXPECT_DONE(api<T>::scal(h, 0, &alpha, x.data(), 1));
  EXPECT_DONE(api<T>::axpy(h, 0, &alpha, x.data(), 1, x.data(), 1));
  EXPECT_EQ(x.to_host(), (std::vector<T>{1, 2}));
  EXPECT_DONE(api<T>::dot(h, 0, x.data(), 1, x.data(), 1, &result));
  EXPECT_EQ(result, 0);
  result = 7;
  EXPECT_DONE(api<T>::nrm2(h, 0, x.data(), 1, &result));
  EXPECT_EQ(result, 0);
  EXPECT_DONE(api<T>::amax(h, 0, x.data(), 1, &place));
  EXPECT_EQ(place, 0);
}

// --- Level 2 ------------------------------------------------------------------------------------

TYPED_TEST(Cublas, MultipliesMatrixAndVector) {
  using T = TypeParam;
  const blas h;
  for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {3, 5}, {33, 17}, {64, 130}})
    for (const auto op : kOperations)
      for (const double beta : {0.0, 1.0, -0.5})
        for (const double alpha : {1.0, -0.75, 0.0}) {
          SCOPED_TRACE(::testing::Message() << m << " x " << n << ", op " << op << ", alpha "
                                            << alpha << ", beta " << beta);
          const host_matrix a(m, n, m + 2, 5);
          const int rows = op == CUBLAS_OP_N ? m : n, cols = op == CUBLAS_OP_N ? n : m;
          const auto x = numbers(static_cast<std::size_t>(2 * cols), 6);
          auto y = numbers(static_cast<std::size_t>(rows), 7);
          auto expected = y;
          for (int i = 0; i < rows; ++i) {
            double sum = 0;
            for (int j = 0; j < cols; ++j)
              sum += a.op(op, i, j) * x[static_cast<std::size_t>(2 * (cols - 1 - j))];
            double& e = expected[static_cast<std::size_t>(i)];
            e = alpha * sum + (beta == 0 ? 0 : beta * e);
          }
          if (beta == 0) y.assign(y.size(), conformance::kNan);  // must not be read
          const device_array<T> da(rounded<T>(a.data)), dx(rounded<T>(x)), dy(rounded<T>(y));
          const T ta = T(alpha), tb = T(beta);
          EXPECT_DONE(
              api<T>::gemv(h, op, m, n, &ta, da.data(), a.ld, dx.data(), -2, &tb, dy.data(), 1));
          expect_close(dy.to_host(), expected, sum_bound<T>(cols));
        }
}

TYPED_TEST(Cublas, MultipliesBandMatrixAndVector) {
  using T = TypeParam;
  const blas h;
  const int m = 9, n = 12, kl = 2, ku = 3, ld = 7;
  const host_matrix band(kl + ku + 1, n, ld, 8);
  for (const auto op : kOperations) {
    SCOPED_TRACE(op);
    const int rows = op == CUBLAS_OP_N ? m : n, cols = op == CUBLAS_OP_N ? n : m;
    const auto x = numbers(static_cast<std::size_t>(cols), 9);
    std::vector<double> expected(static_cast<std::size_t>(rows), 0.0);
    for (int j = 0; j < n; ++j)
      for (int i = std::max(0, j - ku); i <= std::min(m - 1, j + kl); ++i) {
        if (op == CUBLAS_OP_N)
          expected[static_cast<std::size_t>(i)] +=
              band(ku + i - j, j) * x[static_cast<std::size_t>(j)];
        else
          expected[static_cast<std::size_t>(j)] +=
              band(ku + i - j, j) * x[static_cast<std::size_t>(i)];
      }
    const device_array<T> da(rounded<T>(band.data)), dx(rounded<T>(x)), dy(expected.size(), T(3));
    const T one = 1, zero = 0;
    EXPECT_DONE(
        api<T>::gbmv(h, op, m, n, kl, ku, &one, da.data(), ld, dx.data(), 1, &zero, dy.data(), 1));
    expect_close(dy.to_host(), expected, sum_bound<T>(kl + ku + 1));
  }
}

TYPED_TEST(Cublas, MultipliesSymmetricMatrixAndVector) {
  using T = TypeParam;
  const blas h;
  for (const int n : {1, 2, 33})
    for (const auto uplo : kTriangles) {
      SCOPED_TRACE(::testing::Message() << n << ", uplo " << uplo);
      const host_matrix a(n, n, n + 1, 10);
      const auto x = numbers(static_cast<std::size_t>(n), 11), y = numbers(x.size(), 12);
      const int k = std::min(2, n - 1);
      const host_matrix band(k + 1, n, k + 2, 13);
      std::vector<double> expected(y), expected_band(y);
      for (int i = 0; i < n; ++i) {
        double sum = 0, band_sum = 0;
        for (int j = 0; j < n; ++j) {
          const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
          const int r = lower ? std::max(i, j) : std::min(i, j), c = i + j - r;
          sum += a(r, c) * x[static_cast<std::size_t>(j)];
          if (std::abs(i - j) <= k)
            band_sum += band((lower ? 0 : k) + r - c, c) * x[static_cast<std::size_t>(j)];
        }
        expected[static_cast<std::size_t>(i)] =
            0.5 * sum + 2 * expected[static_cast<std::size_t>(i)];
        expected_band[static_cast<std::size_t>(i)] =
            0.5 * band_sum + 2 * expected_band[static_cast<std::size_t>(i)];
      }
      const T alpha = T(0.5), beta = 2;
      const device_array<T> da(rounded<T>(hidden(a, uplo, CUBLAS_DIAG_NON_UNIT).data));
      const device_array<T> db(rounded<T>(band.data)), dx(rounded<T>(x));
      const device_array<T> dy(rounded<T>(y)), dz(rounded<T>(y));
      EXPECT_DONE(
          api<T>::symv(h, uplo, n, &alpha, da.data(), a.ld, dx.data(), 1, &beta, dy.data(), 1));
      expect_close(dy.to_host(), expected, sum_bound<T>(n));
      EXPECT_DONE(api<T>::sbmv(h, uplo, n, k, &alpha, db.data(), band.ld, dx.data(), 1, &beta,
                               dz.data(), 1));
      expect_close(dz.to_host(), expected_band, sum_bound<T>(n));
    }
}

TYPED_TEST(Cublas, UpdatesMatricesByVectors) {
  using T = TypeParam;
  const blas h;
  const int m = 7, n = 5;
  const host_matrix a(m, n, m + 1, 14), s(n, n, n + 2, 15);
  const auto x = numbers(static_cast<std::size_t>(2 * m), 16), y = numbers(x.size(), 17);
  const device_array<T> dx(rounded<T>(x)), dy(rounded<T>(y));
  const T alpha = T(-0.5);
  const auto xi = [&](int i) { return x[static_cast<std::size_t>(2 * i)]; };
  const auto yi = [&](int i, int count) { return y[static_cast<std::size_t>(count - 1 - i)]; };
  {
    host_matrix e = a;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) e(i, j) += -0.5 * xi(i) * yi(j, n);
    const device_array<T> da(rounded<T>(a.data));
    EXPECT_DONE(api<T>::ger(h, m, n, &alpha, dx.data(), 2, dy.data(), -1, da.data(), a.ld));
    expect_close(da.to_host(), e.data, sum_bound<T>(2));
  }
  for (const auto uplo : kTriangles) {
    host_matrix e1 = hidden(s, uplo, CUBLAS_DIAG_NON_UNIT), e2 = e1;
    const device_array<T> d1(rounded<T>(e1.data)), d2(rounded<T>(e1.data));
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        e1(i, j) += -0.5 * xi(i) * xi(j);
        e2(i, j) += -0.5 * (xi(i) * yi(j, n) + yi(i, n) * xi(j));
      }
    EXPECT_DONE(api<T>::syr(h, uplo, n, &alpha, dx.data(), 2, d1.data(), s.ld));
    expect_close(d1.to_host(), e1.data, sum_bound<T>(2));
    EXPECT_DONE(api<T>::syr2(h, uplo, n, &alpha, dx.data(), 2, dy.data(), -1, d2.data(), s.ld));
    expect_close(d2.to_host(), e2.data, sum_bound<T>(4));
  }
}

TYPED_TEST(Cublas, MultipliesAndSolvesTriangularVectors) {
  using T = TypeParam;
  const blas h;
  for (const int n : {1, 6, 33, 100})
    for (const auto uplo : kTriangles)
      for (const auto op : kOperations)
        for (const auto diag : kDiagonals) {
          SCOPED_TRACE(::testing::Message()
                       << n << ", uplo " << uplo << ", op " << op << ", diag " << diag);
          const host_matrix a = well_conditioned(n, n + 3, 18);
          const host_matrix whole = triangle(a, uplo, diag);
          const auto x = numbers(static_cast<std::size_t>(n), 19);
          std::vector<double> product(x.size(), 0.0);
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
              product[static_cast<std::size_t>(i)] +=
                  whole.op(op, i, j) * x[static_cast<std::size_t>(j)];
          const device_array<T> da(rounded<T>(hidden(a, uplo, diag).data)), dx(rounded<T>(x));
          EXPECT_DONE(api<T>::trmv(h, uplo, op, diag, n, da.data(), a.ld, dx.data(), 1));
          expect_close(dx.to_host(), product, sum_bound<T>(n));
          EXPECT_DONE(api<T>::trsv(h, uplo, op, diag, n, da.data(), a.ld, dx.data(), 1));
          expect_close(dx.to_host(), x, sum_bound<T>(n, 16));  // A is well conditioned
        }
}

}  // namespace
