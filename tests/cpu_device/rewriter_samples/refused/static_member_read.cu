// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `s::total` is a static member, which lies on the host (line 5)
struct s { static int total; };
int s::total = 3;
__global__ void k(int* p) { *p = s::total; }
