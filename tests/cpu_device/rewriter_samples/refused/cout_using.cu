// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `std::cout` exists only on the host
#include <iostream>
using namespace std;
__global__ void k(int* p) { cout << *p << endl; }
