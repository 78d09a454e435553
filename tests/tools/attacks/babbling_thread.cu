// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: a thread that writes into the connection all the time
// stopped by: the reader trusts no length and no number
// base: solution
// state: graded
// points: 0

#include <unistd.h>

#include <thread>

__attribute__((constructor)) static void attack() {
  std::thread([] {
    for (;;) [[maybe_unused]] auto n = write(3, "nonsense", 8);
  }).detach();
}
