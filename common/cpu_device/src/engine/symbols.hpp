// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The symbols of the program, or of a shared object. Internal to the CPU device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cpu_device {

/// The file that holds a function or a variable, and where it was loaded.
struct loaded_object {
  std::uintptr_t base = 0;
  std::string path;  // empty: it is unknown
};
loaded_object object_of(const void* address);

struct symbol {
  enum class kind { function, thread_local_variable } type;
  std::string_view name;  // as the compiler made it
  std::uintptr_t value;   // a function: counted from the object's base
  std::size_t bytes;      // never 0
};
/// Shows all functions and thread-local variables. A file without symbols (strip) has none.
void visit_symbols(const loaded_object& object, const std::function<void(const symbol&)>& visit);

/// The name of a function in its source, without namespaces, parameters and template arguments.
/// Empty if no symbol has the address.
std::string function_name(const void* address);

}  // namespace cpu_device
