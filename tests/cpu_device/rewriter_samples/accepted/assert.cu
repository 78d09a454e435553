// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cassert>
__global__ void k(int* p) { assert(*p); }
