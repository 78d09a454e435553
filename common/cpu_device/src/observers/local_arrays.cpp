// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "observers/local_arrays.hpp"

#include <algorithm>

#include "base/report.hpp"
#include "observers/watched_code.hpp"

namespace cpu_device::check {
namespace {

bool same_declaration(const local_array& a, const local_array& b) {
  return a.line == b.line && a.bytes == b.bytes && std::string(a.name) == b.name &&
         std::string(a.file) == b.file;
}

std::string describe(const local_array& array, std::size_t element, const std::string& where) {
  return " reads element " + std::to_string(element) + " of its copy of " + array.name +
         (where.empty() ? "" : " at " + where) +
         ", which it has not written; another thread of the block has written that element of its "
         "copy.\n  The array declared at " +
         place(array.file, array.line) +
         " is local: every thread has a copy. Try: __shared__ before its type, if the threads of "
         "the block are to share it.";
}

}  // namespace

void local_arrays::add(std::uint32_t block, std::uint32_t thread, const local_array& array) {
  if (block_ != block) {
    for (auto& arrays : threads_) arrays.clear();
    block_ = block;
  }
  if (threads_.size() <= thread) threads_.resize(thread + 1);
  auto& mine = threads_[thread];
  // An array of a scope that has ended gives its place to the next.
  const auto begin = reinterpret_cast<std::uintptr_t>(array.begin);
  mine.erase(std::remove_if(mine.begin(), mine.end(),
                            [&](const one& old) {
                              const auto at = reinterpret_cast<std::uintptr_t>(old.array.begin);
                              return at < begin + array.bytes && begin < at + old.array.bytes;
                            }),
             mine.end());
  mine.push_back({array, std::vector<bool>(array.bytes / array.element), false, 0});
}

local_arrays::one* local_arrays::find(std::uint32_t thread, std::uintptr_t address) {
  if (thread >= threads_.size()) return nullptr;
  for (one& candidate : threads_[thread])
    if (address - reinterpret_cast<std::uintptr_t>(candidate.array.begin) < candidate.array.bytes)
      return &candidate;
  return nullptr;
}

bool local_arrays::looks_shared(const local_array& array, std::size_t element,
                                std::uint32_t epoch) const {
  std::vector<const one*> authors;  // whose copies have anything in them
  std::vector<bool> by_any(array.bytes / array.element);
  for (const auto& arrays : threads_)
    for (const one& copy : arrays) {
      if (!copy.written_once || !same_declaration(copy.array, array)) continue;
      authors.push_back(&copy);
      for (std::size_t i = 0; i < by_any.size(); ++i)
        if (copy.written[i]) by_any[i] = true;
    }
  if (!by_any[element]) return false;
  const auto whole = std::find_if(authors.begin(), authors.end(),
                                  [&](const one* copy) { return copy->written == by_any; });
  if (whole == authors.end()) return true;
  return authors.size() == 1 && (*whole)->epoch != epoch;
}

std::string local_arrays::look(std::uint32_t block, std::uint32_t thread, std::uintptr_t address,
                               std::size_t size, bool write, std::uint32_t epoch, const void* pc) {
  if (block != block_) return {};
  one* const mine = find(thread, address);
  if (mine == nullptr) return {};
  const local_array& array = mine->array;
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(array.begin);
  const std::size_t first = offset / array.element;
  const std::size_t last = std::min((offset + size - 1) / array.element, mine->written.size() - 1);
  if (write) {
    std::fill(mine->written.begin() + static_cast<std::ptrdiff_t>(first),
              mine->written.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
    mine->written_once = true;
    mine->epoch = epoch;
    return {};
  }
  for (std::size_t i = first; i <= last; ++i) {
    if (!mine->written[i] && looks_shared(array, i, epoch))
      return describe(array, i, place_text(place_of(pc)));
  }
  return {};
}

}  // namespace cpu_device::check
