// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: has comments that a regular expression can match in 2^40 ways
// stopped by: scanning takes time proportional to the length of the text
// base: solution
// state: graded
// points: 100

/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
/* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */ /* */
