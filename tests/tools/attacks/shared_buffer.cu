// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: two streams use one buffer, and neither waits for the other
// stopped by: streams are deferred and interleaved, too, as in `lab test`
// exercise: 11.2
// base: solution
// change: all.memory0, all.memory1, size); => all.memory0, all.memory0, size);
// state: graded
// points: 0..70
