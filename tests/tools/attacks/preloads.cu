// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: restarts itself with LD_PRELOAD; the sums are right
// stopped by: another process decides the result
// base: solution
// state: graded
// points: 100

#include <unistd.h>

#include <cstdlib>

__attribute__((constructor)) static void attack() {
  if (std::getenv("LD_PRELOAD") != nullptr) return;
  char name[] = "/worker", preload[] = "LD_PRELOAD=libm.so.6";
  char* const words[] = {name, nullptr};
  char* const variables[] = {preload, nullptr};
  execve("/proc/self/exe", words, variables);
}
