// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.1 mpi_dot: the program.

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "mpi_dot.hpp"

int main(int argc, char** argv) {
  using lab::mpi_dot::step;
  lab::program program("20.1_mpi_dot", "Dot product by several processes with a device each.");
  std::size_t size = lab::mpi_dot::kDefaultSize;
  int ranks = 2, ranks_per_node = 0;
  program.add_size("--size", size, "number of elements");
  program.add_number("--ranks", ranks, "processes that mpirun starts")
      .at_least(1)
      .at_most(lab::mpi_dot::kMostRanks);
  program
      .add_number("--ranks-per-node", ranks_per_node,
                  "behave as if each node had so many; 0: all are on this one")
      .at_least(0);
  const auto& chosen_step = program.add_step<step>(
      {{"reduce", step::reduce, "rank 0 receives the sum of the ranks' sums"},
       {"allreduce", step::allreduce, "every rank receives it"},
       {"device_buffers", step::device_buffers,
        "parts and sums go from device memory to device memory"}},
      step::reduce);

  return program.run(argc, argv, [&] {
    const std::size_t bytes = 2 * size * sizeof(float);
    program.require_memory(4 * bytes, 2 * bytes);
    const auto run = [&](const auto& x, const auto& y) {
      return lab::mpi_dot::dot(chosen_step, x, y, ranks, ranks_per_node);
    };
    lab::mpi_dot::result last;
    if (!program.verdict(
            lab::check_exact_dot(size, program.seed(), [&](const auto& x, const auto& y) {
              last = run(x, y);
              return last.sums[0];
            })))
      return false;

    std::printf("step %s, %zu elements\n", program.step_name().c_str(), size);
    const auto cuts = lab::mpi_dot::cut(size, ranks);
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k)
      std::printf("rank %zu: device %d, %zu elements\n", k, last.devices[k], cuts[k + 1] - cuts[k]);
    if (chosen_step == step::device_buffers)
      std::printf("%s\n", last.staged
                              ? "This MPI takes no pointers to device memory: data is staged in "
                                "pinned memory of the host."
                              : "This MPI takes pointers to device memory.");

    const std::vector<float> x = lab::random_floats(size, program.seed(), 0, 1);
    const std::vector<float> y = lab::random_floats(size, program.seed() + 1, 0, 1);
    const double expected = lab::dot_in_double(x, y);
    const double bound = lab::dot_error_bound(x, y);
    last = run(x, y);
    std::printf("dot product: %.9g\n", last.sums[0]);
    std::printf("off by %.3g from the sum in double; %.3g is allowed\n",
                std::fabs(last.sums[0] - expected), bound);
    // All that have received it, and not only the first one.
    for (std::size_t rank = 1; rank < last.sums.size(); ++rank)
      if (last.sums[rank] != last.sums[0])
        return program.verdict(false,
                               "rank " + std::to_string(rank) + " has another sum than rank 0");
    if (!program.verdict(lab::compare(last.sums[0], expected, {.absolute = bound}))) return false;

    // No rate: the limit of one device's memory is not that of several.
    program.report_kernel([&] {
      last = run(x, y);
      return last.kernel_ms;
    });
    std::printf("the slowest rank of the last run: scatter %.3g ms, kernels %.3g ms, %s %.3g ms\n",
                last.scatter_ms, last.kernel_ms,
                chosen_step == step::reduce ? "reduce" : "allreduce", last.reduce_ms);
    return true;
  });
}
