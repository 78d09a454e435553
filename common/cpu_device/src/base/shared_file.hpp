// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Files in memory that other processes of the same user can open while they are there. Internal to
// the CPU device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cpu_device {

class shared_file {
 public:
  /// What another process finds it by. The token is part of the file's name: a number of a process
  /// or of a descriptor that has been used again leads to no other file.
  struct place {
    std::int32_t process, descriptor;
    std::uint64_t token;
  };

  /// `bytes` zeros. Null if there cannot be any, and then `why` says so.
  static std::shared_ptr<const shared_file> make(std::size_t bytes, std::string* why);
  /// The file of another process, or of this one. Null if it is not there (any more).
  static std::shared_ptr<const shared_file> open(const place& where, std::string* why);

  shared_file(int descriptor, std::uint64_t token) : descriptor_(descriptor), token_(token) {}
  ~shared_file();
  shared_file(const shared_file&) = delete;
  shared_file& operator=(const shared_file&) = delete;

  int descriptor() const { return descriptor_; }
  std::uint64_t token() const { return token_; }
  /// In this process, which may be a fork of the one that made it.
  place where() const;

 private:
  int descriptor_;
  std::uint64_t token_;
};

}  // namespace cpu_device
