// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__constant__ int t[4];
void f() { t[0] = 1; }
