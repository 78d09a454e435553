// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` is defined as a friend
struct s { friend __global__ void k(int* p) { *p = 1; } };
