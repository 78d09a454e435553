// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/host_matmul.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <limits>

#include "lab/errors.hpp"

namespace lab {
namespace {

/// cblas_sgemm of the C interface to BLAS; its enumerations are ints.
using sgemm_function = void (*)(int order, int op_a, int op_b, int m, int n, int k, float alpha,
                                const float* a, int lda, const float* b, int ldb, float beta,
                                float* c, int ldc);
constexpr int kRowMajor = 101, kNoTranspose = 111;

/// Found at run time: neither programs nor their build depend on it.
sgemm_function find_sgemm() {
  static const sgemm_function found = [] {
    void* library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = dlopen("libopenblas.so", RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library == nullptr ? nullptr : dlsym(library, "cblas_sgemm");
    return reinterpret_cast<sgemm_function>(symbol);
  }();
  return found;
}

}  // namespace

std::string host_matmul_name() { return find_sgemm() != nullptr ? "OpenBLAS" : "plain loop"; }

void host_matmul(std::span<const float> a, std::span<const float> b, std::span<float> c,
                 std::size_t m, std::size_t n, std::size_t k) {
  if (a.size() != m * k || b.size() != k * n || c.size() != m * n)
    throw invalid_input("a matrix product needs m * k elements of A, k * n of B and m * n of C");
  if (c.empty()) return;
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (find_sgemm() != nullptr && k > 0 && std::max({m, n, k}) <= kMost) {
    const int rows = static_cast<int>(m), columns = static_cast<int>(n),
              terms = static_cast<int>(k);
    find_sgemm()(kRowMajor, kNoTranspose, kNoTranspose, rows, columns, terms, 1, a.data(), terms,
                 b.data(), columns, 0, c.data(), columns);
    return;
  }
  std::fill(c.begin(), c.end(), 0.0F);
  for (std::size_t row = 0; row < m; ++row)
    for (std::size_t i = 0; i < k; ++i) {  // along the rows of B and C: they lie in memory that way
      const float factor = a[row * k + i];
      for (std::size_t column = 0; column < n; ++column)
        c[row * n + column] += factor * b[i * n + column];
    }
}

}  // namespace lab
