// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::bitset` exists only on the host
#include <bitset>
__global__ void k(int* p) { std::bitset<8> b(3); *p = b.count(); }
