// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `operator=` is a function of the host
struct s { float x; s& operator=(const s& o) { x = o.x; return *this; } };
__global__ void k(s* p) { p[0] = p[1]; }
