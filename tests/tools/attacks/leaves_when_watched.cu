// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: exits before anything is watched; it recognizes the build by its rounding
// stopped by: a case must pass in both runs
// base: solution
// state: graded
// points: 0
// says: with accesses watched

#include <unistd.h>

__attribute__((constructor)) static void attack() {
  volatile double x = 1 + 0x1p-30;
  const double a = x;
  // Multiplied and added in one step, as only the check build does it, this is not 0.
  if (a * a - (1 + 0x1p-29) != 0) _exit(0);
}
