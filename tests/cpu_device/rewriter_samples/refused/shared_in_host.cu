// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__shared__` memory belongs to a block of threads
void f() { __shared__ int a[3]; a[0] = 1; }
