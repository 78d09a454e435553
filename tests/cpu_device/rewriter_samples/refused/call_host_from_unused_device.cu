// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
float twice(float x) { return 2 * x; }
__device__ float four(float x) { return twice(twice(x)); }
