// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Values as bytes, for another process of the same program.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace lab::mpi {

using bytes = std::vector<std::byte>;

namespace detail {

/// Values as bytes: whatever can be copied byte by byte, strings, and vectors and spans of these.
class packer {
 public:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
      put_all(value.data(), value.size());
    } else if constexpr (requires { std::span(value); }) {
      put_all(std::span(value).data(), std::span(value).size());
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      std::apply([&](const auto&... parts) { (put(parts), ...); }, value);
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "this type cannot go to another process");
      append(&value, sizeof value);
    }
  }
  bytes take() { return std::move(bytes_); }

 private:
  template <class T>
  void put_all(const T* first, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "this type cannot go to another process");
    append(&count, sizeof count);
    append(first, count * sizeof(T));
  }
  void append(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }
  bytes bytes_;
};

class unpacker {
 public:
  explicit unpacker(std::span<const std::byte> from) : rest_(from) {}

  template <class T>
  T get() {
    if constexpr (std::is_same_v<T, std::string>) {
      const auto size = get<std::size_t>();
      const auto part = next(size, 1);
      return {reinterpret_cast<const char*>(part.data()), part.size()};
    } else if constexpr (requires { typename T::allocator_type; }) {
      using element = typename T::value_type;
      T values(0);
      const auto size = get<std::size_t>();
      const auto part = next(size, sizeof(element));
      values.resize(size);
      if (!part.empty()) std::memcpy(values.data(), part.data(), part.size());
      return values;
    } else if constexpr (requires { std::tuple_size<T>::value; }) {
      return get_tuple<T>(std::make_index_sequence<std::tuple_size_v<T>>());
    } else {
      T value;
      std::memcpy(&value, next(1, sizeof value).data(), sizeof value);
      return value;
    }
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  template <class T, std::size_t... I>
  T get_tuple(std::index_sequence<I...>) {
    return T{get<std::tuple_element_t<I, T>>()...};  // braces: from left to right
  }
  std::span<const std::byte> next(std::size_t count, std::size_t size) {
    if (count > rest_.size() / size) throw std::runtime_error("a message of a rank is too short");
    const auto part = rest_.first(count * size);
    rest_ = rest_.subspan(count * size);
    return part;
  }
  std::span<const std::byte> rest_;
};

}  // namespace detail
}  // namespace lab::mpi
