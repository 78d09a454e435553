// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the CPU device tells the student. Internal to the CPU device.
#pragma once

#include <string>
#include <vector>

namespace cpu_device {

/// A mistake in a program: printed to stderr and counted (cpu_device::report_count()).
void report(const std::string& text);

/// Why a call of the API failed, or a warning: printed to stderr, not counted, since programs may
/// provoke errors.
void explain(const std::string& text);

/// How often report_again() was called.
unsigned report_rounds();

/// Around a fork: nobody is in the middle of a report.
void hold_reports();
void release_reports();

/// "0-31, 64, 70-99" for sorted numbers; after eight of these, "…".
std::string ranges(const std::vector<unsigned>& numbers);

/// "dot_product.cu:31" of an address in this program; empty if it cannot be found out.
std::string source_place(const void* pc);

/// The same with whole paths for many addresses, in their order: much faster than one by one.
std::vector<std::string> source_places(const std::vector<const void*>& pcs);

/// The same, if the instruction itself is the program's; empty if it is a library's, inlined or
/// not.
std::string own_source_place(const void* pc);

/// The last part of a path: reports name files as students do.
std::string short_name(const char* path);
/// "dot_product.cu:31".
std::string place(const char* file, int line);

std::string human_bytes(std::size_t bytes);

/// "just past the end of ", or how far past it.
std::string past_the_end_of(std::size_t bytes);

/// Says on stderr at which line the host's code crashes, from inside of the signal's handler; `pc`
/// is the instruction. The other has to be called once before.
void report_host_fault(int signal, const void* pc);
void prepare_host_fault_reports();

}  // namespace cpu_device
