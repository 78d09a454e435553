// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/matmul_baseline.hpp"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <array>
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

/// What cuBLASLt is asked for: our row-major product, read column-major as above.
class lt_product {
 public:
  explicit lt_product(sizes s) {
    CUBLAS_CHECK(cublasLtCreate(&handle));
    CUBLAS_CHECK(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    layout(b, s.n, s.k);
    layout(a, s.k, s.m);
    layout(c, s.n, s.m);
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t most = kScratch;
    CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most));
  }
  ~lt_product() {
    cublasLtMatmulPreferenceDestroy(preference);
    for (const cublasLtMatrixLayout_t each : {a, b, c}) cublasLtMatrixLayoutDestroy(each);
    cublasLtMatmulDescDestroy(product);
    cublasLtDestroy(handle);
  }
  lt_product(const lt_product&) = delete;
  lt_product& operator=(const lt_product&) = delete;

  static constexpr std::size_t kScratch = std::size_t{32} << 20;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;

 private:
  static void layout(cublasLtMatrixLayout_t& made, int rows, int columns) {
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&made, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), rows));
  }
};

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

std::optional<float> fastest_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k) {
  const std::optional<sizes> s = sizes_of(a.size(), b.size(), m, n, k);
  if (!s) return std::nullopt;
  const device_buffer<float> device_a(a), device_b(b);
  device_buffer<float> c(m * n);
  device_buffer<unsigned char> scratch(lt_product::kScratch);
  const lt_product lt(*s);
  std::array<cublasLtMatmulHeuristicResult_t, 8> proposed{};
  int found = 0;
  CUBLAS_CHECK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.product, lt.b, lt.a, lt.c, lt.c,
                                              lt.preference, static_cast<int>(proposed.size()),
                                              proposed.data(), &found));
  const float one = 1, zero = 0;
  std::optional<float> best;
  for (int i = 0; i < found; ++i) {
    const repeated_timing samples(20);
    const float ms = time_kernel([&] {
      CUBLAS_CHECK(cublasLtMatmul(lt.handle, lt.product, &one, device_b.data(), lt.b,
                                  device_a.data(), lt.a, &zero, c.data(), lt.c, c.data(), lt.c,
                                  &proposed[static_cast<std::size_t>(i)].algo, scratch.data(),
                                  lt_product::kScratch, nullptr));
    });
    if (!best || ms < *best) best = ms;
  }
  return best;
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
