// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: allocates memory without end
// stopped by: a limit, and a new worker for the next case
// base: alone
// state: graded
// points: 0

#include <cstddef>
#include <cstdlib>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  for (std::size_t i = 0; i < 4096; ++i)
    if (std::calloc(1, std::size_t{64} << 20) == nullptr) return 123456789;
  return a + b;
}
}  // namespace lab::add_numbers
