// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class T> void f() { __shared__ T a[3]; a[0] = 1; }
