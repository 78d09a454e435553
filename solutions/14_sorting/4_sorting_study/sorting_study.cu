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
// BEGIN SOLUTION
// --- a batch for a sort that does not support batches --------------------------------------------

/// wide[i]: a 64-bit number for the key at index i; their order sorts the whole batch.
__global__ void widen(const unsigned* keys, std::size_t n, unsigned length,
                      unsigned long long* wide) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) wide[i] = static_cast<unsigned long long>(i / length) << 32 | keys[i];
}

__global__ void narrow(const unsigned long long* wide, std::size_t n, unsigned* keys) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = static_cast<unsigned>(wide[i]);
}

/// `wide` has n elements if there are several arrays.
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

/// Sorts the contents of the workspace, and does not wait for it.
void sort(method algorithm, workspace& work) {
  const on_device data{work.keys.data(), work.values.data(), work.keys.size(), work.length};
  if (algorithm == method::radix)
    sort_by_radix(data, work.wide.data());
  else if (algorithm == method::bitonic)
    sort_by_network<method::bitonic>(data);
  else
    sort_by_network<method::odd_even>(data);
}
// END SOLUTION

// TODO(2): the time of one sort. The contents of the workspace have already been sorted. Invariant:
//          every sample sorts the original input, and only the sort is timed, not the copies.
// BEGIN SOLUTION
// --- the study -----------------------------------------------------------------------------------

/// The time of one sort of the problem, in milliseconds.
float time_sample(const problem& workload, method algorithm, workspace& work) {
  work.keys.copy_from(workload.input.keys);
  work.values.copy_from(workload.input.values);
  event_timer timer;
  timer.start();
  sort(algorithm, work);
  timer.stop();
  return timer.milliseconds();
}
// END SOLUTION

// TODO(3): sort once, and throw wrong_order unless compare_exact() (lab/closeness.hpp) finds the
//          keys of the problem, and check_sorted() finds every value with its key.
// BEGIN SOLUTION
/// Sorts once, and throws wrong_order unless the keys are those of the problem and check_sorted()
/// finds every value with its key.
void verify(const problem& workload, method algorithm, workspace& work) {
  time_sample(workload, algorithm, work);
  const key_values sorted{work.keys.to_vector(), work.values.to_vector()};
  comparison result = compare_exact(sorted.keys, workload.sorted_keys);
  if (result) result = check_sorted(sorted, workload.input, workload.arrays);
  if (!result)
    throw wrong_order("sorting_study: method " + std::to_string(static_cast<int>(algorithm)) +
                      ", " + std::to_string(workload.arrays.count) + " arrays of " +
                      std::to_string(workload.arrays.length) + ": " + result.message);
}
// END SOLUTION

// TODO(4): a row: verify first. Then the samples, their median (summarize() of lab/report.hpp), and
//          the rate, for which sorting_study.hpp has the formula.
// BEGIN SOLUTION
/// Measures one problem with one method.
row measure(const problem& workload, method algorithm, unsigned samples) {
  row out;
  out.algorithm = algorithm;
  out.arrays = workload.arrays;
  workspace work(workload);
  verify(workload, algorithm, work);
  for (unsigned i = 0; i < samples; ++i)
    out.sample_ms.push_back(time_sample(workload, algorithm, work));
  out.ms = summarize(out.sample_ms).median_ms;
  out.rate = static_cast<double>(workload.arrays.count * workload.arrays.length) / (out.ms * 1e3);
  return out;
}
// END SOLUTION

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples) try {
  // TODO(4): reject what the contract rejects (require_network_input() of lab/key_value.hpp for the
  //          pairs). Then measure every problem with every method, in the order of the contract.
  //          Exceptions of Thrust become a cuda_error below.
  // BEGIN SOLUTION
  // STUB: throw not_written("the study", 1);
  refuse_if(samples == 0, "sorting_study: a row without samples has no time");
  for (const problem& each : problems) {
    require_network_input("sorting_study", each.input.keys, each.input.values, each.arrays);
    refuse_if(each.input.values.empty(),  // with keys or without
              "sorting_study: without pairs there is nothing to measure");
    refuse_if(each.sorted_keys.size() != each.input.keys.size(),
              "sorting_study: a problem has as many sorted keys as keys");
  }
  std::vector<row> rows;
  for (const problem& each : problems)
    for (const method algorithm : methods) rows.push_back(measure(each, algorithm, samples));
  return rows;
  // END SOLUTION
} catch (const thrust::system_error& error) {  // this is how Thrust reports a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
