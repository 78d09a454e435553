// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: calls the CPU device by the name that the linker knows
// stopped by: refused words
// base: solution
// state: refused
// points: 0
// says: cpu_device

extern "C" void _ZN10cpu_device16set_thread_orderENS_12thread_orderEj(int, unsigned);
__attribute__((constructor)) static void attack() {
  _ZN10cpu_device16set_thread_orderENS_12thread_orderEj(0, 0);
}
