// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `twice` is a function of the host
namespace host { float twice(float x) { return x; } }
using namespace host;
__global__ void k(float* p) { *p = twice(*p); }
