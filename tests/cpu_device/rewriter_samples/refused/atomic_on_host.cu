// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `atomicAdd()` exists only in device code
void f(int* p) { atomicAdd(p, 1); }
