# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

"""cpucc as it is installed: what it compiles, what it refuses, what it leaves behind.

usage: cpucc_test.py CMAKE BUILD_FOLDER_OF_THE_CPU_DEVICE [unittest's arguments]
"""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import ClassVar, List

KERNEL = """
#include "scale.cuh"
__constant__ float factor = 3;
__global__ void scale(float* a) { a[threadIdx.x] = device_scale(a[threadIdx.x], factor); }
extern "C" int run(float* a, int n) {
  float* d = nullptr;
  cudaMalloc(&d, n * sizeof(float));
  cudaMemcpy(d, a, n * sizeof(float), cudaMemcpyHostToDevice);
  scale<<<1, n>>>(d);
  const cudaError_t error = cudaMemcpy(a, d, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(d);
  return error;
}
"""
HEADER = """
#pragma once
extern __device__ float device_scale(float a, float b);
"""
DEVICE = """
#include "scale.cuh"
__constant__ float factor = 5;  // another one: its file is a program of its own
__device__ float device_scale(float a, float b) { return a * b + factor; }
"""
EXTERN = "extern __constant__ float factor"
MAIN = """
#include <cstdio>
extern "C" int run(float*, int);
int main() {
  float a[2] = {1, 2};
  const int error = run(a, 2);
  std::printf("%d: %g %g\\n", error, a[0], a[1]);
  return error;
}
"""
RESULT = "0: 8 11\n"

SHARED_AND_CUBLAS = """
#include <cublas_v2.h>
__global__ void fill(float* a) {
  __shared__ float tile[8192];
  for (int i = threadIdx.x; i < 8192; i += blockDim.x) tile[i] = i;
  __syncthreads();
  a[threadIdx.x] = tile[8191 - threadIdx.x] - 8185;  // 6, 5
}
extern "C" int product() {
  float *d = nullptr, result = 0;
  cudaMalloc(&d, 2 * sizeof(float));
  fill<<<1, 2>>>(d);
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSdot(handle, 2, d, 1, d, 1, &result);  // 36 + 25
  cublasDestroy(handle);
  cudaFree(d);
  return static_cast<int>(result) - 19;
}
"""

# Host code as g++ compiles it, with its own standard.
OLDER_HOST = """
#include <cuda_runtime.h>
#ifdef LIBRARIES
#include <cublas_v2.h>
#endif
#include <cstdio>
extern "C" int run(float*, int);
int main() {
  float* pinned = nullptr;
  if (cudaMallocHost(&pinned, 2 * sizeof *pinned) != cudaSuccess) return 1;
  pinned[0] = 1, pinned[1] = 2;
  const dim3 grid(1, 2);
  const int error = run(pinned, static_cast<int>(grid.y));
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<short>();
  std::printf("%d: %g %g, %d %d %d %d\\n", error, pinned[0], pinned[1], format.x, format.y,
              format.z, format.w);
#ifdef LIBRARIES
  cublasHandle_t blas;
  if (cublasCreate(&blas) != CUBLAS_STATUS_SUCCESS || __half2float(__half(0.5F)) != 0.5F) return 2;
  cublasDestroy(blas);
#endif
#ifdef LAUNCH
  cudaLaunchKernel(pinned, grid, grid, nullptr, 0, nullptr);
#endif
  return cudaFreeHost(pinned);
}
"""

# Counts on a device, with a variable of another file.
COUNT = """
extern __device__ int counter;
__global__ void add() { ++counter; }
extern "C" int count(int device) {
  int value = -1;
  cudaSetDevice(device);
  add<<<1, 1>>>();
  cudaMemcpyFromSymbol(&value, counter, sizeof value);
  return value;
}
"""

# Reads and writes memory as what it was not written as.
OTHER_TYPES = """
#include <cstdio>
__global__ void pack(uint4* out) {
  __shared__ __align__(16) unsigned short tile[8];
  for (int i = 0; i < 8; ++i) tile[i] = static_cast<unsigned short>(i);
  *out = *reinterpret_cast<const uint4*>(tile);
}
__global__ void bits(float* number, unsigned* same) {
  *number = 1;
  *same = 0x40000000;
  if (*number == 1) *same = 0;
}
int main() {
  uint4* d = nullptr;
  unsigned h[5];
  cudaMalloc(&d, 2 * sizeof *d);
  pack<<<1, 1>>>(d);
  bits<<<1, 1>>>(reinterpret_cast<float*>(d + 1), reinterpret_cast<unsigned*>(d + 1));
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  std::printf("%x %x %x %x %x\\n", h[0], h[1], h[2], h[3], h[4]);
  return cudaFree(d);
}
"""

# Prints how far the variables are from multiples of their alignment.
ALIGNED = """
#include <cstdio>
__device__ alignas(64) char a[3];
alignas(64) __device__ char b[3];
__constant__ alignas(64) char c[3];
alignas(64) __constant__ char d[3];
__managed__ alignas(64) char e[3];
__managed__ size_t total;
__device__ size_t off(const char* p) { return reinterpret_cast<size_t>(p) % 64; }
__global__ void k() {
  __shared__ alignas(64) char f[3];
  alignas(64) __shared__ char g[3];
  f[0] = g[0] = a[0];
  total = off(a) + off(b) + off(c) + off(d) + off(e) + off(f) + off(g);
}
int main() {
  k<<<1, 1>>>();
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%zu %s\\n", total, cudaGetErrorName(error));
}
"""

# Kernels for what is not C++: the other side has the memory.
WRAPPER = """
__global__ void add(float* a, float b) { a[threadIdx.x] += b; }
extern "C" cudaError_t add_to(float* a, int n, float b) {
  add<<<1, n>>>(a, b);
  return cudaPeekAtLastError();
}
"""
C_MAIN = """
#include <cuda_runtime.h>
#include <stdio.h>
cudaError_t add_to(float* a, int n, float b);
int main(void) {
  float a[3] = {1, 2, 3}, *d = NULL;
  struct cudaDeviceProp properties;
  cudaEvent_t event;
  if (cudaGetDeviceProperties(&properties, 0) || cudaMalloc((void**)&d, sizeof a)) return 1;
  if (cudaMemcpy(d, a, sizeof a, cudaMemcpyHostToDevice) || add_to(d, 3, 5)) return 2;
  if (cudaEventCreate(&event) || cudaEventRecord(event, cudaStreamPerThread)) return 3;
  if (cudaEventSynchronize(event) || cudaEventDestroy(event)) return 4;
  if (cudaMemcpy(a, d, sizeof a, cudaMemcpyDeviceToHost) || cudaFree(d)) return 5;
  printf("%d: %g %g %g %s\\n", properties.major, a[0], a[1], a[2],
         cudaGetErrorName(cudaMemcpy(NULL, d, 1, cudaMemcpyDefault)));
  return 0;
}
"""
C_RESULT = "9: 6 7 8 cudaErrorInvalidValue\n"


class Installed(unittest.TestCase):
    prefix: ClassVar[Path]
    temporary: ClassVar["tempfile.TemporaryDirectory[str]"]

    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        first, cls.prefix = (Path(cls.temporary.name) / n for n in ("first", "it's moved & here"))
        command = [CMAKE, "--install", BUILD, "--prefix", str(first)]
        subprocess.run(command, check=True, capture_output=True)
        first.rename(cls.prefix)  # whatever it knows of its place, it has to find out

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="a folder ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name) / "sources"
        self.work = Path(folder.name) / "temporary"
        for made in (self.folder, self.work):
            made.mkdir()
        self.environment = {
            **os.environ,
            "TMPDIR": str(self.work),
            "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}",
        }
        self.write("kernel.cu", KERNEL)
        self.write("device.cu", DEVICE)
        self.write("main.cpp", MAIN)
        self.write("scale.cuh", HEADER)

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def run_in_folder(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def cpucc(self, *options: str) -> str:
        """What it prints; it must succeed and leave nothing behind."""
        done = self.run_in_folder("cpucc", *options)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual([], self.left_behind())
        return done.stdout

    def left_behind(self) -> List[str]:
        hidden = [p.name for p in self.folder.iterdir() if p.name.startswith(".")]
        return hidden + [p.name for p in self.work.iterdir()]

    def output_of(self, *command: str) -> str:
        done = self.run_in_folder(*command)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def refused(self, *options: str) -> str:
        """The one sentence it says. Nothing is written."""
        before = sorted(self.folder.iterdir())
        done = self.run_in_folder("cpucc", *options)
        self.assertEqual(1, done.returncode, done.stdout + done.stderr)
        self.assertEqual(before, sorted(self.folder.iterdir()))
        self.assertEqual([], self.left_behind())
        self.assertEqual(1, done.stderr.count("\n"), done.stderr)
        self.assertRegex(done.stderr, "^cpucc fatal   : ")
        return done.stderr


class Programs(Installed):
    def test_files_of_several_languages_make_a_program(self) -> None:
        self.write("more.c", "int more(void) { int class = 1; return class; }\n")
        options = "kernel.cu device.cu main.cpp more.c -o prog -O1 -std=c++14 -arch=sm_35 -w"
        self.cpucc(*options.split(), "-Xcompiler", "-Wall,-Wextra", "-lcudart")
        self.assertEqual(RESULT, self.output_of("./prog"))

    def test_an_older_standard_for_the_host_compiler_is_raised_too(self) -> None:
        flags = ["-Xcompiler=-std=c++17", "-Xcompiler", "-Wall,-std=c++14", "--std=c++17"]
        self.cpucc(*flags, "kernel.cu", "device.cu", "main.cpp", "-o", "prog")
        self.assertEqual(RESULT, self.output_of("./prog"))
        self.refused("-Xcompiler", "-std=c++5", "-c", "main.cpp")

    def test_a_makefile_for_nvcc(self) -> None:
        self.write(
            "Makefile",
            """
NVCC = nvcc
NVCCFLAGS = -O1 --gpu-architecture=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90] \
  --ptxas-options=-v -Xptxas -O3 --expt-relaxed-constexpr --use_fast_math -lineinfo -Iinclude
prog: kernel.o device.o main.o
\t$(NVCC) $(NVCCFLAGS) $^ -o $@ -L/usr/local/cuda/lib64 -lcudart
%.o: %.cu
\t$(NVCC) $(NVCCFLAGS) -MD -MP -c $< --output-file $@
%.o: %.cpp
\t$(NVCC) $(NVCCFLAGS) -x cu -c $< -o $@
-include kernel.d device.d
""",
        )
        (self.folder / "scale.cuh").rename(self.folder / "renamed.cuh")
        self.write("include/scale.cuh", "#include <renamed.cuh>\n")
        self.write("include/renamed.cuh", HEADER)
        self.output_of("make", "NVCC=cpucc")
        self.assertEqual(RESULT, self.output_of("./prog"))
        self.assertIn("up to date", self.output_of("make", "NVCC=cpucc"))
        (self.folder / "include/renamed.cuh").touch()
        self.assertIn("kernel.o", self.output_of("make", "-n", "NVCC=cpucc"))

    def test_device_variables_of_several_files(self) -> None:
        self.write("device.cu", DEVICE.replace("__constant__ float factor = 5", EXTERN))
        sources = ["kernel.cu", "device.cu", "main.cpp"]
        self.cpucc("-rdc=true", *sources, "-o", "prog")
        self.assertEqual("0: 6 9\n", self.output_of("./prog"))
        self.cpucc("-dc", *sources)
        objects = ["kernel.o", "device.o", "main.o"]
        self.cpucc("-dlink", *objects, "-o", "link.o")
        self.cpucc(*objects, "link.o", "-o", "prog2", "-lcudadevrt")
        self.assertEqual("0: 6 9\n", self.output_of("./prog2"))

    def test_device_variables_may_be_aligned_before_and_after_their_qualifier(self) -> None:
        self.write("aligned.cu", ALIGNED)
        for mode in ("false", "true"):
            self.cpucc(f"-rdc={mode}", "aligned.cu", "-o", "prog")
            self.assertEqual("0 cudaSuccess\n", self.output_of("./prog"))

    def test_memory_may_be_read_as_another_type(self) -> None:
        self.write("types.cu", OTHER_TYPES)
        self.cpucc("-Xcompiler=-Wall,-Werror", "types.cu", "-o", "prog")
        self.assertEqual("10000 30002 50004 70006 40000000\n", self.output_of("./prog"))

    def test_each_device_has_values_of_the_variables_of_all_files(self) -> None:
        self.write("counter.cu", "__device__ int counter = 5;\n")
        self.write("count.cu", COUNT)
        options = ["-shared", "-Xcompiler", "-fPIC", "-rdc=true"]
        self.cpucc(*options, "count.cu", "counter.cu", "-o", "libcount.so")
        # The second time the library brings its variables once more.
        script = (
            "import ctypes, _ctypes\n"
            "for devices in (1, 0, 0, 1, 0), (0, 1, 1):\n"
            "  count = ctypes.CDLL('./libcount.so')\n"
            "  print(*[count.count(d) for d in devices])\n"
            "  _ctypes.dlclose(count._handle)\n"
        )
        self.cpucc("-shared", "-Xcompiler", "-fPIC", "kernel.cu", "device.cu", "-o", "libscale.so")
        keep = "import ctypes; ctypes.CDLL('./libscale.so')\n"  # the runtime
        self.assertEqual("6 6 7 7 8\n6 6 7\n", self.output_of(sys.executable, "-c", keep + script))

    def test_a_shared_library_with_cublas_may_have_much_shared_memory(self) -> None:
        self.write("product.cu", SHARED_AND_CUBLAS)
        self.cpucc("-shared", "-Xcompiler", "-fPIC", "product.cu", "-lcublas", "-o", "libp.so")
        script = "import ctypes; print(ctypes.CDLL('./libp.so').product())"
        self.assertEqual("42\n", self.output_of(sys.executable, "-c", script))

    def test_a_shared_library_brings_one_runtime_along(self) -> None:
        self.cpucc("-shared", "-Xcompiler", "-fPIC", "kernel.cu", "device.cu", "-o", "libscale.so")
        script = (
            "import ctypes; a = (ctypes.c_float * 2)(1, 2); "
            "print(ctypes.CDLL('./libscale.so').run(a, 2), *a)"
        )
        self.assertEqual("0 8.0 11.0\n", self.output_of(sys.executable, "-c", script))
        # Memory of the program is memory of the library's kernels.
        self.write(
            "user.cu",
            """
#include <cstdio>
__global__ void set(float* a) { a[threadIdx.x] = threadIdx.x + 1; }
extern "C" int run(float*, int);
int main() {
  float* a = nullptr;
  cudaMallocManaged(&a, 2 * sizeof(float));
  set<<<1, 2>>>(a);
  cudaDeviceSynchronize();
  const int error = run(a, 2);
  std::printf("%d: %g %g\\n", error, a[0], a[1]);
  return cudaFree(a);
}
""",
        )
        self.cpucc("user.cu", "-o", "user", "-L.", "-lscale", "-Xlinker", "-rpath=.")
        self.assertEqual(RESULT, self.output_of("./user"))
        self.assertIn("[libcpu_device.so]", self.output_of("readelf", "-d", "user"))

    def test_libraries_of_the_toolkit(self) -> None:
        self.write(
            "blas.cu",
            """
#include <cublas_v2.h>
#include <nccl.h>
#include <cstdio>
int main() {
  float *x = nullptr, sum = 0;
  cudaMallocManaged(&x, 2 * sizeof(float));
  x[0] = 3, x[1] = -4;
  cublasHandle_t handle;
  cublasCreate(&handle);
  cublasSasum(handle, 2, x, 1, &sum);
  int version = 0;
  ncclGetVersion(&version);
  std::printf("%g %d\\n", sum, version > 0);
  cublasDestroy(handle);
  return cudaFree(x);
}
""",
        )
        self.write("options", "-lcublas -lcurand -lnccl 'blas.cu' -o \"a program\"\n")
        self.cpucc("@options")
        self.assertEqual("7 1\n", self.output_of("./a program"))

    def test_random_numbers_in_kernels_need_no_library(self) -> None:
        self.write(
            "random.cu",
            """
#include <curand_kernel.h>
#include <cstdio>
__global__ void k(float* a) {
  curandState state;
  curand_init(1, threadIdx.x, 2, &state);
  *a = curand_uniform(&state);
}
int main() {
  float* a = nullptr;
  cudaMallocManaged(&a, sizeof(float));
  k<<<1, 1>>>(a);
  cudaDeviceSynchronize();
  std::printf("%d\\n", *a > 0 && *a <= 1);
  return cudaFree(a);
}
""",
        )
        self.cpucc("random.cu", "-o", "random")
        self.assertEqual("1\n", self.output_of("./random"))

    def test_a_makefile_that_names_nvcc_and_links_with_another_compiler(self) -> None:
        toolkit = self.cpucc("--toolkit").strip()
        self.write(
            "Makefile",
            "prog: kernel.o device.o main.cpp\n\tg++ $^ -o $@ -L$(CUDA_HOME)/lib64 -lcudart\n"
            "%.o: %.cu\n\tnvcc -I$(CUDA_HOME)/include -c $<\n",
        )
        home = str(self.folder / "toolkit")  # make cannot have a space in this place
        os.symlink(toolkit, home)
        self.environment["PATH"] = f"{home}/bin:{os.environ['PATH']}"
        self.output_of("make", "CUDA_HOME=toolkit")
        self.assertEqual(RESULT, self.output_of("./prog"))

    def test_a_c_compiler_links_what_needs_no_cpp_of_its_own(self) -> None:
        self.cpucc("-c", "kernel.cu")
        self.cpucc("-c", "device.cu")
        main = MAIN.replace("<cstdio>", "<stdio.h>").replace('extern "C" ', "")
        self.write("main.c", main.replace("std::", ""))
        library = "-L" + self.cpucc("--toolkit").strip() + "/lib64"
        self.output_of("gcc", "main.c", "kernel.o", "device.o", library, "-lcudart", "-o", "prog")
        self.assertEqual(RESULT, self.output_of("./prog"))

    def test_c_files_call_the_runtime(self) -> None:
        self.write("add.cu", WRAPPER)
        self.write("add.c", C_MAIN)
        self.cpucc("add.c", "add.cu", "-o", "prog")
        self.assertEqual(C_RESULT, self.output_of("./prog"))
        # With a compiler of its own, and with the linker of either.
        toolkit = self.cpucc("--toolkit").strip()
        strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
        self.output_of("gcc", *strict, "-c", "add.c", "-o", "c.o", f"-I{toolkit}/include")
        self.cpucc("-c", "add.cu", "-o", "cu.o")
        self.cpucc("c.o", "cu.o", "-o", "by_cpucc")
        self.assertEqual(C_RESULT, self.output_of("./by_cpucc"))
        library = (f"-L{toolkit}/lib64", "-lcudart")
        self.output_of("gcc", "c.o", "cu.o", *library, "-o", "by_gcc")
        self.assertEqual(C_RESULT, self.output_of("./by_gcc"))

    def test_c_files_call_the_libraries(self) -> None:
        self.write(
            "blas.c",
            """
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <curand.h>
#include <stdio.h>
int main(void) {
  cublasHandle_t blas;
  curandGenerator_t random;
  float *d = NULL, sum = 0;
  if (cudaMalloc((void**)&d, 1000 * sizeof *d)) return 1;
  if (curandCreateGenerator(&random, CURAND_RNG_PSEUDO_PHILOX4_32_10)) return 2;
  if (curandGenerateUniform(random, d, 1000) || curandDestroyGenerator(random)) return 3;
  if (cublasCreate(&blas) || cublasSasum(blas, 1000, d, 1, &sum)) return 4;
  if (cublasDestroy(blas) || cudaFree(d)) return 5;
  printf("%d\\n", sum > 450 && sum < 550);
  return 0;
}
""",
        )
        self.cpucc("blas.c", "-lcublas", "-lcurand", "-o", "prog")
        self.assertEqual("1\n", self.output_of("./prog"))

    def test_each_header_that_c_has_stands_alone(self) -> None:
        folder = self.cpucc("--toolkit").strip() + "/include"
        headers = """cuda_runtime.h cuda_runtime_api.h cuda_profiler_api.h cuda_gl_interop.h
            driver_types.h vector_types.h vector_functions.h library_types.h cublas_v2.h
            cublasLt.h cublasXt.h curand.h nccl.h"""
        for header in headers.split():
            for standard in ("c99", "c11", "c2x"):
                with self.subTest(header, standard=standard):
                    self.write("alone.c", f"#include <{header}>\n")
                    command = [
                        "gcc",
                        f"-std={standard}",
                        "-Wall",
                        "-Wextra",
                        "-Wpedantic",
                        "-Werror",
                    ]
                    self.output_of(*command, "-fsyntax-only", f"-I{folder}", "alone.c")

    def test_what_c_cannot_call_says_why(self) -> None:
        self.write(
            "bad.c",
            "#include <cuda_runtime.h>\nvoid k(int);\nint main(void) {\n"
            "  dim3 one = {1, 1, 1};\n"
            "  return cudaLaunchKernel((const void*)k, one, one, 0, 0, 0);\n}\n",
        )
        done = self.run_in_folder("cpucc", "bad.c", "-o", "prog")
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, "bad.c:5:.* error: .*call cudaLaunchKernel in a .cu file")

    def test_an_older_cxx_has_the_runtime_without_kernels(self) -> None:
        self.cpucc("-c", "kernel.cu", "device.cu")
        self.write("host.cpp", OLDER_HOST)
        toolkit = self.cpucc("--toolkit").strip()
        strict = ("-Wall", "-Wextra", "-Werror", f"-I{toolkit}/include")
        for standard, define in (("c++11", ""), ("c++14", ""), ("c++17", "-DLIBRARIES")):
            with self.subTest(standard):
                options = [f"-std={standard}", *strict, *([define] if define else [])]
                self.output_of("g++", *options, "-c", "host.cpp", "-o", "host.o")
                objects = ("host.o", "kernel.o", "device.o")
                self.cpucc(*objects, "-lcublas", "-o", "prog")
                self.assertEqual("0: 8 11, 16 0 0 0\n", self.output_of("./prog"))
                bad = [f"-std={standard}", *strict, "-DLAUNCH", "-c", "host.cpp", "-o", "bad.o"]
                done = self.run_in_folder("g++", *bad)
                self.assertEqual(1, done.returncode)
                self.assertRegex(done.stderr, "need C[+][+]20: call cudaLaunchKernel in a .cu")

    def test_a_tile_is_not_divided_into_tiles_of_its_size(self) -> None:
        text = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k() { cg::tiled_partition<%d>(cg::tiled_partition<32>(cg::this_thread_block())); }
"""
        self.write("smaller.cu", text % 16)
        self.cpucc("-c", "smaller.cu")
        self.write("same.cu", text % 32)
        done = self.run_in_folder("cpucc", "-c", "same.cu")
        self.assertEqual(1, done.returncode)
        self.assertIn("a tile can only be divided into smaller tiles", done.stderr)

    def test_python_has_the_memory_of_several_libraries(self) -> None:
        self.write("add.cu", WRAPPER)
        self.write(
            "multiply.cu",
            WRAPPER.replace("add_to", "multiply_with").replace("+=", "*="),
        )
        for name in ("add", "multiply"):
            self.cpucc("-shared", "-Xcompiler", "-fPIC", f"{name}.cu", "-o", f"lib{name}.so")
        self.write(
            "user.py",
            """
import ctypes, sys
libraries = [ctypes.CDLL(name) for name in sys.argv[2:]]  # in the order that is asked for
runtime = {"add": libraries[0], "cudart": libraries[-1]}[sys.argv[1]]
by_name = {library._name: library for library in libraries}
add, multiply = by_name["./libadd.so"], by_name["./libmultiply.so"]
runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
runtime.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
runtime.cudaGetErrorName.restype = ctypes.c_char_p
add.add_to.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_float]
multiply.multiply_with.argtypes = add.add_to.argtypes
a, d = (ctypes.c_float * 3)(1, 2, 3), ctypes.c_void_p()
status = [runtime.cudaMalloc(d, ctypes.sizeof(a)),
          runtime.cudaMemcpy(d, a, ctypes.sizeof(a), 1),
          add.add_to(d, 3, 5), multiply.multiply_with(d, 3, 2), add.add_to(d, 3, 1),
          runtime.cudaMemcpy(a, d, ctypes.sizeof(a), 2)]
print(*status, *a)
failed = add.add_to(d, 0, 5)  # no threads: an error that waits for whoever asks
print(multiply.cudaPeekAtLastError() == failed, runtime.cudaGetErrorName(failed).decode(),
      runtime.cudaGetLastError() == failed, multiply.cudaGetLastError(), runtime.cudaFree(d))
""",
        )
        expected = "0 0 0 0 0 0 13.0 15.0 17.0\nTrue cudaErrorInvalidValue True 0 0\n"
        self.environment["LD_LIBRARY_PATH"] = self.cpucc("--toolkit").strip() + "/shared"
        ours = ["./libadd.so", "./libmultiply.so"]
        for command in (
            ["add", *ours],
            ["cudart", *ours, "libcudart.so"],
            ["cudart", *ours, "libcudart.so.13"],
            ["add", "libcudart.so", *ours],
        ):
            with self.subTest(command):
                self.assertEqual(expected, self.output_of(sys.executable, "user.py", *command))

    def test_the_folder_of_headers_may_be_that_of_the_toolkit(self) -> None:
        self.write(
            "headers.cu",
            "#include <cuda.h>\n#include <cuda_runtime.h>\n"
            "__global__ void k(int* a) { a[threadIdx.x] = blockIdx.x; }\n",
        )
        folder = self.cpucc("--toolkit").strip() + "/include"
        for options in (["-I", folder], ["-I" + folder], ["-isystem", folder]):
            with self.subTest(options):
                self.cpucc(*options, "-c", "headers.cu", "-o", "headers.o")

    def test_kernels_may_call_what_is_constexpr_if_that_is_asked_for(self) -> None:
        self.write(
            "limit.cu",
            "#include <limits>\n"
            "__global__ void k(float* a) { *a = std::numeric_limits<float>::max(); }\n",
        )
        self.cpucc("--expt-relaxed-constexpr", "-c", "limit.cu", "-o", "limit.o")
        done = self.run_in_folder("cpucc", "-c", "limit.cu", "-o", "limit.o")
        self.assertNotEqual(0, done.returncode)
        self.assertIn("limit.cu:2: error: `std::numeric_limits` exists only", done.stderr)

    def test_constant_variables_have_no_more_bytes_than_there_are(self) -> None:
        for length, fits in (("16 * 1024", True), ("16 * 1024 + 1", False)):
            with self.subTest(length):
                self.write(
                    "table.cu",
                    f"constexpr int kLength = {length};\n__constant__ float table[kLength];\n",
                )
                done = self.run_in_folder("cpucc", "-c", "table.cu", "-o", "table.o")
                self.assertEqual(fits, done.returncode == 0, done.stderr)
                if not fits:
                    self.assertRegex(done.stderr, "table.cu:2:.* more bytes than the 65536")

    def test_fmad_rounds_a_product_and_a_sum_once(self) -> None:
        if os.uname().machine == "x86_64" and " fma " not in Path("/proc/cpuinfo").read_text():
            self.skipTest("this processor has no fused multiply-add")
        # (1 + e) * (1 - e) - 1 is -e * e, and 0 where the product is rounded to a float.
        self.write(
            "fuse.cu",
            """
#include <cstdio>
__global__ void fuse(float a, float b, float* out) { *out = a * b - 1; }
int main() {
  float* out = nullptr;
  cudaMallocManaged(&out, sizeof(float));
  const float e = 0x1p-13f;
  fuse<<<1, 1>>>(1 + e, 1 - e, out);
  cudaDeviceSynchronize();
  std::printf("%g\\n", *out / (e * e));
  return cudaFree(out);
}
""",
        )
        for options, result in (
            ([], "0\n"),
            (["-fmad=true"], "-1\n"),
            (["--fmad", "true"], "-1\n"),
            (["-fmad=true", "-fmad=false"], "0\n"),
            (["--use_fast_math", "-fmad=false"], "0\n"),
        ):
            with self.subTest(options):
                self.cpucc(*options, "fuse.cu", "-o", "fuse")
                self.assertEqual(result, self.output_of("./fuse"))

    def test_an_archive(self) -> None:
        self.cpucc("-lib", "kernel.cu", "device.cu", "-o", "libscale.a")
        self.cpucc("main.cpp", "-L.", "-lscale", "-o", "prog")
        self.assertEqual(RESULT, self.output_of("./prog"))

    def test_the_checks_name_the_line_of_a_race(self) -> None:
        self.write(
            "race.cu",
            "__global__ void race(int* a) { a[0] = threadIdx.x; }\n"
            "int main() { int* a; cudaMalloc(&a, 4); race<<<1, 2>>>(a); return cudaFree(a); }\n",
        )
        self.cpucc("--check", "race.cu", "-o", "race")
        self.assertIn("race.cu:1", self.run_in_folder("./race").stderr)

    def test_reports_name_lines_of_the_program_and_not_of_the_installed_headers(self) -> None:
        self.write(
            "past.cu",
            "__global__ void past(int* a) { a[1] = 0; }\n"
            "int main() { int* a;\n"
            "  cudaMalloc(&a, 4);\n"
            "  past<<<1, 1>>>(a); return cudaDeviceSynchronize(); }\n",
        )
        self.cpucc("--check", "past.cu", "-o", "past")
        said = self.run_in_folder("./past").stderr
        self.assertRegex(said, r"past\.cu:1, of device memory \(4 bytes, allocated at .*past\.cu:3")

    def test_dependencies_name_sources_and_never_temporary_files(self) -> None:
        self.write("a #$ file.cu", '#include "scale.cuh"\n')
        self.assertEqual(
            "a\\ \\#$$\\ file.o: a\\ \\#$$\\ file.cu \\\n  scale.cuh\n",
            self.cpucc("-MM", "a #$ file.cu"),
        )

    def test_preprocessing_and_dry_runs_write_nothing(self) -> None:
        self.assertIn("device_scale", self.cpucc("-E", "device.cu"))
        self.cpucc("-dryrun", "kernel.cu", "-o", "prog")
        self.assertIn("release 13.0", self.cpucc("--version"))
        self.assertIn("usage: cpucc", self.cpucc("-h"))
        self.assertFalse((self.folder / "prog").exists())

    def test_dev_null_stays_what_it_is(self) -> None:
        null = self.folder / "null"
        null.symlink_to("/dev/null")
        self.cpucc("-c", "kernel.cu", "-o", "null")
        self.assertTrue(null.is_char_device())

    def test_a_cmake_project_finds_it(self) -> None:
        self.write("include/more.cuh", "template <class T> __global__ void none(T) {}\n")
        self.write(
            "user.cu", '#include "more.cuh"\nextern "C" void go() { none<<<1, 1>>>(1); }\n'
        )
        self.write(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\n"
            "project(user LANGUAGES C CXX)\n"
            "find_package(cpu_device 0.9 REQUIRED)\n"
            "cpu_device_add_executable(c_prog add.c add.cu)\n"
            "add_executable(c_alone alone.c)\n"
            "target_link_libraries(c_alone PRIVATE cpu_device::cpu_device)\n"
            "cpu_device_add_executable(prog kernel.cu device.cu user.cu main.cpp)\n"
            "target_include_directories(prog PRIVATE include)\n"
            "target_compile_definitions(prog PRIVATE factor=other_factor)\n",
        )
        self.write("add.cu", WRAPPER)
        self.write("add.c", C_MAIN)
        alone = (
            "#include <cuda_runtime_api.h>\nint main(void) { return cudaDeviceSynchronize(); }\n"
        )
        self.write("alone.c", alone)
        self.write("kernel.cu", KERNEL.replace("__constant__", "static __constant__"))
        self.write("device.cu", DEVICE.replace("__constant__", "static __constant__"))
        self.output_of(CMAKE, "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.output_of(CMAKE, "--build", "b")
        self.assertEqual(RESULT, self.output_of("b/prog"))
        self.assertEqual(C_RESULT, self.output_of("b/c_prog"))
        self.output_of("b/c_alone")

    def test_cmake_enables_the_language(self) -> None:
        self.write("add.cu", WRAPPER)
        self.write("add.c", C_MAIN)
        self.write("other.cpp", "int other() { return 1; }\n")
        # One variable for both files: separable compilation.
        self.write("device.cu", DEVICE.replace("__constant__ float factor = 5", EXTERN))
        self.write(
            "CMakeLists.txt",
            """
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX CUDA)
find_package(CUDAToolkit 13 REQUIRED)
set(CMAKE_CUDA_SEPARABLE_COMPILATION ON)
add_executable(mixed kernel.cu device.cu main.cpp)
set_target_properties(mixed PROPERTIES CUDA_ARCHITECTURES "80;90-real")
add_library(archive STATIC kernel.cu device.cu)
add_executable(with_archive main.cpp)
target_link_libraries(with_archive PRIVATE archive)
add_library(shared SHARED kernel.cu device.cu other.cpp)
set_target_properties(shared PROPERTIES LINKER_LANGUAGE CUDA)
add_executable(with_shared main.cpp)
target_link_libraries(with_shared PRIVATE shared)
add_executable(from_c add.c add.cu)
target_link_libraries(from_c PRIVATE CUDA::cudart CUDA::cublas)
""",
        )
        compiler = f"-DCMAKE_CUDA_COMPILER={self.prefix / 'bin/cpucc'}"
        shown = self.output_of(CMAKE, "-S", ".", "-B", "b", compiler)
        self.assertIn("The CUDA compiler identification is NVIDIA 13.0", shown)
        self.output_of(CMAKE, "--build", "b", "-j2")
        for program in ("mixed", "with_archive", "with_shared"):
            with self.subTest(program):
                self.assertEqual("0: 6 9\n", self.output_of(f"b/{program}"))
        self.assertEqual(C_RESULT, self.output_of("b/from_c"))
        # A header that has changed is noticed.
        self.write("scale.cuh", HEADER + "#error changed\n")
        self.assertIn("changed", self.run_in_folder(CMAKE, "--build", "b").stderr)


class Refusals(Installed):
    def test_unknown_options(self) -> None:
        self.assertIn("Unknown option '-foo'", self.refused("-c", "kernel.cu", "-foo"))
        self.assertIn("-Xcompiler -fPIC", self.refused("-c", "kernel.cu", "-fPIC"))
        self.assertIn("'--frobnicate=1'", self.refused("-c", "kernel.cu", "--frobnicate=1"))
        self.assertIn("needs a value", self.refused("-c", "kernel.cu", "-o"))
        self.assertIn("a GPU's code", self.refused("-ptx", "kernel.cu"))

    def test_values_that_an_option_does_not_have(self) -> None:
        for options in (["-fmad=maybe"], ["-fmad", "1"]):
            self.assertIn("expected true or false", self.refused("-c", "kernel.cu", *options))

    def test_unknown_architectures(self) -> None:
        for options in ("-arch=sm_999", "-arch volta", "-gencode arch=compute_8,code=x"):
            message = self.refused("-c", "kernel.cu", *options.split())
            self.assertIn("Unsupported gpu architecture", message)

    def test_what_is_no_source(self) -> None:
        os.mkfifo(self.folder / "pipe.cu")
        for name, reason in (
            ("missing.cu", "No such file"),
            ("pipe.cu", "FIFO"),
            (".", "Don't know what to do"),
            ("text.txt", "Don't know what to do"),
        ):
            with self.subTest(name):
                self.assertIn(reason, self.refused("-c", name, "-o", "x.o"))
        self.assertIn("device", self.refused("-x", "cu", "-c", "/dev/zero"))
        self.assertIn("directory", self.refused("-x", "cu", "-c", ".."))
        self.assertIn("device", self.refused("@/dev/zero"))
        self.assertIn("No input files", self.refused())
        self.write("quote", "-o 'x")
        self.assertIn("quote", self.refused("@quote"))

    def test_outputs_that_cannot_be(self) -> None:
        self.assertIn("no directory", self.refused("-c", "kernel.cu", "-o", "nowhere/x.o"))
        self.assertIn("is a directory", self.refused("-c", "kernel.cu", "-o", "."))
        self.assertIn("is an input", self.refused("-c", "kernel.cu", "-o", "./kernel.cu"))
        self.assertIn("several", self.refused("-c", "kernel.cu", "device.cu", "-o", "x.o"))
        self.environment["TMPDIR"] = str(self.folder / "nowhere")
        self.assertIn("temporary", self.refused("-c", "kernel.cu"))

    def test_compilers_that_cannot_be_run(self) -> None:
        self.assertIn("no-compiler", self.refused("-c", "main.cpp", "-ccbin", "no-compiler"))

    def test_libraries_that_are_not_there(self) -> None:
        self.write("one.o", "")
        self.assertIn("has no cuFFT", self.refused("one.o", "-lcufft", "-o", "x"))

    def test_a_source_with_errors_keeps_the_old_output(self) -> None:
        self.write("x.o", "old")
        for text, reason in (
            ("int f( {\n", "bad name's.cu:1:"),
            ("void f() { k<<<1>>>(); }\n", "bad name's.cu:1:"),
        ):
            self.write("bad name's.cu", text)
            done = self.run_in_folder("cpucc", "-c", "bad name's.cu", "-o", "x.o")
            self.assertEqual(1, done.returncode)
            self.assertIn(reason, done.stderr)
            self.assertEqual("old", (self.folder / "x.o").read_text())
            self.assertEqual([], self.left_behind())

    def test_one_that_is_ended_leaves_nothing(self) -> None:
        # A compiler that says when it has begun, and then takes long.
        compiler = self.folder / "slow"
        self.write("slow", "#!/bin/sh\necho begun\nexec sleep 100\n")
        compiler.chmod(0o755)
        command = ["cpucc", "-ccbin", "./slow", "-c", "main.cpp", "-o", "x.o"]
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE
            )
            self.addCleanup(process.kill)
            assert process.stdout is not None
            self.assertEqual(b"begun\n", process.stdout.readline())
            process.send_signal(number)
            # The output ends when the compiler has ended, too.
            self.assertEqual(b"", process.communicate(timeout=60)[0])
            self.assertEqual(128 + number, process.returncode)
            self.assertEqual([], self.left_behind())
            self.assertFalse((self.folder / "x.o").exists())


if __name__ == "__main__":
    CMAKE, BUILD = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
