// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: the program.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "choose_device.hpp"
#include "lab/command_line.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/report.hpp"
#include "reference.hpp"

namespace {

using lab::choose_device::candidate;

/// What CUDA calls the device.
std::string name_of(int device) {
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return properties.name;
}

int current_device() {
  int device = -1;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("01.4_choose_device", "Chooses the best device for a program.");
  lab::choose_device::requirement needed;
  std::size_t memory = 0;
  program.add_number("--major", needed.compute_major,
                     "compute capability needed, before the point");
  program.add_number("--minor", needed.compute_minor, "compute capability needed, after the point");
  program.add_size("--memory", memory, "global memory needed, in bytes: 4G, for example");

  return program.run(argc, argv, [&] {
    needed.global_bytes = memory;
    const auto list = lab::choose_device::list_candidates();
    const auto chosen = lab::choose_device::best(list, needed);

    std::printf("\n  needed: compute capability %d.%d, %s of memory\n\n", needed.compute_major,
                needed.compute_minor,
                lab::human_bytes(static_cast<double>(needed.global_bytes)).c_str());
    std::printf("    %-8s%-12s%-12s%-24s%s\n", "number", "capability", "memory",
                "multiprocessors x MHz", "name");
    for (const candidate& each : list) {
      const auto capability =
          std::to_string(each.compute_major) + "." + std::to_string(each.compute_minor);
      const auto work =
          std::to_string(each.multiprocessors) + " x " + std::to_string(each.clock_khz / 1000);
      std::printf("  %c %-8d%-12s%-12s%-24s%s\n", chosen == each.device ? '*' : ' ', each.device,
                  capability.c_str(),
                  lab::human_bytes(static_cast<double>(each.global_bytes)).c_str(), work.c_str(),
                  name_of(each.device).c_str());
    }
    std::printf("\n");

    if (!program.verdict(chosen == lab::choose_device::reference_best(list, needed),
                         chosen ? "device " + std::to_string(*chosen) + " is chosen"
                                : std::string("no device is chosen")))
      return false;
    if (!chosen) throw lab::not_possible("no device here has what is needed");

    const int before = current_device();
    const int confirmed = lab::choose_device::select(*chosen);
    std::printf("the current device was %d and is now %d\n", before, confirmed);
    return program.verdict(confirmed == *chosen && current_device() == *chosen,
                           "device " + std::to_string(current_device()) + " is the current one");
  });
}
