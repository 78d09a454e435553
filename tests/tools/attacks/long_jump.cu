// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: leaves a call by longjmp, into one that has returned
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0

#include <csetjmp>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int, int, unsigned) {
  static std::jmp_buf place;
  static bool was_here = false;
  if (was_here) std::longjmp(place, 1);
  was_here = true;
  if (setjmp(place) != 0) was_here = false;
  return -1;
}
}  // namespace lab::add_numbers
