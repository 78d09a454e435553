// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__ldg()` exists only in device code
void f(float* p) { *p = __ldg(p); }
