// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Thrust with this device's memory, streams and errors. Plain CUDA, except where it says so.

#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_free.h>
#include <thrust/device_malloc.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>
#include <thrust/universal_vector.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "conformance.hpp"

// nvcc: extended lambdas may not stand in TEST's private member function, hence free functions.

namespace {

constexpr int kSizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 1009, 100003};

std::vector<int> numbers(int n, unsigned seed = 3) {
  std::mt19937 random(seed);
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int& x : v) x = static_cast<int>(random() % 2001) - 1000;
  return v;
}

template <class T>
std::vector<T> to_host(const thrust::device_vector<T>& v) {
  std::vector<T> host(v.size());
  thrust::copy(v.begin(), v.end(), host.begin());
  return host;
}

struct square {
  __device__ int operator()(int x) const { return x * x; }
};
struct is_negative {
  __device__ bool operator()(int x) const { return x < 0; }
};
struct descending {
  __device__ bool operator()(int a, int b) const { return a > b; }
};

TEST(Thrust, SortsAndSortsByKey) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = numbers(n);
    thrust::device_vector<int> keys(input.begin(), input.end()), values(input.size());
    thrust::sequence(values.begin(), values.end());
    thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
    std::vector<int> order(input.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return input[static_cast<std::size_t>(a)] < input[static_cast<std::size_t>(b)];
    });
    std::vector<int> sorted = input;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(to_host(keys), sorted);
    EXPECT_EQ(to_host(values), order);
    thrust::sort(keys.begin(), keys.end(), descending());
    std::reverse(sorted.begin(), sorted.end());
    EXPECT_EQ(to_host(keys), sorted);
  }
}

TEST(Thrust, ReducesAndScans) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = numbers(n);
    const thrust::device_vector<int> v(input.begin(), input.end());
    EXPECT_EQ(thrust::reduce(v.begin(), v.end()), std::accumulate(input.begin(), input.end(), 0));
    EXPECT_EQ(thrust::transform_reduce(v.begin(), v.end(), square(), 0, thrust::plus<int>()),
              std::inner_product(input.begin(), input.end(), input.begin(), 0));
    EXPECT_EQ(thrust::inner_product(v.begin(), v.end(), v.begin(), 7),
              std::inner_product(input.begin(), input.end(), input.begin(), 7));
    EXPECT_EQ(thrust::count_if(v.begin(), v.end(), is_negative()),
              std::count_if(input.begin(), input.end(), [](int x) { return x < 0; }));
    EXPECT_EQ(thrust::max_element(v.begin(), v.end()) - v.begin(),
              std::max_element(input.begin(), input.end()) - input.begin());
    thrust::device_vector<int> sums(v.size());
    std::vector<int> expected(input.size());
    thrust::inclusive_scan(v.begin(), v.end(), sums.begin());
    std::partial_sum(input.begin(), input.end(), expected.begin());
    EXPECT_EQ(to_host(sums), expected);
    thrust::exclusive_scan(v.begin(), v.end(), sums.begin(), 5);
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), 5);
    EXPECT_EQ(to_host(sums), expected);
  }
}

TEST(Thrust, CompactsAndFindsRuns) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    std::vector<int> input = numbers(n);
    thrust::device_vector<int> v(input.begin(), input.end());
    v.erase(thrust::remove_if(v.begin(), v.end(), is_negative()), v.end());
    input.erase(std::remove_if(input.begin(), input.end(), [](int x) { return x < 0; }),
                input.end());
    EXPECT_EQ(to_host(v), input);
    thrust::sort(v.begin(), v.end());
    v.erase(thrust::unique(v.begin(), v.end()), v.end());
    std::sort(input.begin(), input.end());
    input.erase(std::unique(input.begin(), input.end()), input.end());
    EXPECT_EQ(to_host(v), input);
  }
}

void lambdas_and_iterators(int n) {
  const thrust::counting_iterator<int> from(1);
  const int factor = n == 0 ? 1 : 3;  // which is captured
  thrust::device_vector<int> v(static_cast<std::size_t>(n));
  thrust::transform(from, from + n, v.begin(),
                    [factor] __device__(int x) { return factor * x - 1; });
  const auto odd =
      thrust::make_transform_iterator(v.begin(), [] __host__ __device__(int x) { return x % 2; });
  int expected = 0;
  for (int i = 1; i <= n; ++i) expected += (factor * i - 1) % 2;
  EXPECT_EQ(thrust::reduce(odd, odd + n), expected);
  auto pairs = thrust::make_zip_iterator(thrust::make_tuple(v.begin(), from));
  thrust::for_each(thrust::device, pairs, pairs + n,
                   [] __device__(const thrust::tuple<int&, const int&>& t) {
                     thrust::get<0>(t) -= thrust::get<1>(t);
                   });
  std::vector<int> left(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) left[static_cast<std::size_t>(i)] = 2 * (i + 1) - 1;
  EXPECT_EQ(to_host(v), left);
}

TEST(Thrust, TakesExtendedLambdasAndFancyIterators) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    lambdas_and_iterators(n);
  }
}

__global__ void add_index(int* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += i;
}

void launch_add_index(int* data, int n, cudaStream_t stream = nullptr) {
  add_index<<<(n + 127) / 128, 128, 0, stream>>>(data, n);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

// Kernels and algorithms in turn, with nothing between them but the default stream.
void kernels_and_algorithms_take_turns() {
  const int n = 1009;
  thrust::device_vector<int> v(n, 5);
  launch_add_index(thrust::raw_pointer_cast(v.data()), n);
  EXPECT_EQ(thrust::reduce(v.begin(), v.end()), 5 * n + n * (n - 1) / 2);
  launch_add_index(thrust::raw_pointer_cast(&v[0]), n);
  EXPECT_EQ(v[n - 1], 5 + 2 * (n - 1));  // one element, read by the host
  v[0] = 17;
  launch_add_index(thrust::raw_pointer_cast(v.data()), n);
  const thrust::host_vector<int> host = v;
  EXPECT_EQ(host[0], 17);
  EXPECT_EQ(host[7], 5 + 3 * 7);
}

void a_stream_is_waited_for() {
  const int n = 1009;
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    thrust::device_vector<int> v(n, 1);
    launch_add_index(thrust::raw_pointer_cast(v.data()), n, stream);
    EXPECT_EQ(thrust::reduce(thrust::cuda::par.on(stream), v.begin(), v.end()),
              n + n * (n - 1) / 2);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  {
    thrust::device_vector<int> v(n, 1);
    launch_add_index(thrust::raw_pointer_cast(v.data()), n, stream);
    // The default stream waits for work that was queued in other (blocking) streams before.
    EXPECT_EQ(thrust::reduce(thrust::device, v.begin(), v.end()), n + n * (n - 1) / 2);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

#ifdef __CPU_DEVICE__
TEST(Thrust, TakesItsTurnInStreamsAlsoWhereTheyAreDeferred) {
  using cpu_device::stream_policy;
  for (const auto policy : {stream_policy::eager, stream_policy::deferred}) {
    SCOPED_TRACE(policy == stream_policy::eager ? "eager" : "deferred");
    cpu_device::set_stream_policy(policy);
    kernels_and_algorithms_take_turns();
    a_stream_is_waited_for();
  }
  cpu_device::set_stream_policy(stream_policy::eager);
}
#else
TEST(Thrust, TakesItsTurnInStreams) {
  kernels_and_algorithms_take_turns();
  a_stream_is_waited_for();
}
#endif

TEST(Thrust, WorksOnMemoryOfTheRuntime) {
  const std::vector<int> input = numbers(257);
  const conformance::device_array<int> memory(input);
  const thrust::device_ptr<int> first(memory.data());
  thrust::sort(first, first + 257);
  std::vector<int> sorted = input;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(memory.to_host(), sorted);
  // With a policy, raw pointers will do.
  thrust::fill(thrust::device, memory.data(), memory.data() + 257, 9);
  EXPECT_EQ(memory.to_host(), std::vector<int>(257, 9));
}

template <class Vector>
void expect_memory_of(const Vector& v, cudaMemoryType type) {
  cudaPointerAttributes attributes;
  EXPECT_EQ(cudaPointerGetAttributes(&attributes, thrust::raw_pointer_cast(v.data())), cudaSuccess);
  EXPECT_EQ(attributes.type, type);
}

TEST(Thrust, VectorsAreMemoryOfTheRuntime) {
  thrust::device_vector<float> v(100, 2.0F);
  expect_memory_of(v, cudaMemoryTypeDevice);
  expect_memory_of(thrust::universal_vector<float>(100), cudaMemoryTypeManaged);
  std::vector<float> host(100);
  EXPECT_EQ(
      cudaMemcpy(host.data(), thrust::raw_pointer_cast(v.data()), 400, cudaMemcpyDeviceToHost),
      cudaSuccess);
  EXPECT_EQ(host, std::vector<float>(100, 2.0F));
  const thrust::device_ptr<int> p = thrust::device_malloc<int>(10);
  launch_add_index(thrust::raw_pointer_cast(p), 10);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  thrust::device_free(p);
}

TEST(Thrust, HostVectorsAreTheHosts) {
  thrust::host_vector<int> v(100);
  thrust::sequence(v.begin(), v.end());
  EXPECT_EQ(std::accumulate(v.begin(), v.end(), 0), 4950);
  const thrust::device_vector<int> on_device = v;
  const thrust::device_vector<int> second(on_device);
  EXPECT_TRUE(on_device == second);
}

__global__ void sort_in_a_kernel(int* data, int n) {
  if (threadIdx.x == 0) thrust::sort(thrust::seq, data, data + n);
}

TEST(Thrust, RunsInsideAKernel) {
  std::vector<int> input = numbers(100);
  // Not negative: CUDA 13.0's thrust::seq puts negative ints after positive ones.
  for (int& x : input) x += 1000;
  const conformance::device_array<int> memory(input);
  sort_in_a_kernel<<<1, 32>>>(memory.data(), 100);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::sort(input.begin(), input.end());
  EXPECT_EQ(memory.to_host(), input);
}

TEST(Thrust, ThrowsWhenMemoryRunsOut) {
  EXPECT_THROW(thrust::device_vector<int>(std::size_t{1} << 45), std::bad_alloc);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

#ifdef __CPU_DEVICE__

TEST(Thrust, LeavesNoMemoryBehind) {
  const std::size_t before = cpu_device::live_allocations();
  {
    thrust::device_vector<int> v(1000);
    EXPECT_EQ(cpu_device::live_allocations(), before + 1);
    thrust::sequence(v.begin(), v.end());
    thrust::stable_sort(v.begin(), v.end(), descending());
    thrust::unique(v.begin(), v.end());
  }
  EXPECT_EQ(cpu_device::live_allocations(), before);
}

struct by_tens {
  __device__ bool operator()(int a, int b) const { return a / 10 < b / 10; }
};

// A GPU may keep the order, too; here nobody gets to rely on that.
TEST(Thrust, KeepsTheOrderOfEqualKeysOnlyWhereThatIsPromised) {
  const std::vector<int> input = {25, 13, 21, 17, 4, 29};
  thrust::device_vector<int> v = input;
  thrust::stable_sort(v.begin(), v.end(), by_tens());
  EXPECT_EQ(to_host(v), (std::vector<int>{4, 13, 17, 25, 21, 29}));
  v = input;
  thrust::sort(v.begin(), v.end(), by_tens());
  EXPECT_EQ(to_host(v), (std::vector<int>{4, 17, 13, 29, 21, 25}));

  const std::vector<int> pairs = {2, 1, 2, 1, 0, 2};
  thrust::device_vector<int> keys = pairs, values = input;
  thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin());
  EXPECT_EQ(to_host(keys), (std::vector<int>{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(to_host(values), (std::vector<int>{4, 13, 17, 25, 21, 29}));
  keys = pairs;
  values = input;
  thrust::sort_by_key(keys.begin(), keys.end(), values.begin());
  EXPECT_EQ(to_host(keys), (std::vector<int>{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(to_host(values), (std::vector<int>{4, 17, 13, 29, 21, 25}));
}

TEST(Thrust, ThrowsWhenThereIsNoScratchMemoryToSortWith) {
  thrust::device_vector<int> keys = numbers(100), values(100, 1);
  for (const bool with_values : {false, true}) {
    cpu_device::fail_call("cudaMalloc", 1, cudaErrorMemoryAllocation);
    EXPECT_THROW(with_values ? thrust::stable_sort_by_key(keys.begin(), keys.end(), values.begin())
                             : thrust::stable_sort(keys.begin(), keys.end()),
                 std::bad_alloc);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(to_host(keys), numbers(100));
}

__global__ void write_behind(int* data, int n) { data[n + 4096] = 1; }

// A GPU could not go on after that, so this is the CPU device's alone.
TEST(Thrust, ThrowsTheErrorOfAKernelBeforeIt) {
  {
    thrust::device_vector<int> v(1000, 1);
    write_behind<<<1, 1>>>(thrust::raw_pointer_cast(v.data()), 1000);
    try {
      thrust::reduce(v.begin(), v.end());
      ADD_FAILURE() << "nothing was thrown";
    } catch (const thrust::system_error& e) {
      EXPECT_EQ(e.code().value(), static_cast<int>(cudaErrorIllegalAddress)) << e.what();
    }
  }  // the vector's end does not throw
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

TEST(Thrust, LeavesNoErrorBehindThatItThrows) {
  using cpu_device::stream_policy;
  thrust::device_vector<int> v(1000, 1);
  cpu_device::set_stream_policy(stream_policy::deferred);  // so that there is something to wait for
  EXPECT_EQ(cudaMemsetAsync(thrust::raw_pointer_cast(v.data()), 0, 4), cudaSuccess);
  cpu_device::fail_call("cudaStreamSynchronize", 1, cudaErrorUnknown);
  EXPECT_THROW(thrust::reduce(v.begin(), v.end()), thrust::system_error);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cpu_device::set_stream_policy(stream_policy::eager);
}

#endif

}  // namespace
