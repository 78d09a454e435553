// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: makes a million files; the sums are right
// stopped by: it has its own /tmp, which is deleted with the worker
// base: solution
// state: graded
// points: 100

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <thread>

__attribute__((constructor)) static void attack() {
  std::thread([] {
    for (int i = 0; i < 1'000'000; ++i) {
      const int fd = open(("/tmp/" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
      if (fd >= 0) close(fd);
    }
  }).detach();
}
