// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.2 halo_exchange: the contract. What the program and the tests expect of halo_exchange.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::halo_exchange {

/// The program's plate and time steps on the CPU device, and the rows of a wide halo, unless it is
/// told otherwise.
inline constexpr int kDefaultWidth = 256, kDefaultHeight = 256, kDefaultSteps = 20,
                     kDefaultDepth = 4;

enum class step {
  exchange_first,  ///< in each time step the devices exchange rows, and then compute all rows
  overlapped,      ///< rows at the borders come first, and are sent while the others are computed
  wide_halo,       ///< several rows are exchanged at once: enough for as many time steps
};

struct result {
  std::vector<float> cells;  ///< cell (x, y) is [y * width + x]
  float total_ms = 0;        ///< the time of all time steps, without the way there and back
};

inline constexpr int kLongestSide = 1 << 19;  ///< cells
inline constexpr int kMostRows = 64;          ///< of a wide halo
inline constexpr float kHottest = 1e30F;      ///< so that no sum becomes infinite

/// The temperatures of a plate of width x height cells, `steps` time steps after `initial`, by the
/// devices 0, …, devices - 1. This is 08.4; one time step:
///   1. where heaters[i] is not 0, the cell has this temperature;
///   2. then all cells at once, with the temperatures that they have after 1:
///
///          new = own + 0.25 * (up + down + left + right - 4 * own)
///
/// At the edges the cell itself takes the place of a neighbour that is not there. All steps, and
/// any number of devices, give the same bits.
///
/// Each device has rows of its own: as many as the others, or one more. With fewer rows than
/// devices, the last devices have nothing to do. wide_halo exchanges `depth` rows before every
/// depth-th time step, but no more rows than the device with the fewest has; the other steps do not
/// look at depth.
///
/// Afterwards the same device is current as before, and each device can access the memory of those
/// whose memory it could access before, and of no others.
///
/// Throws lab::invalid_input when a side is less than 1 or more than kLongestSide, when `initial`
/// or `heaters` has not width * height cells or has one that is not a number from -kHottest to
/// kHottest, when steps is negative, when depth is not from 1 to kMostRows, or when there are not
/// `devices` devices, or devices is less than 1. Throws lab::cuda_error when CUDA reports an error.
/// Neither leaves memory, streams or events behind.
///
/// Requires: each device computes its rows by a kernel or two for each time step, and sends only
/// rows at its borders to its neighbours (cudaMemcpyPeerAsync). The host submits all of it and
/// waits only at the end. overlapped: the inner rows are computed in a second stream of each
/// device. wide_halo: one exchange for every `depth` time steps.
///
/// From: the time step of J. Sanders, E. Kandrot, CUDA by Example, 7.3. For overlapped:
/// P. Micikevicius, 3D Finite Difference Computation on GPUs using CUDA, GPGPU-2, 2009. For
/// wide_halo: C. Ding, Y. He, A Ghost Cell Expansion Method for Reducing Communications in Solving
/// PDE Problems, SC 2001.
result simulate(step version, int devices, int width, int height, std::span<const float> initial,
                std::span<const float> heaters, int steps, int depth);

}  // namespace lab::halo_exchange
