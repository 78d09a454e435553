// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The command line of the rewriter: see rewriter.hpp for what it does.

#include "command_line.hpp"

#include <exception>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "rewriter.hpp"

namespace rewriter {
namespace {

constexpr int kRefused = 1;
constexpr int kUsage = 2;

constexpr std::string_view kHelp =
    "usage: cuda_rewriter INPUT.cu --output FILE.cpp [--depfile FILE.d] [-I DIR]...\n"
    "                     [--whole-program] [--relaxed-constexpr]\n"
    "       cuda_rewriter --tokens FILE\n"
    "Turns CUDA C++ into C++ for the CPU device. Headers that need it are written beside "
    "FILE.cpp.\n"
    "--whole-program: device variables belong to their file, as with nvcc without -rdc=true.\n"
    "--relaxed-constexpr: device code may call constexpr functions of the host.\n"
    "--tokens prints a line for each token of FILE: kind, offset, length and line.\n"
    "Exit: 0 written, 1 the source is refused (reasons on stderr), 2 usage.\n";

int complain(std::string_view what) {
  std::cerr << "cuda_rewriter: " << what << '\n' << kHelp;
  return kUsage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  request wanted;
  std::filesystem::path tokens_of;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--help") {
      std::cout << kHelp;
      return 0;
    }
    if (option == "--whole-program") {
      wanted.whole_program = true;
      continue;
    }
    if (option == "--relaxed-constexpr") {
      wanted.relaxed_constexpr = true;
      continue;
    }
    if (option == "--output" || option == "--depfile" || option == "-I" || option == "--tokens") {
      if (!has_value) return complain(std::string(option) + " needs a value");
      const char* value = argv[++i];
      if (option == "--output")
        wanted.output = value;
      else if (option == "--depfile")
        wanted.depfile = value;
      else if (option == "--tokens")
        tokens_of = value;
      else
        wanted.include_dirs.emplace_back(value);
    } else if (option.size() > 2 && option.substr(0, 2) == "-I") {
      wanted.include_dirs.emplace_back(option.substr(2));
    } else if (!option.empty() && option[0] == '-') {
      return complain("unknown option " + std::string(option));
    } else if (wanted.input.empty()) {
      wanted.input = option;
    } else {
      return complain("more than one input file");
    }
  }
  const bool rewrites = !wanted.input.empty() || !wanted.output.empty();
  if (!tokens_of.empty() && rewrites) return complain("--tokens goes with no other file");
  if (tokens_of.empty() && wanted.input.empty()) return complain("no input file");
  if (tokens_of.empty() && wanted.output.empty()) return complain("no --output");

  try {
    if (!tokens_of.empty()) {
      print_tokens(tokens_of, std::cout);
      std::cout.flush();
      if (!std::cout) throw std::runtime_error("the tokens cannot be written");
      return 0;
    }
    const std::vector<problem> problems = rewrite_files(wanted);
    for (const problem& p : problems)
      std::cerr << p.file << ':' << p.line << ": error: " << p.sentence << '\n';
    return problems.empty() ? 0 : kRefused;
  } catch (const std::exception& error) {
    std::cerr << "cuda_rewriter: error: " << error.what() << '\n';
    return kRefused;
  }
}

}  // namespace rewriter
