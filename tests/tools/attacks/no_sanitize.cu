// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: switches the checks of memory accesses off
// stopped by: words that are refused
// base: solution
// state: refused
// points: 0
// says: no_sanitize

__attribute__((no_sanitize("thread"))) void unseen() {}
