// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the processes of one machine share for NCCL: who is there, what they say, and messages.
// Internal to the CPU device.
//
// It is a file in /dev/shm, named by the unique id, that the first rank to come makes and the last
// one to come removes: from then on only the processes that have it open keep it, and nothing stays
// behind, however they end. Locks on bytes of the file say which processes live, since the kernel
// drops the locks of a process that ends.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cpu_device {

/// What the ranks of a communicator must agree on.
struct nccl_facts {
  int what;
  char name[24];  // of the function
  std::uint64_t count;
  int type, op, other;
};

/// A message: number `piece` of the `number`th call between these ranks.
struct nccl_key {
  static constexpr int everybody = -1;

  int from, to;  // to everybody: a collective call
  std::uint64_t number, piece;
};

struct nccl_layout;

// Used under api_mutex(), but for wait().
class nccl_segment {
 public:
  static constexpr int max_ranks = 1024;

  /// Null if there cannot be any, and then `why` says so.
  static std::shared_ptr<nccl_segment> open(const std::string& id, std::string* why);
  nccl_segment(const std::string& path, int file, nccl_layout* shared);
  ~nccl_segment();
  nccl_segment(const nccl_segment&) = delete;
  nccl_segment& operator=(const nccl_segment&) = delete;

  /// An empty string, or why this rank cannot join: then the others fail, too. `device` is the same
  /// number in all processes.
  std::string join(int ranks, int rank, int device);
  void leave(int rank);
  /// All ranks have come.
  bool complete() const;
  bool one_process() const;
  /// Those that have not come.
  std::vector<unsigned> absent() const;
  bool has_left(int rank) const;
  /// Ranks whose process has ended without leaving.
  std::vector<unsigned> dead() const;

  /// What has failed first, in any process.
  ncclResult_t error() const;
  std::string sentence() const;
  void fail(ncclResult_t result, const std::string& sentence);

  /// Changes whenever something happens.
  std::uint32_t events() const;
  /// Until something has happened since events() was `seen`, or for some time.
  void wait(std::uint32_t seen, int milliseconds) const;

  struct message {
    std::size_t slot;
    int from;
    nccl_facts facts;
    std::uint64_t offset, bytes;
  };
  struct sent {
    std::size_t slot;
    std::uint64_t serial;
  };
  /// Nothing: there is no room at present, or after fail().
  std::optional<sent> send(const nccl_key& key, const nccl_facts& facts,
                           const std::vector<char>& data);
  /// Everybody for whom it was has taken it.
  bool was_taken(const sent& message) const;
  /// The messages with this key that are there, from `from` or from every rank that has sent one.
  std::vector<message> find(const nccl_key& key, bool from_all) const;
  /// `bytes` bytes of it, beginning with `first`. False after fail().
  bool read(const message& m, std::uint64_t first, std::size_t bytes, void* to);
  /// One reader is done with these.
  void take(const std::vector<message>& messages);

 private:
  class locked;
  void happened();

  std::string path_;
  int file_;
  nccl_layout* shared_;
};

}  // namespace cpu_device
