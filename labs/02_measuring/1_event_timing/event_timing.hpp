// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.1 event_timing: the contract. What the program and the tests expect of event_timing.cu.
#pragma once

namespace lab::event_timing {

/// The most clock cycles that measure() lets a kernel run: a few seconds.
constexpr long long kMostCycles = 10'000'000'000;

/// What is known about two kernels that ran one after the other. All times are milliseconds.
struct times {
  // By events on the device: a mark before the first kernel, one between the two, one after.
  float first_ms = 0;
  float second_ms = 0;
  float both_ms = 0;  ///< from the first mark to the last

  // By the host's clock, which started just before the first mark.
  double launched_ms = 0;  ///< when everything had been handed to the device
  double asked_ms = 0;     ///< when CUDA had answered, before the wait: is the last mark reached?
  double waited_ms = 0;    ///< when the host had waited for the last mark

  bool too_early = false;  ///< that answer was cudaErrorNotReady: the time is not known yet

  // By the kernels themselves: how many cycles of the device's clock they counted.
  long long first_cycles = 0;
  long long second_cycles = 0;
};

/// Runs two kernels that do nothing but let the given numbers of clock cycles pass, and measures
/// them. Each is one block of `threads` threads, of which the first one counts; one is enough, and
/// the parameter is there so that a test can ask for a launch that CUDA refuses.
///
/// Before it waits, it asks once for the time between the first mark and the last (`too_early`,
/// `asked_ms`).
///
/// Throws lab::invalid_input unless 0 <= cycles <= kMostCycles; lab::cuda_error when CUDA reports
/// an error, such as cudaErrorInvalidValue for 0 threads (until CUDA 12:
/// cudaErrorInvalidConfiguration). In every case all events are destroyed, device memory is freed,
/// and no error is left for the next cudaGetLastError().
///
/// Requires: two kernels, one after the other, and events around and between them; the host waits
/// for the last.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 6.3; the Kazan course on CUDA programming
/// technology, chapter 3.
times measure(long long first_cycles, long long second_cycles, unsigned threads = 1);

}  // namespace lab::event_timing
