// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Steps over tokens: brackets that belong together, attributes, words of C++.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tokens.hpp"

namespace rewriter {

using tokens = std::vector<token>;

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words);

/// Whether there is a token i, and it is this one, or an identifier.
bool is(const tokens& ts, std::size_t i, std::string_view text);
bool is_identifier(const tokens& ts, std::size_t i);

/// Whether nothing stands between the tokens i and i + 1.
bool adjacent(const tokens& ts, std::size_t i);

/// Brackets, of the three kinds that always are.
bool opens(const token& t);
bool closes(const token& t);

/// The bracket that closes, or opens, the one at i.
std::size_t match_forward(const tokens& ts, std::size_t i);
std::size_t match_back(const tokens& ts, std::size_t i);

/// The `>` that closes template arguments opened at i, and the `<` that opens those closed at i.
/// Not further than any real list of arguments reaches: most `<` open none.
std::size_t angle_forward(const tokens& ts, std::size_t i);
std::size_t angle_back(const tokens& ts, std::size_t i);

/// Words after which an expression starts: not a type before a declared name.
bool is_expression_keyword(std::string_view word);
bool is_control_keyword(std::string_view word);
bool is_class_key(std::string_view word);
/// Words that take parentheses and belong to a declaration without being its name.
bool is_attribute_word(std::string_view word);
bool is_alignment(std::string_view word);
bool is_double_bracket(const tokens& ts, std::size_t i);

/// After an attribute that starts at i (`__attribute__((...))`, `alignas(...)`, `[[...]]`), or i.
std::size_t skip_attribute(const tokens& ts, std::size_t i);

/// The tokens of [begin, end) on one line, with a blank where the source has any.
std::string flat(const tokens& ts, std::size_t begin, std::size_t end);

/// A string literal of C++ with this text on one line.
std::string literal(std::string_view text);

}  // namespace rewriter
