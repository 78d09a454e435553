// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
constexpr int sq(int a) { return a * a; }
int f();
const int n = 4;
const int table[2] = {1, 2};
__device__ float x = -1.0f;
__constant__ double pi = 3.14 * 2;
__constant__ double third = M_PI / 3;
__device__ int y = sq(3);
__device__ int z = sizeof(f());
__device__ int w = int(3.5);
__device__ float4 v = {1, 2, 3, 4};
__device__ float2 v2 = float2{1, 2};
__device__ int m = n;
__device__ const int* q = nullptr;
__device__ int arr[2];
__device__ int* r = &arr[1];
__device__ int* r2 = arr;
__device__ const char* names[] = {"a", "b"};
__device__ int h(int a) { return a; }
__device__ int (*t)(int) = h;
__global__ void k(int* p) {
  *p = x + pi + third + y + z + w + v.x + v2.x + m + *r + *r2 + t(1) + (names[0] != nullptr);
}
