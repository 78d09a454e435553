// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: two matrices in dynamic shared memory in turn, so a sweep has one
// barrier; a block in one dimension; only the interior comes back from the device.

#include <cuda_runtime.h>

#include <cstddef>

#include "jacobi.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::jacobi {
namespace {

__global__ void relax_in_turn(const float* in, float* interior, unsigned side, std::size_t sweeps) {
  extern __shared__ float memory[];
  const unsigned width = side + 2, cells = width * width;
  float* now = memory;
  float* next = memory + cells;
  for (unsigned i = threadIdx.x; i < cells; i += blockDim.x) now[i] = next[i] = in[i];
  __syncthreads();

  const unsigned at = (threadIdx.x / side + 1) * width + threadIdx.x % side + 1;
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    const float vertical_and_left = now[at - width] + now[at - 1];
    next[at] = 0.25F * (vertical_and_left + now[at + 1] + now[at + width]);
    __syncthreads();
    float* const last = now;
    now = next;
    next = last;
  }
  interior[threadIdx.x] = now[at];
}

}  // namespace

result relax(std::span<const float> matrix, std::size_t side, std::size_t sweeps) {
  refuse_if(side < 1 || side > kMaxSide, "jacobi: side is ", side, ", not from 1 to ", kMaxSide);
  const std::size_t width = side + 2;
  refuse_if(matrix.size() != width * width, "jacobi: ", matrix.size(), " elements, not ",
            width * width);

  const device_buffer<float> in(matrix);
  device_buffer<float> interior(side * side);
  const auto cells = static_cast<unsigned>(side * side);
  result out{std::vector<float>(matrix.begin(), matrix.end())};
  out.kernel_ms = time_kernel([&] {
    relax_in_turn<<<1, cells, 2 * width * width * sizeof(float)>>>(
        in.data(), interior.data(), static_cast<unsigned>(side), sweeps);
  });
  CUDA_CHECK(cudaMemcpy2D(out.matrix.data() + width + 1, width * sizeof(float), interior.data(),
                          side * sizeof(float), side * sizeof(float), side,
                          cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::jacobi
