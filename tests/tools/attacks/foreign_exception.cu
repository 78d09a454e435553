// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: throws something that is not an exception
// stopped by: it is treated like any other exception
// base: alone
// state: graded
// points: 0
// says: no std::exception

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  (void)a, (void)b;
  throw 42;
}
}  // namespace lab::add_numbers
