// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.4 bank_conflicts: the program.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bank_conflicts.hpp"
#include "counted.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "lab/table.hpp"
#include "reference.hpp"

namespace {

using lab::bank_conflicts::layout;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();  // an empty cell

struct settings {
  std::size_t rows;
  unsigned rounds;
  std::uint64_t seed;
  int repeat;
};

/// What a read of a warp takes by wavefronts(), on average over the columns.
double predicted(std::size_t bytes, std::size_t pitch, std::size_t columns) {
  double sum = 0;
  for (std::size_t column = 0; column < columns; ++column)
    sum += lab::bank_conflicts::wavefronts(bytes, pitch, column);
  return sum / static_cast<double>(columns);
}

struct measured {
  std::string wrong;          ///< empty, or what is
  double counted = kNothing;  ///< wavefronts a read
  double ms = kNothing;
};

/// Adds up the rows of a table in one layout; checks the sums and what was counted.
template <class T>
measured measure(layout tile_layout, const std::vector<T>& table, std::size_t columns,
                 double expected, const settings& with) {
  namespace lab_functions = lab::bank_conflicts;
  lab_functions::result result;
  const std::span<const T> view(table);
  const auto run_once = [&] {
    result = lab_functions::row_sums(tile_layout, view, columns, with.rounds);
  };
  measured m;
  const auto reads = lab_functions::count_shared_reads(run_once);
  const auto sums =
      lab::compare(result.sums, lab_functions::reference_sums(view, columns, with.rounds), {});
  if (!sums) return {sums.message};
  if (reads) {
    m.counted = static_cast<double>(reads->wavefronts) / static_cast<double>(reads->requests);
    // The last warp may have fewer rows than lanes, and then fewer conflicts.
    if (with.rows % lab_functions::kLanes == 0 && std::fabs(m.counted - expected) > 1e-9)
      return {std::to_string(m.counted) + " wavefronts a read were counted, " +
              std::to_string(expected) + " predicted"};
  }
  if (!lab::on_cpu_device() && with.rows != 0) {
    std::vector<float> times;
    for (int i = 0; i < with.repeat; ++i) {
      run_once();
      times.push_back(result.kernel_ms);
    }
    m.ms = lab::summarize(times).median_ms;
  }
  return m;
}

/// Both layouts of one table: a row of `results`. Returns what is wrong, or nothing.
template <class T>
std::string compare_layouts(const std::string& type, std::size_t columns, const settings& with,
                            lab::table& results) {
  const std::vector<int> numbers = lab::random_ints(with.rows * columns, with.seed, -99, 99);
  const std::vector<T> table(numbers.begin(), numbers.end());
  const std::size_t pitch = lab::bank_conflicts::conflict_free_pitch(sizeof(T), columns);
  const double expected = predicted(sizeof(T), columns, columns);
  const measured packed = measure(layout::packed, table, columns, expected, with);
  const measured padded = measure(layout::padded, table, columns, 1, with);
  for (const auto& [name, wrong] : {std::pair("packed", packed.wrong), {"padded", padded.wrong}})
    if (!wrong.empty())
      return type + ", " + std::to_string(columns) + " columns, " + name + ": " + wrong;
  results.add({type, static_cast<std::int64_t>(columns), expected, packed.counted,
               static_cast<std::int64_t>(pitch), padded.counted, packed.ms, padded.ms,
               packed.ms / padded.ms});
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  enum class element { all, chars, shorts, floats };
  lab::program program("05.4_bank_conflicts",
                       "Adds up rows in shared memory, with and without bank conflicts.");
  std::size_t rows = lab::bank_conflicts::kDefaultRows, only = 0, rounds = 4;
  program.add_size("--size", rows, "number of rows");
  program.add_size("--columns", only, "of the table; 0 tries many")
      .at_most(lab::bank_conflicts::kMostColumns);
  program.add_size("--rounds", rounds, "how often each row is read")
      .at_least(1)
      .at_most(lab::bank_conflicts::kMostRounds);
  const auto& chosen = program.add_choice<element>("--type",
                                                   {{"all", element::all},
                                                    {"char", element::chars},
                                                    {"short", element::shorts},
                                                    {"float", element::floats}},
                                                   element::all, "of the elements");
  program.add_table_options();

  return program.run(argc, argv, [&] {
    std::vector<std::size_t> widths = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 33, 48, 64};
    if (only != 0) widths = {only};
    program.require_memory(4 * rows * widths.back() * sizeof(double),
                           2 * rows * widths.back() * sizeof(float));
    const settings with{rows, static_cast<unsigned>(rounds), program.seed(), program.repeat()};
    std::printf("%zu rows, each added up %zu times by a thread of its own\n", rows, rounds);

    lab::table results(
        {"type", "columns", "predicted", "counted", "pitch", "padded", "ms", "padded ms", "ratio"});
    std::string wrong;
    const auto wanted = [&](element type) {
      return wrong.empty() && (chosen == element::all || chosen == type);
    };
    for (const std::size_t columns : widths)
      if (wanted(element::chars))
        wrong = compare_layouts<signed char>("char", columns, with, results);
    for (const std::size_t columns : widths)
      if (wanted(element::shorts)) wrong = compare_layouts<short>("short", columns, with, results);
    for (const std::size_t columns : widths)
      if (wanted(element::floats)) wrong = compare_layouts<float>("float", columns, with, results);
    if (!wrong.empty()) return program.verdict(false, wrong);

    const bool counted = !std::isnan(std::get<double>(results.at(0, "counted")));
    program.verdict(true, counted ? "all sums, and as many wavefronts counted as predicted"
                                  : "all sums (wavefronts are not counted here)");
    std::printf(
        "predicted and counted: passes over the banks for a read of a warp, on average;\n"
        "pitch, padded: from row to row without conflicts, and the passes counted then\n");
    const bool timed = !lab::on_cpu_device() && rows != 0;
    program.emit_table(
        results,
        {.title = timed ? "How much slower without padding" : "Bank conflicts without padding",
         .x_label = "columns",
         .y_label = timed ? "time, packed / padded" : "predicted passes for a read of a warp",
         .log_x = true,
         .log_y = true,
         .lines = lab::lines_of(results, "type", "columns", timed ? "ratio" : "predicted")});
    if (lab::on_cpu_device())
      std::printf("No times: this is not a GPU. scripts/lab profile 05.4 counts wavefronts.\n");
    return true;
  });
}
