// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: writes a test program's events wherever it can
// stopped by: its output is not evaluated
// base: starter
// state: graded
// points: 0

#include <stdio.h>

__attribute__((constructor)) static void attack() {
  for (int fd = 3; fd < 64; ++fd) dprintf(fd, "{\"event\":\"ends\",\"status\":0}\n");
}
