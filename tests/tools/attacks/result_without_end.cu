// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: returns a vector that claims to have 2^40 elements
// stopped by: it is treated like any other exception
// exercise: 10.4
// base: alone
// state: graded
// points: 0..50
// says: std::bad_alloc

#include <cstdlib>
#include <cstring>

#include "histogram.hpp"

namespace lab::histogram {
result count(step, std::span<const std::uint8_t>, unsigned) {
  result r;
  char* const first = static_cast<char*>(std::malloc(64));
  char* const members[3] = {first, first + (8UL << 40), first + (8UL << 40)};
  std::memcpy(static_cast<void*>(&r.count), members, sizeof members);
  return r;
}
}  // namespace lab::histogram
