// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/cublas_check.hpp"

#include <cublasXt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>

#include "lab/cublas_handle.hpp"
#include "lab/cublasxt_handle.hpp"

namespace {

/// The sentence of the cublas_error that `action` throws.
template <class Action>
std::string failure(Action action) {
  try {
    action();
  } catch (const lab::cublas_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

template <int kFirst, int kSecond>
cublasStatus_t always(cublasStatus_t status) {
  return status;
}

/// Whether cuBLAS accepts it as a handle.
cublasStatus_t status_of(cublasHandle_t handle) {
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  return cublasGetPointerMode(handle, &mode);
}

TEST(CublasCheck, LetsSuccessPass) { EXPECT_NO_THROW(CUBLAS_CHECK(CUBLAS_STATUS_SUCCESS)); }

TEST(CublasCheck, CarriesStatusCallAndPlace) {
  const cublasHandle_t none = nullptr;
  int line = 0;
  try {
    line = __LINE__ + 1;
    CUBLAS_CHECK(status_of(none));
    FAIL() << "nothing thrown";
  } catch (const lab::cublas_error& error) {
    EXPECT_EQ(error.status(), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(error.expression(), "status_of(none)");
    EXPECT_EQ(error.file(), "cublas_check_test.cpp");
    EXPECT_EQ(error.line(), line);
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("cublas_check_test.cpp:" + std::to_string(line) +
                                 ": status_of(none) failed: CUBLAS_STATUS_NOT_INITIALIZED ("))
        << what;
    EXPECT_NE(what.find("cublasCreate"), std::string::npos) << what;
  }
}

TEST(CublasCheck, NamesEveryStatusAsTheLibraryDoes) {
  std::string words_before;
  for (const cublasStatus_t status :
       {CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED,
        CUBLAS_STATUS_INVALID_VALUE, CUBLAS_STATUS_ARCH_MISMATCH, CUBLAS_STATUS_MAPPING_ERROR,
        CUBLAS_STATUS_EXECUTION_FAILED, CUBLAS_STATUS_INTERNAL_ERROR, CUBLAS_STATUS_NOT_SUPPORTED,
        CUBLAS_STATUS_LICENSE_ERROR}) {
    EXPECT_STREQ(lab::cublas_status_name(status), cublasGetStatusName(status));
    EXPECT_NE(lab::cublas_status_words(status), words_before) << cublasGetStatusName(status);
    words_before = lab::cublas_status_words(status);
    EXPECT_FALSE(words_before.empty()) << cublasGetStatusName(status);
  }
  EXPECT_STREQ(lab::cublas_status_name(static_cast<cublasStatus_t>(2)), "unknown cuBLAS status");
}

TEST(CublasCheck, StandsInIfElseWithoutBraces) {
  bool reached_else = false;
  const bool condition = reached_else;
  if (condition)
    CUBLAS_CHECK(CUBLAS_STATUS_INVALID_VALUE);
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
  if (condition)
    CUBLAS_CHECK_NOTHROW(CUBLAS_STATUS_INVALID_VALUE);
  else
    reached_else = false;
  EXPECT_FALSE(reached_else);
}

TEST(CublasCheck, ReadsTheCallersVariablesWhateverTheirNames) {
  const cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE;
  const cublasStatus_t line = CUBLAS_STATUS_INVALID_VALUE;
  EXPECT_THROW(CUBLAS_CHECK(status), lab::cublas_error);
  EXPECT_THROW(CUBLAS_CHECK(line), lab::cublas_error);
}

TEST(CublasCheck, TakesACommaInTemplateArguments) {
  EXPECT_NO_THROW(CUBLAS_CHECK(always<1, 2>(CUBLAS_STATUS_SUCCESS)));
  EXPECT_NE(failure([] {
              CUBLAS_CHECK(always<1, 2>(CUBLAS_STATUS_NOT_SUPPORTED));
            }).find("always<1, 2>(CUBLAS_STATUS_NOT_SUPPORTED) failed"),
            std::string::npos);
}

TEST(CublasCheck, EvaluatesTheCallOnce) {
  int calls = 0;
  const auto count = [&] {
    ++calls;
    return CUBLAS_STATUS_SUCCESS;
  };
  CUBLAS_CHECK(count());
  CUBLAS_CHECK_NOTHROW(count());
  EXPECT_EQ(calls, 2);
}

TEST(CublasCheckNothrow, PrintsTheSentence) {
  ::testing::internal::CaptureStderr();
  const auto destroy = []() noexcept { CUBLAS_CHECK_NOTHROW(CUBLAS_STATUS_INVALID_VALUE); };
  destroy();
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("CUBLAS_STATUS_INVALID_VALUE failed: CUBLAS_STATUS_INVALID_VALUE ("),
            std::string::npos)
      << printed;
  EXPECT_TRUE(printed.ends_with(")\n"));
}

TEST(CublasCheckNothrow, PrintsNothingForSuccess) {
  ::testing::internal::CaptureStderr();
  CUBLAS_CHECK_NOTHROW(CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// Whether the library accepts it as a handle of cuBLAS-Xt.
cublasStatus_t status_of(cublasXtHandle_t handle) {
  int block_dim = 0;
  return cublasXtGetBlockDim(handle, &block_dim);
}

template <class Handle>
class Handles : public ::testing::Test {};
using both_libraries = ::testing::Types<lab::cublas_handle, lab::cublasxt_handle>;
TYPED_TEST_SUITE(Handles, both_libraries);

TYPED_TEST(Handles, AreHandlesForTheLibrary) {
  const TypeParam handle;
  ASSERT_NE(handle.get(), nullptr);
  EXPECT_EQ(status_of(handle.get()), CUBLAS_STATUS_SUCCESS);
  const decltype(handle.get()) converted = handle;
  EXPECT_EQ(converted, handle.get());
}

TYPED_TEST(Handles, MoveWithoutMakingOrDestroyingOne) {
  static_assert(!std::is_copy_constructible_v<TypeParam>);
  static_assert(!std::is_copy_assignable_v<TypeParam>);
  static_assert(std::is_nothrow_move_constructible_v<TypeParam>);
  static_assert(std::is_nothrow_move_assignable_v<TypeParam>);
  TypeParam first;
  const auto raw = first.get();
  TypeParam second(std::move(first));
  EXPECT_EQ(second.get(), raw);
  EXPECT_EQ(first.get(), nullptr);
  first = std::move(second);
  EXPECT_EQ(first.get(), raw);
  EXPECT_EQ(second.get(), nullptr);
  TypeParam& same = first;
  first = std::move(same);
  EXPECT_EQ(first.get(), raw);
  EXPECT_EQ(status_of(first.get()), CUBLAS_STATUS_SUCCESS);
}

#ifdef __CPU_DEVICE__
// A GPU's library may crash when it gets a handle that has been destroyed; the CPU device's reports
// it.
TYPED_TEST(Handles, AreDestroyedWithTheirOwner) {
  ::testing::internal::CaptureStderr();
  decltype(std::declval<TypeParam>().get()) raw = nullptr;
  {
    const TypeParam handle;
    raw = handle.get();
  }
  EXPECT_EQ(status_of(raw), CUBLAS_STATUS_NOT_INITIALIZED);
  {
    TypeParam handle;
    raw = handle.get();
    handle = TypeParam();
    EXPECT_EQ(status_of(raw), CUBLAS_STATUS_NOT_INITIALIZED);
    EXPECT_EQ(status_of(handle.get()), CUBLAS_STATUS_SUCCESS);
  }
  (void)::testing::internal::GetCapturedStderr();
}
#endif

}  // namespace
