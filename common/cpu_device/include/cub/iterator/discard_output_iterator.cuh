// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <iterator>

namespace cub {

/// Takes what is written to it and keeps nothing.
template <class Offset = std::ptrdiff_t>
class DiscardOutputIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = void;
  using difference_type = Offset;
  using pointer = void;
  struct reference {
    template <class T>
    const reference& operator=(const T&) const {
      return *this;
    }
  };
  reference operator*() const { return {}; }
  reference operator[](Offset) const { return {}; }
  DiscardOutputIterator operator+(Offset) const { return *this; }
  DiscardOutputIterator& operator+=(Offset) { return *this; }
  DiscardOutputIterator& operator++() { return *this; }
};

}  // namespace cub
