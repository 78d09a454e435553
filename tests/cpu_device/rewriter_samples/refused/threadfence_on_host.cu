// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__threadfence()` exists only in device code
void f() { __threadfence(); }
