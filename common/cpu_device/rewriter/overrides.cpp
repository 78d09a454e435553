// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A virtual function of the device that one of the host overrides, or the other way round.
#include <algorithm>
#include <cstddef>
#include <string>

#include "spaces.hpp"

namespace rewriter {
namespace {

/// Declared in a class that is no template, with all its marks.
bool is_certain(const std::vector<listed_file>& files, const declared& all, const function& f) {
  const auto known = all.classes.find(f.owner);
  return known != all.classes.end() && known->second == 1 && !f.templated && !f.where.unknown &&
         !f.uncertain && !f.defaulted && f.name != f.owner && f.name[0] != '~' &&
         files[f.file].file->scope_of(f.at).kind == scope_kind::type;
}

/// `(int a) const`: the same for both of a pair that certainly overrides.
std::string signature(const tokens& ts, const function& f) {
  const std::size_t close = match_forward(ts, f.parameters);
  if (close == kNone) return {};
  return flat(ts, f.parameters, close + 1) + (is(ts, close + 1, "const") ? "const" : "");
}

bool is_virtual(const tokens& ts, const function& f) {
  return std::any_of(ts.begin() + static_cast<std::ptrdiff_t>(f.begin),
                     ts.begin() + static_cast<std::ptrdiff_t>(f.at),
                     [](const token& t) { return t.is("virtual"); });
}

}  // namespace

void check_overrides(const std::vector<listed_file>& files, const declared& all,
                     std::vector<problem>& problems) {
  for (const function& f : all.functions) {
    const auto bases = all.bases.find(f.owner);
    if (f.owner.empty() || bases == all.bases.end() || bases->second.size() != 1 ||
        !is_certain(files, all, f))
      continue;
    const tokens& ts = files[f.file].file->parts.code;
    const auto [first, last] = all.by_name.equal_range(f.name);
    for (auto at = first; at != last; ++at) {
      const function& base = all.functions[at->second];
      const tokens& there = files[base.file].file->parts.code;
      if (base.owner != bases->second.front() || !is_certain(files, all, base) ||
          !is_virtual(there, base) || signature(ts, f) != signature(there, base))
        continue;
      const bool to_host = f.where.host_only() && base.where.device_only();
      if (!to_host && !(f.where.device_only() && base.where.host_only())) continue;
      const std::string of_base = std::string(base.owner) + "::" + base.name;
      problems.push_back({files[f.file].name, ts[f.at].line,
                          "`" + std::string(f.owner) + "::" + f.name + "` is a function of the " +
                              (to_host ? "host" : "device") + " and overrides `" + of_base +
                              "` (line " + std::to_string(there[base.at].line) + "), one of the " +
                              (to_host ? "device" : "host") + ": both must run in the same place"});
    }
  }
}

}  // namespace rewriter
