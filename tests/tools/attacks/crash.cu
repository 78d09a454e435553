// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: dereferences a null pointer on the host
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0
// says: SIGSEGV

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  volatile int* nowhere = nullptr;
  return *nowhere + a + b;
}
}  // namespace lab::add_numbers
