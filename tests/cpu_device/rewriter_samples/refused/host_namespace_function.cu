// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `host::twice` is a function of the host
namespace host { float twice(float x) { return x; } }
__global__ void k(float* p) { *p = host::twice(*p); }
