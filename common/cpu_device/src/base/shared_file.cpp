// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "base/shared_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>

namespace cpu_device {
namespace {

std::string name_of(std::uint64_t token) {
  char name[40];
  std::snprintf(name, sizeof name, "cpu_device.%016llx", static_cast<unsigned long long>(token));
  return name;
}

}  // namespace

std::shared_ptr<const shared_file> shared_file::make(std::size_t bytes, std::string* why) {
  std::random_device random;
  const std::uint64_t token = std::uint64_t{random()} << 32 | random();
  const int file = memfd_create(name_of(token).c_str(), MFD_CLOEXEC);
  if (file < 0) {
    *why = std::strerror(errno);
    return nullptr;
  }
  auto made = std::make_shared<const shared_file>(file, token);
  // All of it now: a page that is found missing later is a SIGBUS.
  if (const int full = bytes == 0 ? 0 : posix_fallocate(file, 0, static_cast<off_t>(bytes));
      full != 0) {
    *why = std::strerror(full);
    return nullptr;
  }
  return made;
}

shared_file::~shared_file() { ::close(descriptor_); }

shared_file::place shared_file::where() const { return {getpid(), descriptor_, token_}; }

std::shared_ptr<const shared_file> shared_file::open(const place& where, std::string* why) {
  const std::string path =
      "/proc/" + std::to_string(where.process) + "/fd/" + std::to_string(where.descriptor);
  char target[80] = {};
  const bool there = readlink(path.c_str(), target, sizeof target - 1) > 0;
  if (there && target == "/memfd:" + name_of(where.token) + " (deleted)") {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0) return std::make_shared<const shared_file>(file, where.token);
    *why = path + ": " + std::strerror(errno);
  } else if (!there && errno != ENOENT) {
    *why = path + ": " + std::strerror(errno);
  } else if (kill(where.process, 0) != 0 && errno == ESRCH) {
    *why = "process " + std::to_string(where.process) + " has ended";
  } else {
    *why = "process " + std::to_string(where.process) + " no longer has what the handle is for";
  }
  return nullptr;
}

}  // namespace cpu_device
