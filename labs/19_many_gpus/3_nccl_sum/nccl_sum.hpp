// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.3 nccl_sum: the contract. What the program and the tests expect of nccl_sum.cu.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace lab::nccl_sum {

/// How many elements each device has in the program unless it is told otherwise, on a GPU and on
/// the CPU device.
inline constexpr std::size_t kDefaultSize = 32 * 1024 * 1024, kDefaultSizeOnCpu = 64 * 1024;

enum class step {
  ring_by_hand,     ///< peer copies around a ring: pieces are added up, and the sums are passed on
  one_thread,       ///< ncclAllReduce for all devices, from one host thread
  thread_per_rank,  ///< a host thread for each device, which calls ncclAllReduce for that one
};

struct result {
  std::vector<float> sums;  ///< what each device has at the end, one device after the other
  float milliseconds = 0;   ///< of an all-reduce; of several rounds the first is not counted
};

/// An all-reduce. Device k has the n numbers arrays[k * n], arrays[k * n + 1], …, where n is
/// arrays.size() / devices. Afterwards every device has the n sums
///
///     sums[i] = arrays[i] + arrays[n + i] + arrays[2 * n + i] + …
///
/// with the same bits on all devices. That is done `rounds` times, always of the same arrays.
///
/// Accuracy: at most error_bound() (reference.hpp) from the exact sum; where the sums are whole
/// numbers below 2^24, they are exact.
///
/// The calling thread's current device is the same afterwards, also after an exception.
///
/// Throws lab::invalid_input when devices is not from 1 to the number of devices, when
/// arrays.size() is not a multiple of it, and when rounds is not positive. Throws lab::cuda_error
/// or lab::nccl_error when a call of CUDA or NCCL fails, in whichever thread. None of them leaves
/// memory, streams or communicators behind.
///
/// Requires: the sums are formed on the devices. ring_by_hand: 2 * (devices - 1) steps, in each of
/// which every device sends one of `devices` pieces to the next one (cudaMemcpyPeerAsync); no NCCL;
/// the host waits for nothing before all of it is in the streams. The others: one ncclAllReduce per
/// device and round, in a stream of that device's own, from one host thread or from a thread for
/// each device.
///
/// From: the ring is described by P. Patarasu, X. Yuan, Bandwidth Optimal All-reduce Algorithms for
/// Clusters of Workstations, 2009; the calls and the handling of failures by NVIDIA's NCCL user
/// guide.
result all_reduce(step version, int devices, std::span<const float> arrays, int rounds = 1);

enum class collective {
  broadcast,       ///< every device gets the array of device `root`: n numbers
  all_gather,      ///< every device gets the arrays of all: devices * n numbers
  reduce_scatter,  ///< device k gets the sums of elements k * (n / devices) on: n / devices numbers
};

/// What each device has after that collective, one device after the other. `arrays` is as in
/// all_reduce(). root matters to broadcast only.
///
/// Throws as all_reduce(); and lab::invalid_input when root is no device of these, or when n is not
/// a multiple of `devices` in a reduce_scatter.
///
/// Requires: the call of NCCL of that name, for each device, in a stream of its own, from one host
/// thread.
std::vector<float> communicate(collective operation, int devices, std::span<const float> arrays,
                               int root = 0);

/// a[0] * b[0] + a[1] * b[1] + …, in double, as each device has it at the end. Device k works on
/// the elements from n * k / devices to n * (k + 1) / devices - 1.
///
/// Accuracy: at most dot_error_bound() (reference.hpp) from the exact sum.
///
/// Throws as all_reduce(); and lab::invalid_input when the lengths differ.
///
/// Requires: a kernel on each device that has elements; then ncclAllReduce of one number, without
/// the host waiting in between.
std::vector<double> dot(int devices, std::span<const float> a, std::span<const float> b);

/// What became of a rank.
struct outcome {
  bool has_sums = false;  ///< its all-reduce has ended, and its sums are right
  std::string error;      ///< else: what it reports
  float seconds = 0;      ///< from its start until it knew that
};

inline constexpr int kNobody = -1;
inline constexpr float kPatience = 5;  ///< seconds: by then each rank has noticed

/// An all-reduce of n ones per device, by step thread_per_rank, in which rank `failing` throws a
/// std::runtime_error in the place of its ncclAllReduce. All the other ranks notice it, give up,
/// and say so, within kPatience seconds. With kNobody it is an ordinary all-reduce.
///
/// Throws lab::invalid_input when devices or `failing` is no such number; lab::cuda_error or
/// lab::nccl_error when the communicators cannot be made. No memory, stream or communicator is
/// left.
///
/// Requires: a host thread for each device. Each rank that does not get its sums calls
/// ncclCommAbort.
std::vector<outcome> with_a_failure(int devices, std::size_t n, int failing);

}  // namespace lab::nccl_sum
