// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuda::std, the part of the standard library that kernels can use. Runs on the CPU device and on a
// GPU.

#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/bitset>
#include <cuda/std/cfloat>
#include <cuda/std/climits>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/concepts>
#include <cuda/std/cstddef>
#include <cuda/std/cstdint>
#include <cuda/std/cstdlib>
#include <cuda/std/cstring>
#include <cuda/std/functional>
#include <cuda/std/initializer_list>
#include <cuda/std/iterator>
#include <cuda/std/limits>
#include <cuda/std/numbers>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/ratio>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <vector>

#include "conformance.hpp"

namespace {

using namespace conformance;

template <class Operation>
__global__ void apply(const int* a, const int* b, int* result, Operation operation) {
  result[threadIdx.x] = operation(a[threadIdx.x], b[threadIdx.x]);
}

__device__ cuda::std::optional<int> half_of(int x) {
  if (x % 2 != 0) return cuda::std::nullopt;
  return x / 2;
}

__global__ void use_types(int* found) {
  const cuda::std::array<int, 3> three{4, 7, 5};
  const cuda::std::span<const int> rest(three.data() + 1, 2);
  const cuda::std::tuple<int, float> both{6, 0.5f};
  const auto [low, high] = cuda::std::pair<int, int>{2, 9};
  const cuda::std::variant<int, float> number = 8;
  const cuda::std::complex<float> turned = cuda::std::complex<float>(0, 1) * 3.0f;
  found[0] = three[1];
  found[1] = static_cast<int>(rest.size()) + rest[1];
  found[2] = cuda::std::get<0>(both);
  found[3] = high - low;
  found[4] = half_of(12).value_or(-1);
  found[5] = half_of(13).value_or(-1);
  found[6] = cuda::std::get<int>(number);
  found[7] = static_cast<int>(turned.imag());
  found[8] = cuda::std::numeric_limits<cuda::std::int8_t>::max();
  found[9] = static_cast<int>(cuda::std::popcount(255u));
  found[10] = cuda::std::is_same_v<cuda::std::remove_cv_t<const int>, int> ? 1 : 0;
  found[11] = static_cast<int>(cuda::std::fabs(-2.0f) + cuda::std::numbers::pi_v<float>);
}

TEST(CudaStd, OperationsAreFunctorsOfKernels) {
  const std::vector<int> a{1, 5, 3}, b{4, 2, 3};
  const auto of = [&](auto operation) {
    const device_array<int> device_a(a), device_b(b), result(a.size(), 0);
    apply<<<1, static_cast<unsigned>(a.size())>>>(device_a.data(), device_b.data(), result.data(),
                                                  operation);
    return result.to_host();
  };
  EXPECT_EQ(of(cuda::std::plus<int>{}), (std::vector<int>{5, 7, 6}));
  EXPECT_EQ(of(cuda::std::multiplies<>{}), (std::vector<int>{4, 10, 9}));
  EXPECT_EQ(of(cuda::std::less<int>{}), (std::vector<int>{1, 0, 0}));
}

TEST(CudaStd, TypesAreThereInKernels) {
  const device_array<int> found(12, 0);
  use_types<<<1, 1>>>(found.data());
  EXPECT_EQ(found.to_host(), (std::vector<int>{7, 7, 6, 7, 6, -1, 8, 3, 127, 8, 1, 5}));
}

}  // namespace
