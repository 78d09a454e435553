// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.4 ptx_and_sass: reads the instructions of a kernel out of a listing, PTX or SASS.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace lab::ptx_and_sass {

struct instruction {
  std::string predicate;              ///< such as "@%p1" or "@!P0"; empty without one
  std::string opcode;                 ///< such as "ld.global.f32" or "LDG.E"
  std::vector<std::string> operands;  ///< such as "%f1", "[%rd8]"
};

/// Is it this instruction, in any of its forms? `ld.global` is `ld.global.f32`, but not `ld.param`.
inline bool is(const instruction& i, std::string_view name) {
  const std::string_view opcode = i.opcode;
  return opcode.starts_with(name) && (opcode.size() == name.size() || opcode[name.size()] == '.');
}

/// The instruction in one line, without comments; without an opcode where there is none: in both
/// languages an instruction ends with a semicolon, and what begins with a dot is a directive.
inline instruction parse_line(std::string line) {
  for (std::size_t at; (at = line.find("/*")) != std::string::npos;) {
    const std::size_t end = line.find("*/", at);
    line.erase(at, end == std::string::npos ? end : end + 2 - at);
  }
  line.erase(std::min(line.find("//"), line.size()));
  std::replace(line.begin(), line.end(), '\t', ' ');
  const std::size_t first = line.find_first_not_of(' '), semicolon = line.find(';');
  if (first == std::string::npos || semicolon == std::string::npos || line[first] == '.') return {};

  instruction found;
  std::istringstream words(line.substr(first, semicolon - first));
  words >> found.opcode;
  if (found.opcode.starts_with('@')) {
    found.predicate = found.opcode;
    words >> found.opcode;
  }
  for (std::string operand; std::getline(words, operand, ',');) {
    operand.erase(std::remove(operand.begin(), operand.end(), ' '), operand.end());
    if (!operand.empty()) found.operands.push_back(operand);
  }
  return found;
}

/// The instructions of one kernel, in their order; none if the listing does not have it. In PTX it
/// begins with `.entry NAME(`, in SASS with `Function : NAME`, and ends where another one begins.
inline std::vector<instruction> instructions_of(std::string_view listing, std::string_view kernel) {
  std::vector<instruction> found;
  std::istringstream lines{std::string(listing)};
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t entry = line.find(".entry "), function = line.find("Function : ");
    if (entry != std::string::npos || function != std::string::npos) {
      std::string name =
          entry != std::string::npos ? line.substr(entry + 7) : line.substr(function + 11);
      name.erase(std::min(name.find_first_of("( \r"), name.size()));
      // The same kernel, again, for another architecture: the first is enough.
      inside = name == kernel && found.empty();
    } else if (inside) {
      if (const instruction next = parse_line(line); !next.opcode.empty()) found.push_back(next);
    }
  }
  return found;
}

inline int count(const std::vector<instruction>& all, std::string_view name) {
  return static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const instruction& i) { return is(i, name); }));
}

}  // namespace lab::ptx_and_sass
