// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The input is brought to the device once, and stays there: each sample begins with a copy of it
// within the device. Thrust gets plain pointers and a policy.

#include <cuda_runtime.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

#include "given.hpp"

namespace lab::sorting_study {
namespace {

__global__ void widen(const unsigned* keys, unsigned long long* wide, std::size_t n,
                      unsigned length) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) wide[i] = (static_cast<unsigned long long>(i / length) << 32) | keys[i];
}

__global__ void narrow(const unsigned long long* wide, unsigned* keys, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) keys[i] = static_cast<unsigned>(wide[i]);
}

void sort_by_thrust(workspace& work) {
  const auto n = static_cast<std::ptrdiff_t>(work.keys.size());
  unsigned* const keys = work.keys.data();
  unsigned* const values = work.values.data();
  if (work.wide.empty()) {
    thrust::sort_by_key(thrust::device, keys, keys + n, values);
    return;
  }
  const auto blocks = static_cast<unsigned>((work.keys.size() + kThreads - 1) / kThreads);
  unsigned long long* const wide = work.wide.data();
  widen<<<blocks, kThreads>>>(work.keys.data(), work.wide.data(), work.keys.size(), work.length);
  CUDA_CHECK(cudaGetLastError());
  thrust::sort_by_key(thrust::device, wide, wide + n, values);
  narrow<<<blocks, kThreads>>>(work.wide.data(), work.keys.data(), work.keys.size());
  CUDA_CHECK(cudaGetLastError());
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

/// A workspace, and what it is filled with again and again.
struct bench {
  explicit bench(const problem& workload)
      : work(workload),
        keys(std::span<const unsigned>(workload.input.keys)),
        values(std::span<const unsigned>(workload.input.values)) {}
  void unsort() {
    CUDA_CHECK(cudaMemcpyAsync(work.keys.data(), keys.data(), keys.size_bytes(),
                               cudaMemcpyDeviceToDevice));
    CUDA_CHECK(cudaMemcpyAsync(work.values.data(), values.data(), values.size_bytes(),
                               cudaMemcpyDeviceToDevice));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  workspace work;
  device_buffer<unsigned> keys, values;
};

float time_sample(method algorithm, bench& with) {
  with.unsort();
  event_timer timer;
  timer.start();
  sort(algorithm, with.work);
  timer.stop();
  return timer.milliseconds();
}

void verify(const problem& workload, method algorithm, bench& with) {
  workspace& work = with.work;
  with.unsort();
  sort(algorithm, work);
  const key_values sorted{work.keys.to_vector(), work.values.to_vector()};
  comparison right = compare_exact(sorted.keys, workload.sorted_keys);
  if (right) right = check_sorted(sorted, workload.input, workload.arrays);
  if (!right)
    throw wrong_order("method " + std::to_string(static_cast<int>(algorithm)) + ", " +
                      std::to_string(workload.arrays.count) + " arrays of " +
                      std::to_string(workload.arrays.length) + ": " + right.message);
}

row measure(const problem& workload, method algorithm, unsigned samples) {
  bench work(workload);
  verify(workload, algorithm, work);
  row done{algorithm, workload.arrays, {}, 0, 0};
  for (unsigned i = 0; i < samples; ++i) done.sample_ms.push_back(time_sample(algorithm, work));
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
  std::vector<row> rows;
  for (const problem& each : problems)
    for (const method algorithm : methods) rows.push_back(measure(each, algorithm, samples));
  return rows;
} catch (const thrust::system_error& error) {  // this is how Thrust reports a CUDA error
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
