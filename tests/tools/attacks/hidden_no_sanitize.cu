// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: turns the checks of memory accesses off, hidden behind macros
// stopped by: words are searched for in the text that is compiled
// base: solution
// state: refused
// points: 0
// says: no_sanitize

#define GLUE(a, b) a##b
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
