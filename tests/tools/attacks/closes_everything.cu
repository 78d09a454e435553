// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: closes its connection
// stopped by: another process decides the result
// base: alone
// state: graded
// points: 0
// says: closed its connection
// says in podman: took longer

#include <unistd.h>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  for (int fd = 0; fd < 256; ++fd) close(fd);
  pause();
  return a + b;
}
}  // namespace lab::add_numbers
