// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr const char* name = "x";
__global__ void k(int* p) { *p = name[0]; }
