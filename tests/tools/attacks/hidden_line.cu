// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word in lines that it attributes to another file
// stopped by: directives that name a file are refused
// base: solution
// state: refused
// points: 0
// says: #line

#define GLUE(a, b) a##b
#line 1 "elsewhere.hpp"
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
