// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuBLAS: handles, copies, pointer modes, streams, and what happens with wrong arguments.

#include "cublas_testing.hpp"

namespace {

using namespace cublas_testing;

TEST(CublasHandle, KeepsItsSettings) {
  const blas h;
  cublasPointerMode_t pointers = CUBLAS_POINTER_MODE_DEVICE;
  EXPECT_DONE(cublasGetPointerMode(h, &pointers));
  EXPECT_EQ(pointers, CUBLAS_POINTER_MODE_HOST);
  EXPECT_DONE(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
  EXPECT_DONE(cublasGetPointerMode(h, &pointers));
  EXPECT_EQ(pointers, CUBLAS_POINTER_MODE_DEVICE);

  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_ALLOWED;
  EXPECT_DONE(cublasGetAtomicsMode(h, &atomics));
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_NOT_ALLOWED);
  EXPECT_DONE(cublasSetAtomicsMode(h, CUBLAS_ATOMICS_ALLOWED));
  EXPECT_DONE(cublasGetAtomicsMode(h, &atomics));
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_ALLOWED);

  cublasMath_t math = CUBLAS_PEDANTIC_MATH;
  EXPECT_DONE(cublasGetMathMode(h, &math));
  EXPECT_EQ(math, CUBLAS_DEFAULT_MATH);
  EXPECT_DONE(cublasSetMathMode(h, CUBLAS_TF32_TENSOR_OP_MATH));
  EXPECT_DONE(cublasGetMathMode(h, &math));
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);

  cudaStream_t stream = nullptr, found = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  EXPECT_DONE(cublasSetStream(h, stream));
  EXPECT_DONE(cublasGetStream(h, &found));
  EXPECT_EQ(found, stream);
  EXPECT_DONE(cublasSetStream(h, nullptr));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

#ifdef __CPU_DEVICE__
TEST(CublasHandle, IsCountedUntilItIsDestroyed) {
  const std::size_t before = cpu_device::live_objects(cpu_device::object_kind::library_handle);
  cublasHandle_t first = nullptr, second = nullptr;
  EXPECT_DONE(cublasCreate(&first));
  EXPECT_DONE(cublasCreate(&second));
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::library_handle), before + 2);
  EXPECT_DONE(cublasDestroy(first));
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::library_handle), before + 1);
  EXPECT_EQ(cublasDestroy(first), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::library_handle), before + 1);
  EXPECT_DONE(cublasDestroy(second));
  EXPECT_EQ(cpu_device::live_objects(cpu_device::object_kind::library_handle), before);
}
#endif

TEST(CublasHandle, IsAskedForByEveryCall) {
  float x = 0;
  int i = 0;
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetStream(nullptr, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetPointerMode(nullptr, CUBLAS_POINTER_MODE_HOST), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSscal(nullptr, 1, &x, &x, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasIsamax(nullptr, 1, &x, 1, &i), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSgemv(nullptr, CUBLAS_OP_N, 1, 1, &x, &x, 1, &x, 1, &x, &x, 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &x, &x, 1, &x, 1, &x, &x, 1),
            CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST(CublasHandle, HasNamesForStatuses) {
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE");
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_SUCCESS), "CUBLAS_STATUS_SUCCESS");
  EXPECT_NE(std::string(cublasGetStatusString(CUBLAS_STATUS_NOT_SUPPORTED)), "");
  int version = 0;
  const blas h;
  EXPECT_DONE(cublasGetVersion(h, &version));
  EXPECT_GE(version, 110000);
}

TEST(CublasCopies, MoveStridedVectorsAndMatrices) {
  const std::vector<int> from = {1, 2, 3, 4, 5, 6, 7, 8};
  const device_array<int> device(8, -1);
  EXPECT_DONE(cublasSetVector(4, sizeof(int), from.data(), 2, device.data(), 1));
  EXPECT_EQ(device.to_host(), (std::vector<int>{1, 3, 5, 7, -1, -1, -1, -1}));
  std::vector<int> to(8, 0);
  EXPECT_DONE(cublasGetVector(3, sizeof(int), device.data(), 1, to.data(), 3));
  EXPECT_EQ(to, (std::vector<int>{1, 0, 0, 3, 0, 0, 5, 0}));
  // 2 x 3 of a matrix with 2 rows, into one with 2 rows of 4.
  const device_array<int> matrix(12, -1);
  EXPECT_DONE(cublasSetMatrix(2, 3, sizeof(int), from.data(), 2, matrix.data(), 4));
  EXPECT_EQ(matrix.to_host(), (std::vector<int>{1, 2, -1, -1, 3, 4, -1, -1, 5, 6, -1, -1}));
  std::vector<int> back(6, 0);
  EXPECT_DONE(cublasGetMatrix(2, 3, sizeof(int), matrix.data(), 4, back.data(), 2));
  EXPECT_EQ(back, (std::vector<int>{1, 2, 3, 4, 5, 6}));
  EXPECT_INVALID(cublasSetVector(4, 0, from.data(), 1, device.data(), 1));
  EXPECT_INVALID(cublasSetVector(4, sizeof(int), from.data(), 0, device.data(), 1));
  EXPECT_INVALID(cublasSetMatrix(2, -3, sizeof(int), from.data(), 2, matrix.data(), 4));
}

TEST(CublasCopies, WorkInAStream) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  float* host = nullptr;
  ASSERT_EQ(cudaMallocHost(&host, 8 * sizeof(float)), cudaSuccess);
  std::fill(host, host + 8, 2.0F);
  const device_array<float> x(4, 1.0F);
  {
    const blas h;
    EXPECT_DONE(cublasSetStream(h, stream));
    const float alpha = 3;
    EXPECT_DONE(cublasSetVectorAsync(4, sizeof(float), host, 1, x.data(), 1, stream));
    EXPECT_DONE(cublasSscal(h, 4, &alpha, x.data(), 1));
    EXPECT_DONE(cublasGetVectorAsync(4, sizeof(float), x.data(), 1, host + 4, 1, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(std::vector<float>(host + 4, host + 8), std::vector<float>(4, 6.0F));
  }
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CublasPointerMode, TakesFactorsAndLeavesResultsOnTheDevice) {
  const blas h;
  const device_array<float> x(std::vector<float>{1, 2, 3}), factor(1, 2.0F), result(1, 0.0F);
  const device_array<int> place(1, 0);
  EXPECT_DONE(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
  EXPECT_DONE(cublasSscal(h, 3, factor.data(), x.data(), 1));
  EXPECT_DONE(cublasSdot(h, 3, x.data(), 1, x.data(), 1, result.data()));
  EXPECT_DONE(cublasIsamax(h, 3, x.data(), 1, place.data()));
  EXPECT_EQ(x.to_host(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(result.to_host()[0], 56);
  EXPECT_EQ(place.to_host()[0], 3);
  // A result of one call is the factor of the next, and the host never waits.
  EXPECT_DONE(cublasSscal(h, 3, result.data(), x.data(), 1));
  EXPECT_EQ(x.to_host(), (std::vector<float>{112, 224, 336}));
}

#ifdef __CPU_DEVICE__

// The documented statuses. A GPU's library does not check all of these arguments, and dereferences
// some null pointers.

TEST(CublasArguments, AreCheckedInLevel1) {
  const blas h;
  const device_array<float> x(4, 1.0F);
  EXPECT_INVALID(cublasSdot(h, 4, x.data(), 1, x.data(), 1, nullptr));
  EXPECT_INVALID(cublasSnrm2(h, 4, x.data(), 1, nullptr));
  EXPECT_INVALID(cublasIsamax(h, 4, x.data(), 1, nullptr));
}

TEST(CublasArguments, AreCheckedInLevel2) {
  const blas h;
  const device_array<float> a(16, 1.0F), x(4, 1.0F), y(4, 1.0F);
  const float one = 1;
  const auto gemv = [&](cublasOperation_t op, int m, int n, const float* alpha, int lda, int incx,
                        const float* beta, int incy) {
    return cublasSgemv(h, op, m, n, alpha, a.data(), lda, x.data(), incx, beta, y.data(), incy);
  };
  EXPECT_DONE(gemv(CUBLAS_OP_N, 3, 4, &one, 4, 1, &one, 1));
  EXPECT_INVALID(gemv(static_cast<cublasOperation_t>(9), 3, 4, &one, 4, 1, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, -1, 4, &one, 4, 1, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, -1, &one, 4, 1, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, 4, &one, 2, 1, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, 4, &one, 4, 0, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, 4, &one, 4, 1, &one, 0));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, 4, nullptr, 4, 1, &one, 1));
  EXPECT_INVALID(gemv(CUBLAS_OP_N, 3, 4, &one, 4, 1, nullptr, 1));
  EXPECT_INVALID(cublasStrsv(h, static_cast<cublasFillMode_t>(9), CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4,
                             a.data(), 4, x.data(), 1));
  EXPECT_INVALID(cublasStrsv(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 4, a.data(),
                             3, x.data(), 1));
  EXPECT_INVALID(cublasSger(h, 4, 4, &one, x.data(), 1, y.data(), 1, a.data(), 3));
}

TEST(CublasArguments, AreCheckedInLevel3) {
  const blas h;
  const device_array<float> a(16, 1.0F), b(16, 1.0F), c(16, 1.0F);
  const float one = 1;
  const auto gemm = [&](cublasOperation_t ta, int m, int n, int k, int lda, int ldb, int ldc) {
    return cublasSgemm(h, ta, CUBLAS_OP_N, m, n, k, &one, a.data(), lda, b.data(), ldb, &one,
                       c.data(), ldc);
  };
  EXPECT_DONE(gemm(CUBLAS_OP_N, 3, 2, 4, 3, 4, 3));
  EXPECT_DONE(gemm(CUBLAS_OP_T, 3, 2, 4, 4, 4, 3));
  EXPECT_INVALID(gemm(static_cast<cublasOperation_t>(9), 3, 2, 4, 3, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, -3, 2, 4, 3, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, 3, -2, 4, 3, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, 3, 2, -4, 3, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, 3, 2, 4, 2, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_T, 3, 2, 4, 3, 4, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, 3, 2, 4, 3, 3, 3));
  EXPECT_INVALID(gemm(CUBLAS_OP_N, 3, 2, 4, 3, 4, 2));
  EXPECT_DONE(gemm(CUBLAS_OP_N, 0, 2, 4, 1, 4, 1));
  EXPECT_INVALID(cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, nullptr, a.data(), 2, b.data(),
                             2, &one, c.data(), 2));
  EXPECT_INVALID(cublasStrsm(h, static_cast<cublasSideMode_t>(9), CUBLAS_FILL_MODE_LOWER,
                             CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 2, 2, &one, a.data(), 2, b.data(), 2));
  EXPECT_INVALID(cublasSsyrk(h, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, 4, 2, &one, a.data(), 3, &one,
                             c.data(), 4));
  EXPECT_INVALID(cublasSgetrfBatched(h, -1, nullptr, 1, nullptr, nullptr, 1));
}

// What a GPU does not survive, or does not notice.

TEST(CublasOnTheCpuDevice, RunsAsLateAsTheStreamAllows) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  {
    const blas h;
    const device_array<float> x(2, 1.0F);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_DONE(cublasSetStream(h, stream));
    float alpha = 3;
    EXPECT_DONE(cublasSscal(h, 2, &alpha, x.data(), 1));
    alpha = 100;  // taken at the call
    float early = 0;
    EXPECT_EQ(cudaMemcpy(&early, x.data(), sizeof early, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(early, 1);  // the host has not waited for the stream
    float sum = 0;
    EXPECT_DONE(cublasSasum(h, 2, x.data(), 1, &sum));  // a result on the host waits
    EXPECT_EQ(sum, 6);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}

/// The report of a call that must fail, and break the device, which is then reset.
std::string report_of(const std::function<cublasStatus_t(cublasHandle_t)>& call) {
  cublasHandle_t h = nullptr;
  EXPECT_DONE(cublasCreate(&h));
  const auto before = cpu_device::report_count();
  EXPECT_EQ(call(h), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_DONE(cublasDestroy(h));
  return cpu_device::last_report();
}

TEST(CublasOnTheCpuDevice, ReportsPointersThatTheDeviceCannotFollow) {
  std::vector<float> host(4, 1.0F);
  const float one = 1;
  std::string text =
      report_of([&](cublasHandle_t h) { return cublasSscal(h, 4, &one, host.data(), 1); });
  EXPECT_NE(text.find("cublasSscal: x is a host pointer"), std::string::npos) << text;
  text = report_of([&](cublasHandle_t h) { return cublasSscal(h, 4, &one, nullptr, 1); });
  EXPECT_NE(text.find("null pointer"), std::string::npos) << text;
  text = report_of([&](cublasHandle_t h) {
    float* gone = nullptr;
    EXPECT_EQ(cudaMalloc(&gone, 16), cudaSuccess);
    EXPECT_EQ(cudaFree(gone), cudaSuccess);
    return cublasSscal(h, 4, &one, gone, 1);
  });
  EXPECT_NE(text.find("freed"), std::string::npos) << text;
  text = report_of([&](cublasHandle_t h) {
    float* x = nullptr;
    EXPECT_EQ(cudaMalloc(&x, 16), cudaSuccess);
    EXPECT_DONE(cublasSetPointerMode(h, CUBLAS_POINTER_MODE_DEVICE));
    return cublasSscal(h, 4, &one, x, 1);
  });
  EXPECT_NE(text.find("alpha is a host pointer"), std::string::npos) << text;
  text = report_of([&](cublasHandle_t h) {  // a pointer of the host inside an array of the device
    float** list = nullptr;
    EXPECT_EQ(cudaMalloc(&list, sizeof(float*)), cudaSuccess);
    int* info = nullptr;
    EXPECT_EQ(cudaMalloc(&info, sizeof(int)), cudaSuccess);
    float* const wrong = host.data();
    EXPECT_EQ(cudaMemcpy(list, &wrong, sizeof wrong, cudaMemcpyHostToDevice), cudaSuccess);
    return cublasSgetrfBatched(h, 2, list, 2, nullptr, info, 1);
  });
  EXPECT_NE(text.find("A[0] is a host pointer"), std::string::npos) << text;
}

TEST(CublasOnTheCpuDevice, ReportsMemoryThatIsTooShort) {
  const float one = 1;
  const auto report_of_size = [&](int m, int n) {
    return report_of([&](cublasHandle_t h) {
      float* a = nullptr;
      EXPECT_EQ(cudaMalloc(&a, 6 * sizeof(float)), cudaSuccess);
      return cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, m, 2, n, &one, a, 3, a, 3, &one, a, 3);
    });
  };
  std::string text = report_of_size(2, 3);
  EXPECT_NE(text.find("A has only 24 bytes left"), std::string::npos) << text;
  EXPECT_NE(text.find("the call needs 32"), std::string::npos) << text;  // (3 - 1) * 3 + 2 floats
  // A matrix of 3 x 2 would fit: (2 - 1) * 3 + 3 floats.
  EXPECT_NE(text.find("swap its numbers of rows and columns; then it would need 24"),
            std::string::npos)
      << text;
  text = report_of_size(3, 3);
  EXPECT_NE(text.find("the call needs 36"), std::string::npos) << text;
  EXPECT_EQ(text.find("swap"), std::string::npos) << text;
}

TEST(CublasOnTheCpuDevice, SaysWhereALeadingDimensionFitsTheTranspose) {
  const blas h;
  const device_array<float> a(15, 1.0F);
  const float one = 1;
  const auto gemv = [&](int m, int n, int lda) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(
        cublasSgemv(h, CUBLAS_OP_N, m, n, &one, a.data(), lda, a.data(), 1, &one, a.data(), 1),
        CUBLAS_STATUS_INVALID_VALUE);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(gemv(5, 3, 3).find("columns were swapped"), std::string::npos);
  EXPECT_EQ(gemv(5, 3, 2).find("swapped"), std::string::npos);
}

TEST(CublasOnTheCpuDevice, ReportsAResultOnTheDeviceInHostMode) {
  const blas h;
  const device_array<float> x(4, 1.0F);
  const auto before = cpu_device::report_count();
  EXPECT_EQ(cublasSdot(h, 4, x.data(), 1, x.data(), 1, x.data()), CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("CUBLAS_POINTER_MODE_HOST"), std::string::npos);
}

TEST(CublasOnTheCpuDevice, KnowsThatAHandleIsGone) {
  cublasHandle_t h = nullptr;
  ASSERT_EQ(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
  EXPECT_DONE(cublasDestroy(h));
  EXPECT_EQ(cublasDestroy(h), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSetStream(h, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST(CublasOnTheCpuDevice, BelongsToTheDeviceOfItsHandle) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  if (count < 2) GTEST_SKIP() << "needs two devices";
  const device_array<float> x(4, 1.0F);
  const blas h;
  const float one = 1;
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  EXPECT_EQ(cublasSscal(h, 4, &one, x.data(), 1), CUBLAS_STATUS_EXECUTION_FAILED);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_DONE(cublasSscal(h, 4, &one, x.data(), 1));
}

#endif

}  // namespace
