// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "hash_table_gpu.hpp"
#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "lab/refuse_if.hpp"
#include "reference.hpp"

namespace {

namespace gpu = lab::hash_table_gpu;
using gpu::batch;
using gpu::operation;
using gpu::step;
using numbers = std::vector<std::uint32_t>;

/// Inserts `size` keys into a table that they fill to `load`, searches it, and erases them.
bool open_addressing(lab::program& program, std::size_t size, double load) {
  lab::refuse_if(size > gpu::kEnd / 2, "for step open_addressing, --size is at most ",
                 gpu::kEnd / 2, ": half of all keys are inserted, and the others searched for");
  const auto slots = static_cast<std::size_t>(
      std::ceil(static_cast<double>(std::max(size, std::size_t{1})) / load));
  // Host: keys, half of them to be inserted; values; what is done with them, and what is found.
  // Device: the table, and as it was before the last batch; keys, values.
  program.require_memory(size * 100, slots * 2 * 8 + size * 8);
  numbers present = gpu::different_keys(2 * size, program.seed());
  const numbers absent(present.begin() + static_cast<std::ptrdiff_t>(size), present.end());
  present.resize(size);
  numbers values = gpu::different_keys(size, program.seed() + 1);  // none is kNone
  numbers every_second;
  for (std::size_t i = 0; i < size; i += 2) every_second.push_back(present[i]);

  const batch insert{operation::insert, present, values}, find{operation::find, present, {}};
  const auto found =
      gpu::apply_batches(slots, std::vector<batch>{insert,
                                                   find,
                                                   {operation::find, absent, {}},
                                                   {operation::erase, every_second, {}},
                                                   find})
          .found;
  if (!program.verdict(lab::compare_exact(found[1], values)) ||
      !program.verdict(lab::compare_exact(found[2], numbers(size, gpu::kNone))))
    return false;
  for (std::size_t i = 0; i < size; i += 2) values[i] = gpu::kNone;
  if (!program.verdict(lab::compare_exact(found[4], values))) return false;
  std::printf("step %s: %zu keys in %zu slots\n", program.step_name().c_str(), size, slots);
  if (size == 0) return true;

  // Read: the key, and the value or the slot. Written: the slot or the value. (More is moved: of
  // the slots, whole sectors of 32 bytes.)
  const auto report = [&](const char* name, const std::vector<batch>& batches) {
    std::printf("%s\n", name);
    program.report_kernel([&] { return gpu::apply_batches(slots, batches).kernel_ms; },
                          {.bytes = static_cast<double>(size) * 16,
                           .items = static_cast<double>(size),
                           .item_name = "keys"});
  };
  report("insert", {insert});
  report("find", {insert, find});
  report("find keys that are not there", {insert, {operation::find, absent, {}}});
  report("erase", {insert, {operation::erase, present, {}}});
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("15.4_hash_table_gpu", "Builds a hash table on the device.");
  std::size_t size = 512 * 1024, buckets = 1024;
  program.add_size("--size", size, "number of keys; the book's 100 MiB of keys are 25M")
      .at_most(gpu::kEnd);
  program.add_size("--buckets", buckets, "number of chains").positive().at_most(gpu::kEnd);
  double load = 0.5;
  program
      .add_number("--load", load,
                  "of step open_addressing: keys for each slot, in place of --buckets")
      .at_least(0.01)
      .at_most(0.99);
  const auto& chosen_step = program.add_step<step>(
      {{"locks", step::locks, "a lock for each bucket"},
       {"lock_free", step::lock_free, "one atomic exchange for each key"},
       {"open_addressing", step::open_addressing, "no chains; insert, find, erase (bonus)"}},
      step::lock_free);

  return program.run(argc, argv, [&] {
    if (chosen_step == step::open_addressing) return open_addressing(program, size, load);
    // Host: keys, values, the table as it comes from the device and as it is handed on, and two
    // lists to compare. Device: keys, values, the table with pointers, and a lock for each bucket.
    program.require_memory(size * (8 + 16 + sizeof(gpu::entry) + 16) + 28 * buckets,
                           size * (8 + 16) + 12 * buckets);
    const auto keys = lab::random_words(size, program.seed());
    const auto values = lab::random_words(size, program.seed() + 1);
    const auto result = gpu::build(chosen_step, keys, values, buckets);
    if (!program.verdict(gpu::check(result.built, keys, values, buckets))) return false;
    std::printf("step %s: %zu keys in %zu buckets, the longest chain has %zu entries\n",
                program.step_name().c_str(), size, buckets, gpu::longest_chain(result.built));
    if (size == 0) return true;

    // Read: key and value. Written: the entry, which has a pointer in it or a number.
    const double entry_bytes = chosen_step == step::locks ? 16 : sizeof(gpu::entry);
    program.report_kernel([&] { return gpu::build(chosen_step, keys, values, buckets).kernel_ms; },
                          {.bytes = static_cast<double>(size) * (8 + entry_bytes),
                           .items = static_cast<double>(size),
                           .item_name = "keys"});
    std::printf("from the keys on the host to the table on the device: %.4g ms\n",
                static_cast<double>(result.whole_ms));
    return true;
  });
}
