// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.1 hello_gpu: reads what has been printed, so that it can be checked.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace lab::hello_gpu {

/// From its construction on, standard output goes to a file, the output of kernels too. Beneath
/// `stdout` there is file descriptor 1, and that is where both go.
class captured_output {
 public:
  captured_output() : file_(std::tmpfile()) {
    std::fflush(stdout);  // what was printed before
    screen_ = ::dup(STDOUT_FILENO);
    if (file_ == nullptr || screen_ < 0 || ::dup2(::fileno(file_), STDOUT_FILENO) < 0)
      throw std::runtime_error("the output cannot be captured: is the disk full?");
  }
  ~captured_output() { stop(); }
  captured_output(const captured_output&) = delete;
  captured_output& operator=(const captured_output&) = delete;

  /// Ends it, and gives what has been printed in between.
  std::string text() {
    stop();
    std::string all;
    std::rewind(file_);
    for (int c = std::getc(file_); c != EOF; c = std::getc(file_)) all += static_cast<char>(c);
    std::fclose(file_);
    file_ = nullptr;
    return all;
  }

 private:
  void stop() {
    if (screen_ < 0) return;
    std::fflush(stdout);
    ::dup2(screen_, STDOUT_FILENO);
    ::close(screen_);
    screen_ = -1;
  }

  std::FILE* file_;
  int screen_ = -1;
};

}  // namespace lab::hello_gpu
