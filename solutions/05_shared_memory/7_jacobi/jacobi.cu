// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.7 jacobi: a block keeps a matrix in shared memory, and updates it again and again.
// Edit:  this nearly empty file: TODO(1) and TODO(2). jacobi.hpp has the contract.
// Run:   scripts/lab run 05.7 -- --size 22 --sweeps 400
// Test:  scripts/lab test 05.7          Races: scripts/lab check 05.7
// Hints: scripts/lab hint 05.7          Chapter: docs/05_shared_memory.md

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

// TODO(1): a kernel for one block that has a thread for each cell of the interior. It loads the
//          whole matrix, border included, to shared memory, does all sweeps there, and stores each
//          thread's cell in global memory. Invariants: no cell is overwritten while a thread still
//          has to read it for this sweep, and none is read for the next sweep before it is written.
// BEGIN SOLUTION
/// Requires one block of side * side threads. Thread (x, y) owns the cell in column x + 1 and row
/// y + 1; no thread owns the border. `matrix` is changed in place.
__global__ void relax_block(float* matrix, std::size_t sweeps) {
  __shared__ float cell[kMaxSide + 2][kMaxSide + 2];  // [row][column]; a smaller matrix uses less
  const unsigned side = blockDim.x, width = side + 2;
  const unsigned column = threadIdx.x + 1, row = threadIdx.y + 1;

  for (unsigned i = threadIdx.y * side + threadIdx.x; i < width * width; i += side * side)
    cell[i / width][i % width] = matrix[i];
  __syncthreads();  // the matrix is complete

  for (std::size_t i = 0; i < sweeps; ++i) {
    const float sum = cell[row - 1][column] + cell[row][column - 1] + cell[row][column + 1];
    const float mean = 0.25F * (sum + cell[row + 1][column]);
    __syncthreads();  // all threads have read: the old values can be overwritten

    cell[row][column] = mean;
    __syncthreads();  // all threads have written: the new values are complete
  }
  matrix[row * width + column] = cell[row][column];
}

/// A block with a thread for each cell of the interior.
dim3 block_for(std::size_t side) {
  return {static_cast<unsigned>(side), static_cast<unsigned>(side)};
}
// END SOLUTION

}  // namespace

result relax(std::span<const float> matrix, std::size_t side, std::size_t sweeps) {
  // TODO(2): reject what the contract rejects. Then the device memory, the launch in a
  //          time_kernel(), and the copy of the matrix back to the host.
  // BEGIN SOLUTION
  // STUB: throw not_written("relaxing a matrix", 1);
  refuse_if(side == 0 || side > kMaxSide, "jacobi: the interior's side is ", side,
            "; one block relaxes interiors from 1 to ", kMaxSide);
  refuse_if(matrix.size() != (side + 2) * (side + 2), "jacobi: the matrix has ", matrix.size(),
            " elements; an interior of side ", side, " and its border have ",
            (side + 2) * (side + 2));
  const dim3 block = block_for(side);
  device_buffer<float> device_matrix(matrix);

  const float kernel_ms =
      time_kernel([&] { relax_block<<<1, block>>>(device_matrix.data(), sweeps); });
  return {device_matrix.to_vector(), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::jacobi
