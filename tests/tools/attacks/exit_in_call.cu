// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: exits in the call, with a status of success
// stopped by: another process decides the result
// base: alone
// state: graded
// points: 0
// says: ended with exit status 0

#include <unistd.h>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  (void)a, (void)b;
  _exit(0);
}
}  // namespace lab::add_numbers
