// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: catches exceptions
__global__ void k(int* p) try { *p = 1; } catch (...) { *p = 2; }
