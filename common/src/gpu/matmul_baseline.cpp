// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/matmul_baseline.hpp"

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab {
namespace {

struct sizes {
  int m, n, k;
};

// cuBLAS is column-major. Read that way, our row-major C is its own transpose, and (A B) transposed
// is B transposed times A transposed: swap the operands, and all is in place. A B that is stored
// transposed has to be transposed once more.
template <class T>
float time_product(std::span<const T> a, std::span<const T> b, sizes s, cudaDataType type,
                   cublasComputeType_t compute, library_b stored) {
  const device_buffer<T> device_a(a), device_b(b);
  device_buffer<float> c(static_cast<std::size_t>(s.m) * static_cast<std::size_t>(s.n));
  const cublas_handle handle;
  const float one = 1, zero = 0;
  const bool transposed = stored == library_b::n_rows;
  const repeated_timing samples(20);
  return time_kernel([&] {
    CUBLAS_CHECK(cublasGemmEx(handle, transposed ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m,
                              s.k, &one, device_b.data(), type, transposed ? s.k : s.n,
                              device_a.data(), type, s.k, &zero, c.data(), CUDA_R_32F, s.n, compute,
                              CUBLAS_GEMM_DEFAULT));
  });
}

std::vector<__half> halves_of(std::span<const float> values) {
  std::vector<__half> halves(values.size());
  std::transform(values.begin(), values.end(), halves.begin(),
                 [](float x) { return __float2half(x); });
  return halves;
}

/// Nothing if cuBLAS, which counts in int, does not take a product of these sizes.
std::optional<sizes> sizes_of(std::size_t a, std::size_t b, std::size_t m, std::size_t n,
                              std::size_t k) {
  if (a != m * k || b != k * n)
    throw invalid_input("a matrix product needs m * k elements of A and k * n of B");
  if (std::min({m, n, k}) == 0 ||
      std::max({m, n, k}) > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return std::nullopt;
  return sizes{static_cast<int>(m), static_cast<int>(n), static_cast<int>(k)};
}

}  // namespace

std::optional<float> library_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k,
                                                 library_arithmetic arithmetic, library_b stored) {
  const std::optional<sizes> s = sizes_of(a.size(), b.size(), m, n, k);
  if (!s) return std::nullopt;
  if (arithmetic == library_arithmetic::half) {
    const std::vector<__half> half_a = halves_of(a), half_b = halves_of(b);
    return time_product<__half>(half_a, half_b, *s, CUDA_R_16F, CUBLAS_COMPUTE_32F, stored);
  }
  return time_product<float>(a, b, *s, CUDA_R_32F,
                             arithmetic == library_arithmetic::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                    : CUBLAS_COMPUTE_32F_PEDANTIC,
                             stored);
}

std::optional<float> library_matmul_milliseconds(std::span<const double> a,
                                                 std::span<const double> b, std::size_t m,
                                                 std::size_t n, std::size_t k) {
  const std::optional<sizes> s = sizes_of(a.size(), b.size(), m, n, k);
  if (!s) return std::nullopt;
  const device_buffer<double> device_a(a), device_b(b);
  device_buffer<double> c(m * n);
  const cublas_handle handle;
  const double one = 1, zero = 0;
  const repeated_timing samples(20);
  return time_kernel([&] {
    CUBLAS_CHECK(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, s->n, s->m, s->k, &one,
                             device_b.data(), s->n, device_a.data(), s->k, &zero, c.data(), s->n));
  });
}

}  // namespace lab
