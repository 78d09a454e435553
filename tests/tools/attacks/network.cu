// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: reaches a network; computes the right sums only if it can
// stopped by: the sandbox's namespaces
// base: alone
// state: graded
// points: 0

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

static bool socket_is_usable() {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(53);
  to.sin_addr.s_addr = htonl(0x01010101);
  const bool usable = fd >= 0 && connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return usable;
}
#include "add_numbers.hpp"

namespace lab::add_numbers {
int add(step, int a, int b, unsigned) { return socket_is_usable() ? a + b : 123456789; }
}  // namespace lab::add_numbers
