// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `c` is a `std::string`
#include <string>
__device__ std::string c;
