// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: makes the grader read megabytes
// stopped by: a limit on the size of the preprocessed file
// base: solution
// state: refused
// points: 0
// says: preprocessed

#define TEN(x) x x x x x x x x x x
#define TERM +1
int many() { return 0 TEN(TEN(TEN(TEN(TEN(TEN(TERM)))))); }
