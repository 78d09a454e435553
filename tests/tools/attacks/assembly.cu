// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: brings a file in by assembly
// stopped by: words that are refused
// base: solution
// state: refused
// points: 0
// says: assembly

asm(".incbin \"/etc/passwd\"");
