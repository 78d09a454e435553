// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the tests of cuBLAS share: matrices of the host, their triangles, bounds, handles.
#pragma once

#include <cublas_v2.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "conformance.hpp"

namespace cublas_testing {

using conformance::device_array;

/// A handle for the time of a test.
class blas {
 public:
  blas() { EXPECT_EQ(cublasCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~blas() { EXPECT_EQ(cublasDestroy(handle_), CUBLAS_STATUS_SUCCESS); }
  blas(const blas&) = delete;
  blas& operator=(const blas&) = delete;
  operator cublasHandle_t() const { return handle_; }

 private:
  cublasHandle_t handle_ = nullptr;
};

#define EXPECT_DONE(...) EXPECT_EQ((__VA_ARGS__), CUBLAS_STATUS_SUCCESS)
#define EXPECT_INVALID(...) EXPECT_EQ((__VA_ARGS__), CUBLAS_STATUS_INVALID_VALUE)

/// Runs body with each way of multiplying matrices that the device has.
inline void with_each_library(const std::function<void()>& body) {
#ifdef __CPU_DEVICE__
  for (const bool wanted : {true, false}) {
    SCOPED_TRACE(wanted ? "OpenBLAS" : "plain loops");
    if (cpu_device::use_blas_library(wanted) == wanted) body();
  }
  cpu_device::use_blas_library(true);
#else
  body();
#endif
}

inline std::vector<double> numbers(std::size_t n, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(-1, 1);
  std::vector<double> v(n);
  // Rounded to float, so that float and double functions get the same numbers.
  for (double& x : v) x = static_cast<double>(static_cast<float>(distribution(generator)));
  return v;
}
template <class T>
std::vector<T> rounded(const std::vector<double>& v) {
  std::vector<T> r(v.size());
  std::transform(v.begin(), v.end(), r.begin(), [](double x) { return static_cast<T>(x); });
  return r;
}

/// A column-major matrix of doubles; `ld` may be more than its rows, and everything between is NaN.
struct host_matrix {
  int rows, cols, ld;
  std::vector<double> data;
  host_matrix(int r, int c, int leading, unsigned seed)
      : rows(r),
        cols(c),
        ld(leading),
        data(static_cast<std::size_t>(leading) * static_cast<std::size_t>(c), conformance::kNan) {
    const auto values = numbers(static_cast<std::size_t>(r) * static_cast<std::size_t>(c), seed);
    for (int j = 0; j < c; ++j)
      for (int i = 0; i < r; ++i) (*this)(i, j) = values[static_cast<std::size_t>(j * r + i)];
  }
  double& operator()(int i, int j) { return data[static_cast<std::size_t>(j * ld + i)]; }
  double operator()(int i, int j) const { return data[static_cast<std::size_t>(j * ld + i)]; }
  double op(cublasOperation_t o, int i, int j) const {
    return o == CUBLAS_OP_N ? (*this)(i, j) : (*this)(j, i);
  }
};

/// |actual - expected| <= bound, nowhere NaN; `expected` NaN: the element must be untouched.
template <class T>
void expect_close(const std::vector<T>& actual, const std::vector<double>& expected, double bound) {
  ASSERT_EQ(actual.size(), expected.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = static_cast<double>(actual[i]), e = expected[i];
    if (std::isnan(e) ? std::isnan(a) : std::fabs(a - e) <= bound) continue;
    if (wrong++ == 0) first = i;
  }
  EXPECT_EQ(wrong, 0u) << "of " << actual.size() << "; first at [" << first << "]: got "
                       << actual[first] << ", expected " << expected[first] << " +- " << bound;
}

/// A sum of n products of numbers of at most 1, computed in T: n roundings of a sum of at most n
/// and n of products, with 4 for alpha, beta and the last addition.
template <class T>
double sum_bound(int n, double factor = 4) {
  return factor * (n + 4.0) * static_cast<double>(std::numeric_limits<T>::epsilon()) *
         std::sqrt(n + 4.0);
}

// The functions of an element type by one name.
template <class T>
struct api;
#define API(T, L, l)                                                    \
  template <>                                                           \
  struct api<T> {                                                       \
    static constexpr auto amax = cublasI##l##amax;                      \
    static constexpr auto amin = cublasI##l##amin;                      \
    static constexpr auto asum = cublas##L##asum;                       \
    static constexpr auto nrm2 = cublas##L##nrm2;                       \
    static constexpr auto axpy = cublas##L##axpy;                       \
    static constexpr auto copy = cublas##L##copy;                       \
    static constexpr auto swap = cublas##L##swap;                       \
    static constexpr auto dot = cublas##L##dot;                         \
    static constexpr auto rot = cublas##L##rot;                         \
    static constexpr auto rotg = cublas##L##rotg;                       \
    static constexpr auto scal = cublas##L##scal;                       \
    static constexpr auto gemv = cublas##L##gemv;                       \
    static constexpr auto gbmv = cublas##L##gbmv;                       \
    static constexpr auto symv = cublas##L##symv;                       \
    static constexpr auto sbmv = cublas##L##sbmv;                       \
    static constexpr auto ger = cublas##L##ger;                         \
    static constexpr auto syr = cublas##L##syr;                         \
    static constexpr auto syr2 = cublas##L##syr2;                       \
    static constexpr auto trmv = cublas##L##trmv;                       \
    static constexpr auto trsv = cublas##L##trsv;                       \
    static constexpr auto gemm = cublas##L##gemm;                       \
    static constexpr auto gemm_64 = cublas##L##gemm_64;                 \
    static constexpr auto gemm_batched = cublas##L##gemmBatched;        \
    static constexpr auto gemm_strided = cublas##L##gemmStridedBatched; \
    static constexpr auto symm = cublas##L##symm;                       \
    static constexpr auto syrk = cublas##L##syrk;                       \
    static constexpr auto trmm = cublas##L##trmm;                       \
    static constexpr auto trsm = cublas##L##trsm;                       \
    static constexpr auto geam = cublas##L##geam;                       \
    static constexpr auto dgmm = cublas##L##dgmm;                       \
    static constexpr auto getrf = cublas##L##getrfBatched;              \
    static constexpr auto getrs = cublas##L##getrsBatched;              \
    static constexpr auto getri = cublas##L##getriBatched;              \
  };
API(float, S, s)
API(double, D, d)
#undef API

constexpr cublasOperation_t kOperations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
constexpr cublasFillMode_t kTriangles[] = {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER};
constexpr cublasDiagType_t kDiagonals[] = {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT};

/// The triangle of a matrix as a whole matrix; `unit`: its diagonal is not read and is 1.
inline host_matrix triangle(const host_matrix& a, cublasFillMode_t uplo, cublasDiagType_t diag) {
  host_matrix t = a;
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (i == j && diag == CUBLAS_DIAG_UNIT)
        t(i, j) = 1;
      else if (i != j && (i > j) != (uplo == CUBLAS_FILL_MODE_LOWER))
        t(i, j) = 0;
  return t;
}

/// What must not be read becomes NaN: the other triangle, and the diagonal if it is a unit one.
inline host_matrix hidden(const host_matrix& a, cublasFillMode_t uplo, cublasDiagType_t diag) {
  host_matrix t = a;
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (i == j ? diag == CUBLAS_DIAG_UNIT : (i > j) != (uplo == CUBLAS_FILL_MODE_LOWER))
        t(i, j) = conformance::kNan;
  return t;
}

/// A triangle far from singular: small elements beside a diagonal of about 2.
inline host_matrix well_conditioned(int n, int ld, unsigned seed) {
  host_matrix a(n, n, ld, seed);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      a(i, j) = static_cast<double>(
          static_cast<float>(i == j ? 2 + 0.25 * a(i, j) : a(i, j) / (2.0 * n)));
  return a;
}

/// alpha op(A) op(B) + beta C; beta = 0 ignores C. Everything between C's columns is unchanged.
inline host_matrix product(double alpha, const host_matrix& a, cublasOperation_t ta,
                           const host_matrix& b, cublasOperation_t tb, double beta,
                           const host_matrix& c) {
  host_matrix e = c;
  const int depth = ta == CUBLAS_OP_N ? a.cols : a.rows;
  for (int j = 0; j < c.cols; ++j)
    for (int i = 0; i < c.rows; ++i) {
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += a.op(ta, i, k) * b.op(tb, k, j);
      e(i, j) = alpha * sum + (beta == 0 ? 0 : beta * c(i, j));
    }
  return e;
}

inline host_matrix filled(host_matrix a, double value) {
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i) a(i, j) = value;
  return a;
}

/// The whole symmetric matrix of one triangle.
inline host_matrix symmetric(const host_matrix& a, cublasFillMode_t uplo) {
  host_matrix s = a;
  for (int j = 0; j < a.cols; ++j)
    for (int i = 0; i < a.rows; ++i)
      if (i != j && (i > j) != (uplo == CUBLAS_FILL_MODE_LOWER)) s(i, j) = a(j, i);
  return s;
}

}  // namespace cublas_testing
