// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the threads of a block print one after the other, with a barrier in
// between; cudaLaunchKernel in a stream.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "hello_gpu.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab::hello_gpu {
namespace {

// This function runs on the device, once for each thread of the launch. All threads run the same
// code; the built-in variables blockIdx and threadIdx tell them apart.
__global__ void hello() {
  // One after the other, so that the lines of a block are in order.
  for (unsigned i = 0; i < blockDim.x; ++i) {
    if (i == threadIdx.x) printf("%s %u, thread %u\n", "Hello from block", blockIdx.x, i);
    __syncthreads();
  }
}

}  // namespace

// This function runs on the host.
void greet(unsigned blocks, unsigned threads) {
  if (std::size_t{blocks} * threads > kMostLines)
    throw invalid_input("hello_gpu: " + std::to_string(blocks) + " blocks of " +
                        std::to_string(threads) + " threads would print more than " +
                        std::to_string(kMostLines) + " lines");

  cudaStream_t stream;
  CUDA_CHECK(cudaStreamCreate(&stream));
  const cudaError_t launched = cudaLaunchKernel(reinterpret_cast<const void*>(hello), dim3(blocks),
                                                dim3(threads), nullptr, 0, stream);

  const cudaError_t ran = cudaStreamSynchronize(stream);
  const cudaError_t destroyed = cudaStreamDestroy(stream);
  (void)cudaGetLastError();
  CUDA_CHECK(launched);
  CUDA_CHECK(ran);
  CUDA_CHECK(destroyed);
}

}  // namespace lab::hello_gpu
