// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Calls that fail because a test says so, and a list of those that were made: what fault_tests.hpp
// needs of the process that has the device. A grader has its own end of it (grading/proxy).
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lab/time_kernel.hpp"

namespace lab::testing::detail {

// Codes that nothing here gives of itself, and that no program knows a way around.
inline constexpr cudaError_t kCudaFault = cudaErrorOperatingSystem;
inline constexpr cublasStatus_t kCublasFault = CUBLAS_STATUS_LICENSE_ERROR;
inline constexpr curandStatus_t kCurandFault = CURAND_STATUS_ARCH_MISMATCH;
inline constexpr ncclResult_t kNcclFault = ncclInternalError;

/// What a function of this name returns when it is made to fail.
inline int status_of_fault(std::string_view function) {
  if (function.starts_with("cublas")) return kCublasFault;
  if (function.starts_with("curand")) return kCurandFault;
  if (function.starts_with("nccl")) return kNcclFault;
  return kCudaFault;
}

/// A call of CUDA or of a library.
struct fault_call {
  std::string name;
  bool releases = false;     ///< it gives something back
  std::uint64_t thread = 0;  ///< a number of the host's thread that made it
};

struct fault_report {
  std::vector<fault_call> calls;
  int open_ranges = 0;  ///< of NVTX that were begun and not ended; negative: more were ended
};

/// While one lives, it lists the calls that are made; call number `fails`, counted from 0, fails.
/// Those that ask for an error (cudaGetLastError, cudaPeekAtLastError) do not count. Each launch is
/// made once.
class fault {
 public:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  explicit fault(std::size_t fails = kNone);
  fault(const fault&) = delete;
  fault& operator=(const fault&) = delete;
  ~fault();

  /// What has been called so far.
  fault_report report() const;

 private:
  struct watcher;
  const repeated_timing once_{0};
  std::unique_ptr<watcher> watcher_;
};

/// While one lives, the first call of a function by another thread than the one that has made it
/// fails; or the first one by such a thread whose current device is `device`. Where the others
/// wait, that call may also be any that asks whether a stream or an event has ended, and what
/// threads with other devices ask for never ends. (Ten seconds after the failure it is an error:
/// cudaErrorLaunchTimeout.)
class fault_of_a_thread {
 public:
  static constexpr int kAnyDevice = -1;

  explicit fault_of_a_thread(const std::string& function, int device = kAnyDevice,
                             bool others_wait = false);
  fault_of_a_thread(const fault_of_a_thread&) = delete;
  fault_of_a_thread& operator=(const fault_of_a_thread&) = delete;
  ~fault_of_a_thread();

  bool fired() const;

 private:
  struct watcher;
  std::unique_ptr<watcher> watcher_;
};

}  // namespace lab::testing::detail
