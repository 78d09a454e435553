// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: stops, and waits to be woken
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0
// says: took longer

#include <csignal>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  raise(SIGSTOP);
  return a + b;
}
}  // namespace lab::add_numbers
