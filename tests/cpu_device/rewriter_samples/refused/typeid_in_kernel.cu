// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: device code has no run-time type information, so kernel `k` cannot use `typeid`
#include <typeinfo>
__global__ void k(int* p) { *p = typeid(*p) == typeid(int); }
