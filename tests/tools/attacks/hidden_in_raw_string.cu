// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word behind a line of a raw string that names another file
// stopped by: directives that name a file are refused
// base: solution
// state: refused
// points: 0
// says: #line

#define GLUE(a, b) a##b
static const char* const text = R"(\
# 1 "/usr/include/stdio.h"
)";
__attribute__((GLUE(no_sani, tize)("thread"))) const char* unseen() { return text; }
