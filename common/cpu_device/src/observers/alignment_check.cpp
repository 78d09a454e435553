// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "observers/alignment_check.hpp"

#include <cstring>
#include <string>

#include "base/memory.hpp"

namespace cpu_device::check {
namespace {

/// "a float4" for 'const struct float4'; other texts as they are.
std::string type_text(const char* what) {
  std::string name = what;
  if (!name.starts_with('\'')) return name;
  name = name.substr(1, name.size() - 2);
  for (const std::string word : {"const ", "volatile ", "struct "})
    if (name.starts_with(word)) name.erase(0, word.size());
  return (std::strchr("aeiou", name[0]) != nullptr ? "an " : "a ") + name;
}

void describe(worker& w, std::uintptr_t address, std::size_t alignment, const char* does,
              const char* what, const void* pc) {
  const std::string where = place_text(place_of(pc));
  const std::string multiple = std::to_string(alignment);
  const std::size_t past = address % alignment;
  const auto a = find_allocation(reinterpret_cast<const void*>(address));
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorMisalignedAddress;
  w.problem.text = "misaligned access: " + this_thread_text(w) + " " + does + " " +
                   type_text(what) + (where.empty() ? "" : " at " + where) + ", " +
                   std::to_string(past) + (past == 1 ? " byte" : " bytes") +
                   " past a multiple of " + multiple +
                   (a ? ", in " + cpu_device::describe(*a) : "") +
                   ".\n  A GPU ends the kernel there: an address must be a multiple of its type's "
                   "alignment (" +
                   multiple + " bytes). Try: an offset that is a multiple of " + multiple +
                   " bytes, or the elements one by one.";
}

const char* size_name(std::size_t size) {
  return size == 2 ? "2 bytes" : size == 4 ? "4 bytes" : size == 8 ? "8 bytes" : "16 bytes";
}

}  // namespace

void refuse_misaligned(std::uintptr_t address, std::size_t alignment, const char* does,
                       const char* what, const void* pc) {
  worker& w = *progress.self;
  {
    const engine_work work(w);
    describe(w, address, alignment, does, what, pc);
  }
  give_up_block(w);
}

void refuse_misaligned(std::uintptr_t address, std::size_t alignment, std::size_t size,
                       std::uint8_t flags, const void* pc) {
  refuse_misaligned(address, alignment,
                    (flags & kAtomic) != 0  ? "updates"
                    : (flags & kWrite) != 0 ? "writes"
                                            : "reads",
                    size_name(size), pc);
}

}  // namespace cpu_device::check

// -fsanitize=alignment: g++ calls this where it uses an address that is no multiple of the type's
// alignment. It sees what publisher.cpp does not: structures, and vectors that are accessed by
// their components here but as a whole on a GPU.
struct cpu_device_type_mismatch {
  const char* file;
  std::uint32_t line, column;
  const struct {
    std::uint16_t kind, info;
    char name[1];  // 'const struct float4'
  } * type;
  std::uint8_t log_alignment;
  std::uint8_t kind;  // 0: reads, 1: writes; others: a reference (whose structure is copied) …
};
extern "C" void __ubsan_handle_type_mismatch_v1(const cpu_device_type_mismatch* what,
                                                std::uintptr_t address) {
  if (!cpu_device::progress.watching) return;
  cpu_device::check::refuse_misaligned(address, std::size_t{1} << what->log_alignment,
                                       what->kind == 0   ? "reads"
                                       : what->kind == 1 ? "writes"
                                                         : "uses",
                                       what->type->name, __builtin_return_address(0));
}
