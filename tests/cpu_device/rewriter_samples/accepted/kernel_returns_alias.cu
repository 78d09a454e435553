// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

using nothing = void;
__global__ nothing k(int* p) { *p = 1; }
