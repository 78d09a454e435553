// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: defines its own main function
// stopped by: the linker
// base: solution
// state: does not compile
// points: 0
// says: main

int main() { return 0; }
