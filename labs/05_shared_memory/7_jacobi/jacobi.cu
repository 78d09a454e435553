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

}  // namespace

result relax(std::span<const float> matrix, std::size_t side, std::size_t sweeps) {
  // TODO(2): reject what the contract rejects. Then the device memory, the launch in a
  //          time_kernel(), and the copy of the matrix back to the host.
  throw not_written("relaxing a matrix", 1);
}

}  // namespace lab::jacobi
