// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { char a[20000]; };
__global__ void k(s p, s q) { }
