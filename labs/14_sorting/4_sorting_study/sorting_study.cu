// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: how the time of a sort depends on how long the arrays of a batch are.
// Edit:  this file, from TODO(1) to TODO(5). sorting_study.hpp says what is asked for.
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

// --- given: the networks of 14.1 and 14.2, with one comparator per thread ------------------------

// --- a batch for a sort that knows nothing of batches --------------------------------------------

/// wide[i]: a number of 64 bits for the key at place i, in whose order a whole batch is sorted.
__global__ void widen(const unsigned* keys, std::size_t n, unsigned length,
                      unsigned long long* wide) {
  // TODO(1): An element of an earlier array must stay before all those of later ones; within an
  //          array the key decides. narrow() gets the key back from the lower half.
}

__global__ void narrow(const unsigned long long* wide, std::size_t n, unsigned* keys) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = static_cast<unsigned>(wide[i]);
}

/// `wide` has n elements where there are several arrays.
void sort_by_radix(on_device data, unsigned long long* wide) {
  const thrust::device_ptr<unsigned> keys(data.keys), values(data.values);
  if (data.length == data.n) {  // one array
    thrust::stable_sort_by_key(keys, keys + static_cast<std::ptrdiff_t>(data.n), values);
    return;
  }
  const auto blocks = static_cast<unsigned>((data.n + kThreads - 1) / kThreads);
  widen<<<blocks, kThreads>>>(data.keys, data.n, data.length, wide);
  CUDA_CHECK(cudaGetLastError());
  const thrust::device_ptr<unsigned long long> first(wide);
  thrust::stable_sort_by_key(first, first + static_cast<std::ptrdiff_t>(data.n), values);
  narrow<<<blocks, kThreads>>>(wide, data.n, data.keys);
  CUDA_CHECK(cudaGetLastError());
}

/// Sorts what is in the workspace, and does not wait for it.
void sort(method how, workspace& work) {
  const on_device data{work.keys.data(), work.values.data(), work.keys.size(), work.length};
  if (how == method::radix)
    sort_by_radix(data, work.wide.data());
  else if (how == method::bitonic)
    sort_by_network<method::bitonic>(data);
  else
    sort_by_network<method::odd_even>(data);
}

// --- the study -----------------------------------------------------------------------------------

/// The time of one sort of the problem, in milliseconds.
float time_sample(const problem& what, method how, workspace& work) {
  // TODO(2): whatever is in the workspace has been sorted before. Invariant: every sample sorts the
  //          input as it came; and what is timed is the sort, not the copies.
  throw not_written("the time of a sample", 2);
}

/// Sorts once, and throws wrong_order unless the keys are those of the problem and check_sorted()
/// finds every value with its key.
void verify(const problem& what, method how, workspace& work) {
  // TODO(3): a sample, whose time is not used. Then bring keys and values back, and compare:
  //          compare_exact() (lab/closeness.hpp) the keys, check_sorted() the pairs.
  throw not_written("the verification", 1);  // 1 to 3
}

/// Measures one problem with one method.
row measure(const problem& what, method how, unsigned samples) {
  row out;
  out.how = how;
  out.arrays = what.arrays;
  // TODO(4): verify first. Then the samples, their median (lab/report.hpp), and the rate, for which
  //          sorting_study.hpp has the formula.
  throw not_written("the measurement", 1);  // 1 to 4
  return out;
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples) try {
  refuse_if(samples == 0, "sorting_study: a row without samples has no time");
  for (const problem& each : problems) {
    require_network_input("sorting_study", each.input.keys, each.input.values, each.arrays);
    refuse_if(each.input.values.empty(),  // with keys or without
              "sorting_study: without pairs there is nothing to measure");
    refuse_if(each.sorted_keys.size() != each.input.keys.size(),
              "sorting_study: a problem has as many sorted keys as keys");
  }
  std::vector<row> rows;
  // TODO(5): measure() every problem with every method, in the order of sorting_study.hpp.
  throw not_written("the study", 1);  // begin at the beginning
  return rows;
} catch (const thrust::system_error& error) {  // what Thrust makes of a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
