// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include <cub/detail/radix.cuh>

namespace cub {

template <class Key, class Value>
struct KeyValuePair {
  using key_type = Key;
  using value_type = Value;
  Key key;
  Value value;
  bool operator!=(const KeyValuePair& b) const { return key != b.key || value != b.value; }
  bool operator==(const KeyValuePair& b) const { return !(*this != b); }
};

/// Two buffers: the current one, and one to work in.
template <class T>
struct DoubleBuffer {
  T* d_buffers[2] = {nullptr, nullptr};
  int selector = 0;
  DoubleBuffer() = default;
  DoubleBuffer(T* current, T* alternate) : d_buffers{current, alternate} {}
  T* Current() { return d_buffers[selector]; }
  T* Alternate() { return d_buffers[selector ^ 1]; }
};

template <class T, int Items>
struct ArrayWrapper {
  T array[Items];
};

/// Memory for a T that is not constructed; TempStorage types are such memory already.
template <class T>
struct Uninitialized {
  alignas(T) unsigned char bytes[sizeof(T)];
  T& Alias() { return *reinterpret_cast<T*>(bytes); }
};

}  // namespace cub
