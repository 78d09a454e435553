// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word in lines that it attributes to another file, as a preprocessor writes it
// stopped by: directives that name a file are refused
// base: solution
// state: refused
// points: 0
// says: #line

#define GLUE(a, b) a##b
// The directive stays behind a comment:
// clang-format off
/* a comment */ # /* another
*/ 1 "elsewhere.hpp" 1
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
