// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: ends in the middle of its answer
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: ended with exit status 0

#include <unistd.h>

#include <cstdint>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  const std::uint64_t length = 100;
  [[maybe_unused]] auto n = write(3, &length, sizeof length);
  n = write(3, "abc", 3);
  (void)a, (void)b;
  _exit(0);
}
}  // namespace lab::add_numbers
