// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: sends fewer counts of objects on the device than there are kinds of objects
// stopped by: the reader trusts no length or number in an answer
// base: solution
// state: graded
// points: 0
// says: sent what it was not asked for

#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

// In the place of the C library's. An answer has a length, a kind and a number in front; this one
// goes on with two counts, a list of counts behind its length, and another count.
extern "C" ssize_t send(int socket, const void* bytes, size_t n, int flags) noexcept {
  static char all[1 << 10];
  constexpr size_t list = 17 + 2 * 8;
  unsigned long length = 0, counts = 0;
  if (n > list + 3 * 8 && n < sizeof all) {
    std::memcpy(all, bytes, n);
    std::memcpy(&length, all, 8);
    std::memcpy(&counts, all + list, 8);
    if (counts > 1 && list + 8 * (counts + 2) == n) {
      n -= 8;
      length -= 8;
      counts -= 1;
      std::memcpy(all, &length, 8);
      std::memcpy(all + list, &counts, 8);
      (void)syscall(SYS_sendto, socket, all, n, flags, nullptr, 0);
      return static_cast<ssize_t>(n + 8);
    }
  }
  return syscall(SYS_sendto, socket, bytes, n, flags, nullptr, 0);
}
