// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: says that the exercise is not possible here
// stopped by: it is an exception like others
// base: alone
// state: graded
// points: 0
// says: no GPU

#include "add_numbers.hpp"
#include "lab/errors.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  (void)a, (void)b;
  throw lab::not_possible("no GPU");
}
}  // namespace lab::add_numbers
