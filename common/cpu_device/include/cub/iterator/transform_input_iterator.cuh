// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/index_iterator.cuh>

namespace cub {

/// op(in[0]), op(in[1]), ...
template <class T, class Op, class Input, class Offset = std::ptrdiff_t>
class TransformInputIterator
    : public detail::index_iterator<TransformInputIterator<T, Op, Input, Offset>, T, Offset> {
 public:
  TransformInputIterator(Input in, Op op) : in_(in), op_(op) {}
  T at(Offset i) const { return op_(in_[i]); }

 private:
  Input in_;
  Op op_;
};

}  // namespace cub
