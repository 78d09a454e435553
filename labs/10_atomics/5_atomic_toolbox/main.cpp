// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.5 atomic_toolbox: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "atomic_toolbox.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

namespace toolbox = lab::atomic_toolbox;
using toolbox::operation;
using toolbox::request;

/// An operation, and five requests that are small enough to follow by hand.
struct example {
  operation op;
  const char* name;
  std::uint32_t start;
  std::vector<request> requests;
};

const std::vector<example> kExamples = {
    {operation::add, "atomicAdd", 20, {{1}, {2}, {3}, {4}, {5}}},
    {operation::sub, "atomicSub", 20, {{1}, {2}, {3}, {4}, {5}}},
    {operation::exch, "atomicExch", 20, {{1}, {2}, {3}, {4}, {5}}},
    {operation::min, "atomicMin", 20, {{9}, {14}, {4}, {30}, {6}}},
    {operation::max, "atomicMax", 5, {{9}, {14}, {4}, {30}, {6}}},
    {operation::inc, "atomicInc", 7, {{9}, {9}, {9}, {9}, {9}}},
    {operation::dec, "atomicDec", 2, {{9}, {9}, {9}, {9}, {9}}},
    {operation::cas, "atomicCAS", 0, {{1, 0}, {2, 0}, {3, 1}, {4, 2}, {5, 0}}},
    {operation::bit_and, "atomicAnd", 31, {{30}, {29}, {27}, {23}, {15}}},
    {operation::bit_or, "atomicOr", 0, {{1}, {2}, {4}, {8}, {16}}},
    {operation::bit_xor, "atomicXor", 0, {{1}, {2}, {4}, {8}, {1}}}};

void print_example(const example& one) {
  const auto given = toolbox::apply(one.op, one.start, one.requests);
  std::printf("  %-10s  %2u  |", one.name, one.start);
  for (std::size_t i = 0; i < one.requests.size() && i < given.returned.size(); ++i) {
    const request& operands = one.requests[i];
    if (one.op == operation::cas)
      std::printf("  %u->%u: %2u", operands.expected, operands.value, given.returned[i]);
    else
      std::printf("  %4u: %2u", operands.value, given.returned[i]);
  }
  std::printf("  |  %u\n", given.left);
}

std::vector<request> random_requests(std::size_t n, std::uint64_t seed) {
  const std::vector<int> numbers = lab::random_ints(2 * n, seed, 0, 9);
  std::vector<request> requests(n);
  for (std::size_t i = 0; i < n; ++i)
    requests[i] = {static_cast<std::uint32_t>(numbers[2 * i]),
                   static_cast<std::uint32_t>(numbers[2 * i + 1])};
  return requests;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("10.5_atomic_toolbox", "Every atomic function against its definition.");
  std::size_t size = lab::on_cpu_device() ? 100'000 : 1'000'000;
  program.add_size("--size", size, "number of requests, and of values").at_most(1U << 28);

  return program.run(argc, argv, [&] {
    // Host: requests and what they returned, and a point for each value in is_possible().
    program.require_memory(80 * size, 16 * size);

    std::puts(
        "five threads and one cell: start | value: what this thread got back … | left\n"
        "(atomicCAS: expected->value: what this thread got back)");
    for (const example& one : kExamples) print_example(one);

    std::printf("%zu threads and one cell, which is 7 at first:\n", size);
    const auto requests = random_requests(size, program.seed());
    lab::table rows({"function", "left", "kernel ms"});
    for (const example& one : kExamples) {
      std::vector<float> times;
      toolbox::outcome given;
      for (int run = 0; run <= program.repeat(); ++run) {
        given = toolbox::apply(one.op, 7, requests);
        if (run > 0) {
          times.push_back(given.kernel_ms);
          continue;
        }
        // The first one warms up, and is checked. (The check takes longer than the kernel.)
        if (const auto possible = toolbox::is_possible(one.op, 7, requests, given); !possible)
          return program.verdict(false, std::string(one.name) + ": " + possible.message);
      }
      rows.add({one.name, std::int64_t{given.left}, lab::summarize(times).median_ms});
    }
    if (!program.verdict(true, "for each function an order of the requests explains what it did"))
      return false;
    std::fputs(rows.text().c_str(), stdout);
    if (lab::on_cpu_device()) std::puts("(CPU device: these are not times of a GPU)");

    const auto values = lab::random_floats(size, program.seed(), -100, -1);
    if (!program.verdict(toolbox::check_max(toolbox::float_max(values), values))) return false;

    const std::vector<int> whole = lab::random_ints(size, program.seed(), 0, 1'000'000);
    const std::vector<std::uint32_t> numbers(whole.begin(), whole.end());
    const auto sums =
        lab::compare_exact(toolbox::sums_of_groups(numbers), toolbox::reference_sums(numbers));
    if (!program.verdict(
            sums.ok, "sums of groups of " + std::to_string(toolbox::kGroup) + ": " + sums.message))
      return false;

    try {
      const std::uint32_t together = toolbox::add_together(0, 10, 1, 10);
      return program.verdict(together == 110,
                             "10 threads of the device add 10 each, and the host "
                             "10: " +
                                 std::to_string(together));
    } catch (const lab::not_possible& reason) {
      std::printf("left out: %s\n", reason.what());
      return true;
    }
  });
}
