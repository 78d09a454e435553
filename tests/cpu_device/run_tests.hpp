// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For the main() of a test program that is also its own child. In this repository, a test program
// tells what happens in it (test_events.hpp); compiled elsewhere, it is a plain GoogleTest program.
#pragma once

#include <gtest/gtest.h>

#if __has_include("test_events.hpp")
#include "test_events.hpp"
#endif

inline int run_tests(int argc, char** argv) {
#if __has_include("test_events.hpp")
  return test_events::run(argc, argv, [](bool) { return 0; });
#else
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
#endif
}
