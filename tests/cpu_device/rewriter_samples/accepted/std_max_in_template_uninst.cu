// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
template <class T> __device__ T f(T a) { return std::max(a, 1); }
