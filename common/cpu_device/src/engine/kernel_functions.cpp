// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu_device/kernel_functions.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/report.hpp"
#include "cpu_device/atomics.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

std::string running_thread() {
  return "thread (" + std::to_string(threadIdx.x) + "," + std::to_string(threadIdx.y) + "," +
         std::to_string(threadIdx.z) + ")";
}

[[noreturn]] void end_launch(std::string text, cudaError_t error) {
  worker& w = *current_worker();
  w.problem.what = failure::kind::misuse;
  w.problem.text = std::move(text);
  w.problem.error = error;
  give_up_block(w);
}

}  // namespace

void refuse(const char* sentence, const char* file, int line) {
  const std::string text = std::string(sentence) + " It was called at " + place(file, line) + ".";
  if (!inside_kernel()) {
    report(text);
    std::abort();
  }
  end_launch(text, cudaErrorLaunchFailure);
}

void trap(const char* what, const char* file, int line) {
  if (!inside_kernel()) {
    report(std::string(what) + " was called by host code, at " + place(file, line) + ".");
    std::abort();
  }
  end_launch(running_thread() + " called " + what + " at " + place(file, line) + ".",
             cudaErrorLaunchFailure);
}

void spin_pause(const char* file, int line) {
  if (inside_kernel()) yield(file, line);
}

void note_load(const char* file, int line) {
  // Many loads by one thread, with no other thread in between, may be a loop that waits for
  // another thread's store.
  constexpr unsigned kPatience = 32;
  static thread_local constinit const thread_position* reader = nullptr;
  static thread_local constinit unsigned loads = 0;
  if (reader != progress.position) {
    reader = progress.position;
    loads = 0;
  }
  if (++loads < kPatience) return;
  loads = 0;
  spin_pause(file, line);
}

}  // namespace cpu_device

// In place of the C library's: a kernel's clock() is that of clock64(), the host's its CPU time.
extern "C" clock_t clock() noexcept {
  if (cpu_device::inside_kernel()) return static_cast<clock_t>(clock64());
  timespec used;
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return -1;
  return static_cast<clock_t>(used.tv_sec) * CLOCKS_PER_SEC +
         static_cast<clock_t>(used.tv_nsec) / (1000000000 / CLOCKS_PER_SEC);
}

// The C library's assert() calls this when its condition is false. Programs find this one first.
extern "C" [[noreturn]] void __assert_fail(const char* expression, const char* file,
                                           unsigned int line, const char* function) noexcept {
  if (cpu_device::inside_kernel())
    cpu_device::end_launch("assertion failed: " + std::string(expression) + "\n  at " +
                               cpu_device::place(file, static_cast<int>(line)) + " in " + function +
                               ", " + cpu_device::running_thread(),
                           cudaErrorAssert);
  using handler = void (*)(const char*, const char*, unsigned int, const char*);
  if (const auto libc = reinterpret_cast<handler>(dlsym(RTLD_NEXT, "__assert_fail")))
    libc(expression, file, line, function);
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  std::abort();
}
