// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Which instructions are those of the program's kernels. Internal to the CPU device.
#pragma once

namespace cpu_device {

/// Reads the names of the functions beside `function` (in its executable or shared object), once.
void learn_kernel_code(const void* function);

/// Whether this instruction is one of the program's own functions that were learnt, and not of the
/// engine, of its headers or of a library: a thread that stands there holds no lock of theirs and
/// has left none of their data half changed. Safe in a signal handler. Nothing is known of a
/// program without symbols (strip): then the answer is no.
bool is_kernel_code(const void* pc);

}  // namespace cpu_device
