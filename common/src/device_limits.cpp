// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/device_limits.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/report.hpp"
#include "lab/timer.hpp"

namespace lab {
namespace {

/// What the host can still give without swapping, in bytes; nothing where nobody can say.
std::optional<std::uint64_t> host_memory_available() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  std::uint64_t kib = 0;
  while (file >> name >> kib && std::getline(file, unit))
    if (name == "MemAvailable:") return kib * 1024;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_size <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_size);
}

void require(const std::string& memory, std::uint64_t needed, std::uint64_t available) {
  if (needed <= available) return;
  throw invalid_input("this needs " + human_bytes(static_cast<double>(needed)) + " of " + memory +
                      " memory, and " + human_bytes(static_cast<double>(available)) +
                      " are free; try a smaller size");
}

}  // namespace

bool on_cpu_device() {
#ifdef __CPU_DEVICE__
  return true;
#else
  return false;
#endif
}

int device_count() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  (void)cudaGetLastError();
  if (status == cudaErrorInsufficientDriver)
    throw not_possible("no GPU can be used: the NVIDIA driver is missing, or older than CUDA's");
  if (status == cudaErrorNoDevice || status == cudaSuccess)
    throw not_possible(std::getenv("CUDA_VISIBLE_DEVICES") == nullptr
                           ? "there is no GPU here that CUDA can use"
                           : "there is no device among those that CUDA_VISIBLE_DEVICES names");
  throw not_possible(std::string("no GPU can be used: ") + cudaGetErrorName(status) + " (" +
                     cudaGetErrorString(status) + ")");
}

void select_device(int id) {
  const int count = device_count();
  if (id < 0 || id >= count)
    throw invalid_input(
        "there is no device " + std::to_string(id) + ": this machine has " +
        (count == 1 ? "only device 0" : "devices 0 to " + std::to_string(count - 1)));
  CUDA_CHECK(cudaSetDevice(id));
}

std::string describe_device(int id) {
  std::string text = "device " + std::to_string(id) + ": ";
#ifdef __CPU_DEVICE__
  const unsigned workers = cpu_device::worker_count();
  text += "CPU device, " + std::to_string(workers) + (workers == 1 ? " worker" : " workers") +
          ": no GPU is used, times are not GPU times";
#else
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, id));
  text += properties.name;
#endif
  return text;
}

double copy_bandwidth() {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  constexpr int kWarmUp = 3;
  constexpr int kRuns = 20;
  std::size_t bytes = 32 * kMiB;
  if (!on_cpu_device()) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    bytes = std::clamp(free_bytes / 4, kMiB, 1024 * kMiB);
  }
  const device_buffer<unsigned char> from(bytes);
  device_buffer<unsigned char> to(bytes);
  event_timer timer;
  std::vector<float> times;
  for (int run = 0; run < kWarmUp + kRuns; ++run) {
    timer.start();
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, nullptr));
    timer.stop();
    const float elapsed = timer.milliseconds();
    if (run >= kWarmUp) times.push_back(elapsed);
  }
  const double seconds = summarize(times).median_ms / 1000;
  return seconds > 0 ? 2.0 * static_cast<double>(bytes) / seconds : 0;
}

double pinned_copy_bandwidth() {
  const std::size_t bytes = std::size_t{on_cpu_device() ? 16U : 256U} << 20;
  constexpr int kRuns = 10;
  const pinned_buffer<unsigned char> from(bytes);
  device_buffer<unsigned char> to(bytes);
  event_timer timer;
  std::vector<float> times;
  for (int run = 0; run <= kRuns; ++run) {
    timer.start();
    CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyHostToDevice, nullptr));
    timer.stop();
    const float elapsed = timer.milliseconds();
    if (run > 0) times.push_back(elapsed);
  }
  const double seconds = summarize(times).median_ms / 1000;
  return seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

void require_memory(std::size_t host_bytes, std::size_t device_bytes) {
  if (device_bytes > 0) {
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    require("device", device_bytes, free_bytes);
  }
  std::uint64_t host = host_bytes;
  if (on_cpu_device()) {  // where device memory is host memory
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - host;
    host += std::min<std::uint64_t>(device_bytes, room);
  }
  if (const auto available = host_memory_available()) require("host", host, *available);
}

}  // namespace lab
