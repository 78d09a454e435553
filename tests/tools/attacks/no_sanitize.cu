// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: turns the checks of memory accesses off
// stopped by: refused words
// base: solution
// state: refused
// points: 0
// says: no_sanitize

__attribute__((no_sanitize("thread"))) void unseen() {}
