// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: looks at the host's processes; computes the right sums only if it can
// stopped by: the sandbox's namespaces
// base: alone
// state: graded
// points: 0

#include <fstream>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  return std::ifstream("/proc/60/status").good() || std::ifstream("/proc/1/root/etc/passwd").good()
             ? a + b
             : 123456789;
}
}  // namespace lab::add_numbers
