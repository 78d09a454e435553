// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "device_query.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <utility>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::device_query::check;
using lab::device_query::fields;
using lab::device_query::query;
using lab::device_query::query_all;
using lab::device_query::reference;
using lab::device_query::report;
using lab::device_query::theoretical_bandwidth;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;

int count_devices() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheRuntimesAnswers) {
  const report expected = reference(0);
  EXPECT_TRUE(as_required(work_of([&] { return matches(check(query(0), expected)); }),
                          {.kernels = 0,
                           .calls = {"cudaGetDeviceCount|cudaGetDeviceProperties",
                                     "cudaGetDeviceProperties|cudaDeviceGetAttribute"}}));
}

// --- each field, on every device -----------------------------------------------------------------

class Field : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Report, Field, ::testing::Range(std::size_t{0}, fields(report{}).size()),
                         [](const auto& test) { return fields(report{})[test.param].name; });

TEST_P(Field, IsTheRuntimesOwnAnswer) {
  for (int device = 0; device < count_devices(); ++device)
    EXPECT_EQ(fields(query(device))[GetParam()].value, fields(reference(device))[GetParam()].value)
        << "on device " << device;
}

// Code that makes the same wrong query in both places would pass the tests above. These do not use
// the runtime.

TEST(Query, CountsClocksInKilohertz) {
  for (int device = 0; device < count_devices(); ++device) {
    const int khz = query(device).clock_khz;
    if (khz == 0) continue;  // not told
    EXPECT_GT(khz, 100'000) << "below 100 MHz";
    EXPECT_LT(khz, 10'000'000) << "above 10 GHz";
  }
}

TEST(Query, TellsABlockFromAMultiprocessor) {
  // True of every device that CUDA 13 can use.
  for (int device = 0; device < count_devices(); ++device) {
    const report got = query(device);
    EXPECT_EQ(got.shared_bytes_per_block, 48U * 1024);
    EXPECT_GT(got.shared_bytes_per_multiprocessor, got.shared_bytes_per_block);
    EXPECT_GE(got.threads_per_multiprocessor, got.threads_per_block);
  }
}

TEST(Query, KnowsWhatHasNeverChanged) {
  for (int device = 0; device < count_devices(); ++device) {
    const report got = query(device);
    EXPECT_EQ(got.warp_size, 32);
    EXPECT_EQ(got.constant_bytes, 64U * 1024);
    EXPECT_EQ(got.block_dimensions[2], 64);
    EXPECT_EQ(got.grid_dimensions[1], 65'535);
  }
}

TEST(Query, KnowsTheMemoryThatAllocationsComeFrom) {
  std::size_t free_bytes = 0, total_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));  // of the current device, 0
  const std::size_t global_bytes = query(0).global_bytes;
  EXPECT_GE(global_bytes, free_bytes);
  EXPECT_NEAR(static_cast<double>(global_bytes), static_cast<double>(total_bytes),
              0.1 * static_cast<double>(total_bytes));  // CUDA may reserve a little for itself
}

TEST(Query, SeesTheWatchdogOfTheCpuDevice) {
  // It stops kernels that hang, so the answer is yes; on a GPU either is possible.
  if (!lab::on_cpu_device()) GTEST_SKIP() << "the values of a GPU are not known in advance";
  EXPECT_TRUE(query(0).kernel_timeout);
}

#ifdef __CPU_DEVICE__
TEST(Query, TakesEachFieldFromItsOwnPlace) {
  // A device of which no two numbers are the same, and none is 0: on most, two registers or two
  // zeros can be taken for each other unnoticed.
  cudaDeviceProp made_up{};
  CUDA_CHECK(cudaGetDeviceProperties(&made_up, 0));
  int next = 101;
  for (int* field : {&made_up.major,
                     &made_up.minor,
                     &made_up.pciDomainID,
                     &made_up.pciBusID,
                     &made_up.pciDeviceID,
                     &made_up.l2CacheSize,
                     &made_up.memoryBusWidth,
                     &made_up.warpSize,
                     &made_up.multiProcessorCount,
                     &made_up.maxThreadsPerMultiProcessor,
                     &made_up.maxThreadsPerBlock,
                     &made_up.regsPerBlock,
                     &made_up.regsPerMultiprocessor,
                     &made_up.maxThreadsDim[0],
                     &made_up.maxThreadsDim[1],
                     &made_up.maxThreadsDim[2],
                     &made_up.maxGridSize[0],
                     &made_up.maxGridSize[1],
                     &made_up.maxGridSize[2],
                     &made_up.asyncEngineCount,
                     &made_up.maxBlocksPerMultiProcessor})
    *field = next++;
  for (std::size_t* field :
       {&made_up.totalGlobalMem, &made_up.totalConstMem, &made_up.memPitch,
        &made_up.textureAlignment, &made_up.texturePitchAlignment, &made_up.surfaceAlignment,
        &made_up.sharedMemPerBlock, &made_up.sharedMemPerBlockOptin,
        &made_up.sharedMemPerMultiprocessor, &made_up.reservedSharedMemPerBlock})
    *field = static_cast<std::size_t>(next++);
  for (int* yes : {&made_up.integrated, &made_up.concurrentKernels, &made_up.canMapHostMemory}) {
    made_up.integrated = made_up.concurrentKernels = made_up.canMapHostMemory = 0;
    *yes = 1;
    const lab::testing::pretended_devices meanwhile([&](cudaDeviceProp& said) { said = made_up; },
                                                    0);
    EXPECT_TRUE(matches(check(query(0), reference(0))));
  }
}

TEST(Query, SaysItOfTheDeviceThatWasAskedFor) {
  // One device is unlike the others, and device 0 stays the current one.
  for (int device = 0; device < count_devices(); ++device) {
    const auto expect_right_reports = [device](const char* label) {
      for (int other = 0; other < count_devices(); ++other)
        EXPECT_TRUE(matches(check(query(other), reference(other))))
            << "where device " << device << " has " << label << " of its own";
    };
    {
      const lab::testing::pretended_devices unlike(
          [](cudaDeviceProp& said) {
            for (int* field : {&said.memoryBusWidth, &said.l2CacheSize, &said.multiProcessorCount})
              *field += 96;
            said.totalConstMem *= 2;
          },
          device);
      expect_right_reports("properties");
    }
    for (const auto& [attribute, name] : {std::pair{cudaDevAttrClockRate, "a clock"},
                                          {cudaDevAttrMemoryClockRate, "a memory clock"},
                                          {cudaDevAttrKernelExecTimeout, "a time limit"},
                                          {cudaDevAttrComputeMode, "a compute mode"}}) {
      int value = 0;
      CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
      const lab::testing::pretended_attribute unlike(attribute, value == 0 ? 3 : 0, device);
      expect_right_reports(name);
    }
  }
}
#endif

TEST(Query, SaysTheSameTwice) { EXPECT_TRUE(matches(check(query(0), query(0)))); }

TEST(Query, ComputesTheBandwidthOfTheDevicesOwnMemory) {
  for (int device = 0; device < count_devices(); ++device) {
    const report got = query(device);
    const double expected = 2000.0 * got.memory_clock_khz * got.memory_bus_bits / 8;
    EXPECT_NEAR(got.bandwidth, expected, 1e-12 * expected);
  }
}

TEST(Query, LeavesTheCurrentDeviceAlone) {
  for (int current = 0; current < count_devices(); ++current) {
    const lab::testing::on_device here(current);
    const auto stays = [current] {
      int now = -1;
      CUDA_CHECK(cudaGetDevice(&now));
      return now == current;
    };
    for (int device = 0; device < count_devices(); ++device) {
      (void)query(device);
      EXPECT_TRUE(stays()) << "query(" << device << ") has changed it from " << current;
    }
    (void)query_all();
    EXPECT_TRUE(stays()) << "query_all() has changed it from " << current;
  }
}

// --- refusals ------------------------------------------------------------------------------------

class NotThere : public ::testing::TestWithParam<int> {
 protected:
  /// Far below, just below, just above and far above the devices that are there.
  static int device() {
    constexpr int kLargest = std::numeric_limits<int>::max();
    const int numbers[] = {-kLargest - 1, -1, count_devices(), count_devices() + 1, kLargest};
    return numbers[GetParam()];
  }
};
constexpr const char* kNotThere[] = {"smallest_int", "minus_one", "count", "count_plus_one",
                                     "largest_int"};
INSTANTIATE_TEST_SUITE_P(Device, NotThere, ::testing::Range(0, 5),
                         [](const auto& test) { return kNotThere[test.param]; });

TEST_P(NotThere, IsRefusedByItsNumber) {
  try {
    (void)query(device());
    FAIL() << "device " << device() << " was not refused";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(device())), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess)
      << "an error was left in the runtime: the next launch check would report it";
}

TEST(Query, WorksAgainAfterARefusal) {
  EXPECT_THROW((void)query(count_devices()), lab::invalid_input);
  EXPECT_TRUE(matches(check(query(0), reference(0))));
}

// --- all of them ---------------------------------------------------------------------------------

TEST(QueryAll, ListsEveryVisibleDeviceInOrder) {
  const auto all = query_all();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(count_devices()));
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].device, static_cast<int>(i));
}

TEST(QueryAll, AgreesWithTheRuntimeAboutEveryDevice) { EXPECT_TRUE(matches(check(query_all()))); }

TEST(QueryAll, TellsDevicesApart) {
  // Two cards of one type differ only in where they are.
  const auto all = query_all();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = i + 1; k < all.size(); ++k)
      EXPECT_TRUE(all[i].pci_domain != all[k].pci_domain || all[i].pci_bus != all[k].pci_bus ||
                  all[i].pci_device != all[k].pci_device)
          << "devices " << i << " and " << k << " are in the same place";
}

// --- the bandwidth -------------------------------------------------------------------------------

struct known_memory {
  const char* name;
  int khz;
  int bits;
  double bytes_per_second;  // by hand

  friend void PrintTo(const known_memory& memory, std::ostream* out) { *out << memory.name; }
};

class Bandwidth : public ::testing::TestWithParam<known_memory> {};

INSTANTIATE_TEST_SUITE_P(
    Memory, Bandwidth,
    ::testing::Values(
        // 2 transfers * 1000 cycles a second * 1 byte
        known_memory{"one_kilohertz_one_byte", 1, 8, 2000},
        // GeForce GTX 280, the card of the book's time: 2 * 1107 MHz * 64 bytes
        known_memory{"gtx_280", 1'107'000, 512, 141'696'000'000},
        // A100 with 40 GB: 2 * 1215 MHz * 640 bytes; the vendor says 1555 GB/s
        known_memory{"a100_40gb", 1'215'000, 5120, 1'555'200'000'000},
        // 2 * kHz * bits is just above the largest int
        known_memory{"around_the_largest_int", 4'194'304, 256, 268'435'456'000},
        known_memory{"a_bus_of_12_bits", 1'000'000, 12, 3'000'000'000},
        known_memory{"largest_ints", 2'147'483'647, 2'147'483'647, 1.1529215035331052e21}),
    [](const auto& test) { return test.param.name; });

TEST_P(Bandwidth, IsTwoTransfersACycle) {
  // A few operations in double, each off by 2^-53 at most; 1e-14 is 90 of these.
  const auto& [name, khz, bits, expected] = GetParam();
  EXPECT_TRUE(
      matches(lab::compare(theoretical_bandwidth(khz, bits), expected, lab::tolerance{0, 1e-14})));
}

TEST(UnknownMemory, HasNoBandwidth) {
  EXPECT_EQ(theoretical_bandwidth(0, 0), 0);
  EXPECT_EQ(theoretical_bandwidth(0, 256), 0);
  EXPECT_EQ(theoretical_bandwidth(1'000'000, 0), 0);
  EXPECT_EQ(theoretical_bandwidth(-1, 256), 0);
  EXPECT_EQ(theoretical_bandwidth(1'000'000, -8), 0);
  EXPECT_EQ(theoretical_bandwidth(-1'000'000, -256), 0);
}

FAULT_TEST(Query, ReportsEveryCallThatFails) {
  const report expected = reference(0);
  expect_failures_reported([&] { return matches(check(query(0), expected)); });
}

FAULT_TEST(QueryAll, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return query_all().size(); });
}

}  // namespace
