// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: what the listings say.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "listings.hpp"
#include "ptx_and_sass.hpp"
#include "reader.hpp"

namespace lab::ptx_and_sass {

inline counts count_ptx(std::string_view listing, std::string_view kernel) {
  const auto all = instructions_of(listing, kernel);
  return {count(all, "ld.global"), count(all, "st.global"),
          count(all, "add.f32") + count(all, "add.rn.f32") + count(all, "add.ftz.f32"),
          count(all, "fma.rn")};
}

inline counts count_sass(std::string_view listing, std::string_view kernel) {
  const auto all = instructions_of(listing, kernel);
  return {count(all, "LDG"), count(all, "STG"), count(all, "FADD"), count(all, "FFMA")};
}

/// By what they do: i comes out of the multiplication and addition of whole numbers, the guard out
/// of the comparison, and what is stored goes to the address of sum[i].
inline roles find_roles(std::string_view listing, std::string_view kernel) {
  roles found;
  for (const instruction& next : instructions_of(listing, kernel)) {
    if (is(next, "mad.lo.s32")) found.index = next.operands.at(0);
    if (is(next, "setp")) found.guard = next.operands.at(0);
    if (is(next, "bra")) found.guard_leaves = next.predicate == "@" + found.guard;
    if (is(next, "mul.wide.s32")) found.element_bytes = std::stoi(next.operands.at(2));
    if (is(next, "st.global")) {
      const std::string& address = next.operands.at(0);
      found.sum_address = address.substr(1, address.size() - 2);  // without the brackets
    }
  }
  return found;
}

struct finding {
  std::string question;
  bool right;
};

/// The questions, one by one, and whether an answer is what the listing says.
inline std::vector<finding> compare_counts(const std::string& listing_name, const counts& answer,
                                           const counts& listing) {
  return {
      {listing_name + ": loads from global memory", answer.global_loads == listing.global_loads},
      {listing_name + ": stores to global memory", answer.global_stores == listing.global_stores},
      {listing_name + ": additions of floats", answer.float_additions == listing.float_additions},
      {listing_name + ": fused multiply-adds of floats",
       answer.float_fused == listing.float_fused}};
}
inline std::vector<finding> compare_roles(const roles& answer, const roles& listing) {
  return {
      {"ptx_add in PTX: the register with i", answer.index == listing.index},
      {"ptx_add in PTX: the predicate register", answer.guard == listing.guard},
      {"ptx_add in PTX: who leaves", answer.guard_leaves == listing.guard_leaves},
      {"ptx_add in PTX: the address of sum[i]", answer.sum_address == listing.sum_address},
      {"ptx_add in PTX: bytes between elements", answer.element_bytes == listing.element_bytes}};
}

/// s * x + y as fma.rn.f32 and FFMA have it: nothing is rounded but the result.
inline float fused(float s, float x, float y) { return std::fma(s, x, y); }
/// The same without such an instruction: the product is rounded, and then the sum. The CPU device
/// does it like that, unless the compiler may use what the processor has.
inline float rounded_twice(float s, float x, float y) {
  const float product = s * x;
  return product + y;
}

}  // namespace lab::ptx_and_sass
