// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Which functions, variables, classes and macros the files of a program declare, and where each
// function may run. Read from names alone: what cannot be told from them is left out.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source_file.hpp"
#include "walking.hpp"

namespace rewriter {

/// `__global__`, `__device__` and `__host__`, as far as they are written.
struct marks {
  bool global = false, device = false, host = false;
  bool unknown = false;  // a word stands there that may be a macro with any of them

  bool on_device() const { return global || device; }
  bool device_only() const { return global || (device && !host); }
  bool host_only() const { return !global && !device && !unknown; }
};

/// A declaration of a function.
struct function {
  std::size_t file;          // which of the program's
  std::string name;          // "f", "operator+", "~T"
  std::string_view owner;    // the class, of a member
  std::string space;         // the namespaces around it: "a::b::"
  std::size_t begin, at;     // tokens: the declaration, the name
  std::size_t parameters;    // the `(`
  std::size_t body = kNone;  // the `{` of a definition; its match is known
  marks where;
  bool is_constexpr = false, is_consteval = false;
  bool templated = false;           // compiled when it is instantiated, not before
  bool when_used = false;           // inline and the like: compiled when something names it
  bool defaulted = false;           // `= default`: runs wherever it must
  bool uncertain = false;           // as in token
  std::size_t least = 0, most = 0;  // arguments it takes; most may be kNone
};

/// A variable outside of functions.
struct variable {
  std::size_t file, at;
  std::string space;
  bool on_device;  // __device__, __constant__ ...
  bool constant;   // __constant__
  bool scalar;     // no array, pointer, class member ...: one word or more and a name
  bool immutable;  // a const or constexpr that is no array: the compiler knows its value
  bool uncertain;
};

/// A static data member of a class that is no template.
struct static_member {
  std::string_view owner;
  std::size_t file, at;
  bool immutable;  // const or constexpr
  bool array;
};

/// What is declared in the files of a program.
struct declared {
  std::vector<function> functions;
  std::multimap<std::string_view, std::size_t> by_name;  // -> functions
  std::multimap<std::string_view, variable> variables;
  std::set<std::string_view> macros;
  std::map<std::string_view, marks> marking_macros;  // whose replacement has marks
  std::map<std::string_view, int> classes;           // how often each name is defined
  std::set<std::string_view> derived;                // classes that have a base
  std::map<std::string_view, std::vector<std::string_view>> bases;  // "": one not understood
  std::set<std::string_view> members;                               // variables of classes
  std::multimap<std::string_view, static_member> static_members;    // those on the host
  // (class, member) -> the member's type, where that is one word
  std::map<std::pair<std::string_view, std::string_view>, std::string_view> member_types;
  std::set<std::string> used_names;      // using a::b;
  std::set<std::string> used_spaces;     // using namespace ...
  std::set<std::string_view> mentioned;  // outside of functions and their names
};

declared read_declared(const std::vector<const source_file*>& files);

/// The namespaces around a scope: "a::b::".
std::string space_of(const source_file& file, std::uint32_t scope);

/// How many arguments stand in the parentheses that open at `open`; kNone if a pack is among them.
std::size_t count_arguments(const tokens& ts, std::size_t open);

}  // namespace rewriter
