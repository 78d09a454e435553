// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int f(int x) { return x; }
__device__ int c = f(3);
