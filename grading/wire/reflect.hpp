// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The members of an aggregate, without a list of them by hand: counted by how many values its
// braces take, and named by a structured binding of so many names.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace wire {

/// Becomes whatever a member wants to be made from; never evaluated.
template <class Aggregate>
struct anything {
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Aggregate>) operator T()
      const;  // NOLINT(google-explicit-constructor)
};

template <class T, class... Values>
concept takes = requires {
  T{std::declval<Values>()...};
};

inline constexpr std::size_t kMostMembers = 32;

/// How many members an aggregate has. Members that are arrays of C are not supported: they take
/// several values.
template <class T, class... Values>
consteval std::size_t count_members() {
  static_assert(sizeof...(Values) <= kMostMembers, "an aggregate with too many members");
  if constexpr (takes<T, Values..., anything<T>>)
    return count_members<T, Values..., anything<T>>();
  else
    return sizeof...(Values);
}

/// Calls `visit` with a reference to each member, in one call.
template <class T, class Visit>
constexpr decltype(auto) visit_members(T& whole, Visit&& visit) {
  constexpr std::size_t n = count_members<std::remove_const_t<T>>();
#define WIRE_CASE(number, ...)                      \
  if constexpr (n == number) {                      \
    auto& [__VA_ARGS__] = whole;                    \
    return std::forward<Visit>(visit)(__VA_ARGS__); \
  } else
  // clang-format off
  WIRE_CASE(1, m1)
  WIRE_CASE(2, m1, m2)
  WIRE_CASE(3, m1, m2, m3)
  WIRE_CASE(4, m1, m2, m3, m4)
  WIRE_CASE(5, m1, m2, m3, m4, m5)
  WIRE_CASE(6, m1, m2, m3, m4, m5, m6)
  WIRE_CASE(7, m1, m2, m3, m4, m5, m6, m7)
  WIRE_CASE(8, m1, m2, m3, m4, m5, m6, m7, m8)
  WIRE_CASE(9, m1, m2, m3, m4, m5, m6, m7, m8, m9)
  WIRE_CASE(10, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10)
  WIRE_CASE(11, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11)
  WIRE_CASE(12, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12)
  WIRE_CASE(13, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13)
  WIRE_CASE(14, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14)
  WIRE_CASE(15, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15)
  WIRE_CASE(16, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16)
  WIRE_CASE(17, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17)
  WIRE_CASE(18, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18)
  WIRE_CASE(19, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19)
  WIRE_CASE(20, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20)
  WIRE_CASE(21, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21)
  WIRE_CASE(22, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22)
  WIRE_CASE(23, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23)
  WIRE_CASE(24, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24)
  WIRE_CASE(25, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25)
  WIRE_CASE(26, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26)
  WIRE_CASE(27, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27)
  WIRE_CASE(28, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27, m28)
  WIRE_CASE(29, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29)
  WIRE_CASE(30, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30)
  WIRE_CASE(31, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31)
  WIRE_CASE(32, m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18,
      m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32)
  // clang-format on
  return std::forward<Visit>(visit)();
#undef WIRE_CASE
}

template <class... T>
struct types {};

/// The types of the members, as types<…>.
template <class T>
using member_types_of = decltype(visit_members(std::declval<T&>(), [](auto&... members) {
  return types<std::remove_cvref_t<decltype(members)>...>{};
}));

}  // namespace wire
