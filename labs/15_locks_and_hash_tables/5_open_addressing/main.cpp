// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.5 open_addressing: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "open_addressing.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::open_addressing::batch;
  using lab::open_addressing::operation;
  using lab::open_addressing::step;
  using numbers = std::vector<std::uint64_t>;
  lab::program program("15.5_open_addressing",
                       "Inserts keys into a hash table without chains, finds them, erases them.");
  std::size_t size = lab::open_addressing::kDefaultSize;
  program.add_size("--size", size, "number of keys to insert; as many others are searched for, too")
      .positive()
      .at_most(lab::open_addressing::kMostSlots / 2);
  double load = lab::open_addressing::kDefaultLoad;
  program.add_number("--load", load, "keys for each slot").at_least(0.01).at_most(1);
  const auto& chosen_step =
      program.add_step<step>({{"packed", step::packed, "keys and values of 32 bits, in one word"},
                              {"wide", step::wide, "keys and values of 64 bits, in two words"}},
                             step::packed);

  return program.run(argc, argv, [&] {
    const std::size_t number_bytes = chosen_step == step::packed ? 4 : 8;
    const auto slots = static_cast<std::size_t>(std::ceil(static_cast<double>(size) / load));
    // Host: keys, values, what is done with them, and what is found. Device: the table, and as it
    // was before the last batch; keys, values.
    program.require_memory(size * 160, (slots * 2 + size) * 2 * number_bytes);
    numbers keys = lab::open_addressing::different_numbers(chosen_step, 2 * size, program.seed());
    const numbers absent(keys.begin() + static_cast<std::ptrdiff_t>(size), keys.end());
    keys.resize(size);
    numbers values = lab::open_addressing::different_numbers(chosen_step, size, program.seed() + 1);
    numbers every_second;
    for (std::size_t i = 0; i < size; i += 2) every_second.push_back(keys[i]);

    const batch insert{operation::insert, keys, values}, find{operation::find, keys, {}},
        find_absent{operation::find, absent, {}}, erase{operation::erase, keys, {}};
    const auto apply = [&](const std::vector<batch>& batches) {
      return lab::open_addressing::apply_batches(chosen_step, slots, batches);
    };
    std::printf("step %s: %zu keys in %zu slots of %zu bytes\n", program.step_name().c_str(), size,
                slots, 2 * number_bytes);
    const auto found =
        apply({insert, find, find_absent, {operation::erase, every_second, {}}, find}).found;
    if (!program.verdict(lab::compare_exact(found[1], values)) ||
        !program.verdict(lab::compare_exact(found[2], numbers(size, lab::open_addressing::kNone))))
      return false;
    for (std::size_t i = 0; i < size; i += 2) values[i] = lab::open_addressing::kNone;
    if (!program.verdict(lab::compare_exact(found[4], values))) return false;

    // Read: the key, and the value or the slot. Written: the slot or the value. (More is moved: of
    // the slots, whole sectors of 32 bytes.)
    const auto report = [&](const char* name, const std::vector<batch>& batches) {
      std::printf("%s\n", name);
      program.report_kernel([&] { return apply(batches).kernel_ms; },
                            {.bytes = static_cast<double>(size * 4 * number_bytes),
                             .items = static_cast<double>(size),
                             .item_name = "keys"});
    };
    report("insert", {insert});
    report("find", {insert, find});
    report("find keys that are not there", {insert, find_absent});
    report("erase", {insert, erase});
    return true;
  });
}
