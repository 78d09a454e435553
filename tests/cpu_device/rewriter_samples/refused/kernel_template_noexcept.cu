// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` has an exception specification
template <class T> __global__ void k(T p) noexcept { }
