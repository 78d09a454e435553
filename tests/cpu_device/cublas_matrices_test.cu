// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS, Level 3 and batches: each function against its definition, computed in double. On the CPU
// device every product is made twice, by OpenBLAS and by plain loops.

#include "cublas_testing.hpp"

namespace {

using namespace cublas_testing;

template <class T>
class CublasMatrices : public ::testing::Test {};
using element_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CublasMatrices, element_types);

constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};

TYPED_TEST(CublasMatrices, MultipliesMatrices) {
  using T = TypeParam;
  const blas h;
  const int shapes[][3] = {{1, 1, 1}, {1, 5, 3}, {5, 1, 3}, {3, 4, 1}, {65, 33, 70}, {17, 130, 64}};
  with_each_library([&] {
    for (const auto& [m, n, k] : shapes)
      for (const auto ta : kOperations)
        for (const auto tb : kOperations)
          for (const auto& [alpha, beta] :
               {std::pair<double, double>{1, 0}, {-0.75, 0.5}, {0, 0.5}, {0, 0}}) {
            SCOPED_TRACE(::testing::Message()
                         << m << " x " << n << " x " << k << ", ops " << ta << " " << tb
                         << ", alpha " << alpha << ", beta " << beta);
            host_matrix a =
                ta == CUBLAS_OP_N ? host_matrix(m, k, m + 2, 1) : host_matrix(k, m, k + 2, 1);
            const host_matrix b =
                tb == CUBLAS_OP_N ? host_matrix(k, n, k, 2) : host_matrix(n, k, n, 2);
            host_matrix c(m, n, m + 1, 3);
            const host_matrix expected = product(alpha, a, ta, b, tb, beta, c);
            if (alpha == 0) a = filled(a, conformance::kNan);  // must not be read
            if (beta == 0) c = filled(c, conformance::kNan);   // nor this
            const device_array<T> da(rounded<T>(a.data)), db(rounded<T>(b.data));
            const device_array<T> dc(rounded<T>(c.data)), dd(rounded<T>(c.data));
            const T t_alpha = T(alpha), t_beta = T(beta);
            EXPECT_DONE(api<T>::gemm(h, ta, tb, m, n, k, &t_alpha, da.data(), a.ld, db.data(), b.ld,
                                     &t_beta, dc.data(), c.ld));
            expect_close(dc.to_host(), expected.data, sum_bound<T>(k));
            EXPECT_DONE(api<T>::gemm_64(h, ta, tb, m, n, k, &t_alpha, da.data(), a.ld, db.data(),
                                        b.ld, &t_beta, dd.data(), c.ld));
            expect_close(dd.to_host(), expected.data, sum_bound<T>(k));
          }
  });
}

TYPED_TEST(CublasMatrices, ScalesWhereTheInnerDimensionIsZero) {
  using T = TypeParam;
  const blas h;
  const device_array<T> c(std::vector<T>{T(1), T(2)});
  const T one = 1, three = 3;
  EXPECT_DONE(api<T>::gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 1, 0, &one, c.data(), 2, c.data(), 1,
                           &three, c.data(), 2));
  EXPECT_EQ(c.to_host(), (std::vector<T>{3, 6}));
}

TYPED_TEST(CublasMatrices, MultipliesBatches) {
  using T = TypeParam;
  const blas h;
  const int m = 5, n = 7, k = 3, count = 4;
  const host_matrix a(m, k * count, m, 4), b(k, n, k, 5), c(m, n * count, m, 6);
  host_matrix expected = c;
  for (int batch = 0; batch < count; ++batch)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        double sum = 0;
        for (int l = 0; l < k; ++l) sum += a(i, batch * k + l) * b(l, j);
        double& e = expected(i, batch * n + j);
        e = 2 * sum - e;
      }
  const T alpha = 2, beta = -1;
  const device_array<T> da(rounded<T>(a.data)), db(rounded<T>(b.data));
  with_each_library([&] {
    const device_array<T> dc(rounded<T>(c.data)), dd(rounded<T>(c.data));
    // B is shared by all products: its stride is 0.
    EXPECT_DONE(api<T>::gemm_strided(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, da.data(), m,
                                     m * k, db.data(), k, 0, &beta, dc.data(), m, m * n, count));
    expect_close(dc.to_host(), expected.data, sum_bound<T>(k));
    std::vector<const T*> as, bs;
    std::vector<T*> cs;
    for (int batch = 0; batch < count; ++batch) {
      as.push_back(da.data() + batch * m * k);
      bs.push_back(db.data());
      cs.push_back(dd.data() + batch * m * n);
    }
    const device_array<const T*> pa(as), pb(bs);
    const device_array<T*> pc(cs);
    EXPECT_DONE(api<T>::gemm_batched(h, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, pa.data(), m,
                                     pb.data(), k, &beta, pc.data(), m, count));
    expect_close(dd.to_host(), expected.data, sum_bound<T>(k));
  });
}

TYPED_TEST(CublasMatrices, MultipliesSymmetricMatrices) {
  using T = TypeParam;
  const blas h;
  with_each_library([&] {
    for (const auto& [m, n] : {std::pair<int, int>{1, 3}, {5, 4}, {70, 33}})
      for (const auto side : kSides)
        for (const auto uplo : kTriangles) {
          SCOPED_TRACE(::testing::Message()
                       << m << " x " << n << ", side " << side << ", uplo " << uplo);
          const int order = side == CUBLAS_SIDE_LEFT ? m : n;
          const host_matrix a(order, order, order + 2, 7), b(m, n, m + 1, 8), c(m, n, m + 3, 9);
          const host_matrix s = symmetric(a, uplo);
          const host_matrix expected = side == CUBLAS_SIDE_LEFT
                                           ? product(0.5, s, CUBLAS_OP_N, b, CUBLAS_OP_N, 2, c)
                                           : product(0.5, b, CUBLAS_OP_N, s, CUBLAS_OP_N, 2, c);
          const device_array<T> da(rounded<T>(hidden(a, uplo, CUBLAS_DIAG_NON_UNIT).data));
          const device_array<T> db(rounded<T>(b.data)), dc(rounded<T>(c.data));
          const T alpha = T(0.5), beta = 2;
          EXPECT_DONE(api<T>::symm(h, side, uplo, m, n, &alpha, da.data(), a.ld, db.data(), b.ld,
                                   &beta, dc.data(), c.ld));
          expect_close(dc.to_host(), expected.data, sum_bound<T>(order));
        }
  });
}

TYPED_TEST(CublasMatrices, MultipliesByTheOwnTranspose) {
  using T = TypeParam;
  const blas h;
  with_each_library([&] {
    for (const auto& [n, k] : {std::pair<int, int>{1, 1}, {5, 3}, {64, 7}, {65, 130}, {150, 9}})
      for (const auto uplo : kTriangles)
        for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T})
          for (const double beta : {0.0, -0.5}) {
            SCOPED_TRACE(::testing::Message() << n << ", " << k << ", uplo " << uplo << ", op "
                                              << op << ", beta " << beta);
            const host_matrix a =
                op == CUBLAS_OP_N ? host_matrix(n, k, n + 1, 10) : host_matrix(k, n, k + 1, 10);
            const host_matrix c(n, n, n + 2, 11);
            host_matrix expected =
                product(0.75, a, op, a, op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N, beta, c);
            expected = hidden(expected, uplo, CUBLAS_DIAG_NON_UNIT);  // stays untouched
            const host_matrix before =
                hidden(beta == 0 ? filled(c, conformance::kNan) : c, uplo, CUBLAS_DIAG_NON_UNIT);
            const device_array<T> da(rounded<T>(a.data)), dc(rounded<T>(before.data));
            const T t_alpha = T(0.75), t_beta = T(beta);
            EXPECT_DONE(api<T>::syrk(h, uplo, op, n, k, &t_alpha, da.data(), a.ld, &t_beta,
                                     dc.data(), c.ld));
            expect_close(dc.to_host(), expected.data, sum_bound<T>(k));
          }
  });
}

TYPED_TEST(CublasMatrices, MultipliesAndSolvesTriangularMatrices) {
  using T = TypeParam;
  const blas h;
  with_each_library([&] {
    for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {6, 4}, {64, 3}, {65, 130}})
      for (const auto side : kSides)
        for (const auto uplo : kTriangles)
          for (const auto op : kOperations)
            for (const auto diag : kDiagonals) {
              SCOPED_TRACE(::testing::Message() << m << " x " << n << ", side " << side << ", uplo "
                                                << uplo << ", op " << op << ", diag " << diag);
              const int order = side == CUBLAS_SIDE_LEFT ? m : n;
              const host_matrix a = well_conditioned(order, order + 1, 12), b(m, n, m + 2, 13);
              const host_matrix t = triangle(a, uplo, diag);
              const host_matrix expected = side == CUBLAS_SIDE_LEFT
                                               ? product(0.5, t, op, b, CUBLAS_OP_N, 0, b)
                                               : product(0.5, b, CUBLAS_OP_N, t, op, 0, b);
              const device_array<T> da(rounded<T>(hidden(a, uplo, diag).data));
              const device_array<T> db(rounded<T>(b.data));
              const device_array<T> dc(b.data.size(), static_cast<T>(conformance::kNan));
              const T half = T(0.5), two = 2;
              EXPECT_DONE(api<T>::trmm(h, side, uplo, op, diag, m, n, &half, da.data(), a.ld,
                                       db.data(), b.ld, dc.data(), b.ld));
              expect_close(dc.to_host(), expected.data, sum_bound<T>(order));
              EXPECT_DONE(api<T>::trsm(h, side, uplo, op, diag, m, n, &two, da.data(), a.ld,
                                       dc.data(), b.ld));
              expect_close(dc.to_host(), b.data, sum_bound<T>(order, 16));
              // In place, too.
              EXPECT_DONE(api<T>::trmm(h, side, uplo, op, diag, m, n, &half, da.data(), a.ld,
                                       db.data(), b.ld, db.data(), b.ld));
              expect_close(db.to_host(), expected.data, sum_bound<T>(order));
            }
  });
}

TYPED_TEST(CublasMatrices, AddsTransposesAndScalesRowsOrColumns) {
  using T = TypeParam;
  const blas h;
  const int m = 7, n = 5;
  for (const auto ta : kOperations)
    for (const auto tb : kOperations) {
      SCOPED_TRACE(::testing::Message() << ta << " " << tb);
      const host_matrix a =
          ta == CUBLAS_OP_N ? host_matrix(m, n, m + 1, 14) : host_matrix(n, m, n + 1, 14);
      const host_matrix b =
          tb == CUBLAS_OP_N ? host_matrix(m, n, m + 2, 15) : host_matrix(n, m, n + 2, 15);
      host_matrix e(m, n, m + 3, 16);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < m; ++i) e(i, j) = 2 * a.op(ta, i, j) - 0.5 * b.op(tb, i, j);
      const device_array<T> da(rounded<T>(a.data)), db(rounded<T>(b.data));
      const device_array<T> dc(e.data.size(), static_cast<T>(conformance::kNan));
      const T alpha = 2, beta = T(-0.5);
      EXPECT_DONE(api<T>::geam(h, ta, tb, m, n, &alpha, da.data(), a.ld, &beta, db.data(), b.ld,
                               dc.data(), e.ld));
      expect_close(dc.to_host(), e.data, sum_bound<T>(2));
    }
  for (const auto side : kSides) {
    const host_matrix a(m, n, m + 1, 17);
    const auto x = numbers(2 * m, 18);
    host_matrix e(m, n, m + 2, 19);
    const int length = side == CUBLAS_SIDE_LEFT ? m : n;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) {
        const int at = side == CUBLAS_SIDE_LEFT ? i : j;
        e(i, j) = a(i, j) * x[static_cast<std::size_t>(2 * (length - 1 - at))];
      }
    const device_array<T> da(rounded<T>(a.data)), dx(rounded<T>(x));
    const device_array<T> dc(e.data.size(), static_cast<T>(conformance::kNan));
    EXPECT_DONE(api<T>::dgmm(h, side, m, n, da.data(), a.ld, dx.data(), -2, dc.data(), e.ld));
    expect_close(dc.to_host(), e.data, sum_bound<T>(1));
  }
}

TYPED_TEST(CublasMatrices, SolvesAndInvertsBatchesByFactors) {
  using T = TypeParam;
  const blas h;
  for (const int n : {1, 2, 5, 33}) {
    SCOPED_TRACE(n);
    const int count = 3, nrhs = 2, ld = n + 1;
    const auto un = static_cast<std::size_t>(n);
    host_matrix a(n, n * count, ld, 20);
    for (int batch = 0; batch < count; ++batch)
      for (int i = 0; i < n;
           ++i)  // the large elements are off the diagonal: rows must be exchanged
        a(i, batch * n + (i + 1) % n) += i % 2 == 0 ? 4 : -4;
    const host_matrix a_rounded = [&] {
      host_matrix r = a;
      for (double& v : r.data) v = static_cast<double>(static_cast<T>(v));
      return r;
    }();
    const host_matrix x(n, nrhs * count, n, 21);
    for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      SCOPED_TRACE(op);
      host_matrix b(n, nrhs * count, n, 22);
      for (int batch = 0; batch < count; ++batch)
        for (int j = 0; j < nrhs; ++j)
          for (int i = 0; i < n; ++i) {
            double sum = 0;
            for (int k = 0; k < n; ++k)
              sum +=
                  (op == CUBLAS_OP_N ? a_rounded(i, batch * n + k) : a_rounded(k, batch * n + i)) *
                  x(k, batch * nrhs + j);
            b(i, batch * nrhs + j) = sum;
          }
      const device_array<T> da(rounded<T>(a.data)), db(rounded<T>(b.data));
      const device_array<T> dc(un * un * count, T(9));
      std::vector<T*> as, bs, cs;
      for (int batch = 0; batch < count; ++batch) {
        as.push_back(da.data() + batch * n * ld);
        bs.push_back(db.data() + batch * n * nrhs);
        cs.push_back(dc.data() + batch * n * n);
      }
      const device_array<T*> pa(as), pb(bs), pc(cs);
      const device_array<int> pivots(un * count, -7), info(count, -7);
      EXPECT_DONE(api<T>::getrf(h, n, pa.data(), ld, pivots.data(), info.data(), count));
      EXPECT_EQ(info.to_host(), std::vector<int>(count, 0));
      for (const int pivot : pivots.to_host()) {
        EXPECT_GE(pivot, 1);
        EXPECT_LE(pivot, n);
      }
      int host_info = -7;
      EXPECT_DONE(api<T>::getrs(h, op, n, nrhs, const_cast<const T* const*>(pa.data()), ld,
                                pivots.data(), pb.data(), n, &host_info, count));
      EXPECT_EQ(host_info, 0);
      expect_close(db.to_host(), x.data, sum_bound<T>(n, 64));
      EXPECT_DONE(api<T>::getri(h, n, const_cast<const T* const*>(pa.data()), ld, pivots.data(),
                                pc.data(), n, info.data(), count));
      EXPECT_EQ(info.to_host(), std::vector<int>(count, 0));
      const auto inverse = dc.to_host();
      std::vector<double> identity(un * un * count, 0.0);
      std::vector<T> found(identity.size());
      for (int batch = 0; batch < count; ++batch)
        for (int j = 0; j < n; ++j)
          for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(batch * n * n + j * n + i);
            identity[at] = i == j;
            double sum = 0;
            for (int k = 0; k < n; ++k)
              sum +=
                  a_rounded(i, batch * n + k) *
                  static_cast<double>(inverse[static_cast<std::size_t>(batch * n * n + j * n + k)]);
            found[at] = static_cast<T>(sum);
          }
      expect_close(found, identity, sum_bound<T>(n, 64));
    }
  }
}

TYPED_TEST(CublasMatrices, SaysWhichPivotIsZero) {
  using T = TypeParam;
  const blas h;
  // The second matrix has rank 2: its third pivot is zero, exactly.
  const device_array<T> a(
      std::vector<T>{2, 0, 0, 0, 2, 0, 0, 0, 2, /**/ 1, 2, 0, 0, 1, 0, 1, 3, 0});
  const device_array<T*> pa(std::vector<T*>{a.data(), a.data() + 9});
  const device_array<int> pivots(6, 0), info(2, -7);
  EXPECT_DONE(api<T>::getrf(h, 3, pa.data(), 3, pivots.data(), info.data(), 2));
  EXPECT_EQ(info.to_host(), (std::vector<int>{0, 3}));
  // No exchanges without pivots: a zero in the first place is then a zero pivot.
  const device_array<T> b(std::vector<T>{0, 1, 1, 0});
  const device_array<T*> pb(std::vector<T*>{b.data()});
  EXPECT_DONE(api<T>::getrf(h, 2, pb.data(), 2, nullptr, info.data(), 1));
  EXPECT_EQ(info.to_host()[0], 1);
}

TEST(CublasEx, TakesTypesAsArguments) {
  const blas h;
  const device_array<float> x(std::vector<float>{1, 2, 3, 4}), c(4, 0.0F);
  const float one = 1, zero = 0;
  EXPECT_DONE(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x.data(), CUDA_R_32F, 2,
                           x.data(), CUDA_R_32F, 2, &zero, c.data(), CUDA_R_32F, 2,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(c.to_host(), (std::vector<float>{7, 10, 15, 22}));
  // CUDA 10's forms.
  const device_array<float> d(4, 0.0F), e(8, 0.0F);
  EXPECT_DONE(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x.data(), CUDA_R_32F, 2,
                           x.data(), CUDA_R_32F, 2, &zero, d.data(), CUDA_R_32F, 2, CUDA_R_32F,
                           CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(d.to_host(), c.to_host());
  EXPECT_DONE(cublasGemmStridedBatchedEx(
      h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x.data(), CUDA_R_32F, 2, 0, x.data(), CUDA_R_32F,
      2, 0, &zero, e.data(), CUDA_R_32F, 2, 4, 2, CUDA_R_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(e.to_host(), (std::vector<float>{7, 10, 15, 22, 7, 10, 15, 22}));
  float result = 0;
  EXPECT_DONE(cublasDotEx(h, 4, x.data(), CUDA_R_32F, 1, x.data(), CUDA_R_32F, 1, &result,
                          CUDA_R_32F, CUDA_R_32F));
  EXPECT_EQ(result, 30);
  double wide = 0;
  EXPECT_EQ(cublasDotEx(h, 4, x.data(), CUDA_R_32F, 1, x.data(), CUDA_R_32F, 1, &wide, CUDA_R_64F,
                        CUDA_R_64F),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

// --- half precision and whole numbers ------------------------------------------------------------
// Small whole numbers, whose products and sums all of these types have exactly.

template <class T>
std::vector<T> small_numbers(int n, int first) {
  std::vector<T> v;
  for (int i = 0; i < n; ++i)
    v.push_back(static_cast<T>(static_cast<float>((first + 7 * i) % 5 - 2)));
  return v;
}

template <class T>
struct type_name;
#define TYPE_NAME(T, name)                      \
  template <>                                   \
  struct type_name<T> {                         \
    static constexpr cudaDataType value = name; \
  }
TYPE_NAME(float, CUDA_R_32F);
TYPE_NAME(__half, CUDA_R_16F);
TYPE_NAME(__nv_bfloat16, CUDA_R_16BF);
TYPE_NAME(std::int8_t, CUDA_R_8I);
TYPE_NAME(std::int32_t, CUDA_R_32I);
#undef TYPE_NAME

template <class T>
std::vector<double> doubles(const std::vector<T>& v) {
  std::vector<double> all;
  for (const T& x : v) all.push_back(static_cast<double>(static_cast<float>(x)));
  return all;
}

/// Two products of 8 x 12 and 12 x 4, A transposed, with 3 and 2 (0 where C is new) as factors.
template <class Scale, class In, class Out>
void expect_products(cublasComputeType_t compute) {
  constexpr int kM = 8, kN = 4, kK = 12;
  SCOPED_TRACE(::testing::Message() << "A " << type_name<In>::value << ", C "
                                    << type_name<Out>::value << ", compute type " << compute);
  const blas h;
  const std::vector<In> a = small_numbers<In>(2 * kM * kK, 0),
                        b = small_numbers<In>(2 * kK * kN, 3);
  const std::vector<Out> c = small_numbers<Out>(2 * kM * kN, 1);
  const device_array<In> da(a), db(b);
  for (const float factor : {2.0F, 0.0F}) {
    const device_array<Out> dc(c), dd(c);
    const Scale alpha = static_cast<Scale>(3.0F), beta = static_cast<Scale>(factor);
    EXPECT_DONE(cublasGemmEx(h, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha, da.data(),
                             type_name<In>::value, kK, db.data(), type_name<In>::value, kK, &beta,
                             dc.data(), type_name<Out>::value, kM, compute, CUBLAS_GEMM_DEFAULT));
    EXPECT_DONE(cublasGemmStridedBatchedEx(
        h, CUBLAS_OP_T, CUBLAS_OP_N, kM, kN, kK, &alpha, da.data(), type_name<In>::value, kK,
        kM * kK, db.data(), type_name<In>::value, kK, kK * kN, &beta, dd.data(),
        type_name<Out>::value, kM, kM * kN, 2, compute, CUBLAS_GEMM_DEFAULT));
    std::vector<double> expected = doubles(c);
    for (int batch = 0; batch < 2; ++batch)
      for (int j = 0; j < kN; ++j)
        for (int i = 0; i < kM; ++i) {
          double sum = 0;
          for (int k = 0; k < kK; ++k)
            sum += static_cast<double>(static_cast<float>(a[batch * kM * kK + i * kK + k])) *
                   static_cast<double>(static_cast<float>(b[batch * kK * kN + j * kK + k]));
          double& element = expected[batch * kM * kN + j * kM + i];
          element = 3 * sum + factor * element;
        }
    EXPECT_EQ(doubles(dd.to_host()), expected);
    std::vector<double> first = doubles(c);
    std::copy_n(expected.begin(), kM * kN, first.begin());
    EXPECT_EQ(doubles(dc.to_host()), first);
  }
}

TEST(CublasEx, RoundsFloatsToTf32WhereThatIsAllowed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values{4097, 4098, 4099, 4102, -4097, 3, kInfinity};
  const std::vector<float> rounded{4096, 4096, 4100, 4104, -4096, 3, kInfinity};
  const int n = static_cast<int>(values.size());
  const float one = 1, zero = 0;
  const device_array<float> a(values), b(std::vector<float>{1}), c(values.size(), 0.0F);
  const blas h;
  const auto product = [&] {
    EXPECT_DONE(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, n, 1, 1, &one, a.data(), n, b.data(), 1,
                            &zero, c.data(), n));
    return c.to_host();
  };
  const auto product_of = [&](cublasComputeType_t compute) {
    EXPECT_DONE(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, n, 1, &one, b.data(), CUDA_R_32F, 1,
                             a.data(), CUDA_R_32F, 1, &zero, c.data(), CUDA_R_32F, 1, compute,
                             CUBLAS_GEMM_DEFAULT));
    return c.to_host();
  };
  // A GPU need not: for so few elements it uses no tensor cores.
  const auto may_be = [&](const std::vector<float>& result) {
#ifdef __CPU_DEVICE__
    return result == rounded;
#else
    return result == rounded || result == values;
#endif
  };
  EXPECT_EQ(product(), values);
  EXPECT_EQ(product_of(CUBLAS_COMPUTE_32F), values);
  EXPECT_TRUE(may_be(product_of(CUBLAS_COMPUTE_32F_FAST_TF32)));
  EXPECT_DONE(cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
  EXPECT_TRUE(may_be(product()));
  EXPECT_TRUE(may_be(product_of(CUBLAS_COMPUTE_32F)));
  EXPECT_DONE(cublasSetMathMode(h, CUBLAS_PEDANTIC_MATH));
  EXPECT_EQ(product(), values);
}

TEST(CublasEx, MultipliesHalvesAndWholeNumbers) {
  expect_products<float, __half, __half>(CUBLAS_COMPUTE_32F);
  expect_products<float, __half, float>(CUBLAS_COMPUTE_32F);
  expect_products<float, __nv_bfloat16, __nv_bfloat16>(CUBLAS_COMPUTE_32F);
  expect_products<float, __nv_bfloat16, float>(CUBLAS_COMPUTE_32F);
  expect_products<float, std::int8_t, float>(CUBLAS_COMPUTE_32F);
  expect_products<__half, __half, __half>(CUBLAS_COMPUTE_16F);
  expect_products<std::int32_t, std::int8_t, std::int32_t>(CUBLAS_COMPUTE_32I);
}

TEST(CublasHalf, SumsInFloatAndRoundsOnce) {
  const blas h;
  // 2048 + 1 + 1: a half cannot count that far by ones, and 2050 is one again.
  const device_array<__half> a(std::vector<__half>{2048.0F, 1.0F, 1.0F}), ones(3, 1.0F), c(1, 0.0F);
  const float one = 1, zero = 0;
  EXPECT_DONE(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 3, &one, a.data(), CUDA_R_16F, 1,
                           ones.data(), CUDA_R_16F, 3, &zero, c.data(), CUDA_R_16F, 1,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(static_cast<float>(c.to_host()[0]), 2050.0F);
}

TEST(CublasHalf, MultipliesMatrices) {
  const blas h;
  const device_array<__half> a(small_numbers<__half>(12, 0)), b(small_numbers<__half>(12, 1));
  const device_array<__half> c(std::vector<__half>(8, __half(conformance::kNan)));
  const __half one = 1.0F, zero = 0.0F;
  // 2 x 3 times 3 x 2; and the same once more, beside another one.
  EXPECT_DONE(cublasHgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, a.data(), 2, b.data(), 3,
                          &zero, c.data(), 2));
  const std::vector<double> first = doubles(c.to_host());
  const std::vector<double> x = doubles(a.to_host()), y = doubles(b.to_host());
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(first[2 * j + i],
                x[i] * y[3 * j] + x[i + 2] * y[3 * j + 1] + x[i + 4] * y[3 * j + 2]);
  EXPECT_DONE(cublasHgemmStridedBatched(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 3, &one, a.data(), 2, 6,
                                        b.data(), 3, 6, &zero, c.data(), 2, 4, 2));
  const std::vector<double> both = doubles(c.to_host());
  EXPECT_EQ(std::vector<double>(both.begin(), both.begin() + 4),
            std::vector<double>(first.begin(), first.begin() + 4));
  EXPECT_EQ(both[4], x[6] * y[6] + x[8] * y[7] + x[10] * y[8]);
}

TEST(CublasEx, RefusesTypesThatDoNotGoTogether) {
  const blas h;
  const device_array<float> x(4, 1.0F);
  const float one = 1, zero = 0;
  const auto status = [&](cudaDataType a, cudaDataType b, cudaDataType c, cublasComputeType_t t) {
    return cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x.data(), a, 1, x.data(), b, 1,
                        &zero, x.data(), c, 1, t, CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(status(CUDA_R_16F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status(CUDA_R_16F, CUDA_R_16F, CUDA_R_16BF, CUBLAS_COMPUTE_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status(CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_16F),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

}  // namespace
