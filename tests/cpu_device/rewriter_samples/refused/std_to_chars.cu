// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::to_chars` exists only on the host
#include <charconv>
__global__ void k(int* p) { char b[9]; std::to_chars(b, b + 9, *p); }
