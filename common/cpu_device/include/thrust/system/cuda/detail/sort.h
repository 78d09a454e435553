// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Sorting. Thrust's own host sort asks for scratch memory at every merge, and that of CUDA 13.0
// puts negative ints behind positive ones.
#pragma once

#include <thrust/system/cuda/detail/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <vector>

THRUST_NAMESPACE_BEGIN

namespace system::cuda::detail {

template <class Derived, class Keys, class Less>
void stable_sort(execution_policy<Derived>&, Keys first, Keys last, Less less) {
  using key_type = typename std::iterator_traits<Keys>::value_type;
  struct item {
    key_type key;
  };
  std::vector<item> items;
  items.reserve(static_cast<std::size_t>(last - first));
  for (Keys k = first; k != last; ++k) items.push_back({*k});
  std::stable_sort(items.begin(), items.end(),
                   [&](const item& a, const item& b) { return less(a.key, b.key); });
  for (const item& i : items) *first++ = i.key;
}

template <class Derived, class Keys, class Values, class Less>
void stable_sort_by_key(execution_policy<Derived>&, Keys first, Keys last, Values values,
                        Less less) {
  using key_type = typename std::iterator_traits<Keys>::value_type;
  using value_type = typename std::iterator_traits<Values>::value_type;
  struct item {
    key_type key;
    value_type value;
  };
  std::vector<item> items;
  items.reserve(static_cast<std::size_t>(last - first));
  Values v = values;
  for (Keys k = first; k != last; ++k, ++v) items.push_back({*k, *v});
  std::stable_sort(items.begin(), items.end(),
                   [&](const item& a, const item& b) { return less(a.key, b.key); });
  for (const item& i : items) {
    *first++ = i.key;
    *values++ = i.value;
  }
}

}  // namespace system::cuda::detail

THRUST_NAMESPACE_END
