// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: how the time of a sort depends on the length of the arrays in a batch.
// Edit:  this nearly empty file: TODO(1) to TODO(4). sorting_study.hpp has the contract.
// Run:   scripts/lab run 14.4
// Test:  scripts/lab test 14.4
// Hints: scripts/lab hint 14.4                   Chapter: docs/14_sorting.md

#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

#include "given.hpp"

namespace lab::sorting_study {
namespace {

// TODO(1): a sort of the contents of a workspace (given.hpp), by a method. The networks are given:
//          sort_by_network<method::bitonic>() and <method::odd_even>(). For method::radix it is
//          thrust::stable_sort_by_key, which does not support batches: if there are several arrays,
//          a kernel computes a 64-bit key for each element, and another one restores the 32-bit
//          key. Invariant: an element of an earlier array stays before all those of later ones;
//          within an array the key decides.

// TODO(2): the time of one sort. The contents of the workspace have already been sorted. Invariant:
//          every sample sorts the original input, and only the sort is timed, not the copies.

// TODO(3): sort once, and throw wrong_order unless compare_exact() (lab/closeness.hpp) finds the
//          keys of the problem, and check_sorted() finds every value with its key.

// TODO(4): a row: verify first. Then the samples, their median (summarize() of lab/report.hpp), and
//          the rate, for which sorting_study.hpp has the formula.

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples) try {
  // TODO(4): reject what the contract rejects (require_network_input() of lab/key_value.hpp for the
  //          pairs). Then measure every problem with every method, in the order of the contract.
  //          Exceptions of Thrust become a cuda_error below.
  throw not_written("the study", 1);
} catch (const thrust::system_error& error) {  // this is how Thrust reports a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
