// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

void f() { extern __shared__ int a[]; a[0] = 1; }
