// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A stretch of code that is being examined, and the subjects it is examined for: each has a file
// of its own.
#pragma once

#include <cstddef>
#include <string>

#include "editor.hpp"
#include "source_file.hpp"
#include "walking.hpp"

namespace rewriter {

/// The code of a file, or the replacement of one of its macros.
struct stretch {
  const source_file& file;
  const kernel_names& names;
  const std::string& name;  // the file's, in problems
  const tokens& ts;
  const directive* macro;  // whose tokens these are, if it is a macro's
  findings& found;

  /// Whether the token i stands in a function. What a macro holds may always do so.
  bool in_block(std::size_t i) const {
    return macro != nullptr || file.scope_of(i).kind == scope_kind::block;
  }
  void report(int line, std::string sentence) const {
    found.problems.push_back({name, line, std::move(sentence)});
  }
  void replace(std::size_t begin, std::size_t end, std::string text) const {
    found.edits.push_back({begin, end, std::move(text)});
  }
  /// The newlines between two offsets, as they must be written again.
  std::string newlines(std::size_t begin, std::size_t end) const;
};

// The token at which each starts is the one that its subject is named after.

/// braces.cpp: a function whose last brace is missing. True if that was reported.
bool report_open_brace(const stretch& s);

/// conditions.cpp: `#ifdef __CUDACC__` and `#if __CUDA_ARCH__ >= 700`.
void edit_conditions(const stretch& s);
/// conditions.cpp: the value of `__CUDA_ARCH__`, in functions of devices alone.
void edit_architecture(const stretch& s, std::size_t at);

/// local_arrays.cpp: an array of a thread's own, in a function with a barrier, is made known: it
/// may have been meant to be `__shared__`.
void edit_local_arrays(const stretch& s);

/// launches.cpp: the launch whose `<<<` is at `open`.
void edit_launch(const stretch& s, std::size_t open);
bool directive_between(const stretch& s, std::size_t first, std::size_t last);

/// launch_bounds.cpp: has the kernel's body note what the `__launch_bounds__` or
/// `__cluster_dims__` at `at` says.
void edit_launch_bounds(const stretch& s, std::size_t at);

/// shared_memory.cpp: the declaration that the `__shared__` at `at` is part of.
void edit_shared(const stretch& s, std::size_t at);

/// device_variables.cpp: `__device__` and `__constant__` variables outside functions are made known
/// to the runtime; with `whole_program` they and `__managed__` ones become those of their file.
void edit_device_variables(const stretch& s, bool whole_program);

/// qualifiers.cpp: `__forceinline__`.
void edit_forceinline(const stretch& s, std::size_t at);

/// assembly.cpp: the inline PTX whose `asm` is at `at` becomes C++, or is refused. Returns the last
/// token of what has been dealt with.
std::size_t edit_assembly(const stretch& s, std::size_t at);
bool is_assembly(const token& t);
bool can_be_translated(const tokens& ts, std::size_t at);

/// kernel_uses.cpp: a kernel whose address leaves its type behind, which whoever launches it will
/// need. False if the name at `at` is no such kernel.
bool edit_kernel_address(const stretch& s, std::size_t at);
/// kernel_uses.cpp: a kernel that is called like a function is refused.
void check_call(const stretch& s, std::size_t at);

}  // namespace rewriter
