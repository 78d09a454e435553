// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS, Levels 1 and 2. As in BLAS, Level 1 does nothing where n is not positive, and the
// functions of one vector do nothing where its increment is not.

#include "cublas_call.hpp"

namespace cpu_device::blas {
namespace {

template <class T, class I>
cublasStatus_t find_extreme(routine c, index n, const T* x, index incx, I* result, bool largest) {
  if (!c.pointer(result, "result").ok()) return c.status();
  const bool empty = n <= 0 || incx <= 0;
  if (!empty) c.vector_memory("x", x, n, incx);
  return c.result(result, [=] {
    return empty ? I(0) : static_cast<I>(extreme<T>({x, n, incx}, largest));
  });
}

/// asum (the sum of magnitudes) and nrm2 (the length).
template <class T>
cublasStatus_t reduce(routine c, index n, const T* x, index incx, T* result, bool length) {
  if (!c.pointer(result, "result").ok()) return c.status();
  const bool empty = n <= 0 || incx <= 0;
  if (!empty) c.vector_memory("x", x, n, incx);
  return c.result(result, [=] {
    if (empty) return T(0);
    const vector<const T> v{x, n, incx};
    return length ? norm<T>(v) : sum<T>(n, [=](index i) { return std::fabs(v[i]); });
  });
}

template <class T>
cublasStatus_t do_dot(routine c, index n, const T* x, index incx, const T* y, index incy,
                      T* result) {
  if (!c.pointer(result, "result").ok()) return c.status();
  c.vector_memory("x", x, n, incx).vector_memory("y", y, n, incy);
  return c.result(result, [=] { return n <= 0 ? T(0) : dot<T>({x, n, incx}, {y, n, incy}); });
}

/// Calls action(x element, y element) for each of n pairs.
template <class X, class Y, class Action>
cublasStatus_t each_pair(routine c, index n, X* x, index incx, Y* y, index incy, Action action) {
  if (!c.ok() || n <= 0) return c.status();
  c.vector_memory("x", x, n, incx).vector_memory("y", y, n, incy);
  return c.run([=] {
    const vector<X> vx{x, n, incx};
    const vector<Y> vy{y, n, incy};
    for (index i = 0; i < n; ++i) action(vx[i], vy[i]);
  });
}

template <class T>
cublasStatus_t axpy(routine c, index n, const T* alpha, const T* x, index incx, T* y, index incy) {
  if (!c.pointer(alpha, "alpha").ok() || n <= 0) return c.status();
  const scalar<T> factor = c.value("alpha", alpha);
  return each_pair(c, n, x, incx, y, incy,
                   [factor](const T& from, T& to) { to += factor.get() * from; });
}

template <class T>
cublasStatus_t rot(routine c, index n, T* x, index incx, T* y, index incy, const T* cosine,
                   const T* sine) {
  if (!c.pointer(cosine, "c").pointer(sine, "s").ok() || n <= 0) return c.status();
  const scalar<T> co = c.value("c", cosine), si = c.value("s", sine);
  return each_pair(c, n, x, incx, y, incy, [co, si](T& a, T& b) {
    const T before = a;
    a = co.get() * before + si.get() * b;
    b = co.get() * b - si.get() * before;
  });
}

template <class T>
cublasStatus_t scal(routine c, index n, const T* alpha, T* x, index incx) {
  if (!c.pointer(alpha, "alpha").ok() || n <= 0 || incx <= 0) return c.status();
  const scalar<T> factor = c.value("alpha", alpha);
  c.vector_memory("x", x, n, incx);
  return c.run([=] {
    const T a = factor.get();
    for (index i = 0; i < n; ++i) x[i * incx] *= a;
  });
}

template <class T>
cublasStatus_t rotg(routine c, T* a, T* b, T* cosine, T* sine) {
  if (!c.pointer(a, "a").pointer(b, "b").pointer(cosine, "c").pointer(sine, "s").ok())
    return c.status();
  c.value<T>("a", a);
  c.value<T>("b", b);
  c.value<T>("c", cosine);
  c.value<T>("s", sine);
  const auto work = [=] { rotation(*a, *b, *cosine, *sine); };
  if (!c.ok()) return c.status();
  return c.on_device() ? c.run(work) : c.run_and_wait(work);
}

// --- Level 2 ------------------------------------------------------------------------------------

/// y = alpha op(A) x + beta y; `product` adds alpha op(A) x to y.
template <class T, class Product>
cublasStatus_t matrix_vector(routine c, index y_size, index x_size, const T* alpha, const T* x,
                             index incx, const T* beta, T* y, index incy, Product product) {
  if (!c.ok() || y_size == 0 || x_size == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha), b = c.value("beta", beta);
  c.vector_memory("x", x, x_size, incx).vector_memory("y", y, y_size, incy);
  return c.run([=] {
    const vector<T> result{y, y_size, incy};
    scale(result, b.get());
    if (a.get() != T(0)) product(a.get(), vector<const T>{x, x_size, incx}, result);
  });
}

template <class T>
cublasStatus_t gemv(routine c, cublasOperation_t trans, index m, index n, const T* alpha,
                    const T* A, index lda, const T* x, index incx, const T* beta, T* y,
                    index incy) {
  c.is(trans, "trans").size(m, "m").size(n, "n").leading(lda, m, "lda", n);
  c.increment(incx, "incx").increment(incy, "incy").pointer(alpha, "alpha").pointer(beta, "beta");
  if (c.ok()) c.matrix_memory("A", A, m, n, lda);
  const bool t = transposes(trans);
  return matrix_vector(c, t ? n : m, t ? m : n, alpha, x, incx, beta, y, incy,
                       [=](T a, vector<const T> from, vector<T> to) {
                         multiply_add<T>(a, viewed(A, m, n, lda, trans), from, to);
                       });
}

/// A banded matrix keeps element (i, j) in row ku + i - j of column j.
template <class T>
cublasStatus_t gbmv(routine c, cublasOperation_t trans, index m, index n, index kl, index ku,
                    const T* alpha, const T* A, index lda, const T* x, index incx, const T* beta,
                    T* y, index incy) {
  c.is(trans, "trans").size(m, "m").size(n, "n").size(kl, "kl").size(ku, "ku");
  c.leading(lda, kl + ku + 1, "lda").increment(incx, "incx").increment(incy, "incy");
  c.pointer(alpha, "alpha").pointer(beta, "beta");
  if (c.ok() && m > 0) c.matrix_memory("A", A, kl + ku + 1, n, lda);
  const bool t = transposes(trans);
  return matrix_vector(c, t ? n : m, t ? m : n, alpha, x, incx, beta, y, incy,
                       [=](T a, vector<const T> from, vector<T> to) {
                         for (index j = 0; j < n; ++j)
                           for (index i = std::max<index>(0, j - ku); i < std::min(m, j + kl + 1);
                                ++i) {
                             const T element = A[j * lda + ku + i - j];
                             if (t)
                               to[j] += a * element * from[i];
                             else
                               to[i] += a * element * from[j];
                           }
                       });
}

/// symv and sbmv: `place(i, j)` is where the stored triangle keeps element (i, j); elements further
/// than `band` from the diagonal are zero.
template <class T, class Place>
void symmetric_multiply_add(T alpha, bool lower, index band, Place place, vector<const T> x,
                            vector<T> y) {
  const index n = y.n;
  for (index j = 0; j < n; ++j) {
    y[j] += alpha * place(j, j) * x[j];
    const index from = lower ? j + 1 : std::max<index>(0, j - band);
    const index end = lower ? std::min(n, j + band + 1) : j;
    for (index i = from; i < end; ++i) {
      y[i] += alpha * place(i, j) * x[j];
      y[j] += alpha * place(i, j) * x[i];
    }
  }
}

template <class T>
cublasStatus_t symv(routine c, cublasFillMode_t uplo, index n, const T* alpha, const T* A,
                    index lda, const T* x, index incx, const T* beta, T* y, index incy) {
  c.is(uplo).size(n, "n").leading(lda, n, "lda").increment(incx, "incx").increment(incy, "incy");
  c.pointer(alpha, "alpha").pointer(beta, "beta");
  if (c.ok()) c.matrix_memory("A", A, n, n, lda);
  return matrix_vector(
      c, n, n, alpha, x, incx, beta, y, incy, [=](T a, vector<const T> from, vector<T> to) {
        symmetric_multiply_add(
            a, is_lower(uplo), n, [=](index i, index j) { return A[j * lda + i]; }, from, to);
      });
}

template <class T>
cublasStatus_t sbmv(routine c, cublasFillMode_t uplo, index n, index k, const T* alpha, const T* A,
                    index lda, const T* x, index incx, const T* beta, T* y, index incy) {
  c.is(uplo).size(n, "n").size(k, "k").leading(lda, k + 1, "lda");
  c.increment(incx, "incx").increment(incy, "incy").pointer(alpha, "alpha").pointer(beta, "beta");
  if (c.ok()) c.matrix_memory("A", A, k + 1, n, lda);
  const index diagonal = is_lower(uplo) ? 0 : k;
  return matrix_vector(
      c, n, n, alpha, x, incx, beta, y, incy, [=](T a, vector<const T> from, vector<T> to) {
        symmetric_multiply_add(
            a, is_lower(uplo), k, [=](index i, index j) { return A[j * lda + diagonal + i - j]; },
            from, to);
      });
}

template <class T>
cublasStatus_t ger(routine c, index m, index n, const T* alpha, const T* x, index incx, const T* y,
                   index incy, T* A, index lda) {
  c.size(m, "m").size(n, "n").increment(incx, "incx").increment(incy, "incy");
  c.leading(lda, m, "lda").pointer(alpha, "alpha");
  if (!c.ok() || m == 0 || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha);
  c.vector_memory("x", x, m, incx).vector_memory("y", y, n, incy);
  c.matrix_memory("A", A, m, n, lda);
  return c.run([=] {
    const vector<const T> vx{x, m, incx}, vy{y, n, incy};
    if (a.get() == T(0)) return;
    for (index j = 0; j < n; ++j) {
      const T factor = a.get() * vy[j];
      for (index i = 0; i < m; ++i) A[j * lda + i] += vx[i] * factor;
    }
  });
}

/// One triangle of A += alpha (x y^T + y x^T), or of A += alpha x x^T where y is null.
template <class T>
cublasStatus_t symmetric_update(routine c, cublasFillMode_t uplo, index n, const T* alpha,
                                const T* x, index incx, const T* y, index incy, T* A, index lda) {
  c.is(uplo).size(n, "n").increment(incx, "incx").increment(incy, "incy");
  c.leading(lda, n, "lda").pointer(alpha, "alpha");
  if (!c.ok() || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha);
  c.vector_memory("x", x, n, incx).matrix_memory("A", A, n, n, lda);
  if (y != nullptr) c.vector_memory("y", y, n, incy);
  return c.run([=] {
    const T factor = a.get();
    if (factor == T(0)) return;
    const vector<const T> vx{x, n, incx}, vy{y != nullptr ? y : x, n, y != nullptr ? incy : incx};
    for (index j = 0; j < n; ++j)
      for (index i = is_lower(uplo) ? j : 0; i < (is_lower(uplo) ? n : j + 1); ++i) {
        A[j * lda + i] += factor * vx[i] * vy[j];
        if (y != nullptr) A[j * lda + i] += factor * vy[i] * vx[j];
      }
  });
}

template <class T>
cublasStatus_t triangular(routine c, cublasFillMode_t uplo, cublasOperation_t trans,
                          cublasDiagType_t diag, index n, const T* A, index lda, T* x, index incx,
                          bool solve) {
  c.is(uplo).is(trans, "trans").is(diag).size(n, "n").leading(lda, n, "lda");
  c.increment(incx, "incx");
  if (!c.ok() || n == 0) return c.status();
  c.matrix_memory("A", A, n, n, lda).vector_memory("x", x, n, incx);
  return c.run([=] {
    const matrix<const T> view = viewed(A, n, n, lda, trans);
    const bool lower = is_lower(uplo, trans), unit = diag == CUBLAS_DIAG_UNIT;
    const vector<T> v{x, n, incx};
    if (solve)
      solve_triangular<T>(view, lower, unit, v);
    else
      multiply_triangular<T>(view, lower, unit, v);
  });
}

}  // namespace
}  // namespace cpu_device::blas

using namespace cpu_device::blas;
using cpu_device::cublas_call;

// --- the functions, for each element type and integer type --------------------------------------

#define CPU_DEVICE_CUBLAS(L, l, T, I, _64)                                                         \
  cublasStatus_t cublasI##l##amax##_64(cublasHandle_t h, I n, const T* x, I incx, I* result) {     \
    return cublas_call<"cublasI" #l "amax" #_64>(                                                  \
        [&] { return find_extreme(h, n, x, incx, result, true); });                                \
  }                                                                                                \
  cublasStatus_t cublasI##l##amin##_64(cublasHandle_t h, I n, const T* x, I incx, I* result) {     \
    return cublas_call<"cublasI" #l "amin" #_64>(                                                  \
        [&] { return find_extreme(h, n, x, incx, result, false); });                               \
  }                                                                                                \
  cublasStatus_t cublas##L##asum##_64(cublasHandle_t h, I n, const T* x, I incx, T* result) {      \
    return cublas_call<"cublas" #L "asum" #_64>(                                                   \
        [&] { return reduce(h, n, x, incx, result, false); });                                     \
  }                                                                                                \
  cublasStatus_t cublas##L##nrm2##_64(cublasHandle_t h, I n, const T* x, I incx, T* result) {      \
    return cublas_call<"cublas" #L "nrm2" #_64>(                                                   \
        [&] { return reduce(h, n, x, incx, result, true); });                                      \
  }                                                                                                \
  cublasStatus_t cublas##L##axpy##_64(cublasHandle_t h, I n, const T* alpha, const T* x, I incx,   \
                                      T* y, I incy) {                                              \
    return cublas_call<"cublas" #L "axpy" #_64>(                                                   \
        [&] { return axpy(h, n, alpha, x, incx, y, incy); });                                      \
  }                                                                                                \
  cublasStatus_t cublas##L##copy##_64(cublasHandle_t h, I n, const T* x, I incx, T* y, I incy) {   \
    return cublas_call<"cublas" #L "copy" #_64>([&] {                                              \
      return each_pair(h, n, x, incx, y, incy, [](const T& from, T& to) { to = from; });           \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##swap##_64(cublasHandle_t h, I n, T* x, I incx, T* y, I incy) {         \
    return cublas_call<"cublas" #L "swap" #_64>(                                                   \
        [&] { return each_pair(h, n, x, incx, y, incy, [](T& a, T& b) { std::swap(a, b); }); });   \
  }                                                                                                \
  cublasStatus_t cublas##L##dot##_64(cublasHandle_t h, I n, const T* x, I incx, const T* y,        \
                                     I incy, T* result) {                                          \
    return cublas_call<"cublas" #L "dot" #_64>(                                                    \
        [&] { return do_dot(h, n, x, incx, y, incy, result); });                                   \
  }                                                                                                \
  cublasStatus_t cublas##L##rot##_64(cublasHandle_t h, I n, T* x, I incx, T* y, I incy,            \
                                     const T* c, const T* s) {                                     \
    return cublas_call<"cublas" #L "rot" #_64>([&] { return rot(h, n, x, incx, y, incy, c, s); }); \
  }                                                                                                \
  cublasStatus_t cublas##L##scal##_64(cublasHandle_t h, I n, const T* alpha, T* x, I incx) {       \
    return cublas_call<"cublas" #L "scal" #_64>([&] { return scal(h, n, alpha, x, incx); });       \
  }                                                                                                \
  cublasStatus_t cublas##L##gemv##_64(cublasHandle_t h, cublasOperation_t trans, I m, I n,         \
                                      const T* alpha, const T* A, I lda, const T* x, I incx,       \
                                      const T* beta, T* y, I incy) {                               \
    return cublas_call<"cublas" #L "gemv" #_64>(                                                   \
        [&] { return gemv(h, trans, m, n, alpha, A, lda, x, incx, beta, y, incy); });              \
  }                                                                                                \
  cublasStatus_t cublas##L##gbmv##_64(cublasHandle_t h, cublasOperation_t trans, I m, I n, I kl,   \
                                      I ku, const T* alpha, const T* A, I lda, const T* x, I incx, \
                                      const T* beta, T* y, I incy) {                               \
    return cublas_call<"cublas" #L "gbmv" #_64>(                                                   \
        [&] { return gbmv(h, trans, m, n, kl, ku, alpha, A, lda, x, incx, beta, y, incy); });      \
  }                                                                                                \
  cublasStatus_t cublas##L##symv##_64(cublasHandle_t h, cublasFillMode_t uplo, I n,                \
                                      const T* alpha, const T* A, I lda, const T* x, I incx,       \
                                      const T* beta, T* y, I incy) {                               \
    return cublas_call<"cublas" #L "symv" #_64>(                                                   \
        [&] { return symv(h, uplo, n, alpha, A, lda, x, incx, beta, y, incy); });                  \
  }                                                                                                \
  cublasStatus_t cublas##L##sbmv##_64(cublasHandle_t h, cublasFillMode_t uplo, I n, I k,           \
                                      const T* alpha, const T* A, I lda, const T* x, I incx,       \
                                      const T* beta, T* y, I incy) {                               \
    return cublas_call<"cublas" #L "sbmv" #_64>(                                                   \
        [&] { return sbmv(h, uplo, n, k, alpha, A, lda, x, incx, beta, y, incy); });               \
  }                                                                                                \
  cublasStatus_t cublas##L##ger##_64(cublasHandle_t h, I m, I n, const T* alpha, const T* x,       \
                                     I incx, const T* y, I incy, T* A, I lda) {                    \
    return cublas_call<"cublas" #L "ger" #_64>(                                                    \
        [&] { return ger(h, m, n, alpha, x, incx, y, incy, A, lda); });                            \
  }                                                                                                \
  cublasStatus_t cublas##L##syr##_64(cublasHandle_t h, cublasFillMode_t uplo, I n, const T* alpha, \
                                     const T* x, I incx, T* A, I lda) {                            \
    return cublas_call<"cublas" #L "syr" #_64>(                                                    \
        [&] { return symmetric_update<T>(h, uplo, n, alpha, x, incx, nullptr, 1, A, lda); });      \
  }                                                                                                \
  cublasStatus_t cublas##L##syr2##_64(cublasHandle_t h, cublasFillMode_t uplo, I n,                \
                                      const T* alpha, const T* x, I incx, const T* y, I incy,      \
                                      T* A, I lda) {                                               \
    return cublas_call<"cublas" #L "syr2" #_64>([&] {                                              \
      routine c(h);                                                                                \
      if (n > 0) c.pointer(y, "y");                                                                \
      return symmetric_update(c, uplo, n, alpha, x, incx, y, incy, A, lda);                        \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##trmv##_64(cublasHandle_t h, cublasFillMode_t uplo,                     \
                                      cublasOperation_t trans, cublasDiagType_t diag, I n,         \
                                      const T* A, I lda, T* x, I incx) {                           \
    return cublas_call<"cublas" #L "trmv" #_64>(                                                   \
        [&] { return triangular(h, uplo, trans, diag, n, A, lda, x, incx, false); });              \
  }                                                                                                \
  cublasStatus_t cublas##L##trsv##_64(cublasHandle_t h, cublasFillMode_t uplo,                     \
                                      cublasOperation_t trans, cublasDiagType_t diag, I n,         \
                                      const T* A, I lda, T* x, I incx) {                           \
    return cublas_call<"cublas" #L "trsv" #_64>(                                                   \
        [&] { return triangular(h, uplo, trans, diag, n, A, lda, x, incx, true); });               \
  }
CPU_DEVICE_CUBLAS(S, s, float, int, )
CPU_DEVICE_CUBLAS(D, d, double, int, )
CPU_DEVICE_CUBLAS(S, s, float, int64_t, _64)
CPU_DEVICE_CUBLAS(D, d, double, int64_t, _64)
#undef CPU_DEVICE_CUBLAS

cublasStatus_t cublasSrotg(cublasHandle_t h, float* a, float* b, float* c, float* s) {
  return cublas_call<"cublasSrotg">([&] { return rotg(h, a, b, c, s); });
}
cublasStatus_t cublasDrotg(cublasHandle_t h, double* a, double* b, double* c, double* s) {
  return cublas_call<"cublasDrotg">([&] { return rotg(h, a, b, c, s); });
}

cublasStatus_t cublasDotEx(cublasHandle_t h, int n, const void* x, cudaDataType x_type, int incx,
                           const void* y, cudaDataType y_type, int incy, void* result,
                           cudaDataType result_type, cudaDataType execution_type) {
  return cublas_call<"cublasDotEx">([&] {
    const routine c(h);
    if (!c.ok()) return c.status();
    const auto all = [&](cudaDataType type) {
      return x_type == type && y_type == type && result_type == type && execution_type == type;
    };
    if (all(CUDA_R_32F))
      return do_dot(c, n, static_cast<const float*>(x), incx, static_cast<const float*>(y), incy,
                    static_cast<float*>(result));
    if (all(CUDA_R_64F))
      return do_dot(c, n, static_cast<const double*>(x), incx, static_cast<const double*>(y), incy,
                    static_cast<double*>(result));
    return explain_status(CUBLAS_STATUS_NOT_SUPPORTED,
                          "cublasDotEx: all four types must be CUDA_R_32F, or all CUDA_R_64F");
  });
}
