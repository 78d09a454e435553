// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the process that starts an MPI job and its ranks say to each other. Each rank has a
// connection of its own, so that the end of a rank is noticed at once.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string>

#include "lab/mpi_job.hpp"

namespace lab::mpi::detail {

/// Says that a process is a rank: the path of the socket that it connects to.
inline constexpr const char* kSocketVariable = "LAB_MPI_SOCKET";

enum class message : std::uint8_t {
  hello,    // rank to launcher: the rank's number, before MPI_Init
  ready,    // rank to launcher: after MPI_Init
  work,     // launcher to rank: name, byte of new memory, what the companion says, question
  value,    // rank to launcher: what the companion says, answer
  failure,  // rank to launcher: what the companion says, exception
  where,    // launcher to rank: what are you waiting for?
  here,     // rank to launcher: a text
};

enum class thrown : std::uint8_t {
  invalid_input,
  not_possible,
  not_written,
  cuda_error,
  nccl_error,
  nccl_remote_error,  // which another rank is the reason for
  mpi_error,
  bad_alloc,
  logic_error,
  runtime_error,
};

inline bool send_all(int socket, const void* from, std::size_t count) {
  const auto* first = static_cast<const char*>(from);
  while (count != 0) {
    const ssize_t sent = ::send(socket, first, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    first += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

inline bool send_message(int socket, message kind, const bytes& content) {
  const std::uint64_t size = content.size();
  return send_all(socket, &kind, sizeof kind) && send_all(socket, &size, sizeof size) &&
         send_all(socket, content.data(), content.size());
}

inline bool receive_all(int socket, void* to, std::size_t count) {
  auto* first = static_cast<char*>(to);
  while (count != 0) {
    const ssize_t got = ::recv(socket, first, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    first += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

inline bool receive_message(int socket, message& kind, bytes& content) {
  std::uint64_t size = 0;
  if (!receive_all(socket, &kind, sizeof kind) || !receive_all(socket, &size, sizeof size))
    return false;
  content.resize(size);
  return receive_all(socket, content.data(), size);
}

/// What is known in this process.
const rank_function* find(const std::string& name);

/// What a rank does until its launcher is gone.
[[noreturn]] void be_a_rank(const char* socket_path);

}  // namespace lab::mpi::detail
