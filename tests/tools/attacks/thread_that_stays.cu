// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: a thread continues to compute after the call; the sums are right
// stopped by: it ends with the worker
// base: solution
// state: graded
// points: 100

#include <thread>

__attribute__((constructor)) static void attack() {
  std::thread([] {
    for (volatile unsigned long i = 0;; i = i + 1) {
    }
  }).detach();
}
