// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float twice(float x) { return 2 * x; }
template <class T> __global__ void k(T* p) { *p = twice(*p); }
