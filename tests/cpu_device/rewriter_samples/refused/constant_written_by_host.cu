// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `c` is `__constant__`: the host writes it with
__constant__ int c;
int main() { c = 3; return 0; }
