// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: is consteval
consteval __global__ void k(int* p) { *p = 1; }
