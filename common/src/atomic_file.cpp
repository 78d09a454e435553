// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <system_error>
#include <utility>

#include "lab/errors.hpp"

namespace lab {
namespace {

// The files that a signal removes. A handler may only call a few functions and must not find a
// name half written: the name is complete before `used` says so.
struct slot {
  std::atomic<bool> used{false};
  std::array<char, 4096> path{};
};
std::array<slot, 8> slots;
std::mutex slots_mutex;

extern "C" void remove_files_and_die(int signal_number) {
  for (slot& s : slots)
    if (s.used.load()) ::unlink(s.path.data());
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

void handle_signals_once() {
  static const bool done = [] {
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction current {};
      // Who handles or ignores the signal already knows better.
      if (::sigaction(signal_number, nullptr, &current) == 0 && current.sa_handler == SIG_DFL)
        std::signal(signal_number, remove_files_and_die);
    }
    return true;
  }();
  (void)done;
}

/// The slot's number, or -1 where there is none: then a signal leaves the file behind.
int remember(const std::string& path) {
  handle_signals_once();
  const std::lock_guard lock(slots_mutex);
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].used.load() || path.size() >= slots[i].path.size()) continue;
    std::memcpy(slots[i].path.data(), path.c_str(), path.size() + 1);
    slots[i].used.store(true);
    return static_cast<int>(i);
  }
  return -1;
}

void forget(int number) noexcept {
  if (number >= 0) slots[static_cast<std::size_t>(number)].used.store(false);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

}  // namespace

void atomic_file::fail(const std::string& reason) const {
  throw invalid_input("cannot write " + shown_.string() + ": " + reason);
}

atomic_file::atomic_file(const std::filesystem::path& path) : shown_(path), target_(path) {
  namespace fs = std::filesystem;
  if (path.empty()) throw invalid_input("cannot write to a file without a name");
  std::error_code error;
  // Renaming would replace a link; the file it leads to is what the user means. A link that leads
  // nowhere counts as a name that is free.
  if (fs::is_symlink(path, error) && fs::exists(path, error))
    if (const fs::path real = fs::canonical(path, error); !error) target_ = real;

  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("it is a folder");
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(reason_of(errno));
  if (exists && !S_ISREG(status.st_mode)) {
    stream_ = std::fopen(target_.c_str(), "wb");
    if (stream_ == nullptr) fail(reason_of(errno));
    return;
  }

  const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  if (!target_.has_filename() || !fs::is_directory(folder, error))
    fail("there is no folder " + folder.string());
  static std::atomic<unsigned> counter{0};
  const std::string name = "." + target_.filename().string().substr(0, 200) + "." +
                           std::to_string(::getpid()) + "." + std::to_string(counter++) + ".part";
  temporary_ = folder / name;
  slot_ = remember(temporary_.string());
  const int descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    const int reason = errno;
    forget(slot_);
    fail(reason_of(reason));
  }
  stream_ = ::fdopen(descriptor, "wb");
  if (stream_ == nullptr) {
    const int reason = errno;
    ::close(descriptor);
    ::unlink(temporary_.c_str());
    forget(slot_);
    fail(reason_of(reason));
  }
}

atomic_file::~atomic_file() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget(slot_);
}

void atomic_file::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, stream_) != bytes) fail(reason_of(errno));
}

void atomic_file::commit() {
  // Full disks may be noticed as late as here.
  const bool written = std::fflush(stream_) == 0 && std::ferror(stream_) == 0;
  const int reason = errno;
  const bool closed = std::fclose(std::exchange(stream_, nullptr)) == 0;
  if (!written) fail(reason_of(reason));
  if (!closed) fail(reason_of(errno));
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(reason_of(errno));
  temporary_.clear();
  forget(slot_);
  slot_ = -1;
}

}  // namespace lab
