// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: never returns in one step, and is right in the other
// base: alone
// state: graded
// points: 1..70
// says: took longer

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step which, int a, int b, unsigned) {
  volatile bool ever = which == step::by_hand;
  while (ever) {
  }
  return a + b;
}
}  // namespace lab::add_numbers
