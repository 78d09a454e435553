// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "engine/kernel_code.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "engine/symbols.hpp"

namespace cpu_device {
namespace {

struct code_range {
  std::uintptr_t begin, end;
};
using code_table = std::vector<code_range>;
std::atomic<const code_table*> learnt{nullptr};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// By the name that the compiler gave it.
bool is_the_programs(std::string_view name) {
  // What lies between run_threads() and the kernel holds the kernel's code when it is inlined
  // there.
  if (contains(name, "N10cpu_device11run_threads") || contains(name, "__invoke") ||
      contains(name, "__apply_impl") || contains(name, "_ZSt5apply") ||
      (name.starts_with("_ZNK10cpu_device") && contains(name, "_launchI") &&
       contains(name, "4callclE")))
    return true;
  if (!name.starts_with("_Z"))  // C: the engine's assembly, what the compiler calls
    return !name.starts_with("cpu_device_") && !name.starts_with("__") && !name.starts_with("_");
  while (!name.empty() && (name[0] == '_' || (name[0] >= 'A' && name[0] <= 'Z' && name[0] != 'S')))
    name.remove_prefix(1);  // _ZN, _ZNK, _ZZN, _ZGVZN, _ZTh ...
  return !name.starts_with("10cpu_device") && !name.starts_with("6nvcuda4wmma") &&
         !name.starts_with("St") && !name.starts_with("Sa") && !name.starts_with("Ss") &&
         !name.starts_with("9__gnu_cxx") && !name.starts_with("10__cxxabiv1");
}

}  // namespace

void learn_kernel_code(const void* function) {
  static std::set<std::uintptr_t> known;  // one thread alone comes here
  const loaded_object object = object_of(function);
  if (object.path.empty() || !known.insert(object.base).second) return;
  const code_table* before = learnt.load();
  // The one before stays: a signal handler may be reading it.
  auto* table = before != nullptr ? new code_table(*before) : new code_table;
  visit_symbols(object, [&](const symbol& s) {
    if (s.type == symbol::kind::function && is_the_programs(s.name))
      table->push_back({object.base + s.value, object.base + s.value + s.bytes});
  });
  std::sort(table->begin(), table->end(),
            [](const code_range& a, const code_range& b) { return a.begin < b.begin; });
  learnt.store(table, std::memory_order_release);
}

bool is_kernel_code(const void* pc) {
  const code_table* table = learnt.load(std::memory_order_acquire);
  if (table == nullptr) return false;
  const auto address = reinterpret_cast<std::uintptr_t>(pc);
  const auto after =
      std::upper_bound(table->begin(), table->end(), address,
                       [](std::uintptr_t a, const code_range& range) { return a < range.begin; });
  return after != table->begin() && address < std::prev(after)->end;
}

}  // namespace cpu_device
