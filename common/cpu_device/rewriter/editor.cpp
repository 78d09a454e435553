// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "editor.hpp"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "stretch.hpp"

namespace rewriter {

std::string stretch::newlines(std::size_t begin, std::size_t end) const {
  std::string result;
  for (std::size_t i = begin; i < end; ++i) {
    if (file.source[i] != '\n') continue;
    if (macro != nullptr) result += '\\';
    if (i > 0 && file.source[i - 1] == '\r') result += '\r';
    result += '\n';
  }
  return result;
}

namespace {

void edit_all(const stretch& s) {
  for (std::size_t i = 0; i < s.ts.size(); ++i) {
    const token& t = s.ts[i];
    if (opens_launch(t)) {
      edit_launch(s, i);
      continue;
    }
    const bool attribute = is_double_bracket(s.ts, i) ||
                           is_one_of(t.text, {"__attribute__", "__attribute", "__declspec"});
    if (const std::size_t after = skip_attribute(s.ts, i); attribute && after != i) {
      i = after - 1;
      continue;
    }
    if (t.kind != token_kind::identifier) continue;
    if (t.is("__shared__"))
      edit_shared(s, i);
    else if (t.is("__launch_bounds__") || t.is("__cluster_dims__"))
      edit_launch_bounds(s, i);
    else if (t.is("__noinline__"))
      s.replace(t.begin, t.end(), "__attribute__((noinline))");
    else if (t.is("__forceinline__"))
      edit_forceinline(s, i);
    else if (t.is("__CUDA_ARCH__"))
      edit_architecture(s, i);
    else if (is_assembly(t))
      i = edit_assembly(s, i);
    else if (!edit_kernel_address(s, i) && s.macro == nullptr)
      check_call(s, i);
  }
}

}  // namespace

findings examine(const source_file& file, const kernel_names& names, const std::string& name,
                 bool whole_program, bool pasted) {
  findings found;
  const stretch whole{file, names, name, file.parts.code, nullptr, found};
  if (report_open_brace(whole)) return found;  // all else would follow from it
  edit_all(whole);
  edit_conditions(whole);
  edit_local_arrays(whole);
  if (!pasted) edit_device_variables(whole, whole_program);
  for (const directive& d : file.parts.directives)
    if (d.name == "define" && !d.dead) edit_all({file, names, name, d.tokens, &d, found});
  if (found.uses_ptx) {
    const std::size_t begin = file.source.substr(0, 3) == kByteOrderMark ? 3 : 0;
    found.edits.push_back({begin, begin, "#include <cpu_device/ptx.h>\n" + marker(name)});
  }
  std::stable_sort(found.problems.begin(), found.problems.end(),
                   [](const problem& a, const problem& b) { return a.line < b.line; });
  return found;
}

std::string marker(const std::string& file) { return "#line 1 " + literal(file) + "\n"; }

std::string apply(std::string_view source, std::vector<edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   // What is inserted stands before what is replaced at the same place.
                   [](const edit& a, const edit& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  std::string result;
  std::size_t at = 0;
  for (const edit& e : edits) {
    if (e.begin < at) throw std::logic_error("two edits of the same text");
    result.append(source, at, e.begin - at);
    result += e.text;
    at = e.end;
  }
  result.append(source, at);
  return result;
}

}  // namespace rewriter
