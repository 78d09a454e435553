// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: includes a file by inline assembly
// stopped by: refused words
// base: solution
// state: refused
// points: 0
// says: assembly

asm(".incbin \"/etc/passwd\"");
