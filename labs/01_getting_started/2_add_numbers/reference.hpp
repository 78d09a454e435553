// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.2 add_numbers: what the result is compared with.
#pragma once

namespace lab::add_numbers {

/// a + b modulo 2^32. Unsigned, since C++ does not say what becomes of an int that overflows.
inline int reference(int a, int b) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}

}  // namespace lab::add_numbers
