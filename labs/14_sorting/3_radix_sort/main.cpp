// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: the program.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/key_value.hpp"
#include "lab/sort_baseline.hpp"
#include "radix_sort.hpp"
#include "reference.hpp"

namespace {

enum class kind { as_uint, as_int, as_float };

void print(std::uint32_t key) { std::printf("  %u", key); }
void print(std::int32_t key) { std::printf("  %d", key); }
void print(float key) { std::printf("  %g", static_cast<double>(key)); }

template <class Key>
void print_ends(const std::vector<Key>& keys) {
  constexpr std::size_t kSome = 4;
  std::printf("  sorted:");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i == kSome && keys.size() > 2 * kSome) {
      std::printf("  ...");
      i = keys.size() - kSome;
    }
    print(keys[i]);
  }
  std::printf("\n");
}

/// A few that are easily put in the wrong place.
void plant(std::span<std::uint32_t>) {}
void plant(std::span<std::int32_t>) {}
void plant(std::span<float> keys) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float some[] = {0.0F, -0.0F, kInfinity, -kInfinity};
  for (std::size_t i = 0; i < keys.size() && i < std::size(some); ++i) keys[i] = some[i];
}

template <class Key>
bool sort_keys(lab::program& program, lab::radix_sort::step version, std::size_t n,
               bool keys_only) {
  const auto bits = lab::make_key_values(n, program.seed()).keys;
  std::vector<Key> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = std::bit_cast<Key>(bits[i]);
  plant(keys);
  std::vector<std::uint32_t> values = lab::radix_sort::indices(n);
  if (keys_only) values.clear();

  const auto run_once = [&] {
    return lab::radix_sort::sort(version, std::span<const Key>(keys), values);
  };
  const auto result = run_once();
  std::printf("step %s, %zu %s\n", program.step_name().c_str(), n, keys_only ? "keys" : "pairs");
  print_ends(result.keys);
  const std::span<const Key> input(keys);
  if (!program.verdict(keys_only ? lab::radix_sort::check_keys(result, input)
                                 : lab::radix_sort::check(result, input)))
    return false;
  const auto time = program.report_kernel(
      [&] { return run_once().kernel_ms; },
      {.items = static_cast<double>(n), .item_name = keys_only ? "keys" : "pairs"});
  program.report_library("cub::DeviceRadixSort (the bits as uint)",
                         lab::library_sort_milliseconds(bits, values, {1, n}), time);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  using lab::radix_sort::step;
  lab::program program("14.3_radix_sort", "Sorts by digits, without comparing keys.");
  std::size_t size = lab::on_cpu_device() ? std::size_t{1} << 14 : std::size_t{1} << 20;
  bool keys_only = false;
  program.add_size("--size", size, "number of elements").at_most(0xFFFFFFFFU);
  program.add_flag("--keys-only", keys_only, "sort keys without values");
  const auto& key = program.add_choice<kind>("--key",
                                             {{"uint", kind::as_uint, "all bit patterns, random"},
                                              {"int", kind::as_int, "the same as signed numbers"},
                                              {"float", kind::as_float, "the same as floats"}},
                                             kind::as_uint, "type of the keys");
  const auto& chosen_step = program.add_step<step>(
      {{"thrust", step::thrust, "thrust::sort and thrust::stable_sort_by_key"},
       {"digits", step::digits, "four passes by hand, for 8 bits each"},
       {"one_sweep", step::one_sweep, "a launch for each pass, which moves every key once"}},
      step::digits);

  return program.run(argc, argv, [&] {
    program.require_memory(48 * size, 32 * size);
    switch (key) {
      case kind::as_uint:
        return sort_keys<std::uint32_t>(program, chosen_step, size, keys_only);
      case kind::as_int:
        return sort_keys<std::int32_t>(program, chosen_step, size, keys_only);
      case kind::as_float:
        return sort_keys<float>(program, chosen_step, size, keys_only);
    }
    return false;
  });
}
