// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: fills the disk; the sums are right
// stopped by: it has its own /tmp
// base: solution
// state: graded
// points: 100

#include <signal.h>

#include <cstdio>

__attribute__((constructor)) static void attack() {
  std::FILE* const file = std::fopen("/tmp/full", "w");
  static char block[1 << 20];
  signal(SIGXFSZ, SIG_IGN);
  if (file == nullptr) return;
  for (int i = 0; i < 4096; ++i)
    if (std::fwrite(block, 1, sizeof block, file) != sizeof block) break;
  std::fclose(file);
}
