// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

void f() { int i = threadIdx.x; (void)i; }
