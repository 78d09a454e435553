// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: cannot be a reference
int n;
__managed__ int& x = n;
