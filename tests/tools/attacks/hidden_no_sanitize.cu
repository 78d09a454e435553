// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: the same, behind macros
// base: solution
// state: refused
// points: 0
// says: no_sanitize

#define GLUE(a, b) a##b
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
