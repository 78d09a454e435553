// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/index_iterator.cuh>

namespace cub {

/// value, value, ...
template <class T, class Offset = std::ptrdiff_t>
class ConstantInputIterator
    : public detail::index_iterator<ConstantInputIterator<T, Offset>, T, Offset> {
 public:
  explicit ConstantInputIterator(T value) : value_(value) {}
  T at(Offset) const { return value_; }

 private:
  T value_;
};

}  // namespace cub
