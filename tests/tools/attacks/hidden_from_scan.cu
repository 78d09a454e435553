// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word where only a compiler of CUDA looks
// stopped by: words are looked for in what is compiled
// base: solution
// state: refused
// points: 0
// says: no_sanitize

#define GLUE(a, b) a##b
#ifdef __CUDACC__
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}
#endif
