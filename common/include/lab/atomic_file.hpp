// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Output files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <string>

namespace lab {

/// Writes to a temporary file in the target's folder; commit() gives it the target's name. Without
/// commit(), and on Ctrl-C, the temporary file is removed and the target stays as it was.
/// A target that is a device or a pipe (/dev/null) is written directly.
///
/// Throws invalid_input with the path and the reason when any of this fails.
class atomic_file {
 public:
  explicit atomic_file(const std::filesystem::path& path);
  ~atomic_file();
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;

  /// For libraries that write to a FILE*.
  std::FILE* stream() noexcept { return stream_; }
  void write(const void* data, std::size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const std::string& reason) const;

  std::filesystem::path shown_;      // as the user wrote it
  std::filesystem::path target_;     // with links followed
  std::filesystem::path temporary_;  // empty: the target is written directly
  std::FILE* stream_ = nullptr;
  int slot_ = -1;  // among the files that a signal removes
};

}  // namespace lab
