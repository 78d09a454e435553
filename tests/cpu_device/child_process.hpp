// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tests of what a process reads once, such as CUDA_VISIBLE_DEVICES: the program starts itself again
// with other environment variables, as  program --child TASK,  and looks at what it prints.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace child_process {

struct result {
  int exit_code;  // -1: it was killed
  std::string output;
};

/// `environment` is what comes before a command in a shell: "A=1 B=2". A child that hangs is
/// killed, and has the exit code 137.
inline result run(const std::string& environment, const std::string& task) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return {-1, "no readlink"};
  const std::string command = environment + " timeout -s KILL 100 '" + self + "' --child " + task;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "no shell"};
  result r{-1, {}};
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) r.output += piece;
  const int status = pclose(pipe);
  if (WIFEXITED(status)) r.exit_code = WEXITSTATUS(status);
  return r;
}

}  // namespace child_process
