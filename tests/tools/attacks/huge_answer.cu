// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: sends an answer of 250 MiB
// stopped by: the reader trusts no length or number in an answer
// base: alone
// state: graded
// points: 0
// says: a message of 262144000 bytes

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) {
  const std::uint64_t length = 250 << 20;
  std::vector<char> all(length, 4);
  if (write(3, &length, sizeof length) < 0) return 0;
  for (std::size_t done = 0; done < all.size();) {
    const auto n = write(3, all.data() + done, all.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return a + b;
}
}  // namespace lab::add_numbers
