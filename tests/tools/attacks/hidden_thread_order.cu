// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks for the one thread order that hides a race, hidden behind macros
// stopped by: words are searched for in the text that is compiled
// base: solution
// state: refused
// points: 0
// says: cpu_device

#define GLUE(a, b) a##b
#include <cpu_device.h>

__attribute__((constructor)) static void attack() {
  GLUE(cpu_, device)::set_thread_order(GLUE(cpu_, device)::thread_order::forward);
}
