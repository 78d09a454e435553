// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.7 jacobi: a matrix that a block keeps in shared memory, and changes again and again.
// Edit:  this file, from TODO(1) to TODO(3). jacobi.hpp says what is asked for.
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

/// Requires one block of side * side threads. Thread (x, y) owns the cell in column x + 1 and row
/// y + 1; no thread owns the border. `matrix` is changed in place.
__global__ void relax_block(float* matrix, std::size_t sweeps) {
  __shared__ float cell[kMaxSide + 2][kMaxSide + 2];  // [row][column]; a smaller matrix uses less
  const unsigned side = blockDim.x, width = side + 2;
  const unsigned column = threadIdx.x + 1, row = threadIdx.y + 1;

  // TODO(1): copy the whole matrix into `cell`. It has more elements than the block has threads:
  //          some must copy more than one. Invariant after it: all cells that a thread will read
  //          are there, whichever thread has copied them.

  // TODO(2): the sweeps: 0.25 * (((up + left) + right) + down). Every thread reads what its
  //          neighbours write. Invariants: no thread writes a cell that another still has to
  //          read for this sweep; none reads one for the next sweep before it is written.
  //          In the end each thread stores its own cell in `matrix`.
}

/// A block with a thread for each cell of the interior.
dim3 block_for(std::size_t side) {
  // TODO(3): the block's shape: relax_block() says what it requires.
  throw not_written("relaxing a matrix", 1);
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result relax(std::span<const float> matrix, std::size_t side, std::size_t sweeps) {
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
}

}  // namespace lab::jacobi
