// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word until the file to be compiled exists
// stopped by: words are searched for in the text that is compiled
// base: solution
// state: refused
// points: 0
// says: no_sanitize

#define GLUE(a, b) a##b
#if __has_include("add_numbers.cu.cpp")
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
#endif
