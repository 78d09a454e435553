// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: sends a list that claims to have 2^40 elements
// stopped by: the reader trusts no length or number in an answer
// exercise: 10.4
// base: solution
// state: graded
// points: 0..50
// says: a list is longer than its message

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

// In the place of the C library's. The answers of this exercise have 256 counts of 8 bytes, behind
// their length, their kind and the number of the question.
extern "C" ssize_t send(int socket, const void* bytes, size_t n, int flags) noexcept {
  static char all[1 << 16];
  if (n > 2048 && n < sizeof all) {
    const unsigned long elements = 1UL << 40;
    std::memcpy(all, bytes, n);
    std::memcpy(all + 17, &elements, sizeof elements);
    bytes = all;
  }
  return syscall(SYS_sendto, socket, bytes, n, flags, nullptr, 0);
}
