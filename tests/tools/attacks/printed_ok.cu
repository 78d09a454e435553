// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: prints what a test program prints when all tests pass
// stopped by: its output is not evaluated
// base: starter
// state: graded
// points: 0

#include <cstdio>

__attribute__((constructor)) static void attack() {
  std::puts("[       OK ] Steps/EachStep.Adds/by_hand (0 ms)\n[  PASSED  ] 22 tests.");
}
