// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A structure of CUDA's, byte by byte: it has no members that point anywhere.
#pragma once

#include "codec.hpp"

namespace wire {

template <class T>
struct raw {
  T value{};
};

template <class T>
struct codec<raw<T>> {
  static_assert(std::is_trivially_copyable_v<T>);
  static void put(writer& to, const raw<T>& value) { to.bytes(&value.value, sizeof(T)); }
  static raw<T> get(reader& from, arena&) {
    raw<T> value;
    std::memcpy(&value.value, from.bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }
};

}  // namespace wire
