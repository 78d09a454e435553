// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Keys as a radix sort sees them: bits that are in order as unsigned numbers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cub {
struct NullType {};
}  // namespace cub

namespace cub::detail {

template <std::size_t Bytes>
struct unsigned_of_size;
template <>
struct unsigned_of_size<1> {
  using type = std::uint8_t;
};
template <>
struct unsigned_of_size<2> {
  using type = std::uint16_t;
};
template <>
struct unsigned_of_size<4> {
  using type = std::uint32_t;
};
template <>
struct unsigned_of_size<8> {
  using type = std::uint64_t;
};

/// Signed numbers get their sign bit flipped, negative floating-point numbers all bits. The two
/// zeros are one key. NaNs lie beyond the infinity of their sign.
template <class Key>
auto ordered_bits(Key key) {
  static_assert(std::is_arithmetic_v<Key>, "a radix sort needs keys that are numbers");
  using Bits = typename unsigned_of_size<sizeof(Key)>::type;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Key) - 1));
  Bits bits;
  std::memcpy(&bits, &key, sizeof bits);
  if constexpr (std::is_floating_point_v<Key>) {
    if (bits == kSign) bits = 0;
    return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
  } else if constexpr (std::is_signed_v<Key>) {
    return static_cast<Bits>(bits ^ kSign);
  } else {
    return bits;
  }
}

constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

constexpr int radix_passes(int begin_bit, int end_bit) {
  return end_bit > begin_bit ? (end_bit - begin_bit + kDigitBits - 1) / kDigitBits : 0;
}

/// One stable pass by the digit of `bits` bits at `first_bit`; NullType values are not there.
template <bool Descending, class Key, class Value, class Count>
void radix_pass(const Key* keys, Key* keys_out, const Value* values, Value* values_out, Count n,
                int first_bit, int bits) {
  const auto digit_of = [=](Key key) {
    const auto digit = static_cast<unsigned>(ordered_bits(key) >> first_bit) & ((1U << bits) - 1U);
    return Descending ? (1U << bits) - 1U - digit : digit;
  };
  std::size_t begin[kDigits + 1] = {};
  for (Count i = 0; i < n; ++i) ++begin[digit_of(keys[i]) + 1];
  for (int d = 0; d < kDigits; ++d) begin[d + 1] += begin[d];
  for (Count i = 0; i < n; ++i) {
    const std::size_t to = begin[digit_of(keys[i])]++;
    keys_out[to] = keys[i];
    if constexpr (!std::is_same_v<Value, NullType>) values_out[to] = values[i];
  }
}

/// Sorts by the bits begin_bit .. end_bit - 1. The passes write to `odd` and `even` in turn so that
/// the last one writes to `odd`; the input is only read, and may be `even`.
template <bool Descending, class Key, class Value, class Count>
void radix_sort(const Key* keys, Key* odd_keys, Key* even_keys, const Value* values,
                Value* odd_values, Value* even_values, Count n, int begin_bit, int end_bit) {
  const int passes = radix_passes(begin_bit, end_bit);
  for (int pass = 0; pass < passes; ++pass) {
    const bool to_odd = (passes - 1 - pass) % 2 == 0;
    Key* const keys_out = to_odd ? odd_keys : even_keys;
    Value* const values_out = to_odd ? odd_values : even_values;
    const int bit = begin_bit + pass * kDigitBits;
    const int bits = end_bit - bit < kDigitBits ? end_bit - bit : kDigitBits;
    radix_pass<Descending>(keys, keys_out, values, values_out, n, bit, bits);
    keys = keys_out;
    values = values_out;
  }
}

}  // namespace cub::detail
