// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `new` is known only when the program runs
__device__ int* p = new int[4];
