// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__shfl_down_sync()` exists only in device code
void f(int* p) { *p = __shfl_down_sync(~0u, *p, 1); }
