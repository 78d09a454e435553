// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ void f() { __shared__ int a[3]; a[0] = 1; }
