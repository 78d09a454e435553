// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` takes any number of arguments (`...`)
template <class T> __global__ void k(T p, ...) { }
