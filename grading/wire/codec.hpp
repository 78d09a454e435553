// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Values as bytes. What a contract takes and returns crosses between a grader and a worker like
// this. Both are built from the same headers by the same compiler, so numbers are copied as they
// lie in memory.
//
// A reader trusts nothing: each length is compared with the bytes that are there before anything of
// that length is made, and what does not fit is a wire::malformed.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reflect.hpp"

namespace wire {

/// Bytes of a message to a worker.
inline constexpr std::size_t kLongestMessage = std::size_t{512} << 20U;
/// Bytes of an answer to a question of so many bytes. A worker that says more than this is not
/// believed: the grader has room for 300 MB, of which an answer takes 80 MiB, and twice as much
/// when it has been read. What asks with large data has as much again for what is made of it.
constexpr std::size_t longest_answer(std::size_t asked) { return (std::size_t{80} << 20U) + asked; }
/// Characters of a text, which a failure repeats several times.
inline constexpr std::size_t kLongestText = std::size_t{256} << 10U;

/// Bytes that are no message of ours.
class malformed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class writer {
 public:
  void bytes(const void* from, std::size_t n) {
    const auto* first = static_cast<const std::byte*>(from);
    data_.insert(data_.end(), first, first + n);
  }
  std::vector<std::byte>& data() { return data_; }

 private:
  std::vector<std::byte> data_;
};

class reader {
 public:
  explicit reader(std::span<const std::byte> data) : rest_(data) {}

  std::size_t left() const { return rest_.size(); }
  std::span<const std::byte> bytes(std::size_t n) {
    if (n > rest_.size()) throw malformed("a message is shorter than it says");
    const auto found = rest_.first(n);
    rest_ = rest_.subspan(n);
    return found;
  }
  void expect_end() const {
    if (!rest_.empty()) throw malformed("a message is longer than it should be");
  }

 private:
  std::span<const std::byte> rest_;
};

/// Memory that spans refer to, for as long as a call takes; and how much memory may be taken for
/// what is read. (An empty list is eight bytes of a message, and three times that in memory.)
class arena {
 public:
  explicit arena(std::size_t most = std::numeric_limits<std::size_t>::max()) : left_(most) {}
  void take(std::size_t n, std::size_t bytes_each) {
    if (n > left_ / bytes_each) throw malformed("an answer takes more memory than there is for it");
    left_ -= n * bytes_each;
  }
  template <class T>
  std::vector<T>& keep(std::vector<T>&& values) {
    auto kept = std::make_shared<std::vector<T>>(std::move(values));
    std::vector<T>& here = *kept;
    kept_.push_back(std::move(kept));
    return here;
  }
  void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }

 private:
  std::deque<std::shared_ptr<void>> kept_;
  std::size_t left_;
};

/// What a span's memory is like. Host memory that CUDA has pinned is pinned on the other side, too:
/// how copies from it behave is part of what some exercises teach. A span that is longer than any
/// memory is only pretended, to be refused: its length crosses, and reading from it is a crash.
enum class memory_kind : std::uint8_t { ordinary, pinned, pretended };

struct host_memory {
  /// Addresses without memory behind them.
  std::function<std::shared_ptr<void>(std::size_t bytes)> pretend;
  /// The flags of cudaHostAlloc if the memory is pinned.
  std::function<std::optional<unsigned>(const void*)> flags_of;
  /// Pinned memory of so many bytes.
  std::function<std::shared_ptr<void>(std::size_t bytes, unsigned flags)> allocate;
};
host_memory& pinned();

template <class T>
struct codec;

template <class T>
void put(writer& to, const T& value) {
  codec<std::remove_cvref_t<T>>::put(to, value);
}
template <class T>
std::remove_cvref_t<T> get(reader& from, arena& memory) {
  return codec<std::remove_cvref_t<T>>::get(from, memory);
}

template <class T>
concept plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <plain T>
struct codec<T> {
  static void put(writer& to, T value) { to.bytes(&value, sizeof(T)); }
  static T get(reader& from, arena&) {
    if constexpr (std::is_same_v<T, bool>) {
      return std::to_integer<int>(from.bytes(1)[0]) != 0;
    } else {
      T value;
      std::memcpy(&value, from.bytes(sizeof(T)).data(), sizeof(T));
      return value;
    }
  }
};

/// The number of elements that follow. Each takes at least one byte.
inline std::size_t get_length(reader& from, arena& memory, std::size_t bytes_each = 1) {
  const auto n = get<std::uint64_t>(from, memory);
  if (n > from.left() / bytes_each) throw malformed("a list is longer than its message");
  return static_cast<std::size_t>(n);
}

template <class T>
void put_elements(writer& to, const T* first, std::size_t n) {
  put(to, static_cast<std::uint64_t>(n));
  if constexpr (plain<T>) {
    to.bytes(first, n * sizeof(T));
  } else {
    for (std::size_t i = 0; i < n; ++i) put(to, first[i]);
  }
}

template <class T>
struct codec<std::vector<T>> {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is none of bools");
  static void put(writer& to, const std::vector<T>& values) {
    put_elements(to, values.data(), values.size());
  }
  static std::vector<T> get(reader& from, arena& memory) {
    if constexpr (plain<T>) {
      const std::size_t n = get_length(from, memory, sizeof(T));
      memory.take(n, sizeof(T));
      const auto bytes = from.bytes(n * sizeof(T));
      std::vector<T> values(n);
      if (n != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    } else {
      std::size_t n = get_length(from, memory);
      memory.take(n, sizeof(T));
      std::vector<T> values;
      values.reserve(n);
      for (; n != 0; --n) values.push_back(wire::get<T>(from, memory));
      return values;
    }
  }
};

template <>
struct codec<std::string> {
  static void put(writer& to, const std::string& text) {
    put_elements(to, text.data(), text.size());
  }
  static std::string get(reader& from, arena& memory) {
    const auto bytes = from.bytes(get_length(from, memory));
    if (bytes.size() > kLongestText) throw malformed("a text is longer than any should be");
    memory.take(1, sizeof(std::string) + bytes.size());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

template <class T>
struct codec<std::span<T>> {
  using value = std::remove_const_t<T>;
  static void put(writer& to, std::span<T> values) {
    std::optional<unsigned> flags;
    if (!values.empty() && wire::pinned().flags_of) flags = wire::pinned().flags_of(values.data());
    auto kind = flags ? memory_kind::pinned : memory_kind::ordinary;
    if (values.size() > kLongestMessage / sizeof(value)) kind = memory_kind::pretended;
    wire::put(to, kind);
    wire::put(to, flags.value_or(0));
    if (kind == memory_kind::pretended) return wire::put(to, values.size());
    put_elements(to, values.data(), values.size());
  }
  static std::span<T> get(reader& from, arena& memory) {
    const auto kind = wire::get<memory_kind>(from, memory);
    const auto flags = wire::get<unsigned>(from, memory);
    if (kind == memory_kind::pretended) {
      const auto n = wire::get<std::size_t>(from, memory);
      if (!wire::pinned().pretend) throw malformed("a span that is only pretended");
      auto there = wire::pinned().pretend(n * sizeof(value));
      auto* first = static_cast<value*>(there.get());
      memory.keep(std::move(there));
      return {first, n};
    }
    std::vector<value>& values = memory.keep(wire::get<std::vector<value>>(from, memory));
    if constexpr (plain<value>) {
      if (kind == memory_kind::pinned && !values.empty() && wire::pinned().allocate) {
        auto there = wire::pinned().allocate(values.size() * sizeof(value), flags);
        auto* first = static_cast<value*>(there.get());
        std::memcpy(first, values.data(), values.size() * sizeof(value));
        memory.keep(std::move(there));
        return {first, values.size()};
      }
    }
    return values;
  }
};

template <class T, std::size_t n>
struct codec<std::array<T, n>> {
  static void put(writer& to, const std::array<T, n>& values) {
    for (const T& each : values) wire::put(to, each);
  }
  static std::array<T, n> get(reader& from, arena& memory) {
    std::array<T, n> values{};
    for (T& each : values) each = wire::get<T>(from, memory);
    return values;
  }
};

template <class T>
struct codec<std::optional<T>> {
  static void put(writer& to, const std::optional<T>& value) {
    wire::put(to, value.has_value());
    if (value) wire::put(to, *value);
  }
  static std::optional<T> get(reader& from, arena& memory) {
    if (!wire::get<bool>(from, memory)) return std::nullopt;
    return wire::get<T>(from, memory);
  }
};

template <class A, class B>
struct codec<std::pair<A, B>> {
  static void put(writer& to, const std::pair<A, B>& value) {
    wire::put(to, value.first);
    wire::put(to, value.second);
  }
  static std::pair<A, B> get(reader& from, arena& memory) {
    A first = wire::get<A>(from, memory);
    return {std::move(first), wire::get<B>(from, memory)};
  }
};

/// Structures of a contract: member by member.
template <class T>
requires std::is_aggregate_v<T>
struct codec<T> {
  static_assert(!std::is_array_v<T>, "an array of C cannot cross: use std::array");
  static void put(writer& to, const T& whole) {
    visit_members(whole, [&](const auto&... members) { (wire::put(to, members), ...); });
  }
  static T get(reader& from, arena& memory) {
    return get_members(from, memory, member_types_of<T>{});
  }

 private:
  template <class... Members>
  static T get_members(reader& from, arena& memory, types<Members...>) {
    return T{wire::get<Members>(from, memory)...};  // braces: from the first to the last
  }
};

}  // namespace wire
