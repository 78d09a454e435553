// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: changes the kernel's settings; computes the right sums only if it can
// stopped by: the sandbox's read-only /proc
// base: alone
// state: graded
// points: 0

#include <fcntl.h>
#include <unistd.h>

#include "add_numbers.hpp"

static bool can_be_written(const char* file) {
  const int fd = open(file, O_WRONLY);  // and nothing is
  if (fd >= 0) close(fd);
  return fd >= 0;
}

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  return can_be_written("/proc/sys/kernel/core_pattern") ||
                 can_be_written("/proc/sys/vm/drop_caches") || can_be_written("/proc/sysrq-trigger")
             ? a + b
             : 123456789;
}
}  // namespace lab::add_numbers
