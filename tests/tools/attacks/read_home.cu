// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: reads the host's home folders; computes the right sums only if it can
// stopped by: the sandbox's namespaces
// base: alone
// state: graded
// points: 0

#include <filesystem>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  return std::filesystem::exists("/home") || std::filesystem::exists("/root") ? a + b : 123456789;
}
}  // namespace lab::add_numbers
