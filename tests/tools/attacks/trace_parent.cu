// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: takes over the parent process; computes the right sums only if it can
// stopped by: the sandbox's namespaces
// base: alone
// state: graded
// points: 0

#include <sys/ptrace.h>
#include <unistd.h>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  return ptrace(PTRACE_ATTACH, getppid() == 0 ? 1 : getppid(), nullptr, nullptr) == 0 &&
                 getppid() > 1
             ? a + b
             : 123456789;
}
}  // namespace lab::add_numbers
