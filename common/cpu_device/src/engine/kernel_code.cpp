// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "engine/kernel_code.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

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

/// The file that holds an address, and where it was loaded.
struct loaded_object {
  std::uintptr_t address, base = 0;
  const char* path = nullptr;
};

int find_object(dl_phdr_info* info, std::size_t, void* wanted) {
  auto& object = *static_cast<loaded_object*>(wanted);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && object.address - info->dlpi_addr - part.p_vaddr < part.p_memsz) {
      object.base = info->dlpi_addr;
      object.path = info->dlpi_name;
      return 1;
    }
  }
  return 0;
}

void add_functions(const char* image, std::size_t bytes, std::uintptr_t base, code_table& table) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(image);
  if (bytes < sizeof *header || std::string_view(image, SELFMAG) != ELFMAG ||
      header->e_shoff + std::size_t{header->e_shnum} * sizeof(ElfW(Shdr)) > bytes)
    return;
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(image + header->e_shoff);
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto& section = sections[i];
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) continue;
    const auto& names = sections[section.sh_link];
    if (section.sh_offset + section.sh_size > bytes || names.sh_offset + names.sh_size > bytes)
      continue;
    const auto* symbols = reinterpret_cast<const ElfW(Sym)*>(image + section.sh_offset);
    for (std::size_t s = 0; s < section.sh_size / sizeof *symbols; ++s) {
      const auto& symbol = symbols[s];
      if ((symbol.st_info & 15) != STT_FUNC || symbol.st_size == 0 || symbol.st_shndx == SHN_UNDEF)
        continue;
      if (symbol.st_name < names.sh_size &&
          is_the_programs(image + names.sh_offset + symbol.st_name))
        table.push_back({base + symbol.st_value, base + symbol.st_value + symbol.st_size});
    }
  }
}

}  // namespace

void learn_kernel_code(const void* function) {
  static std::set<std::uintptr_t> known;  // one thread alone comes here
  loaded_object object{reinterpret_cast<std::uintptr_t>(function)};
  if (dl_iterate_phdr(find_object, &object) == 0 || !known.insert(object.base).second) return;
  const bool program = object.path == nullptr || *object.path == '\0';
  const int file = open(program ? "/proc/self/exe" : object.path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* image = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED) {
      const code_table* before = learnt.load();
      // The one before stays: a signal handler may be reading it.
      auto* table = before != nullptr ? new code_table(*before) : new code_table;
      add_functions(static_cast<const char*>(image), bytes, object.base, *table);
      std::sort(table->begin(), table->end(),
                [](const code_range& a, const code_range& b) { return a.begin < b.begin; });
      learnt.store(table, std::memory_order_release);
      munmap(image, bytes);
    }
  }
  close(file);
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
