// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks for the one thread order that hides a race
// stopped by: refused words
// base: solution
// state: refused
// points: 0
// says: cpu_device

#include <cpu_device.h>

__attribute__((constructor)) static void attack() {
  cpu_device::set_thread_order(cpu_device::thread_order::forward);
}
