// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: includes the solution
// stopped by: the file is not in the sandbox
// base: alone
// state: does not compile
// points: 0
// says: No such file

#include "@ROOT@/solutions/01_getting_started/2_add_numbers/add_numbers.cu"
