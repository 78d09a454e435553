// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word in its own text, which it includes by the name that the sandbox gives it
// stopped by: words are searched for in all files except the course's and the system's
// base: alone
// state: refused
// points: 0
// says: no_sanitize

#ifdef INSIDE
#define GLUE(a, b) a##b
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
#else
#define INSIDE
#include "/usr/../source"
#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
}
}  // namespace lab::add_numbers
#endif
