// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: never returns in one step; the other one is right, but done on the host
// stopped by: a function that was late twice is not called again
// base: alone
// state: graded
// points: 20
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
