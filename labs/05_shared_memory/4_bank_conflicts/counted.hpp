// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: what the CPU device counts, where it does: in its check build.
#pragma once

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <cstdint>
#include <optional>

namespace lab::bank_conflicts {

/// Reads of shared memory: how often a warp did one, and what they took.
struct shared_reads {
  std::uint64_t requests = 0;
  std::uint64_t wavefronts = 0;
};

/// What the kernels that `run` launches read from shared memory. Nothing where reads are not
/// counted (on a GPU, and in a build without checks) and where the counters had no room for all of
/// it.
template <class Run>
std::optional<shared_reads> count_shared_reads(Run run) {
#ifdef __CPU_DEVICE__
  struct totals {
    shared_reads reads;
    std::uint64_t missed = 0;
  };
  const auto so_far = [] {  // since the program began: `scripts/lab profile` wants the whole
    totals sum;
    for (const cpu_device::access_counters& row : cpu_device::read_counters()) {
      if (row.kind != cpu_device::access_kind::shared_load) continue;
      sum.reads.requests += row.requests;
      sum.reads.wavefronts += row.wavefronts;
      sum.missed += row.not_counted;
    }
    return sum;
  };
  const totals before = so_far();
  cpu_device::count_accesses(true);
  run();
  const totals after = so_far();
  if (after.reads.requests == before.reads.requests || after.missed != before.missed) return {};
  return shared_reads{after.reads.requests - before.reads.requests,
                      after.reads.wavefronts - before.reads.wavefronts};
#else
  run();
  return {};
#endif
}

}  // namespace lab::bank_conflicts
