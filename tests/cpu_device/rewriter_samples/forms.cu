// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Every shape of launch and of shared memory that the rewriter promises to handle. It has only
// to compile, with g++ and with clang, against launch_stub.hpp or the CPU device; running it
// prints which form each launch took and fails if that is not the expected one.

#include "launch_stub.hpp"

#include "nested/helpers.cuh"

namespace {

__global__ void plain(float*, const int*, double) {}
__global__ void overloaded(int*) {}
__global__ void overloaded(float*) {}
template <class T>
__global__ void deduced(T*, int) {}
template <int Block, class T>
__global__ void partly(T*, int) {}
template <class T, int N>
__global__ void explicit_kernel(T*, int) {}
template <class Function>
__global__ void apply(Function function, int n) {
  function(n);
}

__global__ void simple(int) {}

struct holder {
  void (*member)(int) = &simple;

  void launch_all() {
    member<<<1, 2>>>(3);
    this->member<<<1, 2>>>(3);
    simple<<<1, 2>>>(2);
  }
};

template <void (*Kernel)(int)>
void launch_parameter() {
  Kernel<<<1, 2>>>(4);
}
template <auto Kernel>
void launch_auto() {
  Kernel<<<1, 2>>>(4);
}

template <class T>
void launch_dependent(T* p) {
  explicit_kernel<T, 4><<<dim3(1), dim3(2)>>>(p, 1);
  deduced<T><<<1, 2>>>(p, 2);
  deduced<<<1, 2>>>(p, 2);
  partly<sizeof(T)><<<1, 2>>>(p, 2);
  helpers::from_header<T><<<1, 2>>>(*p);
  const auto generic = [&](auto x) {
    using X = decltype(x);
    explicit_kernel<X, (sizeof(X) > 2 ? 4 : 8)><<<1, (2 < 3 ? 2 : 1)>>>(static_cast<X*>(nullptr), 1);
    deduced<<<1, 2>>>(p, 1);
  };
  generic(T{});
}

template <class T>
struct owner {
  T* data = nullptr;
  void launch_all() {
    explicit_kernel<T, 2><<<1, 2>>>(data, 1);
    deduced<<<1, 2>>>(data, 1);
    this->run(deduced<T>);
  }
  template <class Kernel>
  void run(Kernel kernel) {
    kernel<<<1, 2>>>(data, 1);
  }
};

#define LAUNCH(kernel, ...)   \
  kernel<<<1, /* threads */   \
           2>>>(__VA_ARGS__)
#define LAUNCH_TYPED(type) explicit_kernel<type, 4><<<1, 2>>>(static_cast<type*>(nullptr), 1)
#define LAUNCH_PASTED(name) name##_kernel<float, 3><<<1, 2>>>(nullptr, 1)

__device__ __forceinline__ int twice(int x) { return 2 * x; }
static __device__ __forceinline__ int thrice(int x) { return 3 * x; }
__device__ __noinline__ int not_inlined(int x) { return twice(x) + thrice(x); }

struct alignas(16) tagged {
  int a, b;
};

template <class T>
__global__ void __launch_bounds__(256) shared_forms(T* out) {
  extern __shared__ __align__(16) unsigned char raw[];
  extern __shared__ volatile unsigned words[];
  extern __shared__ float rows[][4];
  __shared__ T one;
  static __shared__ T first[4], second[2 * (3 < 4 ? 2 : 1)][3];
  __shared__ __align__(16) float aligned[4];
  __shared__ alignas(8) unsigned char also_aligned[8];
  volatile __shared__ int spun;
  __shared__ union {
    int i;
    float f;
  } either;
  __shared__ struct {
    int x[2];
  } pair, other_pair;
  __shared__ tagged tags[2];
  __shared__ typename helpers::storage<T, (2 > 1)>::type temporary;
  one = T{};
  first[0] = second[0][0] = one;
  aligned[0] = rows[0][1] = 1.0f;
  also_aligned[0] = 0;
  spun = 1;
  either.i = not_inlined(1);
  pair.x[0] = other_pair.x[1] = either.i;
  tags[0].a = pair.x[0];
  temporary.value[0] = one;
  words[0] = 1;
  reinterpret_cast<T*>(raw)[1] = one;
  T* const begin = (T*)raw;
  *out = begin[0] + aligned[0] + tags[0].a + temporary.value[0] + spun;
}

}  // namespace

int main() {
  float f = 1;
  int n = 3;
  plain<<<1, 2>>>(nullptr, &n, 3);
  expect("plain", constant);
  overloaded<<<1, 2>>>(&n);
  expect("overloaded", generic_call);
  overloaded<<<1, 2>>>(&f);
  deduced<<<1, 2>>>(&f, 3);
  expect("deduced", generic_call);
  partly<256><<<1, 2>>>(&f, 3);
  expect("partly<256>", generic_call);
  explicit_kernel<float, 4><<<1, 2, sizeof(float) << 2, nullptr>>>(&f, 3);
  expect("explicit_kernel<float, 4>", constant);
  helpers::from_header<float>
      <<<dim3(helpers::ceil_div<16>(n)),  // a comment with <<< in it
         2>>>(f);
  expect("helpers::from_header<float>", constant);

  void (*pointer)(int*) = overloaded;
  pointer<<<1, 2>>>(&n);
  expect("pointer", function_pointer);
  (*pointer)<<<1, 2>>>(&n);
  expect("(*pointer)", function_pointer);
  void (*table[2])(int*) = {overloaded, overloaded};
  for (int i = 0; i < 2; ++i) table[i]<<<1, 2>>>(&n);
  expect("table[i]", function_pointer);
  const auto captured = [pointer](int* p) { pointer<<<1, 2>>>(p); };
  captured(&n);
  expect("pointer", function_pointer);
  if (n > 2) (*table[0])<<<1, 2>>>(&n);
  expect("(*table[0])", function_pointer);

  LAUNCH(plain, &f, &n, 2.0);
  expect("plain", constant);
  LAUNCH_TYPED(int);
  LAUNCH_PASTED(explicit);
  apply<<<1, 2>>>([] __device__(int) {}, 3);
  holder().launch_all();
  holder h;
  holder* const ph = &h;
  h.member<<<1, 2>>>(3);
  expect("h.member", function_pointer);
  ph->member<<<1, 2>>>(3);
  launch_parameter<&simple>();
  launch_auto<&simple>();
  launch_dependent(&f);
  owner<int>().launch_all();
  shared_forms<<<1, 2, 64>>>(&f);
  double d = 0;
  shared_forms<double><<<1, 2, 64>>>(&d);
  return finish();
}
