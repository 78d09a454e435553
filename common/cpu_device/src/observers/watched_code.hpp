// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: what code that was compiled with -fsanitize=thread does, as publisher.cpp hands
// it to the checks. Internal to the CPU device; linked only into programs whose kernels are
// watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/engine.hpp"

namespace cpu_device::check {

constexpr std::uint8_t kWrite = 1, kAtomic = 2, kTexture = 4;
constexpr std::uint8_t kRange = 8;  // a structure, which a GPU accesses in parts
constexpr std::uint8_t kVolatile = 16;
constexpr std::uint8_t kBulk = 32;  // by the copy engine: no request of a warp
constexpr std::uint8_t kLdg = 64;   // of kTexture: by __ldg(), whose load is looked at as well

/// Where an instruction is: its distance from the program's begin. A call of a function
/// that says itself what it accesses (textures, copies) has a place of its own kind.
extern std::uintptr_t program_at;
inline std::uint32_t place_of(const void* pc) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(pc) - program_at);
}
inline const void* instruction_at(std::uint32_t place) {
  return reinterpret_cast<const void*>(program_at + place);
}
constexpr std::uint32_t kCall = 1U << 31;  // a bit of such places
/// A call that has started a bulk copy, which may write until somebody has waited for it.
constexpr std::uint32_t kUnderWay = kCall | 1U << 28;
std::uint32_t place_of_call(const char* file, int line);
/// "/…/add.cu:12" of such a place; empty for that of an instruction.
std::string call_text(std::uint32_t place);
/// "add.cu:12", empty if it is not known.
std::string place_text(std::uint32_t place);
/// "(3,0,0)" of a linear number.
std::string coordinates(std::uint64_t linear, std::uint64_t x, std::uint64_t y);
/// "thread (3,0,0)": the running one.
std::string this_thread_text(const worker& w);

/// Two places, the lower one first; 0 where a mistake has only one.
using places = std::pair<std::uint32_t, std::uint32_t>;
/// True the first time since the last report_again(): a mistake at some place seldom happens once.
bool speaks_first(places which);
/// As if nothing had been said of it.
void forget_spoken(places which);

}  // namespace cpu_device::check
