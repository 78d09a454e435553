// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/refuse_if.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

TEST(RefuseIf, SaysAllPartsInTheirOrder) {
  const std::string name = "b";
  try {
    lab::refuse_if(true, "zeta: ", name, " has ", std::size_t{3}, " terms and -", 0.5, ", not ",
                   -2);
    FAIL() << "nothing was thrown";
  } catch (const lab::invalid_input& error) {
    EXPECT_STREQ(error.what(), "zeta: b has 3 terms and -0.500000, not -2");
  }
}

TEST(RefuseIf, LetsPassWhatIsRight) { EXPECT_NO_THROW(lab::refuse_if(false, "zeta: ", 3)); }

}  // namespace
