// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: adds a listener to the test library, which skips every test
// stopped by: the linker: a worker has no test library
// base: starter
// state: does not compile
// points: 0
// says: testing::

#include <gtest/gtest.h>

class skips_all : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo&) override { GTEST_SKIP(); }
};

__attribute__((constructor)) static void attack() {
  testing::UnitTest::GetInstance()->listeners().Append(new skips_all);
}
