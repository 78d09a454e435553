// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.4 zeta: the program.

#include <cmath>
#include <cstddef>
#include <cstdio>

#include "lab/command_line.hpp"
#include "reference.hpp"
#include "zeta.hpp"

int main(int argc, char** argv) {
  using lab::zeta::precision;
  using lab::zeta::step;
  lab::program program("02.4_zeta", "Zeta of 2, 3 and 4 by the series, in two orders.");
  std::size_t size = std::size_t{1} << 22;
  program.add_size("--size", size, "number of terms").at_most(lab::zeta::kMostTerms);
  const auto& timed =
      program.add_step<step>({{"large_first", step::large_first, "1, 1/2^s, 1/3^s …"},
                              {"small_first", step::small_first, "the 1 comes last"}},
                             step::small_first);

  return program.run(argc, argv, [&] {
    struct kind {
      precision type;
      step version;
      const char* name;
    };
    constexpr kind kKinds[] = {{precision::in_float, step::large_first, "float, large first"},
                               {precision::in_float, step::small_first, "float, small first"},
                               {precision::in_double, step::large_first, "double, large first"},
                               {precision::in_double, step::small_first, "double, small first"}};
    lab::table rows({"s", "type, order", "sum", "off by", "rounded away", "allowed"});
    for (const unsigned s : {2U, 3U, 4U}) {
      const double zeta = lab::zeta::exact(s);
      const auto terms = static_cast<double>(lab::zeta::reference(s, size));
      for (const auto& [type, version, name] : kKinds) {
        const double value = lab::zeta::sum(version, type, s, size).value;
        const double rounding = lab::zeta::rounding_bound(version, type, s, size);
        const double all = lab::zeta::error_bound(version, type, s, size);
        for (const auto& outcome : {lab::compare(value, zeta, {.absolute = all}),
                                    lab::compare(value, terms, {.absolute = rounding})})
          if (!outcome) return program.verdict(outcome);
        rows.add({std::int64_t{s}, name, value, std::fabs(value - zeta), std::fabs(value - terms),
                  rounding});
      }
    }
    if (!program.verdict(true, "every sum is as close to zeta as required")) return false;

    std::printf(
        "%zu terms. Off by: the distance from zeta(s). Rounded away: the distance from the\n"
        "exact sum of these terms, and how much of it is allowed.\n",
        size);
    std::fputs(rows.text().c_str(), stdout);
    for (const unsigned s : {2U, 3U, 4U})
      std::printf("zeta(%u) = %.15f, in double, small first: %.15f\n", s, lab::zeta::exact(s),
                  lab::zeta::sum(step::small_first, precision::in_double, s, size).value);
    program.report_kernel(
        [&] { return lab::zeta::sum(timed, precision::in_float, 2, size).kernel_ms; },
        {.items = static_cast<double>(size), .item_name = "terms"});
    return true;
  });
}
