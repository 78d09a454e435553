// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/nccl_check.hpp"

#include <gtest/gtest.h>
#include <nccl.h>

#include <set>
#include <string>

namespace {

/// The sentence of the nccl_error that `action` throws.
template <class Action>
std::string failure(Action action) {
  try {
    action();
  } catch (const lab::nccl_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

template <int kFirst, int kSecond>
ncclResult_t always(ncclResult_t result) {
  return result;
}

TEST(NcclCheck, LetsSuccessPass) { EXPECT_NO_THROW(NCCL_CHECK(ncclSuccess)); }

TEST(NcclCheck, CarriesResultCallAndPlace) {
  int line = 0;
  try {
    line = __LINE__ + 1;
    NCCL_CHECK(ncclCommInitAll(nullptr, 1, nullptr));
    FAIL() << "nothing thrown";
  } catch (const lab::nccl_error& error) {
    EXPECT_EQ(error.result(), ncclInvalidArgument);
    EXPECT_EQ(error.expression(), "ncclCommInitAll(nullptr, 1, nullptr)");
    EXPECT_EQ(error.file(), "nccl_check_test.cpp");
    EXPECT_EQ(error.line(), line);
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("nccl_check_test.cpp:" + std::to_string(line) +
                                 ": ncclCommInitAll(nullptr, 1, nullptr) failed: "
                                 "ncclInvalidArgument ("))
        << what;
  }
}

TEST(NcclCheck, HasANameAndWordsForEveryResult) {
  std::set<std::string> names, words;
  for (int result = ncclSuccess; result <= ncclInProgress; ++result) {
    names.insert(lab::nccl_result_name(static_cast<ncclResult_t>(result)));
    words.insert(lab::nccl_result_words(static_cast<ncclResult_t>(result)));
  }
  EXPECT_EQ(names.size(), 8U);
  EXPECT_EQ(words.size(), 8U);
  EXPECT_STREQ(lab::nccl_result_name(ncclRemoteError), "ncclRemoteError");
  EXPECT_STREQ(lab::nccl_result_name(static_cast<ncclResult_t>(99)), "unknown NCCL result");
}

TEST(NcclCheck, StandsInIfElseWithoutBraces) {
  bool reached_else = false;
  const bool condition = reached_else;
  if (condition)
    NCCL_CHECK(ncclInvalidUsage);
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
  if (condition)
    NCCL_CHECK_NOTHROW(ncclInvalidUsage);
  else
    reached_else = false;
  EXPECT_FALSE(reached_else);
}

TEST(NcclCheck, TakesACommaInTemplateArguments) {
  EXPECT_NO_THROW(NCCL_CHECK(always<1, 2>(ncclSuccess)));
  EXPECT_NE(
      failure([] { NCCL_CHECK(always<1, 2>(ncclRemoteError)); }).find("always<1, 2>(ncclRemote"),
      std::string::npos);
}

TEST(NcclCheckNothrow, PrintsTheSentence) {
  ::testing::internal::CaptureStderr();
  const auto destroy = []() noexcept { NCCL_CHECK_NOTHROW(ncclInvalidUsage); };
  destroy();
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(printed.find("ncclInvalidUsage failed: ncclInvalidUsage ("), std::string::npos)
      << printed;
  EXPECT_TRUE(printed.ends_with(")\n"));
}

TEST(NcclCheckNothrow, PrintsNothingForSuccess) {
  ::testing::internal::CaptureStderr();
  NCCL_CHECK_NOTHROW(ncclSuccess);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
