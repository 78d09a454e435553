// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS-Xt: products of host matrices against their definitions, with tiles smaller than the
// matrices, on one device and on all.

#include <cublasXt.h>

#include "cublas_testing.hpp"

namespace {

using namespace cublas_testing;

/// A handle on `device_count` devices, with tiles of `block`.
class xt {
 public:
  xt(int device_count, int block) {
    EXPECT_DONE(cublasXtCreate(&handle_));
    std::vector<int> devices;
    for (int i = 0; i < device_count; ++i) devices.push_back(i);
    EXPECT_DONE(cublasXtDeviceSelect(handle_, device_count, devices.data()));
    EXPECT_DONE(cublasXtSetBlockDim(handle_, block));
  }
  ~xt() { EXPECT_DONE(cublasXtDestroy(handle_)); }
  xt(const xt&) = delete;
  xt& operator=(const xt&) = delete;
  operator cublasXtHandle_t() const { return handle_; }

 private:
  cublasXtHandle_t handle_ = nullptr;
};

int all_devices() {
  int count = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  return count;
}

template <class T>
struct xt_api;
#define XT_API(T, L)                                \
  template <>                                       \
  struct xt_api<T> {                                \
    static constexpr auto gemm = cublasXt##L##gemm; \
    static constexpr auto symm = cublasXt##L##symm; \
    static constexpr auto syrk = cublasXt##L##syrk; \
    static constexpr auto trmm = cublasXt##L##trmm; \
    static constexpr auto trsm = cublasXt##L##trsm; \
  };
XT_API(float, S)
XT_API(double, D)
#undef XT_API

template <class T>
class CublasXt : public ::testing::Test {};
using element_types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CublasXt, element_types);

constexpr cublasSideMode_t kSides[] = {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT};
constexpr int kBlock = 16;

std::size_t size(int n) { return static_cast<std::size_t>(n); }

TYPED_TEST(CublasXt, MultipliesHostMatrices) {
  using T = TypeParam;
  for (const int devices : {1, all_devices()}) {
    const xt h(devices, kBlock);
    const int shapes[][3] = {{1, 1, 1}, {16, 16, 16}, {17, 33, 40}, {50, 3, 20}};
    for (const auto& [m, n, k] : shapes)
      for (const auto ta : kOperations)
        for (const auto tb : kOperations)
          for (const double beta : {0.0, -0.5}) {
            SCOPED_TRACE(::testing::Message()
                         << devices << " devices, " << m << " x " << n << " x " << k << ", ops "
                         << ta << " " << tb << ", beta " << beta);
            const host_matrix a =
                ta == CUBLAS_OP_N ? host_matrix(m, k, m + 2, 1) : host_matrix(k, m, k + 2, 1);
            const host_matrix b =
                tb == CUBLAS_OP_N ? host_matrix(k, n, k, 2) : host_matrix(n, k, n, 2);
            host_matrix c(m, n, m + 1, 3);
            const host_matrix expected = product(2, a, ta, b, tb, beta, c);
            if (beta == 0) c = filled(c, conformance::kNan);
            const auto ra = rounded<T>(a.data), rb = rounded<T>(b.data);
            auto rc = rounded<T>(c.data);
            const T alpha = 2, t_beta = T(beta);
            EXPECT_DONE(xt_api<T>::gemm(h, ta, tb, size(m), size(n), size(k), &alpha, ra.data(),
                                        size(a.ld), rb.data(), size(b.ld), &t_beta, rc.data(),
                                        size(c.ld)));
            expect_close(rc, expected.data, sum_bound<T>(k));
          }
  }
}

TYPED_TEST(CublasXt, MultipliesMatricesOfTheDevice) {
  using T = TypeParam;
  const xt h(all_devices(), kBlock);
  const host_matrix a(40, 20, 40, 4), b(20, 30, 20, 5), c(40, 30, 40, 6);
  const host_matrix expected = product(1, a, CUBLAS_OP_N, b, CUBLAS_OP_N, 1, c);
  const device_array<T> da(rounded<T>(a.data)), dc(rounded<T>(c.data));
  const auto rb = rounded<T>(b.data);  // one operand stays on the host
  const T one = 1;
  EXPECT_DONE(xt_api<T>::gemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 40, 30, 20, &one, da.data(), 40,
                              rb.data(), 20, &one, dc.data(), 40));
  expect_close(dc.to_host(), expected.data, sum_bound<T>(20));
}

TYPED_TEST(CublasXt, MultipliesSymmetricMatrices) {
  using T = TypeParam;
  const xt h(all_devices(), kBlock);
  for (const auto& [m, n] : {std::pair<int, int>{1, 3}, {40, 17}, {33, 50}})
    for (const auto side : kSides)
      for (const auto uplo : kTriangles) {
        SCOPED_TRACE(::testing::Message()
                     << m << " x " << n << ", side " << side << ", uplo " << uplo);
        const int order = side == CUBLAS_SIDE_LEFT ? m : n;
        const host_matrix a(order, order, order + 2, 7), b(m, n, m + 1, 8), c(m, n, m, 9);
        const host_matrix s = symmetric(a, uplo);
        const host_matrix expected = side == CUBLAS_SIDE_LEFT
                                         ? product(0.5, s, CUBLAS_OP_N, b, CUBLAS_OP_N, 2, c)
                                         : product(0.5, b, CUBLAS_OP_N, s, CUBLAS_OP_N, 2, c);
        const auto ra = rounded<T>(hidden(a, uplo, CUBLAS_DIAG_NON_UNIT).data);
        const auto rb = rounded<T>(b.data);
        auto rc = rounded<T>(c.data);
        const T alpha = T(0.5), beta = 2;
        EXPECT_DONE(xt_api<T>::symm(h, side, uplo, size(m), size(n), &alpha, ra.data(), size(a.ld),
                                    rb.data(), size(b.ld), &beta, rc.data(), size(c.ld)));
        expect_close(rc, expected.data, sum_bound<T>(order));
      }
}

TYPED_TEST(CublasXt, MultipliesByTheOwnTranspose) {
  using T = TypeParam;
  const xt h(all_devices(), kBlock);
  for (const auto& [n, k] : {std::pair<int, int>{1, 1}, {40, 20}, {33, 50}})
    for (const auto uplo : kTriangles)
      for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (const double beta : {0.0, -0.5}) {
          SCOPED_TRACE(::testing::Message() << n << ", " << k << ", uplo " << uplo << ", op " << op
                                            << ", beta " << beta);
          const host_matrix a =
              op == CUBLAS_OP_N ? host_matrix(n, k, n + 1, 10) : host_matrix(k, n, k + 1, 10);
          const host_matrix c(n, n, n + 2, 11);
          const host_matrix expected = hidden(
              product(0.75, a, op, a, op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N, beta, c), uplo,
              CUBLAS_DIAG_NON_UNIT);
          const auto ra = rounded<T>(a.data);
          auto rc = rounded<T>(hidden(c, uplo, CUBLAS_DIAG_NON_UNIT).data);
          const T alpha = T(0.75), t_beta = T(beta);
          EXPECT_DONE(xt_api<T>::syrk(h, uplo, op, size(n), size(k), &alpha, ra.data(), size(a.ld),
                                      &t_beta, rc.data(), size(c.ld)));
          expect_close(rc, expected.data, sum_bound<T>(k));
        }
}

TYPED_TEST(CublasXt, MultipliesAndSolvesTriangularMatrices) {
  using T = TypeParam;
  const xt h(all_devices(), kBlock);
  for (const auto& [m, n] : {std::pair<int, int>{1, 1}, {16, 5}, {50, 40}})
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
            const auto ra = rounded<T>(hidden(a, uplo, diag).data);
            const auto rb = rounded<T>(b.data);
            auto rc = rounded<T>(filled(b, conformance::kNan).data);
            const T half = T(0.5), two = 2;
            EXPECT_DONE(xt_api<T>::trmm(h, side, uplo, op, diag, size(m), size(n), &half, ra.data(),
                                        size(a.ld), rb.data(), size(b.ld), rc.data(), size(b.ld)));
            expect_close(rc, expected.data, sum_bound<T>(order));
            EXPECT_DONE(xt_api<T>::trsm(h, side, uplo, op, diag, size(m), size(n), &two, ra.data(),
                                        size(a.ld), rc.data(), size(b.ld)));
            expect_close(rc, b.data, sum_bound<T>(order, 16));
          }
}

TEST(CublasXtHandle, KeepsItsSettings) {
  const xt h(1, 64);
  int block = 0;
  EXPECT_DONE(cublasXtGetBlockDim(h, &block));
  EXPECT_EQ(block, 64);
  EXPECT_INVALID(cublasXtSetBlockDim(h, 0));
  cublasXtPinnedMemMode_t mode = CUBLASXT_PINNING_ENABLED;
  EXPECT_DONE(cublasXtGetPinningMemMode(h, &mode));
  EXPECT_EQ(mode, CUBLASXT_PINNING_DISABLED);
  EXPECT_DONE(cublasXtSetPinningMemMode(h, CUBLASXT_PINNING_ENABLED));
  EXPECT_DONE(cublasXtGetPinningMemMode(h, &mode));
  EXPECT_EQ(mode, CUBLASXT_PINNING_ENABLED);
}

TEST(CublasXtHandle, RefusesWhatMakesNoSense) {
  const xt h(1, kBlock);
  const float one = 1;
  std::vector<float> a(16, 1.0F), c(16, 1.0F);
  EXPECT_EQ(cublasXtSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data(), 2, a.data(),
                          2, &one, c.data(), 2),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_INVALID(cublasXtSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 3, 2, 2, &one, a.data(), 2, a.data(), 2,
                               &one, c.data(), 3));
  int missing = 1000;
  cublasXtHandle_t other = nullptr;
  ASSERT_EQ(cublasXtCreate(&other), CUBLAS_STATUS_SUCCESS);
  // Documented as an invalid value; a GPU's library says that it is an internal error.
  EXPECT_NE(cublasXtDeviceSelect(other, 1, &missing), CUBLAS_STATUS_SUCCESS);
  EXPECT_DONE(cublasXtDestroy(other));
}

#ifdef __CPU_DEVICE__

TEST(CublasXtOnTheCpuDevice, SaysWhenATileDoesNotFit) {
  const xt h(all_devices(), kBlock);
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  const auto large = static_cast<int>(std::sqrt(static_cast<double>(total) / sizeof(float))) + 1;
  EXPECT_DONE(cublasXtSetBlockDim(h, large));
  const float one = 1, zero = 0;
  const std::size_t k = size(large);
  std::vector<float> a(k, 1.0F), c(4, 0.0F);
  EXPECT_EQ(cublasXtSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, k, &one, a.data(), 1, a.data(), k,
                          &zero, c.data(), 1),
            CUBLAS_STATUS_ALLOC_FAILED);
  EXPECT_EQ(cpu_device::live_allocations(), 0U);
  int device = -1;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(device, 0);  // the caller's device is current again
  cudaGetLastError();

  // No tile is larger than the matrices: small matrices work, whatever is set.
  EXPECT_DONE(cublasXtSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data(), 2, a.data(), 2,
                            &zero, c.data(), 2));
  EXPECT_EQ(c, std::vector<float>(4, 2.0F));
}

#endif

}  // namespace
