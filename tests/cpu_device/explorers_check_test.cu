// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The CPU device against the tables from which the site's explorers are tested: launches,
// reductions and streams.

#include <cpu_device.h>
#include <cpu_device/events.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"
#include "site_table.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device::access_kind;
using cpu_device::stream_policy;
using cpu_device::thread_order;
using cpu_device_testing::device_array;
using cpu_device_testing::expect_site_table;

// --- launches -----------------------------------------------------------------------------------

/// What each thread has done, by its number in the grid, block by block; what computed an element.
struct done {
  char* started;
  int* elements_of;
  int* owner;
  __device__ void element(unsigned thread, unsigned e) const {
    elements_of[thread] += 1;
    owner[e] = static_cast<int>(thread);
  }
};

__global__ void guard(done d, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  d.started[i] = 1;
  if (i < n) d.element(i, i);
}

__global__ void stride(done d, unsigned n) {
  const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;
  d.started[first] = 1;
  for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) d.element(first, i);
}

__global__ void two(done d, unsigned width, unsigned height) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const unsigned thread = block * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
  d.started[thread] = 1;
  if (x < width && y < height) d.element(thread, y * width + x);
}

std::string launch_numbers(const std::string& given) {
  std::istringstream words(given);
  std::string kernel;
  dim3 grid, block, data;
  words >> kernel;
  if (kernel == "two")
    words >> grid.x >> grid.y >> block.x >> block.y >> data.x >> data.y;
  else
    words >> grid.x >> block.x >> data.x;
  const std::size_t threads = std::size_t{grid.x} * grid.y * block.x * block.y;
  const std::size_t elements = std::size_t{data.x} * data.y;
  const device_array<char> started(threads, 0);
  const device_array<int> elements_of(threads, 0), owner(std::max<std::size_t>(elements, 1), -1);
  const done d{started.data(), elements_of.data(), owner.data()};
  cpu_device::reset_counters();
  cpu_device::count_accesses(true);
  if (kernel == "guard") guard<<<grid, block>>>(d, data.x);
  if (kernel == "stride") stride<<<grid, block>>>(d, data.x);
  if (kernel == "two") two<<<grid, block>>>(d, data.x, data.y);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cpu_device::count_accesses(false);

  std::uint64_t warps = 0, lanes = 0;
  for (const auto& row : cpu_device::read_counters())
    if (row.kind == access_kind::global_store && row.bytes == 1)  // `started`, by every thread
      warps = row.requests, lanes = row.lanes;
  const std::vector<int> of_threads = elements_of.to_host();
  std::vector<int> owners = owner.to_host();
  owners.resize(elements);
  const auto missed = std::count(owners.begin(), owners.end(), -1);
  std::size_t computed = 0;
  for (const int count : of_threads) computed += static_cast<std::size_t>(count);
  EXPECT_EQ(computed + static_cast<std::size_t>(missed), elements) << given << ": some twice";
  std::ostringstream numbers;
  numbers << lanes << ' ' << warps << ' ' << 32 * warps - lanes << ' '
          << std::count(of_threads.begin(), of_threads.end(), 0) << ' ' << missed << ' '
          << *std::max_element(of_threads.begin(), of_threads.end()) << ';';
  for (const int thread : owners) numbers << ' ' << thread;
  return numbers.str();
}

TEST(Explorers, LaunchesAreThoseOfTheSitesTable) {
  expect_site_table("launches.csv", 30, launch_numbers);
}

// --- reductions ---------------------------------------------------------------------------------

struct addition {
  unsigned half, thread;
  int a, b;
};

__global__ void add_up(const int* numbers, bool barrier, unsigned* order, addition* additions,
                       unsigned* counts, int* sum) {
  extern __shared__ int cache[];
  const unsigned t = threadIdx.x;
  cache[t] = numbers[t];
  __syncthreads();
  order[atomicAdd(&counts[0], 1U)] = t;
  for (unsigned half = blockDim.x / 2; half >= 1; half /= 2) {
    if (t < half) {
      const int a = cache[t], b = cache[t + half];
      cache[t] = a + b;
      additions[atomicAdd(&counts[1], 1U)] = {half, t, a, b};
    }
    if (barrier) __syncthreads();
  }
  if (t == 0) *sum = cache[0];
}

std::string reduction_numbers(const std::string& given) {
  std::istringstream words(given);
  std::string barrier, order_name;
  words >> barrier >> order_name;
  std::vector<int> numbers;
  for (int x = 0; words >> x;) numbers.push_back(x);
  const auto n = static_cast<unsigned>(numbers.size());
  cpu_device::set_thread_order(order_name == "forward"   ? thread_order::forward
                               : order_name == "reverse" ? thread_order::reverse
                                                         : thread_order::random,
                               7);
  const device_array<int> in(numbers), sum(1, -1);
  const device_array<unsigned> order(n, 0), counts(2, 0);
  const device_array<addition> additions(n - 1, addition{});
  cpu_device::report_again();
  const std::size_t reports = cpu_device::report_count();
  add_up<<<1, n, n * sizeof(int)>>>(in.data(), barrier == "with", order.data(), additions.data(),
                                    counts.data(), sum.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cpu_device::set_thread_order(thread_order::forward);
  const bool raced = cpu_device::report_count() > reports;
  EXPECT_EQ(raced, barrier == "without" && n > 2) << given;  // two numbers are one addition
  const bool told = cpu_device::last_report().find("race on shared memory") != std::string::npos;
  EXPECT_TRUE(!raced || told) << cpu_device::last_report();

  std::ostringstream text;
  text << sum.to_host()[0] << ';';
  for (const unsigned thread : order.to_host()) text << ' ' << thread;
  text << ';';
  for (const addition& step : additions.to_host())
    text << ' ' << step.half << ' ' << step.thread << ' ' << step.a << ' ' << step.b;
  return text.str();
}

TEST(Explorers, ReductionsAreThoseOfTheSitesTable) {
  expect_site_table("reductions.csv", 15, reduction_numbers);
}

// --- streams ------------------------------------------------------------------------------------

__global__ void nothing() {}

/// The order in which calls are carried out: the call of number k copies k + 1 bytes, or launches
/// k + 1 blocks.
class order_of_calls final : public cpu_device::observer {
 public:
  order_of_calls() {
    add_observer(*this, cpu_device::event_kind::launch | cpu_device::event_kind::copy);
  }
  ~order_of_calls() override { remove_observer(*this); }
  std::vector<std::size_t> calls;

 private:
  void launch_begins(const cpu_device::launch_event& e) override { calls.push_back(e.grid.x - 1); }
  void copied(const cpu_device::copy_event& e) override { calls.push_back(e.bytes - 1); }
};

std::vector<std::size_t> carried_out(const std::string& given, stream_policy policy) {
  std::map<unsigned, cudaStream_t> streams;
  constexpr std::size_t kBytes = 256;
  const device_array<char> device(kBytes, 0);
  char* host = nullptr;
  EXPECT_EQ(cudaMallocHost(&host, kBytes), cudaSuccess);
  for (unsigned s = 0; s < 10; ++s)
    EXPECT_EQ(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking), cudaSuccess);
  cpu_device::set_stream_policy(policy);
  std::vector<std::size_t> order;
  {
    order_of_calls seen;
    std::istringstream calls(given);
    std::size_t bytes = 1;
    for (std::string call; std::getline(calls, call, ','); ++bytes) {
      std::istringstream words(call);
      unsigned number = 0;
      std::string kind;
      words >> number >> kind;
      const cudaStream_t stream = streams.at(number);
      if (kind == "in")
        cudaMemcpyAsync(device.data(), host, bytes, cudaMemcpyHostToDevice, stream);
      else if (kind == "out")
        cudaMemcpyAsync(host, device.data(), bytes, cudaMemcpyDeviceToHost, stream);
      else
        nothing<<<static_cast<unsigned>(bytes), 1, 0, stream>>>();
      EXPECT_EQ(cudaGetLastError(), cudaSuccess) << call;
    }
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    order = seen.calls;
  }
  cpu_device::set_stream_policy(stream_policy::eager);
  for (const auto& [number, stream] : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(host), cudaSuccess);
  return order;
}

std::string stream_numbers(const std::string& given) {
  std::ostringstream text;
  const char* between = "";
  for (const stream_policy policy :
       {stream_policy::interleaved, stream_policy::oldest_first, stream_policy::newest_first}) {
    text << between;
    between = "; ";
    const char* space = "";
    for (const std::size_t call : carried_out(given, policy)) {
      text << space << call;
      space = " ";
    }
  }
  return text.str();
}

TEST(Explorers, StreamsAreThoseOfTheSitesTable) {
  expect_site_table("streams.csv", 10, stream_numbers);
}

}  // namespace

#endif
