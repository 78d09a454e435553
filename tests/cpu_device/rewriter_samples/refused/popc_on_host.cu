// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__popc()` exists only in device code
int f(int i) { return __popc(i); }
