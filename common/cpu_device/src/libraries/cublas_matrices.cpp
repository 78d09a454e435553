// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS, Level 3 and what goes beyond BLAS.

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "cublas_call.hpp"
#include "cublas_types.hpp"

namespace cpu_device::blas {
namespace {

/// C = alpha A B + beta C, where A and B are of another type than the sums. Each element of C is
/// rounded once, at the end. (A GPU that is asked for sums in half precision rounds more often.)
template <class Sum, class In, class Out>
void multiply_mixed(Sum alpha, matrix<const In> a, matrix<const In> b, Sum beta, matrix<Out> c) {
  const index m = c.rows, n = c.cols, k = a.cols;
  std::vector<Sum> sums(static_cast<std::size_t>(m * n));
  if (alpha != 0) {
    const std::vector<Sum> left = converted<Sum>(a), right = converted<Sum>(b);
    const matrix<const Sum> x = stored(left.data(), m, k, m), y = stored(right.data(), k, n, k);
    const matrix<Sum> all = stored(sums.data(), m, n, m);
    if constexpr (std::is_same_v<Sum, float>)
      multiply<float>(1, x, y, 0, all);
    else
      for (index j = 0; j < n; ++j) multiply_add<Sum>(1, x, {&y(0, j), k, 1}, {&all(0, j), m, 1});
  }
  for (index j = 0; j < n; ++j)
    for (index i = 0; i < m; ++i) {
      Sum value = alpha * sums[static_cast<std::size_t>(j * m + i)];
      if (beta != 0) value += beta * static_cast<Sum>(c(i, j));
      c(i, j) = static_cast<Out>(value);
    }
}

/// The same matrix without gaps, its elements rounded to TF32: to the nearest one, of two as near
/// to the even one.
std::vector<float> rounded_to_tf32(matrix<const float> from) {
  std::vector<float> all = converted<float>(from);
  for (float& element : all) {
    auto bits = std::bit_cast<std::uint32_t>(element);
    if (std::isfinite(element)) bits += 0x0fffU + (bits >> 13 & 1U);
    if (!std::isnan(element)) bits &= ~0x1fffU;
    element = std::bit_cast<float>(bits);
  }
  return all;
}

/// What gemm, gemmBatched and gemmStridedBatched have in common. T: alpha and beta.
template <class T>
struct product {
  cublasOperation_t transa, transb;
  index m, n, k, lda, ldb, ldc;
  scalar<T> alpha, beta;
  bool tf32 = false;  ///< floats of A and B are rounded, as tensor cores need them

  index a_rows() const { return transposes(transa) ? k : m; }
  index a_cols() const { return transposes(transa) ? m : k; }
  index b_rows() const { return transposes(transb) ? n : k; }
  index b_cols() const { return transposes(transb) ? k : n; }
  bool empty() const { return m == 0 || n == 0; }
  void check(routine& c, const T* alpha_pointer, const T* beta_pointer) {
    c.is(transa, "transa").is(transb, "transb").size(m, "m").size(n, "n").size(k, "k");
    c.leading(lda, a_rows(), "lda", a_cols()).leading(ldb, b_rows(), "ldb", b_cols());
    c.leading(ldc, m, "ldc", n);
    c.pointer(alpha_pointer, "alpha").pointer(beta_pointer, "beta");
    if (c.ok() && !empty()) {
      alpha = c.value("alpha", alpha_pointer);
      beta = c.value("beta", beta_pointer);
      tf32 = tf32 || c.allows_tf32();
    }
  }
  template <class In, class Out>
  void run(const In* A, const In* B, Out* C) const {
    const matrix<const In> a = viewed(A, a_rows(), a_cols(), lda, transa);
    const matrix<const In> b = viewed(B, b_rows(), b_cols(), ldb, transb);
    if constexpr (std::is_same_v<T, float> && std::is_same_v<T, In> && std::is_same_v<T, Out>)
      if (tf32) {
        const std::vector<float> left = rounded_to_tf32(a), right = rounded_to_tf32(b);
        return multiply<float>(alpha.get(), stored(left.data(), m, k, m),
                               stored(right.data(), k, n, k), beta.get(), stored(C, m, n, ldc));
      }
    if constexpr (std::is_same_v<T, In> && std::is_same_v<T, Out> && std::is_floating_point_v<T>) {
      multiply<T>(alpha.get(), a, b, beta.get(), stored(C, m, n, ldc));
    } else {
      using sum = std::conditional_t<std::is_integral_v<T>, std::int64_t, float>;
      multiply_mixed(static_cast<sum>(alpha.get()), a, b, static_cast<sum>(beta.get()),
                     stored(C, m, n, ldc));
    }
  }
};

template <class T, class In, class Out>
cublasStatus_t gemm_strided(routine c, product<T> p, const T* alpha, const In* A, index stride_a,
                            const In* B, index stride_b, const T* beta, Out* C, index stride_c,
                            index batch_count) {
  p.check(c, alpha, beta);
  c.size(batch_count, "batch_count");
  if (!c.ok() || p.empty() || batch_count == 0) return c.status();
  c.pointer(C, "C");
  // Strides may be zero, for operands that all products share, or negative: the ends are looked at.
  for (const index i : {index{0}, batch_count - 1}) {
    c.matrix_memory("A", A + i * stride_a, p.a_rows(), p.a_cols(), p.lda);
    c.matrix_memory("B", B + i * stride_b, p.b_rows(), p.b_cols(), p.ldb);
    c.matrix_memory("C", C + i * stride_c, p.m, p.n, p.ldc);
  }
  return c.run([=] {
    for (index i = 0; i < batch_count; ++i)
      p.run(A + i * stride_a, B + i * stride_b, C + i * stride_c);
  });
}

/// The pointers in an array of the device can be looked at only when the work runs.
template <class T>
bool matrices_usable(const routine& c, const char* argument, T* const* array, index count,
                     index rows, index cols, index ld) {
  if (rows <= 0 || cols <= 0) return true;
  for (index i = 0; i < count; ++i) {
    const std::string name = std::string(argument) + "[" + std::to_string(i) + "]";
    if (!usable_on_device(c.device(), c.name(), name.c_str(), array[i],
                          static_cast<std::size_t>((cols - 1) * ld + rows) * sizeof(T)))
      return false;
  }
  return true;
}

template <class T>
cublasStatus_t gemm_batched(routine c, product<T> p, const T* alpha, const T* const A[],
                            const T* const B[], const T* beta, T* const C[], index batch_count) {
  p.check(c, alpha, beta);
  c.size(batch_count, "batch_count");
  if (!c.ok() || p.empty() || batch_count == 0) return c.status();
  c.array_memory("A", A, batch_count).array_memory("B", B, batch_count);
  c.array_memory("C", C, batch_count);
  return c.run([=] {
    if (!matrices_usable(c, "A", A, batch_count, p.a_rows(), p.a_cols(), p.lda) ||
        !matrices_usable(c, "B", B, batch_count, p.b_rows(), p.b_cols(), p.ldb) ||
        !matrices_usable(c, "C", C, batch_count, p.m, p.n, p.ldc))
      return;
    for (index i = 0; i < batch_count; ++i) p.run(A[i], B[i], C[i]);
  });
}

template <class T>
cublasStatus_t symm(routine c, cublasSideMode_t side, cublasFillMode_t uplo, index m, index n,
                    const T* alpha, const T* A, index lda, const T* B, index ldb, const T* beta,
                    T* C, index ldc) {
  const index order = side == CUBLAS_SIDE_LEFT ? m : n;
  c.is(side).is(uplo).size(m, "m").size(n, "n").leading(lda, order, "lda");
  c.leading(ldb, m, "ldb").leading(ldc, m, "ldc").pointer(alpha, "alpha").pointer(beta, "beta");
  if (!c.ok() || m == 0 || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha), b = c.value("beta", beta);
  c.matrix_memory("A", A, order, order, lda).matrix_memory("B", B, m, n, ldb);
  c.matrix_memory("C", C, m, n, ldc);
  return c.run([=] {
    const auto whole = mirrored<T>(stored(A, order, order, lda), is_lower(uplo));
    const matrix<const T> s = stored(whole.data(), order, order, order), v = stored(B, m, n, ldb);
    if (side == CUBLAS_SIDE_LEFT)
      multiply<T>(a.get(), s, v, b.get(), stored(C, m, n, ldc));
    else
      multiply<T>(a.get(), v, s, b.get(), stored(C, m, n, ldc));
  });
}

template <class T>
cublasStatus_t syrk(routine c, cublasFillMode_t uplo, cublasOperation_t trans, index n, index k,
                    const T* alpha, const T* A, index lda, const T* beta, T* C, index ldc) {
  const bool t = transposes(trans);
  c.is(uplo).is(trans, "trans").size(n, "n").size(k, "k").leading(lda, t ? k : n, "lda");
  c.leading(ldc, n, "ldc").pointer(alpha, "alpha").pointer(beta, "beta");
  if (!c.ok() || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha), b = c.value("beta", beta);
  c.matrix_memory("A", A, t ? k : n, t ? n : k, lda).matrix_memory("C", C, n, n, ldc);
  return c.run([=] {
    multiply_by_own_transpose<T>(a.get(), viewed(A, t ? k : n, t ? n : k, lda, trans), b.get(),
                                 stored(C, n, n, ldc), is_lower(uplo));
  });
}

/// trmm (C = alpha op(A) B) and trsm (op(A) X = alpha B, in place: C is B). From the right side it
/// is the same with everything transposed.
template <class T>
cublasStatus_t triangular(routine c, cublasSideMode_t side, cublasFillMode_t uplo,
                          cublasOperation_t trans, cublasDiagType_t diag, index m, index n,
                          const T* alpha, const T* A, index lda, const T* B, index ldb, T* C,
                          index ldc, bool solve) {
  const bool left = side == CUBLAS_SIDE_LEFT;
  const index order = left ? m : n;
  c.is(side).is(uplo).is(trans, "trans").is(diag).size(m, "m").size(n, "n");
  c.leading(lda, order, "lda").leading(ldb, m, "ldb").leading(ldc, m, "ldc");
  c.pointer(alpha, "alpha");
  if (!c.ok() || m == 0 || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha);
  c.matrix_memory("A", A, order, order, lda).matrix_memory("B", B, m, n, ldb);
  c.matrix_memory("C", C, m, n, ldc);
  return c.run([=] {
    for (index j = 0; j < n && B != C; ++j) std::copy(B + j * ldb, B + j * ldb + m, C + j * ldc);
    matrix<const T> view = viewed(A, order, order, lda, trans);
    matrix<T> result = stored(C, m, n, ldc);
    bool lower = is_lower(uplo, trans);
    if (!left) {
      view = view.transposed();
      result = result.transposed();
      lower = !lower;
    }
    if (solve)
      solve_triangular<T>(a.get(), view, lower, diag == CUBLAS_DIAG_UNIT, result);
    else
      multiply_triangular<T>(a.get(), view, lower, diag == CUBLAS_DIAG_UNIT, result);
  });
}

template <class T>
cublasStatus_t geam(routine c, cublasOperation_t transa, cublasOperation_t transb, index m, index n,
                    const T* alpha, const T* A, index lda, const T* beta, const T* B, index ldb,
                    T* C, index ldc) {
  const bool ta = transposes(transa), tb = transposes(transb);
  c.is(transa, "transa").is(transb, "transb").size(m, "m").size(n, "n");
  c.leading(lda, ta ? n : m, "lda").leading(ldb, tb ? n : m, "ldb").leading(ldc, m, "ldc");
  c.pointer(alpha, "alpha").pointer(beta, "beta");
  c.require(C != A || A == nullptr || (!ta && lda == ldc),
            "C may be A only where A is not transposed and lda is ldc");
  c.require(C != B || B == nullptr || (!tb && ldb == ldc),
            "C may be B only where B is not transposed and ldb is ldc");
  if (!c.ok() || m == 0 || n == 0) return c.status();
  const scalar<T> a = c.value("alpha", alpha), b = c.value("beta", beta);
  // A factor of zero on the host: the matrix is not looked at and may be null.
  const bool use_a = c.on_device() || a.get() != T(0), use_b = c.on_device() || b.get() != T(0);
  if (use_a) c.matrix_memory("A", A, ta ? n : m, ta ? m : n, lda);
  if (use_b) c.matrix_memory("B", B, tb ? n : m, tb ? m : n, ldb);
  c.matrix_memory("C", C, m, n, ldc);
  return c.run([=] {
    const T fa = a.get(), fb = b.get();
    const matrix<const T> va = viewed(A, ta ? n : m, ta ? m : n, lda, transa);
    const matrix<const T> vb = viewed(B, tb ? n : m, tb ? m : n, ldb, transb);
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        C[j * ldc + i] = (fa == T(0) ? T(0) : fa * va(i, j)) + (fb == T(0) ? T(0) : fb * vb(i, j));
  });
}

template <class T>
cublasStatus_t dgmm(routine c, cublasSideMode_t side, index m, index n, const T* A, index lda,
                    const T* x, index incx, T* C, index ldc) {
  c.is(side).size(m, "m").size(n, "n").leading(lda, m, "lda").leading(ldc, m, "ldc");
  if (!c.ok() || m == 0 || n == 0) return c.status();
  const index length = side == CUBLAS_SIDE_LEFT ? m : n;
  c.matrix_memory("A", A, m, n, lda).vector_memory("x", x, length, incx);
  c.matrix_memory("C", C, m, n, ldc);
  return c.run([=] {
    const vector<const T> v{x, length, incx};
    for (index j = 0; j < n; ++j)
      for (index i = 0; i < m; ++i)
        C[j * ldc + i] = A[j * lda + i] * v[side == CUBLAS_SIDE_LEFT ? i : j];
  });
}

template <class T>
cublasStatus_t getrf(routine c, int n, T* const A[], int lda, int* pivots, int* info,
                     int batch_count) {
  c.size(n, "n").leading(lda, n, "lda").size(batch_count, "batch_count");
  if (!c.ok() || n == 0 || batch_count == 0) return c.status();
  c.array_memory("A", A, batch_count).array_memory("info", info, batch_count);
  if (pivots != nullptr) c.array_memory("pivots", pivots, index{n} * batch_count);
  return c.run([=] {
    if (!matrices_usable(c, "A", A, batch_count, n, n, lda)) return;
    for (int i = 0; i < batch_count; ++i)
      info[i] = factorize<T>(stored(A[i], n, n, lda),
                             pivots == nullptr ? nullptr : pivots + index{i} * n);
  });
}

template <class T>
cublasStatus_t getrs(routine c, cublasOperation_t trans, int n, int nrhs, const T* const A[],
                     int lda, const int* pivots, T* const B[], int ldb, int* info,
                     int batch_count) {
  if (!c.pointer(info, "info").ok()) return c.status();
  // Here info is the host's: minus the place of the argument that is wrong, or 0.
  *info = trans != CUBLAS_OP_N && !transposes(trans) ? -1
          : n < 0                                    ? -2
          : nrhs < 0                                 ? -3
          : lda < std::max(1, n)                     ? -5
          : ldb < std::max(1, n)                     ? -8
          : batch_count < 0                          ? -10
                                                     : 0;
  c.is(trans, "trans").size(n, "n").size(nrhs, "nrhs").leading(lda, n, "lda");
  c.leading(ldb, n, "ldb").size(batch_count, "batch_count");
  if (!c.ok() || n == 0 || nrhs == 0 || batch_count == 0) return c.status();
  c.array_memory("A", A, batch_count).array_memory("B", B, batch_count);
  if (pivots != nullptr) c.array_memory("pivots", pivots, index{n} * batch_count);
  return c.run([=] {
    if (!matrices_usable(c, "A", A, batch_count, n, n, lda) ||
        !matrices_usable(c, "B", B, batch_count, n, nrhs, ldb))
      return;
    for (int i = 0; i < batch_count; ++i)
      solve_factorized<T>(stored(A[i], n, n, lda),
                          pivots == nullptr ? nullptr : pivots + index{i} * n, transposes(trans),
                          stored(B[i], n, nrhs, ldb));
  });
}

template <class T>
cublasStatus_t getri(routine c, int n, const T* const A[], int lda, const int* pivots, T* const C[],
                     int ldc, int* info, int batch_count) {
  c.size(n, "n").leading(lda, n, "lda").leading(ldc, n, "ldc").size(batch_count, "batch_count");
  if (!c.ok() || n == 0 || batch_count == 0) return c.status();
  c.array_memory("A", A, batch_count).array_memory("C", C, batch_count);
  c.array_memory("info", info, batch_count);
  if (pivots != nullptr) c.array_memory("pivots", pivots, index{n} * batch_count);
  return c.run([=] {
    if (!matrices_usable(c, "A", A, batch_count, n, n, lda) ||
        !matrices_usable(c, "C", C, batch_count, n, n, ldc))
      return;
    for (int i = 0; i < batch_count; ++i) {
      info[i] = 0;
      for (int j = n; j-- > 0;)
        if (A[i][index{j} * lda + j] == T(0)) info[i] = j + 1;
      if (info[i] != 0) continue;
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) C[i][index{j} * ldc + k] = j == k ? T(1) : T(0);
      solve_factorized<T>(stored(A[i], n, n, lda),
                          pivots == nullptr ? nullptr : pivots + index{i} * n, false,
                          stored(C[i], n, n, ldc));
    }
  });
}

cublasStatus_t gemm_ex(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
                       index m, index n, index k, const void* alpha, const void* A,
                       cudaDataType a_type, index lda, index stride_a, const void* B,
                       cudaDataType b_type, index ldb, index stride_b, const void* beta, void* C,
                       cudaDataType c_type, index ldc, index stride_c, index batch_count,
                       cublasComputeType_t compute) {
  const routine c(handle);
  if (!c.ok()) return c.status();
  return with_types(a_type, b_type, c_type, compute, [&]<class T, class In, class Out>(T, In, Out) {
    const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return gemm_strided<T>(c, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}, tf32},
                           static_cast<const T*>(alpha), static_cast<const In*>(A), stride_a,
                           static_cast<const In*>(B), stride_b, static_cast<const T*>(beta),
                           static_cast<Out*>(C), stride_c, batch_count);
  });
}

}  // namespace
}  // namespace cpu_device::blas

using namespace cpu_device::blas;
using cpu_device::cublas_call;

// --- the functions, for each element type and integer type --------------------------------------

#define CPU_DEVICE_CUBLAS(L, T, I, _64)                                                            \
  cublasStatus_t cublas##L##gemm##_64(                                                             \
      cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,         \
      const T* alpha, const T* A, I lda, const T* B, I ldb, const T* beta, T* C, I ldc) {          \
    return cublas_call<"cublas" #L "gemm" #_64>([&] {                                              \
      return gemm_strided<T>(h, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}}, alpha, A, 0, B,  \
                             0, beta, C, 0, 1);                                                    \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##gemmBatched##_64(                                                      \
      cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,         \
      const T* alpha, const T* const A[], I lda, const T* const B[], I ldb, const T* beta,         \
      T* const C[], I ldc, I batch_count) {                                                        \
    return cublas_call<"cublas" #L "gemmBatched" #_64>([&] {                                       \
      return gemm_batched<T>(h, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}}, alpha, A, B,     \
                             beta, C, batch_count);                                                \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##gemmStridedBatched##_64(                                               \
      cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,         \
      const T* alpha, const T* A, I lda, long long stride_a, const T* B, I ldb,                    \
      long long stride_b, const T* beta, T* C, I ldc, long long stride_c, I batch_count) {         \
    return cublas_call<"cublas" #L "gemmStridedBatched" #_64>([&] {                                \
      return gemm_strided<T>(h, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}}, alpha, A,        \
                             stride_a, B, stride_b, beta, C, stride_c, batch_count);               \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##symm##_64(cublasHandle_t h, cublasSideMode_t side,                     \
                                      cublasFillMode_t uplo, I m, I n, const T* alpha, const T* A, \
                                      I lda, const T* B, I ldb, const T* beta, T* C, I ldc) {      \
    return cublas_call<"cublas" #L "symm" #_64>(                                                   \
        [&] { return symm(h, side, uplo, m, n, alpha, A, lda, B, ldb, beta, C, ldc); });           \
  }                                                                                                \
  cublasStatus_t cublas##L##syrk##_64(cublasHandle_t h, cublasFillMode_t uplo,                     \
                                      cublasOperation_t trans, I n, I k, const T* alpha,           \
                                      const T* A, I lda, const T* beta, T* C, I ldc) {             \
    return cublas_call<"cublas" #L "syrk" #_64>(                                                   \
        [&] { return syrk(h, uplo, trans, n, k, alpha, A, lda, beta, C, ldc); });                  \
  }                                                                                                \
  cublasStatus_t cublas##L##trmm##_64(cublasHandle_t h, cublasSideMode_t side,                     \
                                      cublasFillMode_t uplo, cublasOperation_t trans,              \
                                      cublasDiagType_t diag, I m, I n, const T* alpha, const T* A, \
                                      I lda, const T* B, I ldb, T* C, I ldc) {                     \
    return cublas_call<"cublas" #L "trmm" #_64>([&] {                                              \
      return triangular(h, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, C, ldc, false);   \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##trsm##_64(                                                             \
      cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,     \
      cublasDiagType_t diag, I m, I n, const T* alpha, const T* A, I lda, T* B, I ldb) {           \
    return cublas_call<"cublas" #L "trsm" #_64>([&] {                                              \
      return triangular<T>(h, side, uplo, trans, diag, m, n, alpha, A, lda, B, ldb, B, ldb, true); \
    });                                                                                            \
  }                                                                                                \
  cublasStatus_t cublas##L##geam##_64(                                                             \
      cublasHandle_t h, cublasOperation_t transa, cublasOperation_t transb, I m, I n,              \
      const T* alpha, const T* A, I lda, const T* beta, const T* B, I ldb, T* C, I ldc) {          \
    return cublas_call<"cublas" #L "geam" #_64>(                                                   \
        [&] { return geam(h, transa, transb, m, n, alpha, A, lda, beta, B, ldb, C, ldc); });       \
  }                                                                                                \
  cublasStatus_t cublas##L##dgmm##_64(cublasHandle_t h, cublasSideMode_t side, I m, I n,           \
                                      const T* A, I lda, const T* x, I incx, T* C, I ldc) {        \
    return cublas_call<"cublas" #L "dgmm" #_64>(                                                   \
        [&] { return dgmm(h, side, m, n, A, lda, x, incx, C, ldc); });                             \
  }
CPU_DEVICE_CUBLAS(S, float, int, )
CPU_DEVICE_CUBLAS(D, double, int, )
CPU_DEVICE_CUBLAS(S, float, int64_t, _64)
CPU_DEVICE_CUBLAS(D, double, int64_t, _64)
#undef CPU_DEVICE_CUBLAS

#define CPU_DEVICE_CUBLAS(L, T)                                                                    \
  cublasStatus_t cublas##L##getrfBatched(cublasHandle_t h, int n, T* const A[], int lda,           \
                                         int* pivots, int* info, int batch_count) {                \
    return cublas_call<"cublas" #L "getrfBatched">(                                                \
        [&] { return getrf(h, n, A, lda, pivots, info, batch_count); });                           \
  }                                                                                                \
  cublasStatus_t cublas##L##getrsBatched(cublasHandle_t h, cublasOperation_t trans, int n,         \
                                         int nrhs, const T* const A[], int lda, const int* pivots, \
                                         T* const B[], int ldb, int* info, int batch_count) {      \
    return cublas_call<"cublas" #L "getrsBatched">(                                                \
        [&] { return getrs(h, trans, n, nrhs, A, lda, pivots, B, ldb, info, batch_count); });      \
  }                                                                                                \
  cublasStatus_t cublas##L##getriBatched(cublasHandle_t h, int n, const T* const A[], int lda,     \
                                         const int* pivots, T* const C[], int ldc, int* info,      \
                                         int batch_count) {                                        \
    return cublas_call<"cublas" #L "getriBatched">(                                                \
        [&] { return getri(h, n, A, lda, pivots, C, ldc, info, batch_count); });                   \
  }
CPU_DEVICE_CUBLAS(S, float)
CPU_DEVICE_CUBLAS(D, double)
#undef CPU_DEVICE_CUBLAS

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa,
                            cublasOperation_t transb, int m, int n, int k, const void* alpha,
                            const void* A, cudaDataType a_type, int lda, const void* B,
                            cudaDataType b_type, int ldb, const void* beta, void* C,
                            cudaDataType c_type, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t) {
  return cublas_call<"cublasGemmEx">([&] {
    return gemm_ex(handle, transa, transb, m, n, k, alpha, A, a_type, lda, 0, B, b_type, ldb, 0,
                   beta, C, c_type, ldc, 0, 1, compute);
  });
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t transa,
                                          cublasOperation_t transb, int m, int n, int k,
                                          const void* alpha, const void* A, cudaDataType a_type,
                                          int lda, long long stride_a, const void* B,
                                          cudaDataType b_type, int ldb, long long stride_b,
                                          const void* beta, void* C, cudaDataType c_type, int ldc,
                                          long long stride_c, int batch_count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  return cublas_call<"cublasGemmStridedBatchedEx">([&] {
    return gemm_ex(handle, transa, transb, m, n, k, alpha, A, a_type, lda, stride_a, B, b_type, ldb,
                   stride_b, beta, C, c_type, ldc, stride_c, batch_count, compute);
  });
}
cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t transa,
                           cublasOperation_t transb, int m, int n, int k, const __half* alpha,
                           const __half* A, int lda, const __half* B, int ldb, const __half* beta,
                           __half* C, int ldc) {
  return cublas_call<"cublasHgemm">([&] {
    return gemm_strided<__half>(handle, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}}, alpha, A,
                                0, B, 0, beta, C, 0, 1);
  });
}
cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t transa,
                                         cublasOperation_t transb, int m, int n, int k,
                                         const __half* alpha, const __half* A, int lda,
                                         long long stride_a, const __half* B, int ldb,
                                         long long stride_b, const __half* beta, __half* C, int ldc,
                                         long long stride_c, int batch_count) {
  return cublas_call<"cublasHgemmStridedBatched">([&] {
    return gemm_strided<__half>(handle, {transa, transb, m, n, k, lda, ldb, ldc, {}, {}}, alpha, A,
                                stride_a, B, stride_b, beta, C, stride_c, batch_count);
  });
}
