// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(const char** p) { *p = "x"; const char* f = __FILE__; *p = f; *p = __func__; }
