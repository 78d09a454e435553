// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: writes a test program's events wherever it can
// stopped by: nobody reads what it prints
// base: starter
// state: graded
// points: 0

#include <stdio.h>

__attribute__((constructor)) static void attack() {
  for (int fd = 3; fd < 64; ++fd) dprintf(fd, "{\"event\":\"ends\",\"status\":0}\n");
}
