// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__fmul_rn()` exists only in device code
void f(float* p, int i) { *p = __fmul_rn(*p, 2.f); i = __popc(i); *p = __int_as_float(i); }
