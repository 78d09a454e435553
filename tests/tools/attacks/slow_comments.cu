// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: comments that a pattern can read in 2^40 ways
// stopped by: reading takes no longer than the text is long
// base: solution
// state: graded
// points: 100

/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
