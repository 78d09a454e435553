// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: throws megabytes of text
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: a text is longer than any should be

#include <stdexcept>
#include <string>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int, int, unsigned) { throw std::runtime_error(std::string(60 << 20, 'x')); }
}  // namespace lab::add_numbers
