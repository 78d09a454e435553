// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/index_iterator.cuh>
#include <cub/util_type.cuh>

namespace cub {

/// (0, in[0]), (1, in[1]), ... as KeyValuePair
template <class Input, class Offset = std::ptrdiff_t,
          class T = typename std::iterator_traits<Input>::value_type>
class ArgIndexInputIterator : public detail::index_iterator<ArgIndexInputIterator<Input, Offset, T>,
                                                            KeyValuePair<Offset, T>, Offset> {
 public:
  explicit ArgIndexInputIterator(Input in) : in_(in) {}
  KeyValuePair<Offset, T> at(Offset i) const { return {i, in_[i]}; }

 private:
  Input in_;
};

}  // namespace cub
