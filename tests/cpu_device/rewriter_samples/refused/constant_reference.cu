// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the first value of `c` must be a constant
int n;
__constant__ int& c = n;
