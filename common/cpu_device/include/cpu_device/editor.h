// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For editors only (see .clangd): lets clangd read a .cu file itself, <<<...>>> and all, with the
// CPU device's headers instead of a CUDA toolkit's. No build includes this.
#pragma once

// In a kernel clang wants functions that are marked for the device. Here all of them are: what a
// GPU would refuse is nvcc's to say.
#pragma clang force_cuda_host_device begin
#include <bits/exception.h>
#pragma clang force_cuda_host_device end

// But not operator new, which clang has declared itself. (clang puts a header of its own before
// <new>, for real devices; the macro keeps it out.)
#include <new>
#define __CLANG_CUDA_WRAPPERS_NEW

#pragma clang force_cuda_host_device begin

#include "cuda_runtime.h"

#undef __global__
#define __global__ __attribute__((global))
#undef __shared__
#define __shared__ thread_local  // static would contradict extern, which the rewriter takes away

// What clang makes of a launch's arguments, before and since CUDA 9.2.
extern "C" cudaError_t cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                                         cudaStream_t stream = nullptr);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
                                                void* stream = nullptr);
