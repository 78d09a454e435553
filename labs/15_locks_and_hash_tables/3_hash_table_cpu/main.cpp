// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.3 hash_table_cpu: the program.

#include <cstdint>
#include <cstdio>

#include "hash_table_cpu.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  namespace cpu = lab::hash_table_cpu;
  lab::program program("15.3_hash_table_cpu", "Builds a chained hash table on the host.");
  std::size_t size = 2 * 1024 * 1024, buckets = 1024;
  program.add_size("--size", size, "number of keys; the book's 100 MiB of keys are 25M")
      .at_most(cpu::kEnd);
  program.add_size("--buckets", buckets, "number of chains").positive().at_most(cpu::kEnd);

  return program.run(argc, argv, [&] {
    // Keys, values, the table, and two lists to compare.
    program.require_memory(size * (8 + sizeof(cpu::entry) + 16) + 20 * buckets, 0);
    const auto keys = lab::random_words(size, program.seed());
    const auto values = lab::random_words(size, program.seed() + 1);
    const auto result = cpu::build(keys, values, buckets);
    if (!program.verdict(cpu::check(result.built, keys, values, buckets))) return false;
    std::printf("%zu keys in %zu buckets, the longest chain has %zu entries\n", size, buckets,
                cpu::longest_chain(result.built));
    if (size > 0) {
      const std::uint32_t key = keys[size / 2];
      std::size_t last = size - 1;  // the last one with this key
      while (keys[last] != key) --last;
      const auto found = cpu::find(result.built, key);
      if (!program.verdict(found == values[last],
                           "the value that was last inserted with a key is found"))
        return false;
    }
    std::printf("all insertions on the host: %.4g ms\n", static_cast<double>(result.build_ms));
    return true;
  });
}
