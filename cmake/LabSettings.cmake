# SPDX-FileCopyrightText: The CUDA Labs authors
# SPDX-License-Identifier: Apache-2.0

# Options, warnings and packages: what every target shares.

set(LAB_DEVICE "cpu" CACHE STRING "What runs the kernels: cpu (host threads) or gpu (nvcc)")
set_property(CACHE LAB_DEVICE PROPERTY STRINGS cpu gpu)
option(LAB_CHECK "CPU device: watch every memory access for races" OFF)
option(LAB_ASAN "CPU device: AddressSanitizer" OFF)
option(LAB_CONTRACT "CPU device: kernels round a*b+c once, as nvcc has it" OFF)
option(LAB_BUGS "Build the wrong-on-purpose versions, which the tests must reject, and other right ones" OFF)

# Ninja reads the compilers' lists of headers, and cannot read such a path there (its own limit: there
# is no way to write one down). It takes everything for changed, then. scripts/lab goes through a link.
if("${CMAKE_SOURCE_DIR}" MATCHES "['&\"`;<>|*?^]")
  message(WARNING "The path of this folder has a '${CMAKE_MATCH_0}' in it, which Ninja cannot read in a list "
                  "of headers: everything is built anew at every command. Use scripts/lab, which knows a way "
                  "around that, or give the folder another name.")
endif()

if(NOT LAB_DEVICE MATCHES "^(cpu|gpu)$")
  message(FATAL_ERROR "LAB_DEVICE is '${LAB_DEVICE}': it must be cpu or gpu")
endif()
if(LAB_DEVICE STREQUAL "gpu" AND (LAB_CHECK OR LAB_ASAN OR LAB_CONTRACT))
  message(FATAL_ERROR "LAB_CHECK, LAB_ASAN and LAB_CONTRACT belong to the CPU device; "
                      "on a GPU use compute-sanitizer")
endif()
if(LAB_CHECK AND LAB_ASAN)
  message(FATAL_ERROR "LAB_CHECK and LAB_ASAN cannot be combined")
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Line numbers are enough for host code, and take a third less of the compiler's time than what a
# debugger wants to know (for that there is cpu-debug). CUDA files have more: lab_cpu_device_options().
string(REGEX REPLACE "(^| )-g( |$)" "\\1-g1\\2"
  CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(LAB_DEVICE STREQUAL "gpu")
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    # One real architecture: "native" would need a GPU in the machine that builds.
    set(CMAKE_CUDA_ARCHITECTURES 75 CACHE STRING "GPU architectures, such as 75, 90 or native")
  endif()
  # What `scripts/setup --cuda-from-pypi` has installed for this clone comes before the system's.
  set(from_pypi "${PROJECT_SOURCE_DIR}/.lab/cuda/bin/nvcc")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS "${from_pypi}")
    file(REAL_PATH "${from_pypi}" from_pypi)
    set(CMAKE_CUDA_COMPILER "${from_pypi}" CACHE FILEPATH "The CUDA compiler")
  endif()
  enable_language(CUDA)
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()

add_library(lab_settings INTERFACE)
target_compile_options(lab_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  # g++ looks for memory to use again when it has this much (KiB), by default at 128 MiB. That takes up to an
  # eighth of its time and saves a fifth of the memory.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>
  # clang 17 and later warn of what std::stable_sort of g++ 12's library calls in its own headers.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>>:-Wno-deprecated-declarations>
  # Contracting a*b+c would give other bits on machines with a fused multiply-add.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
  $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<CONFIG:RelWithDebInfo>>:-lineinfo>)
# What lets the compiler fuse a*b+c (LAB_CONTRACT), where this machine's processor can.
set(LAB_FMA_OPTION)
set(LAB_CAN_CONTRACT ON)
if(LAB_DEVICE STREQUAL "cpu" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  include(CheckCXXSourceRuns)
  check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"fma\") ? 0 : 1; }" LAB_HAVE_FMA)
  if(LAB_HAVE_FMA)
    set(LAB_FMA_OPTION -mfma)
  else()
    set(LAB_CAN_CONTRACT OFF)
  endif()
endif()
if(LAB_CONTRACT AND NOT LAB_CAN_CONTRACT)
  message(FATAL_ERROR "LAB_CONTRACT needs a processor with fused multiply-add (FMA)")
endif()
# Warnings are errors, but not in a file that a student is still writing.
add_library(lab_strict INTERFACE)
target_compile_options(lab_strict INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Werror>
  # g++ 12 with -O3 sees overlaps in std::string that cannot be (mended in 13).
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>,$<CONFIG:Release>>:-Wno-restrict>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
# A starter does not use yet what its solution uses, and a wrong version of a solution may not either.
# Linked after lab_settings, whose -Wall would overrule it. nvcc counts its own warnings: declared but
# never referenced (177), and set but never used (550).
add_library(lab_unused_is_fine INTERFACE)
target_compile_options(lab_unused_is_fine INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-unused -Wno-unused-parameter -Wno-unused-value>
  "$<$<COMPILE_LANGUAGE:CUDA>:--diag-suppress=177,550;-Xcompiler=-Wno-unused,-Wno-unused-parameter>")
if(LAB_ASAN)
  # A thread that fails leaves its functions without returning from them. So their variables must lie
  # on the stack itself, and not where newer versions keep them to notice a use after the return.
  target_compile_options(lab_settings INTERFACE
    -fsanitize=address,bounds -fno-sanitize-recover=all -fno-omit-frame-pointer
    $<$<CXX_COMPILER_ID:GNU>:--param=asan-use-after-return=0>
    $<$<CXX_COMPILER_ID:Clang>:-fsanitize-address-use-after-return=never>)
  target_link_options(lab_settings INTERFACE -fsanitize=address,bounds)
endif()

# Over a thousand programs are linked when the whole course is checked.
if(LAB_DEVICE STREQUAL "cpu" AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld")
  # (Not lld: what it leaves undefined in the programs that list tests, no loader takes.)
  find_program(LAB_LINKER NAMES mold DOC "A linker that is faster than the compiler's own")
  if(LAB_LINKER)
    message(STATUS "Linker: ${LAB_LINKER}")
    target_link_options(lab_settings INTERFACE -fuse-ld=mold)
  endif()
endif()

include("${CMAKE_CURRENT_LIST_DIR}/../common/cpu_device/cmake/CpuDeviceSettings.cmake")
find_package(Threads REQUIRED)
# The interpreter alone: find_package(Python3) starts a dozen of them. What is found may be a script
# that looks for the interpreter (pyenv's is): over a thousand tests would start a shell first, which
# takes as long as the interpreter itself.
if(NOT EXISTS "${Python3_EXECUTABLE}")
  find_program(python NAMES python3 REQUIRED NO_CACHE)
  execute_process(COMMAND "${python}" -c "import sys
if sys.version_info < (3, 9): sys.exit('CUDA Labs needs Python 3.9 or later')
print(sys.executable)"
    OUTPUT_VARIABLE Python3_EXECUTABLE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(Python3_EXECUTABLE "${Python3_EXECUTABLE}" CACHE FILEPATH "Python 3.9 or later" FORCE)
endif()
find_package(GTest REQUIRED)
find_package(PNG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(benchmark QUIET)

# Thrust: the toolkit's on a GPU, and what CpuDeviceSettings has found on the CPU device.
if(LAB_DEVICE STREQUAL "gpu" OR LAB_THRUST_FOLDER)
  set(LAB_HAVE_THRUST ON)
else()
  set(LAB_HAVE_THRUST OFF)
  message(STATUS "No Thrust: what needs it is left out. Debian's package is libthrust-dev.")
endif()

# NCCL: the CPU device has its own. On a GPU it is no part of the toolkit, but often beside it.
set(LAB_HAVE_NCCL ON)
if(LAB_DEVICE STREQUAL "gpu")
  find_library(NCCL_LIBRARY nccl HINTS "${CUDAToolkit_LIBRARY_ROOT}" PATH_SUFFIXES lib lib64)
  find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT (NCCL_LIBRARY AND NCCL_INCLUDE_DIR))
    set(LAB_HAVE_NCCL OFF)
    message(STATUS "No NCCL: what needs it is left out. NVIDIA's package is libnccl-dev.")
  endif()
endif()

set(OpenGL_GL_PREFERENCE GLVND)
find_package(OpenGL QUIET OPTIONAL_COMPONENTS EGL)
find_package(GLUT QUIET)
find_library(LAB_X11 X11)  # find_package(X11) looks for forty extensions of it
if(OpenGL_FOUND AND GLUT_FOUND AND LAB_X11)
  set(LAB_HAVE_WINDOW ON)
else()
  set(LAB_HAVE_WINDOW OFF)
  message(STATUS "No windows: freeglut or X11 is missing. Pictures go to PNG files.")
endif()
# OpenGL without windows, for exercises that draw with it.
if(OpenGL_FOUND AND TARGET OpenGL::GL AND TARGET OpenGL::EGL)
  set(LAB_HAVE_OPENGL ON)
else()
  set(LAB_HAVE_OPENGL OFF)
endif()

# Open MPI, whose mpirun starts the ranks of exercises that use lab/mpi_job.hpp. Others have other options.
find_package(MPI QUIET COMPONENTS C)
set(LAB_HAVE_MPI OFF)
if(MPI_C_FOUND AND MPIEXEC_EXECUTABLE)
  foreach(folder IN LISTS MPI_C_INCLUDE_DIRS)
    if(EXISTS "${folder}/mpi.h")
      file(STRINGS "${folder}/mpi.h" is_open_mpi REGEX "define OPEN_MPI")
      if(is_open_mpi)
        set(LAB_HAVE_MPI ON)
      endif()
    endif()
  endforeach()
endif()
if(NOT LAB_HAVE_MPI)
  message(STATUS "No Open MPI: what needs it is left out. Debian's packages are libopenmpi-dev and "
                 "openmpi-bin.")
endif()
