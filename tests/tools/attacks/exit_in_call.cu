// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: ends the process in the call, as if all were well
// stopped by: the verdict is another process's
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
