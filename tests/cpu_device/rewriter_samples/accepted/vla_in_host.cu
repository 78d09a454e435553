// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int f(int n) { int a[n + 1]; a[0] = 1; return a[0]; }
