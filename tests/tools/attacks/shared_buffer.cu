// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: two streams use one buffer, and neither waits for the other
// stopped by: streams are deferred and interleaved, too, as in `lab test`
// exercise: 11.2
// base: solution
// change: buffers memory1(which == step::one_stream ? 0 : chunk); => buffers& memory1 = memory0;
// state: graded
// points: 0..70
