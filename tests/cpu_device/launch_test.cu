// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a launch accepts and what it refuses, and the language around it: qualifiers, templates,
// lambdas, arguments, variables of a device. Runs on the CPU device and on a GPU.

#include <numeric>
#include <type_traits>

#include "conformance.hpp"

namespace {

using namespace conformance;

// CUDA 12 and its documents call a grid or a block that cannot be cudaErrorInvalidConfiguration.
constexpr cudaError_t kRefused =
    CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }
__global__ void more_shared_memory(int* data) {
  extern __shared__ int room[];
  room[threadIdx.x] = data[threadIdx.x];
  data[threadIdx.x] = room[threadIdx.x] + 1;
}

int attribute(cudaDeviceAttr a) {
  int value = -1;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, a, 0), cudaSuccess);
  return value;
}

TEST(Launch, RefusesShapesThatNoDeviceHas) {
  const device_array<int> data(4, 0);
  const auto status = [&](dim3 grid, dim3 block, std::size_t shared = 0) {
    add_one<<<grid, block, shared>>>(data.data());
    return cudaGetLastError();
  };
  EXPECT_EQ(status(0, 4), kRefused);
  EXPECT_EQ(status(dim3(1, 0), 4), kRefused);
  EXPECT_EQ(status(dim3(1, 1, 0), 4), kRefused);
  EXPECT_EQ(status(1, 0), kRefused);
  EXPECT_EQ(status(1, dim3(4, 1, 0)), kRefused);
  EXPECT_EQ(status(1, 1025), kRefused);
  EXPECT_EQ(status(1, dim3(32, 33)), kRefused);
  EXPECT_EQ(status(1, dim3(1, 1, 65)), kRefused);
  EXPECT_EQ(status(dim3(1, 65536), 1), kRefused);
  EXPECT_EQ(status(dim3(1, 1, 65536), 1), kRefused);
  EXPECT_EQ(status(static_cast<unsigned>(-1), 1), kRefused);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 0));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);  // the next launch is none the worse
  EXPECT_EQ(status(1, 4), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 1));
}

TEST(Launch, TakesMoreSharedMemoryAfterOptingIn) {
  const device_array<int> data(4, 0);
  const int most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  ASSERT_GT(most, 48 * 1024);
  const auto status = [&](int bytes) {
    more_shared_memory<<<1, 4, static_cast<std::size_t>(bytes)>>>(data.data());
    return cudaGetLastError();
  };
  const auto opt_in = [](int bytes) {
    return cudaFuncSetAttribute(more_shared_memory, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                bytes);
  };
  EXPECT_EQ(status(48 * 1024), cudaSuccess);
  EXPECT_EQ(status(48 * 1024 + 1), cudaErrorInvalidValue);
  EXPECT_EQ(opt_in(most + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  ASSERT_EQ(opt_in(most - 1024), cudaSuccess);
  EXPECT_EQ(status(most), cudaErrorInvalidValue);  // what was asked for, not all there is
  ASSERT_EQ(opt_in(most), cudaSuccess);
  EXPECT_EQ(status(most), cudaSuccess);
  EXPECT_EQ(status(most + 1), cudaErrorInvalidValue);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 2));
  ASSERT_EQ(opt_in(100), cudaSuccess);  // less than it may have without
  EXPECT_EQ(status(101), cudaErrorInvalidValue);
  EXPECT_EQ(status(100), cudaSuccess);
  EXPECT_EQ(opt_in(48 * 1024), cudaSuccess);  // as it was, should the tests be repeated
}

// --- bounds -------------------------------------------------------------------------------------

constexpr int kBound = 96;
__global__ void __launch_bounds__(kBound) bounded(int* data) {
  if (threadIdx.x < 4 && threadIdx.y + threadIdx.z == 0) data[threadIdx.x] += 1;
}
template <class T, int kThreads>
__global__ __launch_bounds__(kThreads * 2, 1) void bounded_template(T* data) {
  if (threadIdx.x < 4 && threadIdx.y + threadIdx.z == 0) data[threadIdx.x] += 1;
}
template <>
__global__ void __launch_bounds__(32) bounded_template<int, 7>(int* data) {
  if (threadIdx.x < 4 && threadIdx.y + threadIdx.z == 0) data[threadIdx.x] += 1;
}
// Two kernels of one name, and a function: the arguments decide.
__global__ void __launch_bounds__(64) several(int* data) { data[threadIdx.x % 4] = 0; }
__global__ void several(float* data) { data[threadIdx.x % 4] = 0; }
void several(int* data, int threads) { several<<<1, threads>>>(data); }

TEST(LaunchBounds, AreTheMostThreadsThatALaunchMayHave) {
  const device_array<int> data(4, 0);
  const auto status = [&](void (*kernel)(int*), dim3 block) {
    kernel<<<1, block>>>(data.data());
    return cudaGetLastError();
  };
  EXPECT_EQ(status(bounded, kBound), cudaSuccess);
  EXPECT_EQ(status(bounded, kBound + 1), cudaErrorInvalidValue);
  EXPECT_EQ(status(bounded, dim3(8, 4, 3)), cudaSuccess);
  EXPECT_EQ(status(bounded, dim3(8, 4, 4)), cudaErrorInvalidValue);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 2));
  bounded<<<1, 1024>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  bounded_template<int, 64><<<1, 129>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  bounded_template<int, 64><<<1, 128>>>(data.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(status(bounded_template<int, 16>, 32), cudaSuccess);
  EXPECT_EQ(status(bounded_template<int, 16>, 33), cudaErrorInvalidValue);
  EXPECT_EQ(status(bounded_template<int, 7>, 32), cudaSuccess);  // it has a bound of its own
  EXPECT_EQ(status(bounded_template<int, 7>, 33), cudaErrorInvalidValue);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 5));
  several(data.data(), 64);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 0));
  several<<<1, 128>>>(reinterpret_cast<float*>(data.data()));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(LaunchBounds, HoldForEveryWayToLaunch) {
  const device_array<int> data(4, 0);
  int* pointer = data.data();
  void* arguments[] = {&pointer};
  EXPECT_EQ(cudaLaunchKernel((void*)bounded, 1, 97, arguments, 0, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchKernel((void*)bounded, 1, 96, arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)bounded, 1, 97, arguments, 0, nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)bounded, 1, 96, arguments, 0, nullptr), cudaSuccess);
  cudaGetLastError();
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 2));
}

TEST(LaunchBounds, AreAmongTheKernelsAttributes) {
  const auto most = [](void (*kernel)(int*)) {
    cudaFuncAttributes a = {};
    EXPECT_EQ(cudaFuncGetAttributes(&a, kernel), cudaSuccess);
    return a.maxThreadsPerBlock;
  };
  EXPECT_EQ(most(bounded), kBound);
  EXPECT_EQ(most(bounded_template<int, 64>), 128);
  EXPECT_EQ(most(bounded_template<int, 16>), 32);
  EXPECT_EQ(most(add_one), 1024);
  int blocks = -1, grid = 0, size = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, kBound, 0),
            cudaSuccess);
  EXPECT_GT(blocks, 0);
  // How many blocks would fit: the bound does not count. Whole warps do.
  int as_many = -1;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, kBound + 1, 0),
            cudaSuccess);
  EXPECT_GT(blocks, 0);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&as_many, bounded, kBound + 32, 0),
            cudaSuccess);
  EXPECT_EQ(blocks, as_many);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &size, bounded, 0, 0), cudaSuccess);
  EXPECT_GT(size, 0);
  EXPECT_LE(size, kBound);
}

// --- kernels and their arguments ----------------------------------------------------------------

template <int N, class T>
__global__ void add_n(T* data) {
  data[threadIdx.x] += N;
}

TEST(Launch, TakesTemplatesWithAndWithoutTheirArguments) {
  const device_array<int> data(4, 0);
  add_n<5, int><<<1, 4>>>(data.data());
  add_n<7><<<1, 4>>>(data.data());
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 12));
}

TEST(Launch, TakesAPointerToAKernel) {
  const device_array<int> data(4, 3);
  void (*const kernels[])(int*) = {add_one, add_n<10, int>};
  for (const auto kernel : kernels) kernel<<<1, 4>>>(data.data());
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 14));
}

void (*kernel_that_adds(int n))(int*) { return n == 1 ? add_one : add_n<10, int>; }

TEST(Launch, TakesAKernelThatAFunctionReturns) {
  const device_array<int> data(4, 3);
  for (const int n : {1, 10}) kernel_that_adds(n)<<<1, 4>>>(data.data());
  EXPECT_EQ(data.to_host(), std::vector<int>(4, 14));
}

__global__ void store(double d, long long l, unsigned char c, double* out) {
  out[0] = d;
  out[1] = static_cast<double>(l);
  out[2] = c;
}

TEST(Launch, ConvertsItsArgumentsAsACallDoes) {
  const device_array<double> out(3, 0.0);
  float nearly_three = 2.9F;  // a variable: clang warns of constants that lose their fraction
  store<<<1, 1>>>(7, nearly_three, 'a', out.data());
  EXPECT_EQ(out.to_host(), (std::vector<double>{7, 2, 'a'}));
}

struct big_argument {
  int numbers[900];
  float3 corner;
};
__global__ void sum_of(big_argument big, int* out) {
  int sum = static_cast<int>(big.corner.z);
  for (const int n : big.numbers) sum += n;
  big.numbers[0] = 1000;  // the thread's own copy
  out[threadIdx.x] = sum + big.numbers[0];
}

TEST(Launch, CopiesStructuresWhenItIsMade) {
  in_every_policy([] {  // late as well, when the host has gone on
    big_argument big = {};
    std::iota(std::begin(big.numbers), std::end(big.numbers), 0);
    big.corner = make_float3(1, 2, 3);
    const device_array<int> out(2, 0);
    sum_of<<<1, 2>>>(big, out.data());
    big = {};
    EXPECT_EQ(out.to_host(), std::vector<int>(2, 899 * 900 / 2 + 3 + 1000));
  });
}

// Copied and destroyed by code of the host, which counts.
struct counted {
  explicit counted(int v) : value(v) {}
  counted(const counted& other) : value(other.value) { ++copies; }
  ~counted() { ++ends; }
  int value;
  inline static int copies = 0, ends = 0;
};
__global__ void take(int* out, counted first, int more, counted second) {
  first.value += 10 * more;  // the thread's own
  out[blockIdx.x * blockDim.x + threadIdx.x] = first.value + second.value;
}
__global__ void take_again(int* out, counted first, int more, counted second) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = second.value + 10 * more + first.value;
}

// A reference is an address, which must mean something on the device.
__global__ void add_by_reference(const int& by, int& to) { to += by; }

TEST(Launch, TakesReferencesToWhatBothSidesReach) {
  int* both = nullptr;
  ASSERT_EQ(cudaMallocManaged(&both, 2 * sizeof(int)), cudaSuccess);
  both[0] = 3;
  both[1] = 4;
  add_by_reference<<<1, 1>>>(both[0], both[1]);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(both[1], 7);
  EXPECT_EQ(cudaFree(both), cudaSuccess);
}

TEST(Launch, RunsNoCodeOfItsArgumentsForThreads) {
  const std::vector<void (*)(int*, counted, int, counted)> kernels = {take, take_again};
  for (const auto kernel : kernels) {
    const auto copies_for = [&](unsigned blocks, bool by_name) {
      const device_array<int> out(blocks * 40, 0);
      counted::copies = counted::ends = 0;
      {
        const counted first(1), second(200);
        if (by_name)
          take<<<blocks, 40>>>(out.data(), first, 3, second);
        else
          kernel<<<blocks, 40>>>(out.data(), first, 3, second);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      }
      EXPECT_EQ(out.to_host(), std::vector<int>(blocks * 40, 231));
      EXPECT_EQ(counted::ends, counted::copies + 2);
      return counted::copies;
    };
    EXPECT_EQ(copies_for(1, true), copies_for(9, true)) << "the more threads, the more copies";
    EXPECT_EQ(copies_for(1, false), copies_for(9, false)) << "the more threads, the more copies";
  }
}

template <class Function>
__global__ void for_each(int* data, Function function) {
  data[threadIdx.x] = function(data[threadIdx.x]);
}

// nvcc wants functions around device lambdas that can be named; the body of a TEST is private.
void launch_lambdas(int* data) {
  int more = 10;
  for_each<<<1, 3>>>(data, [=] __device__(int x) { return x + more; });
  more = 1000;
  for_each<<<1, 3>>>(data, [] __host__ __device__(int x) { return x * x; });
}

TEST(Launch, TakesLambdasWithCaptures) {
  const device_array<int> data(std::vector<int>{1, 2, 3});
  launch_lambdas(data.data());
  EXPECT_EQ(data.to_host(), (std::vector<int>{121, 144, 169}));
}

// --- functions of a device ----------------------------------------------------------------------

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __forceinline__ int thrice(int x) { return 3 * x; }
__host__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct shape {
  __host__ __device__ explicit shape(int s) : side(s) {}
  __host__ __device__ virtual int area() const { return side; }
  __host__ __device__ virtual ~shape() {}
  int side;
};
struct square : shape {
  __host__ __device__ explicit square(int s) : shape(s) {}
  __host__ __device__ int area() const override { return side * side; }
};

__global__ void __launch_bounds__(64, 2)
    call_functions(const int* __restrict__ in, int* __restrict__ out) {
  int (*const function)(int) = in[0] > 0 ? twice : [](int x) { return x; };
  const square five(5);
  const shape* object = &five;
  out[0] = function(in[0]);
  out[1] = thrice(in[0]);
  out[2] = fibonacci(in[0]);
  out[3] = object->area();
}

TEST(Functions, OfADeviceAreCalledInEveryWay) {
  const device_array<int> in(1, 11), out(4, 0);
  call_functions<<<1, 1>>>(in.data(), out.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(out.to_host(), (std::vector<int>{22, 33, fibonacci(11), 25}));
}

// Memory from a kernel's malloc lives until a kernel's free, and is not memory of cudaMalloc.
__global__ void take(int** lists, int n) {
  int* mine = static_cast<int*>(malloc(static_cast<std::size_t>(n) * sizeof(int)));
  for (int i = 0; mine != nullptr && i < n; ++i) mine[i] = i * static_cast<int>(threadIdx.x);
  lists[threadIdx.x] = mine;
}
__global__ void add_up(int** lists, int n, int* sums) {
  int* mine = lists[threadIdx.x];
  sums[threadIdx.x] = mine == nullptr ? -1 : 0;
  for (int i = 0; mine != nullptr && i < n; ++i) sums[threadIdx.x] += mine[i];
}
__global__ void give_back(int** lists) { free(lists[threadIdx.x]); }

TEST(Functions, MemoryOfAKernelOutlivesIt) {
  const device_array<int*> lists(64, nullptr);
  const device_array<int> sums(64, -1);
  take<<<1, 64>>>(lists.data(), 100);
  add_up<<<1, 64>>>(lists.data(), 100, sums.data());
  give_back<<<1, 64>>>(lists.data());
  std::vector<int> expected;
  for (int t = 0; t < 64; ++t) expected.push_back(99 * 100 / 2 * t);
  EXPECT_EQ(sums.to_host(), expected);
}

// --- variables ----------------------------------------------------------------------------------

__device__ int counter = 40;
__constant__ float weights[3] = {1, 2, 4};
__managed__ int shared_with_host = 5;

__global__ void use_variables(float* out) {
  atomicAdd(&counter, 1);
  if (threadIdx.x == 0) {
    shared_with_host += 1;
    *out = weights[0] + weights[1] + weights[2];
  }
}

TEST(Variables, KeepTheirValuesBetweenLaunches) {
  const device_array<float> out(1, 0.0F);
  int before = 0, after = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&before, counter, sizeof before), cudaSuccess);
  EXPECT_EQ(before, 40);
  shared_with_host += 10;
  use_variables<<<1, 32>>>(out.data());
  use_variables<<<1, 32>>>(out.data());
  EXPECT_EQ(out.to_host()[0], 7.0F);
  ASSERT_EQ(cudaMemcpyFromSymbol(&after, counter, sizeof after), cudaSuccess);
  EXPECT_EQ(after, 104);
  EXPECT_EQ(shared_with_host, 17);
  shared_with_host = 5;
  ASSERT_EQ(cudaMemcpyToSymbol(counter, &before, sizeof before), cudaSuccess);
}

// --- vector types -------------------------------------------------------------------------------

template <class T>
constexpr bool is_laid_out(std::size_t size, std::size_t alignment) {
  return sizeof(T) == size && alignof(T) == alignment && std::is_trivially_copyable_v<T>;
}
static_assert(is_laid_out<char2>(2, 2) && is_laid_out<uchar3>(3, 1) && is_laid_out<uchar4>(4, 4));
static_assert(is_laid_out<short2>(4, 4) && is_laid_out<ushort3>(6, 2) && is_laid_out<short4>(8, 8));
static_assert(is_laid_out<int1>(4, 4) && is_laid_out<int2>(8, 8) && is_laid_out<int3>(12, 4) &&
              is_laid_out<uint4>(16, 16));
static_assert(is_laid_out<float2>(8, 8) && is_laid_out<float3>(12, 4) &&
              is_laid_out<float4>(16, 16));
static_assert(is_laid_out<longlong2>(16, 16) && is_laid_out<ulonglong3>(24, 8));
static_assert(is_laid_out<double1>(8, 8) && is_laid_out<double2>(16, 16) &&
              is_laid_out<double3>(24, 8));
static_assert(sizeof(dim3) == 12);

__global__ void use_vectors(float4* out, dim3 extent) {
  const float3 a = make_float3(1, 2, 3);
  const int2 b = make_int2(-4, 5);
  const uint3 where = threadIdx;
  out[where.x] = make_float4(a.x + static_cast<float>(b.x), a.y * static_cast<float>(b.y), a.z,
                             static_cast<float>(extent.x * 100 + extent.y * 10 + extent.z));
}

TEST(Vectors, AreMadeFromTheirComponents) {
  const device_array<float4> out(2, float4{});
  use_vectors<<<1, 2>>>(out.data(), dim3(7, 8));
  for (const float4 v : out.to_host()) {
    EXPECT_EQ(v.x, -3);
    EXPECT_EQ(v.y, 10);
    EXPECT_EQ(v.z, 3);
    EXPECT_EQ(v.w, 781);  // an extent that is not given is 1
  }
}

}  // namespace
