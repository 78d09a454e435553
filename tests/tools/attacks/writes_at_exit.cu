// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: prints points and passed cases when it exits
// stopped by: its output is not evaluated
// base: starter
// state: graded
// points: 0

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

__attribute__((constructor)) static void attack() {
  std::atexit([] {
    static const char text[] =
        "{\"score\": 100, \"event\": \"end\", \"result\": \"passed\"}\n[  PASSED  ] 23 tests.\n";
    for (int fd = 0; fd < 64; ++fd) [[maybe_unused]] auto n = write(fd, text, sizeof text - 1);
    for (const char* file : {"/autograder/results/results.json", "/tmp/results.json"})
      if (const int fd = open(file, O_WRONLY | O_CREAT, 0666); fd >= 0) [[maybe_unused]]
        auto n = write(fd, text, sizeof text - 1);
  });
  if (fork() == 0) std::exit(0);  // a worker is killed, and does not come to its end
}
