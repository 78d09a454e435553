// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The counters of the check build against the table from which the site's explorer of memory
// accesses is tested: both compute the same numbers.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"
#include "site_table.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device::access_counters;
using cpu_device::access_kind;
using cpu_device_testing::device_array;
using cpu_device_testing::read_site_table;

constexpr std::size_t kElements = 2048;

constexpr int kGlobalLine = __LINE__ + 5;
template <class T>
__global__ void load_global(const T* in, const unsigned* index, T* out, unsigned lanes) {
  if (threadIdx.x < lanes) {
    const unsigned at = index[threadIdx.x];
    const T value = in[at];
    out[threadIdx.x] = value;
  }
}

constexpr int kSharedLine = __LINE__ + 8;
template <class T>
__global__ void load_shared(const T* in, const unsigned* index, T* out, unsigned lanes) {
  extern __shared__ float4 memory[];  // aligned for every type
  T* shared = reinterpret_cast<T*>(memory);
  for (std::size_t i = threadIdx.x; i < kElements; i += 32) shared[i] = in[i];
  __syncthreads();
  if (threadIdx.x < lanes) {
    const T value = shared[index[threadIdx.x]];
    out[threadIdx.x] = value;
  }
}

/// The accesses of a kind in a line, of one launch.
template <class Launch>
access_counters count(Launch launch, access_kind kind, int line) {
  cpu_device::reset_counters();
  cpu_device::count_accesses(true);
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cpu_device::count_accesses(false);
  for (const access_counters& row : cpu_device::read_counters())
    if (row.kind == kind && row.line == line) return row;
  ADD_FAILURE() << "nothing was counted in line " << line;
  return {};
}

struct cost {
  std::string expression;
  unsigned lanes = 0, bytes = 0;
  std::uint64_t sectors = 0, ideal_sectors = 0, bytes_used = 0, wavefronts = 0;
  std::vector<unsigned> indices;
};

std::vector<cost> read_table() {
  std::vector<cost> table;
  for (const std::string& line : read_site_table("access_costs.csv")) {
    cost c;
    std::istringstream cells(line);
    std::getline(cells, c.expression, ';');
    cells >> c.lanes >> c.bytes >> c.sectors >> c.ideal_sectors >> c.bytes_used >> c.wavefronts;
    for (unsigned index = 0; cells >> index;) c.indices.push_back(index);
    EXPECT_EQ(c.indices.size(), c.lanes) << line;
    table.push_back(c);
  }
  return table;
}

template <class T>
void expect_costs(const cost& c) {
  SCOPED_TRACE(c.expression + ", " + std::to_string(c.lanes) + " lanes of " +
               std::to_string(c.bytes) + " bytes");
  const device_array<T> in(kElements, T{}), out(32, T{});
  const device_array<unsigned> index(c.indices);
  const access_counters global =
      count([&] { load_global<T><<<1, 32>>>(in.data(), index.data(), out.data(), c.lanes); },
            access_kind::global_load, kGlobalLine);
  EXPECT_EQ(global.requests, 1U);
  EXPECT_EQ(global.lanes, c.lanes);
  EXPECT_EQ(global.sectors, c.sectors);
  EXPECT_EQ(global.ideal_sectors, c.ideal_sectors);
  EXPECT_EQ(global.bytes_used, c.bytes_used);
  const access_counters shared = count(
      [&] {
        load_shared<T>
            <<<1, 32, kElements * sizeof(T)>>>(in.data(), index.data(), out.data(), c.lanes);
      },
      access_kind::shared_load, kSharedLine);
  EXPECT_EQ(shared.requests, 1U);
  EXPECT_EQ(shared.wavefronts, c.wavefronts);
}

TEST(AccessCosts, AreThoseOfTheSitesTable) {
  const std::vector<cost> table = read_table();
  EXPECT_GE(table.size(), 100U);
  for (const cost& c : table) {
    switch (c.bytes) {
      case 1:
        expect_costs<char>(c);
        break;
      case 2:
        expect_costs<short>(c);
        break;
      case 4:
        expect_costs<float>(c);
        break;
      case 8:
        expect_costs<double>(c);
        break;
      case 16:
        expect_costs<float4>(c);
        break;
      default:
        ADD_FAILURE() << c.bytes << " bytes";
    }
  }
}

}  // namespace

#endif
