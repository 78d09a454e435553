// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.4 sorting_study: the contract. What the program and the tests expect of sorting_study.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "lab/key_value.hpp"

namespace lab::sorting_study {

/// The sorts that are compared.
enum class method {
  bitonic,   ///< as shared_tiles of 14.1
  odd_even,  ///< as shared_tiles of 14.2
  radix,     ///< Thrust
};
inline constexpr method kMethods[] = {method::bitonic, method::odd_even, method::radix};

/// What is sorted: pairs, in arrays of equal length.
struct problem {
  batch arrays;
  key_values input;
  std::vector<std::uint32_t> sorted_keys;  ///< what its keys are when each array is sorted
};

/// One row of the study: one problem, sorted by one method.
struct row {
  method algorithm = method::bitonic;
  batch arrays;
  std::vector<float> sample_ms;  ///< what each sample took: one sort of the whole batch
  double ms = 0;                 ///< their median
  double rate = 0;               ///< million elements a second: elements / (ms · 10³)
};

/// A method has not sorted a problem. what() says which one, and what is wrong. A study that meets
/// one has no result: the time of a wrong sort means nothing.
class wrong_order : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A row for every problem and every method: those of the first problem first, each in the order of
/// `methods`. Each has `samples` samples.
///
/// - Before anything is timed, the method sorts the problem's input once. That warms up, and the
///   result is checked: the keys are the problem's sorted_keys, and no value has left its key
///   (lab::check_sorted).
/// - Every sample begins with the unsorted input: sorting what is sorted is another task.
/// - Bringing the input to the device, and the result back, is not timed.
///
/// Without problems, or without methods, there are no rows.
///
/// Throws lab::invalid_input for a problem without elements, with a length that is not a power of
/// two, or with another number of keys, values or sorted_keys than its arrays have; and for samples
/// = 0. Nothing is measured then. Throws wrong_order as said above, lab::cuda_error when CUDA
/// reports an error, std::bad_alloc when Thrust finds no memory. None leaves device memory behind.
///
/// Requires: for the methods bitonic and odd_even kernels of yours, with tiles in shared memory;
/// for radix Thrust, in device memory, at every length; each sample sorts again.
///
/// From: the UVT report on data parallelism, which gives times of three sorts over the length of
/// the arrays.
std::vector<row> study(std::span<const problem> problems, std::span<const method> methods,
                       unsigned samples);

}  // namespace lab::sorting_study
