// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Copies and fills of memory and of a device's variables. Runs on the CPU device and on a GPU.
// Copies of three dimensions and of arrays are in textures_test.cu.

#include <algorithm>
#include <numeric>

#include "conformance.hpp"

namespace {

using conformance::device_array;
using conformance::in_every_policy;

__global__ void add(int* data, int n) { data[threadIdx.x] += n; }

std::vector<int> count_up(std::size_t n, int from = 0) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), from);
  return v;
}

/// Pinned host memory for the time of a test.
struct pinned_ints {
  int* data = nullptr;
  std::size_t size;
  explicit pinned_ints(std::size_t n) : size(n) {
    EXPECT_EQ(cudaMallocHost(&data, n * sizeof(int)), cudaSuccess);
  }
  ~pinned_ints() { EXPECT_EQ(cudaFreeHost(data), cudaSuccess); }
  pinned_ints(const pinned_ints&) = delete;
  pinned_ints& operator=(const pinned_ints&) = delete;
  std::vector<int> values() const { return {data, data + size}; }
};

/// A stream that does not wait for the default stream.
struct side_stream {
  cudaStream_t handle = nullptr;
  side_stream() {
    EXPECT_EQ(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), cudaSuccess);
  }
  ~side_stream() { EXPECT_EQ(cudaStreamDestroy(handle), cudaSuccess); }
  side_stream(const side_stream&) = delete;
  side_stream& operator=(const side_stream&) = delete;
  void synchronize() const { ASSERT_EQ(cudaStreamSynchronize(handle), cudaSuccess); }
};

// --- copies -------------------------------------------------------------------------------------

TEST(Copies, GoInEveryDirection) {
  in_every_policy([] {
    const std::vector<int> from = count_up(1000, 5);
    std::vector<int> to(1000, 0), again(1000, 0);
    const device_array<int> a(1000, 0), b(1000, 0), c(1000, 0);
    const std::size_t bytes = from.size() * sizeof(int);
    ASSERT_EQ(cudaMemcpy(a.data(), from.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(b.data(), a.data(), bytes, cudaMemcpyDeviceToDevice), cudaSuccess);
    ASSERT_EQ(cudaMemcpyPeer(c.data(), 0, b.data(), 0, bytes), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(to.data(), c.data(), bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(again.data(), to.data(), bytes, cudaMemcpyHostToHost), cudaSuccess);
    EXPECT_EQ(again, from);
  });
}

TEST(Copies, FindTheirDirectionByTheAddresses) {
  const std::vector<int> from = count_up(1000, 5);
  std::vector<int> to(1000, 0), again(1000, 0);
  const device_array<int> a(1000, 0), b(1000, 0);
  const std::size_t bytes = from.size() * sizeof(int);
  ASSERT_EQ(cudaMemcpy(a.data(), from.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(b.data(), a.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(to.data(), b.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(again.data(), to.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(again, from);
}

TEST(Copies, OfNoBytesDoNothing) {
  std::vector<int> host(4, 1);
  const device_array<int> device(4, 2);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 0, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(device.data(), 4, host.data(), 4, 0, 4, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(device.data(), 4, host.data(), 4, 4, 0, cudaMemcpyHostToDevice),
            cudaSuccess);
  EXPECT_EQ(cudaMemset(device.data(), 0, 0), cudaSuccess);
  EXPECT_EQ(device.to_host(), std::vector<int>(4, 2));
}

TEST(Copies, RefuseADirectionThatIsNone) {
  int host = 1;
  const device_array<int> device(1, 2);
  EXPECT_EQ(cudaMemcpy(device.data(), &host, 4, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(device.to_host()[0], 2);
}

TEST(Copies, OfRowsRespectBothPitches) {
  constexpr std::size_t kWidth = 5, kHeight = 4, kRow = kWidth * sizeof(int);
  const std::vector<int> from = count_up(kWidth * kHeight);
  std::vector<int> to(kWidth * kHeight, -1);
  int* device = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&device, &pitch, kRow, kHeight), cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(device, pitch, from.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(to.data(), kRow, device, pitch, kRow, kHeight, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(to, from);
  EXPECT_EQ(
      cudaMemcpy2D(device, kRow - 1, from.data(), kRow, kRow, kHeight, cudaMemcpyHostToDevice),
      cudaErrorInvalidPitchValue);
  EXPECT_EQ(
      cudaMemcpy2D(device, pitch, from.data(), kRow - 1, kRow, kHeight, cudaMemcpyHostToDevice),
      cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  cudaGetLastError();
}

// A part of a matrix to another place in another one, of another width.
TEST(Copies, OfRowsLeaveAloneWhatIsBetweenThem) {
  in_every_policy([] {
    constexpr std::size_t kFromWidth = 7, kToWidth = 10, kRows = 6;
    const std::vector<int> source = count_up(kFromWidth * kRows, 1000);
    std::vector<int> expected = count_up(kToWidth * kRows, 0);
    const device_array<int> from(source), to(expected);
    const side_stream stream;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemcpy2DAsync(to.data() + 2 * kToWidth + 3, kToWidth * sizeof(int),
                                from.data() + 1 * kFromWidth + 2, kFromWidth * sizeof(int),
                                4 * sizeof(int), 3, cudaMemcpyDeviceToDevice, stream.handle),
              cudaSuccess);
    stream.synchronize();
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t x = 0; x < 4; ++x)
        expected[(row + 2) * kToWidth + x + 3] = source[(row + 1) * kFromWidth + x + 2];
    EXPECT_EQ(to.to_host(), expected);
  });
}

TEST(Copies, TakeTheirTurnInAStream) {
  in_every_policy([] {
    const side_stream stream;
    const pinned_ints in(32), out(32);
    std::iota(in.data, in.data + 32, 7);
    const device_array<int> data(32, -1);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(data.data(), in.data, 128, cudaMemcpyHostToDevice, stream.handle),
              cudaSuccess);
    add<<<1, 32, 0, stream.handle>>>(data.data(), 100);
    ASSERT_EQ(cudaMemcpyAsync(out.data, data.data(), 128, cudaMemcpyDeviceToHost, stream.handle),
              cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(data.data(), 0, 128, stream.handle), cudaSuccess);
    stream.synchronize();
    EXPECT_EQ(out.values(), count_up(32, 107));
    EXPECT_EQ(data.to_host(), std::vector<int>(32, 0));
  });
}

// An asynchronous copy of memory that is not pinned is synchronous for the host: its side is done
// when the call returns.
TEST(Copies, OfPageableMemoryAreOverWhenTheyReturn) {
  in_every_policy([] {
    for (const std::size_t n : {std::size_t{32}, std::size_t{1} << 20}) {  // below and above 64 KB
      const side_stream stream;
      std::vector<int> host = count_up(n, 1);
      const device_array<int> data(n, -1);
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_EQ(cudaMemcpyAsync(data.data(), host.data(), n * sizeof(int), cudaMemcpyHostToDevice,
                                stream.handle),
                cudaSuccess);
      std::fill(host.begin(), host.end(), -7);  // too late to change anything
      add<<<1, 32, 0, stream.handle>>>(data.data(), 100);
      ASSERT_EQ(cudaMemcpyAsync(host.data(), data.data(), n * sizeof(int), cudaMemcpyDeviceToHost,
                                stream.handle),
                cudaSuccess);
      std::vector<int> expected = count_up(n, 1);
      for (std::size_t i = 0; i < 32; ++i) expected[i] += 100;
      EXPECT_EQ(host, expected);  // and nobody has waited
      stream.synchronize();
    }
  });
}

// --- fills --------------------------------------------------------------------------------------

TEST(Fills, SetBytes) {
  const device_array<int> device(10, 0);
  ASSERT_EQ(cudaMemset(device.data() + 1, 0x7F01, 8 * sizeof(int)), cudaSuccess);  // only the 01
  std::vector<int> expected(10, 0x01010101);
  expected.front() = expected.back() = 0;
  EXPECT_EQ(device.to_host(), expected);
}

TEST(Fills, OfRowsLeaveAloneWhatIsBetweenThem) {
  in_every_policy([] {
    constexpr std::size_t kPitch = 8;  // ints
    const side_stream stream;
    const device_array<int> device(count_up(kPitch * 6));
    ASSERT_EQ(cudaMemset2D(device.data() + kPitch, kPitch * sizeof(int), 0, 3 * sizeof(int), 2),
              cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemset2DAsync(device.data() + 4 * kPitch + 5, kPitch * sizeof(int), 0xFF,
                                2 * sizeof(int), 2, stream.handle),
              cudaSuccess);
    stream.synchronize();
    std::vector<int> expected = count_up(kPitch * 6);
    for (const std::size_t row : {1, 2}) std::fill_n(expected.begin() + row * kPitch, 3, 0);
    for (const std::size_t row : {4, 5}) std::fill_n(expected.begin() + row * kPitch + 5, 2, -1);
    EXPECT_EQ(device.to_host(), expected);
  });
}

TEST(Fills, OfThreeDimensionsLeaveAloneWhatIsBetweenThem) {
  in_every_policy([] {
    constexpr std::size_t kWidth = 12, kHeight = 4, kDepth = 3;  // bytes
    const side_stream stream;
    const device_array<unsigned char> device(kWidth * kHeight * kDepth, 1);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaMemset3DAsync(make_cudaPitchedPtr(device.data(), kWidth, kWidth, kHeight), 9,
                                make_cudaExtent(5, 2, 3), stream.handle),
              cudaSuccess);
    stream.synchronize();
    std::vector<unsigned char> expected(kWidth * kHeight * kDepth, 1);
    for (std::size_t z = 0; z < kDepth; ++z)
      for (std::size_t y = 0; y < 2; ++y)
        for (std::size_t x = 0; x < 5; ++x) expected[(z * kHeight + y) * kWidth + x] = 9;
    EXPECT_EQ(device.to_host(), expected);
  });
}

// --- variables of a device ----------------------------------------------------------------------

__constant__ int factor;
__constant__ float table[4];
__device__ int four[4];
__global__ void scale(int* data) { data[threadIdx.x] *= factor + static_cast<int>(table[1]); }
__global__ void add_to_variable(int n) { four[threadIdx.x] += n; }

TEST(Symbols, CarryValuesIntoKernels) {
  const device_array<int> data(8, 3);
  for (const int value : {2, 10}) {
    const float more[4] = {0, 5, 0, 0};
    ASSERT_EQ(cudaMemcpyToSymbol(factor, &value, sizeof value), cudaSuccess);
    ASSERT_EQ(cudaMemcpyToSymbol(table, more, sizeof more), cudaSuccess);
    int back = 0;
    ASSERT_EQ(cudaMemcpyFromSymbol(&back, factor, sizeof back), cudaSuccess);
    EXPECT_EQ(back, value);
    scale<<<1, 8>>>(data.data());
  }
  EXPECT_EQ(data.to_host(), std::vector<int>(8, 3 * 7 * 15));
}

TEST(Symbols, AreCopiedInPartsAndFromOtherDeviceMemory) {
  const device_array<int> device(std::vector<int>{5, 6, 7, 8});
  const int ten = 10;
  ASSERT_EQ(cudaMemcpyToSymbol(four, device.data(), sizeof four, 0, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpyToSymbol(four, &ten, sizeof ten, 2 * sizeof(int)), cudaSuccess);
  int part[2] = {};
  ASSERT_EQ(cudaMemcpyFromSymbol(part, four, sizeof part, sizeof(int)), cudaSuccess);
  EXPECT_EQ(part[0], 6);
  EXPECT_EQ(part[1], 10);
  ASSERT_EQ(cudaMemcpyFromSymbol(device.data() + 1, four, 12, 4, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  EXPECT_EQ(device.to_host(), (std::vector<int>{5, 6, 10, 8}));
  void* address = nullptr;  // of the variable, as for any copy
  ASSERT_EQ(cudaGetSymbolAddress(&address, four), cudaSuccess);
  ASSERT_EQ(cudaMemset(address, 0, sizeof four), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device.data(), address, sizeof four, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(device.to_host(), std::vector<int>(4, 0));
}

TEST(Symbols, AreCopiedInAStreamsOrder) {
  in_every_policy([] {
    const side_stream stream;
    const pinned_ints in(4), out(4);
    std::iota(in.data, in.data + 4, 1);
    ASSERT_EQ(cudaMemcpyToSymbolAsync(four, in.data, sizeof four, 0, cudaMemcpyHostToDevice,
                                      stream.handle),
              cudaSuccess);
    add_to_variable<<<1, 4, 0, stream.handle>>>(10);
    ASSERT_EQ(cudaMemcpyFromSymbolAsync(out.data, four, sizeof four, 0, cudaMemcpyDeviceToHost,
                                        stream.handle),
              cudaSuccess);
    stream.synchronize();
    EXPECT_EQ(out.values(), count_up(4, 11));
  });
}

TEST(Symbols, AreCopiedAsAWholeInTheDefaultStreamUnlessItIsSaid) {
  const pinned_ints in(4), out(4);
  std::iota(in.data, in.data + 4, 5);
  ASSERT_EQ(cudaMemcpyToSymbolAsync(four, in.data, sizeof four), cudaSuccess);
  ASSERT_EQ(cudaMemcpyFromSymbolAsync(out.data, four, sizeof four), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out.values(), count_up(4, 5));
}

TEST(Symbols, RefuseWhatDoesNotFit) {
  int many[8] = {};
  EXPECT_EQ(cudaMemcpyToSymbol(four, many, sizeof many), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(four, many, 4, sizeof four), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyFromSymbol(many, four, sizeof many), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbol(four, many, 4, 0, cudaMemcpyDeviceToHost),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(cudaMemcpyFromSymbol(many, four, 4, 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
}

}  // namespace
