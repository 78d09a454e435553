// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the first value of `t` must be a constant
int f();
__constant__ int t = f();
