// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: replaces a CUDA function, to claim that there is no device
// stopped by: the linker; otherwise there is nothing to gain
// base: starter
// state: does not compile|graded
// points: 0

cudaError_t cudaGetDeviceCount(int*) { return cudaErrorNoDevice; }
