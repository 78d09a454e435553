// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.1 peer_copies: the contract. What the program and the tests expect of peer_copies.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::peer_copies {

/// The program's words, and the words of a piece, unless it is told otherwise. (On a GPU both are
/// 64 times as many.)
inline constexpr std::size_t kDefaultSize = 256 * 1024, kDefaultPiece = 16 * 1024;

inline constexpr int kMostCopies = 1000;  ///< of one call

enum class step {
  through_host,  ///< two copies: from the source into pinned host memory, from there to the target
  in_pieces,     ///< the same piece by piece: one arrives while the next one is on its way
  peer_copy,     ///< one cudaMemcpyPeerAsync, which is direct where the devices allow it
  peer_kernel,   ///< a kernel on the target reads the memory of the source
};

enum class route {
  within_device,  ///< the source is the target
  direct,         ///< from the memory of one device to that of the other
  through_host,   ///< by way of the host's memory
};

struct transfer {
  std::vector<int> arrived;  ///< what is in the memory of the target afterwards
  route path = route::within_device;
  float copy_ms = 0;  ///< the time of one copy; 0 without words
};

/// Copies `words` from device `from` to device `to`, `copies` times one after the other, into the
/// same memory of the target. They are brought to the source before, and fetched from the target
/// after, and copy_ms is the mean time of the copies in between.
///
/// through_host and in_pieces use the host's memory for every pair of devices, and `path` is
/// route::through_host. in_pieces copies `piece` words at a time, the last time those that are
/// left. The other two are within_device where from == to, and direct where each of two devices can
/// access the memory of the other (cudaDeviceCanAccessPeer). Where one cannot, they are
/// through_host: peer_copy leaves that to CUDA, and peer_kernel does as in_pieces.
///
/// Afterwards the same device is current as before, and each device can access the memory of those
/// whose memory it could access before, and of no others.
///
/// Throws lab::invalid_input when there is no device `from` or `to`; when copies is not from 1 to
/// kMostCopies; when piece is 0. Throws lab::cuda_error when CUDA reports an error. Neither leaves
/// memory, streams or events behind.
///
/// Requires: the host's part of a copy is pinned. through_host: two copies (cudaMemcpyAsync) for
/// each of `copies`. in_pieces: two for each piece, into the memory of no more than two pieces, in
/// a stream for each direction; the host waits for none of them. peer_copy: cudaMemcpyPeerAsync,
/// once for each copy. peer_kernel: no copies where the route is not through_host, but a kernel on
/// device `to` for each of `copies`, with many threads.
///
/// From: NVIDIA, CUDA C++ Programming Guide, "Multi-Device System"; what is measured is that of
/// NVIDIA's sample p2pBandwidthLatencyTest.
transfer send(step version, int from, int to, std::span<const int> words, int copies,
              std::size_t piece);

}  // namespace lab::peer_copies
