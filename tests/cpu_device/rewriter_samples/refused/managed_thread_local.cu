// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: cannot be `thread_local`
thread_local __managed__ int x;
