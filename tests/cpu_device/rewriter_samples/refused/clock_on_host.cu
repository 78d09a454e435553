// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `clock64()` exists only in device code
long long f() { return clock64(); }
