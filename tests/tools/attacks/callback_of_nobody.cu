// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks for a callback that was never registered
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: a callback that nobody has left there

#include <unistd.h>

#include <cstdint>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  struct __attribute__((packed)) {
    std::uint64_t length = 13;
    char kind = 6;
    std::uint64_t number = 1;
    std::uint32_t thread = 0;
  } message;
  [[maybe_unused]] auto n = write(3, &message, sizeof message);
  return a + b;
}
}  // namespace lab::add_numbers
