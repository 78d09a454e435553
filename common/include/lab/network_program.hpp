// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the programs of the sorting networks (14.1, 14.2) have in common: options, data, verdict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/key_value.hpp"
#include "lab/sort_baseline.hpp"
#include "lab/sorting.hpp"

namespace lab {

/// The options that say what is sorted. They are read from the program's command line, so this
/// stays where it is until the program has run.
class network_options {
 public:
  explicit network_options(program& frame) {
    frame.add_size("--size", size_, "number of elements in all arrays together");
    frame.add_size("--length", length_,
                   "elements in an array, a power of two; 0: one array of all");
    frame.add_size("--highest", highest_, "keys are random numbers from 0 to this")
        .at_most(0xFFFFFFFFU);
    frame.add_flag("--keys-only", keys_only_, "sort keys without values");
    order_ = &frame.add_choice<direction>(
        "--direction", {{"ascending", direction::ascending}, {"descending", direction::descending}},
        direction::ascending, "which key comes first");
  }
  network_options(const network_options&) = delete;
  network_options& operator=(const network_options&) = delete;

  std::size_t size() const { return size_; }
  bool keys_only() const { return keys_only_; }
  direction order() const { return *order_; }

  /// Throws invalid_input unless --size is a whole number of arrays.
  batch arrays() const {
    batch all{1, length_ == 0 ? size_ : length_};
    if (size_ == 0) all = {0, length_ == 0 ? 1 : length_};
    if (all.count != 0) all.count = size_ / all.length;
    if (all.count * all.length != size_)
      throw invalid_input("--size must be a whole number of arrays of --length elements");
    return all;
  }

  key_values input(std::uint64_t seed) const {
    key_values made = make_key_values(size_, seed, static_cast<std::uint32_t>(highest_));
    if (keys_only_) made.values.clear();
    return made;
  }

 private:
  std::size_t size_ = std::size_t{1} << (on_cpu_device() ? 16 : 20);
  std::size_t length_ = 0;
  std::size_t highest_ = 0xFFFFFFFFU;
  bool keys_only_ = false;
  const direction* order_ = nullptr;  // the program's
};

/// `sort(input, arrays)` sorts and returns the result (a struct with `sorted`, `kernel_ms` and
/// `launches`); `describe(arrays, launches)` prints a line about the network. Returns whether it
/// is sorted.
template <class Sort, class Describe>
bool run_network(program& frame, const network_options& options, const Sort& sort,
                 const Describe& describe) {
  const batch arrays = options.arrays();
  frame.require_memory(48 * options.size(), 16 * options.size());
  const key_values input = options.input(frame.seed());
  const auto result = sort(input, arrays);
  std::printf("step %s: arrays: %zu, elements in each: %zu\n", frame.step_name().c_str(),
              arrays.count, arrays.length);
  describe(arrays, result.launches);
  if (options.size() > 0) {
    constexpr std::size_t kMost = 6;
    std::printf("  first array:");
    for (std::size_t i = 0; i < arrays.length && i < kMost; ++i) {
      std::printf("  %u", result.sorted.keys[i]);
      if (!options.keys_only()) std::printf(" (%u)", result.sorted.values[i]);
    }
    std::printf("%s\n", arrays.length > kMost ? "  ..." : "");
  }
  if (!frame.verdict(check_sorted(result.sorted, input, arrays, options.order()))) return false;
  const auto time = frame.report_kernel([&] { return sort(input, arrays).kernel_ms; },
                                        {.items = static_cast<double>(options.size()),
                                         .item_name = options.keys_only() ? "keys" : "pairs"});
  frame.report_library(arrays.count == 1 ? "cub::DeviceRadixSort" : "cub::DeviceSegmentedSort",
                       library_sort_milliseconds(input.keys, input.values, arrays), time);
  return true;
}

}  // namespace lab
