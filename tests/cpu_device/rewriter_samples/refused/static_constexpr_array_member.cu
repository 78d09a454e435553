// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `s::t` is a static member, which lies on the host (line 5)
struct s { static constexpr int t[2] = {1, 2}; };
__global__ void k(int* p) { *p = s::t[*p]; }
