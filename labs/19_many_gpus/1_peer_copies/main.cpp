// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.1 peer_copies: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/table.hpp"
#include "peer_copies.hpp"
#include "reference.hpp"

namespace {

using lab::peer_copies::route;

const char* name_of(route path) {
  if (path == route::within_device) return "within device";
  return path == route::direct ? "direct" : "through host";
}

/// A number for each pair of devices, one line for each source.
template <class Value>
lab::table matrix_of(const std::string& title, const std::vector<std::vector<Value>>& rows) {
  std::vector<std::string> columns{title};
  for (std::size_t to = 0; to < rows.size(); ++to) columns.push_back("to " + std::to_string(to));
  lab::table matrix(columns);
  for (std::size_t from = 0; from < rows.size(); ++from) {
    std::vector<lab::cell> row{"from " + std::to_string(from)};
    row.insert(row.end(), rows[from].begin(), rows[from].end());
    matrix.add(row);
  }
  return matrix;
}

}  // namespace

int main(int argc, char** argv) {
  using lab::peer_copies::step;
  lab::program program("19.1_peer_copies",
                       "Measures how fast each device gets data from each other one.");
  using namespace lab::peer_copies;
  const std::size_t scale = lab::on_cpu_device() ? 1 : 64;
  std::size_t size = scale * kDefaultSize, piece = scale * kDefaultPiece;
  int copies = lab::on_cpu_device() ? 2 : 20, devices = 0;
  program.add_size("--size", size, "words (of 4 bytes) of a copy").at_least(1);
  program.add_size("--piece", piece, "words of a piece, in in_pieces").at_least(1);
  program.add_number("--copies", copies, "of each pair, one after the other")
      .at_least(1)
      .at_most(kMostCopies);
  program.add_number("--devices", devices, "how many of the devices; 0: all").at_least(0);
  const auto& chosen_step = program.add_step<step>(
      {{"through_host", step::through_host, "two copies, by way of pinned host memory"},
       {"in_pieces", step::in_pieces, "the same in pieces: one arrives while the next one leaves"},
       {"peer_copy", step::peer_copy, "cudaMemcpyPeerAsync"},
       {"peer_kernel", step::peer_kernel, "a kernel reads the other device's memory"}},
      step::peer_copy);

  return program.run(argc, argv, [&] {
    const int there = lab::device_count();
    if (devices > there)
      throw lab::invalid_input("--devices " + std::to_string(devices) + ": there are only " +
                               std::to_string(there));
    const int all = devices == 0 ? there : devices;
    const std::size_t bytes = size * sizeof(int);
    program.require_memory(4 * bytes, 2 * bytes);
    const std::vector<int> words = lab::random_ints(size, program.seed(), -1'000'000, 1'000'000);
    std::printf("step %s, %zu words\n", program.step_name().c_str(), size);

    // Every pair, with all words and with a single one.
    std::vector<std::vector<const char*>> routes;
    std::vector<std::vector<double>> rates, latencies;
    for (int from = 0; from < all; ++from) {
      routes.emplace_back(), rates.emplace_back(), latencies.emplace_back();
      for (int to = 0; to < all; ++to) {
        const std::string pair = "from " + std::to_string(from) + " to " + std::to_string(to);
        float copy_ms = INFINITY, word_ms = INFINITY;
        for (int run = 0; run < 3; ++run) {  // the first one warms up
          const transfer large = send(chosen_step, from, to, words, copies, piece);
          const lab::comparison arrived = lab::compare_exact(large.arrived, words);
          if (!arrived.ok) return program.verdict(false, pair + ": " + arrived.message);
          if (large.path != expected_route(chosen_step, from, to))
            return program.verdict(false, pair + ": went " + name_of(large.path));
          const transfer small =
              send(chosen_step, from, to, std::span(words).first(1), copies, piece);
          copy_ms = std::min(copy_ms, large.copy_ms);
          word_ms = std::min(word_ms, small.copy_ms);
          if (run == 0) routes.back().push_back(name_of(large.path));
        }
        rates.back().push_back(static_cast<double>(bytes) / copy_ms / 1e6);
        latencies.back().push_back(1000.0 * word_ms);
      }
    }
    program.verdict(true,
                    "all words arrived, from each of " + std::to_string(all) + " devices to each");
    const char* owner = lab::on_cpu_device() ? " (CPU device, not a GPU's)" : "";
    std::printf("%s\n", matrix_of("route", routes).text().c_str());
    std::printf("GB/s that arrive%s\n%s\n", owner, matrix_of("rate", rates).text().c_str());
    std::printf("microseconds for one word%s\n%s\n", owner,
                matrix_of("latency", latencies).text().c_str());
    if (!lab::on_cpu_device())
      std::printf("pinned memory to device %d: %.1f GB/s\n", program.device(),
                  lab::pinned_copy_bandwidth() / 1e9);

    std::printf("device 0 to device %d:\n", all - 1);  // the pair that is reported
    program.report_kernel(
        [&] { return send(chosen_step, 0, all - 1, words, copies, piece).copy_ms; },
        {.bytes = 2.0 * static_cast<double>(bytes)});
    return true;
  });
}
