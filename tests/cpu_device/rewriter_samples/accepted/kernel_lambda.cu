// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

auto l = [] __global__ (int* p) { *p = 1; };
