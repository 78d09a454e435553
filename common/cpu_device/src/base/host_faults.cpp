// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a crash says that the engine does not know as a kernel's, and what a program says that is
// stopped by SIGXCPU or SIGQUIT, since it hangs: its line. The process ends next, and its heap may
// be what is broken, so that nothing here allocates or takes a lock.

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "base/report.hpp"

namespace cpu_device {
namespace {

constexpr int kFrames = 32;
constexpr unsigned kPatience = 10;  // seconds for finding the line

std::uintptr_t program_begin = 0;

/// For a shell in which $line is empty or "x.cu:12".
const char* sentence(int signal) {
  switch (signal) {
    case SIGFPE:
      return "an integer division by zero${line:+ at $line}.\n  Try: look at what the line divides "
             "by.";
    case SIGABRT:
      return "the program was aborted${line:+ at $line}.\n  Try: what it printed last says why. "
             "Free only what malloc or new has returned, and only once; device memory is freed by "
             "cudaFree().";
    case SIGXCPU:
    case SIGQUIT:
      return "the program was stopped${line:+ at $line}.\n  Try: look for a loop whose condition "
             "never becomes false: there, or in a kernel that this line waits for.";
    default:
      return "an access to memory that is not the program's (segmentation fault)${line:+ at "
             "$line}.\n  Try: look for an index that is too large, a pointer that was never set, "
             "or device memory that host code reads or writes.";
  }
}

}  // namespace

void prepare_host_fault_reports() {
  void* frames[1];
  (void)backtrace(frames, 1);  // the first call loads a library
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&prepare_host_fault_reports), &info,
              reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 &&
      map != nullptr)
    program_begin = map->l_addr;
}

void report_host_fault(int signal, const void* pc) {
  void* frames[kFrames];
  const int count = backtrace(frames, kFrames);
  char command[2048];
  // The innermost line that is neither ours nor a library's.
  int length = std::snprintf(command, sizeof command, "line=$(addr2line -i -e /proc/%d/exe",
                             static_cast<int>(getpid()));
  for (int i = 0; i < count; ++i) {
    // A caller's address is that of what follows the call.
    const auto address =
        reinterpret_cast<std::uintptr_t>(frames[i]) - program_begin - (frames[i] == pc ? 0 : 1);
    length += std::snprintf(command + length, sizeof command - static_cast<unsigned>(length),
                            " 0x%lx", static_cast<unsigned long>(address));
  }
  std::snprintf(
      command + length, sizeof command - static_cast<unsigned>(length),
      " 2>/dev/null | grep -v -e '?' -e /cpu_device/src/ -e /include/ | sed 's/ (disc.*//; s,.*/,,;"
      " q'); echo \"CPU device: %s\" >&2",
      sentence(signal));
  alarm(kPatience);
  const pid_t child = vfork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  if (child > 0) (void)waitpid(child, &status, 0);
  alarm(0);
}

}  // namespace cpu_device
