// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A function of a contract as a message: its arguments there, its result back. Both ends are made
// from the function's type.
//
// What a function may change (a reference or a span of what is not const) comes back behind the
// result. A result that is a std::function stays in the worker; a number stands for it here.
#pragma once

#include <functional>
#include <tuple>

#include "codec.hpp"
#include "lab/bitmap.hpp"

namespace wire {

/// Reads arguments, calls, writes what comes back. Exceptions of the function pass through.
using handler = std::function<void(reader&, writer&)>;
/// A message, of which the first bytes are about itself.
struct answer {
  std::vector<std::byte> message;
  std::size_t begin = 0;
};
/// Carries arguments to the other side and returns what comes back, or throws what was thrown.
using carrier = std::function<answer(writer&)>;

/// What the two ends do differently. Each sets its own.
struct side {
  std::function<std::uint64_t(handler)> keep;    ///< worker: a function stays here; its number
  std::function<carrier(std::uint64_t)> reach;   ///< grader: the function of this number
  std::function<void(const malformed&)> refuse;  ///< grader: an answer that is none
};
side& this_side();

template <class P>
struct parameter {
  using value = std::remove_cvref_t<P>;
  static constexpr bool comes_back =
      std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>;
  static void get_back(reader& from, arena& memory, value& to) {
    to = wire::get<value>(from, memory);
  }
};
template <class T>
requires(!std::is_const_v<T>) struct parameter<std::span<T>> {
  using value = std::span<T>;
  static constexpr bool comes_back = true;
  static void get_back(reader& from, arena& memory, std::span<T>& to) {
    const std::span<T> now = wire::get<std::span<T>>(from, memory);
    if (now.size() != to.size()) throw malformed("a span came back with another length");
    std::copy(now.begin(), now.end(), to.begin());
  }
};

/// The worker's end.
template <class R, class... P, class Function>
handler handler_of(Function function) {
  return [function](reader& from, writer& to) {
    arena memory;
    std::tuple<typename parameter<P>::value...> arguments{
        wire::get<typename parameter<P>::value>(from, memory)...};
    from.expect_end();
    const auto put_back = [&to]<class Q>(const typename parameter<Q>::value& value) {
      if constexpr (parameter<Q>::comes_back) wire::put(to, value);
    };
    std::apply(
        [&](auto&... values) {
          if constexpr (std::is_void_v<R>) {
            function(static_cast<P>(values)...);
          } else {
            const R result = function(static_cast<P>(values)...);
            wire::put(to, result);
          }
          (put_back.template operator()<P>(values), ...);
        },
        arguments);
  };
}

/// The grader's end.
template <class R, class... P>
R call(const carrier& carry, std::type_identity_t<P>... arguments) {
  writer to;
  (wire::put(to, arguments), ...);
  const std::size_t asked = to.data().size();
  const answer came = carry(to);
  to = {};  // may be long, and so may the answer
  reader from(std::span(came.message).subspan(came.begin));
  arena memory(2 * longest_answer(asked));
  try {
    const auto get_back = [&]<class Q>(auto& value) {
      if constexpr (parameter<Q>::comes_back) parameter<Q>::get_back(from, memory, value);
    };
    if constexpr (std::is_void_v<R>) {
      (get_back.template operator()<P>(arguments), ...);
      from.expect_end();
    } else {
      R result = wire::get<R>(from, memory);
      (get_back.template operator()<P>(arguments), ...);
      from.expect_end();
      return result;
    }
  } catch (const malformed& error) {
    this_side().refuse(error);
    throw;
  }
}

template <class R, class... P>
struct codec<std::function<R(P...)>> {
  static void put(writer& to, const std::function<R(P...)>& function) {
    wire::put(to, function ? this_side().keep(handler_of<R, P...>(function)) : std::uint64_t{0});
  }
  static std::function<R(P...)> get(reader& from, arena& memory) {
    const auto number = wire::get<std::uint64_t>(from, memory);
    if (number == 0) return nullptr;
    return [carry = this_side().reach(number)](P... arguments) -> R {
      return wire::call<R, P...>(carry, static_cast<P>(arguments)...);
    };
  }
};

template <>
struct codec<lab::bitmap> {
  static void put(writer& to, const lab::bitmap& picture) {
    wire::put(to, picture.width());
    wire::put(to, picture.height());
    to.bytes(picture.pixels().data(), picture.pixels().size_bytes());
  }
  static lab::bitmap get(reader& from, arena& memory) {
    const int width = wire::get<int>(from, memory), height = wire::get<int>(from, memory);
    if (width < 1 || height < 1 ||
        static_cast<std::size_t>(width) >
            from.left() / sizeof(lab::rgba) / static_cast<std::size_t>(height))
      throw malformed("a picture is larger than its message");
    memory.take(static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
                sizeof(lab::rgba));
    lab::bitmap picture(width, height);
    const auto bytes = from.bytes(picture.pixels().size_bytes());
    std::memcpy(picture.pixels().data(), bytes.data(), bytes.size());
    return picture;
  }
};

}  // namespace wire
