// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the table is checked as that of 15.3 is, which says nothing about who built
// it: every entry in one chain, that of its key's bucket, and nothing lost, doubled or changed.
#pragma once

#include "../3_hash_table_cpu/reference.hpp"
#include "hash_table_gpu.hpp"

namespace lab::hash_table_gpu {

using hash_table_cpu::check;
using hash_table_cpu::longest_chain;

}  // namespace lab::hash_table_gpu
