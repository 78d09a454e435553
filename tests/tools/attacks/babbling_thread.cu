// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: a thread keeps writing into the connection
// stopped by: the reader trusts no length or number in an answer
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
