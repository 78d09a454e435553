// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.1 hello_gpu: what the printed lines are compared with.
#pragma once

#include <cstddef>
#include <map>
#include <sstream>
#include <string>

#include "lab/closeness.hpp"

namespace lab::hello_gpu {

inline std::string line_of(unsigned block, unsigned thread) {
  return "Hello from block " + std::to_string(block) + ", thread " + std::to_string(thread);
}

namespace detail {

inline comparison lines_match(const std::string& printed, unsigned blocks, unsigned threads) {
  std::map<std::string, int> missing;  // how often a line is still to come: 1, then 0
  for (unsigned block = 0; block < blocks; ++block)
    for (unsigned thread = 0; thread < threads; ++thread) missing[line_of(block, thread)] = 1;
  const std::size_t count = missing.size();

  if (!printed.empty() && printed.back() != '\n')
    return {false, "the last line does not end with \\n"};
  std::istringstream lines(printed);
  std::size_t found = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto expected = missing.find(line);
    if (expected == missing.end()) return {false, "no thread should have printed '" + line + "'"};
    if (--expected->second < 0) return {false, "'" + line + "' has been printed twice"};
    ++found;
  }
  for (const auto& [line, times] : missing)
    if (times > 0)
      return {false, std::to_string(count - found) + " of " + std::to_string(count) +
                         " lines are missing, one of them '" + line + "'"};
  return {true, std::to_string(count) + (count == 1 ? " line" : " lines") + ", one per thread"};
}

}  // namespace detail

/// One line for each thread of each block, every one of them once, in any order; nothing else.
inline comparison check(const std::string& printed, unsigned blocks, unsigned threads) {
  comparison found = detail::lines_match(printed, blocks, threads);
  if (!found && detail::lines_match(printed, threads, blocks))
    found.message += ". These are the lines of <<<" + std::to_string(threads) + ", " +
                     std::to_string(blocks) +
                     ">>>: two numbers are swapped, in the launch or in the line";
  return found;
}

}  // namespace lab::hello_gpu
