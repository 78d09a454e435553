// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__int_as_float()` exists only in device code
float f(int i) { return __int_as_float(i); }
