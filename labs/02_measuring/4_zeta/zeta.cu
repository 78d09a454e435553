// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: a sum of ever smaller terms, and the order of addition that does not lose them.
// Edit:  this nearly empty file: TODO(1) to TODO(4). zeta.hpp has the contract.
// Run:   scripts/lab run 02.4
// Test:  scripts/lab test 02.4
// Hints: scripts/lab hint 02.4                     Chapter: docs/02_measuring.md

#include <cuda_runtime.h>

#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "zeta.hpp"

namespace lab::zeta {
namespace {

// Number is float or double: the compiler makes a kernel for each.

// TODO(1): a device function: 1 / j^s as 1 / j, and s - 1 multiplications by it. (Not the other
//          way round: j^s becomes too large for a float long before 1 / j^s becomes too small.)

// TODO(2): the kernel. The terms are distributed like the strips of 02.3: each thread adds up a
//          run of neighbouring terms, from term 1 on, and stores its sum. For large_first it adds
//          the first one first, for small_first the last one first. Watch out: an unsigned number
//          is never below 0.

// TODO(3): the host code: device memory for the partial sums, a launch of kBlocks blocks of
//          kThreads threads in a time_kernel(), which also checks for launch errors, and a copy of
//          the partial sums to the host. Add them in Number: for large_first thread 0's sum first,
//          for small_first the last thread's.

}  // namespace

result sum(step version, precision type, unsigned s, std::size_t terms) {
  // TODO(4): reject what the contract rejects (lab/refuse_if.hpp). Then the sum in float or in
  //          double.
  throw not_written("the sum of the terms", 1);
}

}  // namespace lab::zeta
