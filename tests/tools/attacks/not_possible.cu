// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: claims that the exercise is not possible here
// stopped by: it is treated like any other exception
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
