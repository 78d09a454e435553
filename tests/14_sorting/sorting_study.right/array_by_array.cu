// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For radix, Thrust sorts one array after the other, so it needs no keys of 64 bits. A problem has
// a single workspace for all methods, and the sort that is checked is not timed.

#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

#include "given.hpp"

namespace lab::sorting_study {
namespace {

void sort_by_thrust(workspace& work) {
  const auto n = static_cast<std::ptrdiff_t>(work.keys.size());
  const auto length = static_cast<std::ptrdiff_t>(work.length);
  thrust::device_ptr<unsigned> keys(work.keys.data()), values(work.values.data());
  for (std::ptrdiff_t first = 0; first < n; first += length)
    thrust::stable_sort_by_key(keys + first, keys + first + length, values + first);
}

void sort(method algorithm, workspace& work) {
  const on_device data{work.keys.data(), work.values.data(), work.keys.size(), work.length};
  switch (algorithm) {
    case method::bitonic:
      sort_by_network<method::bitonic>(data);
      break;
    case method::odd_even:
      sort_by_network<method::odd_even>(data);
      break;
    case method::radix:
      sort_by_thrust(work);
      break;
  }
}

void bring(const problem& workload, workspace& work) {
  work.keys.copy_from(workload.input.keys);
  work.values.copy_from(workload.input.values);
}

float time_sample(const problem& workload, method algorithm, workspace& work) {
  bring(workload, work);
  event_timer timer;
  timer.start();
  sort(algorithm, work);
  timer.stop();
  return timer.milliseconds();
}

void verify(const problem& workload, method algorithm, workspace& work) {
  bring(workload, work);
  sort(algorithm, work);
  const key_values sorted{work.keys.to_vector(), work.values.to_vector()};
  comparison right = compare_exact(sorted.keys, workload.sorted_keys);
  if (right) right = check_sorted(sorted, workload.input, workload.arrays);
  if (!right)
    throw wrong_order("method " + std::to_string(static_cast<int>(algorithm)) + ", " +
                      std::to_string(workload.arrays.count) + " arrays of " +
                      std::to_string(workload.arrays.length) + ": " + right.message);
}

row measure(const problem& workload, method algorithm, unsigned samples, workspace& work) {
  verify(workload, algorithm, work);
  row done{algorithm, workload.arrays, {}, 0, 0};
  for (unsigned i = 0; i < samples; ++i)
    done.sample_ms.push_back(time_sample(workload, algorithm, work));
  done.ms = summarize(done.sample_ms).median_ms;
  done.rate = static_cast<double>(workload.input.keys.size()) / (done.ms * 1e3);
  return done;
}

void require(std::span<const problem> problems, unsigned samples) {
  refuse_if(samples == 0, "sorting_study: 0 samples; take one at least");
  for (const problem& each : problems) {
    refuse_if(each.arrays.count == 0 || each.arrays.length == 0,
              "sorting_study: a problem without elements");
    require_network_input("sorting_study", each.input.keys, each.input.values, each.arrays);
    refuse_if(each.input.values.size() != each.input.keys.size(),
              "sorting_study: each key needs a value");
    refuse_if(each.sorted_keys.size() != each.input.keys.size(),
              "sorting_study: ", each.sorted_keys.size(), " sorted keys for ",
              each.input.keys.size(), " keys");
  }
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples) try {
  require(problems, samples);
  std::vector<row> rows(problems.size() * methods.size());
  for (std::size_t p = 0; p < problems.size() && !methods.empty(); ++p) {
    workspace work(problems[p]);
    for (std::size_t m = 0; m < methods.size(); ++m)
      rows[p * methods.size() + m] = measure(problems[p], methods[m], samples, work);
  }
  return rows;
} catch (const thrust::system_error& error) {  // this is how Thrust reports a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
