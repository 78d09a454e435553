// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: device code cannot throw or catch exceptions
__global__ void k(int* p) { if (*p) throw 1; }
