// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.3 nccl_over_mpi: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "nccl_over_mpi.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::nccl_over_mpi::step;
  lab::program program("20.3_nccl_over_mpi", "Sums over MPI ranks, made by NCCL.");
  const bool on_cpu = lab::on_cpu_device();
  std::size_t size =
      on_cpu ? lab::nccl_over_mpi::kDefaultSizeOnCpu : lab::nccl_over_mpi::kDefaultSize;
  const int devices = on_cpu ? 4 : std::max(1, lab::device_count());
  std::size_t ranks = static_cast<std::size_t>(std::min(devices, 8)), per_node = 0;
  program.add_size("--size", size, "elements in the vector of a rank")
      .at_most(std::size_t{1} << 28);
  program.add_size("--ranks", ranks, "number of MPI ranks")
      .positive()
      .at_most(static_cast<std::size_t>(lab::nccl_over_mpi::kMostRanks));
  program
      .add_size("--ranks-per-node", per_node, "behave as if nodes had so many; 0: all are on one")
      .at_most(static_cast<std::size_t>(lab::nccl_over_mpi::kMostRanks));
  const auto& chosen_step = program.add_step<step>(
      {{"mpi", step::mpi, "MPI alone, through host memory"},
       {"nccl", step::nccl, "one communicator of NCCL, brought together by MPI"},
       {"hierarchical", step::hierarchical, "NCCL within a node, MPI between nodes"}},
      step::hierarchical);

  return program.run(argc, argv, [&] {
    const int all = static_cast<int>(ranks), on_a_node = static_cast<int>(per_node);
    program.require_memory(8 * size * ranks * sizeof(float), size * sizeof(float));
    const auto vectors = lab::random_floats(size * ranks, program.seed(), -1, 1);
    // Whole numbers: no order of additions changes their sum.
    std::vector<float> whole(vectors.size());
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] = static_cast<float>(static_cast<int>(vectors[i] * 1000));

    std::printf("step %s, %d ranks, %zu elements in each vector\n", program.step_name().c_str(),
                all, size);
    auto got = lab::nccl_over_mpi::sum(chosen_step, whole, all, on_a_node);
    const std::vector<double> expected = lab::nccl_over_mpi::reference(whole, all);
    if (!program.verdict(
            lab::compare_exact(got.sums, std::vector<float>(expected.begin(), expected.end()))))
      return false;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      std::printf("rank %zu: device %d\n", rank, got.devices[rank]);

    got = lab::nccl_over_mpi::sum(chosen_step, vectors, all, on_a_node);
    std::printf("random numbers: ");
    if (!program.verdict(lab::compare(got.sums, lab::nccl_over_mpi::reference(vectors, all),
                                      {.absolute = lab::nccl_over_mpi::error_bound(vectors, all)})))
      return false;

    // Each call makes its communicators anew.
    const auto fastest = [&](step version) {
      auto best = lab::nccl_over_mpi::sum(version, vectors, all, on_a_node);
      for (int i = 1; i < program.repeat(); ++i) {
        const auto next = lab::nccl_over_mpi::sum(version, vectors, all, on_a_node);
        best.setup_ms = std::min(best.setup_ms, next.setup_ms);
        best.sum_ms = std::min(best.sum_ms, next.sum_ms);
      }
      return best;
    };
    const auto best = fastest(chosen_step);
    std::printf("slowest rank: %.3f ms until the communicators were made, %.3f ms for the sum\n",
                static_cast<double>(best.setup_ms), static_cast<double>(best.sum_ms));
    if (chosen_step != step::mpi) {
      const auto by_mpi = fastest(step::mpi);
      std::printf("MPI alone: %.3f ms for the sum, %.2f times as long\n",
                  static_cast<double>(by_mpi.sum_ms),
                  static_cast<double>(by_mpi.sum_ms / best.sum_ms));
    }
    if (on_cpu) std::printf("CPU device: its times are not GPU times\n");
    return true;
  });
}
