// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::cout` exists only on the host
#include <iostream>
__global__ void k(int* p) { std::cout << *p; }
