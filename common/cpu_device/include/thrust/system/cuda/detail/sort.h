// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Sorting. Thrust's own host sort asks for scratch memory at every merge, and that of CUDA 13.0
// puts negative ints behind positive ones.
#pragma once

#include <thrust/system/cuda/detail/execution_policy.h>
#include <thrust/system/detail/bad_alloc.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "cpu_device/runtime_api.h"

THRUST_NAMESPACE_BEGIN

namespace system::cuda::detail {

/// On a GPU a sort needs scratch memory, and throws bad_alloc where there is none. So does this
/// one, though it leaves the memory alone.
class scratch {
 public:
  explicit scratch(std::size_t bytes) {
    const cudaError_t error = bytes == 0 ? cudaSuccess : cudaMalloc(&memory_, bytes);
    if (error == cudaSuccess) return;
    cudaGetLastError();  // reported by the exception
    throw thrust::system::detail::bad_alloc(std::string(cudaGetErrorName(error)) + ": " +
                                            cudaGetErrorString(error));
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    if (memory_ != nullptr && cudaFree(memory_) != cudaSuccess) cudaGetLastError();
  }

 private:
  void* memory_ = nullptr;
};

/// What becomes of equal keys. Only the functions that are called stable promise anything, so with
/// the others nobody gets to rely on more.
enum class equal_keys { in_their_order, reversed };

template <class Item, class Less>
void sort_items(std::vector<Item>& items, Less less, equal_keys order) {
  if (order == equal_keys::reversed) std::reverse(items.begin(), items.end());
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return less(a.key, b.key); });
}

template <class Keys, class Less>
void sort_keys(Keys first, Keys last, Less less, equal_keys order) {
  using key_type = typename std::iterator_traits<Keys>::value_type;
  struct item {
    key_type key;
  };
  const scratch memory(static_cast<std::size_t>(last - first) * sizeof(item));
  std::vector<item> items;
  items.reserve(static_cast<std::size_t>(last - first));
  for (Keys k = first; k != last; ++k) items.push_back({*k});
  sort_items(items, less, order);
  for (const item& i : items) *first++ = i.key;
}

template <class Keys, class Values, class Less>
void sort_pairs(Keys first, Keys last, Values values, Less less, equal_keys order) {
  using key_type = typename std::iterator_traits<Keys>::value_type;
  using value_type = typename std::iterator_traits<Values>::value_type;
  struct item {
    key_type key;
    value_type value;
  };
  const scratch memory(static_cast<std::size_t>(last - first) * sizeof(item));
  std::vector<item> items;
  items.reserve(static_cast<std::size_t>(last - first));
  Values v = values;
  for (Keys k = first; k != last; ++k, ++v) items.push_back({*k, *v});
  sort_items(items, less, order);
  for (const item& i : items) {
    *first++ = i.key;
    *values++ = i.value;
  }
}

template <class Derived, class Keys, class Less>
void stable_sort(execution_policy<Derived>&, Keys first, Keys last, Less less) {
  sort_keys(first, last, less, equal_keys::in_their_order);
}
template <class Derived, class Keys, class Less>
void sort(execution_policy<Derived>&, Keys first, Keys last, Less less) {
  sort_keys(first, last, less, equal_keys::reversed);
}
template <class Derived, class Keys, class Values, class Less>
void stable_sort_by_key(execution_policy<Derived>&, Keys first, Keys last, Values values,
                        Less less) {
  sort_pairs(first, last, values, less, equal_keys::in_their_order);
}
template <class Derived, class Keys, class Values, class Less>
void sort_by_key(execution_policy<Derived>&, Keys first, Keys last, Values values, Less less) {
  sort_pairs(first, last, values, less, equal_keys::reversed);
}

}  // namespace system::cuda::detail

THRUST_NAMESPACE_END
