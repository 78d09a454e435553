// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <new>
__global__ void k(int* p) { new (p) int(3); }
