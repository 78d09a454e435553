// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The command line of the rewriter: see rewriter.hpp for what it does.

#include <exception>
#include <iostream>
#include <string_view>

#include "rewriter.hpp"

namespace {

constexpr int kRefused = 1;
constexpr int kUsage = 2;

constexpr std::string_view kHelp =
    "usage: cuda_rewriter INPUT.cu --output FILE.cpp [--depfile FILE.d] [-I DIR]...\n"
    "Turns CUDA C++ into C++ for the CPU device. Headers that need it are written beside "
    "FILE.cpp.\n"
    "Exit: 0 written, 1 the source is refused (reasons on stderr), 2 usage.\n";

int complain(std::string_view what) {
  std::cerr << "cuda_rewriter: " << what << '\n' << kHelp;
  return kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  rewriter::request wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--help") {
      std::cout << kHelp;
      return 0;
    }
    if (option == "--output" || option == "--depfile" || option == "-I") {
      if (!has_value) return complain(std::string(option) + " needs a value");
      const char* value = argv[++i];
      if (option == "--output")
        wanted.output = value;
      else if (option == "--depfile")
        wanted.depfile = value;
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
  if (wanted.input.empty()) return complain("no input file");
  if (wanted.output.empty()) return complain("no --output");

  try {
    const std::vector<rewriter::problem> problems = rewriter::rewrite_files(wanted);
    for (const rewriter::problem& p : problems)
      std::cerr << p.file << ':' << p.line << ": error: " << p.sentence << '\n';
    return problems.empty() ? 0 : kRefused;
  } catch (const std::exception& error) {
    std::cerr << "cuda_rewriter: error: " << error.what() << '\n';
    return kRefused;
  }
}
