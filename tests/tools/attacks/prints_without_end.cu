// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: prints as much as it can
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0
// says: printed more than

#include <cstdio>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int, int, unsigned) {
  for (;;) std::puts("a line that nobody wants to read");
}
}  // namespace lab::add_numbers
