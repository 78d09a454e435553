// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { float x; bool operator==(const s&) const = default; };
__global__ void k(float* p) { s a{*p}, b{*p}; *p = a == b; }
