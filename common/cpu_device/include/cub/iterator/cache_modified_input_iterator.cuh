// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cub/detail/index_iterator.cuh>

namespace cub {

enum CacheLoadModifier {
  LOAD_DEFAULT,
  LOAD_CA,
  LOAD_CG,
  LOAD_CS,
  LOAD_CV,
  LOAD_LDG,
  LOAD_VOLATILE,
};

/// in[0], in[1], ...: there is no cache to give hints to.
template <CacheLoadModifier Modifier, class T, class Offset = std::ptrdiff_t>
class CacheModifiedInputIterator
    : public detail::index_iterator<CacheModifiedInputIterator<Modifier, T, Offset>, T, Offset> {
 public:
  explicit CacheModifiedInputIterator(const T* in) : in_(in) {}
  T at(Offset i) const { return in_[i]; }

 private:
  const T* in_;
};

template <CacheLoadModifier Modifier, class Input>
auto ThreadLoad(Input in) {
  return *in;
}

}  // namespace cub
