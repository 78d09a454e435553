// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "observers/static_shared.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/symbols.hpp"
#include "observers/memory_check.hpp"

namespace cpu_device::check {
namespace {

/// Thread-local variables of the program that the rewriter did not note: `__shared__` ones outside
/// of functions or hidden in macros, what g++ remembers of constructors, storage of CUB's.
class other_variables {
 public:
  static const other_variables& of_program() {
    static const auto* all = new other_variables;  // until the very end
    return *all;
  }

  /// Without symbols nothing is known.
  bool are_known() const { return !all_.empty(); }

  struct range {
    std::uintptr_t begin = 0;  // counted from threadIdx
    std::size_t bytes = 0;     // 0: none
  };
  range find(std::uintptr_t address, std::size_t size) const {
    const std::uintptr_t at = address - reinterpret_cast<std::uintptr_t>(&threadIdx);
    for (const range& one : all_)
      if (at - one.begin < one.bytes && size <= one.bytes - (at - one.begin)) return one;
    return {};
  }

 private:
  other_variables() {
    std::uintptr_t origin = 0;
    bool found = false;
    visit_symbols(object_of(reinterpret_cast<const void*>(&look_beside_static)),
                  [&](const symbol& s) {
                    if (s.type != symbol::kind::thread_local_variable) return;
                    if (s.name == "threadIdx") {
                      origin = s.value;
                      found = true;
                    } else if (!is_refused(s.name)) {
                      all_.push_back({s.value, s.bytes});
                    }
                  });
    if (!found) all_.clear();
    for (range& one : all_) one.begin -= origin;
  }

  /// A gap, or a variable of the CPU device's.
  static bool is_refused(std::string_view name) {
    if (name.starts_with("_ZGV")) return false;  // what is remembered of constructors, even a gap's
    while (!name.empty() && (name[0] == '_' || (name[0] >= 'A' && name[0] <= 'Z')))
      name.remove_prefix(1);
    return name.starts_with("10cpu_device") || name.find("cpu_device_gap_") != name.npos;
  }

  std::vector<range> all_;
};

std::ptrdiff_t distance(std::uintptr_t from, std::uintptr_t to) {
  return static_cast<std::ptrdiff_t>(to - from);
}

[[noreturn]] void refuse_static(worker& w, const static_variables& known, std::uintptr_t address,
                                std::size_t size, std::uint8_t flags, const void* pc) {
  {
    const engine_work work(w);
    // Past the end of the variable below, or before the begin of the one above?
    const static_variable *below = nullptr, *above = nullptr;
    for (unsigned i = 1; i <= known.count; ++i) {
      const static_variable& one = known.all[i];
      if (*one.born_in != progress.block_serial || one.names == nullptr) continue;
      if (one.begin > address) {
        if (above == nullptr || one.begin < above->begin) above = &one;
      } else if (below == nullptr || one.begin > below->begin) {
        below = &one;
      }
    }
    const std::ptrdiff_t past =
        below == nullptr ? PTRDIFF_MAX : distance(below->begin + below->bytes, address);
    const std::ptrdiff_t before = above == nullptr ? PTRDIFF_MAX : distance(address, above->begin);
    const auto offset_in = [&](const static_variable& one) { return distance(one.begin, address); };
    const auto text_of = [](const static_variable& one) {
      return "the __shared__ variable " + shared_name(one.names, one.index) + " (" +
             std::to_string(one.bytes) + " bytes)";
    };
    // The gap behind a variable is as large as itself: as far as a block may step that has twice
    // the threads.
    const bool is_past =
        below != nullptr && (past <= before || past < static_cast<std::ptrdiff_t>(below->bytes));
    const static_variable* meant = is_past ? below : above;
    if (meant == nullptr) {
      describe_unknown(w, flags, pc, "shared memory that belongs to no variable of the block", ".");
    } else {
      std::string of_what = text_of(*meant);
      if (is_past && before < past)
        of_what += " (or " + element_text(offset_in(*above), size, above->bytes) + ", of " +
                   text_of(*above) + ")";
      describe_elements(w, offset_in(*meant), size, meant->bytes, of_what, flags, pc);
    }
  }
  give_up_block(w);
}

}  // namespace

void add_static(static_variables& known, const static_variable& variable) {
  for (unsigned i = 1; i <= known.count; ++i)
    if (known.all[i].begin == variable.begin) return;
  if (known.count + 1 == static_variables::kMost) return;
  known.all[++known.count] = variable;
  cell* const first = known.cells + (variable.begin - known.low) / 4;
  cell* const last = known.cells + (variable.begin + variable.bytes - 1 - known.low) / 4;
  for (cell* c = first; c <= last; ++c) c->variable = static_cast<std::uint16_t>(known.count);
}

void look_beside_static(worker& w, static_variables& known, std::uintptr_t address,
                        std::size_t size, std::uint8_t flags, const void* pc) {
  if (known.count + 1 == static_variables::kMost) return;  // too many to know
  bool of_other_block = false;
  for (unsigned i = 1; i <= known.count; ++i) {
    if (known.all[i].has(address, size)) return;  // a small one that shares a word
    of_other_block = of_other_block || address - known.all[i].begin < known.all[i].bytes;
  }
  {
    const engine_work work(w);
    const other_variables& others = other_variables::of_program();
    if (!others.are_known()) return;
    if (const auto other = others.find(address, size); other.bytes != 0 && !of_other_block) {
      add_static(known, {other.begin + reinterpret_cast<std::uintptr_t>(&threadIdx), other.bytes,
                         &progress.block_serial, nullptr, 0});
      return;
    }
  }
  refuse_static(w, known, address, size, flags, pc);
}

}  // namespace cpu_device::check
