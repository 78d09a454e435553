// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float twice(float x) { return 2 * x; }
inline __device__ float four(float x) { return twice(twice(x)); }
