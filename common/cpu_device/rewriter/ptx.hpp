// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Inline PTX, as far as it says in another language what CUDA C++ says, too: special registers,
// arithmetic, bits, loads and stores, atomics, copies, fences, warp functions. Each instruction
// becomes a call of <cpu_device/ptx.h>.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rewriter {

/// An operand of an asm statement: `"constraint" (expression)`. (nvcc takes no names for them.)
struct ptx_operand {
  std::string constraint;
  std::string expression;
};

struct ptx_statement {
  std::string code;                   ///< the instructions, as the compiler would hand them on
  std::vector<ptx_operand> operands;  ///< %0, %1, …
  std::size_t outputs = 0;            ///< how many of them come first
};

struct ptx_translation {
  std::string text;     ///< a statement of C++, without the semicolon at its end
  std::string refused;  ///< the first instruction that has no counterpart; empty: all have one
};

ptx_translation translate(const ptx_statement& statement);

/// Whether a text looks like PTX, which names the type in the instruction: `add.u32`.
bool looks_like_ptx(std::string_view text);

}  // namespace rewriter
