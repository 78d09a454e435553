// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "engine/symbols.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cpu_device {
namespace {

struct object_search {
  std::uintptr_t address;
  loaded_object found;
};

int find_object(dl_phdr_info* info, std::size_t, void* wanted) {
  auto& search = *static_cast<object_search*>(wanted);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || search.address - info->dlpi_addr - part.p_vaddr >= part.p_memsz)
      continue;
    const bool program = info->dlpi_name == nullptr || *info->dlpi_name == '\0';
    search.found = {info->dlpi_addr, program ? "/proc/self/exe" : info->dlpi_name};
    return 1;
  }
  return 0;
}

void visit_image(const char* image, std::size_t bytes,
                 const std::function<void(const symbol&)>& visit) {
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
      const auto& one = symbols[s];
      const unsigned type = one.st_info & 15U;
      if ((type != STT_FUNC && type != STT_TLS) || one.st_size == 0 || one.st_shndx == SHN_UNDEF ||
          one.st_name >= names.sh_size)
        continue;
      visit({type == STT_FUNC ? symbol::kind::function : symbol::kind::thread_local_variable,
             image + names.sh_offset + one.st_name, one.st_value, one.st_size});
    }
  }
}

/// The last of the names in `_ZN3lab12_GLOBAL__N_14fillEPi`: each has its length in front.
std::string source_name(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return std::string(symbol);  // a function of C
  symbol.remove_prefix(2);
  std::string_view last;
  const auto skip = [&symbol](std::string_view letters) {
    while (!symbol.empty() && letters.find(symbol[0]) != std::string_view::npos)
      symbol.remove_prefix(1);
  };
  for (skip("NKL"); !symbol.empty() && symbol[0] >= '1' && symbol[0] <= '9'; skip("L")) {
    std::size_t length = 0;
    for (; !symbol.empty() && symbol[0] >= '0' && symbol[0] <= '9'; symbol.remove_prefix(1))
      length = length * 10 + static_cast<std::size_t>(symbol[0] - '0');
    last = symbol.substr(0, length);
    symbol.remove_prefix(last.size());
  }
  return std::string(last);
}

}  // namespace

loaded_object object_of(const void* address) {
  object_search search{reinterpret_cast<std::uintptr_t>(address), {}};
  dl_iterate_phdr(find_object, &search);
  return search.found;
}

void visit_symbols(const loaded_object& object, const std::function<void(const symbol&)>& visit) {
  const int file = open(object.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* image = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (image != MAP_FAILED) {
      visit_image(static_cast<const char*>(image), bytes, visit);
      munmap(image, bytes);
    }
  }
  close(file);
}

std::string function_name(const void* address) {
  const loaded_object object = object_of(address);
  const auto value = reinterpret_cast<std::uintptr_t>(address) - object.base;
  std::string name;
  visit_symbols(object, [&](const symbol& s) {
    if (s.type == symbol::kind::function && s.value == value && name.empty())
      name = source_name(s.name);
  });
  return name;
}

}  // namespace cpu_device
