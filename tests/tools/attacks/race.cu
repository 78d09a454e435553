// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: counts without an atomic function
// stopped by: the second run watches every access
// exercise: 10.4
// base: solution
// change: atomicAdd(&count[bytes[i]], 1ULL); => count[bytes[i]] += 1;
// state: graded
// points: 0..50
