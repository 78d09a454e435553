// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `this_thread_block()` exists only in device code
#include <cooperative_groups.h>
int main() { auto b = cooperative_groups::this_thread_block(); b.sync(); }
