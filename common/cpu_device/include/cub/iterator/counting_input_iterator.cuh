// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/index_iterator.cuh>

namespace cub {

/// value, value + 1, ...
template <class T, class Offset = std::ptrdiff_t>
class CountingInputIterator
    : public detail::index_iterator<CountingInputIterator<T, Offset>, T, Offset> {
 public:
  explicit CountingInputIterator(T value) : value_(value) {}
  T at(Offset i) const { return static_cast<T>(value_ + static_cast<T>(i)); }

 private:
  T value_;
};

}  // namespace cub
