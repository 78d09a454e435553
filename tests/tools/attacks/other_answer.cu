// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: answers a question that was not asked
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: an answer to another question

#include <unistd.h>

#include <cstdint>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  struct __attribute__((packed)) {
    std::uint64_t length = 13;
    char kind = 4;
    std::uint64_t serial = 77777;
    int sum = 0;
  } answer;
  answer.sum = a + b;
  [[maybe_unused]] auto n = write(3, &answer, sizeof answer);
  return a + b;
}
}  // namespace lab::add_numbers
