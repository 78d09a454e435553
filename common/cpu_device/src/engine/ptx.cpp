// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu_device/kernel_functions.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

// A number of 32 bits is a region and an offset in it. The variables of an OS thread lie in a few
// regions, which are remembered for as long as the thread lives.
constexpr unsigned kOffsetBits = 24;
constexpr std::uintptr_t kRegion = std::uintptr_t{1} << kOffsetBits;
constexpr std::uintptr_t kMargin = kRegion / 4;  // no array of a block reaches over it
constexpr unsigned kMostRegions = 255;

struct region_table {
  std::array<std::uintptr_t, kMostRegions> begins{};
  unsigned count = 0;  // grows for ever: the next one takes the oldest one's place
};
region_table& regions() {
  // On the heap: a shared library that is loaded late has little room for variables of a thread.
  static thread_local const auto mine = std::make_unique<region_table>();
  return *mine;
}

}  // namespace
}  // namespace cpu_device

std::size_t __cvta_generic_to_shared(const void* shared) {
  using namespace cpu_device;
  const auto address = reinterpret_cast<std::uintptr_t>(shared);
  region_table& table = regions();
  for (unsigned i = 0; i < kMostRegions && i < table.count; ++i)
    if (address - table.begins[i] - kMargin < kRegion - 2 * kMargin)
      return (i + 1) * kRegion + (address - table.begins[i]);
  const unsigned mine = table.count++ % kMostRegions;
  table.begins[mine] = (address & ~std::uintptr_t{4095}) - kRegion / 2;
  return (mine + 1) * kRegion + (address - table.begins[mine]);
}

void* __cvta_shared_to_generic(std::size_t address) {
  using namespace cpu_device;
  const std::size_t region = address >> kOffsetBits;
  if (region == 0 || region > kMostRegions) return nullptr;
  return reinterpret_cast<void*>(regions().begins[region - 1] + (address & (kRegion - 1)));
}

namespace cpu_device::ptx {

unsigned multiprocessors() { return static_cast<unsigned>(worker_count()); }
unsigned multiprocessor() {
  const std::uint64_t block =
      (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  return static_cast<unsigned>(block % multiprocessors());
}
std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

}  // namespace cpu_device::ptx
