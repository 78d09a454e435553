// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// All memory is in vectors of Thrust, which also copies: the runtime sees no copy. The 64-bit keys
// are made by thrust::transform.

#include <cuda_runtime.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include <sstream>

#include "given.hpp"
#include "lab/key_value.hpp"

namespace lab::sorting_study {
namespace {

struct with_array {
  unsigned length;
  __host__ __device__ unsigned long long operator()(std::size_t i, unsigned key) const {
    return static_cast<unsigned long long>(i / length) << 32 | key;
  }
};
struct without_array {
  __host__ __device__ unsigned operator()(unsigned long long wide) const {
    return static_cast<unsigned>(wide);
  }
};

/// A problem's input on the device, and a copy of it, which is sorted.
class bench {
 public:
  explicit bench(const problem& of)
      : of_(of),
        input_keys_(of.input.keys.begin(), of.input.keys.end()),
        input_values_(of.input.values.begin(), of.input.values.end()),
        keys_(input_keys_),
        values_(input_values_),
        wide_(of.arrays.count > 1 ? keys_.size() : 0) {}

  /// Back to the input.
  void reset() {
    thrust::copy(input_keys_.begin(), input_keys_.end(), keys_.begin());
    thrust::copy(input_values_.begin(), input_values_.end(), values_.begin());
  }

  void sort(method by) {
    const auto length = static_cast<unsigned>(of_.arrays.length);
    const on_device raw{thrust::raw_pointer_cast(keys_.data()),
                        thrust::raw_pointer_cast(values_.data()), keys_.size(), length};
    switch (by) {
      case method::bitonic:
        return sort_by_network<method::bitonic>(raw);
      case method::odd_even:
        return sort_by_network<method::odd_even>(raw);
      case method::radix:
        break;
    }
    if (wide_.empty()) {
      thrust::stable_sort_by_key(keys_.begin(), keys_.end(), values_.begin());
      return;
    }
    thrust::transform(thrust::counting_iterator<std::size_t>(0),
                      thrust::counting_iterator<std::size_t>(keys_.size()), keys_.begin(),
                      wide_.begin(), with_array{length});
    thrust::stable_sort_by_key(wide_.begin(), wide_.end(), values_.begin());
    thrust::transform(wide_.begin(), wide_.end(), keys_.begin(), without_array{});
  }

  void verify(method by) {
    reset();
    sort(by);
    key_values sorted = of_.input;
    thrust::copy(keys_.begin(), keys_.end(), sorted.keys.begin());
    thrust::copy(values_.begin(), values_.end(), sorted.values.begin());
    comparison right = compare_exact(sorted.keys, of_.sorted_keys);
    if (right) right = check_sorted(sorted, of_.input, of_.arrays);
    if (right) return;
    std::ostringstream sentence;
    sentence << "method " << static_cast<int>(by) << ", " << of_.arrays.count << " arrays of "
             << of_.arrays.length << ": " << right.message;
    throw wrong_order(sentence.str());
  }

  float sample(method by) {
    reset();
    event_timer timer;
    timer.start();
    sort(by);
    timer.stop();
    return timer.milliseconds();
  }

 private:
  const problem& of_;
  thrust::device_vector<unsigned> input_keys_, input_values_, keys_, values_;
  thrust::device_vector<unsigned long long> wide_;
};

void refuse(const problem& each) {
  require_network_input("sorting_study", each.input.keys, each.input.values, each.arrays);
  const std::size_t n = each.input.keys.size();
  refuse_if(n == 0, "sorting_study: a problem has no elements");
  refuse_if(each.input.values.size() != n, "sorting_study: a problem has ", n, " keys, and ",
            each.input.values.size(), " values");
  refuse_if(each.sorted_keys.size() != n, "sorting_study: a problem has ", n, " keys, and ",
            each.sorted_keys.size(), " sorted ones");
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples) try {
  refuse_if(samples == 0, "sorting_study: take at least one sample");
  for (const problem& each : problems) refuse(each);
  std::vector<row> rows;
  if (methods.empty()) return rows;
  for (const problem& each : problems) {
    bench on(each);
    for (const method by : methods) {
      on.verify(by);
      row& made = rows.emplace_back();
      made.algorithm = by;
      made.arrays = each.arrays;
      for (unsigned s = 0; s < samples; ++s) made.sample_ms.push_back(on.sample(by));
      made.ms = summarize(made.sample_ms).median_ms;
      made.rate = static_cast<double>(each.input.keys.size()) / (made.ms * 1e3);
    }
  }
  return rows;
} catch (const thrust::system_error& error) {
  throw cuda_error(static_cast<cudaError_t>(error.code().value()), "thrust", __FILE__, __LINE__);
}

}  // namespace lab::sorting_study
