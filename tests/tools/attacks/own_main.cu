// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: brings a main function of its own
// stopped by: the linker
// base: solution
// state: does not compile
// points: 0
// says: main

int main() { return 0; }
