// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: hides a word in a text that is too long to be scanned
// stopped by: a text that was not scanned to its end is not compiled
// base: solution
// state: refused
// points: 0
// says: preprocessed

#define GLUE(a, b) a##b
__attribute__((GLUE(no_sani, tize)("thread"))) void unseen() {}

#define TEN(x) x x x x x x x x x x
#define LINE "0123456789012345678901234567890123456789012345678901234567890123456789"
static_assert(sizeof(TEN(TEN(TEN(TEN(TEN(TEN(LINE))))))) > 1);
