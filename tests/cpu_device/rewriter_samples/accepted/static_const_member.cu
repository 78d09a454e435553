// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { static const int total = 3; static constexpr float f = 3; };
__global__ void k(int* p) { *p = s::total; *p = s::f; }
