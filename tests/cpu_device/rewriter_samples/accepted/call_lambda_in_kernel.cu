// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(float* p) { auto twice = [](float x) { return 2 * x; }; *p = twice(*p); }
