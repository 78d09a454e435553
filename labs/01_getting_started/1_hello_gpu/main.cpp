// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.1 hello_gpu: the program.

#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include "captured_output.hpp"
#include "hello_gpu.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  constexpr std::size_t kLargest = std::numeric_limits<unsigned>::max();
  lab::program program("01.1_hello_gpu", "Prints a line from each thread of a kernel.");
  std::size_t blocks = 2, threads = 5;
  program.add_size("--blocks", blocks, "blocks of the grid").at_most(kLargest);
  program.add_size("--threads", threads, "threads of each block").at_most(kLargest);

  return program.run(argc, argv, [&] {
    const auto b = static_cast<unsigned>(blocks), t = static_cast<unsigned>(threads);
    std::printf("Hello from the host: it launches %u blocks of %u threads\n", b, t);
    lab::hello_gpu::captured_output output;
    lab::hello_gpu::greet(b, t);
    const std::string printed = output.text();
    std::printf("%s", printed.c_str());
    return program.verdict(lab::hello_gpu::check(printed, b, t));
  });
}
