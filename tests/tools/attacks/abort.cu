// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: aborts in the call, to leave a core dump behind
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0
// says: SIGABRT

#include <cstdlib>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  (void)a, (void)b;
  std::abort();
}
}  // namespace lab::add_numbers
