// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: sends an empty answer
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: a message of 0 bytes

#include <unistd.h>

#include <cstdint>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  const std::uint64_t length = 0;
  [[maybe_unused]] auto n = write(3, &length, sizeof length);
  return a + b;
}
}  // namespace lab::add_numbers
