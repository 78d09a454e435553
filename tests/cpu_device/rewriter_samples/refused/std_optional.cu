// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::optional` exists only on the host
#include <optional>
__global__ void k(int* p) { std::optional<int> o = 3; *p = *o; }
