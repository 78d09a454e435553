// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__syncthreads()` exists only in device code
void f() { __syncthreads(); }
