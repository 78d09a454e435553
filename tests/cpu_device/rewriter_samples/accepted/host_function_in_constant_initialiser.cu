// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr int f(int x) { return x; }
__constant__ int c = f(3);
