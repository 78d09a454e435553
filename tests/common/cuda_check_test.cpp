// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/cuda_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

/// The sentence of the cuda_error that `action` throws.
template <class Action>
std::string failure(Action action) {
  try {
    action();
  } catch (const lab::cuda_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

template <int kFirst, int kSecond>
cudaError_t always(cudaError_t status) {
  return status;
}

TEST(CudaCheck, LetsSuccessPass) {
  EXPECT_NO_THROW(CUDA_CHECK(cudaSuccess));
  EXPECT_NO_THROW(CUDA_CHECK(cudaGetLastError()));
}

TEST(CudaCheck, CarriesCodeCallAndPlace) {
  int line = 0;
  try {
    line = __LINE__ + 1;
    CUDA_CHECK(cudaSetDevice(12345));
    FAIL() << "nothing thrown";
  } catch (const lab::cuda_error& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
    EXPECT_EQ(error.expression(), "cudaSetDevice(12345)");
    EXPECT_EQ(error.file(), "cuda_check_test.cpp");
    EXPECT_EQ(error.line(), line);
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("cuda_check_test.cpp:" + std::to_string(line) +
                                 ": cudaSetDevice(12345) failed: cudaErrorInvalidDevice ("))
        << what;
  }
}

TEST(CudaCheck, SaysWhatToTryWhereSomethingCanBeDone) {
  EXPECT_TRUE(failure([] {
                CUDA_CHECK(cudaErrorMemoryAllocation);
              }).ends_with("cudaErrorMemoryAllocation (out of memory); try a smaller size"));
  const std::string plain = failure([] { CUDA_CHECK(cudaErrorOperatingSystem); });
  EXPECT_TRUE(plain.ends_with(")")) << plain;
}

TEST(CudaCheck, ClearsAnErrorThatIsNotSticky) {
  EXPECT_THROW(CUDA_CHECK(cudaSetDevice(12345)), lab::cuda_error);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(CudaCheck, StandsInIfElseWithoutBraces) {
  bool reached_else = false;
  const bool condition = reached_else;
  if (condition)
    CUDA_CHECK(cudaErrorInvalidValue);
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
  if (condition)
    CUDA_CHECK_NOTHROW(cudaErrorInvalidValue);
  else
    reached_else = false;
  EXPECT_FALSE(reached_else);
}

TEST(CudaCheck, ReadsTheCallersVariablesWhateverTheirNames) {
  const cudaError_t status = cudaErrorInvalidValue;
  const cudaError_t error = cudaErrorInvalidValue;
  const cudaError_t line = cudaErrorInvalidValue;
  EXPECT_THROW(CUDA_CHECK(status), lab::cuda_error);
  EXPECT_THROW(CUDA_CHECK(error), lab::cuda_error);
  EXPECT_THROW(CUDA_CHECK(line), lab::cuda_error);
}

TEST(CudaCheck, TakesACommaInTemplateArguments) {
  EXPECT_NO_THROW(CUDA_CHECK(always<1, 2>(cudaSuccess)));
  EXPECT_TRUE(failure([] {
                CUDA_CHECK(always<1, 2>(cudaErrorNotReady));
              }).find("always<1, 2>(cudaErrorNotReady) failed") != std::string::npos);
}

TEST(CudaCheck, EvaluatesTheCallOnce) {
  int calls = 0;
  const auto count = [&] {
    ++calls;
    return cudaSuccess;
  };
  CUDA_CHECK(count());
  CUDA_CHECK_NOTHROW(count());
  EXPECT_EQ(calls, 2);
}

TEST(CudaCheckNothrow, PrintsTheSentenceAndClearsTheError) {
  ::testing::internal::CaptureStderr();
  const auto destroy = []() noexcept { CUDA_CHECK_NOTHROW(cudaSetDevice(12345)); };
  destroy();
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("cudaSetDevice(12345) failed: cudaErrorInvalidDevice"), std::string::npos)
      << printed;
  EXPECT_TRUE(printed.ends_with("\n"));
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST(CudaCheckNothrow, DoesNotRepeatTheErrorOfAKernel) {
  EXPECT_THROW(CUDA_CHECK(cudaErrorLaunchFailure), lab::cuda_error);
  ::testing::internal::CaptureStderr();
  CUDA_CHECK_NOTHROW(cudaErrorLaunchFailure);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  CUDA_CHECK_NOTHROW(cudaErrorIllegalAddress);  // another one
  EXPECT_NE(::testing::internal::GetCapturedStderr(), "");
}

TEST(CudaCheckNothrow, PrintsNothingForSuccess) {
  ::testing::internal::CaptureStderr();
  CUDA_CHECK_NOTHROW(cudaSuccess);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
