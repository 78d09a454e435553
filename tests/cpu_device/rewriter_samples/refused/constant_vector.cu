// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `c` is a `std::vector`
#include <vector>
__constant__ std::vector<int> c;
