// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: shows a file of the host in the compiler's message
// stopped by: the file is not in the sandbox
// base: alone
// state: does not compile
// points: 0
// says: No such file

#include "/etc/passwd"
