// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <iterator>
#include <type_traits>

namespace cub::detail {

/// A random-access iterator whose elements are self.at(index): `Self` has only that function.
template <class Self, class T, class Offset>
class index_iterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = T;
  using difference_type = Offset;
  using pointer = T*;
  using reference = T;

  T operator*() const { return self().at(index_); }
  template <class Distance>
  T operator[](Distance n) const {
    return self().at(index_ + static_cast<Offset>(n));
  }
  Self& operator++() { return *this += 1; }
  Self operator++(int) {
    Self before = self();
    *this += 1;
    return before;
  }
  template <class Distance>
  Self& operator+=(Distance n) {
    index_ += static_cast<Offset>(n);
    return static_cast<Self&>(*this);
  }
  template <class Distance>
  Self operator+(Distance n) const {
    Self moved = self();
    moved += n;
    return moved;
  }
  template <class Distance>
  requires std::is_arithmetic_v<Distance> Self operator-(Distance n) const {
    return *this + -static_cast<Offset>(n);
  }
  Offset operator-(const index_iterator& b) const { return index_ - b.index_; }
  bool operator==(const index_iterator& b) const { return index_ == b.index_; }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  Offset index_ = 0;
};

}  // namespace cub::detail
