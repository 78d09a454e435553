// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: leaves a process running; the sums are right
// stopped by: the process namespace ends with the worker
// base: solution
// state: graded
// points: 100

#include <signal.h>
#include <unistd.h>

__attribute__((constructor)) static void attack() {
  if (fork() != 0) return;
  setsid();
  signal(SIGTERM, SIG_IGN);
  for (;;) pause();
}
