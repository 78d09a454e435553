// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: the program.

#include <cstddef>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "own_code.hpp"
#include "ptx_and_sass.hpp"
#include "reference.hpp"

namespace {

using namespace lab::ptx_and_sass;

enum class shown { nothing, ptx_add, ptx_saxpy, sass_add, sass_saxpy, own };

void show(shown listing) {
  switch (listing) {
    case shown::nothing:
      break;
    case shown::ptx_add:
      std::printf("%s%s\n", kAddSource, kAddPtx);
      break;
    case shown::ptx_saxpy:
      std::printf("%s%s\n", kSaxpySource, kSaxpyPtx);
      break;
    case shown::sass_add:
      std::printf("%s%s\n", kAddSource, kAddSass);
      break;
    case shown::sass_saxpy:
      std::printf("%s%s\n", kSaxpySource, kSaxpySass);
      break;
    case shown::own: {
      const own_code mine = read_own_code();
      if (!mine.missing.empty()) throw lab::not_possible(mine.missing);
      std::printf("%s\n%s\n", mine.ptx.c_str(), mine.sass.c_str());
      break;
    }
  }
}

/// Prints a line for each answer; true if all are right. An answer that is not written is not
/// right.
bool review(const std::function<std::vector<finding>()>& ask) {
  try {
    bool right = true;
    for (const finding& next : ask()) {
      std::printf("  %-8s %s\n", next.right ? "right" : "WRONG", next.question.c_str());
      right = right && next.right;
    }
    return right;
  } catch (const lab::not_written& missing) {
    std::printf("  %-8s %s\n", "missing", missing.what());
    return false;
  }
}

void print_counts(const char* label, const counts& c) {
  std::printf("  %-20s %d loads, %d stores, %d additions, %d fused multiply-adds\n", label,
              c.global_loads, c.global_stores, c.float_additions, c.float_fused);
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("03.4_ptx_and_sass", "What the compiler makes of two kernels.");
  std::size_t size = 1000;
  program.add_size("--size", size, "number of elements, to run the kernels once")
      .at_most((std::size_t{1} << 31) - 1024);
  const auto& listing = program.add_choice<shown>(
      "--show",
      {{"nothing", shown::nothing, "only what your answers are worth"},
       {"ptx_add", shown::ptx_add, "the PTX of the addition"},
       {"ptx_saxpy", shown::ptx_saxpy, "the PTX of s * x + y"},
       {"sass_add", shown::sass_add, "the machine code of the addition"},
       {"sass_saxpy", shown::sass_saxpy, "the machine code of s * x + y"},
       {"own", shown::own, "what is in this very program (GPU builds, with cuobjdump)"}},
      shown::nothing, "a listing to read");

  return program.run(argc, argv, [&] {
    program.require_memory(4 * size * sizeof(float), 3 * size * sizeof(float));
    show(listing);

    const auto x = lab::random_floats(size, program.seed(), -1, 1);
    const auto y = lab::random_floats(size, program.seed() + 1, -1, 1);
    std::size_t wrong = 0;
    const auto sum = add(x, y), line = saxpy(2.5F, x, y);
    for (std::size_t i = 0; i < size; ++i)
      if (sum[i] != x[i] + y[i] ||
          (line[i] != fused(2.5F, x[i], y[i]) && line[i] != rounded_twice(2.5F, x[i], y[i])))
        ++wrong;
    if (!program.verdict(wrong == 0,
                         wrong == 0
                             ? "both kernels, run once with " + std::to_string(size) + " elements"
                             : std::to_string(wrong) + " results of the kernels"))
      return false;

    std::printf("your answers:\n");
    bool right = review([] {
      return compare_counts("ptx_add in PTX", add_in_ptx(), count_ptx(kAddPtx, "ptx_add"));
    });
    right &= review([] {
      return compare_counts("ptx_saxpy in PTX", saxpy_in_ptx(), count_ptx(kSaxpyPtx, "ptx_saxpy"));
    });
    right &= review([] { return compare_roles(roles_in_add(), find_roles(kAddPtx, "ptx_add")); });
    right &= review([] {
      return compare_counts("ptx_add in SASS", add_in_sass(), count_sass(kAddSass, "ptx_add"));
    });
    right &= review([] {
      return compare_counts("ptx_saxpy in SASS", saxpy_in_sass(),
                            count_sass(kSaxpySass, "ptx_saxpy"));
    });
    if (!program.verdict(right, right ? "you can read both" : "not everything; see above"))
      return false;

    // Only now: it would give the answers away.
    const own_code mine = read_own_code();
    if (!mine.missing.empty()) {
      std::printf("The code of this build: %s.\n", mine.missing.c_str());
      return true;
    }
    std::printf("The code of this build:\n");
    print_counts("ptx_add in PTX", count_ptx(mine.ptx, "ptx_add"));
    print_counts("ptx_saxpy in PTX", count_ptx(mine.ptx, "ptx_saxpy"));
    print_counts("ptx_add in SASS", count_sass(mine.sass, "ptx_add"));
    print_counts("ptx_saxpy in SASS", count_sass(mine.sass, "ptx_saxpy"));
    return true;
  });
}
