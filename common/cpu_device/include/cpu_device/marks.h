// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the functions of NVTX do here: they tell observers. Each text is narrow or wide; the other
// one is null.
#pragma once

#include <cstdint>

namespace cpu_device {

int push_range(const char* text, const wchar_t* wide);  ///< the depth of the new range, from 0
int pop_range();                                        ///< the same; -1 if there is none
std::uint64_t start_range(const char* text, const wchar_t* wide);
void end_range(std::uint64_t id);
void mark_point(const char* text, const wchar_t* wide);
void name_os_thread(std::uint32_t thread, const char* text, const wchar_t* wide);
void name_stream(const void* stream, const char* text, const wchar_t* wide);

}  // namespace cpu_device
