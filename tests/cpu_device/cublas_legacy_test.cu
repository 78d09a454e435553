// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cublas.h, the interface without handles. Plain CUDA.

#include <cublas.h>

#include <vector>

#include "conformance.hpp"

namespace {

/// Vectors and matrices in memory of cublasAlloc().
class CublasLegacy : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(cublasInit(), CUBLAS_STATUS_SUCCESS); }
  void TearDown() override {
    for (float* p : allocated_) EXPECT_EQ(cublasFree(p), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasShutdown(), CUBLAS_STATUS_SUCCESS);
  }
  float* on_device(const std::vector<float>& values) {
    float* p = nullptr;
    const int n = static_cast<int>(values.size());
    EXPECT_EQ(cublasAlloc(n, sizeof(float), reinterpret_cast<void**>(&p)), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasSetVector(n, sizeof(float), values.data(), 1, p, 1), CUBLAS_STATUS_SUCCESS);
    allocated_.push_back(p);
    return p;
  }
  static std::vector<float> from_device(const float* p, int n) {
    std::vector<float> values(static_cast<std::size_t>(n));
    EXPECT_EQ(cublasGetVector(n, sizeof(float), p, 1, values.data(), 1), CUBLAS_STATUS_SUCCESS);
    return values;
  }

 private:
  std::vector<float*> allocated_;
};

TEST_F(CublasLegacy, ReturnsWhatItComputesOfVectors) {
  const float* x = on_device({3, -4, 0, 12});
  float* y = on_device({1, 2, 3, 4});
  EXPECT_EQ(cublasSdot(4, x, 1, y, 1), 3 - 8 + 0 + 48);
  EXPECT_EQ(cublasSasum(4, x, 1), 19);
  EXPECT_EQ(cublasSnrm2(4, x, 1), 13);
  EXPECT_EQ(cublasIsamax(4, x, 1), 4);  // counted from 1
  EXPECT_EQ(cublasIsamin(4, x, 1), 3);
  cublasSaxpy(4, 2, x, 1, y, 1);
  EXPECT_EQ(from_device(y, 4), (std::vector<float>{7, -6, 3, 28}));
  cublasSscal(4, 0.5F, y, 1);
  EXPECT_EQ(from_device(y, 4), (std::vector<float>{3.5F, -3, 1.5F, 14}));
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLegacy, TakesLettersForWhatToDoWithMatrices) {
  const float* a = on_device({1, 2, 3, 4, 5, 6});  // 2 x 3: rows (1 3 5) and (2 4 6)
  const float* b = on_device({1, 0, 2, 0, 1, 1});  // 3 x 2: columns (1 0 2) and (0 1 1)
  float* c = on_device({1, 1, 1, 1});
  cublasSgemm('n', 'N', 2, 2, 3, 1, a, 2, b, 3, 10, c, 2);
  EXPECT_EQ(from_device(c, 4), (std::vector<float>{21, 24, 18, 20}));
  const float* x = on_device({1, 10});
  float* y = on_device({0, 0, 0});
  cublasSgemv('t', 2, 3, 1, a, 2, x, 1, 0, y, 1);
  EXPECT_EQ(from_device(y, 3), (std::vector<float>{21, 43, 65}));
  const float* upper = on_device({2, 99, 1, 4});  // 99 is below the diagonal
  float* z = on_device({8, 8});
  cublasStrsv('U', 'N', 'N', 2, upper, 2, z, 1);  // 2 z0 + z1 = 8, 4 z1 = 8
  EXPECT_EQ(from_device(z, 2), (std::vector<float>{3, 2}));
  float* w = on_device({3, 2});
  cublasStrmm('l', 'u', 'n', 'n', 2, 1, 10, upper, 2, w, 2);
  EXPECT_EQ(from_device(w, 2), (std::vector<float>{80, 80}));
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLegacy, KeepsTheStatusOfTheLastCallThatComputes) {
  float* c = on_device({1, 1, 1, 1});
  cublasSgemm('n', 'n', 2, 2, -1, 1, c, 2, c, 2, 0, c, 2);
  EXPECT_EQ(from_device(c, 4), (std::vector<float>{1, 1, 1, 1}));  // which is no such call
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
  cublasSgemm('n', 'n', 2, 2, -1, 1, c, 2, c, 2, 0, c, 2);
  cublasSscal(4, 3, c, 1);
  EXPECT_EQ(cublasGetError(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(from_device(c, 4), (std::vector<float>{3, 3, 3, 3}));
}

}  // namespace
