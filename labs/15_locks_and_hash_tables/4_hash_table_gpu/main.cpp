// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the program.

#include <cstddef>
#include <cstdio>

#include "hash_table_gpu.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  namespace gpu = lab::hash_table_gpu;
  using gpu::step;
  lab::program program("15.4_hash_table_gpu", "Builds a chained hash table on the device.");
  std::size_t size = gpu::kDefaultSize, buckets = gpu::kDefaultBuckets;
  program.add_size("--size", size, "number of keys; the book's 100 MiB of keys are 25M")
      .at_most(gpu::kEnd);
  program.add_size("--buckets", buckets, "number of chains").positive().at_most(gpu::kEnd);
  const auto& chosen_step =
      program.add_step<step>({{"locks", step::locks, "a lock for each bucket"},
                              {"lock_free", step::lock_free, "one atomic exchange for each key"}},
                             step::lock_free);

  return program.run(argc, argv, [&] {
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
