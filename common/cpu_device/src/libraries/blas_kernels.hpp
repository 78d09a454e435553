// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The arithmetic of cuBLAS: vectors and matrices as views with strides. A transpose is a view with
// its strides swapped, and a multiplication from the right is one of transposes from the left, so
// that each operation is written once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cpu_device::blas {

using index = std::int64_t;

template <class T>
struct vector {
  T* p;
  index n, inc;
  vector(T* begin, index length, index increment)  // a negative increment walks from the far end
      : p(increment < 0 && length > 0 ? begin + (1 - length) * increment : begin),
        n(length),
        inc(increment) {}
  T& operator[](index i) const { return p[i * inc]; }
};

template <class T>
struct matrix {
  T* p;
  index rows, cols, row_step, col_step;
  T& operator()(index i, index j) const { return p[i * row_step + j * col_step]; }
  matrix transposed() const { return {p, cols, rows, col_step, row_step}; }
  matrix block(index i, index j, index m, index n) const {
    return {p + i * row_step + j * col_step, m, n, row_step, col_step};
  }
  // Implicit, as T* becomes const T*.
  operator matrix<const T>() const {  // NOLINT(google-explicit-constructor)
    return {p, rows, cols, row_step, col_step};
  }
};

/// A column-major matrix.
template <class T>
matrix<T> stored(T* p, index rows, index cols, index leading) {
  return {p, rows, cols, 1, leading};
}

// --- Level 1 ------------------------------------------------------------------------------------

/// The sum of term(0) ... term(n - 1) in T, as a GPU's threads sum: partial sums, then their sum.
template <class T, class Term>
T sum(index n, Term term) {
  constexpr int kLanes = 32;
  T lanes[kLanes] = {};
  index i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  for (; i < n; ++i) lanes[i % kLanes] += term(i);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

template <class T>
T dot(vector<const T> x, vector<const T> y) {
  if (x.inc == 1 && y.inc == 1) return sum<T>(x.n, [=](index i) { return x.p[i] * y.p[i]; });
  return sum<T>(x.n, [=](index i) { return x[i] * y[i]; });
}

/// Scaled by the largest element, so that no square overflows or vanishes.
template <class T>
T norm(vector<const T> x) {
  T largest = 0;
  for (index i = 0; i < x.n; ++i) {
    if (std::isnan(x[i])) return x[i];
    largest = std::max(largest, std::fabs(x[i]));
  }
  if (largest == 0 || std::isinf(largest)) return largest;
  const T squares = sum<T>(x.n, [=](index i) { return (x[i] / largest) * (x[i] / largest); });
  return largest * std::sqrt(squares);
}

/// The 1-based place of the first largest (smallest) magnitude.
template <class T>
index extreme(vector<const T> x, bool largest) {
  index at = 0;
  for (index i = 1; i < x.n; ++i) {
    const T a = std::fabs(x[i]), b = std::fabs(x[at]);
    if (largest ? a > b : a < b) at = i;
  }
  return at + 1;
}

/// y = beta y; beta = 0 does not read y.
template <class T>
void scale(vector<T> y, T beta) {
  if (beta == T(1)) return;
  for (index i = 0; i < y.n; ++i) y[i] = beta == T(0) ? T(0) : beta * y[i];
}

template <class T>
void rotation(T& a, T& b, T& c, T& s) {
  const T roe = std::fabs(a) > std::fabs(b) ? a : b;
  const T size = std::fabs(a) + std::fabs(b);
  if (size == 0) {
    c = 1;
    s = a = b = 0;
    return;
  }
  const T r =
      std::copysign(size * std::sqrt((a / size) * (a / size) + (b / size) * (b / size)), roe);
  c = a / r;
  s = b / r;
  T z = 1;
  if (std::fabs(a) > std::fabs(b))
    z = s;
  else if (c != 0)
    z = 1 / c;
  a = r;
  b = z;
}

// --- Level 2 ------------------------------------------------------------------------------------

/// y += alpha A x
template <class T>
void multiply_add(T alpha, matrix<const T> a, vector<const T> x, vector<T> y) {
  if (a.col_step == 1 && a.row_step != 1) {  // rows lie together: a dot product for each
    for (index i = 0; i < a.rows; ++i) y[i] += alpha * dot<T>({&a(i, 0), a.cols, 1}, x);
    return;
  }
  for (index j = 0; j < a.cols; ++j) {
    const T factor = alpha * x[j];
    for (index i = 0; i < a.rows; ++i) y[i] += factor * a(i, j);
  }
}

/// x = A x for a triangular A
template <class T>
void multiply_triangular(matrix<const T> a, bool lower, bool unit, vector<T> x) {
  const index n = a.rows;
  for (index step = 0; step < n; ++step) {
    const index j = lower ? n - 1 - step : step;
    const T factor = x[j];
    for (index i = lower ? j + 1 : 0; i < (lower ? n : j); ++i) x[i] += factor * a(i, j);
    if (!unit) x[j] = factor * a(j, j);
  }
}

/// Solves A x = b for a triangular A; x holds b before.
template <class T>
void solve_triangular(matrix<const T> a, bool lower, bool unit, vector<T> x) {
  const index n = a.rows;
  for (index step = 0; step < n; ++step) {
    const index j = lower ? step : n - 1 - step;
    if (!unit) x[j] /= a(j, j);
    const T factor = x[j];
    for (index i = lower ? j + 1 : 0; i < (lower ? n : j); ++i) x[i] -= factor * a(i, j);
  }
}

// --- Level 3 ------------------------------------------------------------------------------------

template <class T>
void scale(matrix<T> c, T beta) {
  for (index j = 0; j < c.cols; ++j) scale<T>(vector<T>{&c(0, j), c.rows, c.row_step}, beta);
}

/// C += alpha A B by OpenBLAS, where it was found and takes such views; false if not.
bool library_multiply_add(float alpha, matrix<const float> a, matrix<const float> b,
                          matrix<float> c);
bool library_multiply_add(double alpha, matrix<const double> a, matrix<const double> b,
                          matrix<double> c);

/// C = alpha A B + beta C; beta = 0 does not read C, alpha = 0 reads neither A nor B.
template <class T>
void multiply(T alpha, matrix<const T> a, matrix<const T> b, T beta, matrix<T> c) {
  if (c.rows == 0 || c.cols == 0) return;
  scale(c, beta);
  if (alpha == T(0) || a.cols == 0) return;
  if (c.row_step != 1) {  // (A B) transposed is B transposed times A transposed
    std::swap(a, b);
    a = a.transposed();
    b = b.transposed();
    c = c.transposed();
  }
  if (library_multiply_add(alpha, a, b, c)) return;
  for (index j = 0; j < c.cols; ++j)
    multiply_add<T>(alpha, a, {&b(0, j), b.rows, b.row_step}, {&c(0, j), c.rows, c.row_step});
}

constexpr index kBlock = 64;

/// B = alpha A B, for a triangular A. Blocks on the diagonal by substitution, others by multiply().
template <class T>
void multiply_triangular(T alpha, matrix<const T> a, bool lower, bool unit, matrix<T> b) {
  const index n = a.rows;
  scale(b, alpha);
  if (alpha == T(0)) return;
  const index blocks = (n + kBlock - 1) / kBlock;
  for (index step = 0; step < blocks; ++step) {
    const index first = (lower ? blocks - 1 - step : step) * kBlock;
    const index size = std::min(kBlock, n - first);
    const matrix<T> mine = b.block(first, 0, size, b.cols);
    for (index j = 0; j < b.cols; ++j)
      multiply_triangular<T>(a.block(first, first, size, size), lower, unit,
                             {&mine(0, j), size, mine.row_step});
    const index from = lower ? 0 : first + size, count = lower ? first : n - first - size;
    if (count > 0)
      multiply<T>(T(1), a.block(first, from, size, count), b.block(from, 0, count, b.cols), T(1),
                  mine);
  }
}

/// Solves A X = alpha B for a triangular A; X takes the place of B.
template <class T>
void solve_triangular(T alpha, matrix<const T> a, bool lower, bool unit, matrix<T> b) {
  const index n = a.rows;
  scale(b, alpha);
  if (alpha == T(0)) return;
  const index blocks = (n + kBlock - 1) / kBlock;
  for (index step = 0; step < blocks; ++step) {
    const index first = (lower ? step : blocks - 1 - step) * kBlock;
    const index size = std::min(kBlock, n - first);
    const matrix<T> mine = b.block(first, 0, size, b.cols);
    for (index j = 0; j < b.cols; ++j)
      solve_triangular<T>(a.block(first, first, size, size), lower, unit,
                          {&mine(0, j), size, mine.row_step});
    const index from = lower ? first + size : 0, count = lower ? n - first - size : first;
    if (count > 0)
      multiply<T>(T(-1), a.block(from, first, count, size), mine, T(1),
                  b.block(from, 0, count, b.cols));
  }
}

/// The whole of a symmetric matrix of which one triangle is stored.
template <class T>
std::vector<T> mirrored(matrix<const T> a, bool lower) {
  std::vector<T> whole(static_cast<std::size_t>(a.rows * a.rows));
  for (index j = 0; j < a.rows; ++j)
    for (index i = 0; i < a.rows; ++i)
      whole[static_cast<std::size_t>(j * a.rows + i)] =
          (i >= j) == lower || i == j ? a(i, j) : a(j, i);
  return whole;
}

/// One triangle of C = alpha A A^T + beta C.
template <class T>
void multiply_by_own_transpose(T alpha, matrix<const T> a, T beta, matrix<T> c, bool lower) {
  const index n = c.rows;
  for (index first = 0; first < n; first += kBlock) {
    const index size = std::min(kBlock, n - first);
    const matrix<const T> right = a.block(first, 0, size, a.cols).transposed();
    std::vector<T> square(static_cast<std::size_t>(size * size));
    multiply<T>(alpha, a.block(first, 0, size, a.cols), right, T(0),
                stored(square.data(), size, size, size));
    for (index j = 0; j < size; ++j)
      for (index i = lower ? j : 0; i < (lower ? size : j + 1); ++i) {
        T& element = c(first + i, first + j);
        element =
            square[static_cast<std::size_t>(j * size + i)] + (beta == T(0) ? T(0) : beta * element);
      }
    const index from = lower ? first + size : 0, count = lower ? n - first - size : first;
    if (count > 0)
      multiply<T>(alpha, a.block(from, 0, count, a.cols), right, beta,
                  c.block(from, first, count, size));
  }
}

// --- linear systems -----------------------------------------------------------------------------

/// A = P L U by rows exchanged for the largest pivot, in place; no exchanges where `pivots` is
/// null. Returns 0, or the 1-based place of the first pivot that is exactly zero.
template <class T>
int factorize(matrix<T> a, int* pivots) {
  int info = 0;
  const index n = a.rows;
  for (index j = 0; j < n; ++j) {
    index pivot = j;
    if (pivots != nullptr) {
      for (index i = j + 1; i < n; ++i)
        if (std::fabs(a(i, j)) > std::fabs(a(pivot, j))) pivot = i;
      pivots[j] = static_cast<int>(pivot + 1);
    }
    if (a(pivot, j) == T(0)) {
      if (info == 0) info = static_cast<int>(j + 1);
      continue;
    }
    if (pivot != j)
      for (index k = 0; k < n; ++k) std::swap(a(j, k), a(pivot, k));
    for (index i = j + 1; i < n; ++i) a(i, j) /= a(j, j);
    for (index k = j + 1; k < n; ++k) {
      const T factor = a(j, k);
      for (index i = j + 1; i < n; ++i) a(i, k) -= a(i, j) * factor;
    }
  }
  return info;
}

/// Solves op(A) X = B with the factors of factorize(); X takes the place of B.
template <class T>
void solve_factorized(matrix<const T> lu, const int* pivots, bool transposed, matrix<T> b) {
  const auto exchange = [&](index i) {
    const index other = pivots[i] - 1;
    if (other != i)
      for (index k = 0; k < b.cols; ++k) std::swap(b(i, k), b(other, k));
  };
  if (!transposed) {
    for (index i = 0; pivots != nullptr && i < lu.rows; ++i) exchange(i);
    solve_triangular<T>(T(1), lu, true, true, b);
    solve_triangular<T>(T(1), lu, false, false, b);
  } else {
    solve_triangular<T>(T(1), lu.transposed(), true, false, b);
    solve_triangular<T>(T(1), lu.transposed(), false, true, b);
    for (index i = lu.rows; pivots != nullptr && i-- > 0;) exchange(i);
  }
}

}  // namespace cpu_device::blas
