// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// CUDA C++ source cut into tokens, as far as the rewriter needs it: comments and strings are
// recognised so that nothing in them is touched, and preprocessor lines are kept apart.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rewriter {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);  ///< no such token

enum class token_kind { identifier, number, string, character, punctuation };

/// A piece of the source. Its text is a view of the source that was cut.
struct token {
  token_kind kind;
  std::string_view text;
  std::size_t begin;  ///< offset in the source
  int line;           ///< from 1
  /// Under a condition that names __CUDA_ARCH__ and the like: often not compiled for a host.
  bool conditional = false;
  bool uncertain = false;  ///< under any condition: perhaps this is not compiled
  /// The bracket that belongs to this one, or kNone. All three kinds are counted alike.
  std::size_t match = kNone;

  std::size_t end() const { return begin + text.size(); }
  bool is(std::string_view wanted) const { return text == wanted; }
};

/// A preprocessor line, continued lines included.
struct directive {
  std::string_view name;  ///< "include", "define", "if" ...
  int line;
  std::size_t position;       ///< how many tokens of source_tokens::code come before it
  std::vector<token> tokens;  ///< what follows the name; for a #define, the replacement only
  std::string_view macro;     ///< the name that a #define gives
  std::vector<std::string_view> parameters;  ///< of a function-like macro
  bool dead = false;                         ///< under `#if 0`
  bool conditional = false;                  ///< as in token
  bool uncertain = false;                    ///< as in token
};

struct source_tokens {
  std::vector<token> code;  ///< everything outside preprocessor lines and `#if 0`
  std::vector<directive> directives;
};

/// Cuts a source into tokens. Never fails: what is no C++ comes out as odd punctuation.
/// `>` is always one character; `<<<` is one token, however many `<` stand there, and so is `<< <`.
source_tokens cut(std::string_view source);

/// `<<<` or `<< <`; nvcc takes both.
bool opens_launch(const token& t);

}  // namespace rewriter
