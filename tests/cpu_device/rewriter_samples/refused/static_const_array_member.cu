// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `s::n` is a static member, which lies on the host (line 5)
struct s { static const int n[2]; };
const int s::n[2] = {1, 2};
__global__ void k(int* p) { *p = s::n[*p]; }
